// SPDX-License-Identifier: Apache-2.0
//
// Text to a number taken apart. MPFR reads the digits to 64 bits, truncated, and says whether anything was
// cut off; that is all a later rounding to a format needs, so the text is rounded once.
#include <fmt/format.h>
#include <mpfr.h>

#include <cctype>
#include <string>

#include "halftone/conversion.h"
#include "halftone/error.h"

namespace halftone {
namespace {

bool same_word(std::string_view text, std::string_view word) {
  if (text.size() != word.size()) return false;
  for (std::size_t i = 0; i < text.size(); ++i)
    if (std::tolower(static_cast<unsigned char>(text[i])) != word[i]) return false;
  return true;
}

// Digits with at most one point and an exponent; MPFR takes more (spaces, its own words for infinity).
bool is_number(std::string_view text) {
  const bool hexadecimal = text.size() > 2 && text[0] == '0' && (text[1] == 'x' || text[1] == 'X');
  if (hexadecimal) text.remove_prefix(2);
  std::size_t i = 0, digits = 0, points = 0;
  for (; i < text.size(); ++i) {
    const auto c = static_cast<unsigned char>(text[i]);
    if (hexadecimal ? std::isxdigit(c) != 0 : std::isdigit(c) != 0) {
      ++digits;
    } else if (c == '.') {
      ++points;
    } else {
      break;
    }
  }
  if (digits == 0 || points > 1) return false;
  if (i == text.size()) return true;
  if (std::tolower(static_cast<unsigned char>(text[i])) != (hexadecimal ? 'p' : 'e')) return false;
  if (++i < text.size() && (text[i] == '+' || text[i] == '-')) ++i;
  const std::string_view exponent = text.substr(i);
  return !exponent.empty() && exponent.find_first_not_of("0123456789") == std::string_view::npos;
}

struct Float64Bits {
  Float64Bits() { mpfr_init2(value, 64); }
  ~Float64Bits() { mpfr_clear(value); }
  Float64Bits(const Float64Bits&) = delete;
  Float64Bits& operator=(const Float64Bits&) = delete;
  mpfr_t value;
};

}  // namespace

Exact parse_exact(std::string_view text) {
  Exact x;
  std::string_view rest = text;
  if (!rest.empty() && (rest[0] == '+' || rest[0] == '-')) {
    x.negative = rest[0] == '-';
    rest.remove_prefix(1);
  }
  if (same_word(rest, "inf") || same_word(rest, "infinity")) {
    x.kind = Exact::Kind::infinity;
    return x;
  }
  if (same_word(rest, "nan")) {
    x.kind = Exact::Kind::nan;
    return x;
  }
  if (!is_number(rest))
    throw ValueError("number", fmt::format("\"{}\"", text), "a number", "0.1, -1e-8, 0x1.8p-3, inf or nan");
  Float64Bits number;
  const std::string digits(rest);
  const int ternary = mpfr_strtofr(number.value, digits.c_str(), nullptr, 0, MPFR_RNDZ);
  x.more = ternary != 0;
  if (mpfr_zero_p(number.value) != 0) {
    x.exponent = -1'000'000;  // nothing, or less than anything a format holds
    return x;
  }
  mpz_t n;
  mpz_init(n);
  const mpfr_exp_t exponent = mpfr_get_z_2exp(n, number.value);
  x.n = mpz_get_ui(n);
  mpz_clear(n);
  constexpr mpfr_exp_t kFar = 1'000'000;  // far outside every format, and small enough for an int
  x.exponent = static_cast<int>(exponent > kFar ? kFar : exponent < -kFar ? -kFar : exponent);
  return x;
}

std::uint64_t encode(const Format& format, std::string_view text) {
  return encode(format, parse_exact(text), default_conversion(format));
}

}  // namespace halftone
