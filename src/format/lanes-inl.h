// SPDX-License-Identifier: Apache-2.0
//
// The codec of format_codec.h and conversion_codec.h in lanes of 32 bits. Included once per instruction set by
// Highway's foreach_target.h. Integer operations, and products of exact numbers: the state of the processor
// does not matter.
#if defined(HALFTONE_FORMAT_LANES_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef HALFTONE_FORMAT_LANES_INL_H_
#undef HALFTONE_FORMAT_LANES_INL_H_
#else
#define HALFTONE_FORMAT_LANES_INL_H_
#endif

#include <hwy/highway.h>

#include "format/layout.h"

HWY_BEFORE_NAMESPACE();
namespace halftone::simd::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using F = hn::ScalableTag<float>;
using U = hn::RebindToUnsigned<F>;
using I = hn::RebindToSigned<F>;
using VF = hn::Vec<F>;
using VU = hn::Vec<U>;
using VI = hn::Vec<I>;

// One register of codes, widened to 32 bits, from the elements of a tensor and back.
template <class Code>
HWY_INLINE VI load_codes(const Code* codes) {
  if constexpr (sizeof(Code) == 4) {
    return hn::BitCast(I(), hn::LoadU(U(), codes));
  } else {
    return hn::BitCast(I(), hn::PromoteTo(U(), hn::LoadU(hn::Rebind<Code, F>(), codes)));
  }
}

template <class Code>
HWY_INLINE void store_codes(VI v, Code* codes) {
  if constexpr (sizeof(Code) == 4) {
    hn::StoreU(hn::BitCast(U(), v), U(), codes);
  } else {
    const hn::Rebind<Code, F> tag;
    hn::StoreU(hn::DemoteTo(tag, v), tag, codes);
  }
}

struct Decoder {
  explicit HWY_INLINE Decoder(const Layout& f)
      : sign(hn::Set(I(), f.sign)),
        infinity(hn::Set(I(), 0x7F800000)),
        quiet(hn::Set(I(), 0x400000)),
        below_special(hn::Set(I(), f.first_special - 1)),
        below_nan(hn::Set(I(), f.first_nan - 1)),
        below_normal(hn::Set(I(), 1 << f.mantissa_bits)),
        rebias(hn::Set(I(), f.rebias)),
        nan_code(hn::Set(I(), f.nan_code)),
        mask(hn::Set(I(), f.mask)),
        least(hn::Set(F(), f.least_value)),
        shift(f.shift),
        sign_shift(f.sign_shift),
        is_fixed(f.is_fixed) {}

  // The bits of the float32.
  HWY_INLINE VI operator()(VI code) const {
    const I di;
    const F df;
    if (is_fixed) {
      const VI wide = hn::BitCast(di, hn::ShiftLeftSame(code, sign_shift));
      return hn::BitCast(di, hn::Mul(hn::ConvertTo(df, hn::ShiftRightSame(wide, sign_shift)), least));
    }
    code = hn::And(code, mask);
    const VI magnitude = hn::AndNot(sign, code);
    const VI shifted = hn::ShiftLeftSame(magnitude, shift);
    const VI subnormal = hn::BitCast(di, hn::Mul(hn::ConvertTo(df, magnitude), least));
    VI bits = hn::IfThenElse(hn::Lt(magnitude, below_normal), subnormal, hn::Add(shifted, rebias));
    bits = hn::IfThenElse(hn::Gt(magnitude, below_special), hn::Or(shifted, infinity), bits);
    bits = hn::Or(bits, hn::IfThenElseZero(hn::Gt(magnitude, below_nan), quiet));
    bits = hn::IfThenElse(hn::Eq(code, nan_code), hn::Or(infinity, quiet), bits);
    return hn::Or(bits, hn::ShiftLeftSame(hn::And(code, sign), sign_shift));
  }

  VI sign, infinity, quiet, below_special, below_nan, below_normal, rebias, nan_code, mask;
  VF least;
  int shift, sign_shift;
  bool is_fixed;
};

