// SPDX-License-Identifier: Apache-2.0
#include "format/block_scale.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "halftone/error.h"

namespace halftone {
namespace {

constexpr std::uint32_t kInfinity = 0x7F800000, kFraction = 0x7FFFFF;

std::uint64_t smallest_code(const Format& scale) { return scale.has_zero ? 1 : 0; }

std::uint64_t no_scale_code(const Format& scale) {
  return has_nan(scale) ? detail::nan_code(scale) : detail::max_code(scale);
}

// 2^exponent for exponents from -127 to 127.
float power_of_two_float(int exponent) {
  return std::bit_cast<float>(exponent == -127 ? 1u << 22 : static_cast<std::uint32_t>(exponent + 127) << 23);
}

// Of every positive finite float32, subnormal ones too.
struct Binade {
  int exponent;
  std::uint32_t fraction;
};
Binade binade(std::uint32_t bits) {
  if (bits > kFraction) return {static_cast<int>(bits >> 23) - 127, bits & kFraction};
  const int lead = 31 - std::countl_zero(bits | 1);
  return {lead - 149, (bits << (23 - lead)) & kFraction};
}

Conversion saturating() {
  Conversion conversion;
  conversion.overflow = Overflow::saturate;
  return conversion;
}

}  // namespace

void check_blocks(const BlockFormat& format, float tensor_scale) {
  if (format.length < 1 || format.element.format().bits() > 8)
    throw ValueError("blocks",
                     fmt::format("{} elements of {} in a block", format.length, format.element.name()),
                     "at least one element of at most 8 bits");
  if (!(tensor_scale > 0) || !std::isfinite(tensor_scale) || !std::isfinite(1 / tensor_scale))
    throw ValueError("blocks", fmt::format("a tensor scale of {}", tensor_scale),
                     "a positive number whose reciprocal is finite");
}

BlockScaler::BlockScaler(const BlockFormat& format, float tensor_scale)
    : scale_(format.scale),
      rule_(format.rule),
      is_e8m0_(scale_.format().same_codes(float8_e8m0fnu.format())),
      max_value_(static_cast<float>(max_finite(format.element.format()))),
      encode_scale_(1 / tensor_scale) {
  const auto bits = std::bit_cast<std::uint32_t>(max_value_);
  max_exponent_ = static_cast<int>(bits >> 23) - 127;
  // Digits of a number in the binade of the largest element.
  const Exact last = decode_exact(format.element.format(), detail::max_code(format.element.format()));
  half_ulp_ = rule_ == ScaleRule::even ? 1u << std::max(0, 24 - detail::width(last.n) - 1) : 0;
  up_beyond_ = rule_ == ScaleRule::ceil ? 0 : rule_ == ScaleRule::rceil ? bits & kFraction : kFraction;
  // The reciprocal must be a float32 too.
  least_ = std::max(std::ilogb(min_subnormal(scale_.format())), -127);
  greatest_ = std::min(std::ilogb(max_finite(scale_.format())), 127);
}

void BlockScaler::operator()(const std::uint32_t* amax, std::int64_t blocks, void* codes,
                             std::int32_t* exponents, float* factors) const {
  if (power_of_two()) {
    powers(amax, blocks, codes, exponents, factors);
  } else {
    std::fill_n(exponents, blocks, 0);
    nearest(amax, blocks, codes, factors);
  }
  if (*std::max_element(amax, amax + blocks) < kInfinity) return;
  for (std::int64_t i = 0; i < blocks; ++i) {
    if (amax[i] < kInfinity) continue;
    exponents[i] = kNoScale;
    store_code(scale_, codes, i, no_scale_code(scale_.format()));
  }
}

void BlockScaler::powers(const std::uint32_t* amax, std::int64_t blocks, void* codes, std::int32_t* exponents,
                         float* factors) const {
  for (std::int64_t i = 0; i < blocks; ++i) {
    const Binade at = binade(amax[i] + half_ulp_);
    const int wanted = at.exponent - max_exponent_ + (at.fraction > up_beyond_ ? 1 : 0);
    exponents[i] = amax[i] == 0 ? least_ : std::clamp(wanted, least_, greatest_);
    factors[i] = power_of_two_float(-exponents[i]);
  }
  if (is_e8m0_) {
    auto* bytes = static_cast<std::uint8_t*>(codes);
    for (std::int64_t i = 0; i < blocks; ++i) bytes[i] = static_cast<std::uint8_t>(exponents[i] + 127);
  } else {
    for (std::int64_t i = 0; i < blocks; ++i)
      store_code(scale_, codes, i,
                 encode(scale_.format(), Exact{Exact::Kind::finite, false, 1, exponents[i]}, saturating()));
  }
}

// In float32, as NVIDIA's recipe: scale = amax / max * (1 / tensor scale), values times (1 / tensor scale) /
// scale.
void BlockScaler::nearest(const std::uint32_t* amax, std::int64_t blocks, void* codes, float* factors) const {
  for (std::int64_t i = 0; i < blocks; ++i)
    factors[i] = amax[i] < kInfinity ? std::bit_cast<float>(amax[i]) / max_value_ * encode_scale_ : 0;
  encode_row(scale_, factors, codes, blocks, saturating());
  decode_row(scale_, codes, factors, blocks);
  const auto smallest = static_cast<float>(min_subnormal(scale_.format()));
  if (*std::min_element(factors, factors + blocks) < smallest) {
    for (std::int64_t i = 0; i < blocks; ++i)
      if (factors[i] < smallest) store_code(scale_, codes, i, smallest_code(scale_.format()));
  }
  // Finite, so that zeros stay zeros in a tensor whose scale is next to nothing.
  for (std::int64_t i = 0; i < blocks; ++i)
    factors[i] = std::min(encode_scale_ / std::max(factors[i], smallest), std::numeric_limits<float>::max());
}

}  // namespace halftone
