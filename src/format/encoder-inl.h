// SPDX-License-Identifier: Apache-2.0
//
// Encoding in lanes of 32 bits, three ways that give the bits of conversion_codec.h. Included once per
// instruction set by Highway's foreach_target.h.
#if defined(HALFTONE_FORMAT_ENCODER_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef HALFTONE_FORMAT_ENCODER_INL_H_
#undef HALFTONE_FORMAT_ENCODER_INL_H_
#else
#define HALFTONE_FORMAT_ENCODER_INL_H_
#endif

#include "format/lanes-inl.h"

HWY_BEFORE_NAMESPACE();
namespace halftone::simd::HWY_NAMESPACE {

// How the sign gets into the code.
enum class Signs {
  kept,        // zeros and NaNs have one
  some,        // as the layout says
  complement,  // two's complement
};

// To nearest even by an addition: |x| + 2^k has the spacing of the format at x if k is chosen for it, so the
// processor rounds, and the bits above those of 2^k are the significand. REQUIRES Layout::fits_addition and
// the default state of the processor.
template <Signs kSigns>
struct NearestEncoder {
  explicit HWY_INLINE NearestEncoder(const Layout& f)
      : layout(f),
        magnitude_mask(hn::Set(I(), 0x7FFFFFFF)),
        exponent_mask(hn::Set(I(), 0x7F800000)),
        limit(hn::Set(I(), f.limit)),
        first(hn::Set(I(), f.first_binade << 23)),
        lift(hn::Set(I(), f.shift << 23)),
        largest(hn::Set(I(), f.largest)),
        over(hn::Set(I(), f.over[0])),
        sign(hn::Set(I(), f.sign)) {}

  // The magnitude of the code, beyond the largest if it overflows.
  HWY_INLINE VI magnitude_code(VI magnitude) const {
    const VI near = hn::Min(magnitude, limit);  // keeps 2^k within float32
    const VI binade = hn::Max(hn::And(near, exponent_mask), first);
    const VI power = hn::Add(binade, lift);
    const VI sum = hn::BitCast(I(), hn::Add(hn::BitCast(F(), near), hn::BitCast(F(), power)));
    return hn::Add(hn::Sub(sum, power), hn::ShiftRightSame(hn::Sub(binade, first), layout.shift));
  }

  HWY_INLINE VI operator()(VI bits) const {
    const VI magnitude = hn::And(bits, magnitude_mask);
    VI code = magnitude_code(magnitude);
    const VI negative = hn::BroadcastSignBit(bits);
    if constexpr (kSigns == Signs::complement) {
      code = complement(code, negative);
    } else {
      code = hn::IfThenElse(hn::Gt(code, largest), over, code);
      code = hn::Or(code, hn::And(negative, kSigns == Signs::kept ? sign : sign_of(code)));
    }
    const auto is_nan = hn::Gt(magnitude, exponent_mask);
    if (HWY_UNLIKELY(!hn::AllFalse(I(), is_nan)))
      code = hn::IfThenElse(is_nan, nan_codes(layout, bits), code);
    return code;
  }

  // Of finite values; overflow becomes the largest.
  HWY_INLINE VI saturate(VI bits) const {
    const VI code = magnitude_code(hn::And(bits, magnitude_mask));
    const VI negative = hn::BroadcastSignBit(bits);
    if constexpr (kSigns == Signs::complement) return complement(code, negative);
    const VI near = hn::Min(code, largest);
    return hn::Or(near, hn::And(negative, kSigns == Signs::kept ? sign : sign_of(near)));
  }

  HWY_INLINE VI sign_of(VI code) const {
    const VI zero_sign = hn::Set(I(), layout.signed_zero ? layout.sign : 0);
    return hn::IfThenElse(hn::Eq(code, hn::Zero(I())), zero_sign, sign);
  }

  // The negative side reaches one further.
  HWY_INLINE VI complement(VI code, VI negative) const {
    code = hn::Min(code, hn::Sub(largest, negative));
    return hn::And(hn::Sub(hn::Xor(code, negative), negative), hn::Set(I(), layout.mask));
  }

