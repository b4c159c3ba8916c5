// SPDX-License-Identifier: Apache-2.0
//
// What a conversion did to the values of an array: the census and the errors. Tallies of pieces add up, in
// order, to the tally of the whole.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>

#include "halftone/census.h"

namespace halftone::cli {

struct ConvertTally {
  Census census;
  // Of values that were finite and stayed so.
  std::int64_t finite = 0;
  long double signal = 0, noise = 0;  // sums of squares: long double, since 1e300 squared is no double
  double max_error = 0;               // |became - was|
  std::int64_t worst = -1;            // index of the first with that error
  long double worst_was = 0, worst_became = 0;

  ConvertTally& operator+=(const ConvertTally& later);

  std::optional<double> rms_error() const;
  // 10 log10(signal / noise): infinity if nothing changed. None where there is no signal.
  std::optional<double> signal_to_noise() const;
};

// Adds the errors of `count` values, the first of which has that index.
void add_errors(const float* was, const double* became, std::int64_t count, std::int64_t index,
                ConvertTally& tally);
void add_errors(const double* was, const double* became, std::int64_t count, std::int64_t index,
                ConvertTally& tally);
// For values that a double does not hold: 64-bit integers.
void add_errors(const long double* was, const long double* became, std::int64_t count, std::int64_t index,
                ConvertTally& tally);

}  // namespace halftone::cli
