// SPDX-License-Identifier: Apache-2.0
//
// From the row of a recipe to what the ops ask (halftone/casting.h).
#include "amp/quantizers.h"
#include "halftone/autocast.h"

namespace halftone::amp {

DType carrier(const Format& format) {
  const Format& kept = bfloat16.format();
  return format.mantissa_bits <= kept.mantissa_bits ? bfloat16 : float32;
}

Tensor contiguous(const Tensor& x) {
  if (x.is_contiguous()) return x;
  Tensor copy(x.shape(), x.dtype());
  thread_state().backend->copy(x, copy);
  return copy;
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
