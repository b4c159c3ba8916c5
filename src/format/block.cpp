// SPDX-License-Identifier: Apache-2.0
//
// Rows of blocks, a group that fits the first-level cache at a time: the largest magnitudes, the scales, the
// codes as bytes, packing. The elements of the common formats are encoded by the vector loops of
// block_simd.h, any others by the codec; both give the same bits.
#include "halftone/block.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>
#include <memory>

#include "format/block_scale.h"
#include "format/block_simd.h"
#include "format/rounding_simd.h"
#include "format/rounding_words.h"
#include "halftone/census.h"
#include "halftone/float_state.h"

namespace halftone {
namespace {

// Not set to anything: every element is written before it is read.
template <class T>
std::unique_ptr<T[]> room(std::int64_t count) {
  return std::make_unique_for_overwrite<T[]>(static_cast<std::size_t>(count));
}

std::uint32_t largest_magnitude(const float* values, std::int64_t count) {
  std::uint32_t largest = 0;
  for (std::int64_t i = 0; i < count; ++i)
    largest = std::max(largest, std::bit_cast<std::uint32_t>(values[i]) & 0x7FFFFFFF);
  return largest;
}

// As many blocks as fit, of which the last may be short.
class Group {
 public:
  Group(const BlockFormat& format, float tensor_scale, const Conversion& conversion)
      : format_(format),
        conversion_(conversion),
        scaler_(format, tensor_scale),
        blocks_(std::max<std::int64_t>(1, simd::kGroup / format.length)),
        amax_(room<std::uint32_t>(blocks_)),
        exponents_(room<std::int32_t>(blocks_)),
        factors_(room<float>(blocks_)),
        codes_(room<std::uint8_t>(length())),
        words_(conversion.rounding == Rounding::stochastic ? room<std::uint32_t>(length()) : nullptr) {}

  std::int64_t length() const { return blocks_ * format_.length; }

  void encode(const float* values, std::int64_t count, std::uint8_t* elements, void* scales,
              const RandomWords& random) {
    const std::int64_t blocks = block_count(format_, count), whole = count / format_.length;
    const bool vectors = simd::covers(format_);
    if (vectors)
      simd::largest_magnitudes(float32, values, {whole, format_.length, format_.length, 1}, amax_.get());
    for (std::int64_t i = vectors ? whole : 0; i < blocks; ++i)
      amax_[static_cast<std::size_t>(i)] = largest_magnitude(values + i * format_.length, size(i, count));
    scaler_(amax_.get(), blocks, scales, exponents_.get(), factors_.get());
    if (words_) rounding_words(random, conversion_.random_bits, words_.get(), count);
    if (vectors)
      simd::encode_elements(format_, scaler_.power_of_two(), values, whole, exponents_.get(), factors_.get(),
                            conversion_, words_.get(), codes_.get());
    for (std::int64_t i = vectors ? whole : 0; i < blocks; ++i) encode_block(i, values, size(i, count));
    pack(count, elements);
  }

  // REQUIRES that the same values have just been encoded. A block without a scale has made NaN of all its
  // values, or, in formats without NaN, zeros.
  void count(const float* values, std::int64_t count, Census& census) const {
    const bool makes_nan = has_nan(format_.element.format()) || has_nan(format_.scale.format());
    std::array<float, kCounted> scaled;
    std::int64_t lost = 0;
    for (std::int64_t begin = 0; begin < count; begin += kCounted) {
      const std::int64_t size = std::min(kCounted, count - begin);
      for (std::int64_t i = 0; i < size; ++i) {
        const float value = values[begin + i];
        const std::int64_t block = (begin + i) / format_.length;
        const bool has_scale = exponents_[block] != BlockScaler::kNoScale, is_lost = !has_scale && makes_nan;
        lost += is_lost && !std::isnan(value);
        scaled[static_cast<std::size_t>(i)] = is_lost     ? std::numeric_limits<float>::quiet_NaN()
                                              : has_scale ? value * factors_[block]
                                                          : value;
      }
      count_row(format_.element, scaled.data(), codes_.get() + begin, size, census);
    }
    census.nan -= lost;
    census.to_nan += lost;
  }

