// SPDX-License-Identifier: Apache-2.0
#include "train/models.h"

namespace halftone::train {

Mlp::Mlp() : layer1(784, 512), layer2(512, 512), layer3(512, 10) {}

Tensor Mlp::operator()(const Tensor& images) const {
  const Tensor x = relu(layer1(flatten(images)));
  return layer3(relu(layer2(x)));
}

Cnn::Cnn()
    : conv1(1, 32, 3, 1, 1, false),
      conv2(32, 64, 3, 1, 1, false),
      conv3(64, 128, 3, 1, 1, false),
      norm1(32),
      norm2(64),
      norm3(128),
      hidden(128 * 7 * 7, 256),
      head(256, 10) {}

Tensor Cnn::operator()(const Tensor& images) const {
  Tensor x = relu(norm1(conv1(images)));
  x = max_pool2d(relu(norm2(conv2(x))), 2);
  x = max_pool2d(relu(norm3(conv3(x))), 2);
  return head(relu(hidden(flatten(x))));
}

}  // namespace halftone::train