  static HWY_INLINE VI nan_codes(const Layout& f, VI bits) {
    const VI kept = hn::ShiftRightSame(hn::And(bits, hn::Set(I(), f.payload)), f.shift);
    const VI sign = hn::And(hn::BroadcastSignBit(bits), hn::Set(I(), f.signed_nan ? f.sign : 0));
    return hn::Or(hn::Or(hn::Set(I(), f.nan), kept), sign);
  }

  const Layout& layout;
  VI magnitude_mask, exponent_mask, limit, first, lift, largest, over, sign;
};

// Stochastic with fewer than 32 random bits: the random number, cut to the bits that are dropped, carries
// with the right probability. REQUIRES Layout::fits_stochastic.
template <Signs kSigns>
struct StochasticEncoder {
  explicit HWY_INLINE StochasticEncoder(const Layout& f)
      : nearest(f),
        one(hn::Set(I(), 1)),
        hidden(hn::Set(I(), 1 << 23)),
        least_shift(hn::Set(I(), f.least + 150)),
        shift(hn::Set(I(), f.shift)),
        first(hn::Set(I(), f.first_binade)),
        below_first(hn::Set(I(), (f.first_binade - 1) << f.mantissa_bits)),
        random_mask(hn::Set(U(), f.random_mask)) {}

  HWY_INLINE VI operator()(VI bits, VU words) const {
    const I di;
    const VI magnitude = hn::And(bits, nearest.magnitude_mask);
    const VI near = hn::Min(magnitude, nearest.limit);
    const VU random = hn::And(words, random_mask);
    VI code;
    if (HWY_LIKELY(hn::AllFalse(di, hn::Lt(near, nearest.first)))) {  // all normal: the same bits are dropped
      const int drop = nearest.layout.shift;
      const VU sum = hn::Add(hn::BitCast(U(), near), hn::ShiftRightSame(random, 32 - drop));
      code = hn::Sub(hn::BitCast(di, hn::ShiftRightSame(sum, drop)), below_first);
    } else {
      const VI exponent = hn::Max(hn::ShiftRight<23>(near), one);
      const VI n = hn::Sub(hn::Add(near, hidden), hn::ShiftLeft<23>(exponent));
      const VI drop = hn::Min(hn::Max(shift, hn::Sub(least_shift, exponent)), hn::Set(di, 56));
      const VI binade =
          hn::ShiftLeftSame(hn::Max(hn::Sub(exponent, first), hn::Zero(di)), nearest.layout.mantissa_bits);
      code = hn::Add(binade, carry(n, drop, random));
    }
    code = hn::IfThenElse(hn::Gt(code, nearest.largest), nearest.over, code);
    code = hn::Or(code, hn::And(hn::BroadcastSignBit(bits),
                                kSigns == Signs::kept ? nearest.sign : nearest.sign_of(code)));
    const auto is_special = hn::Gt(magnitude, hn::Set(di, 0x7F7FFFFF));
    if (HWY_UNLIKELY(!hn::AllFalse(di, is_special))) code = hn::IfThenElse(is_special, nearest(bits), code);
    return code;
  }

  // (n + the random number) / 2^drop. Fewer than 32 random bits see at most 31 of those dropped.
  static HWY_INLINE VI carry(VI n, VI drop, VU random) {
    const U du;
    const VI near = hn::Min(drop, hn::Set(I(), 31));
    const VU cut = hn::Shr(hn::BitCast(du, n), hn::BitCast(du, hn::Sub(drop, near)));
    const VU added = hn::Shr(random, hn::BitCast(du, hn::Sub(hn::Set(I(), 32), near)));
    return hn::BitCast(I(), hn::Shr(hn::Add(cut, added), hn::BitCast(du, near)));
  }

