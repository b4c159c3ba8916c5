// SPDX-License-Identifier: Apache-2.0
#include "report/statistics.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "report/score.h"
#include "report/words.h"

namespace halftone::report {
namespace {

std::vector<Point> mean_loss(const std::vector<train::RunRecord>& runs) {
  std::size_t longest = 0;
  for (const train::RunRecord& run : runs) longest = std::max(longest, run.steps.size());
  std::vector<Point> mean;
  mean.reserve(longest);
  for (std::size_t step = 0; step < longest; ++step) {
    double sum = 0;
    int reached = 0;
    for (const train::RunRecord& run : runs)
      if (step < run.steps.size()) sum += run.steps[step].loss, ++reached;
    mean.push_back({static_cast<double>(step + 1), sum / reached});
  }
  return mean;
}

std::vector<Point> mean_score(const std::vector<train::RunRecord>& runs) {
  std::vector<Point> mean;
  for (std::size_t i = 0;; ++i) {
    double sum = 0, at = 0;
    int reached = 0;
    for (const train::RunRecord& run : runs) {
      if (i >= run.epochs.size()) continue;
      const train::Config& config = run.config;
      at = static_cast<double>(i + 1);
      if (run.measure.is_text()) at = std::min<double>(at * config.evaluate_every, config.steps);
      sum += score_of(run.measure, run.epochs[i]), ++reached;
    }
    if (reached == 0) return mean;
    mean.push_back({at, sum / reached});
  }
}

}  // namespace

Summary summarise(const std::vector<double>& values) {
  if (values.empty()) return {};
  Summary summary{.count = static_cast<int>(values.size()), .low = values[0], .high = values[0]};
  for (const double value : values) {
    summary.mean += value;
    summary.low = std::min(summary.low, value);
    summary.high = std::max(summary.high, value);
  }
  summary.mean /= summary.count;
  double squares = 0;
  for (const double value : values) squares += (value - summary.mean) * (value - summary.mean);
  if (summary.count > 1) summary.deviation = std::sqrt(squares / (summary.count - 1));
  return summary;
}

std::vector<SeriesSummary> summarise(const Comparison& comparison) {
  std::vector<SeriesSummary> all;
  for (const Series& series : comparison.series) {
    SeriesSummary summary{.recipe = series.recipe, .failure = series.failure};
    std::vector<double> seconds, speeds, losses;
    for (const train::RunRecord& run : series.runs) {
      ++summary.runs;
      summary.measure = run.measure;
      summary.peak_memory = std::max(summary.peak_memory, run.peak_memory);
      summary.peak_resident = std::max(summary.peak_resident, run.peak_resident);
      summary.skips += static_cast<double>(skip_count(run));
      if (!run.finished || run.epochs.empty()) continue;
      ++summary.finished;
      summary.scores.push_back(run.score());
      losses.push_back(run.epochs.back().test_loss);
      seconds.push_back(run.seconds);
      speeds.push_back(per_second(run));
    }
    if (summary.runs > 0) summary.skips /= summary.runs;
    summary.score = summarise(summary.scores);
    summary.test_loss = summarise(losses);
    summary.seconds = summarise(seconds);
    summary.per_second = summarise(speeds);
    summary.mean_score = mean_score(series.runs);
    summary.mean_loss = mean_loss(series.runs);
    all.push_back(std::move(summary));
  }
  return all;
}

std::string score_text(const SeriesSummary& series) {
  if (series.score.count == 0) return "–";
  const std::string mean = score_text(series.measure, series.score.mean);
  return series.score.count == 1 ? mean : mean + " ± " + score_digits(series.measure, series.score.deviation);
}

std::string range_text(const SeriesSummary& series) {
  if (series.score.count == 0) return "–";
  return score_digits(series.measure, series.score.low) + " to " +
         score_digits(series.measure, series.score.high);
}

std::string delta_text(const SeriesSummary& series, const SeriesSummary& first) {
  if (series.score.count == 0 || first.score.count == 0) return "–";
  return score_difference(series.measure, series.score.mean - first.score.mean);
}

}  // namespace halftone::report
