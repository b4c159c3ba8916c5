// SPDX-License-Identifier: Apache-2.0
//
// Blocks of elements that share a scale, laid along the axis that the matmul sums over (OCP Microscaling
// Formats 1.0). A tile of rows is gathered, padded with zeros to whole blocks (which changes no scale),
// encoded, decoded and put back. The scale of a whole tensor, where a format has one, is rounded up to a
// power of two, so that element times scales fits bfloat16.
#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include "amp/quantizers.h"
#include "halftone/block.h"
#include "halftone/parallel.h"
#include "halftone/random.h"

namespace halftone::amp {
namespace {

constexpr std::int64_t kTile = 4096;  // elements, padding included: stays in the first-level caches

// x as a matrix whose rows are summed over: strides are in elements, and one of the two is 1.
struct Lines {
  std::int64_t count, length;      // rows, elements of a row
  std::int64_t line_stride, step;  // from row to row, from element to element
};

Lines lines_of(const Shape& shape, Along along) {
  const std::int64_t total = shape.count();
  const std::int64_t last = shape.rank() == 0 ? 1 : shape[-1], first = shape.rank() == 0 ? 1 : shape[0];
  switch (along) {
    case Along::last:
      return {total / last, last, last, 1};
    case Along::first:
      return {total / first, first, 1, total / first};
    case Along::rows:
      return {last, total / last, 1, last};
  }
  return {0, 0, 0, 1};
}

std::int64_t round_up(std::int64_t value, std::int64_t unit) { return (value + unit - 1) / unit * unit; }

const std::byte* at(const Tensor& x, std::int64_t element) {
  return static_cast<const std::byte*>(x.raw()) + element * x.dtype().bytes();
}

// Some rows, some elements of each: `padded` floats apart.
class Tile {
 public:
  Tile(const BlockFormat& format, const Lines& lines) : format_(format), lines_(lines) {
    span_ = std::min(round_up(lines.length, format.length), round_up(kTile / 16, format.length));
    rows_ = std::max<std::int64_t>(1, std::min(lines.count, kTile / span_));
    values_.resize(static_cast<std::size_t>(rows_ * span_));
    rounded_.resize(values_.size());
    column_.resize(static_cast<std::size_t>(rows_));
    elements_.resize(static_cast<std::size_t>(packed_bytes(format, rows_ * span_)));
    scales_.resize(static_cast<std::size_t>(block_count(format, rows_ * span_) * format.scale.bytes()));
  }

  std::int64_t rows() const { return rows_; }

  void run(const Tensor& x, std::int64_t first_row, const Conversion& conversion, RandomWords random,
           float tensor_scale, const Tensor& result) {
    const std::int64_t rows = std::min(rows_, lines_.count - first_row);
    const std::int64_t padded_length = round_up(lines_.length, format_.length);
    for (std::int64_t begin = 0; begin < lines_.length; begin += span_) {
      const std::int64_t count = std::min(span_, lines_.length - begin);
      const std::int64_t padded = round_up(count, format_.length);
      load(x, first_row, rows, begin, count, padded);
      RandomWords here = random;
      here.first += static_cast<std::uint64_t>(first_row * padded_length + begin * rows);
      encode_blocks(format_, values_.data(), rows * padded, elements_.data(), scales_.data(), tensor_scale,
                    conversion, here);
      decode_blocks(format_, elements_.data(), scales_.data(), rows * padded, rounded_.data(), tensor_scale);
      store(first_row, rows, begin, count, padded, result);
    }
  }

 private:
  void load(const Tensor& x, std::int64_t first, std::int64_t rows, std::int64_t begin, std::int64_t count,
            std::int64_t padded) {
    if (lines_.step == 1) {
      for (std::int64_t r = 0; r < rows; ++r) {
        float* row = values_.data() + r * padded;
        decode_row(x.dtype(), at(x, (first + r) * lines_.line_stride + begin), row, count);
        std::fill(row + count, row + padded, 0.0f);
      }
      return;
    }
    for (std::int64_t i = 0; i < padded; ++i) {
      if (i < count)
        decode_row(x.dtype(), at(x, (begin + i) * lines_.step + first), column_.data(), rows);
      else if (i == count)
        std::fill(column_.begin(), column_.end(), 0.0f);
      for (std::int64_t r = 0; r < rows; ++r)
        values_[static_cast<std::size_t>(r * padded + i)] = column_[static_cast<std::size_t>(r)];
    }
  }

  void store(std::int64_t first, std::int64_t rows, std::int64_t begin, std::int64_t count,
             std::int64_t padded, const Tensor& result) {
    const DType dtype = result.dtype();
    // Not raw_mutable: many threads write, and the tensor is new.
    std::byte* codes = result.storage()->data;
    if (lines_.step == 1) {
      for (std::int64_t r = 0; r < rows; ++r)
        encode_row(dtype, rounded_.data() + r * padded,
                   codes + ((first + r) * lines_.line_stride + begin) * dtype.bytes(), count);
      return;
    }
    for (std::int64_t i = 0; i < count; ++i) {
      for (std::int64_t r = 0; r < rows; ++r)
        column_[static_cast<std::size_t>(r)] = rounded_[static_cast<std::size_t>(r * padded + i)];
      encode_row(dtype, column_.data(), codes + ((begin + i) * lines_.step + first) * dtype.bytes(), rows);
    }
  }

  const BlockFormat& format_;
  const Lines& lines_;
  std::int64_t span_, rows_;
  std::vector<float> values_, rounded_, column_;
  std::vector<std::byte> elements_, scales_;
};

float largest_magnitude(const Tensor& x) {
  constexpr std::int64_t kChunk = 16384;
  std::vector<float> largest(static_cast<std::size_t>(chunk_count(x.count(), kChunk)));
  parallel_for(x.count(), kChunk, [&](std::int64_t begin, std::int64_t end) {
    std::vector<float> values(static_cast<std::size_t>(end - begin));
    decode_row(x.dtype(), at(x, begin), values.data(), end - begin);
    float most = 0;
    for (const float value : values) most = std::isfinite(value) ? std::max(most, std::abs(value)) : most;
    largest[static_cast<std::size_t>(begin / kChunk)] = most;
  });
  return largest.empty() ? 0 : *std::max_element(largest.begin(), largest.end());
}

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
    Tensor x = given;
    if (!x.is_contiguous()) {
      x = Tensor(given.shape(), given.dtype());
      thread_state().backend->copy(given, x);
    }
    const BlockFormat& format = role == OperandRole::gradient ? gradient_ : forward_;
    Tensor result(x.shape(), bfloat16);
    if (x.count() == 0) return result;
    result.raw_mutable();
    const Lines lines = lines_of(x.shape(), along);
    Conversion conversion = default_conversion(format.element.format());
    RandomWords random{thread_state().seed, streams::operands, 0};
    if (role == OperandRole::gradient) conversion.rounding = rounding_;
    if (conversion.rounding == Rounding::stochastic)
      random.first =
          take_random(static_cast<std::uint64_t>(lines.count * round_up(lines.length, format.length)));
    const float tensor_scale =
        format.has_tensor_scale ? power_of_two_at_least(halftone::tensor_scale(format, largest_magnitude(x)))
                                : 1;
    const std::int64_t rows = Tile(format, lines).rows();
    parallel_for(lines.count, rows, [&](std::int64_t begin, std::int64_t end) {
      Tile tile(format, lines);
      for (std::int64_t row = begin; row < end; row += rows)
        tile.run(x, row, conversion, random, tensor_scale, result);
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
