// SPDX-License-Identifier: Apache-2.0
//
// where: y = a where the condition is not 0, else b; da = dy there and 0 elsewhere, db the reverse. The side
// that is not taken has no part in value or gradient, be it NaN or infinite: a mask by multiplication has.
#include "halftone/op.h"
#include "halftone/ops.h"

namespace halftone {
namespace {

const Op where_op = elementwise_op({
    .name = "where",
    .cast = CastPolicy::widest,
    .forward = formula<3>([](auto a, auto b, auto condition) { return condition != 0 ? a : b; }),
    .gradients = {{formula<2>([](auto dy, auto condition) { return condition != 0 ? dy : decltype(dy)(0); }),
                   {Operand::dy, Operand::x2}},
                  {formula<2>([](auto dy, auto condition) { return condition != 0 ? decltype(dy)(0) : dy; }),
                   {Operand::dy, Operand::x2}}},
    .examples =
        [] {
          return std::vector<Example>{{{{{3, 5}}, {{3, 5}}, {{3, 5}, 0, 2, uint8, false}}},
                                      {{{{4, 1}}, {{}}, {{4, 3}, 0, 2, uint8, false}}}};
        },
    .differentiate =
        [](const DifferentiateCall& call) {
          const Tensor none = zeros({}, call.gradient.dtype());
          return std::vector<Tensor>{where(call.inputs[2], call.gradient, none),
                                     where(call.inputs[2], none, call.gradient)};
        },
    .operands = 2,
});
const Register registered(where_op);

}  // namespace

Tensor where(const Tensor& condition, const Tensor& a, const Tensor& b) {
  if (condition.dtype().is_floating())
    throw DTypeError("where", "a condition in " + std::string(condition.dtype().name()), "an integer format",
                     "uint8: 0 takes the second, anything else the first");
  return apply(where_op, {a, b, condition});
}

}  // namespace halftone
