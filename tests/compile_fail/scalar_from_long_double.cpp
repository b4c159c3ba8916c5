// SPDX-License-Identifier: Apache-2.0
//
// A long double would be rounded twice.
// error: use of deleted|call to deleted
#include "halftone/scalar.h"

#ifdef MISUSE
const halftone::float16_t x(1.0L);
#else
const halftone::float16_t x(1.0);
#endif
