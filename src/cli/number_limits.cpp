// SPDX-License-Identifier: Apache-2.0
#include "cli/number_limits.h"

#include <fmt/format.h>

#include "cli/number_code.h"
#include "cli/number_digits.h"

namespace halftone::cli {
namespace {

constexpr std::string_view kSpecials[] = {"ieee", "nan_only", "nan_zero", "extended", "none", "integer"};
constexpr int kPlainIntegerBits = 34;  // 17179869183: longer ones are told as a power of two

Exact product(const Exact& a, const Exact& b) {
  return {Exact::Kind::finite, false, a.n * b.n, a.exponent + b.exponent};
}

}  // namespace

std::string specials_text(const Format& format) {
  std::string text;
  const auto add = [&](bool there, std::string_view what) {
    if (there) text += fmt::format("{}{}", text.empty() ? "" : ", ", what);
  };
  add(has_infinity(format), "inf");
  add(has_nan(format), "NaN");
  const bool number_line = format.specials == Specials::nan_zero || format.specials == Specials::extended;
  add(number_line && format.is_signed, "one zero");
  add(!format.has_zero, "no zero");
  return text.empty() ? "none" : text;
}

std::string_view specials_name(Specials specials) { return kSpecials[static_cast<std::size_t>(specials)]; }

std::string kind_text(const Format& format) {
  if (!format.is_floating()) return format.is_signed ? "signed integer" : "unsigned integer";
  return detail::is_integer(format) ? "fixed point" : "float";
}

std::string overflow_result(const Format& format) {
  const Exact beyond{Exact::Kind::finite, false, 1, top_exponent(largest(format)) + 2};
  const Number became{DType(&format), encode(format, beyond, default_conversion(format))};
  switch (became.value().kind) {
    case Exact::Kind::nan:
      return "NaN";
    case Exact::Kind::infinity:
      return "inf";
    default:
      return "largest";
  }
}

std::string limit_text(const Exact& x, int digits) { return Decimal(x).rounded(digits); }

std::string largest_text(const Format& format) {
  if (format.is_floating()) return limit_text(largest(format), 7);
  if (format.mantissa_bits <= kPlainIntegerBits) return digits_of(largest(format));
  return fmt::format("2^{}-1", format.mantissa_bits);
}

Exact largest(const BlockFormat& format) {
  return product(largest(format.element.format()), largest(format.scale.format()));
}

Exact smallest(const BlockFormat& format) {
  return product(smallest(format.element.format()), smallest(format.scale.format()));
}

}  // namespace halftone::cli
