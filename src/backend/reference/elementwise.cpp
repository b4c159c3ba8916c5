// SPDX-License-Identifier: Apache-2.0
//
// out[i] = f(in[0][i], in[1][i], ...): the inputs broadcast to the shape of out, which may be one of them.
// All inputs of an element are read before it is written.
#include <cassert>
#include <vector>

#include "backend/iteration.h"
#include "backend/reference/element.h"
#include "backend/reference/reference.h"

namespace halftone {

void Reference::elementwise(const Formula& f, std::span<const Tensor> in, const Tensor& out,
                            std::span<const double> parameters) const {
  assert(std::ssize(in) == f.inputs);
  Nest nest(out.shape());
  nest.add(out);
  std::vector<reference::Reader> operands;
  for (const Tensor& x : in) {
    nest.add(x);
    operands.emplace_back(x);
  }
  const reference::Writer result(out);

  double values[kMaxOperands] = {};
  const double* pointers[kMaxOperands];
  for (int k = 0; k < kMaxOperands; ++k) pointers[k] = &values[k];
  for (std::int64_t i = 0; i < nest.count(); ++i) {
    std::int64_t at[Nest::kOperands];
    nest.locate(i, nest.rank, at);
    for (std::size_t k = 0; k < operands.size(); ++k) values[k] = operands[k][at[k + 1]];
    double y = 0;
    f.float64(pointers, &y, 1, parameters.data());
    result.write(at[0], y);
  }
}

}  // namespace halftone
