// SPDX-License-Identifier: Apache-2.0
#include "halftone/autograd.h"

namespace halftone {

ThreadState& thread_state() {
  thread_local ThreadState state;
  return state;
}

void manual_seed(std::uint64_t seed) {
  thread_state().seed = seed;
  thread_state().random_index = 0;
}

std::uint64_t take_random(std::uint64_t count) {
  const std::uint64_t first = thread_state().random_index;
  thread_state().random_index += count;
  return first;
}

}  // namespace halftone
