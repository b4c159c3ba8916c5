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

constexpr std::uint32_t kBase = 1'000'000'000;
constexpr int kBaseDigits = 9;
constexpr int kFarthest = 20'000;  // powers of ten; the widest format ends at 2^32767, about 10^9864

std::uint32_t digit_of(char c) {
  if (c <= '9') return static_cast<std::uint32_t>(c - '0');
  return static_cast<std::uint32_t>((c | 0x20) - 'a' + 10);
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

Decimal::Decimal(const Exact& x) : negative_(x.negative && x.n != 0) {
  for (std::uint64_t n = x.n; n != 0; n /= kBase) limbs_.push_back(static_cast<std::uint32_t>(n % kBase));
  if (limbs_.empty()) return;
  if (x.exponent < 0) power_ = x.exponent;  // n * 2^-k = n * 5^k * 10^-k
  multiply(x.exponent < 0 ? 5 : 2, std::abs(x.exponent));
}

std::optional<Decimal> Decimal::parse(std::string_view text) {
  Decimal result;
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
  bool after_point = false;
  for (const char c : text.substr(0, end)) {
    if (c == '.') {
      after_point = true;
      continue;
    }
    result.multiply(hexadecimal ? 16 : 10);
    result.add(digit_of(c));
    if (after_point) exponent -= hexadecimal ? 4 : 1;
  }
  if (result.limbs_.empty()) return result;
  if (std::llabs(exponent) > kFarthest * (hexadecimal ? 3 : 1)) return std::nullopt;
  const int power = static_cast<int>(exponent);
  if (!hexadecimal || power < 0) result.power_ = power;
  if (hexadecimal) result.multiply(power < 0 ? 5 : 2, std::abs(power));
  result.negative_ = negative;
  return result;
}

void Decimal::multiply(std::uint32_t factor, int times) {
  while (times > 0) {  // as many factors at once as fit a limb
    std::uint64_t step = factor;
    int taken = 1;
    for (; taken < times && step * factor < kBase; ++taken) step *= factor;
    times -= taken;
    std::uint64_t carry = 0;
    for (std::uint32_t& limb : limbs_) {
      carry += limb * step;
      limb = static_cast<std::uint32_t>(carry % kBase);
      carry /= kBase;
    }
    if (carry != 0) limbs_.push_back(static_cast<std::uint32_t>(carry));
  }
}

void Decimal::add(std::uint32_t small) {
  for (std::size_t i = 0; small != 0; ++i) {
    if (i == limbs_.size()) limbs_.push_back(0);
    const std::uint32_t sum = limbs_[i] + small;
    limbs_[i] = sum % kBase;
    small = sum / kBase;
  }
}

Decimal Decimal::operator-() const {
  Decimal result = *this;
  result.negative_ = !negative_ && !is_zero();
  return result;
}

Decimal operator+(const Decimal& a, const Decimal& b) {
  if (a.is_zero()) return b;
  if (b.is_zero()) return a;
  Decimal large = a, small = b;  // aligned; then the larger first
  Decimal& higher = large.power_ > small.power_ ? large : small;
  const int common = std::min(large.power_, small.power_);
  higher.multiply(10, higher.power_ - common);
  large.power_ = small.power_ = common;
  const auto above = [](const Decimal& x, const Decimal& y) {
    if (x.limbs_.size() != y.limbs_.size()) return x.limbs_.size() > y.limbs_.size();
    return std::lexicographical_compare(y.limbs_.rbegin(), y.limbs_.rend(), x.limbs_.rbegin(),
                                        x.limbs_.rend());
  };
  if (above(small, large)) std::swap(large, small);
  const bool subtract = large.negative_ != small.negative_;
  std::int64_t carry = 0;
  for (std::size_t i = 0; i < large.limbs_.size(); ++i) {
    const std::int64_t other = i < small.limbs_.size() ? small.limbs_[i] : 0;
    std::int64_t sum = large.limbs_[i] + carry + (subtract ? -other : other);
    carry = sum < 0 ? -1 : sum >= kBase ? 1 : 0;
    sum -= carry * kBase;
    large.limbs_[i] = static_cast<std::uint32_t>(sum);
  }
  if (carry > 0) large.limbs_.push_back(1);
  while (!large.limbs_.empty() && large.limbs_.back() == 0) large.limbs_.pop_back();
  if (large.limbs_.empty()) large.negative_ = false;
  return large;
}

Decimal Decimal::half() const {
  Decimal result = *this;
  result.multiply(5);
  --result.power_;
  return result;
}

Decimal::Scientific Decimal::scientific() const {
  std::string digits;
  for (auto limb = limbs_.rbegin(); limb != limbs_.rend(); ++limb)
    digits += fmt::format("{:0{}}", *limb, limb == limbs_.rbegin() ? 1 : kBaseDigits);
  const int exponent = power_ + static_cast<int>(digits.size()) - 1;
  digits.erase(digits.find_last_not_of('0') + 1);
  return {digits, exponent};
}

std::string Decimal::text(std::size_t most_digits) const {
  if (is_zero()) return "0";
  auto [digits, exponent] = scientific();
  const bool plain = exponent >= -5 && exponent < 21;
  const std::string sign = negative_ ? "-" : "";
  if (most_digits == 0 || digits.size() <= most_digits) return sign + place_point(digits, exponent, plain);
  const std::string shown = place_point(digits.substr(0, most_digits), exponent, plain);
  const std::size_t e = plain ? shown.size() : shown.find('e');
  return sign + shown.substr(0, e) + "…" + shown.substr(e);
}

std::string Decimal::rounded(int digits) const {
  if (is_zero()) return "0";
  const auto [all, exponent] = scientific();
  const std::string lead = all.substr(0, 1) + "." + all.substr(1, 30), sign = negative_ ? "-" : "";
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
