// SPDX-License-Identifier: Apache-2.0
//
// Against MPFR at a precision that holds every number in question.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <mpfr.h>

#include <cmath>
#include <string>

#include "cli/command_text.h"
#include "halftone/random.h"

namespace halftone {
namespace {

constexpr mpfr_prec_t kBits = 40000;

class Real {
 public:
  explicit Real(const std::string& text) {
    mpfr_init2(value_, kBits);
    EXPECT_EQ(mpfr_strtofr(value_, text.c_str(), nullptr, 0, MPFR_RNDN), 0) << text << " is not exact";
  }
  ~Real() { mpfr_clear(value_); }
  Real(const Real&) = delete;
  Real& operator=(const Real&) = delete;
  friend bool operator==(const Real& a, const Real& b) { return mpfr_equal_p(a.value_, b.value_) != 0; }

 private:
  mpfr_t value_;
};

std::string value_shown(const std::string& arguments) {
  const auto words = words_after(shown("inspect --all-digits " + arguments), "value");
  return words.empty() ? "nothing" : words[0];
}

// A decimal as MPFR prints it with as many digits as it takes, without zeros at the end.
std::string digits_of(const std::string& hexadecimal) {
  mpfr_t value;
  mpfr_init2(value, kBits);
  mpfr_strtofr(value, hexadecimal.c_str(), nullptr, 0, MPFR_RNDN);
  char* text = nullptr;
  mpfr_asprintf(&text, "%.23000Re", value);
  std::string all(text);
  mpfr_free_str(text);
  mpfr_clear(value);
  const std::size_t e = all.find('e');
  std::string front = all.substr(0, e);
  front.erase(front.find_last_not_of('0') + 1);
  if (front.back() == '.') front.pop_back();
  return front + all.substr(e);
}

TEST(NumberDigits, EveryDigitOfALongNumberIsThatOfMpfr) {
  for (const char* hexadecimal :
       {"0x1p-1074", "0x1.fffffffffffffp+1023", "-0x1.23456789abcdep-700", "0x1.8p+200"})
    EXPECT_TRUE(value_shown("-f float64 " + std::string(hexadecimal)) == digits_of(hexadecimal))
        << hexadecimal;
  for (const char* hexadecimal : {"0x1p-8192", "0x1.8p+8190", "0x1p-5000"})
    EXPECT_TRUE(value_shown("-f binary16p2se " + std::string(hexadecimal)) == digits_of(hexadecimal))
        << hexadecimal;
  EXPECT_TRUE(value_shown("-f binary16p1ue 0x1") == digits_of("0x1p-32767"));
}

TEST(NumberDigits, NumbersOfUsualSizeAreWrittenOut) {
  for (std::uint64_t i = 0; i < 30; ++i) {
    const double x =
        std::ldexp(random_uniform_at(3, 1, i) - 0.5, static_cast<int>(random_bits(3, 2, i) % 60));
    const std::string hexadecimal = fmt::format("{:a}", x), text = value_shown("-f float64 " + hexadecimal);
    EXPECT_EQ(text.find('e'), std::string::npos);
    EXPECT_TRUE(Real(text) == Real(hexadecimal)) << text << " is not " << hexadecimal;
  }
  EXPECT_EQ(value_shown("-f float64 1e15"), "1000000000000000");
  EXPECT_EQ(value_shown("-f float32 -0.0"), "-0");
  EXPECT_EQ(value_shown("-f float64 0x1p-20"), "9.5367431640625e-07");
}

TEST(NumberDigits, ErrorsAreDifferencesOfAllDigits) {
  // 0.1 to 60 digits: float64 is off by 5.551115123125782702118158340454101562e-18.
  EXPECT_EQ(words_after(shown("inspect -f float64 0.1"), "error")[0], "5.55e-18,");
  EXPECT_EQ(words_after(shown("inspect -f float64 0.1000000000000000055511151231257827021181583404541015626"),
                        "error")[0],
            "-1e-55,");
  EXPECT_EQ(words_after(shown("inspect -f float32 1000000000000000000000000000000000001"), "error")[0],
            "-3.83e+28,");
  EXPECT_EQ(words_after(shown("inspect -f binary16p2se 1.1e1000"), "error")[2], "0.044");
  EXPECT_EQ(words_after(shown("inspect -f float64 0x1.00000000000000000000001p0"), "error")[0], "-2.02e-28,");
  EXPECT_TRUE(words_after(shown("inspect -f float64 0x1.8p3"), "error").empty());
}

TEST(NumberDigits, LongOnesAreCutUnlessAskedFor) {
  const auto value = words_after(shown("inspect -f float64 1e-300"), "value")[0];
  EXPECT_EQ(characters(value).size(), 1 + 120 + 1 + 5u) << value;  // the point, digits, an ellipsis, e-300
  EXPECT_EQ(value.substr(0, 6), "1.0000");
  EXPECT_NE(value.find("…e-300"), std::string::npos);
}

}  // namespace
}  // namespace halftone
