// SPDX-License-Identifier: Apache-2.0
#include "amp/narrow_weights.h"

#include <fmt/format.h>

#include <array>
#include <bit>
#include <cmath>
#include <cstring>

#include "halftone/tensor.h"

namespace halftone::amp {
namespace {

constexpr std::int64_t kTile = 1024;
constexpr std::uint32_t kHalf = 0x8000;  // of the last place kept

bool has_leading_bits(const Format& format) { return format.same_codes(bfloat16.format()); }

// Rounded to nearest, ties away: each code then stands for exactly 2^16 floats, so the lower halves tell them
// apart. To nearest even, an even code stands for 2^16 + 1.
void split(const float* values, std::uint16_t* leading, std::uint16_t* trailing, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) {
    std::uint32_t bits = std::bit_cast<std::uint32_t>(values[i]);
    if ((bits & 0x7FFFFFFF) > 0x7F800000) bits = 0x7FC00000;  // a NaN must not round to something else
    leading[i] = static_cast<std::uint16_t>((bits + kHalf) >> 16);
    trailing[i] = static_cast<std::uint16_t>(bits);
  }
}

void join(const std::uint16_t* leading, const std::uint16_t* trailing, float* values, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) {
    const std::uint32_t low = trailing[i];
    values[i] = std::bit_cast<float>(((std::uint32_t{leading[i]} - (low >> 15)) << 16) | low);
  }
}

}  // namespace

NarrowWeights::NarrowWeights(const Parameter& parameter, MasterWeights master)
    : parameter_(parameter.value), master_(master) {
  const DType dtype = parameter_.dtype();
  if (master == MasterWeights::trailing_bits) {
    if (!has_leading_bits(dtype.format()))
      throw DTypeError("optimizer", fmt::format("'{}' in {}", parameter.name, dtype.name()),
                       "bfloat16, which is the leading bits of a float32", "MasterWeights::float32_copy");
    extra_ = zeros(parameter_.shape(), find_dtype("uint16"));
  } else if (master == MasterWeights::compensated) {
    extra_ = zeros(parameter_.shape(), dtype);
  }
}

std::string_view NarrowWeights::extra_name() const {
  return master_ == MasterWeights::trailing_bits ? "trailing" : "compensation";
}

std::byte* NarrowWeights::codes(std::int64_t begin) const {
  return parameter_.storage()->data + (parameter_.offset() + begin) * parameter_.dtype().bytes();
}

std::byte* NarrowWeights::extra_codes(std::int64_t begin) const {
  return extra_.storage()->data + begin * extra_.dtype().bytes();
}

void NarrowWeights::load(std::int64_t begin, std::int64_t count, float* values) const {
  if (master_ == MasterWeights::trailing_bits)
    return join(reinterpret_cast<const std::uint16_t*>(codes(begin)),
                reinterpret_cast<const std::uint16_t*>(extra_codes(begin)), values, count);
  decode_row(parameter_.dtype(), codes(begin), values, count);
  if (master_ != MasterWeights::compensated) return;
  std::array<float, kTile> rest;
  for (std::int64_t at = 0; at < count; at += kTile) {
    const std::int64_t size = std::min(kTile, count - at);
    decode_row(extra_.dtype(), extra_codes(begin + at), rest.data(), size);
    for (std::int64_t i = 0; i < size; ++i) values[at + i] += rest[static_cast<std::size_t>(i)];
  }
}

void NarrowWeights::store(std::int64_t begin, std::int64_t count, const float* values,
                          const RandomWords& random) const {
  const DType dtype = parameter_.dtype();
  switch (master_) {
    case MasterWeights::trailing_bits:
      return split(values, reinterpret_cast<std::uint16_t*>(codes(begin)),
                   reinterpret_cast<std::uint16_t*>(extra_codes(begin)), count);
    case MasterWeights::stochastic:
      return encode_row(dtype, values, codes(begin), count, stochastic_conversion(dtype), random);
    case MasterWeights::compensated: {
      encode_row(dtype, values, codes(begin), count);
      std::array<float, kTile> rest;
      for (std::int64_t at = 0; at < count; at += kTile) {
        const std::int64_t size = std::min(kTile, count - at);
        decode_row(dtype, codes(begin + at), rest.data(), size);
        for (std::int64_t i = 0; i < size; ++i) {
          const auto k = static_cast<std::size_t>(i);
          rest[k] = std::isfinite(rest[k]) ? values[at + i] - rest[k] : 0;
        }
        encode_row(extra_.dtype(), rest.data(), extra_codes(begin + at), size);
      }
      return;
    }
    default:
      return encode_row(dtype, values, codes(begin), count);
  }
}

}  // namespace halftone::amp
