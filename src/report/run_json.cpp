// SPDX-License-Identifier: Apache-2.0
//
// record.json: everything a run record holds, steps as columns. `schema` grows when a key changes its
// meaning.
#include "report/run_json.h"

#include <type_traits>
#include <variant>

#include "halftone/amp.h"
#include "halftone/report.h"
#include "report/score.h"
#include "report/words.h"
#include "train/config.h"
#include "train/machine.h"

namespace halftone::report {
namespace {

Json config_json(const train::Config& config) {
  Json json = Json::object();
  for (const train::Field& field : train::config_fields())
    std::visit(
        [&](auto member) {
          if constexpr (std::is_same_v<decltype(member), std::filesystem::path train::Config::*>)
            json[std::string(field.name)] = (config.*member).string();
          else
            json[std::string(field.name)] = config.*member;
        },
        field.member);
  return json;
}

Json recipe_json(const std::string& recipe) {
  const amp::Recipe* row = amp::find_recipe_if(recipe);
  if (row == nullptr) return Json::object({{"name", recipe}});
  return {{"name", recipe},
          {"compute", row->compute.name()},
          {"parameter", row->parameter.name()},
          {"master", amp::to_string(row->master)},
          {"scaling", amp::to_string(row->scaling)},
          {"operands",
           {{"scaling", amp::to_string(row->operands.scaling)},
            {"forward", row->operands.forward},
            {"gradient", row->operands.gradient},
            {"gradient_rounding", name(row->operands.gradient_rounding)}}},
          {"state", row->state.name()},
          {"shows", row->shows}};
}

Json steps_json(const std::vector<train::StepRecord>& steps) {
  Json loss = Json::array(), scale = Json::array(), applied = Json::array();
  for (const train::StepRecord& step : steps) {
    loss.push_back(short_double(step.loss));
    scale.push_back(short_double(step.scale));
    applied.push_back(step.applied);
  }
  return {{"loss", std::move(loss)}, {"scale", std::move(scale)}, {"applied", std::move(applied)}};
}

Json epochs_json(const train::RunRecord& record) {
  Json list = Json::array();
  for (const train::EpochRecord& epoch : record.epochs)
    list.push_back(
        {{"epoch", epoch.epoch},
         {"train_loss", epoch.train_loss},
         {"test_loss", epoch.test_loss},
         {record.measure.is_text() ? "bits_per_byte" : "test_accuracy", score_of(record.measure, epoch)},
         {"seconds", epoch.seconds},
         {record.measure.unit + "_per_second", epoch.per_second}});
  return list;
}

Json skips_json(const std::vector<train::SkipRecord>& skips) {
  Json list = Json::array();
  for (const train::SkipRecord& skip : skips)
    list.push_back({{"step", skip.step}, {"scale", short_double(skip.scale)}, {"culprit", skip.culprit}});
  return list;
}

}  // namespace

Json run_json(const train::RunRecord& record) {
  return {{"schema", 1},
          {"halftone", record.version},
          {"started", record.started},
          {"finished", record.finished},
          {"failure", record.failure},
          {"resumed_from", record.resumed_from},
          {"config", config_json(record.config)},
          {"recipe", recipe_json(record.config.recipe)},
          {"parameters", record.parameters},
          {score_key(record.measure), record.epochs.empty() ? Json(nullptr) : Json(record.score())},
          {"seconds", record.seconds},
          {record.measure.unit + "_per_second", per_second(record)},
          {"peak_memory_bytes", record.peak_memory},
          {"peak_resident_bytes", record.peak_resident},
          {"matmul_gflops_float32", record.matmul_gflops_float32},
          {"matmul_gflops_compute", record.matmul_gflops_compute},
          {"machine", train::machine_json(record.machine)},
          {"epochs", epochs_json(record)},
          {"skips", skips_json(record.skips)},
          {"steps", steps_json(record.steps)}};
}

std::string to_json(const train::RunRecord& record) { return layout(run_json(record)); }

}  // namespace halftone::report
