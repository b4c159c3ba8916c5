// SPDX-License-Identifier: Apache-2.0
//
// The formats that LLVM's APFloat knows too: the table of tests/golden always; and where LLVM 19 was found
// when the build was configured, every code and the five roundings of IEEE 754 at every value and midpoint. A
// program of its own, because LLVM is large.
#include <gtest/gtest.h>

#include "format/oracle.h"
#include "golden/golden.h"

#ifdef HALFTONE_LLVM
#include <llvm/ADT/APFloat.h>
#endif

namespace halftone {
namespace {

bool same(double a, double b) {
  return std::isnan(a) ? std::isnan(b) : a == b && std::signbit(a) == std::signbit(b);
}

TEST(APFloat, TheTableOfEveryCodeOfNineFormatsHasTheSameValues) {
  const auto tables = golden::read("apfloat.txt");
  ASSERT_EQ(tables.size(), 9u);
  for (const auto& table : tables) {
    const Format& format = find_dtype(table.first).format();
    ASSERT_EQ(table.second.size(), std::size_t{1} << format.bits()) << table.first;
    for (std::size_t code = 0; code < table.second.size(); ++code)
      ASSERT_TRUE(same(decode(format, code), table.second[code]))
          << table.first << " " << code << ": " << table.second[code];
  }
}

#ifdef HALFTONE_LLVM
using llvm::APFloat;

struct Known {
  std::string_view name;
  const llvm::fltSemantics& semantics;
};

std::vector<Known> known_formats() {
  return {{"float16", APFloat::IEEEhalf()},
          {"bfloat16", APFloat::BFloat()},
          {"float8_e5m2", APFloat::Float8E5M2()},
          {"float8_e4m3", APFloat::Float8E4M3()},
          {"float8_e4m3fn", APFloat::Float8E4M3FN()},
          {"float8_e5m2fnuz", APFloat::Float8E5M2FNUZ()},
          {"float8_e4m3fnuz", APFloat::Float8E4M3FNUZ()},
          {"float8_e4m3b11fnuz", APFloat::Float8E4M3B11FNUZ()},
          {"float6_e3m2fn", APFloat::Float6E3M2FN()},
          {"float6_e2m3fn", APFloat::Float6E2M3FN()},
          {"float4_e2m1fn", APFloat::Float4E2M1FN()}};
}

double decoded_by_llvm(const llvm::fltSemantics& semantics, unsigned bits, std::uint64_t code) {
  APFloat value(semantics, llvm::APInt(bits, code));
  bool loses = false;
  value.convert(APFloat::IEEEdouble(), APFloat::rmNearestTiesToEven, &loses);
  return value.convertToDouble();
}

TEST(APFloat, EveryCodeHasTheValueThatLlvmReads) {
  std::vector<Known> formats = known_formats();
  formats.push_back({"tfloat32", APFloat::FloatTF32()});
  for (const Known& known : formats) {
    const Format& format = find_dtype(known.name).format();
    for (std::uint64_t code = 0; code >> format.bits() == 0; ++code)
      ASSERT_TRUE(same(decode(format, code),
                       decoded_by_llvm(known.semantics, static_cast<unsigned>(format.bits()), code)))
          << known.name << " " << code;
  }
}

constexpr std::pair<Rounding, llvm::RoundingMode> kModes[] = {
    {Rounding::nearest_even, llvm::RoundingMode::NearestTiesToEven},
    {Rounding::nearest_away, llvm::RoundingMode::NearestTiesToAway},
    {Rounding::toward_zero, llvm::RoundingMode::TowardZero},
    {Rounding::toward_positive, llvm::RoundingMode::TowardPositive},
    {Rounding::toward_negative, llvm::RoundingMode::TowardNegative}};

void check(const Known& known, const Format& format, const oracle::Thresholds& table, float x) {
  for (const auto& mode : kModes) {
    APFloat value(x);
    bool loses = false;
    value.convert(known.semantics, mode.second, &loses);
    const std::uint64_t expected = value.bitcastToAPInt().getZExtValue();
    const std::uint64_t code = encode(format, static_cast<double>(x), {.rounding = mode.first});
    ASSERT_TRUE(table.same(code, expected)) << known.name << " " << name(mode.first) << " " << std::hexfloat
                                            << x << ": " << code << ", LLVM " << expected;
  }
}

TEST(APFloat, EveryRoundingAtEveryValueAndMiddleIsThatOfLlvm) {
  constexpr float inf = std::numeric_limits<float>::infinity();
  for (const Known& known : known_formats()) {
    const Format& format = find_dtype(known.name).format();
    const oracle::Thresholds table(format);
    std::vector<double> centres = table.middles();
    centres.insert(centres.end(), table.values().begin(), table.values().end());
    centres.insert(centres.end(), {0x1p-149, 0x1.fffffep127, 1e10, 1e-30});
    for (double centre : centres) {
      const auto value = static_cast<float>(centre);
      for (float x : {value, std::nextafter(value, 0.0f), std::nextafter(value, inf)}) {
        if (std::isinf(x)) continue;
        ASSERT_NO_FATAL_FAILURE(check(known, format, table, x));
        ASSERT_NO_FATAL_FAILURE(check(known, format, table, -x));
      }
    }
    if (!has_nan(format)) continue;  // LLVM does not say what infinity and NaN become there
    for (float x : {inf, -inf, std::numeric_limits<float>::quiet_NaN()})
      ASSERT_NO_FATAL_FAILURE(check(known, format, table, x));
  }
}
#else
TEST(APFloat, EveryCodeHasTheValueThatLlvmReads) { GTEST_SKIP() << "built without LLVM 19 (llvm-19-dev)"; }
TEST(APFloat, EveryRoundingAtEveryValueAndMiddleIsThatOfLlvm) {
  GTEST_SKIP() << "built without LLVM 19 (llvm-19-dev)";
}
#endif

}  // namespace
}  // namespace halftone
