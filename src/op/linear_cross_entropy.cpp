// SPDX-License-Identifier: Apache-2.0
//
// linear_cross_entropy: the cross-entropy (cross_entropy.h) of the logits x W^T, a chunk of rows at a time,
// so that rows x classes logits never exist. A chunk's logits are the float32 sums of the product, not
// rounded; where they lie, their gradient dl takes their place, and goes into dx = dl W and dW += dl^T x at
// once: a graph's gradients are there with the loss, for dy = 1, in float32, and backward multiplies. They
// are computed by backward instead where forward did not (a result that a checkpoint kept), and under a
// recipe with short operands, whose rounding of gradients may draw random numbers: those belong to backward.
// Only the gradient as a graph (Op::differentiate) has all logits.
#include <fmt/format.h>

#include <cmath>
#include <utility>

#include "halftone/op.h"
#include "halftone/parallel.h"
#include "halftone/profile.h"
#include "op/contraction.h"
#include "op/cross_entropy.h"
#include "op/differentiate.h"
#include "op/memory_order.h"

namespace halftone {
namespace {

constexpr std::int64_t kLogits = 1 << 25;  // at a time, at most, unless that is less than kRows rows
constexpr std::int64_t kRows = 64;         // chunks end at multiples: no block along rows is cut

constexpr Formula kScaled = formula<1>([](auto x, const auto* p) { return p[0] * x; });
constexpr Formula kAddScaled = formula<2>([](auto sum, auto x, const auto* p) { return sum + p[0] * x; });

// in: logits, target; out: the row's loss and, if there is room for it, the gradient of the logits.
constexpr RowFormula kRow = row_formula([]<class Real>(const Rows<Real>& r) {
  const CrossEntropyRow<Real> row(r);
  Real* dx = r.out[1].data();
  r.out[0][0] = 0;
  if (!row.counts() || row.masked()) {
    if (row.counts()) r.out[0][0] = std::numeric_limits<Real>::infinity();
    std::fill_n(dx, r.out[1].size(), Real(0));
    return;
  }
  const double total = dx == nullptr ? row.total() : row.total(dx);
  r.out[0][0] = row.loss(total);
  if (dx != nullptr) row.gradient(total, r.parameters[3], dx);
});

std::int64_t rows_of_chunk(std::int64_t rows, std::int64_t classes) {
  const std::int64_t most = std::max(kLogits / std::max<std::int64_t>(classes, 1), kRows),
                     chunks = std::max<std::int64_t>(chunk_count(rows, most), 1);
  return round_up(chunk_count(rows, chunks), kRows);
}

DType wide(const Tensor& x, const Tensor& weight) { return sum_dtype(promote(x.dtype(), weight.dtype())); }

// How the gradient of the logits goes into its products: multiplied by `share` and rounded to `dtype`. What
// comes out is multiplied by `rest`, which makes it the gradient for dy = 1. The share is that of a row, so
// that nothing rests; where that could be lost at the lower end of the format's range, it is the power of two
// that leaves softmax - q as much room above as below.
struct Rounded {
  DType dtype;
  double share, rest;
};

template <class AnyCall>
Rounded rounded(const AnyCall& call) {
  const Tensor &x = call.inputs[0], &weight = call.inputs[1];
  const double share = call.template as<CrossEntropyTerms>().share;
  const DType dtype = call.quantizer != nullptr ? wide(x, weight) : promote(x.dtype(), weight.dtype());
  if (min_normal(dtype.format()) <= 0x1p-126) return {dtype, share, 1};
  const double middle = std::exp2(std::floor(std::log2(max_finite(dtype.format())) / 2));
  return {dtype, middle, share / middle};
}

// One pass over the rows of a Call or BackwardCall.
template <class AnyCall>
class Pass {
 public:
  Tensor losses;       // (rows, 1)
  Tensor dx, dweight;  // where wanted, in float32

  Pass(const AnyCall& call, bool wants_x, bool wants_weight)
      : call_(call),
        terms_(call.template as<CrossEntropyTerms>()),
        wide_(wide(call.inputs[0], call.inputs[1])),
        rounded_(rounded(call)),
        x_(matrix(call.operand(0, Along::last))),
        weight_(call.operand(1, Along::last)) {
    losses = zeros({x_.size(0), 1}, wide_);
    if (wants_x) {
      dx = Tensor(call.inputs[0].shape(), wide_);
      weight_for_x_ = call.operand(1, Along::first);
    }
    if (wants_weight) {
      dweight = Tensor(call.inputs[1].shape(), wide_);
      x_for_weight_ = matrix(call.operand(0, Along::rows));
    }
    run();
  }

