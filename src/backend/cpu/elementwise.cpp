// SPDX-License-Identifier: Apache-2.0
//
// out[i] = f(in[0][i], ...). Dimensions are merged as far as the strides allow, then the work is cut into
// units of up to kUnit elements: stretches of a long innermost dimension, or several short innermost rows at
// once. Where everything is float32 in one run, units are whole chunks and f works in memory; otherwise each
// operand that is not comes through a tile. A tile whose source does not move (a scalar, a bias) is filled
// once. Tiles are read and written in bursts, between which the processor would not look ahead: the lines of
// the next unit, the result's too, are asked for while f works on this one.
#include <algorithm>
#include <array>
#include <cassert>

#include "backend/cpu/cpu.h"
#include "backend/cpu/precision.h"
#include "backend/cpu/tile.h"
#include "backend/iteration.h"
#include "halftone/parallel.h"

namespace halftone {
namespace {

using cpu::Block;
using cpu::kChunk;

constexpr std::int64_t kUnit = 512, kLine = 64;  // elements; bytes
static_assert(kUnit <= cpu::kTile);

struct Loop {
  TileFunction<float> run;
  Nest nest;  // operand 0 is the output, operand k + 1 input k
  std::array<float, kMaxParameters> parameters{};
  const Tensor* tensors[kMaxOperands + 1] = {};
  const void* data[kMaxOperands] = {};
  void* out = nullptr;
  bool direct = true;  // float32 in one run, all of them

  // A unit is `step` positions of dimension `split`, and everything inside.
  int split = 0;
  std::int64_t step = 1, units_per_outer = 1;

  Block block(int operand, std::int64_t steps) const {
    const int inner = nest.rank - 1;
    if (split == inner) return {1, steps, 0, nest.stride[inner][operand]};
    return {steps, nest.size[inner], nest.stride[split][operand], nest.stride[inner][operand]};
  }
  // Asks for the lines of the unit of `steps` positions after the one at `data`. Inlined, because a function
  // that only prefetches has no effect in a compiler's eyes, and its calls are dropped.
  [[gnu::always_inline]] void fetch_next(int operand, const void* data, std::int64_t steps) const {
    const Block next = block(operand, steps);
    if (!next.is_contiguous()) return;
    const DType dtype = tensors[operand]->dtype();
    const std::byte* at = cpu::advance(data, dtype, steps * nest.stride[split][operand]);
    const std::int64_t bytes = next.count() * dtype.bytes();
    for (std::int64_t i = 0; i < bytes; i += kLine) __builtin_prefetch(at + i);
  }
  void units(std::int64_t begin, std::int64_t end) const;
};

void Loop::units(std::int64_t begin, std::int64_t end) const {
  alignas(64) float tiles[kMaxOperands + 1][kUnit];
  const void* filled_from[kMaxOperands] = {};  // what the tile holds already
  std::int64_t filled[kMaxOperands] = {};
  const float* in[kMaxOperands];

  for (std::int64_t unit = begin; unit < end; ++unit) {
    std::int64_t offset[Nest::kOperands];
    nest.locate(unit / units_per_outer, split, offset);
    const std::int64_t first = unit % units_per_outer * step;
    const std::int64_t steps = std::min(step, nest.size[split] - first);
    for (int k = 0; k < nest.operands; ++k) offset[k] += first * nest.stride[split][k];

    const Block target = block(0, steps);
    const bool fetches = !direct && first + 2 * step <= nest.size[split];  // the next unit is a whole one
    for (int k = 0; k < nest.operands - 1; ++k) {
      const DType dtype = tensors[k + 1]->dtype();
      const void* source = cpu::advance(data[k], dtype, offset[k + 1]);
      if (source == filled_from[k] && target.count() <= filled[k]) continue;
      in[k] = cpu::load_block(dtype, source, block(k + 1, steps), tiles[k]);
      filled_from[k] = source;
      filled[k] = target.count();
      if (fetches) fetch_next(k + 1, source, step);
    }
    const DType dtype = tensors[0]->dtype();
    void* result = cpu::advance(out, dtype, offset[0]);
    if (fetches) fetch_next(0, result, step);
    if (dtype == float32 && target.is_contiguous()) {
      run(in, static_cast<float*>(result), target.count(), parameters.data());
    } else {
      run(in, tiles[kMaxOperands], target.count(), parameters.data());
      cpu::store_block(dtype, result, target, tiles[kMaxOperands]);
    }
  }
}

}  // namespace

void Cpu::elementwise(const Formula& f, std::span<const Tensor> in, const Tensor& out,
                      std::span<const double> parameters) const {
  assert(std::ssize(in) == f.inputs && parameters.size() <= kMaxParameters);
  if (!cpu::fits_float32(out.dtype()) || !cpu::all_fit_float32(in))  // an int32 counts in double
    return cpu::reference_backend().elementwise(f, in, out, parameters);
  if (out.count() == 0) return;

  Loop loop{.run = f.float32[static_cast<int>(simd_level())], .nest = Nest(out.shape())};
  for (std::size_t i = 0; i < parameters.size(); ++i) loop.parameters[i] = static_cast<float>(parameters[i]);
  loop.nest.add(out);
  loop.tensors[0] = &out;
  for (std::size_t k = 0; k < in.size(); ++k) {
    loop.nest.add(in[k]);
    loop.tensors[k + 1] = &in[k];
    loop.data[k] = in[k].raw();
  }
  loop.out = out.raw_mutable();
  Nest& nest = loop.nest;
  nest.order_by(0);
  nest.coalesce();

  const int inner = nest.rank - 1;
  for (int k = 0; k < nest.operands; ++k)
    loop.direct &= loop.tensors[k]->dtype() == float32 && nest.stride[inner][k] == 1;
  const bool short_rows = nest.rank > 1 && nest.size[inner] < kUnit;
  loop.split = short_rows ? inner - 1 : inner;
  loop.step = short_rows ? kUnit / nest.size[inner] : loop.direct ? kChunk : kUnit;
  loop.units_per_outer = chunk_count(nest.size[loop.split], loop.step);
  const std::int64_t unit = loop.step * (short_rows ? nest.size[inner] : 1);
  parallel_for(nest.count(loop.split) * loop.units_per_outer, std::max<std::int64_t>(kChunk / unit, 1),
               [&loop](std::int64_t begin, std::int64_t end) { loop.units(begin, end); });
}

}  // namespace halftone
