// SPDX-License-Identifier: Apache-2.0
//
// The kernels that `halftone bench kernels` measures, at the sizes of the models of `halftone bench step`:
// products in GFLOP/s, everything else in GB/s, each pass over a tensor counted.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "halftone/random.h"
#include "halftone/tensor.h"

namespace halftone::cli {

struct KernelCase {
  std::string name;   // "layer_norm backward"
  std::string shape;  // "2048 x 384"
  DType dtype;
  bool product;                           // work is FLOPs, not bytes
  double work;                            // of a call
  std::function<double(double)> seconds;  // of a call, the median within a budget of seconds
};

// What they work on: numbers in [-1, 1).
inline Tensor random(const Shape& shape, DType dtype) {
  return random_uniform(shape, -1, 1, 1, streams::example, dtype);
}

// In a format; those that have none of their own (optimizer, scan) with float32.
std::vector<KernelCase> product_kernels(DType dtype);
std::vector<KernelCase> memory_kernels(DType dtype);

}  // namespace halftone::cli
