// SPDX-License-Identifier: Apache-2.0
//
// f on every row (the last axis). A float32 row in one run is handed to f where it lies; any other is decoded
// into a buffer, and results leave through one. A row that serves all rows is decoded once per chunk. An
// output that starts where an input starts gets a buffer too: f may write before it has read everything.
#include <algorithm>
#include <array>
#include <cassert>
#include <memory>

#include "backend/cpu/cpu.h"
#include "backend/cpu/precision.h"
#include "backend/cpu/tile.h"
#include "backend/rows.h"
#include "halftone/parallel.h"

namespace halftone {
namespace {

using cpu::kTile;

struct Operand {
  DType dtype = float32;
  const void* data = nullptr;
  std::int64_t width = 0, stride = 0;
  std::int64_t buffer = -1;  // where in the chunk's buffer, or -1 if used where it lies
};

// Rows may be longer than a tile.
void load_row(const Operand& x, const void* row, float* values) {
  for (std::int64_t i = 0; i < x.width; i += kTile) {
    const cpu::Block block{1, std::min(kTile, x.width - i), 0, x.stride};
    const float* tile = cpu::load_block(x.dtype, cpu::advance(row, x.dtype, i * x.stride), block, values + i);
    if (tile != values + i) std::copy_n(tile, block.columns, values + i);
  }
}

void store_row(const Operand& y, void* row, const float* values) {
  for (std::int64_t i = 0; i < y.width; i += kTile)
    cpu::store_block(y.dtype, cpu::advance(row, y.dtype, i * y.stride),
                     {1, std::min(kTile, y.width - i), 0, y.stride}, values + i);
}

struct Loop {
  RowFunction<float> run;
  Nest nest;
  int inputs, outputs;
  std::array<float, kMaxParameters> parameters{};
  Operand operands[Nest::kOperands]{};
  std::int64_t buffer_size = 0;

  void add(const Tensor& x, int k, const void* data, bool buffered) {
    Operand& operand = operands[k];
    operand = {x.dtype(), data, row_width(x), row_stride(x), -1};
    if (x.dtype() == float32 && (operand.stride == 1 || operand.width == 1) && !buffered) return;
    operand.buffer = buffer_size;
    buffer_size += (operand.width + 15) / 16 * 16;  // rows start on cache lines
  }
  void rows(std::int64_t begin, std::int64_t end) const;
};

void Loop::rows(std::int64_t begin, std::int64_t end) const {
  constexpr std::int64_t kOnStack = 4 * kTile;
  alignas(64) float on_stack[kOnStack];
  std::unique_ptr<float[]> on_heap;
  float* buffer = on_stack;
  if (buffer_size > kOnStack) {
    on_heap.reset(new float[static_cast<std::size_t>(buffer_size)]);  // uninitialised
    buffer = on_heap.get();
  }

  const void* decoded[Nest::kOperands] = {};
  Rows<float> rows{{}, {}, parameters.data(), 0};
  for (rows.row = begin; rows.row < end; ++rows.row) {
    std::int64_t offset[Nest::kOperands];
    nest.locate(rows.row, nest.rank, offset);
    for (int k = 0; k < inputs; ++k) {
      const Operand& x = operands[k];
      const void* row = cpu::advance(x.data, x.dtype, offset[k]);
      if (row == decoded[k]) continue;
      decoded[k] = row;
      if (x.buffer >= 0) load_row(x, row, buffer + x.buffer);
      rows.in[k] = {x.buffer >= 0 ? buffer + x.buffer : static_cast<const float*>(row),
                    static_cast<std::size_t>(x.width)};
    }
    for (int k = 0; k < outputs; ++k) {
      const Operand& y = operands[inputs + k];
      void* row = const_cast<std::byte*>(cpu::advance(y.data, y.dtype, offset[inputs + k]));
      rows.out[k] = {y.buffer >= 0 ? buffer + y.buffer : static_cast<float*>(row),
                     static_cast<std::size_t>(y.width)};
    }
    run(rows);
    for (int k = 0; k < outputs; ++k) {
      const Operand& y = operands[inputs + k];
      if (y.buffer >= 0)
        store_row(y, const_cast<std::byte*>(cpu::advance(y.data, y.dtype, offset[inputs + k])),
                  buffer + y.buffer);
    }
  }
}

}  // namespace

void Cpu::rowwise(const RowFormula& f, std::span<const Tensor> in, std::span<const Tensor> out,
                  std::span<const double> parameters) const {
  assert(parameters.size() <= kMaxParameters);
  if (cpu::any_wide(in) || cpu::any_wide(out))
    return cpu::reference_backend().rowwise(f, in, out, parameters);

  Loop loop{.run = f.float32[static_cast<int>(simd_level())],
            .nest = rows_of(in, out),
            .inputs = static_cast<int>(in.size()),
            .outputs = static_cast<int>(out.size())};
  for (std::size_t i = 0; i < parameters.size(); ++i) loop.parameters[i] = static_cast<float>(parameters[i]);
  std::int64_t width = 1;
  for (int k = 0; k < loop.inputs; ++k) {
    const Tensor& x = in[static_cast<std::size_t>(k)];
    loop.add(x, k, x.raw(), false);
    width = std::max(width, row_width(x));
  }
  for (int k = 0; k < loop.outputs; ++k) {
    const Tensor& y = out[static_cast<std::size_t>(k)];
    const void* data = y.raw_mutable();
    const bool in_place =
        std::any_of(in.begin(), in.end(), [data](const Tensor& x) { return x.raw() == data; });
    loop.add(y, loop.inputs + k, data, in_place);
    width = std::max(width, row_width(y));
  }
  const std::int64_t count = loop.nest.count();
  loop.nest.coalesce();
  parallel_for(count, std::max<std::int64_t>(16384 / width, 1),
               [&loop](std::int64_t begin, std::int64_t end) { loop.rows(begin, end); });
}

}  // namespace halftone
