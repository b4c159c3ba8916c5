// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "cli/bench_run.h"
#include "halftone/profile.h"

namespace halftone {
namespace {

using Json = nlohmann::json;

const Json& trace() {
  static const Json parsed = Json::parse(small_step().trace, nullptr, false);
  return parsed;
}

std::set<std::string> classes() {
  std::set<std::string> all;
  for (std::size_t i = 0; i < profile::kClasses; ++i)
    all.insert(std::string(to_string(static_cast<profile::Class>(i))));
  return all;
}

TEST(BenchTrace, IsAnArrayOfCompleteEventsAndNames) {
  ASSERT_TRUE(trace().is_array());
  ASSERT_GT(trace().size(), 100U);
  const std::set<std::string> known = classes();
  std::map<std::string, int> names;
  for (const Json& event : trace()) {
    ASSERT_TRUE(event["pid"].is_number_unsigned() && event["tid"].is_number_unsigned());
    if (event["ph"] == "M") {
      if (event["name"] == "process_name") ++names[event["args"]["name"]];
      continue;
    }
    ASSERT_EQ(event["ph"], "X");
    EXPECT_GE(event["ts"], 0);
    EXPECT_GE(event["dur"], 0);
    EXPECT_TRUE(known.contains(event["cat"])) << event;
  }
  EXPECT_EQ(names, (std::map<std::string, int>{{"float32", 1}, {"bfloat16", 1}}));
}

// On each thread every event lies within those that are open when it begins. Times are whole nanoseconds.
TEST(BenchTrace, EventsNest) {
  std::map<std::pair<int, int>, std::vector<std::pair<std::int64_t, std::int64_t>>> open;
  for (const Json& event : trace()) {
    if (event["ph"] != "X") continue;
    const auto nanoseconds = [&](const char* key) { return std::llround(event[key].get<double>() * 1000); };
    const std::int64_t begin = nanoseconds("ts"), end = begin + nanoseconds("dur");
    auto& around = open[{event["pid"], event["tid"]}];
    while (!around.empty() && around.back().second <= begin) around.pop_back();
    if (!around.empty()) {
      EXPECT_GE(begin, around.back().first) << event;
      EXPECT_LE(end, around.back().second) << event;
    }
    around.emplace_back(begin, end);
  }
  EXPECT_GE(open.size(), 2U);
}

TEST(BenchTrace, HasTheStepWithItsOps) {
  double step = 0;
  std::map<std::string, int> count;
  for (const Json& event : trace())
    if (event["pid"] == 0 && event["ph"] == "X") {
      ++count[event["name"]];
      if (event["name"] == "step") step = event["dur"].get<double>() / 1000;
    }
  EXPECT_NEAR(step, small_step().json["recipes"][0]["breakdown"]["milliseconds"], 1e-6);
  // Two blocks of two norms each, and the last; four products in a block; the head with its loss.
  EXPECT_EQ(count["layer_norm"], 5);
  EXPECT_EQ(count["layer_norm backward"], 5);
  EXPECT_EQ(count["linear"], 8);
  EXPECT_EQ(count["linear backward"], 8);
  EXPECT_EQ(count["linear_cross_entropy"], 1);
  EXPECT_EQ(count["linear_cross_entropy backward"], 1);
  EXPECT_EQ(count["batch"], 1);
  EXPECT_EQ(count["scan gradients"], 1);
  EXPECT_EQ(count["update"], 2 + 2 * 12 + 2);  // a parameter each
}

}  // namespace
}  // namespace halftone
