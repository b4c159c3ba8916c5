// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <initializer_list>

#include "halftone/tensor.h"

namespace halftone::nn {

// While one lives, this thread's layers are made without random values, and draw no numbers: the weights are
// about to be read from a file. Drawing those of a large model takes longer than reading them.
class WithoutInitialValues {
 public:
  WithoutInitialValues();
  ~WithoutInitialValues();
  WithoutInitialValues(const WithoutInitialValues&) = delete;
  WithoutInitialValues& operator=(const WithoutInitialValues&) = delete;
};

Tensor normal_parameter(const Shape& shape, double deviation);
Tensor constant_parameter(const Shape& shape, double value);

// Throws ValueError if one of the sizes is below 1.
void check_sizes(const char* layer, std::initializer_list<int> sizes);

}  // namespace halftone::nn