 private:
  Tensor matrix(const Tensor& x) const { return as_matrix(call_.backend, x); }

  static Tensor rows(const Tensor& x, std::int64_t begin, std::int64_t count) {
    return x.view({count, x.size(1)}, x.strides(), x.offset() + begin * x.strides()[0]);
  }

  Tensor dx_rows(std::int64_t begin, std::int64_t count) const {
    const std::int64_t width = x_.size(1);
    return dx.view({count, width}, {width, 1}, begin * width);
  }

  void run() {
    const std::int64_t total = x_.size(0), classes = weight_.size(0), chunk = rows_of_chunk(total, classes);
    const auto* target = call_.inputs[2].template data<std::int32_t>();
    const auto ignored = [&](std::int32_t t) { return t == terms_.ignore_index; };
    Tensor room;
    for (std::int64_t begin = 0; begin < total; begin += chunk) {
      const std::int64_t count = std::min(chunk, total - begin);
      if (std::all_of(target + begin, target + begin + count, ignored)) {
        if (dx)
          call_.backend.copy(zeros({}, wide_).view({count, x_.size(1)}, {0, 0}, 0), dx_rows(begin, count));
        continue;
      }
      if (!room) room = Tensor({std::min(chunk, total), classes}, wide_);
      one_chunk(begin, rows(room, 0, count));
    }
    if (dweight && first_) dweight = zeros(dweight.shape(), wide_);  // no row counts
  }

  void one_chunk(std::int64_t begin, const Tensor& logits) {
    const std::int64_t count = logits.size(0);
    call_.backend.matmul({.a = rows(x_, begin, count), .b = transposed(weight_), .c = logits, .bias = {}});
    const Tensor dlogits = loss_of(begin, logits);
    Tensor shared;  // as rounded for dx, where dweight may have the same
    if (dx) {
      const Tensor rounded = operand(dlogits, Along::last);
      if (call_.quantizer == nullptr || call_.quantizer->may_share(OperandRole::gradient)) shared = rounded;
      call_.backend.matmul({.a = rounded, .b = weight_for_x_, .c = dx_rows(begin, count), .bias = {}});
    }
    if (dweight) {
      call_.backend.matmul({.a = transposed(shared ? shared : operand(dlogits, Along::rows)),
                            .b = rows(x_for_weight_, begin, count),
                            .c = dweight,
                            .bias = {},
                            .accumulate = !first_});
      first_ = false;
    }
  }

  // Each row's gradient is rounded into the beginning of the room of its logits.
  Tensor loss_of(std::int64_t begin, const Tensor& logits) const {
    const profile::Scope scope("softmax and loss", profile::Class::loss);
    const std::int64_t count = logits.size(0), classes = logits.size(1);
    const Tensor& targets = call_.inputs[2];
    const Tensor in[] = {logits, targets.view({count, 1}, {1, 1}, targets.offset() + begin)};
    Tensor out[] = {rows(losses, begin, count), Tensor()};
    if (dx || dweight)
      out[1] = logits.with_storage(logits.storage(), rounded_.dtype)
                   .view(logits.shape(), {classes * (wide_.bytes() / rounded_.dtype.bytes()), 1}, 0);
    call_.backend.rowwise(kRow, in, std::span(out, out[1] ? 2 : 1), terms_.parameters(rounded_.share));
    return out[1];
  }

  Tensor operand(const Tensor& dlogits, Along along) const {
    if (call_.quantizer == nullptr) return dlogits;
    return call_.quantizer->quantize(dlogits, OperandRole::gradient, along, call_.layer);
  }

