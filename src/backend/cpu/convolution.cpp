// SPDX-License-Identifier: Apache-2.0
//
// Convolution and its two gradients on channels-last images. oneDNN chooses the layout of the filter, which
// is small; the images stay as they are. Work is cut into groups of images, one primitive on one thread each;
// the filter gradients of the groups are added in order.
#include <algorithm>

#include "backend/cpu/images.h"
#include "backend/cpu/onednn.h"
#include "backend/cpu/onednn_loops.h"
#include "backend/cpu/precision.h"
#include "halftone/parallel.h"

namespace halftone::cpu {
namespace {

using dnnl::memory;

// A group of images worth handing to a thread; fewer operations than the second number run on one.
constexpr std::int64_t kGroupOperations = 64'000'000, kInlineOperations = 8'000'000;

struct Geometry {
  std::int64_t batch, height, width, in, out, kernel_height, kernel_width, result_height, result_width;
  int stride, padding;

  std::int64_t operations() const {  // of one image
    return 2 * result_height * result_width * out * kernel_height * kernel_width * in;
  }
};

Geometry geometry_of(const Convolution& call) {
  const Tensor &image = call.image, &filter = call.filter, &result = call.result;
  return {image.size(0),  image.size(1),  image.size(2),  image.size(3), filter.size(0), filter.size(1),
          filter.size(2), result.size(1), result.size(2), call.stride,   call.padding};
}

// Images per group: enough groups for 16 threads, if each has enough to do.
std::int64_t group_of(const Geometry& g) {
  const std::int64_t operations = std::max<std::int64_t>(g.operations(), 1);
  if (operations * g.batch < kInlineOperations) return g.batch;
  return std::min(chunk_count(g.batch, 16), chunk_count(kGroupOperations, operations));
}

// The same for the filter gradient, where each group costs one more filter to write and to add.
std::int64_t gradient_group_of(const Geometry& g) {
  if (g.operations() * g.batch < kInlineOperations) return g.batch;
  const std::int64_t positions = std::max<std::int64_t>(g.result_height * g.result_width, 1);
  return std::min(g.batch, std::max(chunk_count(g.batch, 16), chunk_count(3000, positions)));
}

PrimitiveKey key_of(PrimitiveKind kind, const Geometry& g, std::int64_t images, DType format, DType result,
                    bool bias, std::int64_t group) {
  const bool narrow = format == bfloat16, narrow_result = result == bfloat16;
  return {static_cast<std::int64_t>(kind),
          images,
          g.height,
          g.width,
          g.in,
          g.out,
          g.kernel_height,
          g.kernel_width,
          g.result_height,
          g.result_width,
          g.stride,
          g.padding,
          narrow + 2 * narrow_result + 4 * bias,
          group};
}

// The memory of a call as oneDNN describes it: images (batch, channels, height, width) stored channels-last.
struct Layouts {
  memory::desc image, result, filter_rows, filter, bias;
  memory::dims stride, padding;
};

Layouts layouts_of(const Geometry& g, std::int64_t images, DType image, DType filter, DType result) {
  using tag = memory::format_tag;
  const memory::dims filter_sizes{g.out, g.in, g.kernel_height, g.kernel_width};
  return {{{images, g.in, g.height, g.width}, onednn_type(image), tag::nhwc},
          {{images, g.out, g.result_height, g.result_width}, onednn_type(result), tag::nhwc},
          {filter_sizes, onednn_type(filter), tag::ohwi},
          {filter_sizes, onednn_type(filter), tag::any},
          {{g.out}, memory::data_type::f32, tag::a},
          {g.stride, g.stride},
          {g.padding, g.padding}};
}

constexpr auto kAlgorithm = dnnl::algorithm::convolution_direct;

dnnl::convolution_forward::primitive_desc forward_description(const Layouts& l, bool bias) {
  constexpr auto kTraining = dnnl::prop_kind::forward_training;
  using Desc = dnnl::convolution_forward::desc;
  const Desc what =
      bias ? Desc(kTraining, kAlgorithm, l.image, l.filter, l.bias, l.result, l.stride, l.padding, l.padding)
           : Desc(kTraining, kAlgorithm, l.image, l.filter, l.result, l.stride, l.padding, l.padding);
  return {what, primitive_attributes(), onednn_engine()};
}

// `filter` is the layout of the filter, or null for one of oneDNN's choice.
CompiledPrimitive make(PrimitiveKind kind, const Geometry& g, std::int64_t images, DType format, DType result,
                       bool bias, const memory::desc* filter) {
  const auto& engine = onednn_engine();
  const auto attributes = primitive_attributes();
  const auto hint = forward_description(layouts_of(g, images, format, format, format), false);
  if (kind == PrimitiveKind::forward) {
    Layouts l = layouts_of(g, images, format, format, result);
    if (filter) l.filter = *filter;
    const auto description = forward_description(l, bias);
    CompiledPrimitive made{
        dnnl::convolution_forward(description),
        {{DNNL_ARG_SRC, l.image}, {DNNL_ARG_WEIGHTS, description.weights_desc()}, {DNNL_ARG_DST, l.result}},
        description.scratchpad_desc()};
    if (bias) made.arguments.emplace_back(DNNL_ARG_BIAS, l.bias);
    return made;
  }
  if (kind == PrimitiveKind::image_gradient) {
    Layouts l = layouts_of(g, images, result, format, format);
    if (filter) l.filter = *filter;
    const dnnl::convolution_backward_data::primitive_desc description(
        {kAlgorithm, l.image, l.filter, l.result, l.stride, l.padding, l.padding}, attributes, engine, hint);
    return {dnnl::convolution_backward_data(description),
            {{DNNL_ARG_DIFF_SRC, l.image},
             {DNNL_ARG_WEIGHTS, description.weights_desc()},
             {DNNL_ARG_DIFF_DST, l.result}},
            description.scratchpad_desc()};
  }
  Layouts l = layouts_of(g, images, format, float32, format);
  if (filter) l.filter = *filter;
  const dnnl::convolution_backward_weights::primitive_desc description(
      {kAlgorithm, l.image, l.filter, l.result, l.stride, l.padding, l.padding}, attributes, engine, hint);
  return {dnnl::convolution_backward_weights(description),
          {{DNNL_ARG_SRC, l.image},
           {DNNL_ARG_DIFF_WEIGHTS, description.diff_weights_desc()},
           {DNNL_ARG_DIFF_DST, l.result}},
          description.scratchpad_desc()};
}

// One call: the primitive for a group of images and the one for the images that are left over.
struct Groups {
  Geometry geometry;
  std::int64_t group, count;
  PrimitiveKey key;
  std::shared_ptr<const CompiledPrimitive> whole, rest;

