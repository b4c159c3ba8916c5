// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>
#include <vector>

#include "halftone/autograd.h"

namespace halftone::optim {

// Throws ValueError naming the option unless low <= value < high.
void check(std::string_view optimizer, std::string_view option, double value, double low, double high);

// The state tensors of an optimizer, named after their parameters.
std::vector<Parameter> named(std::string_view prefix, const std::vector<Parameter>& parameters,
                             const std::vector<Tensor>& tensors);

// The elements of a float32 state tensor, to be written without counting as a write: rules do so on many
// threads.
inline float* values(const Tensor& tensor) { return reinterpret_cast<float*>(tensor.storage()->data); }

}  // namespace halftone::optim
