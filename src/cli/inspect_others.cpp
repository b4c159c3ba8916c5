// SPDX-License-Identifier: Apache-2.0
#include "cli/inspect_others.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace halftone::cli {
namespace {

// Short: as many digits as tell a double from its neighbours.
std::string short_value(const Number& y) {
  const Exact value = y.value();
  if (!y.format().is_floating() || value.kind == Exact::Kind::nan) return digits_of(value);
  return fmt::format("{}", detail::nearest_double(value));
}

std::string note_of_integer(const Exact& given, const Number& y) {
  if (given.negative && !y.format().is_signed) return "negative becomes zero";
  const bool at_end = y.code == detail::max_code(y.format()) ||
                      (y.format().is_signed && y.code == detail::lowest_code(y.format()));
  if (at_end && compare_magnitudes(given, y.value()) > 0) return "saturated";
  return y.format().is_floating() ? "rounded" : "rounded to an integer";
}

}  // namespace

std::string note(const Exact& given, const Number& y) {
  const Format& format = y.format();
  const Exact became = y.value();
  const NumberClass of = class_of(y);
  const bool zero_given = given.kind == Exact::Kind::finite && given.n == 0 && !given.more;
  if (given.kind == Exact::Kind::nan)
    return of == NumberClass::nan    ? ""
           : of == NumberClass::zero ? "NaN becomes zero"
                                     : "NaN becomes the largest";
  if (of == NumberClass::nan) {
    if (given.negative && !format.is_signed) return "no negative numbers: NaN";
    return zero_given                            ? "no zero: NaN"
           : given.kind == Exact::Kind::infinity ? "no infinity: NaN"
                                                 : "overflow to NaN";
  }
  if (same_value(given, became)) return of == NumberClass::subnormal ? "exact, subnormal" : "exact";
  if (of == NumberClass::infinity) return "overflow to inf";
  if (detail::is_integer(format)) return note_of_integer(given, y);
  if (given.negative && !format.is_signed)
    return format.has_zero ? "negative becomes zero" : "negative: the smallest";
  if (compare_magnitudes(given, largest(format)) > 0) {
    // Rounding alone takes what lies within half a spacing of the largest there.
    Exact edge = largest(format);
    edge.n = 2 * edge.n + 1;
    --edge.exponent;
    return compare_magnitudes(given, edge) > 0 || format.specials == Specials::none
               ? "saturated"
               : "rounded to the largest";
  }
  if (became.n == 0) return "flushed to zero";
  if (!format.has_zero && compare_magnitudes(given, smallest(format)) < 0) return "no smaller number";
  return of == NumberClass::subnormal ? "subnormal" : "";
}

Error error_of(const std::optional<Decimal>& digits, const Exact& became) {
  if (!digits || became.kind != Exact::Kind::finite) return {"-", "-"};
  const Decimal difference = Decimal(became) - *digits;
  return {difference.rounded(3), digits->is_zero() ? "-" : fmt::format("{:.2g}", difference.ratio(*digits))};
}

void print_others(const Exact& given, const std::optional<Decimal>& digits, DType shown) {
  fmt::print("\n  {:<18} {:>18}  {:<24} {:>10}  {:>9}  {}\n", "other formats", "code", "value", "error",
             "relative", "note");
  for (const Format& format : kFormats) {
    if (&format == &shown.format()) continue;
    const Number y{DType(&format), encode(format, given, default_conversion(format))};
    const Error error = error_of(digits, y.value());
    const std::string line = fmt::format("  {:<18} {:>18}  {:<24} {:>10}  {:>9}  {}", format.name, y.hex(),
                                         short_value(y), error.absolute, error.relative, note(given, y));
    fmt::print("{}\n", line.substr(0, line.find_last_not_of(' ') + 1));
  }
}

}  // namespace halftone::cli
