// SPDX-License-Identifier: Apache-2.0
//
// An array converted to a number format, in pieces and on all threads. Each value is rounded once, from the
// exact value of its code.
#pragma once

#include "cli/convert_sink.h"
#include "cli/convert_source.h"
#include "cli/convert_tally.h"
#include "halftone/conversion.h"

namespace halftone::cli {

ConvertTally convert_numbers(const ConvertSource& source, DType target, const Conversion& conversion,
                             std::uint64_t seed, ConvertSink& sink);

}  // namespace halftone::cli
