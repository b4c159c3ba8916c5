// SPDX-License-Identifier: Apache-2.0
//
// Chooses how values are rounded: by the vector loops of rounding_simd.h, or by making codes and reading
// them.
#include "halftone/rounding.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <vector>

#include "format/block_scale.h"
#include "format/block_simd.h"
#include "format/rounding_simd.h"
#include "format/rounding_words.h"
#include "format/rows_simd.h"
#include "halftone/float_state.h"

namespace halftone {
namespace {

constexpr std::int64_t kPiece = 512;       // values of a row
constexpr std::int64_t kMostBlocks = 128;  // at a time

RandomWords advanced(RandomWords random, std::int64_t by) {
  random.first += static_cast<std::uint64_t>(by);
  return random;
}

void row_by_codes(DType dtype, const float* values, float* rounded, std::int64_t count,
                  const Conversion& conversion, const RandomWords& random, float up, float down) {
  std::array<float, kPiece> scaled;
  std::array<std::byte, 8 * kPiece> codes;
  for (std::int64_t i = 0; i < count; ++i) scaled[static_cast<std::size_t>(i)] = values[i] * up;
  encode_row(dtype, scaled.data(), codes.data(), count, conversion, random);
  decode_row(dtype, codes.data(), rounded, count);
  for (std::int64_t i = 0; i < count; ++i)
    rounded[i] = std::isfinite(scaled[static_cast<std::size_t>(i)]) ? rounded[i] * down
                                                                    : std::numeric_limits<float>::quiet_NaN();
}

}  // namespace

void round_row(DType dtype, const float* values, float* rounded, std::int64_t count,
               const Conversion& conversion, const RandomWords& random, float up, float down) {
  const DefaultFloatState state;
  const simd::Layout* layout =
      simd::covers(dtype.format()) ? &simd::layout_for(dtype.format(), conversion) : nullptr;
  const bool in_loops = layout != nullptr && layout->fits_rounding();
  const bool stochastic = conversion.rounding == Rounding::stochastic;
  if (in_loops && !stochastic) return simd::round_values(*layout, values, rounded, count, nullptr, up, down);
  std::array<std::uint32_t, kPiece> words;
  for (std::int64_t begin = 0; begin < count; begin += kPiece) {
    const std::int64_t size = std::min(kPiece, count - begin);
    const RandomWords here = advanced(random, begin);
    if (!in_loops) {
      row_by_codes(dtype, values + begin, rounded + begin, size, conversion, here, up, down);
      continue;
    }
    rounding_words(here, conversion.random_bits, words.data(), size);
    simd::round_values(*layout, values + begin, rounded + begin, size, words.data(), up, down);
  }
}

// What the vector loops need: up to kMostBlocks blocks are worked on at a time.
struct BlockRounder::Loops {
  Loops(const BlockFormat& format, float tensor_scale, const Conversion& conversion)
      : layout(format.element.format(), conversion), scaler(format, tensor_scale), scale(format.scale) {}

  // The scales of blocks whose largest magnitudes are in `amax`. A block that has none has NaN, and so makes
  // NaN of its values.
  void find_scales(std::int64_t blocks) {
    scaler(amax.data(), blocks, codes.data(), exponents.data(), factors.data());
    decode_row(scale, codes.data(), scales.data(), blocks);
  }

  // Words for `count` values, in room for `size`, or null where the rounding needs none.
  const std::uint32_t* draw(const Conversion& conversion, const RandomWords& random, std::int64_t count,
                            std::int64_t size) {
    if (conversion.rounding != Rounding::stochastic) return nullptr;
    if (words.size() < static_cast<std::size_t>(size)) words.resize(static_cast<std::size_t>(size));
    rounding_words(random, conversion.random_bits, words.data(), count);
    return words.data();
  }

