// SPDX-License-Identifier: Apache-2.0
#include "report/bars.h"

#include <gtest/gtest.h>

#include <numeric>

#include "report/markup.h"

namespace halftone::report {
namespace {

StackedBars bars() {
  return {.title = "Time <of> a step",
          .x_label = "ms",
          .unit = "ms",
          .parts = {"a", "b", "c", "d", "e"},
          .pale_last = true,
          .rows = {{"float32", "15 ms", {1, 2, 3, 4, 5}}, {"float16", "8 ms", {6, 0, 1, 0, 1}}}};
}

TEST(Bars, ABarHasItsPartsSideBySide) {
  const std::string html = to_html(bars());
  EXPECT_EQ(markup_error(html), "");
  EXPECT_EQ(occurrences(html, "<title>"), 5U + 3U);  // none for a part that is not there
  // The axis ends at 15: a part of 3 that begins at 3 is a fifth of it, from a fifth on.
  EXPECT_NE(
      html.find("x=\"20.00%\" y=\"18%\" width=\"20.00%\" height=\"64%\" fill=\"var(--c2)\"><title>c: 3 ms"),
      std::string::npos)
      << html;
  EXPECT_NE(html.find("fill=\"var(--rule)\"><title>e: 5 ms"), std::string::npos);
  EXPECT_NE(html.find("Time &lt;of&gt; a step"), std::string::npos);
}

TEST(Bars, SmallPartsAreMergedAndNothingIsLost) {
  StackedBars merged = bars();
  merge_small(merged, 4, "rest", true);
  EXPECT_EQ(merged.parts, (std::vector<std::string>{"a", "d", "rest", "e"}));
  EXPECT_EQ(merged.rows[0].parts, (std::vector<double>{1, 4, 5, 5}));
  EXPECT_EQ(merged.rows[1].parts, (std::vector<double>{6, 0, 1, 1}));

  merged = bars();
  merge_small(merged, 3, "rest", false);
  EXPECT_EQ(merged.parts, (std::vector<std::string>{"a", "e", "rest"}));
  const auto total = [](const BarRow& row) {
    return std::accumulate(row.parts.begin(), row.parts.end(), 0.0);
  };
  const StackedBars whole = bars();
  for (std::size_t i = 0; i < 2; ++i) EXPECT_EQ(total(merged.rows[i]), total(whole.rows[i]));

  merged = bars();
  merge_small(merged, 5, "rest", true);
  EXPECT_EQ(merged.parts, bars().parts);
}

TEST(Bars, NothingAtAllIsAPictureToo) {
  EXPECT_EQ(markup_error(
                to_html(StackedBars{.title = "t", .x_label = "x", .unit = "u", .parts = {"a"}, .rows = {}})),
            "");
}

}  // namespace
}  // namespace halftone::report
