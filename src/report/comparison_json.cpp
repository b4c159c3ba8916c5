// SPDX-License-Identifier: Apache-2.0
//
// compare.json: per recipe the summary that the table shows, and every run's whole record. Differences from
// the first recipe are between runs of the same seed. Schema 2: they have a spread.
#include "halftone/report.h"
#include "report/run_json.h"
#include "report/score.h"
#include "report/statistics.h"

namespace halftone::report {
namespace {

Json summary_json(const Summary& summary) {
  if (summary.count == 0) return nullptr;
  return {{"count", summary.count},
          {"mean", summary.mean},
          {"deviation", summary.count > 1 ? Json(summary.deviation) : Json(nullptr)},
          {"min", summary.low},
          {"max", summary.high}};
}

}  // namespace

std::string to_json(const Comparison& comparison) {
  const std::vector<SeriesSummary> summaries = summarise(comparison);
  Json list = Json::array();
  for (std::size_t i = 0; i < summaries.size(); ++i) {
    const SeriesSummary& series = summaries[i];
    const std::string score = score_key(series.measure);
    Json runs = Json::array();
    for (const train::RunRecord& run : comparison.series[i].runs) runs.push_back(run_json(run));
    list.push_back({{"recipe", series.recipe},
                    {"runs_started", series.runs},
                    {"runs_finished", series.finished},
                    {"failure", series.failure},
                    {score, summary_json(series.score)},
                    {score + "_minus_first", summary_json(series.against_first)},
                    {"test_loss", summary_json(series.test_loss)},
                    {"seconds", summary_json(series.seconds)},
                    {series.measure.unit + "_per_second", summary_json(series.per_second)},
                    {"peak_memory_bytes", series.peak_memory},
                    {"peak_resident_bytes", series.peak_resident},
                    {"skips_per_run", series.skips},
                    {"runs", std::move(runs)}});
  }
  return layout({{"schema", 2}, {"series", std::move(list)}});
}

}  // namespace halftone::report
