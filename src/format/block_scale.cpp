// SPDX-License-Identifier: Apache-2.0
#include "format/block_scale.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace halftone {
namespace {

constexpr std::uint32_t kInfinity = 0x7F800000, kFraction = 0x7FFFFF;

}  // namespace

BlockScaler::BlockScaler(const BlockFormat& format, float tensor_scale)
    : scale_(format.scale.format()),
      rule_(format.rule),
      power_of_two_(format.rule != ScaleRule::nearest),
      is_e8m0_(scale_.same_codes(float8_e8m0fnu.format())),
      max_value_(static_cast<float>(max_finite(format.element.format()))),
      encode_scale_(1 / tensor_scale) {
  const auto bits = std::bit_cast<std::uint32_t>(max_value_);
  max_exponent_ = static_cast<int>(bits >> 23) - 127;
  max_fraction_ = bits & kFraction;
  // Digits of a number in the binade of the largest element.
  const Exact last = decode_exact(format.element.format(), detail::max_code(format.element.format()));
  half_ulp_ = 1u << std::max(0, 24 - detail::width(last.n) - 1);
  least_ = std::ilogb(min_subnormal(scale_));
  greatest_ = std::ilogb(max_finite(scale_));
}

// floor(log2 amax) of every positive finite float32, subnormal ones too; and the fraction above it.
int BlockScaler::exponent_for(std::uint32_t amax) const {
  if (rule_ == ScaleRule::even) amax = std::min(amax + half_ulp_, kInfinity);
  const int lead = 31 - std::countl_zero(amax);
  const bool subnormal = amax <= kFraction;
  const int floor = subnormal ? lead - 149 : static_cast<int>(amax >> 23) - 127;
  const std::uint32_t fraction = (subnormal ? amax << (23 - lead) : amax) & kFraction;
  const bool above = rule_ == ScaleRule::ceil ? fraction != 0 : rule_ == ScaleRule::rceil && fraction > max_fraction_;
  return floor - max_exponent_ + (above ? 1 : 0);
}

BlockScale BlockScaler::with_code(std::uint64_t code) const {
  const auto value = static_cast<float>(decode(scale_, code));
  const bool positive = value > 0 && std::isfinite(value);
  return {code, value, positive ? std::ilogb(value) : 0};
}

BlockScale BlockScaler::operator()(std::uint32_t amax) const {
  Conversion saturate;
  saturate.overflow = Overflow::saturate;
  if (amax >= kInfinity) {
    BlockScale bad = with_code(has_nan(scale_) ? detail::nan_code(scale_) : detail::max_code(scale_));
    bad.value = std::numeric_limits<float>::quiet_NaN();
    return bad;
  }
  const std::uint64_t smallest = scale_.has_zero ? 1 : 0;
  if (amax == 0) return with_code(smallest);
  if (!power_of_two_) {
    const float wanted = std::bit_cast<float>(amax) / max_value_ * encode_scale_;
    return with_code(std::max(encode(scale_, static_cast<double>(wanted), saturate), smallest));
  }
  const int exponent = std::clamp(exponent_for(amax), least_, greatest_);
  if (is_e8m0_) return {static_cast<std::uint64_t>(exponent + 127), std::ldexp(1.0f, exponent), exponent};
  return with_code(encode(scale_, Exact{Exact::Kind::finite, false, 1, exponent}, saturate));
}

}  // namespace halftone
