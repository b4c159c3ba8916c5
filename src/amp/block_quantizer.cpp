// SPDX-License-Identifier: Apache-2.0
//
// Blocks of elements that share a scale, laid along the axis that the matmul sums over (OCP Microscaling
// Formats 1.0). Where a row of elements ends within a block, the block is short. The scale of a whole tensor,
// where a format has one, is rounded up to a power of two, so that it adds no bits to element times scale.
#include <algorithm>
#include <cmath>

#include "amp/magnitude.h"
#include "amp/quantizers.h"
#include "halftone/parallel.h"
#include "halftone/profile.h"
#include "halftone/random.h"
#include "halftone/rounding.h"
#include "op/memory_order.h"

namespace halftone::amp {
namespace {

constexpr std::int64_t kTile = 4096;  // elements in whole blocks: stays in the first-level caches
constexpr std::int64_t kUnit = 8;     // tiles that a thread takes at a time

// x as a matrix whose rows are summed over, cut into tiles of some rows and some whole blocks of each.
struct Tiling {
  std::int64_t count, length;       // rows, elements of a row
  std::int64_t line_stride, step;   // from row to row, from element to element; one of them is 1
  std::int64_t padded;              // length of a row in whole blocks
  std::int64_t rows = 0, span = 0;  // of a tile

  Tiling(const Shape& shape, Along along, std::int64_t block) {
    const std::int64_t total = shape.count();
    const std::int64_t last = shape.rank() == 0 ? 1 : shape[-1], first = shape.rank() == 0 ? 1 : shape[0];
    if (along == Along::last && last % block == 0)
      count = 1, length = total, line_stride = total, step = 1;  // no block crosses the end of a row
    else if (along == Along::last)
      count = total / last, length = last, line_stride = last, step = 1;
    else if (along == Along::first)
      count = total / first, length = first, line_stride = 1, step = total / first;
    else
      count = last, length = total / last, line_stride = 1, step = last;
    padded = round_up(length, block);
    if (step == 1) {
      span = std::min(padded, round_up(kTile, block));
      rows = std::clamp<std::int64_t>(kTile / span, 1, count);
    } else {
      rows = std::min<std::int64_t>(count, 128);
      span = std::min(padded, round_up(kTile / rows, block));
    }
  }

  std::int64_t spans() const { return chunk_count(padded, span); }
  std::int64_t bands() const { return chunk_count(count, rows); }
  std::int64_t tiles() const { return bands() * spans(); }
  // The first row of a tile, and the first element of each. Tiles come in the order of memory.
  std::int64_t first(std::int64_t tile) const { return (step == 1 ? tile / spans() : tile % bands()) * rows; }
  std::int64_t begin(std::int64_t tile) const { return (step == 1 ? tile % spans() : tile / bands()) * span; }
};

float power_of_two_at_least(float value) {
  const int exponent = std::ilogb(value);
  return std::ldexp(1.0f, std::ldexp(1.0f, exponent) < value ? exponent + 1 : exponent);
}

// The random numbers of a tile are those of its rows one after another, each in whole blocks.
void round_tile(BlockRounder& rounder, const Tiling& tiling, std::int64_t tile, std::int64_t block,
                const RowPair& all, RandomWords random) {
  const std::int64_t first = tiling.first(tile), begin = tiling.begin(tile);
  const std::int64_t rows = std::min(tiling.rows, tiling.count - first);
  const std::int64_t count = std::min(tiling.span, tiling.length - begin);
  random.first += static_cast<std::uint64_t>(first * tiling.padded + begin * rows);
  if (tiling.step != 1)
    return rounder.columns(all.at(first + begin * tiling.step), count, rows, tiling.step, random);
  for (std::int64_t r = 0; r < rows; ++r) {
    rounder.row(all.at((first + r) * tiling.line_stride + begin), count, random);
    random.first += static_cast<std::uint64_t>(round_up(count, block));
  }
}

class BlockQuantizer final : public Quantizer {
 public:
  explicit BlockQuantizer(const Operands& operands)
      : forward_(find_block_format(operands.forward)),
        gradient_(find_block_format(operands.gradient)),
        rounding_(operands.gradient_rounding) {}

  Tensor quantize(const Tensor& given, OperandRole role, Along along, std::string_view) const override {
    const profile::Scope scope("round operand", profile::Class::cast);
    const Tensor x = contiguous(*thread_state().backend, given);
    const BlockFormat& format = role == OperandRole::gradient ? gradient_ : forward_;
    Tensor result(x.shape(), carrier(format));
    if (x.count() == 0) return result;
    const RowPair all{x.dtype(), x.raw(), result.dtype(), result.raw_mutable()};
    const Tiling tiling(x.shape(), along, format.length);
    Conversion conversion = default_conversion(format.element.format());
    RandomWords random{thread_state().seed, streams::operands, 0};
    if (role == OperandRole::gradient) conversion.rounding = rounding_;
    if (conversion.rounding == Rounding::stochastic)
      random.first = take_random(static_cast<std::uint64_t>(tiling.count * tiling.padded));
    const float tensor_scale =
        format.has_tensor_scale ? power_of_two_at_least(halftone::tensor_scale(format, largest_magnitude(x)))
                                : 1;
    parallel_for(tiling.tiles(), kUnit, [&](std::int64_t begin, std::int64_t end) {
      BlockRounder rounder(format, tensor_scale, conversion);
      for (std::int64_t tile = begin; tile < end; ++tile)
        round_tile(rounder, tiling, tile, format.length, all, random);
    });
    return result;
  }

  bool may_share(OperandRole) const override { return false; }

 private:
  BlockFormat forward_, gradient_;
  Rounding rounding_;
};

}  // namespace

std::shared_ptr<const Quantizer> make_block_quantizer(const Operands& operands) {
  return std::make_shared<BlockQuantizer>(operands);
}

}  // namespace halftone::amp
