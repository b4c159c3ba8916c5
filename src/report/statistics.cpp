// SPDX-License-Identifier: Apache-2.0
#include "report/statistics.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

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
      summary.peak_memory = std::max(summary.peak_memory, run.peak_memory);
      summary.peak_resident = std::max(summary.peak_resident, run.peak_resident);
      summary.skips += static_cast<double>(skip_count(run));
      if (!run.finished || run.epochs.empty()) continue;
      ++summary.finished;
      summary.accuracies.push_back(run.accuracy());
      losses.push_back(run.epochs.back().test_loss);
      seconds.push_back(run.seconds);
      speeds.push_back(images_per_second(run));
    }
    if (summary.runs > 0) summary.skips /= summary.runs;
    summary.accuracy = summarise(summary.accuracies);
    summary.test_loss = summarise(losses);
    summary.seconds = summarise(seconds);
    summary.images_per_second = summarise(speeds);
    summary.mean_loss = mean_loss(series.runs);
    all.push_back(std::move(summary));
  }
  return all;
}

std::string accuracy_text(const SeriesSummary& series) {
  if (series.accuracy.count == 0) return "–";
  if (series.accuracy.count == 1) return percent(series.accuracy.mean);
  return percent(series.accuracy.mean) + " ± " + decimals(100 * series.accuracy.deviation, 2);
}

std::string delta_text(const SeriesSummary& series, const SeriesSummary& first) {
  if (series.accuracy.count == 0 || first.accuracy.count == 0) return "–";
  return fmt::format("{:+.2f}", 100 * (series.accuracy.mean - first.accuracy.mean));
}

}  // namespace halftone::report
