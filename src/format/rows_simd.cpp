// SPDX-License-Identifier: Apache-2.0
//
// This file is compiled once per instruction set by Highway's foreach_target.h. The generic loops are the
// codec of format_codec.h in lanes of 32 bits; float16 takes the processor's own conversion where there is
// one. bfloat16 never does: x86 has an instruction for it, which flushes subnormals to zero.
#include "format/rows_simd.h"

#include <algorithm>
#include <cstring>

#define HWY_DISABLED_TARGETS HWY_SSSE3
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "format/rows_simd.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#ifndef HALFTONE_ROWS_SIMD_ONCE
#define HALFTONE_ROWS_SIMD_ONCE
namespace halftone::simd {

// A row as the loops see it. Codes are compared as signed numbers of 32 bits; `never` is larger than any.
struct Layout {
  static constexpr std::int32_t never = 0x7FFFFFFF;

  explicit Layout(const Format& format)
      : mantissa_bits(format.mantissa_bits),
        shift(23 - format.mantissa_bits),
        sign_shift(32 - format.bits()),
        least(detail::least_exponent(format)),
        least_value(static_cast<float>(min_subnormal(format))),
        sign(static_cast<std::int32_t>(detail::sign_bit(format))),
        largest(static_cast<std::int32_t>(detail::max_code(format))),
        overflow(static_cast<std::int32_t>(encode(format, std::bit_cast<double>(detail::kDoubleInfinity)))),
        nan(static_cast<std::int32_t>(detail::nan_code(format, 0, 0))),
        payload(format.specials == Specials::ieee && format.mantissa_bits > 0 ? 0x7FFFFF : 0),
        one_zero(format.specials == Specials::nan_zero),
        first_special(format.specials == Specials::ieee || format.specials == Specials::nan_only ? largest + 1
                                                                                                 : never),
        first_nan(format.specials == Specials::ieee ? largest + 2 : first_special),
        nan_code(one_zero ? sign : never),
        rebias((127 - format.bias) << 23),
        bias(format.bias),
        keeps_nan(detail::has_nan(format)) {}

  std::int32_t mantissa_bits, shift, sign_shift, least;
  float least_value;
  std::int32_t sign, largest, overflow, nan, payload;
  bool one_zero;
  std::int32_t first_special, first_nan, nan_code, rebias, bias;
  bool keeps_nan;
};

enum class Kind { any, half, brain };

inline Kind kind(const Format& format) {
  if (format.specials != Specials::ieee) return Kind::any;
  if (format.exponent_bits == 5 && format.mantissa_bits == 10 && format.bias == 15) return Kind::half;
  if (format.exponent_bits == 8 && format.mantissa_bits == 7 && format.bias == 127) return Kind::brain;
  return Kind::any;
}

}  // namespace halftone::simd
#endif

HWY_BEFORE_NAMESPACE();
namespace halftone::simd::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using F = hn::ScalableTag<float>;
using U = hn::RebindToUnsigned<F>;
using I = hn::RebindToSigned<F>;
using VF = hn::Vec<F>;
using VU = hn::Vec<U>;
using VI = hn::Vec<I>;

// Calls body(from, to) on whole vectors, the last one padded in a copy.
template <class From, class To, class Body>
HWY_INLINE void each_vector(const void* from, void* to, std::int64_t count, const Body& body) {
  constexpr std::size_t kMax = HWY_MAX_BYTES / sizeof(float);
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(F()));
  const auto* source = static_cast<const From*>(from);
  auto* target = static_cast<To*>(to);
  std::int64_t i = 0;
  for (; i + lanes <= count; i += lanes) body(source + i, target + i);
  if (lanes == 1 || i >= count) return;
  From padded[kMax] = {};
  To result[kMax];
  const auto rest = static_cast<std::size_t>(count - i);
  std::memcpy(padded, source + i, rest * sizeof(From));
  body(padded, result);
  std::memcpy(target + i, result, rest * sizeof(To));
}

template <class Code>
HWY_INLINE VI load_codes(const Code* codes) {
  return hn::BitCast(I(), hn::PromoteTo(U(), hn::LoadU(hn::Rebind<Code, F>(), codes)));
}

template <class Code>
HWY_INLINE void store_codes(VI v, Code* codes) {
  const hn::Rebind<Code, F> tag;
  hn::StoreU(hn::DemoteTo(tag, v), tag, codes);
}