  NearestEncoder<kSigns> nearest;
  VI one, hidden, least_shift, shift, first, below_first;
  VU random_mask;
};

// Every rounding and policy, and values divided by a power of two, in integers.
struct AnyEncoder {
  explicit HWY_INLINE AnyEncoder(const Layout& f)
      : layout(f),
        nearest(f),
        one(hn::Set(I(), 1)),
        zero(hn::Zero(I())),
        hidden(hn::Set(I(), 1 << 23)),
        infinity(hn::Set(I(), 0x7F800000)),
        least_shift(hn::Set(I(), f.least + 150)),
        shift(hn::Set(I(), f.shift)),
        first_binade(hn::Set(I(), f.first_binade)),
        random_mask(hn::Set(U(), f.random_mask)) {}

  HWY_INLINE VI operator()(VI bits, VI scale, VU words) const {
    const VI magnitude = hn::And(bits, hn::Set(I(), 0x7FFFFFFF));
    const VI negative = hn::BroadcastSignBit(bits);
    VI exponent = hn::Max(hn::BitCast(I(), hn::ShiftRight<23>(hn::BitCast(U(), magnitude))), one);
    VI n = hn::Sub(hn::Add(magnitude, hidden), hn::ShiftLeft<23>(exponent));  // value = n 2^(exponent - 150)
    const auto is_low = hn::Lt(n, hidden);
    if (HWY_UNLIKELY(!hn::AllFalse(I(), is_low))) normalise(is_low, n, exponent);
    exponent = hn::Sub(exponent, scale);

    const VI drop = hn::Min(hn::Max(shift, hn::Sub(least_shift, exponent)), hn::Set(I(), 56));
    const VI binade = hn::ShiftLeftSame(hn::Max(hn::Sub(exponent, first_binade), zero), layout.mantissa_bits);
    VI code =
        layout.rounding == Rounding::stochastic && layout.random_bits < 32
            ? hn::Add(binade, StochasticEncoder<Signs::kept>::carry(n, drop, hn::And(words, random_mask)))
            : round(n, drop, binade, negative, words);
    if (layout.flushes) code = hn::IfThenZeroElse(hn::Lt(exponent, first_binade), code);
    code = hn::IfThenZeroElse(hn::Eq(n, zero), code);  // which has no exponent to scale
    return finish(code, bits, magnitude, negative);
  }

 private:
  // A float32 below the smallest normal has leading zeros; the conversion of an integer, exact, removes them.
  template <class Mask>
  HWY_INLINE void normalise(Mask is_low, VI& n, VI& exponent) const {
    const VI low = hn::BitCast(I(), hn::ConvertTo(F(), n));
    const VI field = hn::ShiftRight<23>(low);
    const VI low_n = hn::Sub(hn::Add(low, hidden), hn::ShiftLeft<23>(field));
    const auto is_subnormal = hn::And(is_low, hn::Gt(n, zero));
    n = hn::IfThenElse(is_subnormal, low_n, n);
    exponent = hn::IfThenElse(is_subnormal, hn::Sub(field, hn::Set(I(), 149)), exponent);
  }

  // With the fraction cut off as a number of 32 bits.
  HWY_INLINE VI round(VI n, VI drop, VI binade, VI negative, VU words) const {
    const I di;
    const U du;
    const VI sum = hn::Add(binade, hn::Shr(n, hn::Min(drop, hn::Set(di, 31))));
    const VI word = hn::Set(di, 32);
    const VU cut = hn::Shl(hn::BitCast(du, n), hn::BitCast(du, hn::Max(hn::Sub(word, drop), zero)));
    const VU fraction = hn::Shr(cut, hn::BitCast(du, hn::Max(hn::Sub(drop, word), zero)));
    const VI inexact = hn::VecFromMask(di, hn::Ne(hn::BitCast(di, cut), zero));
    const VI half = hn::BroadcastSignBit(hn::BitCast(di, fraction));
    VI away = zero;  // -1 where the magnitude grows
    switch (layout.rounding) {
      case Rounding::nearest_even: {
        const VI above = hn::VecFromMask(di, hn::Ne(hn::ShiftLeft<1>(hn::BitCast(di, fraction)), zero));
        away = hn::And(half, hn::Or(above, hn::Neg(hn::And(sum, one))));
        break;
      }
      case Rounding::nearest_away:
        away = half;
        break;
      case Rounding::toward_zero:
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
    }
    return hn::Sub(sum, away);
  }

