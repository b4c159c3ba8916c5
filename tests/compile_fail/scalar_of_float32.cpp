// SPDX-License-Identifier: Apache-2.0
//
// Of 32 bits there is float.
// error: a Scalar has fractions and at most 16 bits
#include "halftone/scalar.h"

#ifdef MISUSE
halftone::Scalar<halftone::format_index("float32")> x;
#else
halftone::Scalar<halftone::format_index("bfloat16")> x;
#endif
