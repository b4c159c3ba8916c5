// SPDX-License-Identifier: Apache-2.0
//
// Autocast is a few fields of the thread's state, set and restored by scope; the casting is done by
// op/apply.cpp.
#include "halftone/autocast.h"

#include <fmt/format.h>

#include <algorithm>

#include "op/cast_cache.h"

namespace halftone::amp {

AutocastScope::AutocastScope(const Casting& casting)
    : outer_(thread_state().autocast), outer_quantizer_(thread_state().quantizer) {
  const DType compute = casting.compute();
  if (!compute.is_floating())
    throw DTypeError("autocast", std::string(compute.name()), "a floating-point format to compute in");
  if (compute == float32)
    thread_state().autocast.reset();
  else
    thread_state().autocast = compute;
  thread_state().quantizer = casting.quantizer();
}

AutocastScope::~AutocastScope() {
  thread_state().autocast = outer_;
  thread_state().quantizer = outer_quantizer_;
  if (!outer_) release_autocast_casts();
}

OverrideScope::OverrideScope(std::string_view op, OverrideOptions options)
    : outer_(thread_state().overrides) {
  const auto ops = registered_ops();
  if (std::none_of(ops.begin(), ops.end(), [&](const Op* known) { return known->name == op; }))
    throw ValueError("override", fmt::format("'{}'", op), "the name of an op", "`halftone ops` lists them");
  if (options.result && !options.result->is_floating())
    throw DTypeError("override", std::string(options.result->name()), "a floating-point format");
  thread_state().overrides = std::make_shared<const CastOverride>(
      CastOverride{std::string(op), options.policy, options.result, outer_});
}

OverrideScope::~OverrideScope() { thread_state().overrides = outer_; }

}  // namespace halftone::amp
