// SPDX-License-Identifier: Apache-2.0
//
// Matrices handed to oneDNN tile by tile. A format that oneDNN does not take is decoded, or rounded to, one
// tile at a time, so that the wider copy stays in the cache; an operand of which several tiles read the same
// part is decoded once, whole.
#pragma once

#include <cstddef>

#include "backend/cpu/onednn.h"
#include "backend/cpu/tile.h"
#include "backend/cpu/tile_product.h"
#include "halftone/backend.h"
#include "halftone/profile.h"

namespace halftone::cpu {

struct MatrixSize {
  std::int64_t rows, columns;
};

// The strides of the last two axes, and whether oneDNN takes them.
struct PlainStrides : MatrixStrides {
  bool plain;

  explicit PlainStrides(const Tensor& x) {
    const std::int64_t rows = x.size(-2), columns = x.size(-1);
    row = x.strides()[-2], column = x.strides()[-1];
    if (columns == 1) column = 1;  // the stride of a single row or column means nothing
    if (rows == 1) row = column == 1 ? columns : 1;
    plain = (column == 1 && row >= columns) || (row == 1 && column >= rows);
  }
};

// A tile of a matrix as lines that lie together in memory, its rows or its columns, and as a copy in the
// format of the products. The copy has gaps between lines that are parts of longer ones: oneDNN has other
// loops for a matrix without gaps, which add in another order, and a tile is to be added up as one of a
// matrix in that format is.
struct Lines {
  std::int64_t count, length, stride, copy_stride;
  bool are_rows;

  Lines(const Tensor& matrix, const MatrixStrides& strides, MatrixSize tile) : are_rows(strides.column == 1) {
    constexpr std::int64_t kGap = 16;
    count = are_rows ? tile.rows : tile.columns;
    length = are_rows ? tile.columns : tile.rows;
    stride = are_rows ? strides.row : strides.column;
    copy_stride = length == matrix.size(are_rows ? -1 : -2) ? length : length + kGap;
  }

  MatrixStrides copy_strides() const {
    return are_rows ? MatrixStrides{copy_stride, 1} : MatrixStrides{1, copy_stride};
  }
  bool are_one_run() const { return count == 1 || (stride == length && copy_stride == length); }

  // body(offset in the matrix, offset in the copy, elements) for each line, or for all of them together.
  template <class Body>
  void each(const Body& body) const {
    if (are_one_run()) return body(0, 0, count * length);
    for (std::int64_t i = 0; i < count; ++i) body(i * stride, i * copy_stride, length);
  }

  // Room for the copy: the tensor itself if it has that size, which it mostly has from the tile before.
  void* room(Tensor& copy, DType format) const {
    const std::int64_t size = count * copy_stride;
    if (!copy.defined() || copy.count() != size) copy = Tensor(Shape{size}, format);
    return copy.raw_mutable();
  }
};

class SourceMatrix {
 public:
  // Operand of products in `format`, read in tiles of that size; `once`: none is read twice.
  // `gathered`: tiles are copied even where they could be read in place.
  SourceMatrix(const Tensor& x, DType format, MatrixSize tile, bool once, bool gathered = false)
      : format_(format), strides_(x) {
    constexpr std::int64_t kLeastLine = 64;  // a shorter one does not pay for the call that decodes it
    const Lines lines(x, strides_, tile);
    const bool by_tile = once && strides_.plain && (lines.are_one_run() || lines.length >= kLeastLine);
    tensor_ = by_tile ? x : decoded(x, format);
    if (!PlainStrides(tensor_).plain) tensor_ = contiguous(tensor_);
    strides_ = PlainStrides(tensor_);
    copies_ = tensor_.dtype() != format || (by_tile && gathered);
  }

  const Tensor& tensor() const { return tensor_; }  // what tiles are read from
  const MatrixStrides& strides() const { return strides_; }
  bool copies() const { return copies_; }  // tiles are read into memory of the caller's

  // Of a tile, as the product finds it.
  MatrixStrides layout(MatrixSize tile) const {
    if (!copies_) return strides_;
    return Lines(tensor_, strides_, tile).copy_strides();
  }

  // The tile that begins at element `first`: where it lies, or decoded into `memory`.
  const void* read(std::int64_t first, MatrixSize tile, Tensor& memory) const {
    const DType dtype = tensor_.dtype();
    const std::byte* codes = advance(tensor_.raw(), dtype, first);
    if (!copies_) return codes;
    const bool same = dtype == format_;
    const profile::Scope scope(same ? "copy operand" : "decode operand",
                               same ? profile::Class::layout : profile::Class::cast);
    const Lines lines(tensor_, strides_, tile);
    void* values = lines.room(memory, format_);
    lines.each([&](std::int64_t from, std::int64_t to, std::int64_t count) {
      decode_values(dtype, advance(codes, dtype, from), format_, advance(values, format_, to), count);
    });
    return values;
  }

 private:
  DType format_;
  PlainStrides strides_;
  Tensor tensor_;
  bool copies_;
};

class ResultMatrix {
 public:
  // `format`: of the products. `accumulate`: they are added to what is there.
  ResultMatrix(const Tensor& c, DType format, bool accumulate)
      : c_(c), rows_(c), strides_(c), data_(c.raw_mutable()), accumulate_(accumulate) {
    if (c.dtype() == bfloat16 && format == bfloat16 && !accumulate) written_ = bfloat16;
    if (strides_.plain && strides_.column == 1) return;
    rows_ = Tensor(c.shape(), c.dtype());
    strides_ = PlainStrides(rows_);
    if (accumulate) find_backend("cpu").copy(c, rows_);
    data_ = rows_.raw_mutable();
  }

  const Tensor& tensor() const { return rows_; }
  const MatrixStrides& strides() const { return strides_; }
  DType written() const { return written_; }  // by oneDNN
  std::int64_t row_stride(MatrixSize tile) const {
    return rows_.dtype() == written_ ? strides_.row : Lines(rows_, strides_, tile).copy_stride;
  }

  // Where the product of the tile that begins at element `first` goes.
  void* open(std::int64_t first, MatrixSize tile, Tensor& memory) const {
    const DType dtype = rows_.dtype();
    if (dtype == written_) return advance(data_, dtype, first);
    const Lines lines(rows_, strides_, tile);
    auto* values = static_cast<float*>(lines.room(memory, written_));
    if (accumulate_)
      lines.each([&](std::int64_t from, std::int64_t to, std::int64_t count) {
        decode_row(dtype, advance(data_, dtype, first + from), values + to, count);
      });
    return values;
  }
  void close(std::int64_t first, MatrixSize tile, const Tensor& memory) const {
    const DType dtype = rows_.dtype();
    if (dtype == written_) return;
    const profile::Scope scope("round result", profile::Class::cast);
    const Lines lines(rows_, strides_, tile);
    lines.each([&](std::int64_t to, std::int64_t from, std::int64_t count) {
      encode_row(dtype, memory.data<float>() + from, advance(data_, dtype, first + to), count);
    });
  }
  // After the last tile.
  void finish() const {
    if (rows_.storage() != c_.storage()) find_backend("cpu").copy(rows_, c_);
  }

 private:
  Tensor c_, rows_;
  PlainStrides strides_;
  void* data_;
  bool accumulate_;
  DType written_ = float32;
};

}  // namespace halftone::cpu
