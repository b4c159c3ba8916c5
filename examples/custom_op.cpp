// SPDX-License-Identifier: Apache-2.0
//
// An op of your own, in your own program: one formula, its gradient, a cast rule and examples. Autograd,
// autocast, checkpointing and all formats follow. The op here is softplus, y = ln(1 + e^x).
#include <halftone/halftone.h>
#include <halftone/op.h>
#include <cmath>
#include <cstdio>

using namespace halftone;

namespace {

const Op softplus_op = elementwise_op({
    .name = "softplus",
    .cast = CastPolicy::inside_float32,  // read as it is, computed in float32, stored in the compute format
    .forward = formula<1>([](auto x) { return (x > 0 ? x : 0) + std::log1p(std::exp(-std::abs(x))); }),
    .gradients = {{formula<2>([](auto dy, auto x) { return dy / (1 + std::exp(-x)); }),
                   {Operand::dy, Operand::x0}}},
    .examples =
        [] {
          return std::vector<Example>{{{{{3, 5}, -4, 4}}}};
        },
});
const Register registered(softplus_op);

Tensor softplus(const Tensor& x) { return apply(softplus_op, {x}); }

bool check(bool ok, const char* what) {
  std::printf("%s: %s\n", what, ok ? "yes" : "NO");
  return ok;
}

}  // namespace

int main() {
  bool ok = true;

  // The gradient, against finite differences.
  const Tensor x = random_uniform({20}, -5, 5, 1, streams::example, float64).set_requires_grad();
  const auto worst = gradcheck([](const std::vector<Tensor>& in) { return sum(softplus(in[0])); }, {x});
  ok &= check(worst.worst < 1e-6, "the gradient matches finite differences");

  // Autocast stores it in the compute format; a checkpoint recomputes it with the same bits.
  const Tensor w = random_uniform({4, 4}, -1, 1, 2, streams::example).set_requires_grad();
  auto gradient = [&](bool checkpointed) {
    Tensor leaf = w;
    leaf.zero_grad();
    auto block = [&](const std::vector<Tensor>& in) { return softplus(matmul(in[0], w)); };
    const Tensor y =
        amp::autocast(bfloat16, [&] { return checkpointed ? checkpoint(block, {w}) : block({w}); });
    ok &= check(y.dtype() == bfloat16, "the result is bfloat16 under autocast");
    sum(y).backward();
    return w.grad().to_vector();
  };
  ok &= check(gradient(false) == gradient(true), "the checkpointed gradient has the same bits");

  // It is in the catalogue that `halftone ops` and the generic tests walk through.
  bool listed = false;
  for (const Op* op : registered_ops()) listed |= op->name == "softplus";
  ok &= check(listed, "the op is registered");
  return ok ? 0 : 1;
}
