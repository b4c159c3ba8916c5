// SPDX-License-Identifier: Apache-2.0
//
// The scales of blocks, from the largest magnitude in each. Both the plain and the vector loops of blocks
// take them from here.
#pragma once

#include <cstdint>
#include <limits>

#include "halftone/block.h"

namespace halftone {

// Throws ValueError for a format whose elements or length no loop takes, or a tensor scale that is no scale.
void check_blocks(const BlockFormat& format, float tensor_scale);

// What the rule needs to know of a block format.
class BlockScaler {
 public:
  BlockScaler(const BlockFormat& format, float tensor_scale);

  // `amax` has the largest magnitude of each block as the bits of a float32, those of NaN above all others.
  // Writes the code of each scale; its exponent where scales are powers of two (otherwise 0); and the factor
  // that divides the values by scale and tensor scale. A block that cannot have a scale has the exponent
  // kNoScale.
  static constexpr std::int32_t kNoScale = std::numeric_limits<std::int32_t>::max();
  void operator()(const std::uint32_t* amax, std::int64_t blocks, void* codes, std::int32_t* exponents,
                  float* factors) const;

  bool power_of_two() const { return rule_ != ScaleRule::nearest; }

 private:
  void powers(const std::uint32_t* amax, std::int64_t blocks, void* codes, std::int32_t* exponents,
              float* factors) const;
  void nearest(const std::uint32_t* amax, std::int64_t blocks, void* codes, float* factors) const;

  DType scale_;
  ScaleRule rule_;
  int max_exponent_;         // floor(log2 max)
  std::uint32_t half_ulp_;   // added to amax by the rule `even`: half an ulp of the element, as a float32
  std::uint32_t up_beyond_;  // the fraction of amax above which the next power of two is taken
  int least_, greatest_;     // exponents of the scale format
  bool is_e8m0_;
  float max_value_, encode_scale_;
};

}  // namespace halftone
