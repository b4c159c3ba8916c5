// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cmath>

#include "amp/quantizers.h"
#include "amp/support.h"
#include "format/block_oracle.h"
#include "halftone/amp.h"
#include "halftone/parallel.h"

namespace halftone::amp {
namespace {

Operands blocks(std::string_view forward, Rounding rounding = Rounding::nearest_even) {
  return {OperandScaling::block, forward, forward, rounding};
}

// Values of very different sizes, so that neighbouring blocks have different scales.
Tensor varied(const Shape& shape, DType dtype = float32) {
  std::vector<double> values = random_normal(shape, 3, 7).to_vector();
  for (std::size_t i = 0; i < values.size(); ++i)
    values[i] = std::ldexp(values[i], static_cast<int>(i * i % 23) - 11);
  return from_values(values, shape, dtype);
}

// Every run of `length` elements along the axis, by the oracle.
std::vector<double> expected(const BlockFormat& format, const Tensor& x, Along along, float tensor_scale) {
  const std::vector<double> in = x.to_vector();
  std::vector<double> out(in.size());
  const std::size_t last = static_cast<std::size_t>(x.size(-1)), first = static_cast<std::size_t>(x.size(0));
  const std::size_t total = in.size();
  const std::size_t length = along == Along::last ? last : along == Along::first ? first : total / last;
  const std::size_t step = along == Along::last ? 1 : along == Along::first ? total / first : last;
  for (std::size_t line = 0; line < total / length; ++line) {
    const std::size_t start = along == Along::last ? line * last : line;
    for (std::size_t begin = 0; begin < length; begin += static_cast<std::size_t>(format.length)) {
      const std::size_t end = std::min(length, begin + static_cast<std::size_t>(format.length));
      std::vector<float> block;
      for (std::size_t i = begin; i < end; ++i) block.push_back(static_cast<float>(in[start + i * step]));
      const std::vector<float> rounded = oracle::block_values(format, block, tensor_scale);
      for (std::size_t i = begin; i < end; ++i) out[start + i * step] = double{rounded[i - begin]};
    }
  }
  return out;
}

TEST(BlockQuantizer, BlocksRunAlongTheAxisAskedForInEveryFormatAndShape) {
  for (const BlockFormat& format : kBlockFormats) {
    const auto quantizer = make_block_quantizer(blocks(format.name));
    for (const Shape& shape : {Shape{5, 70}, Shape{70, 5}, Shape{3, 4, 33}, Shape{2, 1}, Shape{2, 3, 3, 40},
                               Shape{1, 700}, Shape{300, 33}})
      for (const Along along : {Along::last, Along::first, Along::rows}) {
        const Tensor x = varied(shape, bfloat16);
        double amax = 0;
        for (const double v : x.to_vector()) amax = std::max(amax, std::abs(v));
        float scale = tensor_scale(format, static_cast<float>(amax));
        if (format.has_tensor_scale) scale = std::exp2(std::ceil(std::log2(scale)));
        const Tensor y = quantizer->quantize(x, OperandRole::weight, along, "");
        EXPECT_EQ(y.dtype(), bfloat16);
        EXPECT_EQ(y.to_vector(), expected(format, x, along, scale))
            << format.name << to_string(shape) << static_cast<int>(along);
      }
  }
}

// Element times scale: 4 and 4 bits of significand are the 8 of bfloat16, 4 and 5 would be rounded again.
TEST(BlockQuantizer, WhatBfloat16CanNotHoldIsKeptInFloat32) {
  struct Row {
    const char* name;
    DType kept;
  };
  for (const Row& row : {Row{"float6_e2m3fn:16:ue4m3:nearest", bfloat16},
                         {"float6_e2m3fn:16:ue3m4:nearest", float32},
                         {"float8_e4m3fn:32:bfloat16:nearest", float32},
                         {"float8_e4m3fn:32:bfloat16:rceil", bfloat16}}) {
    const BlockFormat format = find_block_format(row.name);
    const Tensor x = random_normal({6, 64}, 3, 1);
    const Tensor y =
        make_block_quantizer(blocks(row.name))->quantize(x, OperandRole::weight, Along::last, "");
    EXPECT_EQ(y.dtype(), row.kept) << row.name;
    EXPECT_EQ(y.to_vector(), expected(format, x, Along::last, 1)) << row.name;
  }
}

TEST(BlockQuantizer, ReadsAnyFormatAndStrides) {
  const auto quantizer = make_block_quantizer(blocks("mxfp8_e4m3"));
  const Tensor x = varied({40, 36}, float16);
  const Tensor turned = quantizer->quantize(transpose(x, 0, 1), OperandRole::activation, Along::last, "");
  const Tensor straight = quantizer->quantize(x, OperandRole::activation, Along::first, "");
  EXPECT_EQ(turned.to_vector(), transpose(straight, 0, 1).to_vector());
  EXPECT_EQ(quantizer->quantize(cast(x, float32), OperandRole::activation, Along::first, "").to_vector(),
            straight.to_vector());
}

TEST(BlockQuantizer, WhatIsNotFiniteBecomesNaNInItsBlockAlone) {  // law 5
  for (const char* name : {"mxfp8_e4m3", "mxfp6_e3m2", "mxfp4", "nvfp4"}) {
    const auto quantizer = make_block_quantizer(blocks(name));
    for (const double bad : {kNan, kInf, -kInf}) {
      std::vector<double> values(96, 1.0);
      values[40] = bad;
      const std::vector<double> y =
          quantizer->quantize(from_values(values, {96}), OperandRole::gradient, Along::last, "").to_vector();
      EXPECT_TRUE(std::isnan(y[40])) << name << bad;
      const double error = name == std::string_view("nvfp4") ? 0x1p-4 : 0;  // its scale is rounded, too
      EXPECT_NEAR(y[0], 1, error) << name;
      EXPECT_NEAR(y[95], 1, error) << name;
    }
  }
}

TEST(BlockQuantizer, GradientsRoundedStochasticallyAreRightOnAverage) {
  const auto quantizer = make_block_quantizer(blocks("mxfp4:rceil", Rounding::stochastic));
  manual_seed(1);
  // One block with the scale 1 (its largest element is 6), and 2.3 between 2 and 3.
  std::vector<double> values(32, 2.3);
  values[0] = 6;
  const Tensor x = from_values(values, {32});
  double sum = 0;
  constexpr int kTimes = 2000;
  for (int i = 0; i < kTimes; ++i) {
    const std::vector<double> y = quantizer->quantize(x, OperandRole::gradient, Along::last, "").to_vector();
    EXPECT_EQ(y[0], 6);
    for (std::size_t k = 1; k < 32; ++k) {
      EXPECT_TRUE(y[k] == 2 || y[k] == 3);
      sum += y[k];
    }
  }
  const double count = 31.0 * kTimes;
  EXPECT_NEAR(sum / count, 2.3, 5 * std::sqrt(0.3 * 0.7 / count));
  // Only gradients: the others are as they were, each time.
  const Tensor weight = quantizer->quantize(x, OperandRole::weight, Along::last, "");
  EXPECT_EQ(weight.to_vector()[1], 2);
}

TEST(BlockQuantizer, HasTheSameBitsOnAnyNumberOfThreads) {  // law 9
  for (const char* name : {"mxfp8_e4m3", "nvfp4"})
    for (const Along along : {Along::last, Along::first, Along::rows}) {
      const auto quantizer = make_block_quantizer(blocks(name, Rounding::stochastic));
      const Tensor x = varied({100, 77, 3});
      std::vector<std::uint64_t> seen;
      for (const int threads : {1, 2, 5}) {
        const int before = thread_count();
        set_thread_count(threads);
        manual_seed(4);
        seen.push_back(bits(quantizer->quantize(x, OperandRole::gradient, along, "")));
        set_thread_count(before);
      }
      EXPECT_EQ(seen[0], seen[1]);
      EXPECT_EQ(seen[0], seen[2]);
    }
}

TEST(BlockQuantizer, TakesAnEmptyTensorAndOneNumber) {
  const auto quantizer = make_block_quantizer(blocks("mxfp4"));
  for (const Along along : {Along::last, Along::first, Along::rows}) {
    EXPECT_EQ(quantizer->quantize(zeros({0, 4}), OperandRole::weight, along, "").count(), 0);
    EXPECT_EQ(quantizer->quantize(full({1, 1}, 3), OperandRole::weight, along, "").item(), 3);
  }
}

}  // namespace
}  // namespace halftone::amp
