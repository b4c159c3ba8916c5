// SPDX-License-Identifier: Apache-2.0
//
// conv2d: images (batch, height, width, in) with filters (out, height, width, in). The bias is added to the
// float32 accumulator; its gradient is the sum of dy over all positions. Operands of a recipe with short ones
// are rounded along the channels that are summed over and, for the gradient of the filter, along the
// positions.
#include <fmt/format.h>

#include <utility>

#include "halftone/op.h"
#include "halftone/ops.h"
#include "op/differentiate.h"

namespace halftone {
namespace {

constexpr int kMostPadding = 1 << 20;  // larger than any image, and small enough to be doubled

struct Geometry {
  int stride = 1, padding = 0;
};

std::int64_t padded(const Tensor& image, int axis, int padding) {
  return image.size(axis) + 2 * std::int64_t{padding};
}

Convolution geometry(const Geometry& g) {
  Convolution call{};
  call.stride = g.stride;
  call.padding = g.padding;
  return call;
}

// The two gradients as ops, for the second derivative: bilinear like the convolution, so that the gradients
// of each of the three are the other two.
enum class Wanted : std::uint8_t { image, filter };
struct ConvolutionGradient {
  Wanted wanted;
  Geometry geometry;
  Shape shape;  // of the result
  DType dtype;
};

Tensor run(const Backend& backend, const ConvolutionGradient& what, const Tensor& other, const Tensor& dy) {
  Convolution c = geometry(what.geometry);
  Tensor result(what.shape, what.dtype);
  c.result = dy;
  if (what.wanted == Wanted::image) {
    c.image = result;
    c.filter = other;
    backend.convolution_image_gradient(c);
  } else {
    c.image = other;
    c.filter = result;
    backend.convolution_filter_gradient(c);
  }
  return result;
}

Tensor convolution(const Backend& backend, const Geometry& g, const Tensor& image, const Tensor& filter,
                   const Shape& shape, DType dtype) {
  Convolution c = geometry(g);
  c.image = image;
  c.filter = filter;
  c.result = Tensor(shape, dtype);
  backend.convolution(c);
  return c.result;
}

std::vector<Tensor> differentiate_gradient(const DifferentiateCall& call);

// Inputs: the filter and dy for the image, the image and dy for the filter.
const Op conv2d_gradient_op{
    .name = "conv2d_gradient",
    .cast = CastPolicy::compute,
    .keeps = {Operand::x0, Operand::x1},
    .forward =
        [](Call& call) {
          return run(call.backend, call.as<ConvolutionGradient>(), call.inputs[0], call.inputs[1]);
        },
    .backward =
        [](BackwardCall& call) {
          const auto& what = call.as<ConvolutionGradient>();
          const bool image = what.wanted == Wanted::image;
          const Tensor &other = call.inputs[0], &dy = call.inputs[1], &given = call.gradient;
          if (call.gradients.wanted(0)) {
            const ConvolutionGradient back{image ? Wanted::filter : Wanted::image, what.geometry,
                                           call.shapes[0], call.gradients.dtype(0)};
            call.gradients.deliver(0, run(call.backend, back, given, dy));
          }
          if (call.gradients.wanted(1))
            call.gradients.deliver(
                1, convolution(call.backend, what.geometry, image ? given : other, image ? other : given,
                               call.shapes[1], call.gradients.dtype(1)));
        },
    .examples = {},
    .differentiate = differentiate_gradient,
};

std::vector<Tensor> differentiate_gradient(const DifferentiateCall& call) {
  const auto& what = call.as<ConvolutionGradient>();
  const bool image = what.wanted == Wanted::image;
  const Tensor &other = call.inputs[0], &dy = call.inputs[1], &given = call.gradient;
  std::vector<Tensor> gradients(2);
  if (call.wanted(0)) {
    const ConvolutionGradient back{image ? Wanted::filter : Wanted::image, what.geometry, call.shapes[0],
                                   call.gradients.dtype(0)};
    gradients[0] = apply(conv2d_gradient_op, {given, dy}, back);
  }
  if (call.wanted(1))
    gradients[1] =
        conv2d(image ? given : other, image ? other : given, {}, what.geometry.stride, what.geometry.padding);
  return gradients;
}

const Op conv2d_op{
    .name = "conv2d",
    .cast = CastPolicy::compute,
    .operands = 2,
    .keeps = {Operand::x0, Operand::x1},
    .forward =
        [](Call& call) {
          Convolution c = geometry(call.as<Geometry>());
          c.image = call.operand(0, Along::last);
          c.filter = call.operand(1, Along::last);
          c.bias = call.inputs[2];
          auto positions = [&](int axis) {
            return (padded(c.image, axis, c.padding) - c.filter.size(axis)) / c.stride + 1;
          };
          c.result = Tensor({c.image.size(0), positions(1), positions(2), c.filter.size(0)}, call.result);
          call.backend.convolution(c);
          return c.result;
        },
    .backward =
        [](BackwardCall& call) {
          Convolution c = geometry(call.as<Geometry>());
          if (call.gradients.wanted(2)) deliver_reduced(call, 2, call.gradient);
          if (call.gradients.wanted(1)) {
            Convolution f = c;
            f.image = call.operand(0, Along::rows);
            f.result = call.gradient_operand(Along::rows);
            const Tensor sum = call.gradients.accumulator(1);
            f.accumulate = sum.defined();
            f.filter = sum ? sum : Tensor(call.shapes[1], call.gradients.dtype(1));
            call.backend.convolution_filter_gradient(f);
            if (!sum) call.gradients.deliver(1, std::move(f.filter));
          }
          if (call.gradients.wanted(0)) {
            c.filter = call.operand(1, Along::first);
            c.result = call.gradient_operand(Along::last);
            c.image = Tensor(call.shapes[0], call.gradients.dtype(0));
            call.backend.convolution_image_gradient(c);
            call.gradients.deliver(0, std::move(c.image));
          }
        },
    .examples =
        [] {
          return std::vector<Example>{{{{{2, 5, 4, 3}}, {{4, 3, 3, 3}}, {{4}}}, Geometry{1, 1}},
                                      {{{{1, 6, 6, 1}}, {{2, 3, 3, 1}}, {{2}}}, Geometry{1, 0}},
                                      {{{{2, 7, 7, 2}}, {{3, 3, 3, 2}}, {{3}}}, Geometry{2, 1}}};
        },
    .differentiate =
        [](const DifferentiateCall& call) {
          auto gradient = [&](Wanted wanted, int input, const Tensor& other, const Tensor& dy) {
            const Shape& shape = call.shapes[static_cast<std::size_t>(input)];
            return apply(
                conv2d_gradient_op, {other, dy},
                ConvolutionGradient{wanted, call.as<Geometry>(), shape, call.gradients.dtype(input)});
          };
          std::vector<Tensor> gradients(3);
          if (call.wanted(2)) gradients[2] = sum(joined_rows(call.gradient), {0});
          if (call.wanted(1))
            gradients[1] =
                gradient(Wanted::filter, 1, call.operand(0, Along::rows), call.gradient_operand(Along::rows));
          if (call.wanted(0))
            gradients[0] =
                gradient(Wanted::image, 0, call.operand(1, Along::first), call.gradient_operand(Along::last));
          return gradients;
        },
    .quantizes = true,
};
const Register registered(conv2d_op);

}  // namespace

Tensor conv2d(const Tensor& image, const Tensor& filter, const Tensor& bias, int stride, int padding) {
  if (stride < 1 || padding < 0 || padding > kMostPadding)
    throw ValueError("conv2d", fmt::format("stride {}, padding {}", stride, padding),
                     fmt::format("a stride from 1, a padding from 0 to {}", kMostPadding));
  const bool fits = image.rank() == 4 && filter.rank() == 4 && image.size(3) == filter.size(3) &&
                    padded(image, 1, padding) >= filter.size(1) &&
                    padded(image, 2, padding) >= filter.size(2) &&
                    (!bias || bias.shape() == Shape{filter.size(0)});
  if (!fits)
    throw ShapeError("conv2d",
                     "image " + to_string(image.shape()) + ", filter " + to_string(filter.shape()) +
                         (bias ? ", bias " + to_string(bias.shape()) : ""),
                     "image (batch, height, width, in), filter (out, height, width, in) no larger than the "
                     "padded image, bias (out)");
  return apply(conv2d_op, {image, filter, bias}, Geometry{stride, padding});
}

}  // namespace halftone
