// SPDX-License-Identifier: Apache-2.0
#include "halftone/warning.h"

#include <gtest/gtest.h>

#include <vector>

namespace halftone {
namespace {

TEST(Warning, IsGivenOncePerHandlerAndKeptWhileThereIsNone) {
  set_warning_handler(nullptr);
  warn_once("here", "a thing", "another", "that");
  warn_once("here", "a thing", "another", "that");
  std::vector<std::string> seen;
  set_warning_handler([&](const std::string& message) { seen.push_back(message); });
  ASSERT_EQ(seen.size(), 1u);
  EXPECT_EQ(seen[0], "[here] a thing; expected another; try that");
  warn_once("here", "a thing", "another", "that");
  warn_once("here", "a thing", "another", "that");
  EXPECT_EQ(seen.size(), 2u);
  warn_once("there", "a thing", "another", "that");
  EXPECT_EQ(seen.size(), 3u);
  EXPECT_TRUE(set_warning_handler(nullptr));
}

}  // namespace
}  // namespace halftone
