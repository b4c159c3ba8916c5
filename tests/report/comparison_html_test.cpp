// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "halftone/amp.h"
#include "report/markup.h"
#include "report/records.h"

namespace halftone::report {
namespace {

bool shows(const std::string& html, const std::string& text) { return html.find(text) != std::string::npos; }

TEST(ComparisonPage, ShowsMeanSpreadAndDifferenceOfEveryRecipe) {
  Comparison comparison;
  for (const amp::Recipe& row : amp::kRecipes) {
    Series series{.recipe = std::string(row.name), .runs = {}, .failure = ""};
    for (int seed = 1; seed <= 3; ++seed) series.runs.push_back(sample_record(80, seed, series.recipe));
    comparison.series.push_back(series);
  }
  for (train::RunRecord& run : comparison.series[2].runs) run.epochs.back().test_accuracy -= 0.005;
  const std::string html = to_html(comparison);
  EXPECT_EQ(markup_error(html), "");
  EXPECT_TRUE(
      shows(html, fmt::format("<h1>{} recipes compared over 3 seeds</h1>", std::size(amp::kRecipes))));
  EXPECT_TRUE(shows(html, "<td class=\"n\">90.62 % ± 0.10</td><td class=\"n\">–</td>"));
  EXPECT_TRUE(shows(html, "<td class=\"n\">-0.50 ± 0.00</td>"));
  EXPECT_EQ(occurrences(html, "<td class=\"n\">3 of 3</td>"), std::size(amp::kRecipes));
  // A dot per run, one per epoch, and one per epoch of the differences from the first.
  EXPECT_EQ(occurrences(html, "<circle"), 9 * std::size(amp::kRecipes) - 3);
  EXPECT_TRUE(shows(html, "Test accuracy less that of float32 with the same seed, mean over the seeds"));
}

TEST(ComparisonPage, FailuresAreToldFirst) {
  Comparison comparison;
  comparison.series.push_back({"float32", {sample_record(40, 1, "float32")}, ""});
  comparison.series.push_back({"float16", {sample_record(40, 1)}, "seed 1: the loss is <NaN>"});
  comparison.series[1].runs[0].finished = false;
  comparison.series.push_back({"bfloat16", {}, "seed 1: no memory"});
  const std::string html = to_html(comparison);
  EXPECT_EQ(markup_error(html), "");
  EXPECT_TRUE(shows(html, "<b>float16</b>: 1 of 1 run ended early. seed 1: the loss is &lt;NaN&gt;"));
  EXPECT_TRUE(shows(html, "<b>bfloat16</b>: no run. seed 1: no memory"));
  EXPECT_TRUE(shows(html, "<td class=\"n\">0 of 1</td>"));
  EXPECT_TRUE(shows(html, "no run finished"));
}

TEST(ComparisonPage, ARecipeWithoutARunDoesNotSayByWhatTheOthersAreJudged) {
  train::RunRecord run = sample_record(40, 1, "bfloat16");
  run.config.task = "text", run.config.model = "gpt2";
  run.measure = {.unit = "tokens", .units_per_example = 256, .bytes_per_unit = 1};
  Comparison comparison;
  comparison.series.push_back({"float16", {}, "seed 1: no memory"});
  comparison.series.push_back({"bfloat16", {run}, ""});
  const std::string html = to_html(comparison);
  EXPECT_EQ(markup_error(html), "");
  for (const char* text :
       {"Bits per byte of every evaluation", "Bits per byte of every run",
        "Bits per byte: ", "(less is better)", "Tokens/s", "tokens/s is of training alone"})
    EXPECT_TRUE(shows(html, text)) << text;
  for (const char* text : {"accuracy", "Images/s", "images/s", "are in points"})
    EXPECT_FALSE(shows(html, text)) << text;
}

TEST(ComparisonPage, NothingIsStillAPage) { EXPECT_EQ(markup_error(to_html(Comparison{})), ""); }

}  // namespace
}  // namespace halftone::report
