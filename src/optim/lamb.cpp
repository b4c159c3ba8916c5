// SPDX-License-Identifier: Apache-2.0
//
// You et al. 2020, algorithm 2, phi the identity:
//   m = b1 m + (1 - b1) g;  v = b2 v + (1 - b2) g^2
//   r = m / (1 - b1^t) / (sqrt(v / (1 - b2^t)) + epsilon) + weight_decay w
//   w -= lr |w| / |r| r
// The norms are of the whole parameter: r is computed once for them, and again, to the same bits, for the
// update.
#include "optim/moments.h"
#include "optim/sums.h"

namespace halftone::optim {
namespace {

constexpr std::size_t kRate = 8;  // a coefficient: lr, times the ratio of the norms

// r of each element, from moments that stay as they were.
struct Direction {
  static void run(std::int64_t count, const float* __restrict weights, const float* __restrict first,
                  const float* __restrict second, const float* __restrict gradient, float gradient_scale,
                  const Coefficients c, float* __restrict r) {
    for (std::int64_t i = 0; i < count; ++i) {
      float m = first[i], v = second[i];
      r[i] = moments_step(gradient[i] * gradient_scale, m, v, c) + c[kWeight] * weights[i];
    }
  }
};

struct Loop {
  static void run(std::int64_t count, float* __restrict weights, float* __restrict first,
                  float* __restrict second, const float* __restrict gradient, float gradient_scale,
                  const Coefficients c) {
    for (std::int64_t i = 0; i < count; ++i) {
      float m = first[i], v = second[i];
      const float r = moments_step(gradient[i] * gradient_scale, m, v, c) + c[kWeight] * weights[i];
      first[i] = m;
      second[i] = v;
      weights[i] -= c[kRate] * r;
    }
  }
};

Coefficients coefficients(const Options& o, std::int64_t step) {
  Coefficients c = moments_coefficients(o, step, 1, o[kDecay]);
  c[kRate] = static_cast<float>(o[kLr]);
  return c;
}

void gather(const Subject& subject, Coefficients& c) {
  const auto squares = sums_over_tiles(subject, [&](const Tile& t) {
    std::array<float, Tile::kSize> r;
    at_simd_level<Direction>(t.count, static_cast<const float*>(t.weights),
                             static_cast<const float*>(t.state[0]), static_cast<const float*>(t.state[1]),
                             t.gradient, t.gradient_scale, c, r.data());
    return std::array{square_sum(t.weights, t.count), square_sum(r.data(), t.count)};
  });
  if (squares[0] > 0 && squares[1] > 0)
    c[kRate] = static_cast<float>(subject.options[kLr] * std::sqrt(squares[0] / squares[1]));
}

void update(const Tile& t, const Coefficients& c, const Shape&) {
  at_simd_level<Loop>(t.count, t.weights, t.state[0], t.state[1], t.gradient, t.gradient_scale, c);
}

}  // namespace

extern const Rule kLamb;
constinit const Rule kLamb{"lamb",        "Lamb",       kMomentsOptions, moments_options(LambOptions{}),
                           kMomentsState, coefficients, gather,          update};

Lamb::Lamb(std::vector<Parameter> parameters, LambOptions options)
    : RuleOptimizer(kLamb, std::move(parameters), moments_options(options), options.master, options.state) {}

}  // namespace halftone::optim
