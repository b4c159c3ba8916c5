// SPDX-License-Identifier: Apache-2.0
//
// compare.html: who was as accurate as the first recipe, at what cost, and what failed.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "halftone/report.h"
#include "report/chart.h"
#include "report/describe.h"
#include "report/format_chart.h"
#include "report/page.h"
#include "report/score.h"
#include "report/statistics.h"
#include "report/words.h"

namespace halftone::report {
namespace {

const train::RunRecord* first_run(const Comparison& comparison) {
  for (const Series& series : comparison.series)
    if (!series.runs.empty()) return &series.runs.front();
  return nullptr;
}

int seed_count(const std::vector<SeriesSummary>& all) {
  int seeds = 0;
  for (const SeriesSummary& series : all) seeds = std::max(seeds, series.runs);
  return seeds;
}

std::string head(const Comparison& comparison, const std::vector<SeriesSummary>& all) {
  const train::RunRecord* run = first_run(comparison);
  const std::string what =
      run ? fmt::format("{} · {} · {}", run->config.task, run->config.model, extent_words(*run)) : "no run";
  std::string out = fmt::format(
      "<header>\n<p class=\"kicker\">halftone · {}</p>\n<h1>{} compared over {}</h1>\n", escape(what),
      plural(static_cast<std::int64_t>(all.size()), "recipe"), plural(seed_count(all), "seed"));
  const SeriesSummary* best = nullptr;
  for (const SeriesSummary& series : all)
    if (series.score.count > 0 &&
        (!best || better_score(series.measure, series.score.mean, best->score.mean)))
      best = &series;
  if (best)
    out += fmt::format(
        "<p class=\"lead\">The best mean of {} is {} ({}). All runs share data order, first weights "
        "and "
        "schedule for a given seed; only the recipe differs.</p>\n",
        score_name(best->measure), escape(score_text(*best)), escape(best->recipe));
  for (const SeriesSummary& series : all)
    if (series.runs == 0)
      out += fmt::format("<p class=\"banner\"><b>{}</b>: no run. {}</p>\n", escape(series.recipe),
                         escape(series.failure));
    else if (!series.failure.empty() || series.finished < series.runs)
      out +=
          fmt::format("<p class=\"banner\"><b>{}</b>: {} of {} ended early. {}</p>\n", escape(series.recipe),
                      series.runs - series.finished, plural(series.runs, "run"), escape(series.failure));
  return out + "</header>\n";
}

// By what the runs are judged; a recipe without a run does not know.
train::Measure measure_of(const std::vector<SeriesSummary>& all) {
  const SeriesSummary* const first = first_with_run(all);
  return first ? first->measure : train::Measure{};
}

std::string table(const std::vector<SeriesSummary>& all) {
  const train::Measure measure = measure_of(all);
  Table table{.head = {"Recipe", capitalised(score_name(measure)), "Against first", "Time",
                       capitalised(measure.unit) + "/s", "Tensors", "Process", "Skips a run", "Finished"},
              .numeric = {false, true, true, true, true, true, true, true, true},
              .rows = {}};
  for (const SeriesSummary& series : all) {
    const bool any = series.score.count > 0;
    table.rows.push_back({series.recipe, score_text(series), &series == &all[0] ? "–" : delta_text(series),
                          time_text(series), any ? decimals(series.per_second.mean, 0) : "–",
                          memory_text(series.peak_memory), memory_text(series.peak_resident),
                          decimals(series.skips, series.runs > 1 ? 1 : 0),
                          fmt::format("{} of {}", series.finished, series.runs)});
  }
  return to_html(table) +
         fmt::format(
             "<p class=\"note\">{}: mean over the finished runs ± standard deviation of the sample{}. "
             "Against "
             "first: the same of the differences between runs of the same seed. Time "
             "includes evaluation; {}/s is of training alone. Memory is the largest of the runs.</p>\n",
             capitalised(score_name(measure)),
             measure.is_text() ? " (less is better)" : ", in points; differences are in points too",
             measure.unit);
}

// Axes for what is known of every evaluation.
Chart over_evaluations(const train::Measure& measure, std::string title, std::string y_label) {
  return {.title = std::move(title),
          .x_label = evaluation_unit(measure),
          .y_label = std::move(y_label),
          .y_style = measure.is_text() ? TickStyle::number : TickStyle::percent};
}

// The score, recipes side by side.
Chart evaluations(const std::vector<SeriesSummary>& all) {
  const train::Measure measure = measure_of(all);
  const std::string score = score_name(measure);
  Chart chart =
      over_evaluations(measure, capitalised(score) + " of every evaluation, mean over the seeds", score);
  int colour = 0;
  for (const SeriesSummary& series : all)
    chart.curves.push_back(
        {.label = series.recipe, .points = series.mean_score, .colour = colour++, .dots = true});
  return chart;
}

// What of that is the recipe: differences between runs of the same seed.
std::string differences(const std::vector<SeriesSummary>& all) {
  const train::Measure measure = measure_of(all);
  Chart chart = over_evaluations(measure,
                                 capitalised(score_name(measure)) + " less that of " + all[0].recipe +
                                     " with the same seed, mean over the seeds",
                                 "difference");
  for (std::size_t i = 1; i < all.size(); ++i)
    if (!all[i].mean_against_first.empty())
      chart.curves.push_back({.label = all[i].recipe,
                              .points = all[i].mean_against_first,
                              .colour = static_cast<int>(i),
                              .dots = true});
  return chart.curves.empty() ? "" : to_html(chart);
}

std::string charts(const std::vector<SeriesSummary>& all) {
  const train::Measure measure = measure_of(all);
  DotPlot dots{.title = capitalised(score_name(measure)) + " of every run",
               .x_label = "dot: one seed · bar: the mean",
               .style = measure.is_text() ? TickStyle::number : TickStyle::percent,
               .rows = {}};
  Chart loss{.title = "Training loss, mean over the seeds, smoothed", .x_label = "step", .y_label = "loss"};
  loss.from_zero = true;
  bool positive = true;
  int colour = 0;
  for (const SeriesSummary& series : all) {
    dots.rows.push_back(
        {series.recipe, series.score.count ? score_text(series) : "no run finished", series.scores, colour});
    for (const Point& point : series.mean_loss) positive = positive && !(point.y <= 0);
    const std::size_t window = std::max<std::size_t>(5, series.mean_loss.size() / 50);
    loss.curves.push_back(
        {.label = series.recipe, .points = smooth(series.mean_loss, window), .colour = colour});
    ++colour;
  }
  if (positive) loss.y_scale = AxisScale::log10, loss.y_label = "loss, logarithmic";
  return to_html(dots) + to_html(evaluations(all)) + differences(all) + to_html(loss);
}

std::string recipes(const std::vector<SeriesSummary>& all) {
  Table table{.head = {"Recipe", "Compute", "Operands of layers", "Parameters", "Master weights",
                       "Loss scale", "What it shows"},
              .numeric = {},
              .rows = {}};
  for (const SeriesSummary& series : all)
    if (const amp::Recipe* row = amp::find_recipe_if(series.recipe))
      table.rows.push_back({series.recipe, std::string(row->compute.name()), operand_words(row->operands),
                            std::string(row->parameter.name()), master_words(row->master),
                            std::string(amp::to_string(row->scaling)), std::string(row->shows)});
  return to_html(table);
}

std::vector<DType> formats_in(const std::vector<SeriesSummary>& all) {
  std::vector<std::string> names;
  for (const SeriesSummary& series : all) names.push_back(series.recipe);
  return formats_of(names);
}

}  // namespace

std::string to_html(const Comparison& comparison) {
  const std::vector<SeriesSummary> all = summarise(comparison);
  std::string body = head(comparison, all);
  if (!all.empty()) {
    body += section("Result", table(all));
    body += section("Charts", charts(all));
    body += section("Recipes", recipes(all));
    body += section("Number formats", format_charts(formats_in(all)));
  }
  if (const train::RunRecord* run = first_run(comparison)) {
    body += section("Machine", facts(machine_pairs(*run)));
    body += section("Configuration of the first run", facts(configuration_pairs(run->config)));
  }
  body +=
      "<footer>Written by halftone. Every run's numbers are in <code>compare.json</code> beside this "
      "file.</footer>\n";
  return page("Recipes compared – halftone", body);
}

}  // namespace halftone::report
