// SPDX-License-Identifier: Apache-2.0
#include "report/score.h"

#include <fmt/format.h>

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
  return measure.is_text() ? fmt::format("{:+.4f}", by) : fmt::format("{:+.2f}", 100 * by);
}

bool better_score(const train::Measure& measure, double a, double b) {
  return measure.is_text() ? a < b : a > b;
}

double score_of(const train::Measure& measure, const train::EpochRecord& epoch) {
  return measure.is_text() ? measure.bits_per_byte(epoch.test_loss) : epoch.test_accuracy;
}

}  // namespace halftone::report