  simd::Layout layout;
  BlockScaler scaler;
  DType scale;
  std::array<std::uint32_t, kMostBlocks> amax{};
  std::array<std::int32_t, kMostBlocks> exponents{};
  std::array<float, kMostBlocks> factors{}, scales{};
  std::array<std::byte, 8 * kMostBlocks> codes{};  // of the scales
  std::vector<std::uint32_t> words;
};

BlockRounder::BlockRounder(const BlockFormat& format, float tensor_scale, const Conversion& conversion)
    : format_(format), tensor_scale_(tensor_scale), conversion_(conversion) {
  conversion_.overflow = Overflow::saturate;
  if (simd::covers(format) && has_nan(format.scale.format()) &&
      simd::layout_for(format.element.format(), conversion_).fits_rounding())
    loops_ = std::make_unique<Loops>(format, tensor_scale, conversion_);
}

BlockRounder::~BlockRounder() = default;

void BlockRounder::row(float* values, std::int64_t count, const RandomWords& random) {
  const std::int64_t length = format_.length;
  const std::int64_t whole = loops_ ? count / length * length : 0;
  const DefaultFloatState state;
  for (std::int64_t begin = 0; begin < whole; begin += kMostBlocks * length) {
    const std::int64_t blocks = std::min(kMostBlocks, (whole - begin) / length), size = blocks * length;
    const std::uint32_t* words = loops_->draw(conversion_, advanced(random, begin), size, size);
    simd::largest_magnitudes(format_, values + begin, blocks, loops_->amax.data());
    loops_->find_scales(blocks);
    simd::round_blocks(loops_->layout, values + begin, length, blocks,
                       {loops_->factors.data(), loops_->scales.data(), tensor_scale_}, words);
  }
  if (whole < count) by_codes(values + whole, count - whole, advanced(random, whole));
}

void BlockRounder::columns(float* values, std::int64_t length, std::int64_t columns, std::int64_t stride,
                           const RandomWords& random) {
  const DefaultFloatState state;
  const std::int64_t padded = block_count(format_, length) * format_.length;
  if (!loops_) {
    std::vector<float> column(static_cast<std::size_t>(length));
    for (std::int64_t c = 0; c < columns; ++c) {
      for (std::int64_t i = 0; i < length; ++i) column[static_cast<std::size_t>(i)] = values[i * stride + c];
      by_codes(column.data(), length, advanced(random, c * padded));
      for (std::int64_t i = 0; i < length; ++i) values[i * stride + c] = column[static_cast<std::size_t>(i)];
    }
    return;
  }
  for (std::int64_t first = 0; first < columns; first += kMostBlocks) {
    const std::int64_t count = std::min(kMostBlocks, columns - first);
    const std::int64_t lanes = (count + kColumns - 1) / kColumns * kColumns;
    const std::uint32_t* words =
        loops_->draw(conversion_, advanced(random, first * padded), count * padded, lanes * padded);
    for (std::int64_t begin = 0; begin < length; begin += format_.length) {
      float* at = values + begin * stride + first;
      const std::int64_t lines = std::min<std::int64_t>(format_.length, length - begin);
      simd::largest_magnitudes_across(at, lines, count, stride, loops_->amax.data());
      loops_->find_scales(count);
      simd::round_blocks_across(loops_->layout, at, lines, count, stride,
                                {loops_->factors.data(), loops_->scales.data(), tensor_scale_},
                                words == nullptr ? nullptr : words + begin, padded);
    }
  }
}

void BlockRounder::by_codes(float* values, std::int64_t count, const RandomWords& random) const {
  std::vector<std::byte> elements(static_cast<std::size_t>(packed_bytes(format_, count)));
  std::vector<std::byte> scales(
      static_cast<std::size_t>(block_count(format_, count) * format_.scale.bytes()));
  encode_blocks(format_, values, count, elements.data(), scales.data(), tensor_scale_, conversion_, random);
  decode_blocks(format_, elements.data(), scales.data(), count, values, tensor_scale_);
}

}  // namespace halftone
