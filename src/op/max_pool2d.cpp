// SPDX-License-Identifier: Apache-2.0
//
// max_pool2d: the largest element of each window; of equal ones the first in row-major order receives the
// gradient, and a NaN wins. The row formulas are the definition; a backend may have kernels of these names.
#include <cmath>
#include <utility>

#include "backend/kernel_options.h"
#include "halftone/op.h"
#include "halftone/ops.h"
#include "op/differentiate.h"
#include "op/float32_kernel.h"
#include "op/pool.h"

namespace halftone {
namespace {

constexpr int kMost = 16;  // the place of the largest is a byte

constexpr RowFormula kForward = row_formula([]<class Real>(const Rows<Real>& r) {
  const auto x = r.in[0];
  std::size_t best = 0;
  for (std::size_t i = 1; i < x.size(); ++i)
    if (!std::isnan(x[best]) && !(x[i] <= x[best])) best = i;
  r.out[0][0] = x[best];
  r.out[1][0] = static_cast<Real>(best);
});

constexpr RowFormula kBackward = row_formula([]<class Real>(const Rows<Real>& r) {
  for (std::size_t i = 0; i < r.out[0].size(); ++i)
    r.out[0][i] = static_cast<Real>(i) == r.in[1][0] ? r.in[0][0] : Real(0);
});

Tensor forward(Call& call) {
  const Tensor& x = call.inputs[0];
  const int size = call.as<PoolOptions>().size;
  const Shape shape = pooled_shape(x.shape(), size);
  const Tensor y(shape, call.result), argmax(shape, uint8);
  call.saved = {argmax};
  const Kernel fused = float32_kernel(call.backend, call.inputs, y, "max_pool2d.forward");
  if (fused != nullptr) {
    const Tensor out[] = {y, argmax};
    fused({call.inputs, out, call.options});
  } else {
    const Tensor rows = window_rows(call.backend, x, size);
    const Tensor out[] = {as_column(call.backend, y), as_column(call.backend, argmax)};
    call.backend.rowwise(kForward, std::span(&rows, 1), out);
  }
  return y;
}

// dy where the largest elements were, on dx.
void place(const Backend& backend, const Tensor& dy, const Tensor& argmax, const std::any& options,
           Tensor& dx) {
  const int size = std::any_cast<PoolOptions>(&options)->size;
  const Kernel fused = float32_kernel(backend, std::span(&dy, 1), dx, "max_pool2d.backward");
  if (fused != nullptr) {
    const Tensor in[] = {dy, argmax};
    fused({in, std::span(&dx, 1), options});
  } else {
    const Tensor in[] = {as_column(backend, dy), as_column(backend, argmax)};
    const Tensor view = windows(dx, size);
    const Tensor rows({dy.count(), size * size}, dx.dtype());
    backend.rowwise(kBackward, in, std::span(&rows, 1));
    backend.copy(rows.view(view.shape(), contiguous_strides(view.shape()), 0), view);
  }
}

void backward(BackwardCall& call) {
  Tensor dx(call.shapes[0], call.gradients.dtype(0));
  place(call.backend, call.gradient, call.saved[0], call.options, dx);
  call.gradients.deliver(0, std::move(dx));
}

std::vector<Tensor> differentiate(const DifferentiateCall& call) {
  const Tensor& argmax = call.saved[0];
  Tensor largest(call.shapes[0], float32);
  place(*thread_state().backend, ones(argmax.shape()), argmax, call.options, largest);
  return {select(enlarged(call.gradient, call.as<PoolOptions>().size), cast(largest, uint8))};
}

const Op max_pool2d_op{
    .name = "max_pool2d",
    .cast = CastPolicy::keep,
    .keeps = {},
    .forward = forward,
    .backward = backward,
    .examples =
        [] {
          return std::vector<Example>{{{{{2, 4, 6, 3}}}, PoolOptions{2}},
                                      {{{{1, 6, 3, 40}}}, PoolOptions{3}}};
        },
    .differentiate = differentiate,
};
const Register registered(max_pool2d_op);

}  // namespace

Tensor max_pool2d(const Tensor& image, int size) {
  check_pool("max_pool2d", image, size, kMost);
  return apply(max_pool2d_op, {image}, PoolOptions{size});
}

}  // namespace halftone
