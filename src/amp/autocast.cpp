// SPDX-License-Identifier: Apache-2.0
//
// Autocast is one field of the thread's state, set and restored by scope; the casting is done by
// op/apply.cpp.
#include "halftone/amp.h"
#include "op/cast_cache.h"

namespace halftone::amp {

AutocastScope::AutocastScope(DType compute) : outer_(thread_state().autocast) {
  if (!compute.is_floating())
    throw DTypeError("autocast", std::string(compute.name()), "a floating-point format to compute in");
  if (compute == float32)
    thread_state().autocast.reset();
  else
    thread_state().autocast = compute;
}

AutocastScope::~AutocastScope() {
  thread_state().autocast = outer_;
  if (!outer_) release_autocast_casts();
}

}  // namespace halftone::amp
