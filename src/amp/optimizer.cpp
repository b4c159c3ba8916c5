// SPDX-License-Identifier: Apache-2.0
//
// Who owns what of a weight: the parameter, its master, what is kept beside a narrow one (narrow_weights.h)
// and the state of the rule. How an update goes over them is in tiles.cpp.
#include <fmt/format.h>

#include <cstring>
#include <unordered_map>
#include <unordered_set>

#include "amp/gradients.h"
#include "amp/optimizer_parts.h"
#include "backend/precision.h"
#include "halftone/amp.h"

namespace halftone::amp {
namespace {

constexpr double kLargestRate = 1e30;

Tensor widened(const Tensor& narrow) {
  Tensor master(narrow.shape(), float32);
  decode_row(narrow.dtype(), narrow.raw(), master.mutable_data<float>(), narrow.count());
  return master;
}

void check_steps(std::string_view where, std::int64_t steps) {
  if (steps < 0) throw ValueError(where, fmt::format("{} steps", steps), "a count of steps");
}

}  // namespace

Optimizer::Optimizer(std::vector<Parameter> parameters, MasterWeights master)
    : parameters_(std::move(parameters)), state_(parameters_.size()) {
  if (parameters_.empty()) throw ValueError("optimizer", "no parameters", "at least one");
  std::unordered_set<const void*> seen;
  std::unordered_set<std::string_view> names;
  for (const Parameter& parameter : parameters_) {
    const Tensor& value = parameter.value;
    if (!value.defined() || !value.requires_grad())
      throw ValueError("optimizer", fmt::format("'{}', which does not require a gradient", parameter.name),
                       "trainable tensors");
    if (!value.dtype().is_floating() || is_wide(value.dtype()))
      throw DTypeError("optimizer", fmt::format("'{}' in {}", parameter.name, value.dtype().name()),
                       "a floating-point format whose values are float32 ones");
    if (!value.is_contiguous())
      throw ShapeError("optimizer", fmt::format("'{}' with strides", parameter.name), "a contiguous tensor");
    if (value.count() > 0 && !seen.insert(value.raw()).second)  // all that are empty may have one address
      throw ValueError("optimizer", fmt::format("'{}' twice", parameter.name), "each parameter once");
    if (!parameter.name.empty() && !names.insert(parameter.name).second)
      throw ValueError("optimizer", fmt::format("two parameters called '{}'", parameter.name),
                       "a name for each, by which its state is saved and loaded",
                       "a prefix for the parameters of each model");
    if (value.dtype() != float32 && master == MasterWeights::is_parameter)
      throw DTypeError("optimizer", fmt::format("'{}' in {}", parameter.name, value.dtype().name()),
                       "float32, because the parameter is to be its own master",
                       "MasterWeights::float32_copy keeps a float32 master of it");
    set_name(value, parameter.name);
    masters_.push_back(value.dtype() == float32                ? value
                       : master == MasterWeights::float32_copy ? widened(value)
                                                               : Tensor());
    const bool is_narrow = !masters_.back().defined();
    narrow_.push_back(is_narrow ? std::make_unique<Narrow>(parameter, master) : nullptr);
  }
  for (std::size_t i = 0; i < parameters_.size(); ++i) versions_.push_back(versions(i));
  for (const Parameter& parameter : parameters_) ++parameter.value.storage()->keep_casts;
}

Optimizer::~Optimizer() {
  consume_gradients(false);
  for (const Parameter& parameter : parameters_) {
    Storage& storage = *parameter.value.storage();
    if (--storage.keep_casts == 0) storage.casts.clear();
  }
}

Tensor Optimizer::beside(std::size_t index) const {
  if (narrow_[index]) return narrow_[index]->extra();
  return parameters_[index].value.dtype() == float32 ? Tensor() : masters_[index];
}

Optimizer::Versions Optimizer::versions(std::size_t index) const {
  const Tensor kept = beside(index);
  return {parameters_[index].value.version(), kept ? kept.version() : 0};
}

void Optimizer::keep_state(std::size_t index, std::size_t slot, std::string_view name, const Shape& shape,
                           DType dtype) {
  state_[index].at(slot) = zeros(shape, dtype);
  state_names_[slot] = name;
  if (!elementwise(index, slot) && dtype != float32)
    throw DTypeError("optimizer",
                     fmt::format("{} of '{}' in {}", name, parameters_[index].name, dtype.name()),
                     "float32, because its shape is not the parameter's");
}

bool Optimizer::elementwise(std::size_t index, std::size_t slot) const {
  return state_[index][slot].shape() == parameters_[index].value.shape();
}

void Optimizer::zero_grad() {
  if (consuming_) finish_consuming();
  for (Parameter& parameter : parameters_) parameter.value.zero_grad();
}

void Optimizer::step(float gradient_scale) {
  if (consuming_) {
    if (gradient_scale != 1)
      throw ValueError("Optimizer.step", fmt::format("gradient_scale = {}", gradient_scale),
                       "1: the gradients were used as backward made them", "consume_gradients(false)");
    for (std::size_t i = 0; i < parameters_.size(); ++i)
      if (gradient_of(parameters_[i]).defined()) consume(i);  // one that backward did not make
    return finish_consuming();
  }
  bool any = false;
  for (const Parameter& parameter : parameters_) any |= gradient_of(parameter).defined();
  if (!any) return;
  ++steps_;
  for (std::size_t i = 0; i < parameters_.size(); ++i) update(i, gradient_scale);
}

void Optimizer::set_lr(double lr) {
  if (!(lr >= 0 && lr <= kLargestRate))
    throw ValueError("Optimizer.set_lr", fmt::format("lr = {}", lr), "a number from 0 to 1e30");
  lr_ = lr;
}

void Optimizer::set_steps(std::int64_t steps) {
  check_steps("Optimizer.set_steps", steps);
  steps_ = steps;
}

std::vector<Parameter> Optimizer::state() const {
  std::vector<Parameter> state;
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    follow_write(i);
    if (const Tensor kept = beside(i); kept && !narrow_[i])
      state.push_back({"master." + parameters_[i].name, kept});
  }
  for (std::size_t i = 0; i < parameters_.size(); ++i)
    if (narrow_[i] && narrow_[i]->extra())
      state.push_back(
          {fmt::format("{}.{}", narrow_[i]->extra_name(), parameters_[i].name), narrow_[i]->extra()});
  for (std::size_t slot = 0; slot < Tile::kMaxState; ++slot)
    for (std::size_t i = 0; i < parameters_.size(); ++i)
      if (state_[i][slot])
        state.push_back({fmt::format("{}.{}", state_names_[slot], parameters_[i].name), state_[i][slot]});
  if (consuming_ && consuming_->clip_norm > 0) state.push_back({"previous_norm", consuming_->previous_norm});
  return state;
}

