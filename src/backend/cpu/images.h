// SPDX-License-Identifier: Apache-2.0
//
// Batches of images handed to oneDNN group by group. A format that oneDNN does not take is decoded, or
// rounded to, one group at a time, so that the float32 copy stays in the cache and is never as large as the
// batch.
#pragma once

#include <cstddef>

#include "backend/cpu/onednn.h"
#include "halftone/backend.h"

namespace halftone::cpu {

inline std::int64_t image_size(const Tensor& images) {
  return images.size(1) * images.size(2) * images.size(3);
}

class SourceImages {
 public:
  SourceImages(const Tensor& images, DType format) : images_(contiguous(images)), format_(format) {}

  // `count` images from `first` on: where they are, or decoded into `tile`.
  const void* read(std::int64_t first, std::int64_t count, Tensor& tile) const {
    const DType dtype = images_.dtype();
    const std::int64_t size = image_size(images_), total = count * size;
    const auto* codes = static_cast<const std::byte*>(images_.raw()) + first * size * dtype.bytes();
    if (dtype == format_) return codes;
    tile = Tensor({total}, format_);
    decode_values(dtype, codes, format_, tile.raw_mutable(), total);
    return tile.raw();
  }

 private:
  Tensor images_;
  DType format_;
};

class ResultImages {
 public:
  // `format`: of the products.
  ResultImages(const Tensor& images, DType format)
      : images_(images), rows_(images.is_contiguous() ? images : Tensor(images.shape(), images.dtype())) {
    const DType dtype = images.dtype();
    written_ = dtype == bfloat16 && format == bfloat16 ? bfloat16 : float32;
    data_ = static_cast<std::byte*>(rows_.raw_mutable());
  }

  DType written() const { return written_; }  // by oneDNN

  void* open(std::int64_t first, std::int64_t count, Tensor& tile) const {
    if (rows_.dtype() == written_) return at(first);
    tile = Tensor({count * image_size(rows_)}, written_);
    return tile.raw_mutable();
  }
  void close(std::int64_t first, std::int64_t count, const Tensor& tile) const {
    if (rows_.dtype() != written_)
      encode_row(rows_.dtype(), tile.data<float>(), at(first), count * image_size(rows_));
  }
  // After the last group.
  void finish() const {
    if (rows_.storage() != images_.storage()) find_backend("cpu").copy(rows_, images_);
  }

 private:
  void* at(std::int64_t first) const { return data_ + first * image_size(rows_) * rows_.dtype().bytes(); }

  Tensor images_, rows_;
  DType written_ = float32;
  std::byte* data_;
};

}  // namespace halftone::cpu
