// SPDX-License-Identifier: Apache-2.0
//
// dropout (Srivastava et al. 2014), inverted: y = x / (1 - p) with probability 1 - p, else 0. Whether element
// i is kept is a function of (seed, index of the call + i), so a checkpoint that restores the index
// recomputes the same mask. The identity outside training.
#include <fmt/format.h>

#include <utility>

#include "halftone/op.h"
#include "halftone/ops.h"
#include "halftone/parallel.h"
#include "halftone/random.h"
#include "op/differentiate.h"

namespace halftone {
namespace {

constexpr Formula kMasked = formula<2>([](auto x, auto mask, const auto* p) { return x * mask * p[0]; });

Tensor draw_mask(const Shape& shape, double probability) {
  Tensor mask(shape, uint8);
  const std::uint64_t seed = thread_state().seed;
  const std::uint64_t first = take_random(static_cast<std::uint64_t>(shape.count()));
  auto* kept = mask.mutable_data<std::uint8_t>();
  parallel_for(shape.count(), 16384, [&](std::int64_t begin, std::int64_t end) {
    random_kept(seed, streams::dropout, first + static_cast<std::uint64_t>(begin), probability, kept + begin,
                end - begin);
  });
  return mask;
}

void apply_mask(const Backend& backend, const Tensor& x, const Tensor& mask, double probability,
                const Tensor& y) {
  const Tensor in[] = {x, mask};
  const double parameters[] = {1 / (1 - probability)};
  backend.elementwise(kMasked, in, y, parameters);
}

const Op dropout_op{
    .name = "dropout",
    .cast = CastPolicy::inside_float32,
    .keeps = {},
    .forward =
        [](Call& call) {
          const double probability = call.as<double>();
          Tensor y(call.inputs[0].shape(), call.result);
          call.saved = {draw_mask(y.shape(), probability)};
          apply_mask(call.backend, call.inputs[0], call.saved[0], probability, y);
          return y;
        },
    .backward =
        [](BackwardCall& call) {
          Tensor dx(call.shapes[0], call.gradients.dtype(0));
          apply_mask(call.backend, call.gradient, call.saved[0], call.as<double>(), dx);
          call.gradients.deliver(0, std::move(dx));
        },
    .examples =
        [] {
          return std::vector<Example>{{{{{4, 5}}}, 0.5}, {{{{3, 50}}}, 0.1}};
        },
    .differentiate =
        [](const DifferentiateCall& call) {
          return std::vector{scale(select(call.gradient, call.saved[0]), 1 / (1 - call.as<double>()))};
        },
};
const Register registered(dropout_op);

}  // namespace

Tensor dropout(const Tensor& x, double probability) {
  if (!(probability >= 0 && probability < 1))
    throw ValueError("dropout", fmt::format("probability {}", probability), "0 <= probability < 1");
  if (!thread_state().training || probability == 0) return x;
  return apply(dropout_op, {x}, probability);
}

}  // namespace halftone
