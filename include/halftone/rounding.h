// SPDX-License-Identifier: Apache-2.0
//
// Values rounded to the numbers of a short format and kept in a longer one: what encoding and decoding make
// of them, bit for bit, without the codes in between. For operands of a matmul that computes in the longer
// format, and for whoever wants to see what a short one would do.
#pragma once

#include <cstdint>
#include <memory>

#include "halftone/block.h"
#include "halftone/conversion.h"

namespace halftone {

// A row of values to read and one to write, each in a format of its own; they may be one and the same row of
// one format. Fastest where both are float32 or bfloat16.
struct RowPair {
  DType from;
  const void* values;
  DType to;
  void* rounded;

  RowPair at(std::int64_t element) const;  // both rows from that element on
};

// rounded = decode(encode(value * up)) * down, both products rounded to float32: powers of two bring values
// into the range of the format and back. What is not finite before it is encoded becomes NaN, whether the
// format has one or not. `random` is as for encode_row.
void round_row(DType format, const RowPair& rows, std::int64_t count, const Conversion& conversion,
               const RandomWords& random = {}, float up = 1, float down = 1);

// What encode_blocks and decode_blocks make of values, with the same random numbers. Not for several threads
// at a time. Throws ValueError as those do.
class BlockRounder {
 public:
  BlockRounder(const BlockFormat& format, float tensor_scale, const Conversion& conversion);
  ~BlockRounder();
  BlockRounder(const BlockRounder&) = delete;
  BlockRounder& operator=(const BlockRounder&) = delete;

  // Blocks along a row, of which the last may be short.
  void row(const RowPair& rows, std::int64_t count, const RandomWords& random = {});

  // Blocks along the columns of a matrix, of which the last of each may be short: element i of column c lies
  // at i * stride + c and takes the random number of element c * (length in whole blocks) + i.
  void columns(const RowPair& matrices, std::int64_t length, std::int64_t columns, std::int64_t stride,
               const RandomWords& random = {});

 private:
  class Loops;
  void row_by_codes(const RowPair& rows, std::int64_t count, const RandomWords& random) const;
  void columns_by_codes(const RowPair& matrices, std::int64_t length, std::int64_t columns,
                        std::int64_t stride, const RandomWords& random) const;

  BlockFormat format_;
  float tensor_scale_;
  Conversion conversion_;
  std::unique_ptr<Loops> loops_;  // null where codes must be made
};

}  // namespace halftone
