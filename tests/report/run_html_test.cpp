// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "halftone/amp.h"
#include "report/markup.h"
#include "report/records.h"

namespace halftone::report {
namespace {

bool shows(const std::string& html, const std::string& text) { return html.find(text) != std::string::npos; }

TEST(RunPage, TheHeadlineSaysTheResultInWords) {
  const std::string html = to_html(sample_record());
  EXPECT_EQ(markup_error(html), "");
  EXPECT_TRUE(shows(html, "<h1>90.52 % of the test images right, trained in float16 in 2 min 52 s</h1>"));
  EXPECT_TRUE(
      shows(html, "Here a convolutional network (cnn) with 1,690,826 parameters was trained for 3 epochs"));
  EXPECT_TRUE(shows(html, "2024-05-01 10:00 UTC"));
  EXPECT_FALSE(shows(html, "class=\"banner\""));
}

TEST(RunPage, SkippedStepsAreMarkedAndListedWithTheirCulprits) {
  const std::string html = to_html(sample_record());
  EXPECT_EQ(occurrences(html, "class=\"mark\""), 3u);
  EXPECT_TRUE(shows(html, "step 151: skipped at scale 16,384"));
  EXPECT_EQ(occurrences(html, "<td>conv1.weight: 3 inf, 0 NaN of 288 (conv2d, backward)</td>"), 3u);
}

TEST(RunPage, ARecipeWithoutScalingHasNoScaleChart) {
  const std::string html = to_html(sample_record(300, 1, "bfloat16"));
  EXPECT_TRUE(shows(html, "The loss was not scaled"));
  EXPECT_FALSE(shows(html, "Loss scale of every step"));
}

TEST(RunPage, EveryNumberOfTheEvidenceIsThere) {
  const std::string html = to_html(sample_record());
  for (const char* text :
       {"212 MiB", "480 MiB", "1,200", "210 GFLOP/s", "205 GFLOP/s", "Some Processor", "AVX-512",
        "2 cores, 2 threads used", "PASSIVE", "0.2734", "runs/sample", "autocast and dynamic loss scaling"})
    EXPECT_TRUE(shows(html, text)) << text;
}

TEST(RunPage, AnEmptyRecordAndASinglePointAreWholePages) {
  const std::string nothing = to_html(train::RunRecord{});
  EXPECT_EQ(markup_error(nothing), "");
  EXPECT_TRUE(shows(nothing, "No step was taken."));
  EXPECT_TRUE(shows(nothing, "This run was stopped after 0 steps and is not finished."));
  EXPECT_EQ(markup_error(to_html(sample_record(1))), "");
}

TEST(RunPage, AFailureIsTheHeadlineAndLossesThatAreNotFiniteAreGaps) {
  train::RunRecord record = sample_record();
  record.steps[200].loss = NAN;
  record.steps[201].loss = INFINITY;
  record.failure = "[amp::Step] the loss is <NaN>";
  record.finished = false;
  const std::string html = to_html(record);
  EXPECT_EQ(markup_error(html), "");
  EXPECT_TRUE(shows(html, "<h1>The training in float16 failed</h1>"));
  EXPECT_TRUE(shows(html, "[amp::Step] the loss is &lt;NaN&gt;"));
  EXPECT_FALSE(shows(html, "Mnan"));
}

TEST(RunPage, WhatAUserTypesIsEscaped) {
  train::RunRecord record = sample_record();
  record.config.task = record.config.model = record.config.recipe = record.config.optimizer =
      "<script>alert('&')</script>";
  record.config.out = record.config.data = record.machine.processor = record.version = record.started =
      record.config.task;
  record.skips[0].culprit = record.machine.simd = record.machine.wait_policy = record.config.task;
  EXPECT_EQ(markup_error(to_html(record)), "");
}

TEST(RunPage, ALongRunStaysASmallFile) {
  train::RunRecord record = sample_record(200000);
  record.skips.resize(5000, {7, 1, "w"});
  const std::string html = to_html(record);
  EXPECT_EQ(markup_error(html), "");
  EXPECT_LT(html.size(), 600000u);
  EXPECT_TRUE(shows(html, "<summary>4,988 more</summary>"));
}

TEST(RunPage, EveryRecipeHasAPage) {
  for (const amp::Recipe& row : amp::kRecipes)
    EXPECT_EQ(markup_error(to_html(sample_record(60, 1, std::string(row.name)))), "") << row.name;
}

}  // namespace
}  // namespace halftone::report
