// SPDX-License-Identifier: Apache-2.0
//
// Not even two formats of the same width convert by themselves.
// error: (conversion from|no viable conversion from).*bfloat16_t
#include "halftone/scalar.h"

#ifdef MISUSE
const halftone::float16_t x = halftone::bfloat16_t(1);
#else
const halftone::float16_t x(halftone::bfloat16_t(1));
#endif
