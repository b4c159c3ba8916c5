// SPDX-License-Identifier: Apache-2.0
//
// Assigning what was computed in float.
// error: operator=|overloaded '='
#include "halftone/scalar.h"

#ifdef MISUSE
void f(halftone::bfloat16_t& x) { x = x * 2.0f; }
#else
void f(halftone::bfloat16_t& x) { x = halftone::bfloat16_t(x * 2.0f); }
#endif
