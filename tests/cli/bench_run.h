// SPDX-License-Identifier: Apache-2.0
//
// A small `halftone bench step`, run once for all tests of a program, and other runs with --json.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "cli/run_command.h"
#include "data/scratch.h"

namespace halftone {

struct BenchRun {
  CommandResult result;
  nlohmann::json json;
  std::string page, trace;
};

inline const std::string kSmallGpt2 =
    "--batch 2 --context 8 --width 16 --layers 2 --heads 2 --vocabulary 32 --steps 3 --warmup 1";

// `arguments` without the files, which are read and removed.
inline BenchRun run_bench(const std::string& arguments, bool with_trace = false) {
  const testing::Scratch folder;
  BenchRun run{
      run_command("bench " + arguments + " --json " + (folder / "j").string() + " --html " +
                  (folder / "h").string() + (with_trace ? " --trace " + (folder / "t").string() : "")),
      {},
      testing::read_bytes(folder / "h"),
      testing::read_bytes(folder / "t")};
  run.json = nlohmann::json::parse(testing::read_bytes(folder / "j"), nullptr, false);
  return run;
}

inline const BenchRun& small_step() {
  static const BenchRun run =
      run_bench("step --recipes float32,bfloat16 --repetitions 3 " + kSmallGpt2, true);
  return run;
}

}  // namespace halftone