  Groups(PrimitiveKind kind, const Convolution& call, std::int64_t group_size, DType format, DType result)
      : geometry(geometry_of(call)), group(group_size), count(chunk_count(geometry.batch, group)) {
    const bool bias = kind == PrimitiveKind::forward && call.bias.defined();
    auto primitive = [&](std::int64_t images, const memory::desc* filter) {
      const PrimitiveKey name = key_of(kind, geometry, images, format, result, bias, group);
      return cached_primitive(name,
                              [&] { return make(kind, geometry, images, format, result, bias, filter); });
    };
    key = key_of(kind, geometry, group, format, result, bias, group);
    whole = primitive(group, nullptr);
    const int filter = kind == PrimitiveKind::filter_gradient ? DNNL_ARG_DIFF_WEIGHTS : DNNL_ARG_WEIGHTS;
    const std::int64_t left = geometry.batch - (count - 1) * group;
    rest = left == group ? whole : primitive(left, &whole->layout(filter));
  }

  // body(primitive, number of the group, first image, images), in parallel.
  template <class Body>
  void run(const Body& body) const {
    parallel_for(count, 1, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) {
        const std::int64_t first = i * group, images = std::min(group, geometry.batch - first);
        body(images == group ? *whole : *rest, i, first, images);
      }
    });
  }
};

// The filter in the layout that the primitive reads.
Tensor packed(const Groups& groups, const Tensor& filter) {
  const Tensor rows = contiguous(filter);
  const memory::desc& to = groups.whole->layout(DNNL_ARG_WEIGHTS);
  const Layouts l = layouts_of(groups.geometry, groups.group, rows.dtype(), rows.dtype(), rows.dtype());
  Tensor result({static_cast<std::int64_t>(to.get_size())}, uint8);
  reorder(groups.key, l.filter_rows, rows.raw(), to, result.raw_mutable());
  return result;
}

bool exact(const Convolution& call) {
  return fits_float32(call.image.dtype()) && fits_float32(call.filter.dtype()) &&
         fits_float32(call.result.dtype()) && (!call.bias.defined() || fits_float32(call.bias.dtype()));
}

