// SPDX-License-Identifier: Apache-2.0
//
// Rotary positions: rows of float32 and bfloat16 are turned where they lie; other formats and strides pass
// through float32 copies.
#include <algorithm>
#include <any>
#include <span>

#include "backend/cpu/kernels.h"
#include "backend/cpu/lanes.h"
#include "backend/cpu/onednn.h"
#include "backend/kernel_options.h"
#include "backend/rows.h"
#include "halftone/parallel.h"

namespace halftone::cpu {
namespace {

// Rows one after the other in position; strides in elements.
struct Positions {
  std::int64_t count, half, x_stride, y_stride;
};

template <class X, class Y>
struct Turn {
  static void run(const Positions& rows, const typename X::Code* x, const float* angles, float direction,
                  typename Y::Code* y) {
    const std::int64_t half = rows.half;
    for (std::int64_t row = 0; row < rows.count; ++row) {
      const typename X::Code* __restrict a_code = x + row * rows.x_stride, * __restrict b_code =
                                                                               a_code + half;
      const float* __restrict cosines = angles + row * 2 * half, * __restrict sines = cosines + half;
      typename Y::Code* __restrict first = y + row * rows.y_stride, * __restrict second = first + half;
      for (std::int64_t i = 0; i < half; ++i) {
        const float cosine = cosines[i], sine = direction * sines[i], a = X::load(a_code[i]),
                    b = X::load(b_code[i]);
        first[i] = Y::store(a * cosine - b * sine);
        second[i] = Y::store(b * cosine + a * sine);
      }
    }
  }
};

bool turned_in_place(const Tensor& x) {
  return (x.dtype() == float32 || x.dtype() == bfloat16) && row_stride(x) == 1;
}

}  // namespace

void rotary(const KernelCall& call) {
  const Tensor& target = call.out[0];
  const Tensor x = turned_in_place(call.in[0]) ? call.in[0] : contiguous(decoded(call.in[0], float32));
  const Tensor y = turned_in_place(target) ? target : Tensor(target.shape(), float32);
  const auto direction =
      static_cast<float>(std::any_cast<const RotaryKernelOptions&>(call.options).direction);
  const Tensor& table = call.in[1];
  const auto* angles = table.data<float>();
  const std::int64_t width = x.size(-1), positions = x.size(-2);
  if (x.count() == 0) return;

  Nest nest(leading(x.shape(), 2));
  nest.add(leading(x.shape(), 2), leading(x.strides(), 2));
  nest.add(leading(y.shape(), 2), leading(y.strides(), 2));
  const std::int64_t chunk = std::max<std::int64_t>(16384 / width, 1), chunks = chunk_count(positions, chunk);
  const auto* from = static_cast<const std::byte*>(x.raw());
  auto* to = static_cast<std::byte*>(y.raw_mutable());
  with_lane(x.dtype() == bfloat16, [&](auto x_lane) {
    with_lane(y.dtype() == bfloat16, [&](auto y_lane) {
      using X = decltype(x_lane);
      using Y = decltype(y_lane);
      parallel_for(nest.count() * chunks, 1, [&](std::int64_t task, std::int64_t) {
        std::int64_t at[2];
        nest.locate(task / chunks, nest.rank, at);
        const std::int64_t first = task % chunks * chunk;
        const Positions rows{std::min(chunk, positions - first), width / 2, x.strides()[-2], y.strides()[-2]};
        at[0] += first * rows.x_stride;
        at[1] += first * rows.y_stride;
        at_simd_level<Turn<X, Y>, const Positions&>(
            rows, reinterpret_cast<const typename X::Code*>(from + at[0] * x.dtype().bytes()),
            angles + first * width, direction,
            reinterpret_cast<typename Y::Code*>(to + at[1] * y.dtype().bytes()));
      });
    });
  });
  if (y.raw() != target.raw()) find_backend("cpu").copy(y, target);
}

}  // namespace halftone::cpu
