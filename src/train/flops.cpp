// SPDX-License-Identifier: Apache-2.0
#include "train/flops.h"

namespace halftone::train {

double training_flops(std::span<const Product> products) {
  double flops = 0;
  for (const Product& product : products)
    flops += 6 * static_cast<double>(product.rows) * static_cast<double>(product.inner) *
             static_cast<double>(product.columns);
  return flops;
}

double transformer_flops(std::int64_t weights, std::int64_t layers, std::int64_t width,
                         std::int64_t context) {
  return 6 * static_cast<double>(weights) +
         12 * static_cast<double>(layers) * static_cast<double>(width) * static_cast<double>(context);
}

}  // namespace halftone::train
