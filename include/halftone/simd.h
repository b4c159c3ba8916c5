// SPDX-License-Identifier: Apache-2.0
//
// Plain loops compiled several times: for the baseline processor, for AVX2 and for AVX-512. This is the one
// place that knows how a compiler is told so. A loop is a struct with a static `run` whose arithmetic does
// not depend on the vector width, so every level gives the same bits. A std::fma is one instruction from AVX2
// on; at the baseline it is a call, with the same bits.
#pragma once

#if defined(__x86_64__)  // both undefined at the end of this header
#define HALFTONE_AVX2 [[gnu::target("avx2,fma,f16c"), gnu::flatten]]
#if defined(__clang__)  // of 512-bit vectors each compiler is told in its own way
#define HALFTONE_AVX512 \
  [[gnu::target("avx512f,avx512bw,avx512vl,avx512dq,fma"), gnu::flatten, clang::min_vector_width(512)]]
#else
#define HALFTONE_AVX512 \
  [[gnu::target("avx512f,avx512bw,avx512vl,avx512dq,fma,prefer-vector-width=512"), gnu::flatten]]
#endif
#else
#define HALFTONE_AVX2
#define HALFTONE_AVX512
#endif

namespace halftone {

enum class SimdLevel { baseline, avx2, avx512 };
inline constexpr int kSimdLevels = 3;

// The best level of this processor, unless the environment variable HALFTONE_SIMD or set_simd_level names a
// lower one. Throws ValueError if the variable holds anything but baseline, avx2 or avx512.
SimdLevel simd_level();
void set_simd_level(SimdLevel level);
SimdLevel best_simd_level();

// Loop::run(arguments...) at each level.
template <class Loop, class... Arguments>
struct SimdVersions {
  static void baseline(Arguments... arguments) { Loop::run(arguments...); }
  HALFTONE_AVX2 static void avx2(Arguments... arguments) { Loop::run(arguments...); }
  HALFTONE_AVX512 static void avx512(Arguments... arguments) { Loop::run(arguments...); }

  using Function = void (*)(Arguments...);
  static constexpr Function kTable[kSimdLevels] = {baseline, avx2, avx512};
};

// Loop::run(arguments...), at the level in use.
template <class Loop, class... Arguments>
void at_simd_level(Arguments... arguments) {
  SimdVersions<Loop, Arguments...>::kTable[static_cast<int>(simd_level())](arguments...);
}

}  // namespace halftone

#undef HALFTONE_AVX2
#undef HALFTONE_AVX512
