// SPDX-License-Identifier: Apache-2.0
//
// The table of update rules, and a row of it at work on parameters.
#include <fmt/format.h>

#include <cassert>

#include "backend/precision.h"
#include "base/join.h"
#include "optim/rule.h"

namespace halftone::optim {

extern const Rule kSgd, kAdam, kAdamW, kLamb, kLion, kAdafactor;

namespace {

constexpr const Rule* kRules[] = {&kAdamW, &kSgd, &kAdam, &kLamb, &kLion, &kAdafactor};

// The place of an option in the rule's; their number if there is none of that name.
std::size_t find_option(const Rule& rule, std::string_view name) {
  std::size_t at = 0;
  while (at < rule.options.size() && rule.options[at].name != name) ++at;
  return at;
}

// Every rule has one.
std::size_t weight_decay_of(const Rule& rule) {
  const std::size_t at = find_option(rule, "weight_decay");
  assert(at < rule.options.size());
  return at;
}

void check_range(const Rule& rule, std::size_t option, double value) {
  const OptionRow& row = rule.options[option];
  if (!(value >= row.low && value < row.high))
    throw ValueError(rule.title, fmt::format("{} = {}", row.name, value),
                     fmt::format("at least {} and below {}", row.low, row.high));
}

}  // namespace

std::span<const Rule* const> rules() { return kRules; }

const Rule& find_rule(std::string_view name) {
  for (const Rule* rule : kRules)
    if (rule->name == name) return *rule;
  throw ValueError("optimizer", fmt::format("\"{}\"", name), join(kRules, &Rule::name));
}

std::vector<std::string_view> optimizer_names() {
  std::vector<std::string_view> names;
  for (const Rule* rule : kRules) names.push_back(rule->name);
  return names;
}

std::unique_ptr<RuleOptimizer> make_optimizer(
    std::string_view name, std::vector<Parameter> parameters, const amp::Recipe& recipe,
    const std::vector<std::pair<std::string_view, double>>& options) {
  const Rule& rule = find_rule(name);
  Options values = rule.defaults;
  for (const auto& given : options) {
    const std::size_t at = find_option(rule, given.first);
    if (at == rule.options.size())
      throw ValueError(rule.title, fmt::format("the option \"{}\"", given.first),
                       join(rule.options, &OptionRow::name));
    values[at] = given.second;
  }
  return std::make_unique<RuleOptimizer>(rule, std::move(parameters), values, recipe.master, recipe.state);
}

RuleOptimizer::RuleOptimizer(const Rule& rule, std::vector<Parameter> parameters, const Options& options,
                             MasterWeights master, DType state)
    : Optimizer(std::move(parameters), master),
      rule_(rule),
      options_(options),
      adjustments_(this->parameters().size()) {
  for (std::size_t i = 0; i < rule.options.size(); ++i) check_range(rule, i, options[i]);
  if (rule.check != nullptr) rule.check(options);
  if (!state.is_floating() || is_wide(state) || !state.format().is_signed)
    throw DTypeError(rule.title, fmt::format("state in {}", state.name()),
                     "a signed floating-point format whose values are float32 ones");
  lr_ = options[0];
  for (std::size_t slot = 0; slot < rule.state.size(); ++slot)
    for (std::size_t i = 0; i < this->parameters().size(); ++i) {
      const Shape& own = this->parameters()[i].value.shape();
      const std::optional<Shape> shape = rule.state[slot].shape(own, options);
      if (shape) keep_state(i, slot, rule.state[slot].name, *shape, *shape == own ? state : float32);
    }
}

std::int64_t RuleOptimizer::adjust(const std::function<bool(const Parameter&)>& chosen,
                                   const Adjustment& adjustment) {
  constexpr double kLargestFactor = 1e6;  // times the largest rate it is a float32
  if (!(adjustment.lr_factor >= 0 && adjustment.lr_factor <= kLargestFactor))
    throw ValueError(rule_.title, fmt::format("lr_factor = {}", adjustment.lr_factor),
                     "a number from 0 to 1e6");
  if (adjustment.weight_decay) check_range(rule_, weight_decay_of(rule_), *adjustment.weight_decay);
  std::vector<Adjustment> adjusted = adjustments_;
  std::int64_t count = 0;
  for (std::size_t i = 0; i < adjusted.size(); ++i)
    if (chosen(parameters()[i])) adjusted[i] = adjustment, ++count;
  if (count == 0)
    throw ValueError(rule_.title, fmt::format("none of {} parameters chosen to adjust", adjusted.size()),
                     "one or more");
  adjustments_ = std::move(adjusted);
  return count;
}

RuleOptimizer::Options RuleOptimizer::options_now(const Adjustment& adjustment) const {
  Options options = options_;
  options[0] = lr_ * adjustment.lr_factor;
  if (adjustment.weight_decay) options[weight_decay_of(rule_)] = *adjustment.weight_decay;
  return options;
}

void RuleOptimizer::prepare(std::size_t index, const Tensor& gradient, float gradient_scale) {
  const Options options = options_now(adjustments_[index]);
  of_parameter_ = rule_.coefficients(options, steps());
  if (rule_.gather == nullptr) return;
  Subject subject{parameters()[index].value.shape(),
                  options,
                  steps(),
                  gradient.data<float>(),
                  gradient_scale,
                  {},
                  [&](const std::function<void(const Tile&)>& read) {
                    read_tiles(index, gradient, gradient_scale, read);
                  }};
  for (std::size_t slot = 0; slot < Tile::kMaxState; ++slot) {
    const Tensor& tensor = state_tensor(index, slot);
    if (tensor && !(tensor.shape() == subject.shape))
      subject.state[slot] = reinterpret_cast<float*>(tensor.storage()->data);
  }
  rule_.gather(subject, of_parameter_);
}

void RuleOptimizer::rule(std::size_t index, const Tile& tile) {
  rule_.tile(tile, of_parameter_, parameters()[index].value.shape());
}

}  // namespace halftone::optim
