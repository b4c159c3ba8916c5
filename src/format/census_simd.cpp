// SPDX-License-Identifier: Apache-2.0
//
// Compiled once per instruction set by Highway's foreach_target.h. Everything is compared as integers, which
// order like the magnitudes they encode, so subnormals count whatever the state of the processor. What is
// rare costs little: overflow is looked for only where the exponents reach it, and the histogram compares the
// exponents with each value between the lowest and the highest of the piece, which are few.
#include "format/census_simd.h"

#include <algorithm>
#include <array>
#include <bit>

#include "format/rows_simd.h"

#define HWY_DISABLED_TARGETS HWY_SSSE3
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "format/census_simd.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#ifndef HALFTONE_CENSUS_SIMD_ONCE
#define HALFTONE_CENSUS_SIMD_ONCE
namespace halftone::simd {

// Compared at a time: `before` and `after` fill the first-level cache.
inline constexpr std::int64_t kCensusPiece = 512;

// The largest and the lowest value and the smallest normal one, as bits of float32.
struct Ends {
  std::int32_t largest, lowest, min_normal;
};

struct Counts {
  std::int64_t exact, to_subnormal, to_zero, saturated, to_infinity, to_nan, nan;
};

}  // namespace halftone::simd
#endif

HWY_BEFORE_NAMESPACE();
namespace halftone::simd::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using D = hn::ScalableTag<std::int32_t>;
using V = hn::Vec<D>;

struct Fields {
  int lowest, highest;
};

// Counts the exponent fields of a whole piece, those of zeros, subnormals, infinities and NaNs excepted.
HWY_INLINE Fields count_fields(const float* before, std::int64_t* counts) {
  const D d;
  const hn::ScalableTag<std::uint8_t> bytes;
  const hn::RebindToUnsigned<D> du;
  const hn::Rebind<std::uint8_t, D> narrow;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d)),
             width = static_cast<std::int64_t>(hn::Lanes(bytes));
  alignas(64) std::uint8_t fields[kCensusPiece];
  V low = hn::Set(d, 255), high = hn::Zero(d);
  for (std::int64_t i = 0; i < kCensusPiece; i += lanes) {
    const auto bits = hn::LoadU(du, reinterpret_cast<const std::uint32_t*>(before + i));
    const V field = hn::BitCast(d, hn::ShiftRight<24>(hn::ShiftLeft<1>(bits)));
    low = hn::Min(low, field);
    high = hn::Max(high, field);
    hn::StoreU(hn::DemoteTo(narrow, field), narrow, fields + i);
  }
  const int lowest = hn::GetLane(hn::MinOfLanes(d, low)), highest = hn::GetLane(hn::MaxOfLanes(d, high));
  constexpr int kFew = 64;
  if (highest - lowest > kFew) {
    for (std::uint8_t field : fields)
      if (field != 0 && field != 255) ++counts[field];
  } else {
    for (int field = std::max(lowest, 1); field <= std::min(highest, 254); ++field) {
      const auto wanted = hn::Set(bytes, static_cast<std::uint8_t>(field));
      std::size_t found = 0;
      for (std::int64_t i = 0; i < kCensusPiece; i += width)
        found += hn::CountTrue(bytes, hn::Eq(hn::Load(bytes, fields + i), wanted));
      counts[field] += static_cast<std::int64_t>(found);
    }
  }
  return {lowest, highest};
}

