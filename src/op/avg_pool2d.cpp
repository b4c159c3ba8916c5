// SPDX-License-Identifier: Apache-2.0
//
// avg_pool2d: the mean of each window, summed in float32 or better; dx = dy / size^2 everywhere in the
// window.
#include <climits>
#include <utility>

#include "backend/kernel_options.h"
#include "halftone/op.h"
#include "halftone/ops.h"
#include "op/float32_kernel.h"
#include "op/pool.h"

namespace halftone {
namespace {

constexpr RowFormula kForward = row_formula([]<class Real>(const Rows<Real>& r) {
  Real sum = 0;
  for (const Real v : r.in[0]) sum += v;
  r.out[0][0] = sum / static_cast<Real>(r.in[0].size());
});

constexpr RowFormula kBackward = row_formula([]<class Real>(const Rows<Real>& r) {
  for (Real& v : r.out[0]) v = r.in[0][0] / static_cast<Real>(r.out[0].size());
});

const Op avg_pool2d_op{
    .name = "avg_pool2d",
    .cast = CastPolicy::keep,
    .keeps = {},
    .forward =
        [](Call& call) {
          const Tensor& x = call.inputs[0];
          const int size = call.as<PoolOptions>().size;
          const Tensor y(pooled_shape(x.shape(), size), call.result);
          const Kernel fused = float32_kernel(call.backend, call.inputs, y, "avg_pool2d.forward");
          if (fused != nullptr) {
            fused({call.inputs, std::span(&y, 1), call.options});
          } else {
            const Tensor rows = window_rows(call.backend, x, size), out = as_column(call.backend, y);
            call.backend.rowwise(kForward, std::span(&rows, 1), std::span(&out, 1));
          }
          return y;
        },
    .backward =
        [](BackwardCall& call) {
          const int size = call.as<PoolOptions>().size;
          Tensor dx(call.shapes[0], call.gradients.dtype(0));
          const Kernel fused =
              float32_kernel(call.backend, std::span(&call.gradient, 1), dx, "avg_pool2d.backward");
          if (fused != nullptr) {
            fused({std::span(&call.gradient, 1), std::span(&dx, 1), call.options});
          } else {
            const Tensor in = as_column(call.backend, call.gradient), view = windows(dx, size);
            const Tensor rows({call.gradient.count(), size * size}, dx.dtype());
            call.backend.rowwise(kBackward, std::span(&in, 1), std::span(&rows, 1));
            call.backend.copy(rows.view(view.shape(), contiguous_strides(view.shape()), 0), view);
          }
          call.gradients.deliver(0, std::move(dx));
        },
    .examples =
        [] {
          return std::vector<Example>{{{{{2, 4, 6, 3}}}, PoolOptions{2}},
                                      {{{{1, 6, 3, 40}}}, PoolOptions{3}}};
        },
    .differentiate =
        [](const DifferentiateCall& call) {
          const int size = call.as<PoolOptions>().size;
          return std::vector{scale(enlarged(call.gradient, size), 1.0 / (size * size))};
        },
};
const Register registered(avg_pool2d_op);

}  // namespace

Tensor avg_pool2d(const Tensor& image, int size) {
  check_pool("avg_pool2d", image, size, INT_MAX);
  return apply(avg_pool2d_op, {image}, PoolOptions{size});
}

}  // namespace halftone
