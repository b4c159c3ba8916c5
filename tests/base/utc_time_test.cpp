// SPDX-License-Identifier: Apache-2.0
#include "base/utc_time.h"

#include <gtest/gtest.h>

#include <ctime>

namespace halftone {
namespace {

TEST(UtcNow, ReadsBackAsTheTime) {
  const std::time_t before = std::time(nullptr);
  const std::string text = utc_now();
  const std::time_t after = std::time(nullptr);
  std::tm read{};
  const char* end = ::strptime(text.c_str(), "%Y-%m-%dT%H:%M:%SZ", &read);
  ASSERT_EQ(end, text.c_str() + text.size()) << text;
  EXPECT_EQ(text.size(), 20U) << text;
  EXPECT_GE(::timegm(&read), before) << text;
  EXPECT_LE(::timegm(&read), after) << text;
}

}  // namespace
}  // namespace halftone
