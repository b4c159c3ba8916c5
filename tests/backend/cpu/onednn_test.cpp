// SPDX-License-Identifier: Apache-2.0
#include "backend/cpu/onednn.h"

#include "backend/cpu/bounds.h"

namespace halftone {
namespace {

using cpu::product_format;

TEST(OneDnn, ProductsAreFormedInAFormatThatHoldsBothOperands) {
  const DType narrow = cpu::has_bfloat16_products() ? bfloat16 : float32;
  EXPECT_EQ(product_format(bfloat16, bfloat16), narrow);
  EXPECT_EQ(product_format(float8_e4m3fn, float8_e5m2), narrow);
  EXPECT_EQ(product_format(bfloat16, float8_e4m3fn), narrow);
  EXPECT_EQ(product_format(uint8, bfloat16), narrow);
  EXPECT_EQ(product_format(float32, float32), float32);
  EXPECT_EQ(product_format(float16, float16), float32);
  EXPECT_EQ(product_format(float16, bfloat16), float32);
  EXPECT_EQ(product_format(bfloat16, float32), float32);
}

TEST(OneDnn, AFormatWhoseValuesWouldBeSubnormalBfloat16GoesThroughFloat32) {
  static constexpr Format kTiny{"tiny", 4, 3, 134, Specials::ieee}, kLong{"long", 5, 8, 15, Specials::ieee};
  EXPECT_EQ(product_format(DType(&kTiny), bfloat16), float32);
  EXPECT_EQ(product_format(DType(&kLong), bfloat16), float32);
}

TEST(OneDnn, DecodingKeepsTheValuesAndTheOrderOfMemory) {
  const Tensor x = test::uniform({2, 5, 3}, float16, 1);
  const Tensor turned = x.view({2, 3, 5}, {15, 1, 3}, 0);
  for (const Tensor& from : {x, turned}) {
    const Tensor y = cpu::decoded(from, float32);
    EXPECT_EQ(y.dtype(), float32);
    EXPECT_EQ(y.strides(), from.strides());
    EXPECT_EQ(y.to_vector(), from.to_vector());
  }
  EXPECT_EQ(cpu::decoded(x, float16).storage(), x.storage());
}

TEST(OneDnn, ARunOfCodesIsDecodedIntoTheFormatOfProducts) {
  const Tensor codes = test::uniform({3000}, float8_e4m3fn, 1, -400, 400);  // more than one piece
  for (const DType format : {float32, bfloat16}) {
    const Tensor values = full({3001}, 7, format);
    cpu::decode_values(codes.dtype(), codes.raw(), format, values.raw_mutable(), codes.count());
    std::vector<double> expected = codes.to_vector();
    expected.push_back(7);
    EXPECT_EQ(values.to_vector(), expected) << format.name();
  }
}

TEST(OneDnn, ContiguousCopiesOnlyIfItMust) {
  const Tensor x = test::uniform({4, 6}, bfloat16, 2), part = x.view({4, 3}, {6, 2}, 1);
  EXPECT_EQ(cpu::contiguous(x).storage(), x.storage());
  const Tensor copy = cpu::contiguous(part);
  EXPECT_TRUE(copy.is_contiguous());
  EXPECT_EQ(copy.to_vector(), part.to_vector());
}

cpu::CompiledPrimitive copy_of(std::int64_t count) {
  using dnnl::memory;
  const memory::desc layout({count}, memory::data_type::f32, memory::format_tag::a);
  const dnnl::reorder::primitive_desc description(cpu::onednn_engine(), layout, cpu::onednn_engine(), layout,
                                                  cpu::primitive_attributes());
  return {dnnl::reorder(description),
          {{DNNL_ARG_FROM, layout}, {DNNL_ARG_TO, layout}},
          description.scratchpad_desc()};
}

TEST(OneDnn, APrimitiveIsMadeOncePerKey) {
  int made = 0;
  const auto make = [&] { return ++made, copy_of(8); };
  const cpu::PrimitiveKey key{1000, 1}, other{1000, 2};
  const auto first = cpu::cached_primitive(key, make), second = cpu::cached_primitive(key, make);
  EXPECT_EQ(first, second);
  EXPECT_EQ(made, 1);
  EXPECT_NE(cpu::cached_primitive(other, make), first);
  EXPECT_EQ(made, 2);
  cpu::forget_primitives();
  EXPECT_NE(cpu::cached_primitive(key, make), first);
  EXPECT_EQ(made, 3);
}

TEST(OneDnn, TheCacheForgetsBeforeItGrowsWithoutEnd) {
  int made = 0;
  const auto make = [&] { return ++made, copy_of(8); };
  const auto held = cpu::cached_primitive({1001, 0}, make);
  for (std::int64_t i = 1; i <= 1100; ++i) cpu::cached_primitive({1001, i}, make);
  EXPECT_EQ(made, 1101);
  cpu::cached_primitive({1001, 0}, make);
  EXPECT_EQ(made, 1102);
  const Tensor x = test::uniform({8}, float32, 3), y({8}, float32);
  cpu::execute(*held, {{DNNL_ARG_FROM, x.raw()}, {DNNL_ARG_TO, y.raw()}});
  EXPECT_EQ(y.to_vector(), x.to_vector());
}

TEST(OneDnn, OnePrimitiveRunsOnSeveralThreadsAtOnce) {
  const test::Threads restore;
  set_thread_count(4);
  const auto copy = cpu::cached_primitive({1002}, [] { return copy_of(64); });
  const Tensor x = test::uniform({200, 64}, float32, 4);
  Tensor y({200, 64}, float32);
  float* const to = y.mutable_data<float>();
  parallel_for(200, 1, [&](std::int64_t begin, std::int64_t) {
    cpu::execute(*copy, {{DNNL_ARG_FROM, x.data<float>() + begin * 64}, {DNNL_ARG_TO, to + begin * 64}});
  });
  EXPECT_TRUE(test::same_bits(x, y));
  EXPECT_EQ(thread_count(), 4);  // as before
}

TEST(OneDnn, WhatOneDnnRefusesIsUnsupported) {
  const auto make = []() -> cpu::CompiledPrimitive {
    using dnnl::memory;
    const memory::desc a({2, 3}, memory::data_type::f32, memory::format_tag::ab);
    const dnnl::matmul::primitive_desc description({a, a, a}, cpu::primitive_attributes(),
                                                   cpu::onednn_engine());
    return {dnnl::matmul(description), {}, description.scratchpad_desc()};
  };
  EXPECT_THROW(cpu::cached_primitive({1003}, make), Unsupported);
}

TEST(OneDnn, WhatOneDnnHasNoMemoryForIsNotUnsupported) {
  const auto fails = [](dnnl_status_t status) {
    return [status]() -> cpu::CompiledPrimitive { throw dnnl::error(status, "a failure"); };
  };
  EXPECT_THROW(cpu::cached_primitive({1005}, fails(dnnl_out_of_memory)), std::bad_alloc);
  EXPECT_THROW(cpu::cached_primitive({1005}, fails(dnnl_unimplemented)), Unsupported);
  try {
    cpu::cached_primitive({1005}, fails(dnnl_runtime_error));
    FAIL() << "nothing was thrown";
  } catch (const Unsupported&) {
    FAIL() << "a shape that oneDNN has";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("a failure"), std::string::npos);
  }
}

TEST(OneDnn, AFailedExecutionIsAnErrorOfOurs) {
  cpu::CompiledPrimitive nothing = copy_of(8);
  nothing.primitive = dnnl::primitive();
  const Tensor x = test::uniform({8}, float32, 6), y({8}, float32);
  EXPECT_THROW(cpu::execute(nothing, {{DNNL_ARG_FROM, x.raw()}, {DNNL_ARG_TO, y.raw()}}), Error);
}

TEST(OneDnn, ReorderMovesBetweenLayoutsAndFormats) {
  using dnnl::memory;
  const memory::desc rows({3, 4}, memory::data_type::f32, memory::format_tag::ab);
  const memory::desc columns({3, 4}, memory::data_type::bf16, memory::format_tag::ba);
  const Tensor x = test::uniform({3, 4}, bfloat16, 5), wide = cpu::decoded(x, float32), y({4, 3}, bfloat16);
  cpu::reorder({1004}, rows, wide.raw(), columns, y.raw_mutable());
  EXPECT_EQ(y.view({3, 4}, {1, 3}, 0).to_vector(), x.to_vector());
}

}  // namespace
}  // namespace halftone
