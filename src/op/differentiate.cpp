// SPDX-License-Identifier: Apache-2.0
#include "op/differentiate.h"

#include <cmath>
#include <limits>

#include "halftone/ops.h"
#include "op/memory_order.h"

namespace halftone {
namespace {

// y = 1 / sqrt(x + epsilon), dx = -dy y^3 / 2.
const Op inverse_root_op = elementwise_op({
    .name = "inverse_root",
    .cast = CastPolicy::keep,
    .forward = formula<1>([](auto x, const auto* p) { return 1 / std::sqrt(x + p[0]); }),
    .gradients = {{formula<2>([](auto dy, auto y) { return dy * y * y * y / -2; }),
                   {Operand::dy, Operand::y}}},
    .examples = {},
    .differentiate =
        [](const DifferentiateCall& call) {
          const Tensor& y = call.output;
          return std::vector{scale(call.gradient * y * y * y, -0.5)};
        },
});

}  // namespace

Tensor widened(const Tensor& x) {
  return x && x.dtype().is_floating() && x.dtype() != sum_dtype(x.dtype()) ? cast(x, sum_dtype(x.dtype()))
                                                                           : x;
}

Tensor constant(double value, const Tensor& like) { return full({}, value, like.dtype()); }

Tensor summed_onto(const Tensor& x, const Shape& shape) {
  if (x.shape() == shape) return x;
  const int lead = x.rank() - shape.rank();
  std::vector<int> axes;
  for (int axis = 0; axis < x.rank(); ++axis)
    if (axis < lead || shape[axis - lead] != x.size(axis)) axes.push_back(axis);
  const Tensor total = axes.empty() ? x : sum(x, axes, true);
  return total.shape() == shape ? total : reshape(total, shape);
}

Tensor spread(const Tensor& x, const Shape& shape) {
  if (x.shape() == shape) return x;
  Shape nowhere = shape;
  for (int axis = 0; axis < shape.rank(); ++axis) nowhere[axis] = 0;
  return add(x, zeros({1}, x.dtype()).view(shape, nowhere, 0));
}

Tensor select(const Tensor& x, const Tensor& mask) { return where(mask, x, constant(0, x)); }

Tensor row_peaks(const Tensor& x) {
  Shape kept = x.shape();
  kept[-1] = 1;
  const Tensor peaks(kept, x.dtype());
  thread_state().backend->reduce(Reduction::max, x, peaks);
  return peaks;
}

Tensor not_masked(const Tensor& x) {
  const Tensor peaks = row_peaks(x);
  std::vector<double> found = peaks.to_vector();
  for (double& peak : found) peak = peak == -std::numeric_limits<double>::infinity() ? 0 : 1;
  return from_values(found, peaks.shape(), uint8);
}

Tensor exchanged(const Tensor& x) { return transpose(x, -2, -1); }

Tensor joined_rows(const Tensor& x) {
  return x.rank() == 2 ? x : reshape(x, {row_count(x.shape()), x.size(-1)});
}

Normalised normalised(const Tensor& x, const std::vector<int>& axes, double epsilon) {
  const Tensor centred = x - mean(x, axes, true);
  const Tensor inverse = apply(inverse_root_op, {mean(centred * centred, axes, true)}, Scalars{epsilon});
  return {centred * inverse, inverse};
}

Tensor normalised_gradient(const Normalised& n, const Tensor& g, const std::vector<int>& axes) {
  return (g - mean(g, axes, true) - n.h * mean(g * n.h, axes, true)) * n.inverse;
}

}  // namespace halftone
