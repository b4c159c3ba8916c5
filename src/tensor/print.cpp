// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>

#include "halftone/tensor.h"

namespace halftone {

std::string to_string(const Tensor& tensor) {
  if (!tensor) return "undefined tensor";
  constexpr std::size_t kShown = 8;
  const std::vector<double> values = tensor.to_vector();
  const std::size_t shown = std::min(values.size(), kShown);
  std::string text = fmt::format("{} {} [", tensor.dtype().name(), to_string(tensor.shape()));
  for (std::size_t i = 0; i < shown; ++i) text += fmt::format("{}{}", i == 0 ? "" : ", ", values[i]);
  return text + (values.size() > shown ? ", ...]" : "]");
}

}  // namespace halftone
