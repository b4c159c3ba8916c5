// SPDX-License-Identifier: Apache-2.0
//
// Blocks rounded by the vector loops of rounding_simd.h, some at a time: the largest magnitudes, the scales,
// the values. What those loops can not read or write goes through a tile of float32; formats that they do not
// know, through codes.
#include <algorithm>
#include <array>
#include <cstddef>
#include <vector>

#include "format/block_scale.h"
#include "format/block_simd.h"
#include "format/rounding_simd.h"
#include "format/rounding_words.h"
#include "halftone/float_state.h"
#include "halftone/parallel.h"
#include "halftone/rounding.h"

namespace halftone {
namespace {

constexpr std::int64_t kMostBlocks = 128;  // at a time
constexpr std::int64_t kLanes = simd::Blocks::kLanes;

RandomWords advanced(RandomWords random, std::int64_t by) {
  random.first += static_cast<std::uint64_t>(by);
  return random;
}

void by_codes(const BlockFormat& format, float* values, std::int64_t count, float tensor_scale,
              const Conversion& conversion, const RandomWords& random) {
  std::vector<std::byte> elements(static_cast<std::size_t>(packed_bytes(format, count)));
  std::vector<std::byte> scales(static_cast<std::size_t>(block_count(format, count) * format.scale.bytes()));
  encode_blocks(format, values, count, elements.data(), scales.data(), tensor_scale, conversion, random);
  decode_blocks(format, elements.data(), scales.data(), count, values, tensor_scale);
}

}  // namespace

class BlockRounder::Loops {
 public:
  Loops(const BlockFormat& format, float tensor_scale, const Conversion& conversion)
      : layout_(format.element.format(), conversion),
        scaler_(format, tensor_scale),
        scale_(format.scale),
        tensor_scale_(tensor_scale),
        conversion_(conversion) {}

  // REQUIRES reads_and_writes(rows). Only the first `count` of these blocks have values. One that can have no
  // scale has NaN for it, and so makes NaN of its values.
  void direct(const RowPair& rows, const simd::Blocks& blocks, std::int64_t count, const std::uint32_t* words,
              std::int64_t next_words) {
    simd::largest_magnitudes(rows.from, rows.values, blocks, amax_.data());
    scaler_(amax_.data(), count, codes_.data(), exponents_.data(), factors_.data());
    decode_row(scale_, codes_.data(), scales_.data(), count);
    simd::round_blocks(layout_, rows, blocks, {factors_.data(), scales_.data(), tensor_scale_}, words,
                       next_words);
  }

  // Any rows. Their lines, `stride` apart, are the blocks or, where blocks lie across them, one element of
  // each; zeros after a line change no scale.
  void through_tile(const RowPair& rows, std::int64_t lines, std::int64_t width, std::int64_t stride,
                    const simd::Blocks& blocks, std::int64_t count, const std::uint32_t* words,
                    std::int64_t next_words) {
    const std::int64_t padded = std::max(blocks.next_block, blocks.next_element);
    tile_.assign(static_cast<std::size_t>(padded * std::max(lines, blocks.count)), 0.0f);
    for (std::int64_t i = 0; i < lines; ++i)
      decode_row(rows.from, rows.at(i * stride).values, tile_.data() + i * padded, width);
    direct({float32, tile_.data(), float32, tile_.data()}, blocks, count, words, next_words);
    for (std::int64_t i = 0; i < lines; ++i)
      encode_row(rows.to, tile_.data() + i * padded, rows.at(i * stride).rounded, width);
  }

  // Words for `count` values, in room for `size`, or null where the rounding needs none.
  const std::uint32_t* draw(const RandomWords& random, std::int64_t count, std::int64_t size) {
    if (conversion_.rounding != Rounding::stochastic) return nullptr;
    if (words_.size() < static_cast<std::size_t>(size)) words_.resize(static_cast<std::size_t>(size));
    rounding_words(random, conversion_.random_bits, words_.data(), count);
    return words_.data();
  }

