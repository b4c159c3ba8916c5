// SPDX-License-Identifier: Apache-2.0
//
// Rounding in lanes of 32 bits to the numbers of a format, as encoder-inl.h makes codes: what decoding those
// would give. Included once per instruction set by Highway's foreach_target.h. REQUIRES Layout::fits_rounding
// and the default state of the processor. What overflows, infinity and NaN too, becomes the largest number.
#if defined(HALFTONE_FORMAT_ROUNDER_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef HALFTONE_FORMAT_ROUNDER_INL_H_
#undef HALFTONE_FORMAT_ROUNDER_INL_H_
#else
#define HALFTONE_FORMAT_ROUNDER_INL_H_
#endif

#include "format/encoder-inl.h"

HWY_BEFORE_NAMESPACE();
namespace halftone::simd::HWY_NAMESPACE {

// To nearest even: adding a power of two whose spacing is that of the format, and taking it away again.
struct NearestRounder {
  static constexpr bool kRandom = false;

  explicit HWY_INLINE NearestRounder(const Layout& f)
      : exponent_mask(hn::Set(I(), 0x7F800000)),
        most(hn::BitCast(I(), hn::Set(F(), f.largest_value))),
        first(hn::Set(I(), f.first_binade << 23)),
        lift(hn::Set(I(), f.shift << 23)) {}

  HWY_INLINE VF operator()(VF x, VU) const {
    const VI near = hn::Min(hn::BitCast(I(), hn::Abs(x)), most);
    const VI binade = hn::Max(hn::And(near, exponent_mask), first);
    const VF power = hn::BitCast(F(), hn::Add(binade, lift));
    return hn::CopySignToAbs(hn::Sub(hn::Add(hn::BitCast(F(), near), power), power), x);
  }

  VI exponent_mask, most, first, lift;
};

// Stochastic, as StochasticEncoder: the random number, cut to the bits that are dropped, carries.
struct StochasticRounder {
  static constexpr bool kRandom = true;

  explicit HWY_INLINE StochasticRounder(const Layout& f)
      : most(hn::BitCast(I(), hn::Set(F(), f.largest_value))),
        first(hn::Set(I(), f.first_binade << 23)),
        one(hn::Set(I(), 1)),
        hidden(hn::Set(I(), 1 << 23)),
        least_shift(hn::Set(I(), f.least + 150)),
        kept(hn::Set(I(), static_cast<std::int32_t>(~0u << f.shift))),
        random_mask(hn::Set(U(), f.random_mask)),
        least(hn::Set(F(), f.least_value)),
        drop(f.shift) {}

  HWY_INLINE VF operator()(VF x, VU words) const {
    const I di;
    const VI near = hn::Min(hn::BitCast(di, hn::Abs(x)), most);
    const VU random = hn::And(words, random_mask);
    const VI carried = hn::Add(near, hn::BitCast(di, hn::ShiftRightSame(random, 32 - drop)));
    VI rounded = hn::Min(hn::And(carried, kept), most);
    const auto is_low = hn::Lt(near, first);
    if (HWY_UNLIKELY(!hn::AllFalse(di, is_low))) {  // whose spacing is fixed, so more bits are dropped
      const VI exponent = hn::Max(hn::ShiftRight<23>(near), one);
      const VI n = hn::Sub(hn::Add(near, hidden), hn::ShiftLeft<23>(exponent));
      const VI low_drop =
          hn::Min(hn::Max(hn::Set(di, drop), hn::Sub(least_shift, exponent)), hn::Set(di, 56));
      const VI units = StochasticEncoder<Signs::kept>::carry(n, low_drop, random);
      rounded = hn::IfThenElse(is_low, hn::BitCast(di, hn::Mul(hn::ConvertTo(F(), units), least)), rounded);
    }
    return hn::CopySignToAbs(hn::BitCast(F(), rounded), x);
  }

  VI most, first, one, hidden, least_shift, kept;
  VU random_mask;
  VF least;
  int drop;
};

}  // namespace halftone::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
