// SPDX-License-Identifier: Apache-2.0
//
// The state of the processor's floating-point unit. A program may have chosen another rounding or that
// subnormals are flushed (a shared library linked with -ffast-math does so for the whole process); code whose
// results must not depend on it computes inside this scope.
#pragma once

#include <cfenv>

namespace halftone {

// Rounding to nearest, subnormals kept, no traps; what was before comes back at the end of the scope. On x86
// the state of the vector unit, read always and written only where it is not the default already.
class DefaultFloatState {
 public:
  DefaultFloatState();
  ~DefaultFloatState();
  DefaultFloatState(const DefaultFloatState&) = delete;
  DefaultFloatState& operator=(const DefaultFloatState&) = delete;

 private:
#if defined(__SSE2__)
  unsigned before_;
#else
  std::fenv_t before_;
#endif
};

}  // namespace halftone
