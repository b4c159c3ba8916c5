// SPDX-License-Identifier: Apache-2.0
//
// Tiles: blocks of up to kTile elements on their way between memory, in any format and at any strides, and a
// contiguous stretch of floats in the first-level cache. This is the only place where the cpu backend's own
// loops meet formats.
#pragma once

#include <cstddef>
#include <cstdint>

#include "halftone/tensor.h"

namespace halftone::cpu {

inline constexpr std::int64_t kTile = 1024;

// Elements handed to one thread at a time: enough work to be worth handing out, few enough bytes to stay
// cached.
inline constexpr std::int64_t kChunk = 32768;

// A two-dimensional block of memory; strides in elements.
struct Block {
  std::int64_t rows, columns, row_stride, column_stride;

  std::int64_t count() const { return rows * columns; }
  bool is_contiguous() const {
    return (columns == 1 || column_stride == 1) && (rows == 1 || row_stride == columns);
  }
};
inline Block contiguous_block(std::int64_t rows, std::int64_t columns) { return {rows, columns, columns, 1}; }

// The address of the element `offset` elements after data.
inline const std::byte* advance(const void* data, DType dtype, std::int64_t offset) {
  return static_cast<const std::byte*>(data) + offset * dtype.bytes();
}
inline std::byte* advance(void* data, DType dtype, std::int64_t offset) {
  return static_cast<std::byte*>(data) + offset * dtype.bytes();
}

// The block as floats, row-major: in place if it lies in memory that way, otherwise filled into `tile`, which
// has room for block.count() <= kTile floats.
const float* load_block(DType dtype, const void* data, const Block& block, float* tile);

// Rounds block.count() <= kTile floats into the block.
void store_block(DType dtype, void* data, const Block& block, const float* tile);

// Moves codes of that many bytes between two blocks of equal sizes that do not overlap.
void move_codes(int bytes, const void* from, const Block& from_block, void* to, const Block& to_block);

}  // namespace halftone::cpu
