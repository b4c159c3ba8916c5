// SPDX-License-Identifier: Apache-2.0
//
// Values rounded to the numbers of a format and kept as float32: what encoding and decoding make of them, bit
// for bit, without the codes in between. For operands of a matmul that computes in a longer format, and for
// whoever wants to see what a short one would do.
#pragma once

#include <cstdint>
#include <memory>

#include "halftone/block.h"
#include "halftone/conversion.h"

namespace halftone {

// rounded[i] = decode(encode(values[i] * up)) * down, both products rounded to float32: powers of two bring
// values into the range of the format and back. What is not finite before it is encoded becomes NaN, whether
// the format has one or not. `random` is as for encode_row. `rounded` may be `values`.
void round_row(DType dtype, const float* values, float* rounded, std::int64_t count,
               const Conversion& conversion, const RandomWords& random = {}, float up = 1, float down = 1);

// What encode_blocks and decode_blocks make of values, with the same random numbers. Not for several threads
// at a time. Throws ValueError as those do, when it is used.
class BlockRounder {
 public:
  BlockRounder(const BlockFormat& format, float tensor_scale, const Conversion& conversion);
  ~BlockRounder();
  BlockRounder(const BlockRounder&) = delete;
  BlockRounder& operator=(const BlockRounder&) = delete;

  // A row in place. The last block may be short.
  void row(float* values, std::int64_t count, const RandomWords& random = {});

  // Columns of a matrix in place, whose blocks lie across its rows: element i of column c is at
  // values[i * stride + c] and takes the random number of element c * (length in whole blocks) + i. The last
  // block of each column may be short. REQUIRES a stride that is a multiple of kColumns and at least
  // `columns`; what lies between the two is overwritten.
  static constexpr std::int64_t kColumns = 16;
  void columns(float* values, std::int64_t length, std::int64_t columns, std::int64_t stride,
               const RandomWords& random = {});

 private:
  struct Loops;
  void by_codes(float* values, std::int64_t count, const RandomWords& random) const;

  BlockFormat format_;
  float tensor_scale_;
  Conversion conversion_;
  std::unique_ptr<Loops> loops_;  // null where codes must be made
};

}  // namespace halftone
