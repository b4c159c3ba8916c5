// SPDX-License-Identifier: Apache-2.0
#include "base/join.h"

#include <gtest/gtest.h>

#include <array>
#include <string_view>
#include <vector>

namespace halftone {
namespace {

TEST(Join, NamesOfAnyKind) {
  EXPECT_EQ(join(std::vector<std::string_view>{}), "");
  EXPECT_EQ(join(std::vector<std::string>{"a"}), "a");
  EXPECT_EQ(join(std::array{"a", "b", "c"}), "a, b, c");
  EXPECT_EQ(join(std::array{"", "b"}), ", b");
}

TEST(Join, WhatIsMadeOfEachElement) {
  struct Row {
    std::string_view name;
    std::string twice() const { return std::string(name) + std::string(name); }
  };
  constexpr Row kRows[] = {{"a"}, {"b"}};
  EXPECT_EQ(join(kRows, &Row::name), "a, b");
  EXPECT_EQ(join(std::array{&kRows[1], &kRows[0]}, &Row::twice), "bb, aa");
  EXPECT_EQ(join(std::array{1, 23}, [](int value) { return std::to_string(value); }), "1, 23");
}

}  // namespace
}  // namespace halftone
