// SPDX-License-Identifier: Apache-2.0
#include "halftone/float_state.h"

#if defined(__SSE2__)
#include <xmmintrin.h>
#endif

namespace halftone {

#if defined(__SSE2__)
namespace {

constexpr unsigned kDefault = 0x1F80, kFlags = 0x3F;  // all traps masked; sticky flags do not matter

}  // namespace

DefaultFloatState::DefaultFloatState() : before_(_mm_getcsr()) {
  if ((before_ & ~kFlags) != kDefault) _mm_setcsr(kDefault);
}

DefaultFloatState::~DefaultFloatState() {
  if ((before_ & ~kFlags) != kDefault) _mm_setcsr(before_);
}
#else
DefaultFloatState::DefaultFloatState() {
  std::fegetenv(&before_);
  std::fesetenv(FE_DFL_ENV);
}

DefaultFloatState::~DefaultFloatState() { std::fesetenv(&before_); }
#endif

}  // namespace halftone
