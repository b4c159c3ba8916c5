// SPDX-License-Identifier: Apache-2.0
//
// Adding a float in place would round it to the format in passing.
// error: operator\+=|overloaded '\+='
#include "halftone/scalar.h"

#ifdef MISUSE
void f(halftone::float16_t& x) { x += 1.0f; }
#else
void f(halftone::float16_t& x) { x += halftone::float16_t(1.0f); }
#endif
