// SPDX-License-Identifier: Apache-2.0
//
// Compiled once per instruction set by Highway's foreach_target.h. Everything is compared as integers, which
// order like the magnitudes they encode, so subnormals count whatever the state of the processor.
#include "format/census_simd.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

#include "format/rows_simd.h"

#define HWY_DISABLED_TARGETS HWY_SSSE3
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "format/census_simd.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#ifndef HALFTONE_CENSUS_SIMD_ONCE
#define HALFTONE_CENSUS_SIMD_ONCE
namespace halftone::simd {

// Of values beyond the ends, which differ where the format is two's complement; as bits of float32.
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

// `before` and `after` hold `count` floats each, a multiple of the lanes of every target.
void count_piece(const Ends& ends, const float* before, const float* after, std::int64_t count,
                 Counts& counts) {
  const hn::ScalableTag<std::int32_t> d;
  using V = hn::Vec<decltype(d)>;
  const V zero = hn::Zero(d), mask = hn::Set(d, 0x7FFFFFFF), infinity = hn::Set(d, 0x7F800000);
  const V largest = hn::Set(d, ends.largest), lowest = hn::Set(d, ends.lowest);
  const V min_normal = hn::Set(d, ends.min_normal);
  V exact = zero, to_subnormal = zero, to_zero = zero, saturated = zero, to_infinity = zero, to_nan = zero,
    nan = zero;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  for (std::int64_t i = 0; i < count; i += lanes) {
    const V x = hn::LoadU(d, reinterpret_cast<const std::int32_t*>(before + i));
    const V y = hn::LoadU(d, reinterpret_cast<const std::int32_t*>(after + i));
    const V size = hn::And(x, mask), result = hn::And(y, mask);
    const V end = hn::IfThenElse(hn::Lt(x, zero), lowest, largest);
    // Each class takes what the classes before it left.
    const auto is_nan = hn::Gt(size, infinity);
    const auto is_to_nan = hn::AndNot(is_nan, hn::Gt(result, infinity));
    const auto is_same = hn::Or(hn::Eq(x, y), hn::Eq(hn::Or(size, result), zero));
    const auto is_exact = hn::AndNot(is_nan, is_same);
    const auto done = hn::Or(hn::Or(is_nan, is_to_nan), is_exact);
    const auto is_to_infinity = hn::AndNot(done, hn::Eq(result, infinity));
    const auto is_saturated = hn::AndNot(hn::Or(done, is_to_infinity), hn::Gt(size, end));
    const auto small = hn::AndNot(hn::Or(done, is_saturated), hn::Lt(result, min_normal));
    const auto is_zero = hn::And(small, hn::Eq(result, zero));
    nan = hn::Add(nan, hn::VecFromMask(d, is_nan));
    to_nan = hn::Add(to_nan, hn::VecFromMask(d, is_to_nan));
    exact = hn::Add(exact, hn::VecFromMask(d, is_exact));
    to_infinity = hn::Add(to_infinity, hn::VecFromMask(d, is_to_infinity));
    saturated = hn::Add(saturated, hn::VecFromMask(d, is_saturated));
    to_zero = hn::Add(to_zero, hn::VecFromMask(d, is_zero));
    to_subnormal = hn::Add(to_subnormal, hn::VecFromMask(d, hn::AndNot(is_zero, small)));
  }
  const auto total = [&](V v) HWY_ATTR { return -std::int64_t{hn::GetLane(hn::SumOfLanes(d, v))}; };
  counts.exact += total(exact), counts.to_subnormal += total(to_subnormal), counts.to_zero += total(to_zero);
  counts.saturated += total(saturated), counts.to_infinity += total(to_infinity);
  counts.to_nan += total(to_nan), counts.nan += total(nan);
}

}  // namespace halftone::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace halftone::simd {
namespace {

HWY_EXPORT(count_piece);

std::int32_t bits_of(double magnitude) { return std::bit_cast<std::int32_t>(static_cast<float>(magnitude)); }

// By exponent field; four tables, so that equal neighbours do not wait for each other.
class Histogram {
 public:
  void add(const float* values, std::int64_t count) {
    std::int64_t i = 0;
    for (; i + 4 <= count; i += 4) {
      std::array<std::uint64_t, 2> bits;
      std::memcpy(bits.data(), values + i, sizeof(bits));
      ++tables_[0][bits[0] >> 23 & 0xFF];
      ++tables_[1][bits[0] >> 55 & 0xFF];
      ++tables_[2][bits[1] >> 23 & 0xFF];
      ++tables_[3][bits[1] >> 55 & 0xFF];
    }
    for (; i < count; ++i) ++tables_[0][std::bit_cast<std::uint32_t>(values[i]) >> 23 & 0xFF];
  }

  std::uint32_t at(std::size_t field) const {
    return tables_[0][field] + tables_[1][field] + tables_[2][field] + tables_[3][field];
  }

 private:
  std::array<std::array<std::uint32_t, 256>, 4> tables_{};
};

void count_subnormals(const float* values, std::int64_t count, Census& census) {
  for (std::int64_t i = 0; i < count; ++i) {
    const std::uint32_t magnitude = std::bit_cast<std::uint32_t>(values[i]) & 0x7FFFFFFF;
    if (magnitude != 0 && magnitude < 0x800000) ++census.at(std::bit_width(magnitude) - 150);
  }
}

}  // namespace

void count_narrow(const Format& format, const float* values, const void* codes, std::int64_t count,
                  Census& census) {
  constexpr std::int64_t kPiece = 512;  // also the zeros that fill the last piece are exact: taken off below
  constexpr std::int64_t kWhole = std::int64_t{1} << 30;  // the histogram counts in 32 bits
  const Ends ends{bits_of(max_finite(format)), bits_of(-decode(format, detail::lowest_code(format))),
                  bits_of(min_normal(format))};
  Counts counts{};
  std::int64_t padding = 0;
  std::array<float, kPiece> before, after;
  for (std::int64_t start = 0; start < count; start += kWhole) {
    const std::int64_t stop = std::min(count, start + kWhole);
    Histogram histogram;
    for (std::int64_t begin = start; begin < stop; begin += kPiece) {
      const std::int64_t size = std::min(kPiece, stop - begin);
      const float* from = values + begin;
      decode_narrow(format, static_cast<const unsigned char*>(codes) + begin * format.bytes(), after.data(), size);
      histogram.add(from, size);
      if (size < kPiece) {
        std::copy_n(from, size, before.data());
        std::fill(before.begin() + size, before.end(), 0.0f);
        std::fill(after.begin() + size, after.end(), 0.0f);
        padding += kPiece - size;
        from = before.data();
      }
      HWY_DYNAMIC_DISPATCH(count_piece)(ends, from, after.data(), kPiece, counts);
    }
    for (std::size_t field = 1; field < 255; ++field)
      census.at(static_cast<int>(field) - 127) += histogram.at(field);
    if (histogram.at(0) != 0) count_subnormals(values + start, stop - start, census);
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
