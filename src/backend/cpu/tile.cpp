// SPDX-License-Identifier: Apache-2.0
#include "backend/cpu/tile.h"

#include <algorithm>
#include <cassert>
#include <cstring>

namespace halftone::cpu {
namespace {

// Codes wait here, contiguous, between strided memory and the codec. Each lives in one call only.
constexpr std::size_t kCodeBytes = kTile * 8;

template <class Code>
void move_row(const Code* from, std::int64_t from_stride, Code* to, std::int64_t to_stride,
              std::int64_t count) {
  if (to_stride != 1) {
    for (std::int64_t i = 0; i < count; ++i) to[i * to_stride] = from[i * from_stride];
  } else if (from_stride == 1) {
    if (count * static_cast<std::int64_t>(sizeof(Code)) > 128)
      std::memcpy(to, from, static_cast<std::size_t>(count) * sizeof(Code));
    else
      for (std::int64_t i = 0; i < count; ++i) to[i] = from[i];
  } else if (from_stride == 0) {
    std::fill_n(to, count, *from);
  } else {
    for (std::int64_t i = 0; i < count; ++i) to[i] = from[i * from_stride];
  }
}

template <class Code>
void move(const void* from_data, const Block& f, void* to_data, const Block& t) {
  const Code* from = static_cast<const Code*>(from_data);
  Code* to = static_cast<Code*>(to_data);
  // Rows that lie across `from`: go by squares, so that a cache line fetched for one row serves its
  // neighbours.
  const bool across = f.rows > 1 && f.column_stride > f.row_stride && f.column_stride > 1;
  const std::int64_t width = across ? 32 : f.columns;
  const std::int64_t height = across ? 32 : f.rows;
  for (std::int64_t r = 0; r < f.rows; r += height)
    for (std::int64_t c = 0; c < f.columns; c += width)
      for (std::int64_t row = r; row < std::min(r + height, f.rows); ++row)
        move_row(from + row * f.row_stride + c * f.column_stride, f.column_stride,
                 to + row * t.row_stride + c * t.column_stride, t.column_stride,
                 std::min(width, f.columns - c));
}

}  // namespace

void move_codes(int bytes, const void* from, const Block& from_block, void* to, const Block& to_block) {
  switch (bytes) {
    case 1:
      return move<std::uint8_t>(from, from_block, to, to_block);
    case 2:
      return move<std::uint16_t>(from, from_block, to, to_block);
    case 4:
      return move<std::uint32_t>(from, from_block, to, to_block);
    case 8:
      return move<std::uint64_t>(from, from_block, to, to_block);
    default:
      assert(false && "a code has 1, 2, 4 or 8 bytes");
  }
}

const float* load_block(DType dtype, const void* data, const Block& block, float* tile) {
  if (block.is_contiguous()) {
    if (dtype == float32) return static_cast<const float*>(data);
    decode_row(dtype, data, tile, block.count());
    return tile;
  }
  const Block packed = contiguous_block(block.rows, block.columns);
  if (dtype == float32) {
    move_codes(sizeof(float), data, block, tile, packed);
  } else {
    alignas(64) std::byte codes[kCodeBytes];
    move_codes(dtype.bytes(), data, block, codes, packed);
    decode_row(dtype, codes, tile, block.count());
  }
  return tile;
}

void store_block(DType dtype, void* data, const Block& block, const float* tile) {
  if (block.is_contiguous()) return encode_row(dtype, tile, data, block.count());
  const Block packed = contiguous_block(block.rows, block.columns);
  if (dtype == float32) return move_codes(sizeof(float), tile, packed, data, block);
  alignas(64) std::byte codes[kCodeBytes];
  encode_row(dtype, tile, codes, block.count());
  move_codes(dtype.bytes(), codes, packed, data, block);
}

}  // namespace halftone::cpu
