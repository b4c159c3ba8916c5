// SPDX-License-Identifier: Apache-2.0
//
// Single elements of a tensor, through the codec. `offset` counts elements from the first one.
#pragma once

#include <cstdint>

#include "halftone/tensor.h"

namespace halftone::reference {

// Reading is exact.
class Reader {
 public:
  explicit Reader(const Tensor& tensor) : dtype_(tensor.dtype()), data_(tensor.raw()) {}
  double operator[](std::int64_t offset) const {
    return decode(dtype_.format(), load_code(dtype_, data_, offset));
  }

 private:
  DType dtype_;
  const void* data_;
};

// Writing rounds once. Making a writer counts as one write to the tensor, however many elements follow.
class Writer {
 public:
  explicit Writer(const Tensor& tensor) : dtype_(tensor.dtype()), data_(tensor.raw_mutable()) {}
  double read(std::int64_t offset) const { return decode(dtype_.format(), load_code(dtype_, data_, offset)); }
  void write(std::int64_t offset, double value) const {
    store_code(dtype_, data_, offset, encode(dtype_.format(), value));
  }

 private:
  DType dtype_;
  void* data_;
};

}  // namespace halftone::reference
