// SPDX-License-Identifier: Apache-2.0
//
// Shazeer and Stern 2018, algorithms 4 (matrices) and 5 (vectors), with their hyperparameters (algorithm 6):
//   b = 1 - t^-0.8;  rho = min(lr, 1 / sqrt(t));  G = g^2 + epsilon1
//   R = b R + (1 - b) mean over a row of G;  C likewise over a column;  v = R C / mean(R)
//   of a vector: v = b v + (1 - b) G
//   u = g / sqrt(v);  w -= rho max(epsilon2, rms(w)) u / max(1, rms(u) / clip_threshold)
#include <algorithm>
#include <cmath>

#include "halftone/parallel.h"
#include "optim/sums.h"

namespace halftone::optim {
namespace {

enum { kLr, kDecayPower, kEpsilon1, kEpsilon2, kClip, kDecay };  // options
enum { kBeta, kRest, kRho, kKeep, kEpsilon, kRowMean, kRate };   // coefficients; the last two of a parameter
enum { kRow, kColumn, kSecond };                                 // state

constexpr OptionRow kOptions[] = {
    {"lr", 0, 1e30},       {"decay_power", 0, 1e3},         {"epsilon1", 1e-37, 1e30},
    {"epsilon2", 0, 1e30}, {"clip_threshold", 1e-30, 1e30}, {"weight_decay", 0, 1e30}};

std::int64_t columns(const Shape& shape) { return shape[0] > 0 ? shape.count() / shape[0] : 0; }

constexpr StateRow kState[] = {
    {"row",
     [](const Shape& p, const Options&) { return p.rank() > 1 ? std::optional(Shape{p[0]}) : std::nullopt; }},
    {"column", [](const Shape& p,
                  const Options&) { return p.rank() > 1 ? std::optional(Shape{columns(p)}) : std::nullopt; }},
    {"second",
     [](const Shape& p, const Options&) { return p.rank() > 1 ? std::nullopt : std::optional(p); }}};

constexpr Options options_of(const AdafactorOptions& o) {
  return {o.lr, o.decay_power, o.epsilon1, o.epsilon2, o.clip_threshold, o.weight_decay};
}

// sums[i] += the square of element i.
struct AddSquares {
  static void run(std::int64_t count, const float* __restrict values, double* __restrict sums) {
    for (std::int64_t i = 0; i < count; ++i)
      sums[i] += static_cast<double>(values[i]) * static_cast<double>(values[i]);
  }
};

// u of elements of one row.
struct MatrixLoop {
  static void run(std::int64_t count, const float* __restrict column, const float* __restrict gradient,
                  float factor, float* __restrict u) {
    for (std::int64_t i = 0; i < count; ++i) u[i] = gradient[i] * factor / std::sqrt(column[i]);
  }
};

struct VectorLoop {
  static void run(std::int64_t count, const float* second, const float* __restrict gradient,
                  float gradient_scale, const Coefficients c, float* updated, float* __restrict u) {
    for (std::int64_t i = 0; i < count; ++i) {
      const float g = gradient[i] * gradient_scale;
      const float squared = c[kBeta] * second[i] + c[kRest] * (g * g + c[kEpsilon]);
      const float v = squared < kLargest ? squared : kLargest;
      updated[i] = v;
      u[i] = g / std::sqrt(v);
    }
  }
};

struct Apply {
  static void run(std::int64_t count, float* __restrict weights, const float* __restrict u,
                  const Coefficients c) {
    for (std::int64_t i = 0; i < count; ++i) weights[i] = weights[i] * c[kKeep] - c[kRate] * u[i];
  }
};

using Values = std::array<float, Tile::kSize>;

// Of a vector, `second` gets the new second moments.
void direction(const Tile& t, const Coefficients& c, const Shape& shape, float* second, float* u) {
  if (t.state[kSecond] != nullptr)
    return at_simd_level<VectorLoop>(t.count, static_cast<const float*>(t.state[kSecond]), t.gradient,
                                     t.gradient_scale, c, second, u);
  const std::int64_t width = columns(shape);
  for (std::int64_t done = 0; done < t.count;) {
    const std::int64_t row = (t.begin + done) / width, column = (t.begin + done) % width;
    const std::int64_t count = std::min(width - column, t.count - done);
    // Beside a row of huge gradients that of one of zeros is epsilon1: their ratio may leave float32.
    const float factor = t.gradient_scale * std::sqrt(std::min(c[kRowMean] / t.state[kRow][row], kLargest));
    at_simd_level<MatrixLoop>(count, static_cast<const float*>(t.state[kColumn] + column), t.gradient + done,
                              factor, u + done);
    done += count;
  }
}

// Takes the squares of the gradients into the means of rows and columns; returns the mean of the rows'.
float update_means(const Subject& s, const Coefficients& c) {
  const std::int64_t rows = s.shape[0], width = columns(s.shape);
  const double square = static_cast<double>(s.gradient_scale) * static_cast<double>(s.gradient_scale);
  const auto take = [&](float& mean, double sum, std::int64_t count) {
    const double now = sum * square / static_cast<double>(count) + s.options[kEpsilon1];
    const double moved =
        static_cast<double>(c[kBeta]) * static_cast<double>(mean) + static_cast<double>(c[kRest]) * now;
    mean = static_cast<float>(std::min(moved, static_cast<double>(kLargest)));
  };
  parallel_for(rows, 16, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t row = begin; row < end; ++row)
      take(s.state[kRow][row], square_sum(s.gradient + row * width, width), width);
  });
  constexpr std::int64_t kBlock = 64;
  parallel_for(width, kBlock, [&](std::int64_t begin, std::int64_t end) {
    double sums[kBlock] = {};
    for (std::int64_t row = 0; row < rows; ++row)
      at_simd_level<AddSquares>(end - begin, s.gradient + row * width + begin, static_cast<double*>(sums));
    for (std::int64_t column = begin; column < end; ++column)
      take(s.state[kColumn][column], sums[column - begin], rows);
  });
  double sum = 0;
  for (std::int64_t row = 0; row < rows; ++row) sum += static_cast<double>(s.state[kRow][row]);
  return static_cast<float>(sum / static_cast<double>(rows));
}

