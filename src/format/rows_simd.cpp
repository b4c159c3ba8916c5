// SPDX-License-Identifier: Apache-2.0
//
// This file is compiled once per instruction set by Highway's foreach_target.h. float16 takes the processor's
// own conversion where there is one. bfloat16 never does: x86 has an instruction for it, which flushes
// subnormals to zero.
#include "format/rows_simd.h"

#include <algorithm>
#include <cstring>

#define HWY_DISABLED_TARGETS HWY_SSSE3
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "format/rows_simd.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "format/lanes-inl.h"

HWY_BEFORE_NAMESPACE();
namespace halftone::simd::HWY_NAMESPACE {

constexpr std::size_t kMaxLanes = HWY_MAX_BYTES / sizeof(float);

// Calls body(from, to, i) on whole vectors that start at element i, the last one padded in a copy.
template <class From, class To, class Body>
HWY_INLINE void each_vector(const void* from, void* to, std::int64_t count, const Body& body) {
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(F()));
  const auto* source = static_cast<const From*>(from);
  auto* target = static_cast<To*>(to);
  std::int64_t i = 0;
  for (; i + lanes <= count; i += lanes) body(source + i, target + i, i);
  if (i >= count) return;
  From padded[kMaxLanes] = {};
  To result[kMaxLanes];
  const auto rest = static_cast<std::size_t>(count - i);
  std::memcpy(padded, source + i, rest * sizeof(From));
  body(padded, result, i);
  std::memcpy(target + i, result, rest * sizeof(To));
}

template <class Code>
HWY_INLINE void decode_any(const Layout& f, const void* codes, float* values, std::int64_t count) {
  const Decoder decoder(f);
  each_vector<Code, float>(codes, values, count, [&](const Code* from, float* to, std::int64_t) HWY_ATTR {
    hn::StoreU(hn::BitCast(F(), decoder(hn::ShiftRightSame(load_codes(from), f.unused))), F(), to);
  });
}

template <class Code, bool kPlain>
HWY_INLINE void encode_any(const Layout& f, const float* values, void* codes, std::int64_t count,
                           const std::uint32_t* words) {
  const Encoder<kPlain> encoder(f);
  const I di;
  const VI no_scale = hn::Zero(di);
  std::uint32_t last[kMaxLanes] = {};  // words of the vector that goes beyond the end
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(F()));
  if (words != nullptr)
    std::copy(words + count / lanes * lanes, words + count, last);
  each_vector<float, Code>(values, codes, count, [&](const float* from, Code* to, std::int64_t i) HWY_ATTR {
    VU random = hn::Zero(U());
    if (!kPlain && words != nullptr) random = hn::LoadU(U(), i + lanes <= count ? words + i : last);
    const VI code = encoder(hn::BitCast(di, hn::LoadU(F(), from)), no_scale, random);
    store_codes(sizeof(Code) == 4 ? hn::ShiftLeftSame(code, f.unused) : code, to);
  });
}

#if HWY_TARGET == HWY_AVX2 || HWY_TARGET == HWY_AVX3
#define HALFTONE_HALF 1
HWY_INLINE void decode_half(const void* codes, float* values, std::int64_t count) {
  const hn::Rebind<hwy::float16_t, F> tag;
  each_vector<hwy::float16_t, float>(codes, values, count,
                                     [&](const hwy::float16_t* from, float* to, std::int64_t) HWY_ATTR {
                                       hn::StoreU(hn::PromoteTo(F(), hn::LoadU(tag, from)), F(), to);
                                     });
}

HWY_INLINE void encode_half(const float* values, void* codes, std::int64_t count) {
  const hn::Rebind<hwy::float16_t, F> tag;
  each_vector<float, hwy::float16_t>(values, codes, count,
                                     [&](const float* from, hwy::float16_t* to, std::int64_t) HWY_ATTR {
                                       hn::StoreU(hn::DemoteTo(tag, hn::LoadU(F(), from)), tag, to);
                                     });
}
#endif

// The leading bits of a float32: for bfloat16 the upper half of the word.
template <class Code>
HWY_INLINE void decode_brain(const Layout& f, const void* codes, float* values, std::int64_t count) {
  const int up = sizeof(Code) == 4 ? 0 : f.sign_shift;
  each_vector<Code, float>(codes, values, count, [&](const Code* from, float* to, std::int64_t) HWY_ATTR {
    hn::StoreU(hn::BitCast(F(), hn::ShiftLeftSame(load_codes(from), up)), F(), to);
  });
}

