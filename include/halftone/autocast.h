// SPDX-License-Identifier: Apache-2.0
//
// Autocast: ops cast their operands as their policy says, for as long as a scope lives.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "halftone/autograd.h"
#include "halftone/op.h"
#include "halftone/recipe.h"

namespace halftone::amp {

// What a recipe asks of the ops, ready for use by any number of scopes: the compute format, and the formats
// of operands with what their scales need to remember.
class Casting {
 public:
  // `parameters`: those whose scales are kept from step to step (OperandScaling::delayed), by name.
  explicit Casting(const Recipe& recipe, const std::vector<Parameter>& parameters = {});
  explicit Casting(DType compute) : compute_(compute) {}

  DType compute() const { return compute_; }
  const std::shared_ptr<const OperandQuantizer>& quantizer() const { return quantizer_; }
  // What is remembered, shared: running state like that of batch norm, to be saved and restored with it.
  const std::vector<Parameter>& state() const { return state_; }
  void finish_step();  // an applied step: what was seen in it counts from now on

 private:
  DType compute_;
  std::shared_ptr<const OperandQuantizer> quantizer_;
  std::vector<Parameter> state_;
};

// Runs f with ops casting to `compute` as their policy says (float32: no casting), and returns what it
// returns. Scopes nest, recurse and unwind; state lives on the stack. Narrow copies of parameters made inside
// are dropped at the end of the outermost scope unless an optimizer keeps them up to date.
class AutocastScope {
 public:
  explicit AutocastScope(const Casting& casting);
  explicit AutocastScope(DType compute) : AutocastScope(Casting(compute)) {}
  ~AutocastScope();
  AutocastScope(const AutocastScope&) = delete;
  AutocastScope& operator=(const AutocastScope&) = delete;

 private:
  std::optional<DType> outer_;
  std::shared_ptr<const OperandQuantizer> outer_quantizer_;
};

template <class F>
decltype(auto) autocast(const Casting& casting, F&& f) {
  const AutocastScope scope(casting);
  return std::forward<F>(f)();
}
template <class F>
decltype(auto) autocast(DType compute, F&& f) {
  return autocast(Casting(compute), std::forward<F>(f));
}

// Ops of one name behave otherwise for as long as the object lives; of several scopes for an op the innermost
// counts. Throws ValueError for an op that does not exist. An op inside autocast(float32) is in float32
// anyway.
struct OverrideOptions {
  std::optional<CastPolicy> policy{};  // instead of the op's own
  std::optional<DType> result{};       // of the op's result, whatever the policy says
};
class OverrideScope {
 public:
  OverrideScope(std::string_view op, OverrideOptions options);
  ~OverrideScope();
  OverrideScope(const OverrideScope&) = delete;
  OverrideScope& operator=(const OverrideScope&) = delete;

 private:
  std::shared_ptr<const CastOverride> outer_;
};
template <class F>
decltype(auto) override_cast(std::string_view op, OverrideOptions options, F&& f) {
  const OverrideScope scope(op, options);
  return std::forward<F>(f)();
}

// What was cast where and why, while f ran once: one record per op call, and the same as a table.
template <class F>
std::vector<CastRecord> explain(F&& f) {
  const CastLog log;
  std::forward<F>(f)();
  return log.records();
}
std::string reason(const CastRecord& record);  // "compute: operands cast to bfloat16, result in it"
std::string to_table(const std::vector<CastRecord>& records);

}  // namespace halftone::amp