template <class Code>
HWY_INLINE void decode_any(const Layout& f, const void* codes, float* values, std::int64_t count) {
  const I di;
  const F df;
  const VI sign = hn::Set(di, f.sign), infinity = hn::Set(di, 0x7F800000), quiet = hn::Set(di, 0x400000);
  const VI below_special = hn::Set(di, f.first_special - 1), below_nan = hn::Set(di, f.first_nan - 1);
  const VI below_normal = hn::Set(di, 1 << f.mantissa_bits), rebias = hn::Set(di, f.rebias);
  const VI nan_code = hn::Set(di, f.nan_code), mask = hn::Set(di, f.sign | (f.sign - 1));
  const VF least = hn::Set(df, f.least_value);
  each_vector<Code, float>(codes, values, count, [&](const Code* from, float* to) HWY_ATTR {
    const VI code = hn::And(load_codes(from), mask);
    const VI magnitude = hn::AndNot(sign, code);
    const VI shifted = hn::ShiftLeftSame(magnitude, f.shift);
    const VI subnormal = hn::BitCast(di, hn::Mul(hn::ConvertTo(df, magnitude), least));
    VI bits = hn::IfThenElse(hn::Lt(magnitude, below_normal), subnormal, hn::Add(shifted, rebias));
    bits = hn::IfThenElse(hn::Gt(magnitude, below_special), hn::Or(shifted, infinity), bits);
    bits = hn::Or(bits, hn::IfThenElseZero(hn::Gt(magnitude, below_nan), quiet));
    bits = hn::IfThenElse(hn::Eq(code, nan_code), hn::Or(infinity, quiet), bits);
    bits = hn::Or(bits, hn::ShiftLeftSame(hn::And(code, sign), f.sign_shift));
    hn::StoreU(hn::BitCast(df, bits), df, to);
  });
}

template <class Code>
HWY_INLINE void encode_any(const Layout& f, const float* values, void* codes, std::int64_t count) {
  const I di;
  const U du;
  const F df;
  const VI fraction_mask = hn::Set(di, 0x7FFFFF), hidden_bit = hn::Set(di, 0x800000), one = hn::Set(di, 1);
  const VI zero = hn::Zero(di), infinity = hn::Set(di, 0x7F800000), magnitude_mask = hn::Set(di, 0x7FFFFFFF);
  const VI least_shift = hn::Set(di, f.least + 150), shift = hn::Set(di, f.shift), far = hn::Set(di, 25);
  const VI first_binade = hn::Set(di, 127 + f.mantissa_bits + f.least);
  const VI largest = hn::Set(di, f.largest), overflow = hn::Set(di, f.overflow), nan = hn::Set(di, f.nan);
  const VI sign = hn::Set(di, f.sign), payload = hn::Set(di, f.payload),
           one_zero = hn::Set(di, f.one_zero ? -1 : 0);
  const VI has_nan = hn::Set(di, f.keeps_nan ? -1 : 0);
  each_vector<float, Code>(values, codes, count, [&](const float* from, Code* to) HWY_ATTR {
    const VI bits = hn::BitCast(di, hn::LoadU(df, from));
    const VI magnitude = hn::And(bits, magnitude_mask);
    const VI field = hn::BitCast(di, hn::ShiftRight<23>(hn::BitCast(du, magnitude)));
    const VI fraction = hn::And(bits, fraction_mask);
    const VI hidden = hn::IfThenElseZero(hn::Gt(field, zero), hidden_bit);
    const VI n = hn::Or(fraction, hidden);
    const VI exponent = hn::Max(field, one);

    // binade + (n >> drop) to nearest even: half - 1 + (is the sum odd) carries exactly when it should.
    const VI drop = hn::Min(hn::Max(shift, hn::Sub(least_shift, exponent)), far);
    const VI binade = hn::ShiftLeftSame(hn::Max(hn::Sub(exponent, first_binade), zero), f.mantissa_bits);
    const VI odd = hn::And(hn::Add(binade, hn::Shr(n, drop)), one);
    const VI almost_half = hn::Sub(hn::Shl(one, hn::Sub(drop, one)), one);
    VI code = hn::Add(binade, hn::Shr(hn::Add(n, hn::Add(almost_half, odd)), drop));

    code = hn::IfThenElse(hn::Gt(code, largest), overflow, code);
    const VI kept = hn::ShiftRightSame(hn::And(fraction, payload), f.shift);
    code = hn::IfThenElse(hn::Gt(magnitude, infinity), hn::Or(nan, kept), code);
    // No sign where NaN became zero, nor on zero where -0 would be NaN.
    const VI is_zero = hn::VecFromMask(di, hn::Eq(code, zero));
    const VI is_nan = hn::VecFromMask(di, hn::Gt(magnitude, infinity));
    const VI unsigned_ = hn::Or(hn::And(is_zero, one_zero), hn::AndNot(has_nan, is_nan));
    const VI negative = hn::BroadcastSignBit(bits);
    code = hn::Or(code, hn::AndNot(unsigned_, hn::And(negative, sign)));
    store_codes(code, to);
  });
}

#if HWY_TARGET == HWY_AVX2 || HWY_TARGET == HWY_AVX3
HWY_INLINE void decode_half(const Layout&, const void* codes, float* values, std::int64_t count) {
  const hn::Rebind<hwy::float16_t, F> tag;
  each_vector<hwy::float16_t, float>(codes, values, count,
                                     [&](const hwy::float16_t* from, float* to) HWY_ATTR {
                                       hn::StoreU(hn::PromoteTo(F(), hn::LoadU(tag, from)), F(), to);
                                     });
}

