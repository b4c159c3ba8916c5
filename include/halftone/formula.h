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

#include "halftone/elementary.h"
#include "halftone/simd.h"

namespace halftone {

inline constexpr int kMaxOperands = 6;
inline constexpr int kMaxParameters = 4;

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

template <int kInputs, class F>
struct TileLoop {
  template <class Real>
  static void run(const Real* const* in, Real* out, std::int64_t count, const Real* parameters) {
    run_on(in, out, count, parameters, std::make_index_sequence<kInputs>{});
  }

 private:
  template <class Real, std::size_t... I>
  static void run_on(const Real* const* in, Real* out, std::int64_t count, const Real* parameters,
                     std::index_sequence<I...>) {
    constexpr F f{};
    const std::tuple x{in[I]...};  // copies of the pointers: the loop body then has nothing to reload
    for (std::int64_t i = 0; i < count; ++i) {
      if constexpr (std::is_invocable_v<F, decltype(in[I][0])..., const Real*>)
        out[i] = f(std::get<I>(x)[i]..., parameters);
      else
        out[i] = f(std::get<I>(x)[i]...);
    }
  }
};

template <class F>
struct RowLoop {
  template <class Real>
  static void run(const Rows<Real>& rows) {
    F{}(rows);
  }
};

template <int kInputs, class F, class Real>
using TileVersions = SimdVersions<TileLoop<kInputs, F>, const Real* const*, Real*, std::int64_t, const Real*>;
template <class F, class Real>
using RowVersions = SimdVersions<RowLoop<F>, const Rows<Real>&>;

}  // namespace detail

// constexpr and not consteval: clang 14 crashes on an immediate call with a lambda inside nested braces.
// formula<2>([](auto x, auto dy) { return x > 0 ? dy : decltype(dy)(0); })
// A last argument `const auto* p` receives the op's scalar parameters.
template <int kInputs, class F>
constexpr Formula formula(F) {
  using Floats = detail::TileVersions<kInputs, F, float>;
  return {kInputs,
          {Floats::baseline, Floats::avx2, Floats::avx512},
          detail::TileVersions<kInputs, F, double>::baseline};
}

// row_formula([]<class Real>(const Rows<Real>& r) { ... r.in[0] ... r.out[0] ... })
template <class F>
constexpr RowFormula row_formula(F) {
  using Floats = detail::RowVersions<F, float>;
  return {{Floats::baseline, Floats::avx2, Floats::avx512}, detail::RowVersions<F, double>::baseline};
}

}  // namespace halftone
