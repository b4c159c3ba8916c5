// SPDX-License-Identifier: Apache-2.0
//
// batch_norm (Ioffe and Szegedy 2015) over all axes but the last: h = (x - mean) / sqrt(variance + epsilon),
// y = w h + b. In training, mean and variance are those of the batch and
//   dx = w / deviation (dy - mean(dy) - h mean(dy h)),  dw = sum dy h,  db = sum dy;
// otherwise they are the running ones and dx = w / deviation dy. The formulas below are the definition, run
// in float64 by the loops; a backend may have them fused ("batch_norm.forward" and ".backward").
#include <array>
#include <cmath>
#include <limits>
#include <type_traits>
#include <utility>

#include "backend/kernel_options.h"
#include "halftone/op.h"
#include "halftone/ops.h"
#include "op/differentiate.h"
#include "op/float32_kernel.h"
#include "op/memory_order.h"

namespace halftone {
namespace {

struct Options {
  Tensor running_mean, running_variance;
  double momentum, epsilon;
  bool training;
};

constexpr Formula kSquaredDeviation = formula<2>([](auto x, auto mean) { return (x - mean) * (x - mean); });
constexpr Formula kInverse =
    formula<1>([](auto variance, const auto* p) { return 1 / std::sqrt(variance + p[0]); });
constexpr Formula kNormalise =
    formula<5>([](auto x, auto mean, auto inverse, auto w, auto b) { return (x - mean) * inverse * w + b; });
constexpr Formula kMove = formula<2>([](auto running, auto now, const auto* p) {
  // A batch whose variance leaves float32 does not move the running one: infinity would stay for good.
  const auto moved = running * (1 - p[0]) + now * p[1];
  constexpr auto largest =
      static_cast<std::remove_const_t<decltype(moved)>>(std::numeric_limits<float>::max());
  return moved >= -largest && moved <= largest ? moved : running;
});
constexpr Formula kWeightTerm =
    formula<4>([](auto dy, auto x, auto mean, auto inverse) { return dy * (x - mean) * inverse; });
// Sums arrive divided by the number of rows.
constexpr Formula kInputGradient =
    formula<6>([](auto dy, auto x, auto mean, auto inverse, auto sum, auto sum_h) {
      return (dy - sum - (x - mean) * inverse * sum_h) * inverse;
    });
constexpr Formula kProduct = formula<2>([](auto a, auto b) { return a * b; });

// A reduction onto the channels, in float64.
Tensor over_rows(const Backend& backend, const Tensor& x, double factor) {
  Shape kept = x.shape();
  for (int axis = 0; axis + 1 < kept.rank(); ++axis) kept[axis] = 1;
  const Tensor result(kept, float64);
  backend.reduce(Reduction::sum, x, result, factor);
  return result.view({x.size(-1)}, {1}, 0);
}

Tensor elementwise(const Backend& backend, const Formula& f, const Shape& shape,
                   std::initializer_list<Tensor> in, std::span<const double> parameters = {}) {
  const Tensor result(shape, float64);
  backend.elementwise(f, std::span(in.begin(), in.size()), result, parameters);
  return result;
}

double row_count(const Tensor& x) { return static_cast<double>(halftone::row_count(x.shape())); }

struct Statistics {
  Tensor mean, inverse, variance;
};

Statistics batch_statistics(const Backend& backend, const Tensor& x, double epsilon) {
  const double share = 1 / row_count(x);
  const Tensor mean = over_rows(backend, x, share);
  const Tensor variance =
      over_rows(backend, elementwise(backend, kSquaredDeviation, x.shape(), {x, mean}), share);
  return {mean, elementwise(backend, kInverse, mean.shape(), {variance}, std::span(&epsilon, 1)), variance};
}

// Running statistics move once per step: not again when a checkpoint recomputes. The variance is unbiased.
void move_running(const Backend& backend, const Options& options, const Statistics& batch, double rows) {
  if (thread_state().recomputing) return;
  auto move = [&](const Tensor& running, const Tensor& now, double correction) {
    const Tensor in[] = {running, now};
    const double parameters[] = {options.momentum, options.momentum * correction};
    backend.elementwise(kMove, in, running, parameters);
  };
  move(options.running_mean, batch.mean, 1);
  move(options.running_variance, batch.variance, rows > 1 ? rows / (rows - 1) : 1);
}

Tensor forward(Call& call) {
  const Options& options = call.as<Options>();
  const Tensor& x = call.inputs[0];
  const Tensor y(x.shape(), call.result);
  Statistics s;
  const Kernel fused = float32_kernel(call.backend, call.inputs, y, "batch_norm.forward");
  if (options.training && fused != nullptr) {
    const Shape channels{x.size(-1)};
    s = {Tensor(channels, float32), Tensor(channels, float32), Tensor(channels, float32)};
    const Tensor out[] = {y, s.mean, s.inverse, s.variance};
    fused({call.inputs, out, BatchNormOptions{options.epsilon}});
  } else {
    if (options.training) {
      s = batch_statistics(call.backend, x, options.epsilon);
    } else {
      const Tensor inverse({x.size(-1)}, sum_dtype(x.dtype()));
      call.backend.elementwise(kInverse, std::span(&options.running_variance, 1), inverse,
                               std::span(&options.epsilon, 1));
      // A copy: a training step before backward moves the running one.
      s = {copied(call.backend, options.running_mean), inverse, {}};
    }
    const Tensor in[] = {x, s.mean, s.inverse, call.inputs[1], call.inputs[2]};
    call.backend.elementwise(kNormalise, in, y);
  }
  if (options.training) move_running(call.backend, options, s, row_count(x));
  call.saved = {s.mean, s.inverse};
  return y;
}

void backward(BackwardCall& call) {
  const Tensor &x = call.inputs[0], &w = call.inputs[1], &dy = call.gradient;
  const Tensor &mean = call.saved[0], &inverse = call.saved[1];
  const bool training = call.as<Options>().training;
  const Shape channels{x.size(-1)};
  Tensor dx(x.shape(), call.gradients.wanted(0) ? call.gradients.dtype(0) : sum_dtype(x.dtype()));
  const Tensor in[] = {x, w, mean, inverse, dy};
  const Kernel fused = float32_kernel(call.backend, in, dx, "batch_norm.backward");
  Tensor dw(channels, sum_dtype(x.dtype())), db(channels, sum_dtype(x.dtype()));
  if (training && fused != nullptr) {
    const Tensor out[] = {dx, dw, db};
    fused({in, out, call.options});
  } else {
    const Tensor sum = over_rows(call.backend, dy, 1);
    const Tensor sum_h =
        over_rows(call.backend, elementwise(call.backend, kWeightTerm, x.shape(), {dy, x, mean, inverse}), 1);
    call.backend.copy(sum_h, dw);
    call.backend.copy(sum, db);
    const double share = training ? 1 / row_count(x) : 0;
    const Tensor mean_dy = over_rows(call.backend, dy, share);
    const Tensor mean_dy_h =
        elementwise(call.backend, formula<1>([](auto s, const auto* p) { return s * p[0]; }), channels,
                    {sum_h}, std::span(&share, 1));
    const Tensor gradient =
        elementwise(call.backend, kInputGradient, x.shape(), {dy, x, mean, inverse, mean_dy, mean_dy_h});
    const Tensor factors[] = {gradient, w};
    call.backend.elementwise(kProduct, factors, dx);
  }
  if (call.gradients.wanted(1)) call.gradients.deliver(1, std::move(dw));
  if (call.gradients.wanted(2)) call.gradients.deliver(2, std::move(db));
  if (call.gradients.wanted(0)) call.gradients.deliver(0, std::move(dx));
}

std::vector<Tensor> differentiate(const DifferentiateCall& call) {
  const Options& options = call.as<Options>();
  const Tensor &x = call.inputs[0], &dy = call.gradient, g = dy * call.inputs[1];
  if (!options.training) {
    const Tensor h = (x - call.saved[0]) * call.saved[1];
    return {g * call.saved[1], dy * h, dy};
  }
  std::vector<int> rows;
  for (int axis = 0; axis + 1 < x.rank(); ++axis) rows.push_back(axis);
  const Normalised n = normalised(x, rows, options.epsilon);
  return {normalised_gradient(n, g, rows), dy * n.h, dy};
}

std::vector<Example> examples() {
  auto example = [](const Shape& shape, bool training) {
    const Shape c{shape[-1]};
    return Example{{{shape, -2, 3}, {c, 0.5, 1.5}, {c}}, Options{zeros(c), ones(c), 0.1, 1e-5, training}};
  };
  return {example({6, 3}, true), example({2, 4, 4, 5}, true), example({150, 2}, true),
          example({6, 3}, false)};
}

const Op batch_norm_op{
    .name = "batch_norm",
    .cast = CastPolicy::inside_float32,
    .operands = 1,
    .keeps = {Operand::x0, Operand::x1},
    .forward = forward,
    .backward = backward,
    .examples = examples,
    .differentiate = differentiate,
};
const Register registered(batch_norm_op);

}  // namespace

Tensor batch_norm(const Tensor& x, const Tensor& weight, const Tensor& bias, Tensor running_mean,
                  Tensor running_variance, double momentum, double epsilon) {
  if (x.rank() < 2)
    throw ShapeError("batch_norm", to_string(x.shape()), "(.., channels) with at least one more axis");
  if (x.count() == 0) throw ShapeError("batch_norm", to_string(x.shape()), "at least one row");
  for (const Tensor* t : std::array<const Tensor*, 4>{&weight, &bias, &running_mean, &running_variance})
    if (t->shape() != Shape{x.size(-1)})
      throw ShapeError("batch_norm",
                       to_string(x.shape()) + " with a parameter of shape " + to_string(t->shape()),
                       "parameters as long as the last axis");
  return apply(batch_norm_op, {x, weight, bias},
               Options{running_mean, running_variance, momentum, epsilon, thread_state().training});
}

}  // namespace halftone