// Plain: see Layout::is_plain. Otherwise every rounding and policy, and values scaled by a power of two.
template <bool kPlain>
struct Encoder {
  explicit HWY_INLINE Encoder(const Layout& f)
      : layout(f),
        one(hn::Set(I(), 1)),
        zero(hn::Zero(I())),
        hidden(hn::Set(I(), 1 << 23)),
        infinity(hn::Set(I(), 0x7F800000)),
        magnitude_mask(hn::Set(I(), 0x7FFFFFFF)),
        least_shift(hn::Set(I(), f.least + 150)),
        shift(hn::Set(I(), f.shift)),
        first_binade(hn::Set(I(), f.first_binade)),
        largest(hn::Set(I(), f.largest)),
        over(hn::Set(I(), f.over[0])),
        over_change(hn::Set(I(), f.over[0] ^ f.over[1])),
        infinite(hn::Set(I(), f.infinity[0])),
        infinite_change(hn::Set(I(), f.infinity[0] ^ f.infinity[1])),
        nan(hn::Set(I(), f.nan)),
        sign(hn::Set(I(), f.sign)),
        payload(hn::Set(I(), f.payload)),
        nan_sign(hn::Set(I(), f.signed_nan ? f.sign : 0)),
        zero_sign(hn::Set(I(), f.signed_zero ? f.sign : 0)),
        flush_below(hn::Set(I(), f.flush_below)),
        random_mask(hn::Set(U(), f.random_mask)) {}

  // The codes of floats given as bits, divided by 2^scale. `words` are random.
  HWY_INLINE VI operator()(VI bits, VI scale, VU words) const {
    const U du;
    const VI magnitude = hn::And(bits, magnitude_mask);
    const VI field = hn::BitCast(I(), hn::ShiftRight<23>(hn::BitCast(du, magnitude)));
    VI exponent = hn::Max(field, one);
    VI n = hn::Sub(hn::Add(magnitude, hidden), hn::ShiftLeft<23>(exponent));  // value = n 2^(exponent - 150)
    const VI negative = hn::BroadcastSignBit(bits);
    if constexpr (kPlain) {
      VI code = to_nearest_even(n, exponent);
      code = hn::IfThenElse(hn::Gt(code, largest), over, code);
      const VI kept = hn::ShiftRightSame(hn::And(bits, payload), layout.shift);
      code = hn::IfThenElse(hn::Gt(magnitude, infinity), hn::Or(nan, kept), code);
      return hn::Or(code, hn::And(negative, sign));
    }
    normalise(n, exponent);
    exponent = hn::Sub(exponent, scale);
    VI code = layout.rounding == Rounding::nearest_even ? to_nearest_even(n, exponent)
                                                        : to_other(n, exponent, negative, words);
    code = hn::IfThenZeroElse(hn::Lt(magnitude, flush_below), code);
    if (layout.is_fixed) return to_fixed(code, magnitude, negative);
    const VI code_sign = hn::IfThenElse(hn::Eq(code, zero), zero_sign, sign);
    const auto is_over = hn::Gt(code, largest);
    code = hn::Or(code, hn::And(negative, code_sign));
    code = hn::IfThenElse(is_over, hn::Xor(over, hn::And(negative, over_change)), code);
    code = hn::IfThenElse(hn::Eq(magnitude, infinity), hn::Xor(infinite, hn::And(negative, infinite_change)),
                          code);
    const VI kept = hn::ShiftRightSame(hn::And(bits, payload), layout.shift);
    const VI nan_with_sign = hn::Or(hn::Or(nan, kept), hn::And(negative, nan_sign));
    return hn::IfThenElse(hn::Gt(magnitude, infinity), nan_with_sign, code);
  }

