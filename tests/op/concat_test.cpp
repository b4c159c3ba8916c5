// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "halftone/ops.h"

namespace halftone {
namespace {

std::string error_of(Tensor (*op)(const std::vector<Tensor>&, int), const std::vector<Tensor>& tensors) {
  try {
    op(tensors, 0);
  } catch (const Error& e) {
    return e.what();
  }
  return "";
}

TEST(Concat, ErrorsNameTheOpThatWasCalled) {
  EXPECT_EQ(error_of(concat, {}).rfind("[concat] no tensors", 0), 0U);
  EXPECT_EQ(error_of(stack, {}).rfind("[stack] no tensors", 0), 0U);
  EXPECT_EQ(error_of(stack, {ones({2}), ones({3})}).rfind("[stack]", 0), 0U);
}

}  // namespace
}  // namespace halftone
