// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "halftone/error.h"
#include "halftone/loss_scale.h"

namespace halftone::amp {

const ScalerPolicy* find_scaler_policy_if(std::string_view name) {
  for (const ScalerPolicy& policy : kScalerPolicies)
    if (policy.name == name) return &policy;
  return nullptr;
}

const ScalerPolicy& find_scaler_policy(std::string_view name) {
  if (const ScalerPolicy* policy = find_scaler_policy_if(name)) return *policy;
  std::string names;
  for (const ScalerPolicy& policy : kScalerPolicies)
    names += (names.empty() ? "" : ", ") + std::string(policy.name);
  throw ValueError("scaler policy", fmt::format("\"{}\"", name), names);
}

}  // namespace halftone::amp
