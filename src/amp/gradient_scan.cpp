// SPDX-License-Identifier: Apache-2.0
//
// One pass over all gradients. The sum of squares is kept in double, where no sum of squares of finite
// float32 overflows: it is finite exactly if every value is, and needs no test of its own per element.
#include <fmt/format.h>

#include <cmath>
#include <vector>

#include "amp/gradients.h"
#include "halftone/amp.h"
#include "halftone/parallel.h"
#include "halftone/simd.h"

namespace halftone::amp {
namespace {

constexpr std::int64_t kChunk = 16384;
constexpr int kLanes = 16;  // partial sums per chunk: fixed, so that every SIMD level adds in the same order

struct ScaleAndSquare {
  static void run(float* __restrict values, std::int64_t count, float factor, double* __restrict result) {
    double lanes[kLanes] = {};
    std::int64_t i = 0;
    for (; i + kLanes <= count; i += kLanes)
      for (int lane = 0; lane < kLanes; ++lane) {
        const float value = values[i + lane] * factor;
        values[i + lane] = value;
        lanes[lane] += static_cast<double>(value) * static_cast<double>(value);
      }
    for (; i < count; ++i) {
      values[i] *= factor;
      lanes[i % kLanes] += static_cast<double>(values[i]) * static_cast<double>(values[i]);
    }
    for (int width = kLanes / 2; width > 0; width /= 2)
      for (int lane = 0; lane < width; ++lane) lanes[lane] += lanes[lane + width];
    *result = lanes[0];
  }
};

std::string describe(const Parameter& parameter, const Tensor& gradient) {
  std::int64_t infinities = 0, nans = 0;
  const float* values = gradient.data<float>();
  for (std::int64_t i = 0; i < gradient.count(); ++i) {
    infinities += std::isinf(values[i]);
    nans += std::isnan(values[i]);
  }
  return fmt::format("{}: {} inf, {} NaN of {}", parameter.name, infinities, nans, gradient.count());
}

}  // namespace

Tensor gradient_of(const Parameter& parameter) {
  Tensor gradient = parameter.value.grad();
  if (gradient.defined() && gradient.dtype() != float32)
    throw DTypeError(parameter.name, fmt::format("a gradient in {}", gradient.dtype().name()), "float32",
                     "parameters of float32 or narrower have float32 gradients");
  if (gradient.defined() && !gradient.is_contiguous())
    throw ShapeError(parameter.name, "a gradient with strides", "a contiguous one");
  return gradient;
}

GradientScan scan_gradients(std::span<const Parameter> parameters, float factor) {
  std::vector<Tensor> gradients;  // all of them before the first is touched: an error changes nothing
  for (const Parameter& parameter : parameters) gradients.push_back(gradient_of(parameter));

  GradientScan scan;
  std::vector<double> partial;
  for (std::size_t p = 0; p < gradients.size(); ++p) {
    if (!gradients[p].defined()) continue;
    ++scan.gradients;
    const std::int64_t count = gradients[p].count();
    float* values = gradients[p].mutable_data<float>();
    partial.assign(static_cast<std::size_t>(chunk_count(count, kChunk)), 0);
    parallel_for(count, kChunk, [&](std::int64_t begin, std::int64_t end) {
      at_simd_level<ScaleAndSquare>(values + begin, end - begin, factor,
                                    &partial[static_cast<std::size_t>(begin / kChunk)]);
    });
    double sum = 0;
    for (const double part : partial) sum += part;
    if (!std::isfinite(sum) && scan.finite) {
      scan.finite = false;
      scan.culprit = describe(parameters[p], gradients[p]);
    }
    scan.squared_norm += sum;
  }
  return scan;
}

}  // namespace halftone::amp
