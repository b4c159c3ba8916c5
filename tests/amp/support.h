// SPDX-License-Identifier: Apache-2.0
//
// What the tests of mixed precision share: gradients of any value, and bits to compare.
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include "halftone/autograd.h"
#include "halftone/ops.h"

namespace halftone {

inline constexpr double kInf = std::numeric_limits<double>::infinity();
inline constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

inline Tensor leaf(std::initializer_list<double> values, DType dtype = float32) {
  return from_values(values, dtype).set_requires_grad();
}

// A scalar whose gradient with respect to w is `values`.
inline Tensor loss_with_gradient(const Tensor& w, std::vector<double> values) {
  return sum(mul(w, from_values(values, w.shape())));
}

// A scalar that is 0, with NaN for a gradient: 0 * (1e30 * 1e30).
inline Tensor poison(const Tensor& w) { return sum(scale(scale(mul(w, zeros(w.shape())), 1e30), 1e30)); }

// A fingerprint of the bits of a tensor (FNV-1a): equal for equal bits.
inline std::uint64_t bits(std::span<const std::byte> bytes) {
  std::uint64_t hash = 14695981039346656037u;
  for (const std::byte byte : bytes) hash = (hash ^ static_cast<std::uint64_t>(byte)) * 1099511628211u;
  return hash;
}
inline std::uint64_t bits(const Tensor& tensor) {
  return bits({static_cast<const std::byte*>(tensor.raw()), static_cast<std::size_t>(tensor.bytes())});
}
inline std::vector<std::uint64_t> bits(const std::vector<Parameter>& parameters) {
  std::vector<std::uint64_t> all;
  for (const Parameter& parameter : parameters) all.push_back(bits(parameter.value));
  return all;
}

template <class F>
std::string message_of(F&& f) {
  try {
    f();
  } catch (const std::exception& error) {
    return error.what();
  }
  return "";
}

}  // namespace halftone
