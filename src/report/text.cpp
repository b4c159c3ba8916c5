// SPDX-License-Identifier: Apache-2.0
//
// The same for a console: ten lines for a run, an aligned table for a comparison.
#include <fmt/format.h>

#include <algorithm>

#include "halftone/report.h"
#include "report/score.h"
#include "report/statistics.h"
#include "report/words.h"

namespace halftone::report {
namespace {

std::string line(const char* name, const std::string& text) { return fmt::format("{:<10}{}\n", name, text); }

std::string result(const train::RunRecord& record) {
  if (record.epochs.empty()) return "not evaluated yet";
  if (record.measure.is_text())
    return fmt::format("{} bits per byte of the validation text (loss {} per token)",
                       score_text(record.measure, record.score()),
                       decimals(record.epochs.back().test_loss, 4));
  return fmt::format("{} of the test images are classified right (test loss {})", percent(record.accuracy()),
                     decimals(record.epochs.back().test_loss, 4));
}

std::string state(const train::RunRecord& record) {
  const std::string steps = plural(static_cast<std::int64_t>(record.steps.size()), "step");
  if (!record.failure.empty()) return "failed after " + steps + ": " + record.failure;
  return (record.finished ? "finished after " : "stopped after ") + steps +
         (record.finished ? "" : "; --resume continues it to the same bits") +
         (record.resumed_from > 0 ? ", resumed from step " + count(record.resumed_from) : "");
}

// Characters that are shown, for columns with "±" and "–" in them.
std::size_t width(const std::string& text) {
  return static_cast<std::size_t>(std::count_if(
      text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }));
}

std::string aligned(const std::vector<std::vector<std::string>>& rows) {
  std::vector<std::size_t> widths;
  for (const auto& row : rows) {
    widths.resize(std::max(widths.size(), row.size()));
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], width(row[i]));
  }
  std::string out;
  for (const auto& row : rows) {
    std::string text;
    for (std::size_t i = 0; i < row.size(); ++i) {
      const std::string padding(widths[i] - width(row[i]), ' ');
      text += i == 0 ? row[i] + padding : "  " + padding + row[i];
    }
    text.erase(text.find_last_not_of(' ') + 1);
    out += text + "\n";
  }
  return out;
}

}  // namespace

std::string to_text(const train::RunRecord& record, const std::filesystem::path& html) {
  const train::Config& config = record.config;
  const double speed = per_second(record);
  std::string out;
  out += line("Trained", network_words(record) + " on " + config.task);
  out += line("Recipe", config.recipe + ": " + recipe_words(config.recipe));
  out += line("Result", result(record));
  out += line("Run", state(record));
  out += line("Time", duration(record.seconds) + ", evaluation included");
  out += line(
      "Speed",
      (speed > 0 ? decimals(speed, 0) + " " + record.measure.unit + "/s in training" + roofline_words(record)
                 : std::string("not measured before the first evaluation")) +
          fmt::format(", {} of {}", plural(record.machine.threads, "thread"),
                      record.machine.processor.empty() ? "this machine" : record.machine.processor));
  out += line("Memory", fmt::format("{} in tensors at the peak, {} for the whole process",
                                    mebibytes(record.peak_memory), mebibytes(record.peak_resident)));
  const amp::Recipe* recipe = amp::find_recipe_if(config.recipe);
  if (recipe == nullptr || recipe->scaling != amp::LossScaling::none)
    out += line(
        "Scale",
        (record.steps.empty() ? "none yet" : scale_text(record.steps.back().scale) + " at the last step") +
            std::string(": the loss is multiplied by it so that small gradients do not vanish"));
  out += line("Skipped", plural(skip_count(record), "step") + "; " + skip_words(record));
  out += line("Report", html.empty() ? "not written" : html.string() + " (open it in a browser)");
  return out;
}

std::string to_text(const Comparison& comparison) {
  const std::vector<SeriesSummary> all = summarise(comparison);
  const SeriesSummary* const first = first_with_run(all);
  std::string failures;
  for (const SeriesSummary& series : all)
    if (!series.failure.empty()) failures += fmt::format("{} failed: {}\n", series.recipe, series.failure);
  if (first == nullptr) return "no run was finished\n" + failures;
  const train::Measure& measure = first->measure;
  std::vector<std::vector<std::string>> rows = {{"recipe", measure.is_text() ? "bits/byte" : "accuracy",
                                                 "min", "max", "vs first", "time", measure.unit + "/s",
                                                 "tensors", "process", "skips", "finished"}};
  for (const SeriesSummary& series : all) {
    const bool any = series.score.count > 0;
    rows.push_back({series.recipe, score_text(series),
                    any ? score_digits(series.measure, series.score.low) : "–",
                    any ? score_digits(series.measure, series.score.high) : "–",
                    &series == &all[0] ? "–" : delta_text(series), time_text(series),
                    any ? decimals(series.per_second.mean, 0) : "–", memory_text(series.peak_memory),
                    memory_text(series.peak_resident), decimals(series.skips, series.runs > 1 ? 1 : 0),
                    fmt::format("{}/{}", series.finished, series.runs)});
  }
  return aligned(rows) + failures;
}

}  // namespace halftone::report
