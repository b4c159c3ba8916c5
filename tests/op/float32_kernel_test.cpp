// SPDX-License-Identifier: Apache-2.0
//
// The ops that have kernels in float32, on formats with more range or precision. Operands are exact in both,
// so that the arithmetic is that of float64, and the format rounds its result once.
#include "op/float32_kernel.h"

#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include "halftone/autograd.h"
#include "halftone/ops.h"
#include "halftone/random.h"

namespace halftone {
namespace {

using Function = std::function<Tensor(const Tensor&)>;

struct Case {
  const char* name;
  Shape shape;
  Function function;
};

std::vector<Case> cases() {
  const auto parameter = [](double low, double high, std::uint64_t seed) {
    return random_uniform({6}, low, high, seed, streams::example, float32);
  };
  const Tensor weight = parameter(0.5, 1.5, 1), bias = parameter(-1, 1, 2);
  const auto batch = [=](bool training) {
    return [=](const Tensor& x) {
      const ThreadStateScope scope;
      thread_state().training = training;
      return batch_norm(x, weight, bias, zeros({6}), ones({6}), 0.1, 1e-5);
    };
  };
  return {{"layer_norm", {3, 4, 6}, [=](const Tensor& x) { return layer_norm(x, weight, bias, 1e-5); }},
          {"rms_norm", {3, 4, 6}, [=](const Tensor& x) { return rms_norm(x, weight, 1e-5); }},
          {"batch_norm", {3, 4, 6}, batch(true)},
          {"batch_norm as it was trained", {3, 4, 6}, batch(false)},
          {"max_pool2d", {2, 4, 6, 3}, [](const Tensor& x) { return max_pool2d(x, 2); }},
          {"avg_pool2d", {2, 4, 6, 3}, [](const Tensor& x) { return avg_pool2d(x, 2); }},
          {"rotary", {2, 5, 6}, [](const Tensor& x) { return rotary(x, 100, 3); }}};
}

// Values of the format and as large as asked for, in float64.
Tensor values(const Shape& shape, double size, std::uint64_t seed, DType format) {
  const Tensor exact = random_uniform(shape, -size, size, seed, streams::example, float64);
  return cast(cast(exact, format), float64);
}

struct Outcome {
  Tensor y, dx;
};

// The function computed in `format`, and the gradient of <y, weights>; both given back in float64. Operands
// and weights are values of `exact_in`.
Outcome run(const Function& function, const Shape& shape, double size, DType exact_in, DType format) {
  Tensor x = values(shape, size, 3, exact_in);
  x.set_requires_grad();
  const Tensor y = function(cast(x, format)), found = cast(y, float64);
  EXPECT_EQ(y.dtype(), format);
  backward(sum(mul(found, values(y.shape(), size, 4, exact_in))));
  return {found.detach(), x.grad()};
}

void expect_rounded_once(const char* format_name, double size) {
  const DType format = find_dtype(format_name);
  for (const Case& c : cases()) {
    SCOPED_TRACE(std::string(c.name) + " in " + format_name);
    const Outcome exact = run(c.function, c.shape, size, format, float64),
                  rounded = run(c.function, c.shape, size, format, format);
    EXPECT_EQ(rounded.y.to_vector(), cast(exact.y, format).to_vector());
    EXPECT_EQ(rounded.dx.to_vector(), cast(exact.dx, format).to_vector());
  }
}

TEST(Float32Kernel, LeavesWhatIsBeyondTheRangeOfFloat32ToTheLoops) {
  expect_rounded_once("e9m6", 0x1p140);
  expect_rounded_once("e11m20", 0x1p200);
}

TEST(Float32Kernel, LeavesWhatIsMorePreciseThanFloat32ToTheLoops) { expect_rounded_once("e8m40", 1.0 / 3); }

TEST(Float32Kernel, ServesWhatFloat32Holds) {
  const Backend& cpu = find_backend("cpu");
  const Tensor narrow({2}, bfloat16), wide({2}, find_dtype("e9m6"));
  const auto served = [&](std::initializer_list<Tensor> in, const Tensor& out) {
    return float32_kernel(cpu, std::span(in.begin(), in.size()), out, "rotary") != nullptr;
  };
  EXPECT_TRUE(served({narrow, {}}, {}));
  EXPECT_TRUE(served({narrow}, Tensor({2}, float32)));
  EXPECT_FALSE(served({narrow, wide}, {}));
  EXPECT_FALSE(served({narrow}, wide));
  EXPECT_FALSE(served({narrow}, Tensor({2}, float64)));
}

}  // namespace
}  // namespace halftone
