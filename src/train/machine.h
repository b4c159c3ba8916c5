// SPDX-License-Identifier: Apache-2.0
//
// The machine a run was measured on: without it, a number of images per second says nothing.
#pragma once

#include <cstdint>
#include <istream>
#include <string>

#include "halftone/train.h"

namespace halftone::train {

Machine describe_machine();

// Name of the processor and the widest instruction set that matters here, from text like /proc/cpuinfo.
Machine parse_cpuinfo(std::istream& cpuinfo);

// The largest resident size of this process in bytes, since its start or the last reset; 0 if unknown.
std::int64_t peak_resident_bytes();
void reset_peak_resident();  // where the system allows it

// Rate of a large square matmul with operands in `dtype`, accumulated in float32: what this process could
// reach right now. Takes about a tenth of a second.
double matmul_gflops(DType dtype);

}  // namespace halftone::train
