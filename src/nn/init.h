// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <initializer_list>

#include "halftone/tensor.h"

namespace halftone::nn {

Tensor normal_parameter(const Shape& shape, double deviation);
Tensor constant_parameter(const Shape& shape, double value);

// Throws ValueError if one of the sizes is below 1.
void check_sizes(const char* layer, std::initializer_list<int> sizes);

}  // namespace halftone::nn
