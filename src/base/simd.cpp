// SPDX-License-Identifier: Apache-2.0
//
// Which of the compiled versions of a loop runs. Asked once; a lower level is for tests and for finding
// out whether a wrong number comes from a compiler's vector code.
#include "halftone/simd.h"

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <string_view>

#include "halftone/error.h"

namespace halftone {
namespace {

SimdLevel detect() {
#if defined(__x86_64__)
  // Every processor with AVX2 has F16C, which not every compiler can be asked about.
  if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma")) return SimdLevel::baseline;
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
      __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq"))
    return SimdLevel::avx512;
  return SimdLevel::avx2;
#else
  return SimdLevel::baseline;
#endif
}

SimdLevel from_environment() {
  const char* variable = std::getenv("HALFTONE_SIMD");
  if (variable == nullptr || *variable == '\0') return best_simd_level();
  const std::string_view name = variable;
  if (name == "baseline") return SimdLevel::baseline;
  if (name == "avx2") return std::min(SimdLevel::avx2, best_simd_level());
  if (name == "avx512") return std::min(SimdLevel::avx512, best_simd_level());
  throw ValueError("HALFTONE_SIMD", name, "baseline, avx2 or avx512");
}

std::atomic<SimdLevel>& current() {
  static std::atomic<SimdLevel> level = from_environment();
  return level;
}

}  // namespace

SimdLevel best_simd_level() {
  static const SimdLevel best = detect();
  return best;
}

SimdLevel simd_level() { return current().load(std::memory_order_relaxed); }

void set_simd_level(SimdLevel level) { current() = std::min(level, best_simd_level()); }

}  // namespace halftone
