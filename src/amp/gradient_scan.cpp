// SPDX-License-Identifier: Apache-2.0
//
// One pass over all gradients. The sum of squares is kept in double, where no sum of squares of finite
// float32 overflows: it is finite exactly if every value is, and needs no test of its own per element.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "amp/gradients.h"
#include "halftone/amp.h"
#include "halftone/parallel.h"
#include "halftone/profile.h"
#include "halftone/simd.h"

namespace halftone::amp {
namespace {

constexpr std::int64_t kChunk = 16384;
constexpr std::int64_t kTile = 1024;
constexpr int kLanes = 16;  // partial sums per chunk: fixed, so that every SIMD level adds in the same order

// Numbers about a chunk.
struct Part {
  double squares = 0;
  float largest = 0;
};

// Some elements of one gradient.
struct Piece {
  std::size_t parameter;
  float* values;
  std::int64_t count;
  Part part;
};

// One simple loop after another over a tile that stays in the first-level cache: compilers vectorise each of
// them, but not all in one. The product has one rounding whatever the divisor was: a factor that is no
// float32 multiplies in double.
struct Scan {
  static void run(float* __restrict values, std::int64_t count, double factor, bool want_largest,
                  Part* __restrict result) {
    const float narrow = static_cast<float>(factor);
    double lanes[kLanes] = {};
    float largest[kLanes] = {};
    for (std::int64_t begin = 0; begin < count; begin += kTile) {
      float* __restrict tile = values + begin;
      const std::int64_t size = std::min(kTile, count - begin), whole = size - size % kLanes;
      if (static_cast<double>(narrow) != factor)
        for (std::int64_t i = 0; i < size; ++i)
          tile[i] = static_cast<float>(static_cast<double>(tile[i]) * factor);
      else if (narrow != 1)
        for (std::int64_t i = 0; i < size; ++i) tile[i] *= narrow;
      for (std::int64_t i = 0; i < whole; i += kLanes)
        for (int lane = 0; lane < kLanes; ++lane)
          lanes[lane] += static_cast<double>(tile[i + lane]) * static_cast<double>(tile[i + lane]);
      for (std::int64_t i = whole; i < size; ++i)
        lanes[i - whole] += static_cast<double>(tile[i]) * static_cast<double>(tile[i]);
      if (!want_largest) continue;
      for (std::int64_t i = 0; i < whole; i += kLanes)
        for (int lane = 0; lane < kLanes; ++lane)
          largest[lane] = std::max(largest[lane], std::fabs(tile[i + lane]));
      for (std::int64_t i = whole; i < size; ++i) largest[0] = std::max(largest[0], std::fabs(tile[i]));
    }
    for (int width = kLanes / 2; width > 0; width /= 2)
      for (int lane = 0; lane < width; ++lane) {
        lanes[lane] += lanes[lane + width];
        largest[lane] = std::max(largest[lane], largest[lane + width]);
      }
    *result = {lanes[0], largest[0]};
  }
};

struct Clip {
  static void run(float* __restrict values, std::int64_t count, float limit) {
    for (std::int64_t i = 0; i < count; ++i) {
      const float low = values[i] < -limit ? -limit : values[i];  // false for NaN, which stays
      values[i] = low > limit ? limit : low;
    }
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

// All of them before the first is touched: an error changes nothing.
std::vector<Tensor> gradients_of(std::span<const Parameter> parameters) {
  std::vector<Tensor> gradients;
  for (const Parameter& parameter : parameters) gradients.push_back(gradient_of(parameter));
  return gradients;
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

GradientScan scan_gradients(std::span<const Parameter> parameters, double factor, bool want_largest) {
  const profile::Scope scope("scan gradients", profile::Class::scan);
  std::vector<Tensor> gradients = gradients_of(parameters);
  std::vector<Piece>
      pieces;  // of all of them: one parallel loop, whose start costs as much as a small tensor
  for (std::size_t p = 0; p < gradients.size(); ++p) {
    if (!gradients[p].defined()) continue;
    float* values = gradients[p].mutable_data<float>();
    for (std::int64_t begin = 0; begin < gradients[p].count(); begin += kChunk)
      pieces.push_back({p, values + begin, std::min(kChunk, gradients[p].count() - begin), {}});
  }
  parallel_for(static_cast<std::int64_t>(pieces.size()), 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      Piece& piece = pieces[static_cast<std::size_t>(i)];
      at_simd_level<Scan>(piece.values, piece.count, factor, want_largest, &piece.part);
    }
  });

  GradientScan scan;
  for (const Tensor& gradient : gradients) scan.gradients += gradient.defined();
  for (const Piece& piece : pieces) {
    scan.squared_norm += piece.part.squares;
    scan.largest = std::max(scan.largest, piece.part.largest);
    if (std::isfinite(piece.part.squares) || !scan.finite) continue;
    scan.finite = false;
    scan.culprit = describe(parameters[piece.parameter], gradients[piece.parameter]);
  }
  return scan;
}

void clip_values(std::span<const Parameter> parameters, double limit) {
  const auto narrow = static_cast<float>(limit);
  if (!(narrow > 0 && std::isfinite(narrow)))
    throw ValueError("clip_values", fmt::format("limit = {}", limit), "a positive finite float32");
  for (Tensor& gradient : gradients_of(parameters)) {
    if (!gradient.defined()) continue;
    float* values = gradient.mutable_data<float>();
    parallel_for(gradient.count(), kChunk, [&](std::int64_t begin, std::int64_t end) {
      at_simd_level<Clip>(values + begin, end - begin, narrow);
    });
  }
}

}  // namespace halftone::amp
