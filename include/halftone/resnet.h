// SPDX-License-Identifier: Apache-2.0
//
// The residual networks for small images of He et al. 2016 (section 4.2): depth 6 n + 2, three stages of n
// blocks with 16, 32 and 64 channels, each stage at half the resolution of the one before, shortcuts without
// parameters, global average pooling.
#pragma once

#include <vector>

#include "halftone/nn.h"

namespace halftone::models {

struct ResNetOptions {
  int depth = 20;  // 6 n + 2
  int channels = 3, classes = 10;
  int width = 16;  // channels of the first stage
};

struct ResNetBlock {
  nn::Conv2d conv1, conv2;
  nn::BatchNorm bn1, bn2;
  ResNetBlock(int in, int out, int stride)
      : conv1(in, out, 3, stride, 1, false), conv2(out, out, 3, 1, 1, false), bn1(out), bn2(out) {}
  Tensor operator()(const Tensor& x) const;
  void visit(auto&& each) { each("conv1", conv1), each("bn1", bn1), each("conv2", conv2), each("bn2", bn2); }
};

struct ResNet {
  ResNetOptions options;
  nn::Conv2d conv1;
  nn::BatchNorm bn1;
  std::vector<ResNetBlock> layer1, layer2, layer3;
  nn::Linear fc;
  // Throws ValueError naming the option that can not be.
  explicit ResNet(const ResNetOptions& options = {});
  // Images (batch, height, width, channels), sides multiples of 4, to logits (batch, classes).
  Tensor operator()(const Tensor& images) const;
  void visit(auto&& each) {
    each("conv1", conv1), each("bn1", bn1), each("layer1", layer1), each("layer2", layer2);
    each("layer3", layer3), each("fc", fc);
  }
};

}  // namespace halftone::models
