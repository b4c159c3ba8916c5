// SPDX-License-Identifier: Apache-2.0
//
// Initial values are numbers of the thread's random sequence, taken in the order in which layers are made.
#include "nn/init.h"

#include "halftone/nn.h"
#include "halftone/parallel.h"
#include "halftone/random.h"

namespace halftone::nn {
namespace {

constexpr std::int64_t kChunk = 16384;
thread_local int without_values = 0;

}  // namespace

WithoutInitialValues::WithoutInitialValues() { ++without_values; }
WithoutInitialValues::~WithoutInitialValues() { --without_values; }

Tensor uniform_parameter(const Shape& shape, double bound) {
  Tensor parameter(shape, float32);
  if (without_values > 0) return parameter.set_requires_grad();
  const std::uint64_t seed = thread_state().seed;
  const std::uint64_t first = take_random(static_cast<std::uint64_t>(parameter.count()));
  const float scale = static_cast<float>(bound);
  float* values = parameter.mutable_data<float>();
  parallel_for(parameter.count(), kChunk, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i)
      values[i] =
          scale *
          (2 * random_uniform_at(seed, streams::initialise, first + static_cast<std::uint64_t>(i)) - 1);
  });
  return parameter.set_requires_grad();
}

Tensor normal_parameter(const Shape& shape, double deviation) {
  Tensor parameter(shape, float32);
  if (without_values > 0) return parameter.set_requires_grad();
  const std::uint64_t seed = thread_state().seed;
  const std::uint64_t first = take_random(static_cast<std::uint64_t>(parameter.count()));
  const float scale = static_cast<float>(deviation);
  float* values = parameter.mutable_data<float>();
  parallel_for(parameter.count(), kChunk, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i)
      values[i] = scale * random_normal_at(seed, streams::initialise, first + static_cast<std::uint64_t>(i));
  });
  return parameter.set_requires_grad();
}

Tensor constant_parameter(const Shape& shape, double value) { return full(shape, value).set_requires_grad(); }

void check_sizes(const char* layer, std::initializer_list<int> sizes) {
  for (const int size : sizes)
    if (size < 1) throw ValueError(layer, "a size of " + std::to_string(size), "at least 1");
}

}  // namespace halftone::nn
