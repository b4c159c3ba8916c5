// SPDX-License-Identifier: Apache-2.0
//
// The place of a format that is not in the table.
// error: there is no format of that name
#include "halftone/format.h"

#ifdef MISUSE
constexpr int index = halftone::format_index("float4");
#else
constexpr int index = halftone::format_index("float4_e2m1fn");
#endif
