// SPDX-License-Identifier: Apache-2.0
#include "halftone/conversion.h"

#include <fmt/format.h>

#include "halftone/error.h"

namespace halftone {
namespace {

template <class Enum>
struct Name {
  Enum value;
  std::string_view name;
};

constexpr Name<Rounding> kRoundings[] = {{Rounding::nearest_even, "nearest_even"},
                                         {Rounding::nearest_away, "nearest_away"},
                                         {Rounding::toward_zero, "toward_zero"},
                                         {Rounding::toward_positive, "toward_positive"},
                                         {Rounding::toward_negative, "toward_negative"},
                                         {Rounding::to_odd, "to_odd"},
                                         {Rounding::stochastic, "stochastic"}};
constexpr Name<Overflow> kOverflows[] = {{Overflow::to_special, "to_special"},
                                         {Overflow::saturate, "saturate"},
                                         {Overflow::keep_infinity, "keep_infinity"}};

template <class Enum, std::size_t n>
std::string_view name_in(const Name<Enum> (&names)[n], Enum value) {
  return names[static_cast<std::size_t>(value)].name;
}

template <class Enum, std::size_t n>
Enum find_in(const Name<Enum> (&names)[n], std::string_view text, std::string_view what) {
  std::string all;
  for (const Name<Enum>& row : names) {
    if (row.name == text) return row.value;
    all += fmt::format("{}{}", all.empty() ? "one of " : ", ", row.name);
  }
  throw ValueError(what, fmt::format("\"{}\"", text), all);
}

}  // namespace

std::string_view name(Rounding rounding) { return name_in(kRoundings, rounding); }
std::string_view name(Overflow overflow) { return name_in(kOverflows, overflow); }
Rounding parse_rounding(std::string_view text) { return find_in(kRoundings, text, "rounding"); }
Overflow parse_overflow(std::string_view text) { return find_in(kOverflows, text, "overflow"); }

std::string describe(const Conversion& c) {
  std::string text = fmt::format("{}", name(c.rounding));
  if (c.rounding == Rounding::stochastic) text += fmt::format(" with {} bits", c.random_bits);
  text += fmt::format(", overflow {}, subnormals {}", name(c.overflow),
                      c.subnormals == Subnormals::keep ? "kept" : "flushed");
  if (c.negative_zero == NegativeZero::drop) text += ", -0 becomes 0";
  if (c.missing_nan == MissingNan::largest) text += ", NaN becomes the largest where there is none";
  return text;
}

}  // namespace halftone
