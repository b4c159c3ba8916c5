// SPDX-License-Identifier: Apache-2.0
//
// What a comparison says about the runs of one recipe. Runs that failed or were stopped are counted, and
// enter no mean.
#pragma once

#include <string>
#include <vector>

#include "halftone/report.h"
#include "report/curve.h"

namespace halftone::report {

struct Summary {
  int count = 0;
  double mean = 0, deviation = 0;  // deviation: of the sample (n - 1); 0 for one value
  double low = 0, high = 0;        // of the values that are not NaN; NaN if all are
};
Summary summarise(const std::vector<double>& values);

struct SeriesSummary {
  std::string recipe, failure;
  int runs = 0, finished = 0;
  train::Measure measure{};
  std::vector<double> scores{};  // of finished runs
  Summary against_first{};       // score less that of the first recipe's run of the same seed, both finished
  Summary score{}, seconds{}, per_second{}, test_loss{};
  std::int64_t peak_memory = 0, peak_resident = 0;  // the largest of all runs
  double skips = 0;                                 // mean over all runs
  std::vector<Point> mean_score{};                  // of every evaluation, by epoch (text: by step)
  std::vector<Point> mean_against_first{};          // of every evaluation, over seeds that both have
  std::vector<Point> mean_loss{};                   // of the runs that reached the step, finished or not
};
std::vector<SeriesSummary> summarise(const Comparison& comparison);

// The first that has a run, and so knows by what all are measured; null if none has.
const SeriesSummary* first_with_run(const std::vector<SeriesSummary>& all);

// "91.42 % ± 0.11" (points), "91.42 %" for one run, "–" for none; of text "1.8732 ± 0.0012" bits per byte.
std::string score_text(const SeriesSummary& series);
// Mean time and largest memory; "–" where they are not known: state files of older versions lack them.
std::string time_text(const SeriesSummary& series);
std::string memory_text(std::int64_t bytes);
// Difference (accuracy: in points) from the first recipe, seed by seed: "+0.04 ± 0.11" (mean and deviation),
// "+0.04" for one seed, "–" where no seed has both.
std::string delta_text(const SeriesSummary& series);

}  // namespace halftone::report