// `by_field` counts by exponent field. Returns the lowest field.
int count_piece(const Ends& ends, const float* before, const float* after, Counts& counts,
                std::int64_t* by_field) {
  const D d;
  const Fields fields = count_fields(before, by_field);
  const V zero = hn::Zero(d), mask = hn::Set(d, 0x7FFFFFFF), infinity = hn::Set(d, 0x7F800000);
  const V largest = hn::Set(d, ends.largest), lowest = hn::Set(d, ends.lowest);
  const V min_normal = hn::Set(d, ends.min_normal);
  const bool may_be_small = fields.lowest <= (ends.min_normal >> 23);
  const bool may_overflow = fields.highest >= (std::min(ends.largest, ends.lowest) >> 23);
  V exact = zero, to_subnormal = zero, to_zero = zero, saturated = zero, to_infinity = zero, to_nan = zero,
    nan = zero;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  if (!may_be_small && !may_overflow) {  // numbers that became normal numbers
    std::size_t same = 0;
    for (std::int64_t i = 0; i < kCensusPiece; i += lanes) {
      const V x = hn::LoadU(d, reinterpret_cast<const std::int32_t*>(before + i));
      const V y = hn::LoadU(d, reinterpret_cast<const std::int32_t*>(after + i));
      same += hn::CountTrue(d, hn::Eq(x, y));
    }
    counts.exact += static_cast<std::int64_t>(same);
    return fields.lowest;
  }
  for (std::int64_t i = 0; i < kCensusPiece; i += lanes) {
    const V x = hn::LoadU(d, reinterpret_cast<const std::int32_t*>(before + i));
    const V y = hn::LoadU(d, reinterpret_cast<const std::int32_t*>(after + i));
    const V size = hn::And(x, mask), result = hn::And(y, mask);
    // Each class takes what the classes before it left.
    auto done = hn::Or(hn::Eq(x, y), hn::Eq(hn::Or(size, result), zero));
    if (may_overflow) {
      const auto is_nan = hn::Gt(size, infinity);
      const auto is_to_nan = hn::AndNot(is_nan, hn::Gt(result, infinity));
      done = hn::AndNot(is_nan, done);
      exact = hn::Add(exact, hn::VecFromMask(d, done));
      done = hn::Or(hn::Or(is_nan, is_to_nan), done);
      const auto is_to_infinity = hn::AndNot(done, hn::Eq(result, infinity));
      const V end = hn::IfThenElse(hn::Lt(x, zero), lowest, largest);
      const auto is_saturated = hn::AndNot(hn::Or(done, is_to_infinity), hn::Gt(size, end));
      done = hn::Or(done, hn::Or(is_to_infinity, is_saturated));
      nan = hn::Add(nan, hn::VecFromMask(d, is_nan));
      to_nan = hn::Add(to_nan, hn::VecFromMask(d, is_to_nan));
      to_infinity = hn::Add(to_infinity, hn::VecFromMask(d, is_to_infinity));
      saturated = hn::Add(saturated, hn::VecFromMask(d, is_saturated));
    } else {
      exact = hn::Add(exact, hn::VecFromMask(d, done));
    }
    const auto small = hn::AndNot(done, hn::Lt(result, min_normal));
    const auto is_zero = hn::And(small, hn::Eq(result, zero));
    to_zero = hn::Add(to_zero, hn::VecFromMask(d, is_zero));
    to_subnormal = hn::Add(to_subnormal, hn::VecFromMask(d, hn::AndNot(is_zero, small)));
  }
  const auto total = [&](V v) HWY_ATTR { return -std::int64_t{hn::GetLane(hn::SumOfLanes(d, v))}; };
  counts.exact += total(exact), counts.to_subnormal += total(to_subnormal), counts.to_zero += total(to_zero);
  counts.saturated += total(saturated), counts.to_infinity += total(to_infinity);
  counts.to_nan += total(to_nan), counts.nan += total(nan);
  return fields.lowest;
}

}  // namespace halftone::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace halftone::simd {
namespace {

HWY_EXPORT(count_piece);

std::int32_t bits_of(double magnitude) { return std::bit_cast<std::int32_t>(static_cast<float>(magnitude)); }

void count_subnormals(const float* values, std::int64_t count, Census& census) {
  for (std::int64_t i = 0; i < count; ++i) {
    const std::uint32_t magnitude = std::bit_cast<std::uint32_t>(values[i]) & 0x7FFFFFFF;
    if (magnitude != 0 && magnitude < 0x800000) ++census.at(std::bit_width(magnitude) - 150);
  }
}

}  // namespace

void count_narrow(const Format& format, const float* values, const void* codes, std::int64_t count,
                  Census& census) {
  const Ends ends{bits_of(max_finite(format)), bits_of(-decode(format, detail::lowest_code(format))),
                  bits_of(min_normal(format))};
  Counts counts{};
  std::int64_t padding = 0;  // zeros that fill the last piece, which count as exact
  std::array<float, kCensusPiece> before, after;
  for (std::int64_t begin = 0; begin < count; begin += kCensusPiece) {
    const std::int64_t size = std::min(kCensusPiece, count - begin);
    const float* from = values + begin;
    decode_narrow(format, static_cast<const unsigned char*>(codes) + begin * format.bytes(), after.data(),
                  size);
    if (size < kCensusPiece) {
      std::copy_n(from, size, before.data());
      std::fill(before.begin() + size, before.end(), 0.0f);
      std::fill(after.begin() + size, after.end(), 0.0f);
      padding = kCensusPiece - size;
      from = before.data();
    }
    const int lowest = HWY_DYNAMIC_DISPATCH(count_piece)(ends, from, after.data(), counts, &census.at(-127));
    if (lowest == 0) count_subnormals(from, size, census);
  }
  counts.exact -= padding;
  census.exact += counts.exact, census.to_subnormal += counts.to_subnormal, census.to_zero += counts.to_zero;
  census.saturated += counts.saturated, census.to_infinity += counts.to_infinity;
  census.to_nan += counts.to_nan, census.nan += counts.nan;
  census.rounded += count - counts.exact - counts.to_subnormal - counts.to_zero - counts.saturated -
                    counts.to_infinity - counts.to_nan - counts.nan;
}

}  // namespace halftone::simd
#endif
