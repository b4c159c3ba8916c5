// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>

#include "report/records.h"

namespace halftone::report {
namespace {

std::vector<std::string> lines(const std::string& text) {
  std::vector<std::string> out;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) out.push_back(line);
  return out;
}

TEST(RunText, TenLinesSayWhatHappened) {
  const std::vector<std::string> text = lines(to_text(sample_record(), "runs/x/report.html"));
  ASSERT_EQ(text.size(), 10u);
  EXPECT_EQ(text[0], "Trained   a convolutional network (cnn) with 1,690,826 parameters on fashion-mnist");
  EXPECT_EQ(text[2], "Result    90.52 % of the test images are classified right (test loss 0.2734)");
  EXPECT_EQ(text[3], "Run       finished after 300 steps");
  EXPECT_EQ(text[4], "Time      2 min 52 s, evaluation included");
  EXPECT_EQ(text[5], "Speed     1,200 images/s in training, 2 threads of Some Processor");
  EXPECT_EQ(text[6], "Memory    212 MiB in tensors at the peak, 480 MiB for the whole process");
  EXPECT_EQ(text[7].rfind("Scale     16,384 at the last step", 0), 0u) << text[7];
  EXPECT_EQ(text[8].rfind("Skipped   3 steps; this is normal", 0), 0u) << text[8];
  EXPECT_EQ(text[9], "Report    runs/x/report.html (open it in a browser)");
}

TEST(RunText, AFailureAStopAndNothingAreSaid) {
  train::RunRecord record = sample_record(40);
  record.finished = false;
  EXPECT_EQ(lines(to_text(record, ""))[3],
            "Run       stopped after 40 steps; --resume continues it to the same bits");
  record.failure = "the loss is NaN";
  EXPECT_EQ(lines(to_text(record, ""))[3], "Run       failed after 40 steps: the loss is NaN");
  EXPECT_EQ(lines(to_text(record, ""))[9], "Report    not written");
  EXPECT_EQ(lines(to_text(train::RunRecord{}, "")).size(), 10u);
}

TEST(ComparisonText, ColumnsAreAligned) {
  Comparison comparison;
  comparison.series.push_back(
      {"float32", {sample_record(20, 1, "float32"), sample_record(20, 2, "float32")}, ""});
  comparison.series.push_back({"float16_no_master", {}, "seed 1: the loss is NaN"});
  const std::vector<std::string> text = lines(to_text(comparison));
  ASSERT_EQ(text.size(), 4u);
  const auto shown = [](const std::string& line) {
    return std::count_if(line.begin(), line.end(), [](unsigned char c) { return (c & 0xC0) != 0x80; });
  };
  EXPECT_EQ(shown(text[0]), shown(text[1]));
  EXPECT_EQ(shown(text[0]), shown(text[2]));
  EXPECT_NE(text[1].find("90.57 % ± 0.07"), std::string::npos);
  EXPECT_EQ(text[1].substr(text[1].size() - 3), "2/2");
  EXPECT_EQ(text[3], "float16_no_master failed: seed 1: the loss is NaN");
}

TEST(ComparisonText, WithoutARunThereIsNoTable) {
  Comparison comparison;
  comparison.series.push_back({"float32", {}, ""});
  EXPECT_EQ(to_text(comparison), "no run was finished\n");
  comparison.series[0].failure = "seed 1: no memory";
  EXPECT_EQ(to_text(comparison), "no run was finished\nfloat32 failed: seed 1: no memory\n");
}

TEST(ComparisonText, WhatAnOlderStateFileLacksIsADash) {
  Comparison comparison;
  comparison.series.push_back({"float32", {sample_record(20, 1, "float32")}, ""});
  train::RunRecord& run = comparison.series[0].runs[0];
  run.seconds = 0;
  run.peak_memory = run.peak_resident = 0;
  for (const std::string& shown : {to_text(comparison), to_html(comparison)}) {
    EXPECT_EQ(shown.find("0.00 s"), std::string::npos) << shown;
    EXPECT_EQ(shown.find("0.0 MiB"), std::string::npos) << shown;
  }
  const std::string row = lines(to_text(comparison))[1];
  std::size_t dashes = 0;
  for (std::size_t at = row.find("–"); at != row.npos; at = row.find("–", at + 1)) ++dashes;
  EXPECT_EQ(dashes, 4u) << row;  // against the first (itself), time and two memories
}

TEST(RunText, ARecipeWithoutALossScaleShowsNone) {
  EXPECT_NE(to_text(sample_record(80, 1, "float16"), "").find("\nScale "), std::string::npos);
  EXPECT_EQ(to_text(sample_record(80, 1, "bfloat16"), "").find("\nScale "), std::string::npos);
}

}  // namespace
}  // namespace halftone::report
