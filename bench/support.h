// SPDX-License-Identifier: Apache-2.0
//
// What benchmarks of whole steps share: the machine in the JSON they write.
#pragma once

#include <nlohmann/json.hpp>

#include "train/machine.h"

namespace halftone::bench {

using Json = nlohmann::ordered_json;

inline Json machine() {
  const train::Machine machine = train::describe_machine();
  return {{"processor", machine.processor},
          {"simd", machine.simd},
          {"threads", machine.threads},
          {"OMP_WAIT_POLICY", machine.wait_policy}};
}

}  // namespace halftone::bench
