// SPDX-License-Identifier: Apache-2.0
//
// c = a b (+ c) (+ bias): each element is one dot product, summed in double and rounded once.
#include <optional>

#include "backend/reference/element.h"
#include "backend/reference/reference.h"
#include "backend/rows.h"

namespace halftone {

void Reference::matmul(const Matmul& call) const {
  const auto& [a, b, c, bias, accumulate] = call;
  Nest batches(leading(c.shape(), 2));
  for (const Tensor* x : {&a, &b, &c}) batches.add(leading(x->shape(), 2), leading(x->strides(), 2));
  const reference::Reader left(a), right(b);
  std::optional<reference::Reader> added;
  if (bias.defined()) added.emplace(bias);
  const reference::Writer result(c);

  for (std::int64_t n = 0; n < batches.count(); ++n) {
    std::int64_t at[3];
    batches.locate(n, batches.rank, at);
    for (std::int64_t i = 0; i < c.size(-2); ++i)
      for (std::int64_t j = 0; j < c.size(-1); ++j) {
        const std::int64_t target = at[2] + i * c.strides()[-2] + j * c.strides()[-1];
        double sum = accumulate ? result.read(target) : 0;
        for (std::int64_t k = 0; k < a.size(-1); ++k)
          sum += left[at[0] + i * a.strides()[-2] + k * a.strides()[-1]] *
                 right[at[1] + k * b.strides()[-2] + j * b.strides()[-1]];
        if (added) sum += (*added)[j * bias.strides()[-1]];
        result.write(target, sum);
      }
  }
}

}  // namespace halftone
