// SPDX-License-Identifier: Apache-2.0
#include "report/describe.h"

#include <fmt/format.h>

#include "halftone/amp.h"
#include "report/words.h"

namespace halftone::report {
namespace {

std::string or_unknown(const std::string& text) { return text.empty() ? "unknown" : text; }

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

std::string learning_rate(const train::Config& config) {
  return config.lr == 0 ? "the default of " + config.optimizer : fmt::format("{:g}", config.lr);
}

Pairs configuration_pairs(const train::Config& config) {
  return {
      {"Task", config.task},
      {"Model", config.model},
      {"Recipe", config.recipe},
      {"Optimizer", config.optimizer},
      {"Learning rate", learning_rate(config)},
      {"Weight decay", fmt::format("{:g}", config.weight_decay)},
      {"Gradient norm clipped at",
       config.clip_norm == 0 ? "not clipped" : fmt::format("{:g}", config.clip_norm)},
      {"Loss multiplied by", fmt::format("{:g}", config.loss_weight)},
      {config.task == "text" ? "Steps" : "Epochs",
       count(config.task == "text" ? config.steps : config.epochs)},
      {"Batch", count(config.batch)},
      {config.task == "text" ? "Context" : "Training images", config.task == "text" ? count(config.context)
                                                              : config.limit == 0   ? "all"
                                                                                    : count(config.limit)},
      {"Seed", fmt::format("{}", config.seed)},
      {"Loss scale policy", config.scaler},
      {"First loss scale", scale_text(train::scaler_options(config).init_scale)},
      {"Clean steps until it grows", count(train::scaler_options(config).growth_interval)},
      {"Data", config.data.empty() ? "Debian's" : config.data.string()},
      {"Results", config.out.empty() ? "not written" : config.out.string()}};
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
