// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <cmath>

#include "halftone/autograd.h"

namespace halftone {

GradcheckResult gradcheck(const std::function<Tensor(const std::vector<Tensor>&)>& fn,
                          std::vector<Tensor> inputs, double step) {
  for (Tensor& input : inputs) {
    if (input.requires_grad() && (input.dtype() != float64 || !input.is_contiguous()))
      throw DTypeError(
          "gradcheck",
          fmt::format("an input of {} with strides {}", input.dtype().name(), to_string(input.strides())),
          "contiguous float64 leaves");
    input.zero_grad();
  }
  fn(inputs).backward();

  GradcheckResult result;
  auto evaluate = [&] { return fn(inputs).item(); };  // recorded: fn may differentiate inside
  for (std::size_t k = 0; k < inputs.size(); ++k) {
    Tensor& input = inputs[k];
    if (!input.requires_grad()) continue;
    const std::vector<double> grad = input.grad()
                                         ? input.grad().to_vector()
                                         : std::vector<double>(static_cast<std::size_t>(input.count()));
    for (std::size_t i = 0; i < grad.size(); ++i) {
      const double x = input.data<double>()[i];
      input.mutable_data<double>()[i] = x + step;
      const double above = evaluate();
      input.mutable_data<double>()[i] = x - step;
      const double below = evaluate();
      input.mutable_data<double>()[i] = x;
      const double numeric = (above - below) / (2 * step);
      const double error = std::abs(grad[i] - numeric) / (1 + std::abs(numeric));
      if (!(error <= result.worst)) {
        result.worst = std::isnan(error) ? INFINITY : error;
        result.where =
            fmt::format("input {}, element {}: backward {:.9g}, numeric {:.9g}", k, i, grad[i], numeric);
      }
    }
  }
  return result;
}

}  // namespace halftone
