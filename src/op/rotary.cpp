// SPDX-License-Identifier: Apache-2.0
//
// rotary (Su et al. 2021): the two halves of a head, x = (a, b), turned by the angle of their position:
//   y = (a cos - b sin, b cos + a sin),  angle = position rate_i, i the index within a half.
// This is the pairing of Llama's published weights (element i with element i + width / 2). The gradient turns
// back. Angles are formed in double, so that far positions lose nothing, and kept for the next call. The
// formula below is the definition; a backend may have a kernel ("rotary"). Results lie in memory as x does.
#include <fmt/format.h>

#include <utility>

#include "backend/kernel_options.h"
#include "halftone/op.h"
#include "halftone/ops.h"
#include "op/angles.h"
#include "op/float32_kernel.h"
#include "op/memory_order.h"

namespace halftone {
namespace {

struct Options {
  TurnRates rates;
  std::int64_t first;
  double direction;  // -1 turns back
};

// in: x, (cosines, sines) of the position; out: y. parameters: direction.
constexpr RowFormula kTurn = row_formula([]<class Real>(const Rows<Real>& r) {
  const auto x = r.in[0], angle = r.in[1];
  const std::size_t half = x.size() / 2;
  const Real direction = r.parameters[0];
  for (std::size_t i = 0; i < half; ++i) {
    const Real cosine = angle[i], sine = direction * angle[i + half], a = x[i], b = x[i + half];
    r.out[0][i] = a * cosine - b * sine;
    r.out[0][i + half] = b * cosine + a * sine;
  }
});

void turn(const Backend& backend, const Tensor& x, const Options& options, double direction,
          const Tensor& y) {
  const Kernel fused = float32_kernel(backend, std::span(&x, 1), y, "rotary");
  const DType real = is_wide(x) || is_wide(y) ? float64 : float32;
  const Tensor table = angles(options.rates, options.first, x.size(-2), x.size(-1), real);
  const RotaryKernelOptions turned{direction * options.direction};
  if (fused != nullptr) {
    const Tensor in[] = {x, table};
    return fused({in, std::span(&y, 1), turned});
  }
  Shape strides = x.strides();
  for (int axis = 0; axis < x.rank() - 2; ++axis) strides[axis] = 0;
  strides[-2] = table.size(1);
  strides[-1] = 1;
  const Tensor in[] = {x, table.view(x.shape(), strides, table.offset())};
  backend.rowwise(kTurn, in, std::span(&y, 1), std::span(&turned.direction, 1));
}

extern const Op rotary_op;

const Op rotary_op{
    .name = "rotary",
    .cast = CastPolicy::inside_float32,
    .keeps = {},
    .forward =
        [](Call& call) {
          Tensor y = in_order_of(call.inputs[0], call.result);
          turn(call.backend, call.inputs[0], call.as<Options>(), 1, y);
          return y;
        },
    .backward =
        [](BackwardCall& call) {
          Tensor dx = in_order_of(call.gradient, call.gradients.dtype(0));
          turn(call.backend, call.gradient, call.as<Options>(), -1, dx);
          call.gradients.deliver(0, std::move(dx));
        },
    .examples =
        [] {
          return std::vector<Example>{
              {{{{2, 2, 5, 6}}}, Options{{10000}, 0, 1}},
              {{{{2, 3, 4, 40}}}, Options{{10000, {.factor = 4, .original_context = 16}}, 3, 1}},
              {{{{3, 4}}}, Options{{100, {.factor = 2}}, 7, 1}}};
        },
    .differentiate =
        [](const DifferentiateCall& call) {
          Options back = call.as<Options>();
          back.direction = -back.direction;
          return std::vector{apply(rotary_op, {call.gradient}, back)};
        },
};
const Register registered(rotary_op);

}  // namespace

Tensor rotary(const Tensor& x, double base, std::int64_t first_position, const RotaryScaling& scaling) {
  if (x.rank() < 2 || x.size(-1) % 2 != 0)
    throw ShapeError("rotary", to_string(x.shape()), "(.., positions, width) of even width");
  if (!(base > 0) || first_position < 0)
    throw ValueError("rotary", fmt::format("base {} and first position {}", base, first_position),
                     "a positive base and a position from 0");
  if (!scaling.valid())
    throw ValueError(
        "rotary",
        fmt::format("scaling by {} from a context of {} with frequencies {} and {}", scaling.factor,
                    scaling.original_context, scaling.low_frequency, scaling.high_frequency),
        "a positive factor, a context from 0, and frequencies in ascending order");
  return apply(rotary_op, {x}, Options{{base, scaling}, first_position, 1});
}

}  // namespace halftone
