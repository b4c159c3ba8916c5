// SPDX-License-Identifier: Apache-2.0
//
// What benchmarks of whole steps share: the median of some turns, and the machine in the JSON they write.
#pragma once

#include <algorithm>
#include <nlohmann/json.hpp>
#include <vector>

#include "train/machine.h"

namespace halftone::bench {

using Json = nlohmann::ordered_json;

inline double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

inline Json machine() {
  const train::Machine machine = train::describe_machine();
  return {{"processor", machine.processor},
          {"simd", machine.simd},
          {"threads", machine.threads},
          {"OMP_WAIT_POLICY", machine.wait_policy}};
}

}  // namespace halftone::bench