  // Overflow, sign, infinity, NaN.
  HWY_INLINE VI finish(VI code, VI bits, VI magnitude, VI negative) const {
    const I di;
    const auto is_special = hn::Gt(magnitude, hn::Set(di, 0x7F7FFFFF));
    if (layout.is_fixed) {
      code = nearest.complement(code, negative);
    } else {
      const auto choose = [&](const std::int32_t(&codes)[2]) HWY_ATTR {
        return hn::Xor(hn::Set(di, codes[0]), hn::And(negative, hn::Set(di, codes[0] ^ codes[1])));
      };
      code = hn::IfThenElse(hn::Gt(code, nearest.largest), choose(layout.over),
                            hn::Or(code, hn::And(negative, nearest.sign_of(code))));
      if (HWY_UNLIKELY(!hn::AllFalse(di, is_special)))
        code = hn::IfThenElse(is_special, choose(layout.infinity), code);
    }
    if (HWY_UNLIKELY(!hn::AllFalse(di, is_special)))
      code = hn::IfThenElse(hn::Gt(magnitude, infinity), nearest.nan_codes(layout, bits), code);
    return code;
  }

  const Layout& layout;
  NearestEncoder<Signs::some> nearest;  // for its constants and the signs
  VI one, zero, hidden, infinity, least_shift, shift, first_binade;
  VU random_mask;
};

// The leading bits of a float32, by integer addition: half an ulp less one and the parity of what is kept, or
// a random number. Carries go into infinity, which is where they should.
struct LeadingEncoder {
  HWY_INLINE LeadingEncoder(const Format& f, const Conversion& c)
      : drop(23 - f.mantissa_bits),
        almost_half(hn::Set(U(), (1u << (drop - 1)) - 1)),
        one(hn::Set(U(), 1)),
        infinity(hn::Set(I(), 0x7F800000)),
        magnitude_mask(hn::Set(I(), 0x7FFFFFFF)),
        random_mask(hn::Set(U(), Layout::random_mask_of(c))) {}

  HWY_INLINE VI operator()(VI signed_bits) const {
    const VU bits = hn::BitCast(U(), signed_bits);
    const VU parity = hn::And(hn::ShiftRightSame(bits, drop), one);
    return cut(hn::Add(hn::Add(bits, almost_half), parity), signed_bits, infinity);
  }

  // Infinity must not be added to; nor is it a NaN, whose codes it gets all the same.
  HWY_INLINE VI stochastic(VI signed_bits, VU words) const {
    const VU random = hn::ShiftRightSame(hn::And(words, random_mask), 32 - drop);
    return cut(hn::Add(hn::BitCast(U(), signed_bits), random), signed_bits, hn::Set(I(), 0x7F7FFFFF));
  }

  HWY_INLINE VI cut(VU sum, VI bits, VI last) const {
    VI code = hn::BitCast(I(), hn::ShiftRightSame(sum, drop));
    const auto is_special = hn::Gt(hn::And(bits, magnitude_mask), last);
    if (HWY_UNLIKELY(!hn::AllFalse(I(), is_special))) {
      const VI kept = hn::BitCast(I(), hn::ShiftRightSame(hn::BitCast(U(), bits), drop));
      const auto is_nan = hn::Gt(hn::And(bits, magnitude_mask), infinity);
      const VI quiet = hn::IfThenElseZero(is_nan, hn::Set(I(), 1 << (22 - drop)));
      code = hn::IfThenElse(is_special, hn::Or(kept, quiet), code);
    }
    return code;
  }

  int drop;
  VU almost_half, one;
  VI infinity, magnitude_mask;
  VU random_mask;
};

}  // namespace halftone::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
