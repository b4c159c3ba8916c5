// SPDX-License-Identifier: Apache-2.0
//
// Compiled once per instruction set by Highway's foreach_target.h.
#include "format/block_simd.h"

#include <cstring>

#include "format/block_scale.h"
#include "format/rows_simd.h"

#define HWY_DISABLED_TARGETS HWY_SSSE3
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "format/block_simd.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "format/encoder-inl.h"

HWY_BEFORE_NAMESPACE();
namespace halftone::simd::HWY_NAMESPACE {

// To nearest even the division by the scale may be a product in float32: what that makes inexact is far below
// the smallest element.
template <class Encode>
HWY_INLINE void encode_each(std::int64_t length, const float* values, std::int64_t blocks,
                            const std::int32_t* exponents, int nan, std::uint8_t* codes,
                            const Encode& encode) {
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(F()));
  for (std::int64_t block = 0; block < blocks; ++block) {
    if (exponents[block] == BlockScaler::kNoScale) {
      std::memset(codes + block * length, nan, static_cast<std::size_t>(length));
      continue;
    }
    for (std::int64_t i = block * length; i < (block + 1) * length; i += lanes)
      store_codes(encode(hn::LoadU(F(), values + i), block, i), codes + i);
  }
}

template <Signs kSigns>
HWY_INLINE void encode_nearest(const Layout& f, std::int64_t length, const float* values, std::int64_t blocks,
                               const std::int32_t* exponents, const float* factors, int nan,
                               std::uint8_t* codes) {
  const NearestEncoder<kSigns> encoder(f);
  encode_each(length, values, blocks, exponents, nan, codes,
              [&](VF x, std::int64_t block, std::int64_t) HWY_ATTR {
                return encoder.saturate(hn::BitCast(I(), hn::Mul(x, hn::Set(F(), factors[block]))));
              });
}

void encode_loop(const BlockFormat& format, bool power_of_two, const float* values, std::int64_t blocks,
                 const std::int32_t* exponents, const float* factors, const Conversion& conversion,
                 const std::uint32_t* words, std::uint8_t* codes) {
  const I di;
  const F df;
  const Layout f(format.element.format(), conversion);
  const auto nan = static_cast<int>(detail::nan_code(format.element.format()));
  if (f.fits_addition()) {
    const auto encode = f.is_fixed      ? encode_nearest<Signs::complement>
                        : f.signed_zero ? encode_nearest<Signs::kept>
                                        : encode_nearest<Signs::some>;
    return encode(f, format.length, values, blocks, exponents, factors, nan, codes);
  }
  const AnyEncoder encoder(f);
  encode_each(format.length, values, blocks, exponents, nan, codes,
              [&](VF x, std::int64_t block, std::int64_t i) HWY_ATTR {
                const VU random = words == nullptr ? hn::Zero(U()) : hn::LoadU(U(), words + i);
                if (!power_of_two) x = hn::Mul(x, hn::Set(df, factors[block]));
                return encoder(hn::BitCast(di, x), hn::Set(di, exponents[block]), random);
              });
}

void decode_loop(const BlockFormat& format, const std::uint8_t* codes, std::int64_t blocks,
                 const float* scales, float tensor_scale, float* values) {
  const Layout layout(format.element.format());
  const Decoder decoder(layout);
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(I()));
  const VF second = hn::Set(F(), tensor_scale);
  for (std::int64_t block = 0; block < blocks; ++block) {
    const VF scale = hn::Set(F(), scales[block]);
    for (std::int64_t i = 0; i < format.length; i += lanes, codes += lanes, values += lanes) {
      const VF element = hn::BitCast(F(), decoder(load_codes(codes)));
      hn::StoreU(hn::Mul(hn::Mul(element, scale), second), F(), values);
    }
  }
}

}  // namespace halftone::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace halftone::simd {

HWY_EXPORT(encode_loop);
HWY_EXPORT(decode_loop);

bool covers(const BlockFormat& format) {
  return covers(format.element.format()) && format.element.format().bits() <= 8 && format.length % 16 == 0;
}

void encode_elements(const BlockFormat& format, bool power_of_two, const float* values, std::int64_t blocks,
                     const std::int32_t* exponents, const float* factors, const Conversion& conversion,
                     const std::uint32_t* words, std::uint8_t* codes) {
  HWY_DYNAMIC_DISPATCH(encode_loop)
  (format, power_of_two, values, blocks, exponents, factors, conversion, words, codes);
}

void decode_elements(const BlockFormat& format, const std::uint8_t* codes, std::int64_t blocks,
                     const float* scales, float tensor_scale, float* values) {
  HWY_DYNAMIC_DISPATCH(decode_loop)(format, codes, blocks, scales, tensor_scale, values);
}

}  // namespace halftone::simd
#endif
