// SPDX-License-Identifier: Apache-2.0
//
// Operands rounded to short formats. A result is an element of the format times a power of two or, in blocks
// whose scale is rounded to nearest, times a short scale. It has few significant bits and lies exactly in
// bfloat16, or in float32 for formats that need it: a matmul of such operands with float32 sums is then the
// bit-true product of the short ones.
#pragma once

#include <memory>
#include <vector>

#include "halftone/autograd.h"
#include "halftone/block.h"
#include "halftone/casting.h"
#include "halftone/recipe.h"

namespace halftone::amp {

class Quantizer : public OperandQuantizer {
 public:
  virtual std::vector<Parameter> state() const { return {}; }
  virtual void finish_step() const {}
};

// Number formats with a scale per tensor. `parameters`: those with a history, if delayed.
std::shared_ptr<const Quantizer> make_tensor_quantizer(const Operands& operands,
                                                       const std::vector<Parameter>& parameters);
// Block formats. Blocks run along the axis that the matmul sums over.
std::shared_ptr<const Quantizer> make_block_quantizer(const Operands& operands);

// The format in which the values of a short one are kept: bfloat16, or float32 if that can not hold them.
DType carrier(const Format& format);
DType carrier(const BlockFormat& format);  // of elements times scales

}  // namespace halftone::amp
