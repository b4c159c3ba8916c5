// SPDX-License-Identifier: Apache-2.0
#include "report/score.h"

#include <gtest/gtest.h>

#include <cmath>

#include "halftone/report.h"
#include "report/markup.h"
#include "report/records.h"

namespace halftone::report {
namespace {

bool shows(const std::string& html, const std::string& text) { return html.find(text) != std::string::npos; }

train::Measure text_measure(double bytes_per_token = 1) {
  return {
      .unit = "tokens", .units_per_example = 256, .bytes_per_unit = bytes_per_token, .flops_per_unit = 1e6};
}

train::RunRecord text_record(int seed = 1) {
  train::RunRecord record = sample_record(300, seed, "bfloat16");
  record.config.task = "text";
  record.config.model = "gpt2";
  record.config.steps = 300;
  record.config.evaluate_every = 100;
  record.measure = text_measure();
  return record;
}

TEST(Score, OfAClassifierIsAPercentageAndMoreIsBetter) {
  const train::Measure images;
  EXPECT_EQ(score_name(images), "test accuracy");
  EXPECT_EQ(score_text(images, 0.91416), "91.42 %");
  EXPECT_EQ(score_digits(images, 0.91416), "91.42");
  EXPECT_EQ(score_difference(images, -0.0012), "-0.12");
  EXPECT_EQ(score_difference(images, 0.0004), "+0.04");
  EXPECT_TRUE(better_score(images, 0.92, 0.91));
}

TEST(Score, OfTextIsBitsPerByteAndLessIsBetter) {
  const train::Measure text = text_measure();
  EXPECT_EQ(score_name(text), "bits per byte");
  EXPECT_EQ(score_key(text), "bits_per_byte");
  EXPECT_EQ(score_text(text, 1.87318), "1.8732");
  EXPECT_EQ(score_difference(text, 0.00312), "+0.0031");
  EXPECT_EQ(score_difference(text, -0.00312), "-0.0031");
  EXPECT_EQ(score_difference(text, -0.00001), "0.0000");
  EXPECT_EQ(score_difference(text, 0.00001), "0.0000");
  EXPECT_TRUE(better_score(text, 1.8, 1.9));
}

TEST(Score, BitsPerByteAreNatsByTheBytesOfATokenInUnitsOfTwo) {
  EXPECT_DOUBLE_EQ(text_measure().bits_per_byte(std::log(256.0)), 8);     // nothing is known of a byte
  EXPECT_DOUBLE_EQ(text_measure(4).bits_per_byte(4 * std::log(2.0)), 1);  // a token of four bytes
  EXPECT_DOUBLE_EQ(score_of(text_measure(2), {.test_loss = std::log(16.0)}), 2);
}

TEST(Score, PagesAndTextsOfARunOnTextSpeakOfBitsAndTokens) {
  const train::RunRecord record = text_record();
  const std::string html = to_html(record), text = to_text(record, "");
  EXPECT_EQ(markup_error(html), "");
  EXPECT_EQ(html.find("accuracy"), std::string::npos);
  EXPECT_EQ(html.find("images"), std::string::npos);
  const std::string score = score_text(record.measure, (0.2401 + 0.1 / 3) / std::log(2.0));
  EXPECT_TRUE(shows(html, score + " bits per byte, trained in bfloat16"));
  EXPECT_NE(text.find(score + " bits per byte"), std::string::npos) << text;
  EXPECT_NE(text.find("1,200 tokens/s in training, 1 % of roofline"), std::string::npos)
      << text;  // 1.2 of 205
  const std::string json = to_json(record);
  EXPECT_NE(json.find("\"bits_per_byte\""), std::string::npos);
  EXPECT_NE(json.find("\"tokens_per_second\""), std::string::npos);
}

TEST(Score, TextIsEvaluatedAtStepsAndTheLastEvaluationAtTheEnd) {
  train::RunRecord record = text_record();
  record.config.evaluate_every = 120;  // 120, 240 and, as the run is of 300 steps, 300
  EXPECT_EQ(evaluation_unit(record.measure), "step");
  EXPECT_EQ(evaluated_at(record, 0), 120);
  EXPECT_EQ(evaluated_at(record, 2), 300);
  const std::string html = to_html(record);
  EXPECT_EQ(html.find("poch"), std::string::npos);
  EXPECT_TRUE(shows(html, "<th scope=\"col\" class=\"n\">Step</th>"));
  EXPECT_TRUE(shows(html, "<td class=\"n\">240</td>"));

  const train::RunRecord images = sample_record();
  EXPECT_EQ(evaluation_unit(images.measure), "epoch");
  EXPECT_EQ(evaluated_at(images, 2), 3);
  EXPECT_TRUE(shows(to_html(images), "<th scope=\"col\" class=\"n\">Epoch</th>"));
}

TEST(Score, AComparisonOfRunsOnTextPutsTheirCurvesSideBySide) {
  Comparison comparison;
  comparison.series.push_back({"float32", {text_record(1), text_record(2)}, ""});
  comparison.series.push_back({"bfloat16", {text_record(1), text_record(2)}, ""});
  for (train::RunRecord& run : comparison.series[1].runs) run.epochs.back().test_loss -= 0.01;
  const std::string html = to_html(comparison), text = to_text(comparison);
  EXPECT_EQ(markup_error(html), "");
  EXPECT_TRUE(shows(html, "Bits per byte of every evaluation"));
  EXPECT_TRUE(shows(html, "The best mean of bits per byte"));
  EXPECT_NE(html.find("(bfloat16)"), std::string::npos);  // less is better
  EXPECT_NE(text.find("bits/byte"), std::string::npos);
  EXPECT_NE(text.find("-0.0144"), std::string::npos) << text;  // 0.01 nats
  EXPECT_NE(text.find("tokens/s"), std::string::npos);
}

}  // namespace
}  // namespace halftone::report
