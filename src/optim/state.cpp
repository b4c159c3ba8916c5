// SPDX-License-Identifier: Apache-2.0
#include "optim/state.h"

#include <fmt/format.h>

namespace halftone::optim {

void check(std::string_view optimizer, std::string_view option, double value, double low, double high) {
  if (!(value >= low && value < high))
    throw ValueError(optimizer, fmt::format("{} = {}", option, value),
                     fmt::format("at least {} and below {}", low, high));
}

std::vector<Parameter> named(std::string_view prefix, const std::vector<Parameter>& parameters,
                             const std::vector<Tensor>& tensors) {
  std::vector<Parameter> state;
  for (std::size_t i = 0; i < tensors.size(); ++i)
    state.push_back({std::string(prefix) + parameters[i].name, tensors[i]});
  return state;
}

}  // namespace halftone::optim
