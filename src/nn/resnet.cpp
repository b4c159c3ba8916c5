// SPDX-License-Identifier: Apache-2.0
//
// Residual networks: initial values of convolutions normal with variance 2 / fan-in (He et al. 2015), and the
// shortcut where the shape changes, which takes every second pixel and fills new channels with zeros.
#include "halftone/resnet.h"

#include <cmath>

#include "nn/init.h"
#include "nn/model_options.h"

namespace halftone::models {
namespace {

const ResNetOptions& checked(const ResNetOptions& o) {
  const OptionCheck check{"ResNet"};
  check.require(o.depth >= 8 && o.depth % 6 == 2, "depth", o.depth, "6 n + 2: 20, 32, 44, 56, 110");
  check.size("channels", o.channels), check.size("classes", o.classes), check.size("width", o.width);
  return o;
}

void reset(nn::Conv2d& conv) {
  const Shape& shape = conv.weight.shape();  // (out, size, size, in)
  const double fan_in = static_cast<double>(shape[1] * shape[2] * shape[3]);
  conv.weight = nn::normal_parameter(shape, std::sqrt(2 / fan_in));
}

Tensor every_second_pixel(const Tensor& x) {
  const std::int64_t batch = x.size(0), height = x.size(1) / 2, width = x.size(2) / 2, channels = x.size(3);
  const Tensor pairs = reshape(x, {batch, height, 2, width, 2, channels});
  return reshape(slice(slice(pairs, 2, 0, 1), 4, 0, 1), {batch, height, width, channels});
}

std::vector<ResNetBlock> stage(int blocks, int in, int out) {
  std::vector<ResNetBlock> made;
  for (int i = 0; i < blocks; ++i) {
    const bool changes = i == 0 && in != out;
    ResNetBlock& block = made.emplace_back(i == 0 ? in : out, out, changes ? 2 : 1);
    reset(block.conv1), reset(block.conv2);
  }
  return made;
}

}  // namespace

Tensor ResNetBlock::operator()(const Tensor& x) const {
  const Tensor y = bn2(conv2(relu(bn1(conv1(x)))));
  if (conv1.stride == 1) return relu(y + x);
  const Tensor half = every_second_pixel(x);
  const Tensor added = zeros({y.size(0), y.size(1), y.size(2), y.size(3) - x.size(3)}, x.dtype());
  return relu(y + concat({half, added}, 3));
}

ResNet::ResNet(const ResNetOptions& options)
    : options(checked(options)),
      conv1(options.channels, options.width, 3, 1, 1, false),
      bn1(options.width),
      layer1(stage(options.depth / 6, options.width, options.width)),
      layer2(stage(options.depth / 6, options.width, 2 * options.width)),
      layer3(stage(options.depth / 6, 2 * options.width, 4 * options.width)),
      fc(4 * options.width, options.classes) {
  reset(conv1);
}

Tensor ResNet::operator()(const Tensor& images) const {
  if (images.rank() != 4 || images.size(1) % 4 != 0 || images.size(2) % 4 != 0 ||
      images.size(3) != options.channels)
    throw ShapeError(
        "ResNet", "images " + to_string(images.shape()),
        "(batch, height, width, " + std::to_string(options.channels) + "), height and width multiples of 4");
  Tensor x = relu(bn1(conv1(images)));
  for (const auto* stage : {&layer1, &layer2, &layer3})
    for (const ResNetBlock& block : *stage) x = block(x);
  return fc(mean(x, {1, 2}));
}

}  // namespace halftone::models