  const AnyCall& call_;
  const CrossEntropyTerms& terms_;
  const DType wide_;
  const Rounded rounded_;
  Tensor x_, weight_, x_for_weight_, weight_for_x_;
  bool first_ = true;
};

// gradient * factor.
void deliver_scaled(BackwardCall& call, int input, Tensor gradient, double factor) {
  if (!gradient || !call.gradients.wanted(input)) return;
  const profile::Scope scope("scale gradient", profile::Class::loss);
  if (const Tensor sum = call.gradients.accumulator(input); sum && sum.is_contiguous()) {
    const Tensor in[] = {sum, gradient};
    call.backend.elementwise(kAddScaled, in, sum, std::span(&factor, 1));
    return;
  }
  const bool in_place = gradient.dtype() == call.gradients.dtype(input) && gradient.is_unique();
  if (!in_place || factor != 1) {
    const Tensor x = gradient;
    if (!in_place) gradient = Tensor(x.shape(), call.gradients.dtype(input));
    call.backend.elementwise(kScaled, std::span(&x, 1), gradient, std::span(&factor, 1));
  }
  call.gradients.deliver(input, std::move(gradient));
}

const Op linear_cross_entropy_op{
    .name = "linear_cross_entropy",
    .cast = CastPolicy::compute,
    .operands = 2,
    .keeps = {Operand::x0, Operand::x1, Operand::x2},
    .forward =
        [](Call& call) {
          const bool now = call.quantizer == nullptr;
          Pass<Call> pass(call, now && call.wanted[0], now && call.wanted[1]);
          Tensor loss({}, call.result);
          call.backend.reduce(Reduction::sum, pass.losses, loss.view({1, 1}, {1, 1}, 0),
                              call.as<CrossEntropyTerms>().share);
          if (pass.dx || pass.dweight) call.saved = {std::move(pass.dx), std::move(pass.dweight)};
          return loss;
        },
    .backward =
        [](BackwardCall& call) {
          Tensor dx, dweight;
          if (call.saved.empty()) {
            Pass<BackwardCall> pass(call, call.gradients.wanted(0), call.gradients.wanted(1));
            dx = std::move(pass.dx), dweight = std::move(pass.dweight);
          } else {
            dx = std::move(call.saved[0]), dweight = std::move(call.saved[1]);
          }
          const double factor = call.gradient.item() * rounded(call).rest;
          deliver_scaled(call, 1, std::move(dweight), factor);
          deliver_scaled(call, 0, std::move(dx), factor);
        },
    .examples =
        [] {
          return std::vector<Example>{
              {{{{6, 3}}, {{5, 3}}, {{6}, 0, 5, int32, false}}, CrossEntropyTerms{-100, 1.0 / 6}},
              {{{{2, 3, 5}}, {{4, 5}}, {{2, 3}, 0, 4, int32, false}}, CrossEntropyTerms{1, 0.25, 0.1}},
              {{{{70, 4}}, {{3, 4}}, {{70}, 0, 3, int32, false}}, CrossEntropyTerms{-100, 1.0 / 70}}};
        },
    .differentiate =
        [](const DifferentiateCall& call) {
          const Tensor x = joined_rows(call.operand(0, Along::last)), weight = call.operand(1, Along::last);
          const Tensor logits = product(x, exchanged(weight), wide(x, weight));
          const Tensor d =
              cross_entropy_gradient(logits, call.inputs[2], call.as<CrossEntropyTerms>(), call.gradient);
          std::vector<Tensor> gradients(3);
          if (call.wanted(1))
            gradients[1] =
                product(exchanged(d), joined_rows(call.operand(0, Along::rows)), call.gradients.dtype(1));
          if (call.wanted(0))
            gradients[0] =
                reshape(product(d, call.operand(1, Along::first), call.gradients.dtype(0)), call.shapes[0]);
          return gradients;
        },
    .quantizes = true,
    .result = float32,
};
const Register registered(linear_cross_entropy_op);

}  // namespace

Tensor linear_cross_entropy(const Tensor& x, const Tensor& weight, const Tensor& targets,
                            CrossEntropyOptions options) {
  constexpr const char* kOp = "linear_cross_entropy";
  const bool fits =
      targets_fit(kOp, x, targets) && x.size(-1) > 0 && weight.rank() == 2 && x.size(-1) == weight.size(1);
  if (!fits)
    throw ShapeError(kOp,
                     fmt::format("x {}, weight {}, targets {}", to_string(x.shape()),
                                 to_string(weight.shape()), to_string(targets.shape())),
                     "x (.., width), weight (classes, width) and targets (..)");
  const Tensor read = contiguous(*thread_state().backend, targets);
  return apply(linear_cross_entropy_op, {x, weight, read},
               cross_entropy_terms(kOp, read, weight.size(0), options));
}

}  // namespace halftone
