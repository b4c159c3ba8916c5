// SPDX-License-Identifier: Apache-2.0
#include "report/json_text.h"

#include <gtest/gtest.h>

#include <limits>

namespace halftone::report {
namespace {

TEST(JsonText, NumbersStandOnOneLineAndObjectsAreIndented) {
  const Json json = {{"a", {1, 2, 3}},
                     {"b", {{"c", "x"}, {"d", Json::array()}}},
                     {"e", Json::array({Json::object({{"f", true}})})}};
  EXPECT_EQ(layout(json),
            "{\n  \"a\": [1,2,3],\n  \"b\": {\n    \"c\": \"x\",\n    \"d\": []\n  },\n  \"e\": [\n    {\n   "
            "   \"f\": true\n"
            "    }\n  ]\n}\n");
}

TEST(JsonText, AnyStringParsesBack) {
  const Json json = {{"quote \" and \\ and \n", "tab\t \x01 ü"}, {"broken", "\xFF"}};
  const Json back = Json::parse(layout(json));
  EXPECT_EQ(back["quote \" and \\ and \n"], "tab\t \x01 ü");
  EXPECT_EQ(back["broken"], "\xEF\xBF\xBD");
}

TEST(JsonText, AFloatIsWrittenAsShortAsItIs) {
  EXPECT_EQ(layout(Json(short_double(0.1f))), "0.1\n");
  EXPECT_EQ(static_cast<float>(short_double(1.17549435e-38f)), 1.17549435e-38f);
  EXPECT_EQ(layout(Json(short_double(std::numeric_limits<float>::infinity()))), "null\n");
}

}  // namespace
}  // namespace halftone::report
