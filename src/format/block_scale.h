// SPDX-License-Identifier: Apache-2.0
//
// The scale of one block, from the largest magnitude in it, in integers. Both the plain and the vector loops
// of blocks take it from here.
#pragma once

#include <bit>
#include <cstdint>
#include <utility>

#include "halftone/block.h"

namespace halftone {

struct BlockScale {
  std::uint64_t code;
  float value;   // of the scale; NaN in a block that has NaN or infinity
  int exponent;  // value = 2^exponent, where it is a power of two
};

// What the rule needs to know of a block format.
class BlockScaler {
 public:
  BlockScaler(const BlockFormat& format, float tensor_scale);

  // `amax` is the largest magnitude as the bits of a float32, those of NaN above all others.
  BlockScale operator()(std::uint32_t amax) const;

  bool power_of_two() const { return power_of_two_; }

 private:
  int exponent_for(std::uint32_t amax) const;
  BlockScale with_code(std::uint64_t code) const;

  const Format& scale_;
  ScaleRule rule_;
  int max_exponent_;              // floor(log2 max)
  std::uint32_t max_fraction_;    // of the largest element, as the fraction of a float32
  std::uint32_t half_ulp_;        // of the element's precision, likewise
  int least_, greatest_;          // exponents of the scale format
  bool power_of_two_, is_e8m0_;
  float max_value_, encode_scale_;
};

}  // namespace halftone
