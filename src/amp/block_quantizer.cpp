// SPDX-License-Identifier: Apache-2.0
//
// Blocks of elements that share a scale, laid along the axis that the matmul sums over (OCP Microscaling
// Formats 1.0). A tile is read, rounded and written. Where blocks lie along the last axis, rows are padded
// with zeros to whole blocks, which changes no scale; where they lie across rows of memory, the tile keeps
// those and they are padded for the vector loops. The scale of a whole tensor, where a format has one, is
// rounded up to a power of two, so that element times scales fits bfloat16.
#include <algorithm>
#include <cmath>
#include <vector>

#include "amp/magnitude.h"
#include "amp/quantizers.h"
#include "halftone/parallel.h"
#include "halftone/profile.h"
#include "halftone/random.h"
#include "halftone/rounding.h"

namespace halftone::amp {
namespace {

constexpr std::int64_t kTile = 4096;  // elements, padding included: stays in the first-level caches
constexpr std::int64_t kUnit = 4;     // tiles that a thread takes at a time

std::int64_t round_up(std::int64_t value, std::int64_t unit) { return (value + unit - 1) / unit * unit; }

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

  std::int64_t spans() const { return (padded + span - 1) / span; }
  std::int64_t tiles() const { return (count + rows - 1) / rows * spans(); }
};

// Room for one tile: lines that lie one after another in memory, each followed by its padding. A line is a
// row of the tile in whole blocks or, where step > 1, one element of each row.
class Tile {
 public:
  Tile(const BlockFormat& format, const Tiling& tiling, float tensor_scale, const Conversion& conversion)
      : tiling_(tiling), block_(format.length), rounder_(format, tensor_scale, conversion) {
    const std::int64_t lines = tiling.step == 1 ? tiling.rows : tiling.span;
    const std::int64_t width = tiling.step == 1 ? tiling.span : padded_columns(tiling.rows);
    values_.resize(static_cast<std::size_t>(lines * width));
  }

  // Rounds tile number `tile` of x into the result.
  void run(std::int64_t tile, const Tensor& x, RandomWords random, const Tensor& result) {
    const std::int64_t first = tile / tiling_.spans() * tiling_.rows;
    const std::int64_t begin = tile % tiling_.spans() * tiling_.span;
    const std::int64_t rows = std::min(tiling_.rows, tiling_.count - first);
    const std::int64_t count = std::min(tiling_.span, tiling_.length - begin);
    random.first += static_cast<std::uint64_t>(first * tiling_.padded + begin * rows);
    start_ = first * tiling_.line_stride + begin * tiling_.step;
    if (tiling_.step == 1) {
      lines_ = rows, width_ = count, padded_ = round_up(count, block_), apart_ = tiling_.line_stride;
      load(x);
      rounder_.row(values_.data(), rows * padded_, random);
    } else {
      lines_ = count, width_ = rows, padded_ = padded_columns(rows), apart_ = tiling_.step;
      load(x);
      rounder_.columns(values_.data(), count, rows, padded_, random);
    }
    store(result);
  }

 private:
  static std::int64_t padded_columns(std::int64_t columns) {
    return round_up(columns, BlockRounder::kColumns);
  }

  // Calls each(place in memory, floats, count) for every line, or once where nothing lies between them.
  template <class Each>
  void in_pieces(const Each& each) {
    if (width_ == padded_ && width_ == apart_) return each(start_, values_.data(), lines_ * width_);
    for (std::int64_t i = 0; i < lines_; ++i) each(start_ + i * apart_, values_.data() + i * padded_, width_);
  }

  void load(const Tensor& x) {
    const DType dtype = x.dtype();
    const auto* codes = static_cast<const std::byte*>(x.raw());
    in_pieces([&](std::int64_t at, float* floats, std::int64_t count) {
      decode_row(dtype, codes + at * dtype.bytes(), floats, count);
    });
    for (std::int64_t i = 0; i < lines_; ++i)
      std::fill(values_.data() + i * padded_ + width_, values_.data() + (i + 1) * padded_, 0.0f);
  }

  void store(const Tensor& result) {
    const DType dtype = result.dtype();
    auto* codes = result.storage()->data;  // not raw_mutable: many threads write, and the tensor is new
    in_pieces([&](std::int64_t at, const float* floats, std::int64_t count) {
      encode_row(dtype, floats, codes + at * dtype.bytes(), count);
    });
  }

  const Tiling& tiling_;
  std::int64_t block_;
  BlockRounder rounder_;
  std::vector<float> values_;
  // Of the tile at hand: its place, its lines, their length without and with padding, and from each to the
  // next in memory.
  std::int64_t start_ = 0, lines_ = 0, width_ = 0, padded_ = 0, apart_ = 0;
};

float power_of_two_at_least(float value) {
  const int exponent = std::ilogb(value);
  return std::ldexp(1.0f, std::ldexp(1.0f, exponent) < value ? exponent + 1 : exponent);
}

class BlockQuantizer final : public Quantizer {
 public:
  explicit BlockQuantizer(const Operands& operands)
      : forward_(find_block_format(operands.forward)),
        gradient_(find_block_format(operands.gradient)),
        rounding_(operands.gradient_rounding) {}

  Tensor quantize(const Tensor& given, OperandRole role, Along along, std::string_view) const override {
    const profile::Scope scope("round operand", profile::Class::cast);
    const Tensor x = contiguous(given);
    const BlockFormat& format = role == OperandRole::gradient ? gradient_ : forward_;
    Tensor result(x.shape(), bfloat16);
    if (x.count() == 0) return result;
    result.raw_mutable();
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
      Tile room(format, tiling, tensor_scale, conversion);
      for (std::int64_t tile = begin; tile < end; ++tile) room.run(tile, x, random, result);
    });
    return result;
  }

 private:
  BlockFormat forward_, gradient_;
  Rounding rounding_;
};

}  // namespace

std::shared_ptr<const Quantizer> make_block_quantizer(const Operands& operands) {
  return std::make_shared<BlockQuantizer>(operands);
}

}  // namespace halftone::amp
