// SPDX-License-Identifier: Apache-2.0
//
// Matmuls and convolutions, straight from the backend, and attention.
#include <fmt/format.h>

#include "cli/bench_kernel_list.h"
#include "cli/bench_rates.h"
#include "halftone/backend.h"
#include "halftone/ops.h"

namespace halftone::cli {
namespace {

const Backend& cpu() { return find_backend("cpu"); }

Tensor transposed(const Tensor& x) {
  return x.view({x.size(1), x.size(0)}, {x.strides()[1], x.strides()[0]}, 0);
}

// The three products of a linear layer: y = x W^T, dx = dy W, dW += dy^T x.
void linear(std::vector<KernelCase>& out, std::int64_t rows, std::int64_t in, std::int64_t width,
            DType dtype) {
  const std::string shape = fmt::format("{} x {} x {}", rows, in, width);
  const double flops = 2.0 * static_cast<double>(rows * in * width);
  const auto add = [&](const char* name, auto make) {
    out.push_back({name, shape, dtype, true, flops, [=](double budget) {
                     const Matmul call = make();
                     return seconds_per_call([&] { cpu().matmul(call); }, budget);
                   }});
  };
  add("linear", [=]() -> Matmul {
    return {.a = random({rows, in}, dtype),
            .b = transposed(random({width, in}, dtype)),
            .c = empty({rows, width}, dtype),
            .bias = {}};
  });
  add("linear input gradient", [=]() -> Matmul {
    return {.a = random({rows, width}, dtype),
            .b = random({width, in}, dtype),
            .c = empty({rows, in}, dtype),
            .bias = {}};
  });
  add("linear weight gradient", [=]() -> Matmul {
    return {.a = transposed(random({rows, width}, dtype)),
            .b = random({rows, in}, dtype),
            .c = zeros({width, in}),
            .bias = {},
            .accumulate = true};
  });
}

void convolution(std::vector<KernelCase>& out, std::int64_t side, std::int64_t in, std::int64_t width,
                 DType dtype) {
  constexpr std::int64_t kBatch = 128, kKernel = 3;
  const std::string shape = fmt::format("{} x {} x {}, {} to {}", kBatch, side, side, in, width);
  const double flops = 2.0 * static_cast<double>(kBatch * kKernel * kKernel * side * side * in * width);
  const auto add = [&](const char* name, bool random_image, DType filter_dtype, auto run) {
    out.push_back({name, shape, dtype, true, flops, [=](double budget) {
                     const Shape images{kBatch, side, side, in}, filters{width, kKernel, kKernel, in};
                     const Convolution call{
                         .image = random_image ? random(images, dtype) : empty(images, dtype),
                         .filter = random(filters, filter_dtype),
                         .bias = {},
                         .result = random({kBatch, side, side, width}, dtype),
                         .stride = 1,
                         .padding = 1};
                     return seconds_per_call([&] { run(call); }, budget);
                   }});
  };
  add("conv2d", true, dtype, [](const Convolution& call) { cpu().convolution(call); });
  if (in > 1)
    add("conv2d image gradient", false, dtype,
        [](const Convolution& call) { cpu().convolution_image_gradient(call); });
  add("conv2d filter gradient", true, float32,
      [](const Convolution& call) { cpu().convolution_filter_gradient(call); });
}

// Two products of (context x head width) forward and five backward (the scores are computed again), of which
// a causal mask leaves half.
void attention_of(std::vector<KernelCase>& out, std::int64_t batch, std::int64_t context, std::int64_t heads,
                  std::int64_t width, DType dtype) {
  const double product = static_cast<double>(batch * heads * context * (context + 1) * width);
  const auto time = [=](bool backward, double budget) {
    const Shape shape{batch, heads, context, width};
    return op_seconds(
        profile::Class::attention, {random(shape, dtype), random(shape, dtype), random(shape, dtype)},
        [](const std::vector<Tensor>& x) { return attention(x[0], x[1], x[2], {.causal = true}); }, backward,
        budget);
  };
  const std::string shape = fmt::format("{} x {} x {} x {}, causal", batch, heads, context, width);
  out.push_back(
      {"attention", shape, dtype, true, 2 * product, [=](double budget) { return time(false, budget); }});
  out.push_back({"attention backward", shape, dtype, true, 5 * product,
                 [=](double budget) { return time(true, budget); }});
}

}  // namespace

std::vector<KernelCase> product_kernels(DType dtype) {
  std::vector<KernelCase> out;
  linear(out, 2048, 384, 1152, dtype);  // gpt2
  linear(out, 2048, 384, 384, dtype);
  linear(out, 2048, 384, 1536, dtype);
  linear(out, 2048, 1536, 384, dtype);
  linear(out, 2048, 384, 256, dtype);
  linear(out, 128, 784, 512, dtype);  // mlp
  linear(out, 128, 512, 512, dtype);
  linear(out, 128, 512, 10, dtype);
  linear(out, 128, 6272, 256, dtype);  // cnn
  convolution(out, 28, 1, 32, dtype);
  convolution(out, 28, 32, 64, dtype);
  convolution(out, 14, 64, 128, dtype);
  attention_of(out, 8, 256, 6, 64, dtype);
  attention_of(out, 1, 2048, 6, 64, dtype);
  return out;
}

}  // namespace halftone::cli
