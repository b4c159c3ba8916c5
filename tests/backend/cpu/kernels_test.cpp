// SPDX-License-Identifier: Apache-2.0
#include "backend/cpu/kernels.h"

#include <gtest/gtest.h>

namespace halftone {
namespace {

TEST(Kernels, EveryNameFindsItsOwnKernel) {
  EXPECT_EQ(cpu::find_kernel("attention.forward"), cpu::attention_forward);
  EXPECT_EQ(cpu::find_kernel("attention.backward"), cpu::attention_backward);
  EXPECT_EQ(cpu::find_kernel("batch_norm.forward"), cpu::batch_norm_forward);
  EXPECT_EQ(cpu::find_kernel("batch_norm.backward"), cpu::batch_norm_backward);
  EXPECT_EQ(cpu::find_kernel("layer_norm.forward"), cpu::layer_norm_forward);
  EXPECT_EQ(cpu::find_kernel("layer_norm.backward"), cpu::layer_norm_backward);
  EXPECT_EQ(cpu::find_kernel("rms_norm.forward"), cpu::rms_norm_forward);
  EXPECT_EQ(cpu::find_kernel("rms_norm.backward"), cpu::rms_norm_backward);
  EXPECT_EQ(cpu::find_kernel("max_pool2d.forward"), cpu::max_pool2d_forward);
  EXPECT_EQ(cpu::find_kernel("max_pool2d.backward"), cpu::max_pool2d_backward);
  EXPECT_EQ(cpu::find_kernel("avg_pool2d.forward"), cpu::avg_pool2d_forward);
  EXPECT_EQ(cpu::find_kernel("avg_pool2d.backward"), cpu::avg_pool2d_backward);
  EXPECT_EQ(cpu::find_kernel("rotary"), cpu::rotary);
}

TEST(Kernels, AnotherNameFindsNone) {
  for (const char* name : {"", "batch_norm", "max_pool2d.forward ", "softmax.forward"})
    EXPECT_EQ(cpu::find_kernel(name), nullptr) << name;
}

TEST(Kernels, TheBackendOffersThem) {
  EXPECT_EQ(find_backend("cpu").find("max_pool2d.forward"), cpu::max_pool2d_forward);
  EXPECT_EQ(find_backend("reference").find("max_pool2d.forward"), nullptr);
}

}  // namespace
}  // namespace halftone
