// SPDX-License-Identifier: Apache-2.0
//
// Blocks of elements that share a scale, laid along the axis that the matmul sums over (OCP Microscaling
// Formats 1.0). A tile of rows is gathered, padded with zeros to whole blocks (which changes no scale),
// encoded, decoded and put back. The scale of a whole tensor, where a format has one, is rounded up to a
// power of two, so that element times scales fits bfloat16.
#include <algorithm>
#include <cmath>
#include <vector>

#include "amp/magnitude.h"
#include "amp/quantizers.h"
#include "halftone/block.h"
#include "halftone/parallel.h"
#include "halftone/profile.h"
#include "halftone/random.h"

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

// Room for one tile: `values` holds its rows one after another, each in whole blocks.
class Tile {
 public:
  Tile(const BlockFormat& format, const Tiling& tiling)
      : format_(format),
        tiling_(tiling),
        values_(static_cast<std::size_t>(tiling.rows * tiling.span)),
        turned_(tiling.step == 1 ? 0 : values_.size()),
        elements_(static_cast<std::size_t>(packed_bytes(format, tiling.rows * tiling.span))),
        scales_(
            static_cast<std::size_t>(block_count(format, tiling.rows * tiling.span) * format.scale.bytes())) {
  }

  // Rounds tile number `tile` of x into the result.
  void run(std::int64_t tile, const Tensor& x, const Conversion& conversion, RandomWords random,
           float tensor_scale, const Tensor& result) {
    first_ = tile / tiling_.spans() * tiling_.rows;
    rows_ = std::min(tiling_.rows, tiling_.count - first_);
    begin_ = tile % tiling_.spans() * tiling_.span;
    count_ = std::min(tiling_.span, tiling_.length - begin_);
    padded_ = round_up(count_, format_.length);
    load(x);
    random.first += static_cast<std::uint64_t>(first_ * tiling_.padded + begin_ * rows_);
    encode_blocks(format_, values_.data(), rows_ * padded_, elements_.data(), scales_.data(), tensor_scale,
                  conversion, random);
    decode_blocks(format_, elements_.data(), scales_.data(), rows_ * padded_, values_.data(), tensor_scale);
    store(result);
  }

 private:
  std::int64_t place(std::int64_t row, std::int64_t element) const {
    return (first_ + row) * tiling_.line_stride + (begin_ + element) * tiling_.step;
  }

  // Pieces that lie one after another in memory: rows of the tile, or (step > 1) its elements across the
  // rows; all of it where nothing lies in between. Calls each(place in memory, floats, count).
  template <class Each>
  void in_pieces(const Each& each) {
    if (tiling_.step == 1) {
      for (std::int64_t r = 0; r < rows_; ++r) each(place(r, 0), values_.data() + r * padded_, count_);
    } else if (rows_ == tiling_.count) {
      each(place(0, 0), turned_.data(), count_ * rows_);
    } else {
      for (std::int64_t i = 0; i < count_; ++i) each(place(0, i), turned_.data() + i * rows_, rows_);
    }
  }

  void load(const Tensor& x) {
    const DType dtype = x.dtype();
    const auto* codes = static_cast<const std::byte*>(x.raw());
    in_pieces([&](std::int64_t at, float* floats, std::int64_t count) {
      decode_row(dtype, codes + at * dtype.bytes(), floats, count);
    });
    for (std::int64_t r = 0; r < rows_; ++r) {
      float* row = values_.data() + r * padded_;
      if (tiling_.step != 1)
        for (std::int64_t i = 0; i < count_; ++i) row[i] = turned_[static_cast<std::size_t>(i * rows_ + r)];
      std::fill(row + count_, row + padded_, 0.0f);
    }
  }

  void store(const Tensor& result) {
    const DType dtype = result.dtype();
    auto* codes = result.storage()->data;  // not raw_mutable: many threads write, and the tensor is new
    if (tiling_.step != 1)
      for (std::int64_t r = 0; r < rows_; ++r) {
        const float* row = values_.data() + r * padded_;
        for (std::int64_t i = 0; i < count_; ++i) turned_[static_cast<std::size_t>(i * rows_ + r)] = row[i];
      }
    in_pieces([&](std::int64_t at, const float* floats, std::int64_t count) {
      encode_row(dtype, floats, codes + at * dtype.bytes(), count);
    });
  }

  const BlockFormat& format_;
  const Tiling& tiling_;
  std::vector<float> values_, turned_;
  std::vector<std::byte> elements_, scales_;
  std::int64_t first_ = 0, rows_ = 0, begin_ = 0, count_ = 0, padded_ = 0;  // of the tile at hand
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
      Tile room(format, tiling);
      for (std::int64_t tile = begin; tile < end; ++tile)
        room.run(tile, x, conversion, random, tensor_scale, result);
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
