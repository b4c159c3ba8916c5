// SPDX-License-Identifier: Apache-2.0
//
// The arithmetic of the reductions, compiled for every SIMD level like any formula. Partial results are
// float32 over at most a few thousand elements, in an order fixed by the length alone.
#pragma once

#include <limits>

#include "halftone/backend.h"

namespace halftone::cpu {

struct Sum {
  static constexpr float kStart = 0;
  template <class Real>
  static Real combine(Real a, Real b) {
    return a + b;
  }
};

// A NaN on either side stays.
struct Max {
  static constexpr float kStart = -std::numeric_limits<float>::infinity();
  template <class Real>
  static Real combine(Real a, Real b) {
    const Real larger = a > b ? a : b;  // b, if either is NaN
    return a == a ? larger : a;
  }
};

// out[0][0] = in[0][0] + in[0][1] + ..., in 32 lanes and then by halves, or one by one if there are fewer.
template <class Kind>
struct AlongRow {
  template <class Real>
  void operator()(const Rows<Real>& rows) const {
    constexpr std::size_t kLanes = 32;
    const Real* x = rows.in[0].data();
    const std::size_t count = rows.in[0].size(), whole = count - count % kLanes;
    if (whole == 0) {
      Real sum = Kind::kStart;
      for (std::size_t i = 0; i < count; ++i) sum = Kind::combine(sum, x[i]);
      rows.out[0][0] = sum;
      return;
    }
    Real lanes[kLanes];
    for (Real& lane : lanes) lane = Kind::kStart;
    for (std::size_t i = 0; i < whole; i += kLanes)
      for (std::size_t lane = 0; lane < kLanes; ++lane) lanes[lane] = Kind::combine(lanes[lane], x[i + lane]);
    for (std::size_t lane = 0; lane < count - whole; ++lane)
      lanes[lane] = Kind::combine(lanes[lane], x[whole + lane]);
    fold<kLanes / 2>(lanes);
    rows.out[0][0] = lanes[0];
  }

  template <std::size_t kHalf, class Real>
  static void fold(Real* lanes) {
    for (std::size_t lane = 0; lane < kHalf; ++lane)
      lanes[lane] = Kind::combine(lanes[lane], lanes[lane + kHalf]);
    if constexpr (kHalf > 1) fold<kHalf / 2>(lanes);
  }
};

// out[0][i] += (in[0][i] + in[1][i]) + (in[2][i] + in[3][i]), or of in[0] alone if in[1] is empty.
template <class Kind>
struct OntoRow {
  template <class Real>
  void operator()(const Rows<Real>& rows) const {
    Real* sum = rows.out[0].data();
    const Real *a = rows.in[0].data(), *b = rows.in[1].data(), *c = rows.in[2].data(), *d = rows.in[3].data();
    const std::size_t count = rows.out[0].size();
    if (b == nullptr)
      for (std::size_t i = 0; i < count; ++i) sum[i] = Kind::combine(sum[i], a[i]);
    else
      for (std::size_t i = 0; i < count; ++i)
        sum[i] = Kind::combine(sum[i], Kind::combine(Kind::combine(a[i], b[i]), Kind::combine(c[i], d[i])));
  }
};

inline constexpr RowFormula kAlongRow[] = {row_formula(AlongRow<Sum>{}), row_formula(AlongRow<Max>{})};
inline constexpr RowFormula kOntoRow[] = {row_formula(OntoRow<Sum>{}), row_formula(OntoRow<Max>{})};

// The same in double, for combining partial results.
inline double combine(Reduction kind, double a, double b) {
  return kind == Reduction::sum ? Sum::combine(a, b) : Max::combine(a, b);
}
inline double start(Reduction kind) { return kind == Reduction::sum ? Sum::kStart : Max::kStart; }

}  // namespace halftone::cpu
