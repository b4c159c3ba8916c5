// SPDX-License-Identifier: Apache-2.0
//
// Tensors: a shape, strides (in elements) and a format over shared storage. A Tensor is a handle; copying one
// shares everything. Views share the storage of their source, and with it the version counter, which grows
// with every write: whoever keeps something derived from the contents (a narrow copy of a weight, a tensor
// saved for backward) keeps the version too and can tell that it is stale.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "halftone/conversion.h"
#include "halftone/error.h"

namespace halftone {

inline constexpr int kMaxRank = 6;

// Sizes or strides of up to kMaxRank dimensions, outermost first.
class Shape {
 public:
  Shape() = default;
  Shape(std::initializer_list<std::int64_t> sizes) : Shape(std::span(sizes.begin(), sizes.size())) {}
  explicit Shape(std::span<const std::int64_t> sizes);

  int rank() const { return rank_; }
  std::int64_t operator[](int axis) const {
    return sizes_[static_cast<std::size_t>(axis < 0 ? axis + rank_ : axis)];
  }
  std::int64_t& operator[](int axis) {
    return sizes_[static_cast<std::size_t>(axis < 0 ? axis + rank_ : axis)];
  }
  std::int64_t count() const;  // product of the sizes; 1 for rank 0
  const std::int64_t* begin() const { return sizes_.data(); }
  const std::int64_t* end() const { return sizes_.data() + rank_; }
  friend bool operator==(const Shape& a, const Shape& b);

 private:
  std::array<std::int64_t, kMaxRank> sizes_{};
  int rank_ = 0;
};

std::string to_string(const Shape& shape);        // "(128, 784)"
Shape contiguous_strides(const Shape& shape);     // row-major; 0 where no 64 bits hold the stride
Shape broadcast(const Shape& a, const Shape& b);  // numpy's rule; throws ShapeError

// Bytes and their version. Narrow copies of a parameter live here too, one per format, keyed by version.
struct Storage {
  explicit Storage(std::int64_t bytes);
  ~Storage();
  Storage(const Storage&) = delete;
  Storage& operator=(const Storage&) = delete;

  struct CachedCast {
    DType dtype;
    std::uint64_t version;          // of this storage when the copy was made
    std::shared_ptr<Storage> copy;  // every element of this storage, cast
    bool persistent;                // kept up to date by an optimizer; others go at the end of an autocast
  };

  std::byte* data;
  std::int64_t bytes;
  std::uint64_t version = 0;
  std::vector<CachedCast> casts;
  int keep_casts = 0;  // optimizers that write the copies too: they are made to stay
};

// What the autograd floor attaches to a tensor; opaque here.
struct AutogradSlot {
  virtual ~AutogradSlot() = default;
};

class Tensor {
 public:
  Tensor() = default;  // an undefined tensor: every query but defined() is an error of the caller
  Tensor(const Shape& shape, DType dtype);  // uninitialised, row-major

  bool defined() const { return body_ != nullptr; }
  explicit operator bool() const { return defined(); }

  const Shape& shape() const { return body_->shape; }
  const Shape& strides() const { return body_->strides; }
  DType dtype() const { return body_->dtype; }
  int rank() const { return body_->shape.rank(); }
  std::int64_t size(int axis) const { return body_->shape[axis]; }
  std::int64_t count() const { return body_->count; }
  std::int64_t bytes() const { return count() * dtype().bytes(); }
  std::int64_t offset() const { return body_->offset; }  // of the first element, in elements
  bool is_contiguous() const;
  // True if no other handle or view shares the bytes: they may be overwritten or adopted.
  bool is_unique() const { return body_.use_count() == 1 && body_->storage.use_count() == 1; }

  // Typed access to the first element; T must be the C++ type of the format: float, double, std::int64_t,
  // std::int32_t, std::uint8_t, and std::uint16_t or std::uint8_t for the codes of narrow formats.
  // mutable_data counts as a write.
  template <class T>
  const T* data() const {
    check_type(sizeof(T), std::is_floating_point_v<T>);
    return static_cast<const T*>(raw());
  }
  template <class T>
  T* mutable_data() {
    check_type(sizeof(T), std::is_floating_point_v<T>);
    return static_cast<T*>(raw_mutable());
  }
  const void* raw() const { return body_->storage->data + body_->offset * body_->dtype.bytes(); }
  void* raw_mutable() const {
    ++body_->storage->version;
    return body_->storage->data + body_->offset * body_->dtype.bytes();
  }

  const std::shared_ptr<Storage>& storage() const { return body_->storage; }
  std::uint64_t version() const { return body_->storage->version; }

  // Values, in row-major order, read through the format. item() needs exactly one element.
  double item() const;
  std::vector<double> to_vector() const;

  // A handle to the same storage without history, possibly with another shape.
  Tensor detach() const;
  Tensor view(const Shape& shape, const Shape& strides, std::int64_t offset) const;
  Tensor with_storage(std::shared_ptr<Storage> storage, DType dtype) const;  // same geometry, other bytes

  // Autograd (floor `autograd` defines these; see autograd.h).
  bool requires_grad() const;
  Tensor& set_requires_grad(bool value = true);  // makes a leaf; throws DTypeError on an integer tensor
  Tensor grad() const;                           // undefined until backward reached this leaf
  void zero_grad();
  void backward() const;  // of a scalar

  const std::shared_ptr<AutogradSlot>& slot() const { return body_->slot; }
  void set_slot(std::shared_ptr<AutogradSlot> slot) const { body_->slot = std::move(slot); }

 private:
  struct Body {
    Shape shape, strides;
    std::int64_t offset, count;
    DType dtype;
    std::shared_ptr<Storage> storage;
    std::shared_ptr<AutogradSlot> slot;
  };
  explicit Tensor(std::shared_ptr<Body> body) : body_(std::move(body)) {}
  void check_type(std::size_t bytes, bool floating) const;

  std::shared_ptr<Body> body_;
};

// Factories. Values are rounded once into the format. zeros throws DTypeError where the format has no zero.
Tensor empty(const Shape& shape, DType dtype = float32);
Tensor zeros(const Shape& shape, DType dtype = float32);
Tensor ones(const Shape& shape, DType dtype = float32);
Tensor full(const Shape& shape, double value, DType dtype = float32);
Tensor from_values(std::span<const double> values, const Shape& shape, DType dtype = float32);
Tensor from_values(std::initializer_list<double> values, DType dtype = float32);  // rank 1
// Uniform in [low, high) and normal(0, 1): element i is number i of (seed, stream).
Tensor random_uniform(const Shape& shape, double low, double high, std::uint64_t seed, std::uint64_t stream,
                      DType dtype = float32);
Tensor random_normal(const Shape& shape, std::uint64_t seed, std::uint64_t stream, DType dtype = float32);

std::string to_string(
    const Tensor& tensor);  // shape, format and the first elements, for messages and debugging

// The caching allocator below all storage: freed blocks are kept and reused, so a steady state takes no page
// faults. Sizes in bytes.
struct MemoryStats {
  std::int64_t in_use = 0;     // handed out
  std::int64_t requested = 0;  // the same without the rounding up of sizes
  std::int64_t peak = 0;       // largest in_use since reset_peak_memory
  std::int64_t reserved = 0;   // held from the system, in use or not
};
MemoryStats memory_stats();
void reset_peak_memory();
void release_cached_memory();

}  // namespace halftone
