// SPDX-License-Identifier: Apache-2.0
//
// Whole numbers of 8 bits are std::uint8_t.
// error: a Scalar has fractions and at most 16 bits
#include "halftone/scalar.h"

#ifdef MISUSE
halftone::Scalar<halftone::format_index("uint8")> x;
#else
halftone::Scalar<halftone::format_index("fixed8m6")> x;
#endif
