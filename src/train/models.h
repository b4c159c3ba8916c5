// SPDX-License-Identifier: Apache-2.0
//
// The models of the image tasks: 28 x 28 grey images to ten classes.
#pragma once

#include "halftone/nn.h"

namespace halftone::train {

// 784-512-512-10, as in Debian's and everyone's first example.
struct Mlp {
  nn::Linear layer1, layer2, layer3;
  Mlp();
  Tensor operator()(const Tensor& images) const;
  void visit(auto&& each) { each("layer1", layer1), each("layer2", layer2), each("layer3", layer3); }
};

// 3x3 convolutions 1-32-64 at 28x28 and 64-128 at 14x14, batch norm after each, then 6272-256-10.
// The convolutions have no bias: batch norm would subtract it again.
struct Cnn {
  nn::Conv2d conv1, conv2, conv3;
  nn::BatchNorm norm1, norm2, norm3;
  nn::Linear hidden, head;
  Cnn();
  Tensor operator()(const Tensor& images) const;
  void visit(auto&& each) {
    each("conv1", conv1), each("norm1", norm1), each("conv2", conv2), each("norm2", norm2);
    each("conv3", conv3), each("norm3", norm3), each("hidden", hidden), each("head", head);
  }
};

}  // namespace halftone::train
