// SPDX-License-Identifier: Apache-2.0
//
// How the named kernels meet formats: float32 and bfloat16 codes are read and written by the vector loop
// itself (a lane); rows in any other format are decoded into, or encoded from, a tile of floats.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>

#include "halftone/simd.h"
#include "halftone/tensor.h"

namespace halftone::cpu {

struct Float32Lane {
  using Code = float;
  static float load(Code code) { return code; }
  static Code store(float value) { return value; }
  static Code store_product(float value) { return value; }
};

struct Bfloat16Lane {
  using Code = std::uint16_t;
  static float load(Code code) { return std::bit_cast<float>(static_cast<std::uint32_t>(code) << 16); }
  static Code store(float value) {
    const auto bits = std::bit_cast<std::uint32_t>(value);
    const std::uint32_t rounded = bits + 0x7fff + (bits >> 16 & 1), quiet = bits | 0x400000;
    return static_cast<Code>((value == value ? rounded : quiet) >> 16);
  }
  // The same for what was computed from bfloat16 codes: its NaNs, theirs or the processor's own, have no bits
  // that rounding could carry over.
  static Code store_product(float value) {
    const auto bits = std::bit_cast<std::uint32_t>(value);
    return static_cast<Code>((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
  }
};

// body(lane) with the lane of that name.
template <class Body>
void with_lane(bool narrow, const Body& body) {
  narrow ? body(Bfloat16Lane{}) : body(Float32Lane{});
}

// An operand, row-major.
class Source {
 public:
  explicit Source(const Tensor& x) : data_(static_cast<const std::byte*>(x.raw())), dtype_(x.dtype()) {}

  bool narrow() const { return dtype_ == bfloat16; }
  bool in_place() const { return narrow() || dtype_ == float32; }

  // Elements [begin, begin + count): where they are, or decoded into the tile.
  const void* read(std::int64_t begin, std::int64_t count, float* tile) const {
    return in_place() ? static_cast<const void*>(data_ + begin * dtype_.bytes()) : decode(begin, count, tile);
  }
  // The same as floats, whatever the format.
  const float* floats(std::int64_t begin, std::int64_t count, float* tile) const {
    return dtype_ == float32 ? static_cast<const float*>(read(begin, count, tile))
                             : decode(begin, count, tile);
  }

 private:
  const float* decode(std::int64_t begin, std::int64_t count, float* tile) const {
    decode_row(dtype_, data_ + begin * dtype_.bytes(), tile, count);
    return tile;
  }

  const std::byte* data_;
  DType dtype_;
};

// A result, row-major.
class Target {
 public:
  explicit Target(const Tensor& y) : data_(static_cast<std::byte*>(y.raw_mutable())), dtype_(y.dtype()) {}

  bool narrow() const { return dtype_ == bfloat16; }
  bool in_place() const { return narrow() || dtype_ == float32; }

  // Where elements from `begin` on are to be written; write() moves them on if that was the tile.
  void* open(std::int64_t begin, float* tile) const {
    return in_place() ? static_cast<void*>(data_ + begin * dtype_.bytes()) : tile;
  }
  void write(std::int64_t begin, std::int64_t count, const float* tile) const {
    if (!in_place()) encode_row(dtype_, tile, data_ + begin * dtype_.bytes(), count);
  }

 private:
  std::byte* data_;
  DType dtype_;
};

}  // namespace halftone::cpu
