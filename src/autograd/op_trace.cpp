// SPDX-License-Identifier: Apache-2.0
#include "autograd/op_trace.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace halftone::detail {
namespace {

thread_local OpTrace::Scope* innermost = nullptr;

constexpr const char* kExpected = "the ops of the forward pass, on the same shapes and formats";
constexpr const char* kHint =
    "a function of its inputs, parameters and thread_state() alone: no counters, no data read anew";

}  // namespace

OpTrace::Scope::Scope(OpTrace& trace, Mode mode) : trace_(trace), mode_(mode), outer_(innermost) {
  innermost = this;
}

OpTrace::Scope::~Scope() { innermost = outer_; }

void OpTrace::Scope::finish() const {
  if (mode_ != Mode::compare || position_ >= trace_.entries_.size()) return;
  throw Error("checkpoint",
              fmt::format("recomputing ended after {} ops where the forward pass ran '{}' as op {}",
                          position_, trace_.entries_[position_].op, position_ + 1),
              kExpected, kHint);
}

bool OpTrace::active() { return innermost != nullptr; }

const OpResult* OpTrace::begin(std::string_view op) {
  const OpResult* kept = nullptr;
  for (const Scope* scope = innermost; scope != nullptr; scope = scope->outer_)
    if (scope->mode_ == Scope::Mode::compare)
      if (const OpResult* result = scope->trace_.expect(op, scope->position_)) kept = result;
  return kept;
}

void OpTrace::uses(const Tensor& operand) {
  const auto slot = slot_of(operand);
  if (!slot) return;
  for (Scope* scope = innermost; scope != nullptr; scope = scope->outer_) {
    auto& used = scope->trace_.used_;
    if (scope->mode_ == Scope::Mode::record && std::find(used.begin(), used.end(), slot) == used.end())
      used.push_back(slot);
  }
}

void OpTrace::end(std::string_view op, const OpResult& result) {
  for (Scope* scope = innermost; scope != nullptr; scope = scope->outer_) {
    if (scope->mode_ == Scope::Mode::record)
      scope->trace_.add(op, result);
    else
      scope->trace_.compare(op, result.output, scope->position_++);
  }
}

void OpTrace::add(std::string_view op, const OpResult& result) {
  const bool keep = std::find(keep_.begin(), keep_.end(), op) != keep_.end();
  entries_.push_back(
      {op, result.output.shape(), result.output.dtype(), keep ? static_cast<int>(kept_.size()) : -1});
  if (keep)
    kept_.push_back({{result.output.detach(), result.saved, result.random_numbers}, result.output.version()});
}

const OpResult* OpTrace::expect(std::string_view op, std::size_t position) const {
  if (position >= entries_.size())
    throw Error(
        "checkpoint",
        fmt::format("recomputing ran '{}' as op {} where the forward pass had ended", op, position + 1),
        kExpected, kHint);
  const Entry& entry = entries_[position];
  if (entry.op != op)
    throw Error("checkpoint",
                fmt::format("recomputing ran '{}' as op {} where the forward pass ran '{}'", op, position + 1,
                            entry.op),
                kExpected, kHint);
  if (entry.kept < 0) return nullptr;
  const Kept& kept = kept_[static_cast<std::size_t>(entry.kept)];
  if (kept.result.output.version() != kept.version)
    throw Error("checkpoint",
                fmt::format("the kept result of '{}', op {}, was modified in place", op, position + 1),
                "results that are still what they were", "modifying a copy, or not keeping this op");
  return &kept.result;
}

void OpTrace::compare(std::string_view op, const Tensor& output, std::size_t position) const {
  const Entry& entry = entries_[position];
  if (output.shape() == entry.shape && output.dtype() == entry.dtype) return;
  throw Error("checkpoint",
              fmt::format("recomputing '{}', op {}, gave {} {} where the forward pass gave {} {}", op,
                          position + 1, output.dtype().name(), to_string(output.shape()), entry.dtype.name(),
                          to_string(entry.shape)),
              kExpected, kHint);
}

}  // namespace halftone::detail