  // A float32 below the smallest normal has leading zeros; the conversion of an integer removes them.
  HWY_INLINE void normalise(VI& n, VI& exponent) const {
    const auto is_low = hn::Lt(n, hidden);
    const VI low = hn::BitCast(I(), hn::ConvertTo(F(), n));  // n itself, exactly
    const VI field = hn::ShiftRight<23>(low);
    const VI low_n = hn::Sub(hn::Add(low, hidden), hn::ShiftLeft<23>(field));
    n = hn::IfThenElse(hn::And(is_low, hn::Gt(n, zero)), low_n, n);
    exponent = hn::IfThenElse(hn::And(is_low, hn::Gt(n, zero)), hn::Sub(field, hn::Set(I(), 149)), exponent);
  }

  // binade + (n >> drop) to nearest even: half - 1 + (is the sum odd) carries exactly when it should.
  HWY_INLINE VI to_nearest_even(VI n, VI exponent) const {
    const VI drop = hn::Min(hn::Max(shift, hn::Sub(least_shift, exponent)), hn::Set(I(), 25));
    const VI binade = hn::ShiftLeftSame(hn::Max(hn::Sub(exponent, first_binade), zero), layout.mantissa_bits);
    const VI odd = hn::And(hn::Add(binade, hn::Shr(n, drop)), one);
    const VI almost_half = hn::Sub(hn::Shl(one, hn::Sub(drop, one)), one);
    return hn::Add(binade, hn::Shr(hn::Add(n, hn::Add(almost_half, odd)), drop));
  }

  // The same with the fraction cut off as a number of 32 bits, for the other roundings.
  HWY_INLINE VI to_other(VI n, VI exponent, VI negative, VU words) const {
    const I di;
    const U du;
    const VI drop = hn::Min(hn::Max(shift, hn::Sub(least_shift, exponent)), hn::Set(di, 56));
    const VI binade = hn::ShiftLeftSame(hn::Max(hn::Sub(exponent, first_binade), zero), layout.mantissa_bits);
    const VI sum = hn::Add(binade, hn::Shr(n, hn::Min(drop, hn::Set(di, 31))));
    const VI word = hn::Set(di, 32);
    const VU cut = hn::Shl(hn::BitCast(du, n), hn::BitCast(du, hn::Max(hn::Sub(word, drop), zero)));
    const VU fraction = hn::Shr(cut, hn::BitCast(du, hn::Max(hn::Sub(drop, word), zero)));
    const VI inexact = hn::VecFromMask(di, hn::Ne(hn::BitCast(di, cut), zero));
    VI away = zero;  // -1 where the magnitude grows
    switch (layout.rounding) {
      case Rounding::nearest_away:
        away = hn::BroadcastSignBit(hn::BitCast(di, fraction));
        break;
      case Rounding::toward_positive:
        away = hn::AndNot(negative, inexact);
        break;
      case Rounding::toward_negative:
        away = hn::And(negative, inexact);
        break;
      case Rounding::to_odd:
        away = hn::And(inexact, hn::Sub(hn::And(sum, one), one));
        break;
      case Rounding::stochastic: {
        const VU kept = hn::And(fraction, random_mask);
        const VU carried = hn::Add(kept, hn::And(words, random_mask));
        away = hn::BitCast(di, hn::VecFromMask(du, hn::Lt(carried, kept)));
        break;
      }
      default:
        break;
    }
    return hn::Sub(sum, away);
  }

  // Two's complement; the negative side reaches one further. Beyond the ends it saturates.
  HWY_INLINE VI to_fixed(VI code, VI magnitude, VI negative) const {
    code = hn::Min(code, hn::Sub(largest, negative));
    code = hn::Sub(hn::Xor(code, negative), negative);
    return hn::IfThenElse(hn::Gt(magnitude, infinity), nan, hn::And(code, hn::Set(I(), layout.mask)));
  }

  const Layout& layout;
  VI one, zero, hidden, infinity, magnitude_mask, least_shift, shift, first_binade, largest, over, over_change,
      infinite, infinite_change, nan, sign, payload, nan_sign, zero_sign, flush_below;
  VU random_mask;
};

}  // namespace halftone::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
