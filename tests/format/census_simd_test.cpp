// SPDX-License-Identifier: Apache-2.0
//
// The vector loops of the census against the values one by one, on every instruction set this processor has.
#include "format/census_simd.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <string>
#include <vector>

#include "format/census_oracle.h"
#include "format/rows_simd.h"

#if defined(__SSE2__)
#include <xmmintrin.h>
#endif

namespace halftone {
namespace {

std::vector<Format> covered_rows() {
  std::vector<Format> rows;
  for (const Format& row : oracle::rows(31))
    if (simd::covers(row)) rows.push_back(row);
  return rows;
}

// Values, and what they became in a row: as codes, and packed as the elements of a tensor.
struct Converted {
  Converted(const Format& row, std::vector<float> from, const Conversion& conversion)
      : values(std::move(from)), elements(values.size() * static_cast<std::size_t>(row.bytes())) {
    for (std::size_t i = 0; i < values.size(); ++i) {
      codes.push_back(encode(row, double{values[i]}, conversion, 0x80000000));
      store_code(DType(&row), elements.data(), static_cast<std::int64_t>(i), codes[i]);
    }
  }

  Census count(const Format& row, std::size_t size) const {
    Census census;
    simd::count_narrow(row, values.data(), elements.data(), static_cast<std::int64_t>(size), census);
    return census;
  }
  Census count(const Format& row) const { return count(row, values.size()); }

  std::vector<float> values;
  std::vector<std::uint64_t> codes;
  std::vector<unsigned char> elements;
};

class CensusLoops : public testing::TestWithParam<std::int64_t> {
 protected:
  void SetUp() override { simd::use_target(GetParam()); }
  void TearDown() override { simd::use_target(0); }
};

TEST_P(CensusLoops, GiveTheClassesOfTheHeader) {
  for (const Format& row : covered_rows()) {
    const oracle::CensusOracle oracle(row);
    const auto values = oracle::census_values<float>(row, 400);
    for (const Conversion& conversion : oracle::census_conversions(row)) {
      const Converted converted(row, values, conversion);
      const Census expected =
          oracle.count(std::vector<double>(values.begin(), values.end()), converted.codes);
      const Census census = converted.count(row);
      ASSERT_TRUE(census == expected) << row.name << ", " << describe(conversion) << ": " << describe(census)
                                      << "\ninstead of " << describe(expected);
#if defined(__SSE2__)
      const unsigned before = _mm_getcsr();
      _mm_setcsr(before | 0x8040);
      const Census flushing = converted.count(row);
      _mm_setcsr(before);
      ASSERT_TRUE(flushing == expected) << row.name << ": " << describe(flushing);
#endif
    }
  }
}

// Values between the middles of a row, a piece of which holds few binades: no overflow to look for.
TEST_P(CensusLoops, GiveTheSameForValuesOfAnySpread) {
  std::mt19937_64 random(2);
  for (std::string_view name : {"float16", "bfloat16", "float8_e4m3fn", "float6_e2m3fn", "fixed8m6"}) {
    const Format& row = find_dtype(name).format();
    for (int spread : {1, 2, 63, 64, 65, 66, 250})
      for (int lowest : {-126, -20, -3, 3}) {
        std::vector<float> values;
        while (values.size() < 2100) {
          const double significand = 1 + static_cast<double>(random() >> 12) * 0x1p-52;
          const int exponent = lowest + static_cast<int>(random() % static_cast<unsigned>(spread));
          values.push_back(
              static_cast<float>(std::ldexp(random() % 2 != 0 ? significand : -significand, exponent)));
        }
        const Converted converted(row, values, default_conversion(row));
        Census expected;
        for (std::size_t i = 0; i < values.size(); ++i)
          count_conversion(row, double{values[i]}, converted.codes[i], expected);
        ASSERT_TRUE(converted.count(row) == expected)
            << row.name << " from 2^" << lowest << ": " << describe(converted.count(row)) << "\ninstead of "
            << describe(expected);
      }
  }
}

TEST_P(CensusLoops, TakeAnyLength) {
  for (DType format : {float16, float8_e4m3fn, tfloat32, dtype("fixed8m6"), dtype("float6_e3m2fn")}) {
    const Format& row = format.format();
    const Converted converted(row, oracle::census_values<float>(row, 4200), default_conversion(row));
    Census expected;
    for (std::size_t size = 0; size < 4200; ++size) {
      const bool checked =
          size <= 40 || (size >= 511 && size <= 1030) || (size >= 2030 && size <= 2060) || size >= 4090;
      if (checked) {
        ASSERT_TRUE(converted.count(row, size) == expected) << row.name << ' ' << size;
      }
      count_conversion(row, double{converted.values[size]}, converted.codes[size], expected);
    }
  }
}

TEST_P(CensusLoops, TakeAnyAlignment) {
  const Format& row = float16.format();
  const Converted converted(row, oracle::census_values<float>(row, 700), default_conversion(row));
  const std::size_t size = converted.values.size();
  for (std::size_t offset = 0; offset < 8; ++offset) {
    std::vector<float> values(size + 8);
    std::vector<unsigned char> elements(converted.elements.size() + 8);
    std::copy(converted.values.begin(), converted.values.end(),
              values.begin() + static_cast<std::ptrdiff_t>(offset));
    std::copy(converted.elements.begin(), converted.elements.end(),
              elements.begin() + static_cast<std::ptrdiff_t>(offset));
    Census census;
    simd::count_narrow(row, values.data() + offset, elements.data() + offset, static_cast<std::int64_t>(size),
                       census);
    EXPECT_TRUE(census == converted.count(row)) << offset;
  }
}

TEST_P(CensusLoops, AddToWhatWasCounted) {
  const Format& row = bfloat16.format();
  const Converted converted(row, oracle::census_values<float>(row, 3000), default_conversion(row));
  Census twice = converted.count(row), sum = twice;
  simd::count_narrow(row, converted.values.data(), converted.elements.data(),
                     static_cast<std::int64_t>(converted.values.size()), twice);
  sum += converted.count(row);
  EXPECT_TRUE(twice == sum);
}

TEST_P(CensusLoops, HistogramHasTheExponentOfEveryFloat) {
  std::vector<float> values;
  Census expected;
  for (int exponent = -149; exponent <= 127; ++exponent) {
    const float power = std::ldexp(1.0f, exponent);
    values.insert(values.end(), {power, -power, std::nextafter(power, HUGE_VALF)});
    expected.at(exponent) += 2;
    expected.at(exponent == -149 ? -148 : exponent) +=
        1;  // the next one after the smallest is twice as large
  }
  values.insert(values.end(), {0.0f, -0.0f, HUGE_VALF, -HUGE_VALF, std::nanf("")});
  const Converted converted(float16.format(), values, Conversion{});
  EXPECT_EQ(converted.count(float16.format()).exponents, expected.exponents);
}

INSTANTIATE_TEST_SUITE_P(Census, CensusLoops, testing::ValuesIn(simd::targets()),
                         [](const auto& info) { return simd::target_name(info.param); });

}  // namespace
}  // namespace halftone