 private:
  simd::Layout layout_;
  BlockScaler scaler_;
  DType scale_;
  float tensor_scale_;
  Conversion conversion_;
  std::array<std::uint32_t, kMostBlocks> amax_{};
  std::array<std::int32_t, kMostBlocks> exponents_{};
  std::array<float, kMostBlocks> factors_{}, scales_{};
  std::array<std::byte, 8 * kMostBlocks> codes_{};  // of the scales
  std::vector<std::uint32_t> words_;
  std::vector<float> tile_;
};

BlockRounder::BlockRounder(const BlockFormat& format, float tensor_scale, const Conversion& conversion)
    : format_(format), tensor_scale_(tensor_scale), conversion_(conversion) {
  check_blocks(format, tensor_scale);
  conversion_.overflow = Overflow::saturate;
  if (simd::covers(format) && has_nan(format.scale.format()) &&
      simd::layout_for(format.element.format(), conversion_).fits_rounding())
    loops_ = std::make_unique<Loops>(format, tensor_scale, conversion_);
}

BlockRounder::~BlockRounder() = default;

void BlockRounder::row(const RowPair& rows, std::int64_t count, const RandomWords& random) {
  if (!loops_) return row_by_codes(rows, count, random);
  const DefaultFloatState state;
  const std::int64_t length = format_.length;
  const bool direct = simd::reads_and_writes(rows);
  for (std::int64_t begin = 0; begin < count;) {
    const bool whole = direct && count - begin >= length;
    const std::int64_t left = whole ? (count - begin) / length * length : count - begin;
    const std::int64_t size = std::min(kMostBlocks * length, left), blocks = block_count(format_, size);
    const std::uint32_t* words = loops_->draw(advanced(random, begin), size, blocks * length);
    const simd::Blocks all{blocks, length, length, 1};
    if (whole)
      loops_->direct(rows.at(begin), all, blocks, words, length);
    else
      loops_->through_tile(rows.at(begin), 1, size, 0, all, blocks, words, length);
    begin += size;
  }
}

void BlockRounder::columns(const RowPair& matrices, std::int64_t length, std::int64_t columns,
                           std::int64_t stride, const RandomWords& random) {
  if (!loops_) return columns_by_codes(matrices, length, columns, stride, random);
  const DefaultFloatState state;
  const std::int64_t padded = round_up(length, format_.length);
  const bool direct = simd::reads_and_writes(matrices);
  for (std::int64_t first = 0; first < columns;) {
    const bool whole = direct && columns - first >= kLanes;
    const std::int64_t left = whole ? (columns - first) / kLanes * kLanes : columns - first;
    const std::int64_t count = std::min(kMostBlocks, left), lanes = round_up(count, kLanes);
    const std::uint32_t* words =
        loops_->draw(advanced(random, first * padded), count * padded, lanes * padded);
    for (std::int64_t begin = 0; begin < length; begin += format_.length) {
      const std::int64_t lines = std::min<std::int64_t>(format_.length, length - begin);
      const RowPair here = matrices.at(begin * stride + first);
      const std::uint32_t* at = words == nullptr ? nullptr : words + begin;
      if (whole)
        loops_->direct(here, {count, lines, 1, stride}, count, at, padded);
      else
        loops_->through_tile(here, lines, count, stride, {lanes, lines, 1, lanes}, count, at, padded);
    }
    first += count;
  }
}

void BlockRounder::row_by_codes(const RowPair& rows, std::int64_t count, const RandomWords& random) const {
  const std::int64_t most = kMostBlocks * format_.length;
  std::vector<float> values(static_cast<std::size_t>(std::min(most, count)));
  for (std::int64_t begin = 0; begin < count; begin += most) {
    const std::int64_t size = std::min(most, count - begin);
    const RowPair here = rows.at(begin);
    decode_row(here.from, here.values, values.data(), size);
    by_codes(format_, values.data(), size, tensor_scale_, conversion_, advanced(random, begin));
    encode_row(here.to, values.data(), here.rounded, size);
  }
}

// Columns become rows, each in whole blocks.
void BlockRounder::columns_by_codes(const RowPair& matrices, std::int64_t length, std::int64_t columns,
                                    std::int64_t stride, const RandomWords& random) const {
  const auto padded = static_cast<std::size_t>(round_up(length, format_.length));
  const auto width = static_cast<std::size_t>(columns);
  std::vector<float> line(width), turned(width * padded);
  for (std::int64_t i = 0; i < length; ++i) {
    decode_row(matrices.from, matrices.at(i * stride).values, line.data(), columns);
    for (std::size_t c = 0; c < width; ++c) turned[c * padded + static_cast<std::size_t>(i)] = line[c];
  }
  by_codes(format_, turned.data(), static_cast<std::int64_t>(turned.size()), tensor_scale_, conversion_,
           random);
  for (std::int64_t i = 0; i < length; ++i) {
    for (std::size_t c = 0; c < width; ++c) line[c] = turned[c * padded + static_cast<std::size_t>(i)];
    encode_row(matrices.to, line.data(), matrices.at(i * stride).rounded, columns);
  }
}

}  // namespace halftone
