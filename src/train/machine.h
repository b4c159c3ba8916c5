// SPDX-License-Identifier: Apache-2.0
//
// The machine a run was measured on: without it, a number of images per second says nothing.
#pragma once

#include <cstdint>
#include <istream>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "halftone/train.h"

namespace halftone::train {

Machine describe_machine();

// As records and state files have it, and back; throws nlohmann's exceptions.
nlohmann::ordered_json machine_json(const Machine& machine);
Machine read_machine(const nlohmann::ordered_json& json);

// Name of the processor and the widest instruction set that matters here, from text like /proc/cpuinfo.
Machine parse_cpuinfo(std::istream& cpuinfo);

// The largest resident size of this process in bytes, since its start or the last reset; 0 if unknown.
std::int64_t peak_resident_bytes();
void reset_peak_resident();  // where the system allows it

// Of what is resident at the moment, the bytes that are the process's own and those of files: code,
// libraries.
struct Resident {
  std::int64_t anonymous = 0, files = 0;
};
Resident resident_bytes();

// Rate of a large matmul, rows x inner times inner x columns, with operands in `dtype`, accumulated in
// float32: what this process could reach right now. Takes about a tenth of a second.
double matmul_gflops(DType dtype, std::int64_t rows = 1024, std::int64_t inner = 1024,
                     std::int64_t columns = 1024);

}  // namespace halftone::train