  void decode(const std::uint8_t* elements, const void* scales, std::int64_t count, float* values,
              float tensor_scale) {
    const std::int64_t blocks = block_count(format_, count), whole = count / format_.length;
    unpack(count, elements);
    decode_row(format_.scale, scales, factors_.get(), blocks);
    const bool vectors = simd::covers(format_);
    if (vectors) simd::decode_elements(format_, codes_.get(), whole, factors_.get(), tensor_scale, values);
    for (std::int64_t i = vectors ? whole : 0; i < blocks; ++i) {
      const float scale = factors_[static_cast<std::size_t>(i)];
      for (std::int64_t at = i * format_.length; at < i * format_.length + size(i, count); ++at) {
        const double element =
            halftone::decode(format_.element.format(), codes_[static_cast<std::size_t>(at)]);
        values[at] = static_cast<float>(element) * scale * tensor_scale;
      }
    }
  }

 private:
  static constexpr std::int64_t kCounted = 512;

  std::int64_t size(std::int64_t block, std::int64_t count) const {
    return std::min<std::int64_t>(format_.length, count - block * format_.length);
  }

  void encode_block(std::int64_t block, const float* values, std::int64_t count) {
    const Format& element = format_.element.format();
    const auto at = static_cast<std::size_t>(block);
    for (std::int64_t i = block * format_.length; i < block * format_.length + count; ++i) {
      const std::uint32_t word = words_ ? words_[static_cast<std::size_t>(i)] : 0;
      std::uint64_t code = detail::nan_code(element);
      if (exponents_[at] != BlockScaler::kNoScale) {
        Exact x = exact(static_cast<double>(scaler_.power_of_two() ? values[i] : values[i] * factors_[at]));
        x.exponent -= exponents_[at];
        code = halftone::encode(element, x, conversion_, word);
      }
      codes_[static_cast<std::size_t>(i)] = static_cast<std::uint8_t>(code);
    }
  }

  // Blocks start on a byte, so those whose bits fill bytes are packed in one go.
  bool fills_bytes() const { return format_.length * format_.element.format().bits() % 8 == 0; }

  void pack(std::int64_t count, std::uint8_t* elements) const {
    const int bits = format_.element.format().bits();
    if (fills_bytes()) return pack_codes(bits, codes_.get(), count, elements);
    for (std::int64_t i = 0; i < block_count(format_, count); ++i)
      pack_codes(bits, codes_.get() + i * format_.length, size(i, count),
                 elements + i * format_.element_bytes());
  }

  void unpack(std::int64_t count, const std::uint8_t* elements) {
    const int bits = format_.element.format().bits();
    if (fills_bytes()) return unpack_codes(bits, elements, count, codes_.get());
    for (std::int64_t i = 0; i < block_count(format_, count); ++i)
      unpack_codes(bits, elements + i * format_.element_bytes(), size(i, count),
                   codes_.get() + i * format_.length);
  }

  const BlockFormat& format_;
  Conversion conversion_;
  BlockScaler scaler_;
  std::int64_t blocks_;
  std::unique_ptr<std::uint32_t[]> amax_;
  std::unique_ptr<std::int32_t[]> exponents_;
  std::unique_ptr<float[]> factors_;
  std::unique_ptr<std::uint8_t[]> codes_;
  std::unique_ptr<std::uint32_t[]> words_;  // where the rounding is stochastic
};

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
                   void* scales, float tensor_scale, const Conversion& conversion, const RandomWords& random,
                   Census* census) {
  check_blocks(format, tensor_scale);
  const DefaultFloatState state;
  Conversion saturating = conversion;
  saturating.overflow = Overflow::saturate;
  Group group(format, tensor_scale, saturating);
  for (std::int64_t begin = 0; begin < count; begin += group.length()) {
    const std::int64_t block = begin / format.length;
    RandomWords words = random;
    words.first += static_cast<std::uint64_t>(begin);
    group.encode(values + begin, std::min(group.length(), count - begin),
                 static_cast<std::uint8_t*>(elements) + block * format.element_bytes(),
                 static_cast<std::uint8_t*>(scales) + block * format.scale.bytes(), words);
    if (census != nullptr) group.count(values + begin, std::min(group.length(), count - begin), *census);
  }
}

void decode_blocks(const BlockFormat& format, const void* elements, const void* scales, std::int64_t count,
                   float* values, float tensor_scale) {
  check_blocks(format, tensor_scale);
  const DefaultFloatState state;
  Group group(format, tensor_scale, {});
  for (std::int64_t begin = 0; begin < count; begin += group.length()) {
    const std::int64_t block = begin / format.length;
    group.decode(static_cast<const std::uint8_t*>(elements) + block * format.element_bytes(),
                 static_cast<const std::uint8_t*>(scales) + block * format.scale.bytes(),
                 std::min(group.length(), count - begin), values + begin, tensor_scale);
  }
}

}  // namespace halftone
