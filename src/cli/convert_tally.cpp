// SPDX-License-Identifier: Apache-2.0
#include "cli/convert_tally.h"

namespace halftone::cli {
namespace {

// Sum: what holds the square of a value.
template <class Sum, class Value, class Result>
void add(const Value* was, const Result* became, std::int64_t count, std::int64_t index,
         ConvertTally& tally) {
  Sum signal = 0, noise = 0;
  for (std::int64_t i = 0; i < count; ++i) {
    const auto x = static_cast<Result>(was[i]);
    const Result error = became[i] - x;
    if (!std::isfinite(x) || !std::isfinite(became[i])) continue;
    ++tally.finite;
    signal += Sum{x} * x;
    noise += Sum{error} * error;
    if (const auto size = static_cast<double>(std::fabs(error)); size > tally.max_error) {
      tally.max_error = size;
      tally.worst = index + i;
      tally.worst_was = x;
      tally.worst_became = became[i];
    }
  }
  tally.signal += signal;
  tally.noise += noise;
}

}  // namespace

ConvertTally& ConvertTally::operator+=(const ConvertTally& later) {
  census += later.census;
  finite += later.finite;
  signal += later.signal;
  noise += later.noise;
  if (later.max_error > max_error) {
    max_error = later.max_error;
    worst = later.worst;
    worst_was = later.worst_was;
    worst_became = later.worst_became;
  }
  return *this;
}

std::optional<double> ConvertTally::rms_error() const {
  if (finite == 0) return std::nullopt;
  return static_cast<double>(std::sqrt(noise / static_cast<long double>(finite)));
}

std::optional<double> ConvertTally::signal_to_noise() const {
  if (!(signal > 0)) return std::nullopt;
  if (noise == 0) return std::numeric_limits<double>::infinity();
  return static_cast<double>(10 * std::log10(signal / noise));
}

void add_errors(const float* was, const double* became, std::int64_t count, std::int64_t index,
                ConvertTally& tally) {
  add<double>(was, became, count, index, tally);
}

void add_errors(const double* was, const double* became, std::int64_t count, std::int64_t index,
                ConvertTally& tally) {
  add<long double>(was, became, count, index, tally);
}

void add_errors(const long double* was, const long double* became, std::int64_t count, std::int64_t index,
                ConvertTally& tally) {
  add<long double>(was, became, count, index, tally);
}

}  // namespace halftone::cli
