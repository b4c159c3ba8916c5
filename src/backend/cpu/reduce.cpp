// SPDX-License-Identifier: Apache-2.0
#include "backend/cpu/reduce.h"

#include <array>

#include "backend/cpu/cpu.h"
#include "backend/cpu/precision.h"
#include "backend/cpu/sums.h"

namespace halftone {
namespace {

constexpr Formula kAdd = formula<2>([](auto a, auto b) { return a + b; });

void append(Nest& nest, const Nest& from, int dimension) {
  nest.size[nest.rank] = from.size[dimension];
  for (int k = 0; k < from.operands; ++k) nest.stride[nest.rank][k] = from.stride[dimension][k];
  ++nest.rank;
}

// An empty nest for x and the result.
Nest pair_nest() {
  Nest nest{Shape()};
  nest.operands = 2;
  return nest;
}

}  // namespace

void Cpu::reduce(Reduction kind, const Tensor& x, const Tensor& y, double scale, bool accumulate) const {
  if (!cpu::fits_float32(x.dtype()) || !cpu::fits_float32(y.dtype()))  // an int32 counts in double
    return cpu::reference_backend().reduce(kind, x, y, scale, accumulate);
  if (y.count() == 0) return;
  if (y.dtype() != float32 || !y.is_contiguous()) {
    const Tensor result(y.shape(), float32);
    reduce(kind, x, result, scale, false);
    if (accumulate && kind == Reduction::sum)
      elementwise(kAdd, std::array{result, y}, y, {});
    else
      copy(result, y);
    return;
  }

  const void* data = x.raw();
  cpu::ReduceLoop loop{.kind = kind,
                       .dtype = x.dtype(),
                       .data = data,
                       .result = static_cast<float*>(y.raw_mutable()),
                       .scale = scale,
                       .accumulate = accumulate,
                       .groups = pair_nest(),
                       .rows = pair_nest()};
  if (x.count() == 0) {
    for (std::int64_t i = 0; i < y.count(); ++i) loop.store(i, cpu::start(kind));
    return;
  }
  Nest nest(x.shape());
  nest.add(x);
  nest.add(y.shape(), contiguous_strides(y.shape()));
  nest.order_by(0);
  nest.coalesce();
  const int inner = nest.rank - 1;
  for (int d = 0; d < inner; ++d) append(nest.stride[d][1] == 0 ? loop.rows : loop.groups, nest, d);
  loop.rows.coalesce();  // which adds a dimension of size 1 where there is none
  loop.groups.coalesce();
  loop.width = nest.size[inner];
  loop.stride = nest.stride[inner][0];
  loop.result_stride = nest.stride[inner][1];
  loop.result_stride == 0 ? cpu::reduce_along(loop) : cpu::reduce_across(loop);
}

}  // namespace halftone
