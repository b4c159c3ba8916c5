// SPDX-License-Identifier: Apache-2.0
//
// Rates of the cpu backend on the shapes of the MLP, of a 384-wide transformer at 2048 tokens and of the CNN:
// contractions in GFLOP/s, memory-bound kernels and ops in GB/s beside a copy of as many bytes. JSON on
// stdout; `bench_kernels ops` has the ops alone.
#include <fmt/format.h>

#include <algorithm>
#include <any>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "backend/kernel_options.h"
#include "halftone/autograd.h"
#include "halftone/backend.h"
#include "halftone/ops.h"
#include "halftone/parallel.h"
#include "halftone/random.h"

namespace halftone {
namespace {

using Json = nlohmann::ordered_json;

const Backend& cpu() { return find_backend("cpu"); }

// Median seconds of one call, over repetitions that take about 0.15 s together.
double median_seconds(const std::function<void()>& call) {
  using Clock = std::chrono::steady_clock;
  std::vector<double> seconds;
  call();
  double total = 0;
  while (seconds.size() < 5 || (total < 0.15 && seconds.size() < 1000)) {
    const auto begin = Clock::now();
    call();
    seconds.push_back(std::chrono::duration<double>(Clock::now() - begin).count());
    total += seconds.back();
  }
  std::nth_element(seconds.begin(), seconds.begin() + static_cast<std::ptrdiff_t>(seconds.size() / 2),
                   seconds.end());
  return seconds[seconds.size() / 2];
}

Tensor random(const Shape& shape, DType dtype) {
  return random_uniform(shape, -1, 1, 1, streams::example, dtype);
}

Tensor transposed(const Tensor& x) {
  return x.view({x.size(1), x.size(0)}, {x.strides()[1], x.strides()[0]}, 0);
}

double gflops(double operations, const std::function<void()>& call) {
  return operations / median_seconds(call) * 1e-9;
}

// The three products of a linear layer: y = x W^T, dx = dy W, dW += dy^T x.
void linear(Json& out, const char* model, std::int64_t rows, std::int64_t in, std::int64_t width,
            DType dtype) {
  const Tensor x = random({rows, in}, dtype), weight = random({width, in}, dtype),
               dy = random({rows, width}, dtype);
  const Tensor y({rows, width}, dtype), dx({rows, in}, dtype), dw = zeros({width, in});
  const double operations = 2.0 * static_cast<double>(rows * in * width);
  out.push_back(
      {{"model", model},
       {"rows", rows},
       {"in", in},
       {"out", width},
       {"format", dtype.name()},
       {"forward_gflops",
        gflops(operations, [&] { cpu().matmul({.a = x, .b = transposed(weight), .c = y, .bias = {}}); })},
       {"input_gradient_gflops",
        gflops(operations, [&] { cpu().matmul({.a = dy, .b = weight, .c = dx, .bias = {}}); })},
       {"weight_gradient_gflops", gflops(operations, [&] {
          cpu().matmul({.a = transposed(dy), .b = x, .c = dw, .bias = {}, .accumulate = true});
        })}});
}

void convolution(Json& out, std::int64_t side, std::int64_t in, std::int64_t width, DType dtype) {
  const Tensor image = random({128, side, side, in}, dtype), filter = random({width, 3, 3, in}, dtype);
  const Tensor y = random({128, side, side, width}, dtype), dx(image.shape(), dtype),
               df({width, 3, 3, in}, float32);
  auto call = [&](const Tensor& x, const Tensor& f) {
    return Convolution{.image = x, .filter = f, .bias = {}, .result = y, .stride = 1, .padding = 1};
  };
  const double operations = 2.0 * 128 * 9 * static_cast<double>(side * side * in * width);
  Json row{{"batch", 128},
           {"side", side},
           {"in", in},
           {"out", width},
           {"kernel", 3},
           {"format", dtype.name()},
           {"forward_gflops", gflops(operations, [&] { cpu().convolution(call(image, filter)); })},
           {"filter_gradient_gflops",
            gflops(operations, [&] { cpu().convolution_filter_gradient(call(image, df)); })}};
  if (in > 1)
    row["image_gradient_gflops"] =
        gflops(operations, [&] { cpu().convolution_image_gradient(call(dx, filter)); });
  out.push_back(row);
}

// GB/s, reads and writes, of copying half as many bytes.
double copy_rate(std::int64_t bytes) {
  const std::int64_t half = bytes / 2;
  Tensor from = zeros({half}, uint8), to = zeros({half}, uint8);
  const auto* source = from.data<std::uint8_t>();
  auto* target = to.mutable_data<std::uint8_t>();
  return static_cast<double>(bytes) * 1e-9 / median_seconds([&] {
           parallel_for(half, 1 << 17, [&](std::int64_t begin, std::int64_t end) {
             std::memcpy(target + begin, source + begin, static_cast<std::size_t>(end - begin));
           });
         });
}

// `traffic`: bytes read and written, each pass over a tensor counted.
void kernel(Json& out, const char* name, const std::any& options, const std::vector<Tensor>& in,
            const std::vector<Tensor>& results, std::int64_t traffic) {
  const Kernel run = cpu().find(name);
  const double rate = static_cast<double>(traffic) * 1e-9 / median_seconds([&] {
                        run({in, results, options});
                      });
  const double copy = copy_rate(traffic);
  out.push_back({{"kernel", name},
                 {"shape", to_string(in[0].shape())},
                 {"format", in[0].dtype().name()},
                 {"bytes", traffic},
                 {"gigabytes_per_second", rate},
                 {"copy_gigabytes_per_second", copy},
                 {"of_copy", rate / copy}});
}

void memory_bound(Json& out, std::int64_t side, std::int64_t channels, DType dtype) {
  const Shape image{128, side, side, channels}, pooled{128, side / 2, side / 2, channels};
  const Tensor x = random(image, dtype), dy = random(image, dtype), y(image, dtype),
               weight = ones({channels});
  const Tensor mean = zeros({channels}), inverse = ones({channels}), variance({channels}, float32);
  const Tensor small = random(pooled, dtype), argmax = zeros(pooled, uint8), result(pooled, dtype);
  const std::any norm = BatchNormOptions{1e-5}, pool = PoolOptions{2};
  const std::int64_t big = x.bytes(), quarter = small.bytes(), places = argmax.bytes();
  kernel(out, "batch_norm.forward", norm, {x, weight, mean},
         {y, Tensor({channels}, float32), Tensor({channels}, float32), variance}, 3 * big);
  kernel(out, "batch_norm.backward", norm, {x, weight, mean, inverse, dy},
         {y, Tensor({channels}, float32), Tensor({channels}, float32)}, 5 * big);
  kernel(out, "max_pool2d.forward", pool, {x}, {result, argmax}, big + quarter + places);
  kernel(out, "max_pool2d.backward", pool, {small, argmax}, {y}, big + quarter + places);
  kernel(out, "avg_pool2d.forward", pool, {x}, {result}, big + quarter);
  kernel(out, "avg_pool2d.backward", pool, {small}, {y}, big + quarter);
}

// Bytes of an op: operands and result once forward, operands, gradient and gradients once backward.
void op(Json& out, const char* name, const std::vector<Tensor>& in,
        const std::function<Tensor(const std::vector<Tensor>&)>& call) {
  const Tensor y = no_grad([&] { return call(in); });
  std::int64_t operands = 0, gradients = 0;
  for (const Tensor& x : in) {
    operands += x.bytes();
    gradients += x.requires_grad() ? 4 * x.count() : 0;  // of leaves, float32
  }
  const Tensor dy = random(y.shape(), y.dtype());
  std::vector<double> forward, backward;
  using Clock = std::chrono::steady_clock;
  for (int i = 0; i < 21; ++i) {
    const auto begin = Clock::now();
    const Tensor z = call(in);
    const auto middle = Clock::now();
    halftone::backward(z, dy);
    const auto end = Clock::now();
    for (Tensor x : in) x.zero_grad();
    if (i == 0) continue;
    forward.push_back(std::chrono::duration<double>(middle - begin).count());
    backward.push_back(std::chrono::duration<double>(end - middle).count());
  }
  auto rate = [](const char* key, std::vector<double> seconds, std::int64_t bytes, Json& row) {
    std::nth_element(seconds.begin(), seconds.begin() + 10, seconds.end());
    const double gigabytes = static_cast<double>(bytes) * 1e-9 / seconds[10];
    row[key] = {{"milliseconds", seconds[10] * 1e3},
                {"gigabytes_per_second", gigabytes},
                {"of_copy", gigabytes / copy_rate(bytes)}};
  };
  Json row{{"op", name},
           {"threads", thread_count()},
           {"shape", to_string(in[0].shape())},
           {"format", in[0].dtype().name()}};
  rate("forward", forward, operands + y.bytes(), row);
  rate("backward", backward, operands + dy.bytes() + gradients, row);
  out.push_back(row);
}

void ops(Json& out, DType dtype) {
  const auto leaf = [](Tensor x) {
    x.set_requires_grad();
    return x;
  };
  const Shape wide{2048, 1536}, narrow{2048, 384};
  const Tensor x = leaf(random(wide, dtype)), stream = leaf(random(narrow, float32)),
               branch = leaf(random(narrow, dtype)), weight = leaf(ones({384})), bias = leaf(zeros({384}));
  using In = const std::vector<Tensor>&;
  op(out, "gelu", {x}, [](In in) { return gelu(in[0]); });
  op(out, "gelu_tanh", {x}, [](In in) { return gelu_tanh(in[0]); });
  op(out, "silu", {x}, [](In in) { return silu(in[0]); });
  op(out, "sigmoid", {x}, [](In in) { return sigmoid(in[0]); });
  op(out, "tanh", {x}, [](In in) { return tanh(in[0]); });
  op(out, "relu", {x}, [](In in) { return relu(in[0]); });
  op(out, "mul", {x, x}, [](In in) { return in[0] * in[1]; });
  op(out, "dropout", {x}, [](In in) { return dropout(in[0], 0.1); });
  op(out, "softmax", {x}, [](In in) { return softmax(in[0]); });
  op(out, "residual", {stream, branch}, [](In in) { return in[0] + in[1]; });
  const auto autocast = [dtype](const auto& call) {
    return [dtype, call](In in) {
      ThreadStateScope scope;
      if (dtype != float32) thread_state().autocast = dtype;
      return call(in);
    };
  };
  op(out, "layer_norm", {stream, weight, bias},
     autocast([](In in) { return layer_norm(in[0], in[1], in[2]); }));
  op(out, "rms_norm", {stream, weight}, autocast([](In in) { return rms_norm(in[0], in[1]); }));

  const Tensor targets = from_values(std::vector<double>(2048, 3), {2048}, int32);
  const Tensor logits = leaf(random({512, 16384}, dtype)),
               few = from_values(std::vector<double>(512, 3), {512}, int32);
  op(out, "cross_entropy", {logits, few}, [](In in) { return cross_entropy(in[0], in[1]); });
  const Tensor table = leaf(random({4096, 384}, float32));
  op(out, "embedding", {table, targets}, [](In in) { return embedding(in[0], in[1]); });
}

}  // namespace
}  // namespace halftone