bool has_products(const Convolution& call) {
  return call.image.count() > 0 && call.filter.count() > 0 && call.result.count() > 0;
}

}  // namespace

void convolution(const Convolution& call) {
  if (!exact(call) || !has_products(call)) return reference_backend().convolution(call);
  const DType format = product_format(call.image.dtype(), call.filter.dtype());
  const SourceImages images(call.image, format);
  const ResultImages results(call.result, format);
  const Tensor bias = call.bias.defined() ? contiguous(decoded(call.bias, float32)) : Tensor();
  const Groups groups(PrimitiveKind::forward, call, group_of(geometry_of(call)), format, results.written());
  const Tensor filter = packed(groups, decoded(call.filter, format));
  groups.run([&](const CompiledPrimitive& run, std::int64_t, std::int64_t first, std::int64_t count) {
    Tensor from, to;
    const Argument src{DNNL_ARG_SRC, images.read(first, count, from)},
        weights{DNNL_ARG_WEIGHTS, filter.raw()}, dst{DNNL_ARG_DST, results.open(first, count, to)};
    if (bias.defined())
      execute(run, {src, weights, dst, {DNNL_ARG_BIAS, bias.raw()}});
    else
      execute(run, {src, weights, dst});
    results.close(first, count, to);
  });
  results.finish();
}

void convolution_image_gradient(const Convolution& call) {
  if (!exact(call) || !has_products(call)) return reference_backend().convolution_image_gradient(call);
  const DType format = product_format(call.result.dtype(), call.filter.dtype());
  const SourceImages dy(call.result, format);
  const ResultImages dx(call.image, format);
  const Groups groups(PrimitiveKind::image_gradient, call, group_of(geometry_of(call)), format, dx.written());
  const Tensor filter = packed(groups, decoded(call.filter, format));
  groups.run([&](const CompiledPrimitive& run, std::int64_t, std::int64_t first, std::int64_t count) {
    Tensor from, to;
    execute(run, {{DNNL_ARG_DIFF_DST, dy.read(first, count, from)},
                  {DNNL_ARG_WEIGHTS, filter.raw()},
                  {DNNL_ARG_DIFF_SRC, dx.open(first, count, to)}});
    dx.close(first, count, to);
  });
  dx.finish();
}

void convolution_filter_gradient(const Convolution& call) {
  if (!exact(call) || !has_products(call)) return reference_backend().convolution_filter_gradient(call);
  const DType format = product_format(call.image.dtype(), call.result.dtype());
  const SourceImages images(call.image, format), dy(call.result, format);
  const Groups groups(PrimitiveKind::filter_gradient, call, gradient_group_of(geometry_of(call)), format,
                      float32);
  const memory::desc& layout = groups.whole->layout(DNNL_ARG_DIFF_WEIGHTS);
  const auto size = static_cast<std::int64_t>(layout.get_size() / sizeof(float));
  Tensor partial({groups.count, size}, float32);
  auto* sums = partial.mutable_data<float>();
  groups.run([&](const CompiledPrimitive& run, std::int64_t group, std::int64_t first, std::int64_t count) {
    Tensor image_tile, dy_tile;
    execute(run, {{DNNL_ARG_SRC, images.read(first, count, image_tile)},
                  {DNNL_ARG_DIFF_DST, dy.read(first, count, dy_tile)},
                  {DNNL_ARG_DIFF_WEIGHTS, sums + group * size}});
  });
  parallel_for(size, 8192, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t group = 1; group < groups.count; ++group)
      for (std::int64_t i = begin; i < end; ++i) sums[i] += sums[group * size + i];
  });

  const Layouts l = layouts_of(groups.geometry, groups.group, format, float32, format);
  const Tensor& to = call.filter;
  const bool direct = to.dtype() == float32 && to.is_contiguous() && !call.accumulate;
  const Tensor rows = direct ? to : Tensor(to.shape(), float32);
  reorder(groups.key, layout, sums, l.filter_rows, rows.raw_mutable());
  const Backend& cpu = find_backend("cpu");
  constexpr Formula kAdd = formula<2>([](auto a, auto b) { return a + b; });
  if (call.accumulate)
    cpu.elementwise(kAdd, std::array{to, rows}, to);
  else if (!direct)
    cpu.copy(rows, to);
}

}  // namespace halftone::cpu
