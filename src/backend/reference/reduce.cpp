// SPDX-License-Identifier: Apache-2.0
//
// Reduces x onto y along the axes where y has size 1. The whole sum (or maximum) is kept in double and
// rounded once. The maximum of a NaN with anything is NaN; of nothing it is -infinity.
#include <cmath>
#include <limits>
#include <vector>

#include "backend/iteration.h"
#include "backend/reference/element.h"
#include "backend/reference/reference.h"

namespace halftone {

void Reference::reduce(Reduction kind, const Tensor& x, const Tensor& y, double scale,
                       bool accumulate) const {
  const double start = kind == Reduction::sum ? 0 : -std::numeric_limits<double>::infinity();
  std::vector<double> results(static_cast<std::size_t>(y.count()), start);

  Nest nest(x.shape());
  nest.add(x);
  nest.add(y.shape(), contiguous_strides(y.shape()));  // where in `results`
  const reference::Reader source(x);
  for (std::int64_t i = 0; i < nest.count(); ++i) {
    std::int64_t at[2];
    nest.locate(i, nest.rank, at);
    const double value = source[at[0]];
    double& result = results[static_cast<std::size_t>(at[1])];
    if (kind == Reduction::sum)
      result += value;
    else if (value > result || std::isnan(value))
      result = value;
  }

  Nest outputs(y.shape());
  outputs.add(y);
  const reference::Writer target(y);
  for (std::int64_t i = 0; i < outputs.count(); ++i) {
    std::int64_t at;
    outputs.locate(i, outputs.rank, &at);
    double result = results[static_cast<std::size_t>(i)];
    if (kind == Reduction::sum) result = scale * result + (accumulate ? target.read(at) : 0);
    target.write(at, result);
  }
}

}  // namespace halftone
