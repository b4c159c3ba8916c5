// SPDX-License-Identifier: Apache-2.0
//
// halftone bench: how fast, where the time and the memory go, against what the machine has to give.
#include "cli/bench.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <vector>

#include "base/atomic_file.h"
#include "base/utc_time.h"
#include "cli/checks.h"
#include "cli/command.h"
#include "halftone/parallel.h"
#include "report/page.h"
#include "train/machine.h"
#include "train/version.h"

namespace halftone::cli {
namespace {

constexpr const char* kExamples =
    "Examples:\n"
    "  halftone bench step --recipes float32,bfloat16        whole training steps of a GPT-2\n"
    "  halftone bench step --model cnn --html cnn.html       the same of another model, as a page with "
    "charts\n"
    "  halftone bench kernels                                each kernel against memory or matmul rate\n"
    "  halftone bench ops                                    what the engine adds to each op";

const RegisterCommand registered(33, [](CLI::App& app) {
  CLI::App* command = app.add_subcommand("bench", "Training steps, kernels or ops, measured on this machine");
  command->require_subcommand(1);
  add_bench_step(*command);
  add_bench_kernels(*command);
  add_bench_ops(*command);
  command->footer(kExamples);
});

}  // namespace

void BenchOutput::add(CLI::App& command) {
  command.add_option("--json", json, "Write all numbers to this file");
  command.add_option("--html", html, "Write a page with charts to this file");
  command.add_option("--threads", threads, "Threads; all cores if not given")->check(within(1, 4096));
}

void BenchOutput::prepare() const {
  std::vector<std::filesystem::path> files;
  for (const std::filesystem::path& file : {json, html, trace}) {
    if (file.empty()) continue;
    files.push_back(std::filesystem::absolute(file).lexically_normal());
    if (std::count(files.begin(), files.end(), files.back()) > 1)
      throw CLI::ValidationError(fmt::format("{} is to hold two outputs; each needs a file", file.string()));
    const AtomicFile writable(file);  // and gone again: a benchmark that is interrupted leaves nothing
  }
  if (threads > 0) set_thread_count(threads);
}

report::Json bench_environment() {
  report::Json environment{{"halftone", std::string(train::kVersion)}, {"date", utc_now()}};
  environment.update(train::machine_json(train::describe_machine()));
  return environment;
}

std::string bench_page(const std::string& title, const std::string& lead, const std::string& body,
                       const report::Json& json) {
  const report::Json& here = json.at("environment");
  const std::string policy = here.at("wait_policy");
  return report::page(
      title + " – halftone",
      fmt::format("<header>\n<p class=\"kicker\">halftone · bench · {}</p>\n<h1>{}</h1>\n"
                  "<p class=\"lead\">{}</p>\n</header>\n",
                  report::escape(here.at("date").get<std::string>()), report::escape(title),
                  report::escape(lead)) +
          body +
          report::section("Machine",
                          report::facts({{"Processor", here.at("processor")},
                                         {"Instruction set", here.at("simd")},
                                         {"Cores", fmt::format("{}", here.at("cores").get<int>())},
                                         {"Threads", fmt::format("{}", here.at("threads").get<int>())},
                                         {"OMP_WAIT_POLICY", policy.empty() ? "not set" : policy},
                                         {"halftone", here.at("halftone")}})));
}

void write_bench(const BenchOutput& output, const report::Json& json, const std::string& html) {
  std::fflush(stdout);
  if (!output.json.empty()) {
    write_file(output.json, report::layout(json));
    fmt::print(stderr, "numbers in {}\n", output.json.string());
  }
  if (!output.html.empty()) {
    write_file(output.html, html);
    fmt::print(stderr, "page in {}\n", output.html.string());
  }
}

}  // namespace halftone::cli
