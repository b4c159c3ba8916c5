// SPDX-License-Identifier: Apache-2.0
#include "op/op_class.h"

namespace halftone {
namespace {

using profile::Class;

struct Row {
  std::string_view op;
  Class kind;
};

constexpr Row kRows[] = {
    {"linear", Class::matmul},
    {"matmul", Class::matmul},
    {"linear_cross_entropy", Class::matmul},  // its softmax has a scope of its own
    {"conv2d", Class::matmul},
    {"conv2d_gradient", Class::matmul},
    {"attention", Class::attention},
    {"self_attention", Class::attention},
    {"rotary", Class::attention},
    {"layer_norm", Class::norm},
    {"rms_norm", Class::norm},
    {"batch_norm", Class::norm},
    {"inverse_root", Class::norm},
    {"relu", Class::activation},
    {"gelu", Class::activation},
    {"gelu_tanh", Class::activation},
    {"silu", Class::activation},
    {"sigmoid", Class::activation},
    {"tanh", Class::activation},
    {"softmax", Class::activation},
    {"normal_distribution", Class::activation},
    {"cross_entropy", Class::loss},
    {"log_softmax", Class::loss},
    {"mse_loss", Class::loss},
    {"binary_cross_entropy", Class::loss},
    {"binary_cross_entropy_with_logits", Class::loss},
    {"add", Class::elementwise},
    {"sub", Class::elementwise},
    {"mul", Class::elementwise},
    {"div", Class::elementwise},
    {"scale", Class::elementwise},
    {"exp", Class::elementwise},
    {"log", Class::elementwise},
    {"sum", Class::elementwise},
    {"mean", Class::elementwise},
    {"where", Class::elementwise},
    {"dropout", Class::elementwise},
    {"embedding", Class::embedding},
    {"scatter_rows", Class::embedding},
    {"max_pool2d", Class::pooling},
    {"avg_pool2d", Class::pooling},
    {"reshape", Class::layout},
    {"transpose", Class::layout},
    {"slice", Class::layout},
    {"place", Class::layout},
    {"concat", Class::layout},
    {"cast", Class::cast},
};

}  // namespace

Class class_of_op(std::string_view name) {
  for (const Row& row : kRows)
    if (row.op == name) return row.kind;
  return Class::other;
}

}  // namespace halftone
