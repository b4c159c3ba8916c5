// SPDX-License-Identifier: Apache-2.0
#include "report/describe.h"

#include <algorithm>
#include <iterator>
#include <string_view>
#include <variant>

#include "halftone/amp.h"
#include "report/words.h"
#include "train/config.h"

namespace halftone::report {
namespace {

std::string or_unknown(const std::string& text) { return text.empty() ? "unknown" : text; }

// How a page calls a field of the configuration, and what 0, or nothing, stands for. A field that is not here
// is called by its name.
struct FieldWords {
  std::string_view field, label, zero;
};
constexpr FieldWords kFieldWords[] = {
    {"accumulate", "Pieces of a batch", ""},
    {"lr", "Learning rate", "the default of the optimizer"},
    {"clip_norm", "Gradient norm clipped at", "not clipped"},
    {"loss_weight", "Loss multiplied by", ""},
    {"limit", "Training examples", "all"},
    {"threads", "Threads", "all cores"},
    {"save_every", "Steps between state files", ""},
    {"scaler", "Loss scale policy", ""},
    {"init_scale", "First loss scale", ""},
    {"growth_interval", "Clean steps until it grows", ""},
    {"data", "Data", "Debian's"},
    {"out", "Results", "not written"},
    {"evaluate_every", "Steps between evaluations", ""},
    {"kv_heads", "Heads of keys and values", "as many"},
    {"checkpoint", "Activation checkpointing", ""},
    {"sample_every", "Steps between samples", "none"},
    {"prompt", "Prompt of samples", "a new line"},
};

const FieldWords* words_of(std::string_view field) {
  const auto found = std::find_if(std::begin(kFieldWords), std::end(kFieldWords),
                                  [&](const FieldWords& words) { return words.field == field; });
  return found == std::end(kFieldWords) ? nullptr : found;
}

std::string label_of(std::string_view field) {
  if (const FieldWords* words = words_of(field)) return std::string(words->label);
  std::string label(field);
  std::replace(label.begin(), label.end(), '_', ' ');
  return capitalised(label);
}

std::string value_of(const train::Field& field, const train::Config& config) {
  const std::string text = train::to_string(field, config);
  const FieldWords* words = words_of(field.name);
  if (words != nullptr && !words->zero.empty() && (text == "0" || text.empty()))
    return std::string(words->zero);
  if (field.name == "init_scale") return scale_text(config.init_scale);
  if (field.name == "limit") return count(config.limit);
  const auto* number = std::get_if<int train::Config::*>(&field.member);
  return number == nullptr ? text : count(config.*(*number));
}

std::string rate(double gflops) { return gflops > 0 ? decimals(gflops, 0) + " GFLOP/s" : "not measured"; }

}  // namespace

std::string master_words(amp::MasterWeights master) {
  switch (master) {
    case amp::MasterWeights::none:
      return "none: updates are rounded into the parameters";
    case amp::MasterWeights::is_parameter:
      return "the parameters themselves";
    case amp::MasterWeights::float32_copy:
      return "a float32 copy";
    case amp::MasterWeights::trailing_bits:
      return "float32: the parameters and 16 trailing bits";
    case amp::MasterWeights::stochastic:
      return "none: updates are rounded stochastically into the parameters";
    case amp::MasterWeights::compensated:
      return "the parameters and what rounding took from them";
  }
  return "";
}

Pairs machine_pairs(const train::RunRecord& record) {
  const train::Machine& machine = record.machine;
  return {{"Processor", or_unknown(machine.processor)},
          {"Vector instructions", or_unknown(machine.simd)},
          {"Cores", plural(machine.cores, "core") + ", " + plural(machine.threads, "thread") + " used"},
          {"OpenMP wait policy", machine.wait_policy.empty() ? "not set" : machine.wait_policy},
          {"Matmul rate, float32", rate(record.matmul_gflops_float32)},
          {"Matmul rate, compute format", rate(record.matmul_gflops_compute)},
          {"halftone", or_unknown(record.version)},
          {"Started", or_unknown(record.started)}};
}

Pairs configuration_pairs(const train::Config& config) {
  train::Config shown = config;
  const amp::ScalerOptions scaler = train::scaler_options(config);
  shown.init_scale = scaler.init_scale;
  shown.growth_interval = scaler.growth_interval;
  Pairs pairs;
  for (const train::Field& field : train::config_fields())
    if ((field.task.empty() || field.task == config.task) && field.name != "resume")
      pairs.emplace_back(label_of(field.name), value_of(field, shown));
  return pairs;
}

Pairs recipe_pairs(const std::string& recipe) {
  const amp::Recipe* row = amp::find_recipe_if(recipe);
  if (row == nullptr) return {{"Recipe", recipe}};
  Pairs pairs{{"Recipe", recipe},
              {"Compute", std::string(row->compute.name()) + ": matmuls and convolutions, float32 inside"}};
  if (row->operands.scaling != amp::OperandScaling::none) {
    pairs.push_back({"Operands of layers", operand_words(row->operands) + ": exact products, float32 sums"});
    pairs.push_back({"Scales of operands", std::string(amp::to_string(row->operands.scaling))});
  }
  pairs.push_back(
      {"Parameters", std::string(row->parameter.name()) +
                         (row->parameter == float32 ? "" : ": matrices and filters; vectors stay float32")});
  pairs.push_back({"Master weights", master_words(row->master)});
  pairs.push_back({"Moments of the optimizer", std::string(row->state.name())});
  pairs.push_back({"Loss scaling", row->scaling == amp::LossScaling::dynamic
                                       ? "dynamic: halved on an overflow, grows after clean steps"
                                       : std::string(amp::to_string(row->scaling))});
  pairs.push_back({"What it shows", std::string(row->shows)});
  return pairs;
}

Pairs memory_pairs(const train::RunRecord& record) {
  return {{"Tensors, at the peak", mebibytes(record.peak_memory)},
          {"Whole process, at the peak", mebibytes(record.peak_resident)}};
}

}  // namespace halftone::report
