// SPDX-License-Identifier: Apache-2.0
//
// causal_attention (Vaswani et al. 2017): y = P v, P = softmax(q k^T / sqrt(head width)), key j visible to
// query i only if j <= i. Scores and their softmax stay in float32; P is rounded once for the second product.
//   dv = P^T dy,  dP = dy v^T,  dS = P (dP - <P, dP>) / sqrt(head width),  dq = dS k,  dk = dS^T q.
#include <cmath>
#include <utility>

#include "halftone/op.h"
#include "halftone/ops.h"
#include "op/contraction.h"
#include "op/differentiate.h"
#include "op/softmax_rows.h"

namespace halftone {
namespace {

double factor(const Tensor& q) { return 1 / std::sqrt(static_cast<double>(q.size(-1))); }
DType wide(const Tensor& q) { return q.dtype() == float64 ? float64 : float32; }

Shape score_shape(const Tensor& q, const Tensor& k) {
  Shape shape = q.shape();
  shape[-1] = k.size(-2);
  return shape;
}

const Op causal_attention_op{
    .name = "causal_attention",
    .cast = CastPolicy::compute,
    .keeps = {Operand::x0, Operand::x1, Operand::x2},
    .forward =
        [](Call& call) {
          const Tensor &q = call.inputs[0], &k = call.inputs[1], &v = call.inputs[2];
          const Tensor scores(score_shape(q, k), wide(q)), p(scores.shape(), call.result);
          call.backend.matmul({.a = q, .b = transposed(k), .c = scores, .bias = {}});
          const double parameters[] = {factor(q), 1, static_cast<double>(q.size(-2))};
          call.backend.rowwise(kSoftmax, std::span(&scores, 1), std::span(&p, 1), parameters);
          Tensor y(q.shape(), call.result);
          call.backend.matmul({.a = p, .b = v, .c = y, .bias = {}});
          call.saved = {p};
          return y;
        },
    .backward =
        [](BackwardCall& call) {
          const Tensor &q = call.inputs[0], &k = call.inputs[1], &v = call.inputs[2], &p = call.saved[0],
                       &dy = call.gradient;
          if (call.gradients.wanted(2)) deliver_product(call, 2, transposed(p), dy);
          const Tensor dp(p.shape(), wide(q)), ds(p.shape(), p.dtype());
          call.backend.matmul({.a = dy, .b = transposed(v), .c = dp, .bias = {}});
          const Tensor in[] = {p, dp};
          const double parameters[] = {factor(q)};
          call.backend.rowwise(kSoftmaxGradient, in, std::span(&ds, 1), parameters);
          if (call.gradients.wanted(0)) deliver_product(call, 0, ds, k);
          if (call.gradients.wanted(1)) deliver_product(call, 1, transposed(ds), q);
        },
    .examples =
        [] {
          return std::vector<Example>{{{{{2, 2, 5, 4}}, {{2, 2, 5, 4}}, {{2, 2, 5, 4}}}}};
        },
    .differentiate =
        [](const DifferentiateCall& call) {
          const Tensor &q = call.inputs[0], &k = call.inputs[1], &v = call.inputs[2], &dy = call.gradient;
          auto wanted = [&](int input, auto&& gradient) {
            return call.wanted(input) ? gradient() : Tensor();
          };
          const DType narrow = dy.dtype();
          const Tensor scores = scale(product(q, exchanged(k), wide(q)), factor(q));
          const Tensor p = cast(softmax(scores, true), narrow), dp = product(dy, exchanged(v), wide(q));
          const Tensor ds = cast(scale(p * (dp - sum(p * dp, {-1}, true)), factor(q)), narrow);
          return std::vector{
              wanted(0, [&] { return product(ds, k, call.gradients.dtype(0)); }),
              wanted(1, [&] { return product(exchanged(ds), q, call.gradients.dtype(1)); }),
              wanted(2, [&] { return product(exchanged(cast(p, narrow)), dy, call.gradients.dtype(2)); })};
        },
};
const Register registered(causal_attention_op);

}  // namespace

Tensor causal_attention(const Tensor& q, const Tensor& k, const Tensor& v) {
  if (q.rank() != 4 || k.shape() != q.shape() || v.shape() != q.shape())
    throw ShapeError("causal_attention",
                     to_string(q.shape()) + ", " + to_string(k.shape()) + ", " + to_string(v.shape()),
                     "q, k, v of one shape (batch, heads, context, head_width)");
  return apply(causal_attention_op, {q, k, v});
}

}  // namespace halftone
