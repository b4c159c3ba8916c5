// SPDX-License-Identifier: Apache-2.0
#include "op/contraction.h"

#include <utility>

#include "op/memory_order.h"

namespace halftone {

Tensor transposed(const Tensor& x) {
  Shape shape = x.shape(), strides = x.strides();
  std::swap(shape[-1], shape[-2]);
  std::swap(strides[-1], strides[-2]);
  return x.view(shape, strides, x.offset());
}

Tensor as_matrix(const Backend& backend, const Tensor& x) {
  return x.rank() == 2 ? x : matrix_of(contiguous(backend, x));
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
