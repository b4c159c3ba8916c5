// SPDX-License-Identifier: Apache-2.0
//
// A format that is not in the table, where a program names it.
// error: there is no format of that name
#include "halftone/format.h"

#ifdef MISUSE
constexpr halftone::DType dtype = halftone::dtype("float9");
#else
constexpr halftone::DType dtype = halftone::dtype("float16");
#endif
