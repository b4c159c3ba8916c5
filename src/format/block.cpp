// SPDX-License-Identifier: Apache-2.0
//
// Blocks one after the other: the scale, then the elements by the codec, then packing. The common formats take
// the vector loops of block_simd.h instead, which give the same bits.
#include "halftone/block.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <vector>

#include "format/block_scale.h"
#include "format/block_simd.h"
#include "halftone/error.h"
#include "halftone/random.h"

namespace halftone {
namespace {

std::uint32_t largest_magnitude(const float* values, std::int64_t count) {
  std::uint32_t largest = 0;
  for (std::int64_t i = 0; i < count; ++i)
    largest = std::max(largest, std::bit_cast<std::uint32_t>(values[i]) & 0x7FFFFFFF);
  return largest;
}

void encode_block(const BlockFormat& format, const BlockScaler& scaler, const BlockScale& scale,
                  float factor, const float* values, std::int64_t count, const Conversion& conversion,
                  const std::uint32_t* words, std::uint8_t* codes) {
  const Format& element = format.element.format();
  const bool has_scale = !std::isnan(scale.value);
  for (std::int64_t i = 0; i < count; ++i) {
    std::uint64_t code = 0;
    if (has_scale && scaler.power_of_two()) {
      Exact x = exact(static_cast<double>(values[i]));
      x.exponent -= scale.exponent;
      code = encode(element, x, conversion, words == nullptr ? 0 : words[i]);
    } else if (has_scale) {
      code = encode(element, static_cast<double>(values[i] * factor), conversion, words == nullptr ? 0 : words[i]);
    } else {
      code = has_nan(element) ? detail::nan_code(element) : 0;
    }
    codes[i] = static_cast<std::uint8_t>(code);
  }
}

void check(const BlockFormat& format, float tensor_scale) {
  if (format.length < 1 || format.element.format().bits() > 8)
    throw ValueError("blocks", fmt::format("{} elements of {} in a block", format.length, format.element.name()),
                     "at least one element of at most 8 bits");
  if (!(tensor_scale > 0) || !std::isfinite(tensor_scale) || !std::isfinite(1 / tensor_scale))
    throw ValueError("blocks", fmt::format("a tensor scale of {}", tensor_scale),
                     "a positive number whose reciprocal is finite");
}

}  // namespace

std::int64_t packed_bytes(const BlockFormat& format, std::int64_t count) {
  const std::int64_t rest = count % format.length;
  return count / format.length * format.element_bytes() + (rest * format.element.format().bits() + 7) / 8;
}

float tensor_scale(const BlockFormat& format, float amax) {
  if (!format.has_tensor_scale || !(amax > 0) || !std::isfinite(amax)) return 1;
  const double most = max_finite(format.scale.format()) * max_finite(format.element.format());
  const auto scale = static_cast<float>(static_cast<double>(amax) / most);
  return std::isfinite(1 / scale) ? scale : 0x1p-126f;
}

void encode_blocks(const BlockFormat& format, const float* values, std::int64_t count, void* elements,
                   void* scales, float tensor_scale, const Conversion& conversion, const RandomWords& random) {
  check(format, tensor_scale);
  Conversion rounding = conversion;
  rounding.overflow = Overflow::saturate;
  if (simd::covers(format))
    return simd::encode_blocks(format, values, count, elements, scales, tensor_scale, rounding, random);
  const BlockScaler scaler(format, tensor_scale);
  const int bits = format.element.format().bits();
  std::vector<std::uint8_t> codes(static_cast<std::size_t>(format.length));
  std::vector<std::uint32_t> words(rounding.rounding == Rounding::stochastic ? codes.size() : 0);
  auto* packed = static_cast<std::uint8_t*>(elements);
  for (std::int64_t begin = 0, block = 0; begin < count; begin += format.length, ++block) {
    const std::int64_t size = std::min<std::int64_t>(format.length, count - begin);
    const BlockScale scale = scaler(largest_magnitude(values + begin, size));
    store_code(format.scale, scales, block, scale.code);
    if (!words.empty())
      random_bits(random.seed, random.stream, random.first + static_cast<std::uint64_t>(begin), words.data(), size);
    encode_block(format, scaler, scale, 1 / tensor_scale / scale.value, values + begin, size, rounding,
                 words.empty() ? nullptr : words.data(), codes.data());
    pack_codes(bits, codes.data(), size, packed + block * format.element_bytes());
  }
}

void decode_blocks(const BlockFormat& format, const void* elements, const void* scales, std::int64_t count,
                   float* values, float tensor_scale) {
  check(format, tensor_scale);
  if (simd::covers(format))
    return simd::decode_blocks(format, elements, scales, count, values, tensor_scale);
  const int bits = format.element.format().bits();
  std::vector<std::uint8_t> codes(static_cast<std::size_t>(format.length));
  const auto* packed = static_cast<const std::uint8_t*>(elements);
  for (std::int64_t begin = 0, block = 0; begin < count; begin += format.length, ++block) {
    const std::int64_t size = std::min<std::int64_t>(format.length, count - begin);
    unpack_codes(bits, packed + block * format.element_bytes(), size, codes.data());
    const double scale = decode(format.scale.format(), load_code(format.scale, scales, block));
    for (std::int64_t i = 0; i < size; ++i) {
      const double element = decode(format.element.format(), codes[static_cast<std::size_t>(i)]);
      const auto value = static_cast<float>(element * scale);
      values[begin + i] = format.has_tensor_scale ? value * tensor_scale : value;
    }
  }
}

void pack_codes(int bits, const std::uint8_t* codes, std::int64_t count, void* packed) {
  auto* out = static_cast<std::uint8_t*>(packed);
  std::uint32_t waiting = 0;
  int have = 0;
  for (std::int64_t i = 0; i < count; ++i) {
    waiting |= (codes[i] & ((1u << bits) - 1)) << have;
    have += bits;
    for (; have >= 8; have -= 8, waiting >>= 8) *out++ = static_cast<std::uint8_t>(waiting);
  }
  if (have > 0) *out = static_cast<std::uint8_t>(waiting);
}

void unpack_codes(int bits, const void* packed, std::int64_t count, std::uint8_t* codes) {
  const auto* in = static_cast<const std::uint8_t*>(packed);
  std::uint32_t waiting = 0;
  int have = 0;
  for (std::int64_t i = 0; i < count; ++i) {
    for (; have < bits; have += 8) waiting |= std::uint32_t{*in++} << have;
    codes[i] = static_cast<std::uint8_t>(waiting & ((1u << bits) - 1));
    waiting >>= bits;
    have -= bits;
  }
}

}  // namespace halftone
