// SPDX-License-Identifier: Apache-2.0
//
// This file is compiled once per instruction set by Highway's foreach_target.h. float16 takes the processor's
// own conversion where there is one. bfloat16 never does: x86 has an instruction for it, which flushes
// subnormals to zero.
#include "format/rows_simd.h"

#include <algorithm>
#include <cstring>

#include "halftone/float_state.h"

#define HWY_DISABLED_TARGETS HWY_SSSE3
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "format/rows_simd.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "format/encoder-inl.h"

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
  if (sizeof(To) == sizeof(float) && sizeof(From) < sizeof(To) && count >= 4 * lanes) {
    // Stores that cross cache lines cost; decoding a few codes twice, once, does not.
    body(source, target, 0);
    const auto bytes = static_cast<std::size_t>(lanes) * sizeof(To);
    const std::size_t beyond = reinterpret_cast<std::uintptr_t>(target) % bytes;
    if (beyond % sizeof(To) == 0) i = static_cast<std::int64_t>((bytes - beyond) / sizeof(To));
  }
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

// Encodes vector by vector with encode(bits, random), which gives codes.
template <class Code, class Encode>
HWY_INLINE void encode_with(int unused, const float* values, void* codes, std::int64_t count,
                            const std::uint32_t* words, const Encode& encode) {
  std::uint32_t last[kMaxLanes] = {};  // words of the vector that goes beyond the end
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(F()));
  if (words != nullptr) std::copy(words + count / lanes * lanes, words + count, last);
  each_vector<float, Code>(values, codes, count, [&](const float* from, Code* to, std::int64_t i) HWY_ATTR {
    VU random = hn::Zero(U());
    if (words != nullptr) random = hn::LoadU(U(), i + lanes <= count ? words + i : last);
    const VI code = encode(hn::BitCast(I(), hn::LoadU(F(), from)), random);
    store_codes(sizeof(Code) == 4 ? hn::ShiftLeftSame(code, unused) : code, to);
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

// The leading bits of a float32: for bfloat16 the upper half of the word. Here and in encode_leading nothing
// is asked of a layout, so that short rows take no longer than their bytes.
template <class Code>
HWY_INLINE void decode_brain(const Format& format, const void* codes, float* values, std::int64_t count) {
  const int up = sizeof(Code) == 4 ? 0 : 32 - format.bits();
  each_vector<Code, float>(codes, values, count, [&](const Code* from, float* to, std::int64_t) HWY_ATTR {
    hn::StoreU(hn::BitCast(F(), hn::ShiftLeftSame(load_codes(from), up)), F(), to);
  });
}

template <class Code>
void decode_as(const Format& format, const void* codes, float* values, std::int64_t count) {
  if (kind(format) == Kind::brain && format.mantissa_bits > 0)
    return decode_brain<Code>(format, codes, values, count);
  const Layout f = layout_for(format, {});  // a copy: no store can change it
  decode_any<Code>(f, codes, values, count);
}

void decode_loop(const Format& format, const void* codes, float* values, std::int64_t count) {
#ifdef HALFTONE_HALF
  if (kind(format) == Kind::half) return decode_half(codes, values, count);
#endif
  if (format.bytes() == 1) return decode_as<std::uint8_t>(format, codes, values, count);
  if (format.bytes() == 2) return decode_as<std::uint16_t>(format, codes, values, count);
  decode_as<std::uint32_t>(format, codes, values, count);
}

#if HWY_TARGET != HWY_SCALAR
// bfloat16, two vectors at a time: its code is the upper half of the rounded word, so nothing is shifted
// down. Returns how many values are done; a pair with a NaN in it goes through the encoder.
HWY_INLINE std::int64_t encode_upper_halves(const LeadingEncoder& encoder, const float* values,
                                            std::uint16_t* codes, std::int64_t count) {
  const F df;
  const U du;
  const hn::Repartition<std::uint16_t, F> halves;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(df));
  const auto round = [&](VF x) HWY_ATTR {
    const VU bits = hn::BitCast(du, x);
    const VU parity = hn::And(hn::ShiftRight<16>(bits), encoder.one);
    return hn::BitCast(halves, hn::Add(hn::Add(bits, encoder.almost_half), parity));
  };
  std::int64_t i = 0;
  for (; i + 2 * lanes <= count; i += 2 * lanes) {
    const VF low = hn::LoadU(df, values + i), high = hn::LoadU(df, values + i + lanes);
    if (HWY_LIKELY(hn::AllFalse(df, hn::Or(hn::IsNaN(low), hn::IsNaN(high))))) {
      hn::StoreU(hn::ConcatOdd(halves, round(high), round(low)), halves, codes + i);
    } else {
      const VI first = encoder(hn::BitCast(I(), low)), second = encoder(hn::BitCast(I(), high));
      store_codes(first, codes + i);
      store_codes(second, codes + i + lanes);
    }
  }
  return i;
}
#endif

template <class Code, Signs kSigns>
void encode_nearest(const Layout& f, const float* values, void* codes, std::int64_t count) {
  const NearestEncoder<kSigns> encoder(f);
  encode_with<Code>(f.unused, values, codes, count, nullptr,
                    [&](VI bits, VU) HWY_ATTR { return encoder(bits); });
}

template <class Code, Signs kSigns>
void encode_stochastic(const Layout& f, const float* values, void* codes, std::int64_t count,
                       const std::uint32_t* words) {
  const StochasticEncoder<kSigns> encoder(f);
  encode_with<Code>(f.unused, values, codes, count, words,
                    [&](VI bits, VU random) HWY_ATTR { return encoder(bits, random); });
}

template <class Code>
void encode_leading(const Format& format, const Conversion& conversion, const float* values, void* codes,
                    std::int64_t count, const std::uint32_t* words) {
  const LeadingEncoder encoder(format, conversion);
  const int unused = Layout::unused_of(format);
#if HWY_TARGET != HWY_SCALAR
  if (sizeof(Code) == 2 && encoder.drop == 16 && words == nullptr) {
    auto* halves = static_cast<std::uint16_t*>(codes);
    const std::int64_t done = encode_upper_halves(encoder, values, halves, count);
    values += done, codes = halves + done, count -= done;
  }
#endif
  if (words == nullptr)
    return encode_with<Code>(unused, values, codes, count, nullptr,
                             [&](VI bits, VU) HWY_ATTR { return encoder(bits); });
  encode_with<Code>(unused, values, codes, count, words,
                    [&](VI bits, VU random) HWY_ATTR { return encoder.stochastic(bits, random); });
}

template <class Code>
void encode_as(const Format& format, const Conversion& conversion, const float* values, void* codes,
               std::int64_t count, const std::uint32_t* words) {
  if (leads(format, conversion)) return encode_leading<Code>(format, conversion, values, codes, count, words);
  const Layout f = layout_for(format, conversion);  // a copy: no store can change it
  if (f.fits_addition()) {
    if (f.is_fixed) return encode_nearest<Code, Signs::complement>(f, values, codes, count);
    if (f.signed_zero && f.signed_nan) return encode_nearest<Code, Signs::kept>(f, values, codes, count);
    return encode_nearest<Code, Signs::some>(f, values, codes, count);
  }
  if (f.fits_stochastic()) {
    if (f.signed_zero && f.signed_nan)
      return encode_stochastic<Code, Signs::kept>(f, values, codes, count, words);
    return encode_stochastic<Code, Signs::some>(f, values, codes, count, words);
  }
  const AnyEncoder encoder(f);
  const VI no_scale = hn::Zero(I());
  encode_with<Code>(f.unused, values, codes, count, words,
                    [&](VI bits, VU random) HWY_ATTR { return encoder(bits, no_scale, random); });
}

void encode_loop(const Format& format, const float* values, void* codes, std::int64_t count,
                 const Conversion& conversion, const std::uint32_t* words) {
#ifdef HALFTONE_HALF
  if (kind(format) == Kind::half && conversion == Conversion{}) return encode_half(values, codes, count);
#endif
  const DefaultFloatState state;
  if (format.bytes() == 1) return encode_as<std::uint8_t>(format, conversion, values, codes, count, words);
  if (format.bytes() == 2) return encode_as<std::uint16_t>(format, conversion, values, codes, count, words);
  encode_as<std::uint32_t>(format, conversion, values, codes, count, words);
}
#undef HALFTONE_HALF

}  // namespace halftone::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace halftone::simd {

HWY_EXPORT(decode_loop);
HWY_EXPORT(encode_loop);

namespace {

// The loops shift float32 codes about, so both ends of the range must be those of float32 or lie inside it,
// and the smallest value must be a normal float32 unless the two share the exponent field.
bool is_covered(const Format& format) {
  if (!format.is_signed || !format.has_zero || format.bits() > 31) return false;
  if (detail::is_integer(format)) return format.mantissa_bits < 16 && format.bias >= 0 && format.bias < 100;
  if (format.exponent_bits > 8 || format.mantissa_bits > 22) return false;
  constexpr double kLargest = 0x1.FFFFFEp127, kSmallest = 0x1p-126;
  return format.bias <= 127 && max_finite(format) <= kLargest &&
         (min_subnormal(format) >= kSmallest || (kind(format) == Kind::brain && format.mantissa_bits > 0));
}

}  // namespace

bool covers(const Format& format) {
  thread_local Recent<Format, bool> recent;
  return recent.find(
      format, [](const Format& a, const Format& b) { return a.same_codes(b); }, is_covered);
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
