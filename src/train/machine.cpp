// SPDX-License-Identifier: Apache-2.0
#include "train/machine.h"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <thread>
#include <vector>

#include "backend/precision.h"
#include "base/median.h"
#include "halftone/parallel.h"
#include "halftone/random.h"

namespace halftone::train {
namespace {

struct InstructionSet {
  std::string_view flag, name;
};
// Widest first. The flags are Linux's.
constexpr InstructionSet kInstructionSets[] = {
    {"amx_bf16", "AMX_BF16"}, {"avx512_bf16", "AVX512_BF16"}, {"avx512bw", "AVX512"}, {"avx2", "AVX2"},
    {"avx", "AVX"},           {"sse4_2", "SSE4.2"},           {"sve", "SVE"},         {"asimd", "NEON"},
};

std::string after_colon(const std::string& line) {
  const std::size_t colon = line.find(": ");
  return colon == std::string::npos ? "" : line.substr(colon + 2);
}

// The system's lines are like "VmHWM:  1234 kB".
std::int64_t status_bytes(std::string_view name) {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);)
    if (line.starts_with(name)) return std::atoll(line.c_str() + name.size()) * 1024;
  return 0;
}

}  // namespace

Machine parse_cpuinfo(std::istream& cpuinfo) {
  Machine machine;
  std::vector<std::string> flags;
  for (std::string line; std::getline(cpuinfo, line);) {
    if (machine.processor.empty() && line.starts_with("model name")) machine.processor = after_colon(line);
    if (flags.empty() && (line.starts_with("flags") || line.starts_with("Features"))) {
      std::istringstream words(after_colon(line));
      for (std::string word; words >> word;) flags.push_back(word);
    }
  }
  if (machine.processor.empty()) machine.processor = "unknown processor";
  machine.simd = "none";
  for (const InstructionSet& set : kInstructionSets) {
    if (std::find(flags.begin(), flags.end(), set.flag) == flags.end()) continue;
    machine.simd = set.name;
    break;
  }
  return machine;
}

Machine describe_machine() {
  std::ifstream cpuinfo("/proc/cpuinfo");
  Machine machine = parse_cpuinfo(cpuinfo);
  machine.cores = static_cast<int>(std::thread::hardware_concurrency());
  machine.threads = thread_count();
  const char* policy = std::getenv("OMP_WAIT_POLICY");
  machine.wait_policy = policy ? policy : "";
  return machine;
}

nlohmann::ordered_json machine_json(const Machine& machine) {
  return {{"processor", machine.processor},
          {"simd", machine.simd},
          {"cores", machine.cores},
          {"threads", machine.threads},
          {"wait_policy", machine.wait_policy}};
}

Machine read_machine(const nlohmann::ordered_json& json) {
  return {.processor = json.at("processor").get<std::string>(),
          .simd = json.at("simd").get<std::string>(),
          .cores = json.at("cores").get<int>(),
          .threads = json.at("threads").get<int>(),
          .wait_policy = json.at("wait_policy").get<std::string>()};
}

std::int64_t peak_resident_bytes() { return status_bytes("VmHWM:"); }
Resident resident_bytes() { return {status_bytes("RssAnon:"), status_bytes("RssFile:")}; }

void reset_peak_resident() { std::ofstream("/proc/self/clear_refs") << 5; }

double matmul_gflops(DType dtype, std::int64_t rows, std::int64_t inner, std::int64_t columns) {
  constexpr std::size_t kRepetitions = 5;
  constexpr double kBudgetSeconds = 0.1;
  const Backend& backend = find_backend("cpu");
  if (is_wide(dtype))  // the product is the reference's, thousands of times slower
    for (std::int64_t* size : {&rows, &inner, &columns}) *size = std::min<std::int64_t>(*size, 64);
  const Matmul call{.a = random_uniform({rows, inner}, -1, 1, 0, streams::example, dtype),
                    .b = random_uniform({inner, columns}, -1, 1, 1, streams::example, dtype),
                    .c = empty({rows, columns}, float32),
                    .bias = {}};
  const auto seconds = [&] {
    const auto start = std::chrono::steady_clock::now();
    backend.matmul(call);
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  };
  double total = seconds();  // the first call also builds the kernel and touches the memory
  std::vector<double> times;
  while (times.empty() || (times.size() < kRepetitions && total < kBudgetSeconds)) {
    times.push_back(seconds());
    total += times.back();
  }
  return 2 * static_cast<double>(rows) * static_cast<double>(inner) * static_cast<double>(columns) /
         median(times) * 1e-9;
}

}  // namespace halftone::train
