// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "base/join.h"
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
  throw ValueError("scaler policy", fmt::format("\"{}\"", name), join(kScalerPolicies, &ScalerPolicy::name));
}

}  // namespace halftone::amp
