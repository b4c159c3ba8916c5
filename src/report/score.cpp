// SPDX-License-Identifier: Apache-2.0
#include "report/score.h"

#include <fmt/format.h>

#include <algorithm>

#include "report/words.h"

namespace halftone::report {

std::string score_name(const train::Measure& measure) {
  return measure.is_text() ? "bits per byte" : "test accuracy";
}

std::string score_key(const train::Measure& measure) {
  return measure.is_text() ? "bits_per_byte" : "accuracy";
}

std::string score_text(const train::Measure& measure, double score) {
  return measure.is_text() ? decimals(score, 4) : percent(score);
}

std::string score_digits(const train::Measure& measure, double score) {
  return measure.is_text() ? decimals(score, 4) : decimals(100 * score, 2);
}

std::string score_difference(const train::Measure& measure, double by) {
  const std::string digits = score_digits(measure, by);
  const bool positive = by > 0 && digits.find_first_of("123456789") != std::string::npos;
  return positive ? "+" + digits : digits;
}

bool better_score(const train::Measure& measure, double a, double b) {
  return measure.is_text() ? a < b : a > b;
}

double score_of(const train::Measure& measure, const train::EpochRecord& epoch) {
  return measure.is_text() ? measure.bits_per_byte(epoch.test_loss) : epoch.test_accuracy;
}

std::string evaluation_unit(const train::Measure& measure) { return measure.is_text() ? "step" : "epoch"; }

std::int64_t evaluated_at(const train::RunRecord& record, std::size_t index) {
  const std::int64_t number = static_cast<std::int64_t>(index) + 1;
  if (!record.measure.is_text()) return number;
  return std::min<std::int64_t>(number * record.config.evaluate_every, record.config.steps);
}

}  // namespace halftone::report