void Optimizer::load(const std::vector<Parameter>& state, std::int64_t steps) {
  std::unordered_map<std::string, Tensor> given;
  for (const Parameter& entry : state) given.emplace(entry.name, entry.value);
  const std::vector<Parameter> own = this->state();
  check_steps("Optimizer.load", steps);
  for (const Parameter& to : own) {
    const auto found = given.find(to.name);
    if (found == given.end() || !found->second.defined())
      throw ValueError("Optimizer.load", fmt::format("no \"{}\"", to.name), "the state of the same optimizer",
                       "the same rule, options, recipe and parameters");
    const Tensor& from = found->second;
    if (from.dtype() != to.value.dtype())
      throw DTypeError(
          "Optimizer.load", fmt::format("\"{}\" in {}", to.name, from.dtype().name()),
          std::string(to.value.dtype().name()),
          fmt::format("an optimizer whose state is {}, or casting it on purpose", from.dtype().name()));
    if (!(from.shape() == to.value.shape()) || !from.is_contiguous())
      throw ShapeError("Optimizer.load", fmt::format("\"{}\" of shape {}", to.name, to_string(from.shape())),
                       to_string(to.value.shape()) + ", contiguous");
  }
  if (given.size() != own.size())
    throw ValueError("Optimizer.load", fmt::format("{} tensors", given.size()), fmt::format("{}", own.size()),
                     "the same rule, options, recipe and parameters");
  for (const Parameter& to : own)
    std::memcpy(to.value.raw_mutable(), given.at(to.name).raw(), static_cast<std::size_t>(to.value.bytes()));
  steps_ = steps;
}

}  // namespace halftone::amp