Coefficients coefficients(const Options& o, std::int64_t step) {
  const auto t = static_cast<double>(step);
  const double beta = 1 - std::pow(t, -o[kDecayPower]);
  return {static_cast<float>(beta), static_cast<float>(1 - beta),
          static_cast<float>(std::min(o[kLr], 1 / std::sqrt(t))), static_cast<float>(1 - o[kLr] * o[kDecay]),
          static_cast<float>(o[kEpsilon1])};
}

void gather(const Subject& subject, Coefficients& c) {
  const auto count = static_cast<double>(subject.shape.count());
  if (subject.shape.count() == 0) return;
  if (subject.state[kRow] != nullptr) c[kRowMean] = update_means(subject, c);
  const auto squares = sums_over_tiles(subject, [&](const Tile& t) {
    Values u, second;
    direction(t, c, subject.shape, second.data(), u.data());
    return std::array{square_sum(t.weights, t.count), square_sum(u.data(), t.count)};
  });
  const double size = std::max(subject.options[kEpsilon2], std::sqrt(squares[0] / count));
  const double excess = std::max(1.0, std::sqrt(squares[1] / count) / subject.options[kClip]);
  c[kRate] = static_cast<float>(static_cast<double>(c[kRho]) * size / excess);
}

void update(const Tile& t, const Coefficients& c, const Shape& shape) {
  Values u;
  direction(t, c, shape, t.state[kSecond], u.data());
  at_simd_level<Apply>(t.count, t.weights, static_cast<const float*>(u.data()), c);
}

}  // namespace

extern const Rule kAdafactor;
constinit const Rule kAdafactor{"adafactor", "Adafactor",  kOptions, options_of({}),
                                kState,      coefficients, gather,   update};

Adafactor::Adafactor(std::vector<Parameter> parameters, AdafactorOptions options)
    : RuleOptimizer(kAdafactor, std::move(parameters), options_of(options), options.master, options.state) {}

}  // namespace halftone::optim
