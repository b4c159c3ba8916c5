// SPDX-License-Identifier: Apache-2.0
//
// Rows convert to the same bits whatever the state of the processor: another rounding, subnormals flushed.
#include <gtest/gtest.h>

#include <cfenv>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "format/oracle.h"
#include "halftone/conversion.h"

#if defined(__SSE2__)
#include <xmmintrin.h>
#endif

namespace halftone {
namespace {

using Bytes = std::vector<unsigned char>;

template <class Real>
std::vector<Real> values_with_subnormals() {
  std::vector<Real> values = {0,
                              1,
                              std::numeric_limits<Real>::denorm_min(),
                              std::numeric_limits<Real>::min() / 2,
                              Real(0x1p-127),
                              Real(0x1p-149),
                              std::numeric_limits<Real>::max(),
                              HUGE_VALF};
  std::mt19937_64 random(1);
  while (values.size() < 300) {
    const double significand = 1 + static_cast<double>(random() >> 12) * 0x1p-52;
    values.push_back(static_cast<Real>(std::ldexp(significand, static_cast<int>(random() % 280) - 150)));
  }
  for (std::size_t i = 0; i < 300; ++i) values.push_back(-values[i]);
  return values;
}

template <class Real>
Bytes encoded(DType dtype, const std::vector<Real>& values, const Conversion& conversion) {
  Bytes codes(values.size() * static_cast<std::size_t>(dtype.bytes()));
  encode_row(dtype, values.data(), codes.data(), static_cast<std::int64_t>(values.size()), conversion);
  return codes;
}

template <class Real>
Bytes decoded(DType dtype, const Bytes& codes, std::size_t count) {
  std::vector<Real> values(count);
  decode_row(dtype, codes.data(), values.data(), static_cast<std::int64_t>(count));
  Bytes bytes(count * sizeof(Real));
  std::memcpy(bytes.data(), values.data(), bytes.size());
  return bytes;
}

constexpr const char* kParts[] = {"floats encoded",    "floats saturated", "doubles encoded",
                                  "doubles saturated", "floats decoded",   "many floats decoded",
                                  "doubles decoded"};

std::vector<Bytes> results(const Format& row) {
  static const auto floats = values_with_subnormals<float>();
  static const auto doubles = values_with_subnormals<double>();
  const DType dtype(&row);
  Conversion saturating = default_conversion(row);
  saturating.overflow = Overflow::saturate;
  const Bytes codes = encoded(dtype, doubles, saturating);
  return {encoded(dtype, floats, default_conversion(row)),
          encoded(dtype, floats, saturating),
          encoded(dtype, doubles, default_conversion(row)),
          codes,
          decoded<float>(dtype, codes, 100),  // too few for a table
          decoded<float>(dtype, codes, doubles.size()),
          decoded<double>(dtype, codes, doubles.size())};
}

void compare(const std::vector<Bytes>& then, const std::vector<Bytes>& expected, const char* state) {
  for (std::size_t part = 0; part < expected.size(); ++part)
    EXPECT_TRUE(then[part] == expected[part]) << kParts[part] << ", " << state;
}

TEST(RowsState, DoesNotMatterToAnyFormat) {
  for (const Format& row : oracle::rows(64)) {
    SCOPED_TRACE(std::string(row.name));
    const auto expected = results(row);
    for (int mode : {FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO}) {
      std::fesetround(mode);
      const auto then = results(row);
      const int after = std::fegetround();
      std::fesetround(FE_TONEAREST);
      compare(then, expected, "another rounding");
      EXPECT_EQ(after, mode);  // the state is as it was
    }
#if defined(__SSE2__)
    const unsigned before = _mm_getcsr();
    _mm_setcsr(before | 0x8040);
    const auto then = results(row);
    const unsigned after = _mm_getcsr();
    _mm_setcsr(before);
    compare(then, expected, "flushing");
    EXPECT_EQ(after & 0x8040, 0x8040u);
#endif
  }
}

}  // namespace
}  // namespace halftone
