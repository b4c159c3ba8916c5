// SPDX-License-Identifier: Apache-2.0
//
// Convolution and its two gradients. With image x, filter f, result y, stride s, padding p:
//   y[n, i, j, o] = bias[o] + sum over u, v, c of x[n, s i + u - p, s j + v - p, c] f[o, u, v, c],
// x being 0 outside the image. The gradients are the same sum of products, read for x and for f. Sums are
// kept in double and rounded once; they overwrite their target, but for the filter gradient with
// `accumulate`.
#include <vector>

#include "backend/reference/element.h"
#include "backend/reference/reference.h"

namespace halftone {
namespace {

std::int64_t at(const Tensor& x, std::int64_t a, std::int64_t b, std::int64_t c, std::int64_t d) {
  const Shape& s = x.strides();
  return a * s[0] + b * s[1] + c * s[2] + d * s[3];
}

// visit(image, filter, result) with the offsets of every triple that the sum above multiplies or adds.
template <class Visit>
void for_each_product(const Convolution& call, const Visit& visit) {
  const auto& [image, filter, bias, result, stride, padding, accumulate] = call;
  for (std::int64_t n = 0; n < result.size(0); ++n)
    for (std::int64_t i = 0; i < result.size(1); ++i)
      for (std::int64_t j = 0; j < result.size(2); ++j)
        for (std::int64_t o = 0; o < result.size(3); ++o)
          for (std::int64_t u = 0; u < filter.size(1); ++u)
            for (std::int64_t v = 0; v < filter.size(2); ++v) {
              const std::int64_t y = stride * i + u - padding, x = stride * j + v - padding;
              if (y < 0 || y >= image.size(1) || x < 0 || x >= image.size(2)) continue;
              for (std::int64_t c = 0; c < image.size(3); ++c)
                visit(at(image, n, y, x, c), at(filter, o, u, v, c), at(result, n, i, j, o));
            }
}

// Sums in double for every element of a rank-4 tensor, addressed by the tensor's own offsets.
class Sums {
 public:
  explicit Sums(const Tensor& tensor) : tensor_(tensor) {
    std::int64_t last = 0;
    for (int axis = 0; axis < 4; ++axis) last += (tensor.size(axis) - 1) * tensor.strides()[axis];
    sums_.resize(tensor.count() == 0 ? 0 : static_cast<std::size_t>(last + 1));
  }
  double& operator[](std::int64_t offset) { return sums_[static_cast<std::size_t>(offset)]; }

  // target[i] = start(offset, last index) + sum
  template <class Start>
  void store(const Start& start) {
    const reference::Writer target(tensor_);
    for (std::int64_t a = 0; a < tensor_.size(0); ++a)
      for (std::int64_t b = 0; b < tensor_.size(1); ++b)
        for (std::int64_t c = 0; c < tensor_.size(2); ++c)
          for (std::int64_t d = 0; d < tensor_.size(3); ++d) {
            const std::int64_t offset = at(tensor_, a, b, c, d);
            target.write(offset, start(target.read(offset), d) + (*this)[offset]);
          }
  }

 private:
  const Tensor& tensor_;
  std::vector<double> sums_;
};

}  // namespace

void Reference::convolution(const Convolution& call) const {
  const reference::Reader image(call.image), filter(call.filter);
  Sums sums(call.result);
  for_each_product(call,
                   [&](std::int64_t x, std::int64_t f, std::int64_t y) { sums[y] += image[x] * filter[f]; });
  if (call.bias.defined()) {
    const reference::Reader bias(call.bias);
    const std::int64_t stride = call.bias.strides()[0];
    sums.store([&](double, std::int64_t channel) { return bias[channel * stride]; });
  } else {
    sums.store([](double, std::int64_t) { return 0.0; });
  }
}

void Reference::convolution_image_gradient(const Convolution& call) const {
  const reference::Reader filter(call.filter), result(call.result);
  Sums sums(call.image);
  for_each_product(call,
                   [&](std::int64_t x, std::int64_t f, std::int64_t y) { sums[x] += result[y] * filter[f]; });
  sums.store([](double, std::int64_t) { return 0.0; });
}

void Reference::convolution_filter_gradient(const Convolution& call) const {
  const reference::Reader image(call.image), result(call.result);
  Sums sums(call.filter);
  for_each_product(call,
                   [&](std::int64_t x, std::int64_t f, std::int64_t y) { sums[f] += result[y] * image[x]; });
  sums.store([&](double old, std::int64_t) { return call.accumulate ? old : 0.0; });
}

}  // namespace halftone
