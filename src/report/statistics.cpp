// SPDX-License-Identifier: Apache-2.0
#include "report/statistics.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "report/score.h"
#include "report/words.h"

namespace halftone::report {
namespace {

std::vector<Point> loss_curve(const train::RunRecord& run) {
  std::vector<Point> curve;
  curve.reserve(run.steps.size());
  for (const train::StepRecord& step : run.steps)
    curve.push_back({static_cast<double>(curve.size() + 1), step.loss});
  return curve;
}

// The score of every evaluation, one curve a run.
std::vector<Point> score_curve(const train::RunRecord& run) {
  std::vector<Point> curve;
  for (const train::EpochRecord& epoch : run.epochs)
    curve.push_back({static_cast<double>(evaluated_at(run, curve.size())), score_of(run.measure, epoch)});
  return curve;
}

// At every place the mean of the curves that reach it.
std::vector<Point> mean_curve(const std::vector<std::vector<Point>>& curves) {
  std::vector<Point> mean;
  for (std::size_t i = 0;; ++i) {
    Point sum{0, 0};
    int reached = 0;
    for (const std::vector<Point>& curve : curves)
      if (i < curve.size()) sum = {curve[i].x, sum.y + curve[i].y}, ++reached;
    if (reached == 0) return mean;
    mean.push_back({sum.x, sum.y / reached});
  }
}

template <class CurveOf>
std::vector<Point> mean_over(const std::vector<train::RunRecord>& runs, const CurveOf& curve_of) {
  std::vector<std::vector<Point>> curves;
  for (const train::RunRecord& run : runs) curves.push_back(curve_of(run));
  return mean_curve(curves);
}

const train::RunRecord* with_seed(const Series& series, std::int64_t seed) {
  for (const train::RunRecord& run : series.runs)
    if (run.config.seed == seed) return &run;
  return nullptr;
}

void compare_with_first(const Series& series, const Series& first, SeriesSummary& summary) {
  std::vector<double> differences;
  std::vector<std::vector<Point>> curves;
  for (const train::RunRecord& run : series.runs) {
    const train::RunRecord* const other = with_seed(first, run.config.seed);
    if (other == nullptr) continue;
    std::vector<Point> curve = score_curve(run);
    const std::vector<Point> base = score_curve(*other);
    curve.resize(std::min(curve.size(), base.size()));
    for (std::size_t i = 0; i < curve.size(); ++i) curve[i].y -= base[i].y;
    if (run.finished && other->finished && !curve.empty()) differences.push_back(curve.back().y);
    curves.push_back(std::move(curve));
  }
  summary.against_first = summarise(differences);
  summary.mean_against_first = mean_curve(curves);
}

}  // namespace

Summary summarise(const std::vector<double>& values) {
  if (values.empty()) return {};
  constexpr double infinity = std::numeric_limits<double>::infinity();
  Summary summary{.count = static_cast<int>(values.size()), .low = infinity, .high = -infinity};
  for (const double value : values) {
    summary.mean += value;
    if (std::isnan(value)) continue;
    summary.low = std::min(summary.low, value);
    summary.high = std::max(summary.high, value);
  }
  if (summary.low > summary.high)  // there was no number
    summary.low = summary.high = std::numeric_limits<double>::quiet_NaN();
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
      if (run.seconds > 0) seconds.push_back(run.seconds);
      speeds.push_back(per_second(run));
    }
    if (summary.runs > 0) summary.skips /= summary.runs;
    summary.score = summarise(summary.scores);
    summary.test_loss = summarise(losses);
    summary.seconds = summarise(seconds);
    summary.per_second = summarise(speeds);
    summary.mean_score = mean_over(series.runs, score_curve);
    compare_with_first(series, comparison.series.front(), summary);
    summary.mean_loss = mean_over(series.runs, loss_curve);
    all.push_back(std::move(summary));
  }
  return all;
}

const SeriesSummary* first_with_run(const std::vector<SeriesSummary>& all) {
  const auto first =
      std::find_if(all.begin(), all.end(), [](const SeriesSummary& series) { return series.runs > 0; });
  return first == all.end() ? nullptr : &*first;
}

std::string score_text(const SeriesSummary& series) {
  if (series.score.count == 0) return "–";
  const std::string mean = score_text(series.measure, series.score.mean);
  return series.score.count == 1 ? mean : mean + " ± " + score_digits(series.measure, series.score.deviation);
}

std::string time_text(const SeriesSummary& series) {
  return series.seconds.count > 0 ? duration(series.seconds.mean) : "–";
}

std::string memory_text(std::int64_t bytes) { return bytes > 0 ? mebibytes(bytes) : "–"; }

std::string delta_text(const SeriesSummary& series) {
  const Summary& by = series.against_first;
  if (by.count == 0) return "–";
  const std::string mean = score_difference(series.measure, by.mean);
  return by.count == 1 ? mean : mean + " ± " + score_digits(series.measure, by.deviation);
}

}  // namespace halftone::report