// Rounding may carry into infinity, which is where it should.
template <class Code>
HWY_INLINE void encode_brain(const Layout& f, const float* values, void* codes, std::int64_t count) {
  const I di;
  const U du;
  const int drop = f.shift;
  const VU almost_half = hn::Set(du, (1u << (drop - 1)) - 1), one = hn::Set(du, 1);
  const VU quiet = hn::Set(du, 1u << std::max(f.mantissa_bits - 1, 0));
  const VI infinity = hn::Set(di, 0x7F800000), magnitude_mask = hn::Set(di, 0x7FFFFFFF);
  each_vector<float, Code>(values, codes, count, [&](const float* from, Code* to, std::int64_t) HWY_ATTR {
    const VU bits = hn::BitCast(du, hn::LoadU(F(), from));
    const VU kept = hn::ShiftRightSame(bits, drop);
    const VU sum = hn::Add(bits, hn::Add(almost_half, hn::And(kept, one)));
    const auto is_nan = hn::Gt(hn::And(hn::BitCast(di, bits), magnitude_mask), infinity);
    const VI code = hn::IfThenElse(is_nan, hn::BitCast(di, hn::Or(kept, quiet)),
                                   hn::BitCast(di, hn::ShiftRightSame(sum, drop)));
    store_codes(sizeof(Code) == 4 ? hn::ShiftLeftSame(code, f.unused) : code, to);
  });
}

template <class Code>
void decode_as(const Format& format, const Layout& f, const void* codes, float* values, std::int64_t count) {
  if (kind(format) == Kind::brain && f.mantissa_bits > 0) return decode_brain<Code>(f, codes, values, count);
  decode_any<Code>(f, codes, values, count);
}

void decode_loop(const Format& format, const void* codes, float* values, std::int64_t count) {
#ifdef HALFTONE_HALF
  if (kind(format) == Kind::half) return decode_half(codes, values, count);
#endif
  const Layout f(format);
  if (format.bytes() == 1) return decode_as<std::uint8_t>(format, f, codes, values, count);
  if (format.bytes() == 2) return decode_as<std::uint16_t>(format, f, codes, values, count);
  decode_as<std::uint32_t>(format, f, codes, values, count);
}

template <class Code>
void encode_as(const Format& format, const Layout& f, bool to_infinity, const float* values, void* codes,
               std::int64_t count, const std::uint32_t* words) {
  if (!f.is_plain()) return encode_any<Code, false>(f, values, codes, count, words);
  if (to_infinity && kind(format) == Kind::brain && f.mantissa_bits > 0)
    return encode_brain<Code>(f, values, codes, count);
  encode_any<Code, true>(f, values, codes, count, words);
}

void encode_loop(const Format& format, const float* values, void* codes, std::int64_t count,
                 const Conversion& conversion, const std::uint32_t* words) {
  const Layout f(format, conversion);
  const bool to_infinity = conversion.overflow == Overflow::to_special;
#ifdef HALFTONE_HALF
  if (kind(format) == Kind::half && f.is_plain() && to_infinity) return encode_half(values, codes, count);
#endif
  if (format.bytes() == 1)
    return encode_as<std::uint8_t>(format, f, to_infinity, values, codes, count, words);
  if (format.bytes() == 2)
    return encode_as<std::uint16_t>(format, f, to_infinity, values, codes, count, words);
  encode_as<std::uint32_t>(format, f, to_infinity, values, codes, count, words);
}
#undef HALFTONE_HALF

}  // namespace halftone::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace halftone::simd {

HWY_EXPORT(decode_loop);
HWY_EXPORT(encode_loop);

// The loops shift float32 codes about, so both ends of the range must be those of float32 or lie inside it,
// and the smallest value must be a normal float32 unless the two share the exponent field.
bool covers(const Format& format) {
  if (!format.is_signed || !format.has_zero || format.bits() > 31) return false;
  if (detail::is_integer(format))
    return format.mantissa_bits < 16 && format.bias >= 0 && format.bias < 100;
  if (format.exponent_bits > 8 || format.mantissa_bits > 22) return false;
  constexpr double kLargest = 0x1.FFFFFEp127, kSmallest = 0x1p-126;
  return format.bias <= 127 && max_finite(format) <= kLargest &&
         (min_subnormal(format) >= kSmallest || (kind(format) == Kind::brain && format.mantissa_bits > 0));
}

void decode_narrow(const Format& format, const void* codes, float* values, std::int64_t count) {
  HWY_DYNAMIC_DISPATCH(decode_loop)(format, codes, values, count);
}

void encode_narrow(const Format& format, const float* values, void* codes, std::int64_t count,
                   const Conversion& conversion, const std::uint32_t* words) {
  HWY_DYNAMIC_DISPATCH(encode_loop)(format, values, codes, count, conversion, words);
}

std::vector<std::int64_t> targets() { return hwy::SupportedAndGeneratedTargets(); }

std::string target_name(std::int64_t target) { return hwy::TargetName(target); }

void use_target(std::int64_t target) {
  hwy::SetSupportedTargetsForTest(target);
  hwy::GetChosenTarget().Update(hwy::SupportedTargets());
}

}  // namespace halftone::simd
#endif
