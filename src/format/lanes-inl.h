// SPDX-License-Identifier: Apache-2.0
//
// Loading, storing and decoding in lanes of 32 bits. Included once per instruction set by Highway's
// foreach_target.h. Integer operations, and products of exact normal numbers: the state of the processor does
// not matter.
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
        payload(hn::Set(I(), f.payload)),
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
    bits =
        hn::IfThenElse(hn::Gt(magnitude, below_special), hn::Or(hn::And(shifted, payload), infinity), bits);
    bits = hn::Or(bits, hn::IfThenElseZero(hn::Gt(magnitude, below_nan), quiet));
    bits = hn::IfThenElse(hn::Eq(code, nan_code), hn::Or(infinity, quiet), bits);
    return hn::Or(bits, hn::ShiftLeftSame(hn::And(code, sign), sign_shift));
  }

  VI sign, infinity, quiet, below_special, below_nan, below_normal, rebias, nan_code, payload, mask;
  VF least;
  int shift, sign_shift;
  bool is_fixed;
};

}  // namespace halftone::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
