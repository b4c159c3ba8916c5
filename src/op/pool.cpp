// SPDX-License-Identifier: Apache-2.0
#include "op/pool.h"

#include <fmt/format.h>

#include <climits>

#include "halftone/ops.h"
#include "op/differentiate.h"
#include "op/memory_order.h"

namespace halftone {

Tensor windows(const Tensor& image, int size) {
  const Shape &n = image.shape(), &step = image.strides();
  return image.view({n[0], n[1] / size, n[2] / size, n[3], size, size},
                    {step[0], step[1] * size, step[2] * size, step[3], step[1], step[2]}, image.offset());
}

Tensor window_rows(const Backend& backend, const Tensor& image, int size) {
  return reshaped(copied(backend, windows(image, size)), {image.count() / (size * size), size * size});
}

Shape pooled_shape(const Shape& image, int size) {
  return {image[0], image[1] / size, image[2] / size, image[3]};
}

void check_pool(std::string_view op, const Tensor& image, int size, int most) {
  if (image.rank() != 4 || size < 1 || size > most || image.size(1) % size != 0 || image.size(2) % size != 0)
    throw ShapeError(
        op, fmt::format("{} with windows of {}", to_string(image.shape()), size),
        fmt::format("(batch, height, width, channels) and a size {}that divides height and width",
                    most < INT_MAX ? fmt::format("up to {} ", most) : ""));
}

Tensor enlarged(const Tensor& x, int size) {
  const Shape& n = x.shape();
  const Tensor points = reshape(x, {n[0], n[1], 1, n[2], 1, n[3]});
  return reshape(spread(points, {n[0], n[1], size, n[2], size, n[3]}),
                 {n[0], n[1] * size, n[2] * size, n[3]});
}

Tensor as_column(const Backend& backend, const Tensor& x) {
  return reshaped(contiguous(backend, x), {x.count(), 1});
}

}  // namespace halftone
