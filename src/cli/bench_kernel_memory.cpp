// SPDX-License-Identifier: Apache-2.0
//
// Kernels that the memory limits. Their work is the bytes that they can not avoid to read or write.
#include <fmt/format.h>

#include "cli/bench_kernel_list.h"
#include "cli/bench_rates.h"
#include "halftone/amp.h"
#include "halftone/ops.h"
#include "halftone/optim.h"
#include "halftone/random.h"

namespace halftone::cli {
namespace {

using profile::Class;
using Inputs = std::vector<Tensor>;

Tensor indices(const Shape& shape, std::int32_t below) {
  Tensor made(shape, int32);
  auto* index = made.mutable_data<std::int32_t>();
  for (std::int64_t i = 0; i < made.count(); ++i) {
    const std::uint32_t bits = random_bits(1, streams::example, static_cast<std::uint64_t>(i));
    index[i] = static_cast<std::int32_t>(bits % static_cast<std::uint32_t>(below));
  }
  return made;
}

// An op and its backward. `passes`: over a tensor of the shape, in the format, forward and backward; 0: not
// measured.
struct OpRow {
  const char* name;
  Class kind;
  Shape shape;
  double forward, backward;
  Inputs (*inputs)(const Shape&, DType);
  Tensor (*run)(const Inputs&);
};

Inputs one(const Shape& shape, DType dtype) { return {random(shape, dtype)}; }
Inputs two(const Shape& shape, DType dtype) { return {random(shape, dtype), random(shape, dtype)}; }
Inputs with_affine(const Shape& shape, DType dtype) {
  return {random(shape, dtype), ones({shape[-1]}), zeros({shape[-1]})};
}
Inputs with_classes(const Shape& shape, DType dtype) {
  return {random(shape, dtype), indices({shape[0]}, static_cast<std::int32_t>(shape[1]))};
}
Inputs looked_up(const Shape& shape, DType dtype) {
  return {random({256, shape[1]}, dtype), indices({shape[0]}, 256)};
}

const std::vector<OpRow>& rows() {
  static const Shape stream{2048, 384}, hidden{2048, 1536}, image{128, 28, 28, 64};
  static const std::vector<OpRow> all = {
      {"layer_norm", Class::norm, stream, 2, 3, with_affine,
       [](const Inputs& x) { return layer_norm(x[0], x[1], x[2]); }},
      {"rms_norm", Class::norm, stream, 2, 3, with_affine,
       [](const Inputs& x) { return rms_norm(x[0], x[1]); }},
      {"add", Class::elementwise, stream, 3, 0, two, [](const Inputs& x) { return x[0] + x[1]; }},
      {"gelu_tanh", Class::activation, hidden, 2, 3, one, [](const Inputs& x) { return gelu_tanh(x[0]); }},
      {"gelu", Class::activation, hidden, 2, 3, one, [](const Inputs& x) { return gelu(x[0]); }},
      {"silu", Class::activation, hidden, 2, 3, one, [](const Inputs& x) { return silu(x[0]); }},
      {"relu", Class::activation, hidden, 2, 3, one, [](const Inputs& x) { return relu(x[0]); }},
      {"dropout", Class::elementwise, stream, 2, 2, one, [](const Inputs& x) { return dropout(x[0], 0.1); }},
      {"softmax", Class::activation, hidden, 2, 3, one, [](const Inputs& x) { return softmax(x[0]); }},
      {"cross_entropy",
       Class::loss,
       {2048, 4096},
       1,
       2,
       with_classes,
       [](const Inputs& x) { return cross_entropy(x[0], x[1]); }},
      {"embedding", Class::embedding, stream, 2, 0, looked_up,
       [](const Inputs& x) { return embedding(x[0], x[1]); }},
      {"batch_norm", Class::norm, image, 3, 5, with_affine,
       [](const Inputs& x) { return batch_norm(x[0], x[1], x[2], zeros({64}), ones({64})); }},
      {"max_pool2d", Class::pooling, image, 1.25, 1.25, one,
       [](const Inputs& x) { return max_pool2d(x[0], 2); }},
  };
  return all;
}

void add_op(std::vector<KernelCase>& out, const OpRow& row, DType dtype) {
  const double bytes = static_cast<double>(row.shape.count()) * dtype.bytes();
  const auto add = [&](const char* part, double passes, bool backward) {
    if (passes == 0) return;
    out.push_back({row.name + std::string(part), to_string(row.shape), dtype, false, passes * bytes,
                   [=, &row](double budget) {
                     return op_seconds(row.kind, row.inputs(row.shape, dtype), row.run, backward, budget);
                   }});
  };
  add("", row.forward, false);
  add(" backward", row.backward, true);
}

constexpr std::int64_t kParameters = 1 << 22;

double scan_seconds(double factor, double budget) {
  Tensor weight = random({kParameters}, float32);
  weight.set_requires_grad();
  backward(weight, random({kParameters}, float32));
  const Parameter parameter{"weight", weight};
  return seconds_per_call([&] { amp::scan_gradients({&parameter, 1}, factor); }, budget);
}

double update_seconds(double budget) {
  Tensor weight = random({kParameters}, float32);
  weight.set_requires_grad();
  backward(weight, random({kParameters}, float32));
  const auto optimizer = optim::make_optimizer("adamw", {{"weight", weight}}, amp::find_recipe("float32"));
  return seconds_per_call([&] { optimizer->step(); }, budget);
}

}  // namespace

std::vector<KernelCase> memory_kernels(DType dtype) {
  std::vector<KernelCase> out;
  for (const OpRow& row : rows()) add_op(out, row, dtype);
  const std::string shape = fmt::format("{}", kParameters);
  const auto elements = static_cast<double>(kParameters);
  if (dtype == float32) {
    // Weight, gradient and two moments read, all but the gradient written.
    out.push_back({"adamw", shape, dtype, false, 28 * elements, update_seconds});
    out.push_back({"finite check and norm", shape, dtype, false, 4 * elements,
                   [](double budget) { return scan_seconds(1, budget); }});
    out.push_back({"unscale, finite check and norm", shape, dtype, false, 8 * elements,
                   [](double budget) { return scan_seconds(1.000000001, budget); }});
    return out;
  }
  const auto cast_seconds = [=](DType from, DType to, double budget) {
    return op_seconds(
        Class::cast, {random({kParameters}, from)}, [to](const Inputs& x) { return cast(x[0], to); }, false,
        budget);
  };
  out.push_back({"cast from float32", shape, dtype, false, (4 + dtype.bytes()) * elements,
                 [=](double budget) { return cast_seconds(float32, dtype, budget); }});
  out.push_back({"cast to float32", shape, dtype, false, (4 + dtype.bytes()) * elements,
                 [=](double budget) { return cast_seconds(dtype, float32, budget); }});
  return out;
}

}  // namespace halftone::cli