HWY_INLINE void encode_half(const Layout&, const float* values, void* codes, std::int64_t count) {
  const hn::Rebind<hwy::float16_t, F> tag;
  each_vector<float, hwy::float16_t>(values, codes, count,
                                     [&](const float* from, hwy::float16_t* to) HWY_ATTR {
                                       hn::StoreU(hn::DemoteTo(tag, hn::LoadU(F(), from)), tag, to);
                                     });
}
#else
HWY_INLINE void decode_half(const Layout& f, const void* codes, float* values, std::int64_t count) {
  decode_any<std::uint16_t>(f, codes, values, count);
}

HWY_INLINE void encode_half(const Layout& f, const float* values, void* codes, std::int64_t count) {
  encode_any<std::uint16_t>(f, values, codes, count);
}
#endif

HWY_INLINE void decode_brain(const void* codes, float* values, std::int64_t count) {
  each_vector<std::uint16_t, float>(codes, values, count, [](const std::uint16_t* from, float* to) HWY_ATTR {
    hn::StoreU(hn::BitCast(F(), hn::ShiftLeft<16>(load_codes(from))), F(), to);
  });
}

HWY_INLINE void encode_brain(const float* values, void* codes, std::int64_t count) {
  const I di;
  const U du;
  const VU almost_half = hn::Set(du, 0x7FFF), one = hn::Set(du, 1), quiet = hn::Set(du, 0x40);
  const VI infinity = hn::Set(di, 0x7F800000), magnitude_mask = hn::Set(di, 0x7FFFFFFF);
  each_vector<float, std::uint16_t>(values, codes, count, [&](const float* from, std::uint16_t* to) HWY_ATTR {
    const VU bits = hn::BitCast(du, hn::LoadU(F(), from));
    const VU kept = hn::ShiftRight<16>(bits);
    const VU rounded = hn::ShiftRight<16>(hn::Add(bits, hn::Add(almost_half, hn::And(kept, one))));
    const auto is_nan = hn::Gt(hn::And(hn::BitCast(di, bits), magnitude_mask), infinity);
    store_codes(hn::IfThenElse(is_nan, hn::BitCast(di, hn::Or(kept, quiet)), hn::BitCast(di, rounded)), to);
  });
}

void decode_loop(const Format& format, const void* codes, float* values, std::int64_t count) {
  const Layout f(format);
  switch (kind(format)) {
    case Kind::half:
      return decode_half(f, codes, values, count);
    case Kind::brain:
      return decode_brain(codes, values, count);
    case Kind::any:
      break;
  }
  if (format.bytes() == 1) return decode_any<std::uint8_t>(f, codes, values, count);
  decode_any<std::uint16_t>(f, codes, values, count);
}

void encode_loop(const Format& format, const float* values, void* codes, std::int64_t count) {
  const Layout f(format);
  switch (kind(format)) {
    case Kind::half:
      return encode_half(f, values, codes, count);
    case Kind::brain:
      return encode_brain(values, codes, count);
    case Kind::any:
      break;
  }
  if (format.bytes() == 1) return encode_any<std::uint8_t>(f, values, codes, count);
  encode_any<std::uint16_t>(f, values, codes, count);
}

}  // namespace halftone::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace halftone::simd {

HWY_EXPORT(decode_loop);
HWY_EXPORT(encode_loop);

// The loops shift float32 codes about, so both ends of the range must be those of float32 or lie inside it,
// and the smallest value must be a normal float32 unless the two share the exponent field.
bool covers(const Format& format) {
  if (!format.is_floating() || format.bits() > 16 || format.exponent_bits > 8) return false;
  constexpr double kLargest = 0x1.FFFFFEp127, kSmallest = 0x1p-126;
  return format.bias <= 127 && max_finite(format) <= kLargest &&
         (min_subnormal(format) >= kSmallest || kind(format) == Kind::brain);
}

void decode_narrow(const Format& format, const void* codes, float* values, std::int64_t count) {
  HWY_DYNAMIC_DISPATCH(decode_loop)(format, codes, values, count);
}

void encode_narrow(const Format& format, const float* values, void* codes, std::int64_t count) {
  HWY_DYNAMIC_DISPATCH(encode_loop)(format, values, codes, count);
}

std::vector<std::int64_t> targets() { return hwy::SupportedAndGeneratedTargets(); }

std::string target_name(std::int64_t target) { return hwy::TargetName(target); }

void use_target(std::int64_t target) {
  hwy::SetSupportedTargetsForTest(target);
  hwy::GetChosenTarget().Update(hwy::SupportedTargets());
}

}  // namespace halftone::simd
#endif
