// SPDX-License-Identifier: Apache-2.0
//
// The constructors of the layers that are one op: shapes and initial values.
#include <cmath>

#include "halftone/nn.h"
#include "nn/init.h"

namespace halftone::nn {

Linear::Linear(int in, int out, bool with_bias) {
  check_sizes("Linear", {in, out});
  const double bound = 1 / std::sqrt(in);
  weight = uniform_parameter({out, in}, bound);
  if (with_bias) bias = uniform_parameter({out}, bound);
}

Linear Linear::normal(int in, int out, double deviation, bool with_bias) {
  check_sizes("Linear", {in, out});
  Linear layer;
  layer.weight = normal_parameter({out, in}, deviation);
  if (with_bias) layer.bias = constant_parameter({out}, 0);
  return layer;
}

Conv2d::Conv2d(int in, int out, int size, int stride, int padding, bool with_bias)
    : stride(stride), padding(padding) {
  check_sizes("Conv2d", {in, out, size, stride});
  if (padding < 0) throw ValueError("Conv2d", "a padding of " + std::to_string(padding), "at least 0");
  const double bound = 1 / std::sqrt(static_cast<double>(in) * size * size);
  weight = uniform_parameter({out, size, size, in}, bound);
  if (with_bias) bias = uniform_parameter({out}, bound);
}

BatchNorm::BatchNorm(int channels, double momentum, double epsilon) : momentum(momentum), epsilon(epsilon) {
  check_sizes("BatchNorm", {channels});
  weight = constant_parameter({channels}, 1);
  bias = constant_parameter({channels}, 0);
  running_mean.value = zeros({channels});
  running_variance.value = ones({channels});
}

LayerNorm::LayerNorm(int width, double epsilon) : epsilon(epsilon) {
  check_sizes("LayerNorm", {width});
  weight = constant_parameter({width}, 1);
  bias = constant_parameter({width}, 0);
}

RmsNorm::RmsNorm(int width, double epsilon) : epsilon(epsilon) {
  check_sizes("RmsNorm", {width});
  weight = constant_parameter({width}, 1);
}

Embedding::Embedding(int count, int width) {
  check_sizes("Embedding", {count, width});
  weight = normal_parameter({count, width}, 0.02);
}

}  // namespace halftone::nn
