// SPDX-License-Identifier: Apache-2.0
#include "cli/number_digits.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <limits>

namespace halftone::cli {
namespace {

constexpr int kFarthest = 20'000;  // powers of ten; the widest format ends at 2^32767, about 10^9864

mpz_class power(unsigned long base, int exponent) {
  mpz_class result;
  mpz_ui_pow_ui(result.get_mpz_t(), base, static_cast<unsigned long>(exponent));
  return result;
}

// "1.5" and 8 are 1.5e+08. Where the number has a usual size, 150000000.
std::string place_point(const std::string& digits, int exponent, bool plain) {
  if (!plain) {
    const std::string fraction = digits.size() > 1 ? "." + digits.substr(1) : "";
    return fmt::format("{}{}e{}{:02}", digits[0], fraction, exponent < 0 ? '-' : '+', std::abs(exponent));
  }
  if (exponent < 0) return "0." + std::string(static_cast<std::size_t>(-exponent - 1), '0') + digits;
  const auto whole = static_cast<std::size_t>(exponent) + 1;
  if (digits.size() <= whole) return digits + std::string(whole - digits.size(), '0');
  return digits.substr(0, whole) + "." + digits.substr(whole);
}

}  // namespace

// n * 2^-k = n * 5^k * 10^-k
Decimal::Decimal(const Exact& x)
    : integer_(mpz_class(static_cast<unsigned long>(x.n)) *
               power(x.exponent < 0 ? 5 : 2, x.n == 0 ? 0 : std::abs(x.exponent))),
      power_(x.exponent < 0 && x.n != 0 ? x.exponent : 0) {
  if (x.negative) integer_ = -integer_;
}

std::optional<Decimal> Decimal::parse(std::string_view text) {
  const bool negative = !text.empty() && text[0] == '-';
  if (negative || (!text.empty() && text[0] == '+')) text.remove_prefix(1);
  const bool hexadecimal = text.size() > 2 && (text[1] == 'x' || text[1] == 'X');
  if (hexadecimal) text.remove_prefix(2);
  const std::size_t end = std::min(text.find_first_of(hexadecimal ? "pP" : "eE"), text.size());
  long long exponent = 0;
  if (end < text.size()) {
    std::string_view written = text.substr(end + 1);
    if (!written.empty() && written[0] == '+') written.remove_prefix(1);
    if (std::from_chars(written.data(), written.data() + written.size(), exponent).ec != std::errc())
      return std::nullopt;
  }
  std::string digits(text.substr(0, end));
  if (const std::size_t point = digits.find('.'); point != std::string::npos) {
    digits.erase(point, 1);
    exponent -= static_cast<long long>(digits.size() - point) * (hexadecimal ? 4 : 1);
  }
  Decimal result;
  result.integer_ = mpz_class(digits, hexadecimal ? 16 : 10);
  if (result.is_zero()) return result;
  if (std::llabs(exponent) > kFarthest * (hexadecimal ? 3 : 1)) return std::nullopt;
  const int written = static_cast<int>(exponent);
  if (!hexadecimal || written < 0) result.power_ = written;
  if (hexadecimal) result.integer_ *= power(written < 0 ? 5 : 2, std::abs(written));
  if (negative) result.integer_ = -result.integer_;
  return result;
}

Decimal Decimal::operator-() const {
  Decimal result = *this;
  result.integer_ = -integer_;
  return result;
}

Decimal operator+(const Decimal& a, const Decimal& b) {
  if (a.is_zero()) return b;
  if (b.is_zero()) return a;
  Decimal result;
  result.power_ = std::min(a.power_, b.power_);
  result.integer_ =
      a.integer_ * power(10, a.power_ - result.power_) + b.integer_ * power(10, b.power_ - result.power_);
  return result;
}

Decimal Decimal::half() const {
  Decimal result = *this;
  result.integer_ *= 5;
  --result.power_;
  return result;
}

Decimal::Scientific Decimal::scientific() const {
  std::string digits = mpz_class(abs(integer_)).get_str();
  const int exponent = power_ + static_cast<int>(digits.size()) - 1;
  digits.erase(digits.find_last_not_of('0') + 1);
  return {digits, exponent};
}

std::string Decimal::text(std::size_t most_digits) const {
  if (is_zero()) return "0";
  auto [digits, exponent] = scientific();
  const bool plain = exponent >= -5 && exponent < 21;
  const std::string sign = is_negative() ? "-" : "";
  if (most_digits == 0 || digits.size() <= most_digits) return sign + place_point(digits, exponent, plain);
  const std::string shown = place_point(digits.substr(0, most_digits), exponent, plain);
  const std::size_t e = plain ? shown.size() : shown.find('e');
  return sign + shown.substr(0, e) + "…" + shown.substr(e);
}

std::string Decimal::rounded(int digits) const {
  if (is_zero()) return "0";
  const auto [all, exponent] = scientific();
  const std::string lead = all.substr(0, 1) + "." + all.substr(1, 30), sign = is_negative() ? "-" : "";
  if (std::abs(exponent) < 290)
    return sign +
           fmt::format("{:.{}g}", std::strtod(fmt::format("{}e{}", lead, exponent).c_str(), nullptr), digits);
  const std::string text = fmt::format("{:.{}e}", std::strtod(lead.c_str(), nullptr), digits - 1);
  const std::size_t e = text.find('e');
  const int carried = std::atoi(text.c_str() + e + 1);  // 9.999 is 1.00e+01
  std::string front = text.substr(0, e);
  if (front.find('.') != std::string::npos) front.erase(front.find_last_not_of('0') + 1);
  if (front.back() == '.') front.pop_back();
  return fmt::format("{}{}e{:+03}", sign, front, exponent + carried);
}

double Decimal::ratio(const Decimal& other) const {
  if (is_zero()) return 0;
  if (other.is_zero()) return std::numeric_limits<double>::infinity();
  const Scientific a = scientific(), b = other.scientific();
  const auto mantissa = [](const std::string& digits) {
    return std::strtod((digits.substr(0, 1) + "." + digits.substr(1, 30)).c_str(), nullptr);
  };
  return mantissa(a.digits) / mantissa(b.digits) * std::pow(10.0, a.exponent - b.exponent);
}

std::string digits_of(const Exact& x, std::size_t most_digits) {
  if (x.kind == Exact::Kind::nan) return "NaN";
  if (x.kind == Exact::Kind::infinity) return x.negative ? "-infinity" : "infinity";
  if (x.n == 0) return x.negative ? "-0" : "0";
  return Decimal(x).text(most_digits);
}

}  // namespace halftone::cli
