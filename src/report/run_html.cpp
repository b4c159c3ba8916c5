// SPDX-License-Identifier: Apache-2.0
//
// report.html of a run: the result in words first, then the evidence, then what is needed to repeat it.
#include <fmt/format.h>

#include <algorithm>

#include "halftone/report.h"
#include "report/chart.h"
#include "report/describe.h"
#include "report/format_chart.h"
#include "report/page.h"
#include "report/score.h"
#include "report/words.h"

namespace halftone::report {
namespace {

constexpr std::size_t kSkipsShown = 12;  // the others fold away

double step_number(std::size_t index) { return static_cast<double>(index + 1); }

// 2024-05-01T10:00:00Z as " · 2024-05-01 10:00 UTC".
std::string when(const std::string& started) {
  if (started.size() != 20 || started[10] != 'T') return started.empty() ? "" : " · " + started;
  return fmt::format(" · {} {} UTC", started.substr(0, 10), started.substr(11, 5));
}

std::string headline(const train::RunRecord& record) {
  const std::string recipe = record.config.recipe;
  if (!record.failure.empty()) return "The training in " + recipe + " failed";
  if (record.epochs.empty())
    return (record.finished ? "Trained in " : "Stopped before the first evaluation, in ") + recipe;
  if (record.measure.is_text())
    return fmt::format("{} bits per byte, trained in {} in {}", score_text(record.measure, record.score()),
                       recipe, duration(record.seconds));
  return fmt::format("{} of the test images right, trained in {} in {}", percent(record.accuracy()), recipe,
                     duration(record.seconds));
}

std::string head(const train::RunRecord& record) {
  std::string out = fmt::format("<header>\n<p class=\"kicker\">halftone · {} · seed {}{}</p>\n<h1>{}</h1>\n",
                                escape(record.config.task), record.config.seed, escape(when(record.started)),
                                escape(headline(record)));
  out += fmt::format("<p class=\"lead\">Here {} was trained {}for {} in batches of {}: {}.</p>\n",
                     escape(network_words(record)), record.finished ? "" : "a part of the way ",
                     extent_words(record), record.config.batch, escape(recipe_words(record.config.recipe)));
  if (!record.failure.empty())
    out +=
        fmt::format("<p class=\"banner\">After {} training could not go on: {}</p>\n",
                    plural(static_cast<std::int64_t>(record.steps.size()), "step"), escape(record.failure));
  else if (!record.finished)
    out += fmt::format(
        "<p class=\"banner\">This run was stopped after {} and is not finished. <code>--resume</code> "
        "continues it "
        "to the same bits.</p>\n",
        plural(static_cast<std::int64_t>(record.steps.size()), "step"));
  if (record.resumed_from > 0)
    out += fmt::format(
        "<p class=\"note\">Resumed from step {}. Time is of all parts of the run, memory of the largest."
        "</p>\n",
        count(record.resumed_from));
  const double speed = per_second(record);
  out += tiles(
      {{record.epochs.empty() ? "–" : score_text(record.measure, record.score()), score_name(record.measure)},
       {duration(record.seconds), "evaluation included"},
       {speed > 0 ? decimals(speed, 0) : "–",
        record.measure.unit + "/s in training" + roofline_words(record)},
       {mebibytes(record.peak_memory), "of tensors at the peak"},
       {count(skip_count(record)),
        "skipped of " + plural(static_cast<std::int64_t>(record.steps.size()), "step")}});
  return out + "</header>\n";
}

std::vector<Mark> skip_marks(const train::RunRecord& record) {
  std::vector<Mark> marks;
  for (std::size_t i = 0; i < record.steps.size(); ++i)
    if (!record.steps[i].applied)
      marks.push_back({step_number(i),
                       fmt::format("step {}: skipped at scale {}", count(static_cast<std::int64_t>(i + 1)),
                                   scale_text(record.steps[i].scale))});
  return marks;
}

std::string loss_chart(const train::RunRecord& record) {
  if (record.steps.empty()) return "<p>No step was taken.</p>\n";
  std::vector<Point> raw;
  bool positive = true;
  for (std::size_t i = 0; i < record.steps.size(); ++i) {
    raw.push_back({step_number(i), record.steps[i].loss});
    positive = positive && !(record.steps[i].loss <= 0);
  }
  const std::size_t window = std::max<std::size_t>(5, raw.size() / 50);
  Chart chart{.title = "Training loss of every step",
              .x_label = "step",
              .y_label = positive ? "loss, logarithmic" : "loss"};
  chart.from_zero = true;
  chart.y_scale = positive ? AxisScale::log10 : AxisScale::linear;
  chart.curves = {{.label = "each step", .points = raw, .faint = true}};
  if (raw.size() > 5)
    chart.curves.push_back(
        {.label = fmt::format("average of about {} steps", window), .points = smooth(raw, window)});
  return to_html(chart);
}

std::string scale_section(const train::RunRecord& record) {
  const bool scaled = std::any_of(record.steps.begin(), record.steps.end(),
                                  [](const train::StepRecord& step) { return step.scale != 1; });
  std::string out =
      fmt::format("<p>{}; {}.</p>\n", plural(skip_count(record), "skipped step"), escape(skip_words(record)));
  const std::vector<Mark> marks = skip_marks(record);
  if (scaled || !marks.empty()) {
    std::vector<Point> scale;
    for (std::size_t i = 0; i < record.steps.size(); ++i)
      scale.push_back({step_number(i), record.steps[i].scale});
    Chart chart{.title = "Loss scale of every step", .x_label = "step", .y_label = "scale, powers of two"};
    chart.y_scale = AxisScale::log2;
    chart.from_zero = true;
    chart.curves = {{.label = "loss scale", .points = std::move(scale), .colour = 2, .stairs = true}};
    chart.marks = marks;
    chart.mark_label = "skipped step";
    out += to_html(chart);
  } else {
    out += "<p class=\"note\">The loss was not scaled in this run (scale 1 throughout).</p>\n";
  }
  if (record.skips.empty()) return out;
  Table shown{
      .head = {"Step", "Scale", "Gradient that was not finite"}, .numeric = {true, true, false}, .rows = {}};
  Table folded = shown;
  for (const train::SkipRecord& skip : record.skips)
    (shown.rows.size() < kSkipsShown ? shown : folded)
        .rows.push_back({count(skip.step), scale_text(skip.scale),
                         skip.culprit.empty() ? "not attributed" : skip.culprit});
  out += to_html(shown);
  if (!folded.rows.empty())
    out += fmt::format("<details><summary>{} more</summary>\n{}</details>\n",
                       count(static_cast<std::int64_t>(folded.rows.size())), to_html(folded));
  return out;
}

std::string evaluations_section(const train::RunRecord& record) {
  if (record.epochs.empty()) return "<p>Nothing was evaluated yet.</p>\n";
  const std::string unit = evaluation_unit(record.measure);
  Curve score{.label = "", .points = {}, .colour = 1, .dots = true};
  Table table{
      .head = {capitalised(unit), "Training loss", "Test loss", capitalised(score_name(record.measure)),
               "Training time", capitalised(record.measure.unit) + "/s"},
      .numeric = {true, true, true, true, true, true},
      .rows = {}};
  for (const train::EpochRecord& epoch : record.epochs) {
    const std::int64_t at = evaluated_at(record, score.points.size());
    score.points.push_back({static_cast<double>(at), score_of(record.measure, epoch)});
    table.rows.push_back({count(at), decimals(epoch.train_loss, 4), decimals(epoch.test_loss, 4),
                          score_text(record.measure, score_of(record.measure, epoch)),
                          duration(epoch.seconds), decimals(epoch.per_second, 0)});
  }
  Chart chart{.title = capitalised(score_name(record.measure)) + " of every evaluation",
              .x_label = unit,
              .y_label = record.measure.is_text() ? "bits per byte" : "test images classified right"};
  if (!record.measure.is_text()) chart.y_style = TickStyle::percent;
  chart.curves = {std::move(score)};
  return to_html(chart) + to_html(table);
}

}  // namespace

std::string to_html(const train::RunRecord& record) {
  std::string body = head(record);
  body += section("Loss", loss_chart(record));
  body += section("Loss scale", scale_section(record));
  body += section(capitalised(score_name(record.measure)), evaluations_section(record));
  body += section("Recipe", facts(recipe_pairs(record.config.recipe)));
  body += section("Number formats", format_charts(formats_of({record.config.recipe})));
  body += section("Memory", facts(memory_pairs(record)));
  body += section("Machine", facts(machine_pairs(record)));
  body += section("Configuration", facts(configuration_pairs(record.config)));
  body += fmt::format(
      "<footer>Written by halftone {}. The numbers of every step are in <code>record.json</code> beside this "
      "file.</footer>\n",
      escape(record.version));
  return page(headline(record) + " – halftone", body);
}

}  // namespace halftone::report
