// SPDX-License-Identifier: Apache-2.0
#include "op/contraction.h"

#include <utility>

namespace halftone {
namespace {

Tensor reshaped(const Tensor& x, const Shape& shape) {
  return x.view(shape, contiguous_strides(shape), x.offset());
}

}  // namespace

Tensor transposed(const Tensor& x) {
  Shape shape = x.shape(), strides = x.strides();
  std::swap(shape[-1], shape[-2]);
  std::swap(strides[-1], strides[-2]);
  return x.view(shape, strides, x.offset());
}

Tensor as_matrix(const Backend& backend, const Tensor& x) {
  if (x.rank() == 2) return x;
  const std::int64_t width = x.size(-1);
  const Shape shape{width == 0 ? 0 : x.count() / width, width};
  if (x.is_contiguous()) return reshaped(x, shape);
  Tensor copy(x.shape(), x.dtype());
  backend.copy(x, copy);
  return reshaped(copy, shape);
}

void deliver_product(BackwardCall& call, int input, const Tensor& a, const Tensor& b) {
  Shape product = a.shape();
  product[-1] = b.size(-1);
  if (const Tensor sum = call.gradients.accumulator(input); sum && sum.is_contiguous()) {
    call.backend.matmul({.a = a, .b = b, .c = reshaped(sum, product), .bias = {}, .accumulate = true});
    return;
  }
  const Tensor result(product, call.gradients.dtype(input));
  call.backend.matmul({.a = a, .b = b, .c = result, .bias = {}});
  const Shape& shape = call.shapes[static_cast<std::size_t>(input)];
  call.gradients.deliver(input, product == shape ? result : reshaped(result, shape));
}

}  // namespace halftone
