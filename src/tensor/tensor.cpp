// SPDX-License-Identifier: Apache-2.0
#include "halftone/tensor.h"

#include <fmt/format.h>

#include "tensor/allocator.h"

namespace halftone {
namespace {

constexpr std::int64_t kMostBytes = (std::int64_t{1} << 62) - 1;  // the allocator rounds up

}  // namespace

Storage::Storage(std::int64_t size) : data(detail::allocate(size)), bytes(size) {}
Storage::~Storage() { detail::release(data, bytes); }

Tensor::Tensor(const Shape& shape, DType dtype) {
  for (const std::int64_t size : shape)
    if (size < 0) throw ShapeError("tensor", "shape " + to_string(shape), "no negative size");
  const std::int64_t count = shape.count();
  if (count > kMostBytes / dtype.bytes())
    throw ShapeError("tensor", fmt::format("{} of shape {}", dtype.name(), to_string(shape)),
                     "less than 2^62 bytes");
  body_ = std::make_shared<Body>(Body{shape, contiguous_strides(shape), 0, count, dtype,
                                      std::make_shared<Storage>(count * dtype.bytes()), nullptr});
}

bool Tensor::is_contiguous() const {
  std::int64_t step = 1;  // asked for all the time: as contiguous_strides has it, without making them
  for (int axis = rank() - 1; axis >= 0; --axis) {
    if (size(axis) != 1 && strides()[axis] != step) return false;
    if (__builtin_mul_overflow(step, size(axis), &step)) step = 0;
  }
  return true;
}

void Tensor::check_type(std::size_t bytes, bool floating) const {
  const bool wide = dtype() == float32 || dtype() == float64;
  if (bytes != static_cast<std::size_t>(dtype().bytes()) || floating != wide)
    throw DTypeError("tensor",
                     fmt::format("access to {} as {} {} bytes", dtype().name(),
                                 floating ? "float of" : "integer of", bytes),
                     "the C++ type of the format, or an unsigned integer of its size for a narrow one");
}

double Tensor::item() const {
  if (count() != 1) throw ShapeError("item", "shape " + to_string(shape()), "exactly one element");
  return decode(dtype().format(), load_code(dtype(), raw(), 0));
}

std::vector<double> Tensor::to_vector() const {
  std::vector<double> values;
  values.reserve(static_cast<std::size_t>(count()));
  Shape index = shape();
  for (int axis = 0; axis < rank(); ++axis) index[axis] = 0;
  for (std::int64_t n = count(); n > 0; --n) {
    std::int64_t at = 0;
    for (int axis = 0; axis < rank(); ++axis) at += index[axis] * strides()[axis];
    values.push_back(decode(dtype().format(), load_code(dtype(), raw(), at)));
    for (int axis = rank() - 1; axis >= 0 && ++index[axis] == size(axis); --axis) index[axis] = 0;
  }
  return values;
}

Tensor Tensor::detach() const { return view(shape(), strides(), offset()); }

Tensor Tensor::view(const Shape& shape, const Shape& strides, std::int64_t offset) const {
  return Tensor(
      std::make_shared<Body>(Body{shape, strides, offset, shape.count(), dtype(), storage(), nullptr}));
}

Tensor Tensor::with_storage(std::shared_ptr<Storage> storage, DType dtype) const {
  return Tensor(std::make_shared<Body>(
      Body{shape(), strides(), offset(), count(), dtype, std::move(storage), nullptr}));
}

}  // namespace halftone
