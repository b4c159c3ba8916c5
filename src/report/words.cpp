// SPDX-License-Identifier: Apache-2.0
#include "report/words.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "halftone/amp.h"

namespace halftone::report {
namespace {

std::string with_thousands(const std::string& digits) {
  std::string text;
  for (std::size_t i = 0; i < digits.size(); ++i) {
    if (i > 0 && (digits.size() - i) % 3 == 0) text += ',';
    text += digits[i];
  }
  return text;
}

}  // namespace

std::string count(std::int64_t value) {
  const std::string digits = fmt::format("{}", value);
  return value < 0 ? fmt::format("-{}", with_thousands(digits.substr(1))) : with_thousands(digits);
}

std::string plural(std::int64_t value, const char* noun) {
  return count(value) + " " + noun + (value == 1 ? "" : "s");
}

std::string decimals(double value, int digits) {
  if (std::isnan(value)) return "NaN";
  if (std::isinf(value)) return value > 0 ? "infinity" : "-infinity";
  const std::string text = fmt::format("{:.{}f}", std::abs(value), digits);
  const std::size_t point = std::min(text.find('.'), text.size());
  const bool negative = value < 0 && text.find_first_of("123456789") != std::string::npos;
  return fmt::format("{}{}{}", negative ? "-" : "", with_thousands(text.substr(0, point)),
                     text.substr(point));
}

std::string percent(double fraction) {
  return std::isfinite(fraction) ? decimals(100 * fraction, 2) + " %" : "not a number";
}

std::string duration(double seconds) {
  if (!std::isfinite(seconds) || seconds < 0) return "unknown";
  if (seconds < 9.995) return decimals(seconds, 2) + " s";
  const auto whole = static_cast<std::int64_t>(std::llround(seconds));
  if (whole < 60) return fmt::format("{} s", whole);
  if (whole < 3600) return fmt::format("{} min {} s", whole / 60, whole % 60);
  return fmt::format("{} h {} min", count(whole / 3600), whole % 3600 / 60);
}

std::string mebibytes(std::int64_t bytes) {
  const double mebi = static_cast<double>(bytes) / 1048576;
  return decimals(mebi, mebi < 10 ? 1 : 0) + " MiB";
}

std::string scale_text(double scale) {
  return scale >= 1 && scale == std::floor(scale) && scale < 1e15 ? count(static_cast<std::int64_t>(scale))
                                                                  : fmt::format("{:g}", scale);
}

std::string model_words(const std::string& model) {
  if (model == "cnn") return "convolutional network (cnn)";
  if (model == "mlp") return "multi-layer perceptron (mlp)";
  if (model == "gpt2") return "GPT-2 style transformer (gpt2)";
  if (model == "llama") return "Llama style transformer (llama)";
  return model;
}

std::string network_words(const train::RunRecord& record) {
  const std::string size = record.parameters > 0 ? " with " + plural(record.parameters, "parameter") : "";
  return "a " + model_words(record.config.model) + size;
}

std::int64_t skip_count(const train::RunRecord& record) {
  const auto in_steps = std::count_if(record.steps.begin(), record.steps.end(),
                                      [](const train::StepRecord& step) { return !step.applied; });
  return std::max(static_cast<std::int64_t>(record.skips.size()), static_cast<std::int64_t>(in_steps));
}

std::string skip_words(const train::RunRecord& record) {
  const std::int64_t skips = skip_count(record);
  const auto steps = static_cast<std::int64_t>(record.steps.size());
  if (skips == 0) return "every gradient was finite";
  const amp::Recipe* row = amp::find_recipe_if(record.config.recipe);
  if (row && row->scaling == amp::LossScaling::none)
    return "gradients were not finite. This recipe has no loss scale to lower, and each such step changed "
           "nothing";
  std::int64_t early = 0;
  for (const train::SkipRecord& skip : record.skips) early += skip.step <= 20;
  if (skips > 20 && skips * 20 > steps)
    return "more than one in twenty, which is too many: the record names the gradients; a lower learning "
           "rate "
           "or "
           "another recipe helps";
  if (skips == steps)
    return "all there were, so nothing was trained: a longer run or a lower --init-scale helps";
  if (early > 0)
    return "this is normal: the scale starts high and is halved until gradients fit; a skipped step changes "
           "nothing";
  return "this is normal: the scale grows until gradients overflow, then halves; a skipped step changes "
         "nothing";
}

std::string operand_words(const amp::Operands& operands) {
  if (operands.scaling == amp::OperandScaling::none) return "";
  std::string text(operands.forward);
  if (operands.gradient != operands.forward) text += fmt::format(" (gradients {})", operands.gradient);
  if (operands.gradient_rounding == Rounding::stochastic) text += ", gradients rounded stochastically";
  return text;
}

std::string recipe_words(const std::string& recipe) {
  const amp::Recipe* row = amp::find_recipe_if(recipe);
  if (!row) return recipe;
  std::string text = fmt::format("matmuls in {}, weights in {}", row->compute.name(), row->parameter.name());
  if (row->operands.scaling != amp::OperandScaling::none)
    text += fmt::format(", operands of layers in {}", operand_words(row->operands));
  if (row->master == amp::MasterWeights::float32_copy) text += " with a float32 master copy";
  if (row->master == amp::MasterWeights::none) text += " without a master copy";
  if (row->master == amp::MasterWeights::trailing_bits) text += " and 16 trailing bits";
  if (row->master == amp::MasterWeights::stochastic) text += ", updates rounded stochastically";
  if (row->master == amp::MasterWeights::compensated) text += " with compensated updates";
  if (row->state != float32) text += fmt::format(", moments in {}", row->state.name());
  if (row->scaling == amp::LossScaling::none) return text + ", no loss scale";
  return fmt::format("{}, {} loss scale", text, amp::to_string(row->scaling));
}

std::string capitalised(std::string text) {
  if (!text.empty() && text[0] >= 'a' && text[0] <= 'z') text[0] = static_cast<char>(text[0] - 'a' + 'A');
  return text;
}

std::string extent_words(const train::RunRecord& record) {
  const train::Config& config = record.config;
  if (record.measure.is_text()) return plural(config.steps, "step");
  return plural(config.epochs, "epoch") +
         (config.limit > 0 ? " of " + plural(config.limit, "image") : std::string(" of the training data"));
}

std::string roofline_words(const train::RunRecord& record) {
  if (record.measure.flops_per_unit <= 0 || record.matmul_gflops_compute <= 0) return "";
  const double rate =
      per_second(record) * record.measure.flops_per_unit / (1e9 * record.matmul_gflops_compute);
  return fmt::format(", {:.0f} % of roofline", 100 * rate);
}

double per_second(const train::RunRecord& record) {
  double images = 0, seconds = 0;
  for (const train::EpochRecord& epoch : record.epochs) {
    images += epoch.per_second * epoch.seconds;
    seconds += epoch.seconds;
  }
  return seconds > 0 ? images / seconds : 0;
}

}  // namespace halftone::report
