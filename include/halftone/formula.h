// SPDX-License-Identifier: Apache-2.0
//
// Formulas: the arithmetic of an op, written once for any real type and compiled here, in one place, for
// double (the reference backend) and for float at every SIMD level of the processor family. A formula sees
// plain numbers only; how they are stored is the business of the loop that runs it.
#pragma once

#include <cstdint>
#include <span>
#include <tuple>
#include <type_traits>
#include <utility>

#if defined(__x86_64__)  // both undefined at the end of this header
#define HALFTONE_AVX2 [[gnu::target("avx2,f16c"), gnu::flatten]]
#if defined(__clang__)
#define HALFTONE_AVX512 \
  [[gnu::target("avx512f,avx512bw,avx512vl,avx512dq"), gnu::flatten, clang::min_vector_width(512)]]
#else
#define HALFTONE_AVX512 \
  [[gnu::target("avx512f,avx512bw,avx512vl,avx512dq,prefer-vector-width=512"), gnu::flatten]]
#endif
#else
#define HALFTONE_AVX2
#define HALFTONE_AVX512
#endif

namespace halftone {

inline constexpr int kMaxOperands = 6;
inline constexpr int kMaxParameters = 4;

enum class SimdLevel { baseline, avx2, avx512 };
inline constexpr int kSimdLevels = 3;

// The best level of this processor, unless the environment variable HALFTONE_SIMD or set_simd_level names a
// lower one. Every level gives the same bits.
SimdLevel simd_level();
void set_simd_level(SimdLevel level);
SimdLevel best_simd_level();

// An elementwise formula y = f(x0, x1, ...) applied to `count` elements. `parameters` are the op's scalars.
template <class Real>
using TileFunction = void (*)(const Real* const* in, Real* out, std::int64_t count, const Real* parameters);

struct Formula {
  int inputs = 0;
  TileFunction<float> float32[kSimdLevels] = {};
  TileFunction<double> float64 = nullptr;
};

// A formula over whole rows: in[i] and out[j] are row number `row` of the operands, each as long as the last
// dimension of its tensor.
template <class Real>
struct Rows {
  std::span<const Real> in[kMaxOperands];
  std::span<Real> out[kMaxOperands];
  const Real* parameters;
  std::int64_t row;
};

template <class Real>
using RowFunction = void (*)(const Rows<Real>& rows);

struct RowFormula {
  RowFunction<float> float32[kSimdLevels] = {};
  RowFunction<double> float64 = nullptr;
};

namespace detail {

template <class F, class Real, std::size_t... I>
[[gnu::always_inline]] inline void run_tile(const Real* const* in, Real* out, std::int64_t count,
                                            const Real* parameters, std::index_sequence<I...>) {
  constexpr F f{};
  const std::tuple x{in[I]...};  // copies of the pointers: the loop body then has nothing to reload
  for (std::int64_t i = 0; i < count; ++i) {
    if constexpr (std::is_invocable_v<F, decltype(in[I][0])..., const Real*>)
      out[i] = f(std::get<I>(x)[i]..., parameters);
    else
      out[i] = f(std::get<I>(x)[i]...);
  }
}

template <int kInputs, class F, class Real>
void tile_baseline(const Real* const* in, Real* out, std::int64_t count, const Real* parameters) {
  run_tile<F>(in, out, count, parameters, std::make_index_sequence<kInputs>{});
}
template <int kInputs, class F, class Real>
HALFTONE_AVX2 void tile_avx2(const Real* const* in, Real* out, std::int64_t count, const Real* parameters) {
  run_tile<F>(in, out, count, parameters, std::make_index_sequence<kInputs>{});
}
template <int kInputs, class F, class Real>
HALFTONE_AVX512 void tile_avx512(const Real* const* in, Real* out, std::int64_t count,
                                 const Real* parameters) {
  run_tile<F>(in, out, count, parameters, std::make_index_sequence<kInputs>{});
}

template <class F, class Real>
void rows_baseline(const Rows<Real>& rows) {
  F{}(rows);
}
template <class F, class Real>
HALFTONE_AVX2 void rows_avx2(const Rows<Real>& rows) {
  F{}(rows);
}
template <class F, class Real>
HALFTONE_AVX512 void rows_avx512(const Rows<Real>& rows) {
  F{}(rows);
}

}  // namespace detail

// constexpr and not consteval: clang 14 crashes on an immediate call with a lambda inside nested braces.
// formula<2>([](auto x, auto dy) { return x > 0 ? dy : decltype(dy)(0); })
// A last argument `const auto* p` receives the op's scalar parameters.
template <int kInputs, class F>
constexpr Formula formula(F) {
  return {kInputs,
          {detail::tile_baseline<kInputs, F, float>, detail::tile_avx2<kInputs, F, float>,
           detail::tile_avx512<kInputs, F, float>},
          detail::tile_baseline<kInputs, F, double>};
}

// row_formula([]<class Real>(const Rows<Real>& r) { ... r.in[0] ... r.out[0] ... })
template <class F>
constexpr RowFormula row_formula(F) {
  return {{detail::rows_baseline<F, float>, detail::rows_avx2<F, float>, detail::rows_avx512<F, float>},
          detail::rows_baseline<F, double>};
}

}  // namespace halftone

#undef HALFTONE_AVX2
#undef HALFTONE_AVX512
