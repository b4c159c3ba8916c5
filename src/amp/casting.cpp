// SPDX-License-Identifier: Apache-2.0
//
// From the row of a recipe to what the ops ask (halftone/casting.h).
#include "amp/quantizers.h"
#include "halftone/autocast.h"

namespace halftone::amp {

namespace {

DType carrier(int significand_bits) {
  return significand_bits <= bfloat16.format().precision() ? bfloat16 : float32;
}

}  // namespace

DType carrier(const Format& format) { return carrier(format.precision()); }

// The scales of every other rule are powers of two.
DType carrier(const BlockFormat& format) {
  const int of_scale = format.rule == ScaleRule::nearest ? format.scale.format().precision() : 0;
  return carrier(format.element.format().precision() + of_scale);
}

Casting::Casting(const Recipe& recipe, const std::vector<Parameter>& parameters) : compute_(recipe.compute) {
  if (recipe.operands.scaling == OperandScaling::none) return;
  const auto made = recipe.operands.scaling == OperandScaling::block
                        ? make_block_quantizer(recipe.operands)
                        : make_tensor_quantizer(recipe.operands, parameters);
  state_ = made->state();
  quantizer_ = made;
}

void Casting::finish_step() {
  if (quantizer_) static_cast<const Quantizer&>(*quantizer_).finish_step();
}

}  // namespace halftone::amp
