// SPDX-License-Identifier: Apache-2.0
//
// Floating-point operations of a training step, as the literature counts them: the products of layers,
// forward and twice backward, and of attention; nothing else. What recomputation adds does not count.
#pragma once

#include <cstdint>
#include <span>

namespace halftone::train {

// rows x inner times inner x columns. A convolution is one with a row for each position of its result and
// inner = kernel * kernel * channels.
struct Product {
  std::int64_t rows, inner, columns;
};
double training_flops(std::span<const Product> products);  // 3 * 2 * rows * inner * columns each

// Of one token: 6 for each weight that it is multiplied by (the head included, embeddings that are looked up
// excluded) and 12 * layers * width * context for attention, whether or not half of it is masked (Chowdhery
// et al. 2022, appendix B).
double transformer_flops(std::int64_t weights, std::int64_t layers, std::int64_t width, std::int64_t context);

}  // namespace halftone::train