int main(int count, char** arguments) {
  using namespace halftone;
  const char* policy = std::getenv("OMP_WAIT_POLICY");
  Json report{{"threads", thread_count()},     {"omp_wait_policy", policy ? policy : "unset"},
              {"matmul", Json::array()},       {"convolution", Json::array()},
              {"memory_bound", Json::array()}, {"ops", Json::array()}};
  const bool only_ops = count > 1 && std::string_view(arguments[1]) == "ops";
  const int threads = thread_count();
  for (const DType dtype : {float32, bfloat16, float16})
    for (const int used : {1, threads}) {
      set_thread_count(used);
      ops(report["ops"], dtype);
    }
  set_thread_count(threads);
  if (only_ops) {
    fmt::print("{}\n", report.dump(2));
    return 0;
  }
  for (const DType dtype : {float32, bfloat16, float16}) {
    for (const auto& [in, out] : {std::pair{784, 512}, {512, 512}, {512, 10}, {6272, 256}})
      linear(report["matmul"], "mlp", 128, in, out, dtype);
    for (const auto& [in, out] : {std::pair{384, 1152}, {384, 384}, {384, 1536}, {1536, 384}})
      linear(report["matmul"], "transformer", 2048, in, out, dtype);
    convolution(report["convolution"], 28, 1, 32, dtype);
    convolution(report["convolution"], 28, 32, 64, dtype);
    convolution(report["convolution"], 14, 64, 128, dtype);
    memory_bound(report["memory_bound"], 28, 32, dtype);
    memory_bound(report["memory_bound"], 28, 64, dtype);
    memory_bound(report["memory_bound"], 14, 128, dtype);
  }
  fmt::print("{}\n", report.dump(2));
}
