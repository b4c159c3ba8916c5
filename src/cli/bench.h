// SPDX-License-Identifier: Apache-2.0
//
// What the subcommands of `halftone bench` share: their options for output, and the machine in what they
// write.
#pragma once

#include <CLI/CLI.hpp>
#include <filesystem>
#include <string>

#include "report/json_text.h"

namespace halftone::cli {

// Each adds itself.
void add_bench_step(CLI::App& bench);
void add_bench_kernels(CLI::App& bench);
void add_bench_ops(CLI::App& bench);

struct BenchOutput {
  std::filesystem::path json, html, trace;
  int threads = 0;
  void add(CLI::App& command);  // --json, --html, --threads
  // Before anything is measured: throws a usage error for a file named twice, FileError for one that cannot
  // be written. Sets the number of threads.
  void prepare() const;
};

// Date, version, processor, threads, OMP_WAIT_POLICY.
report::Json bench_environment();

// The page of a benchmark: its head, the body, and the environment of `json`.
std::string bench_page(const std::string& title, const std::string& lead, const std::string& body,
                       const report::Json& json);

// Writes what was asked for and says where it is.
void write_bench(const BenchOutput& output, const report::Json& json, const std::string& html);

}  // namespace halftone::cli
