// SPDX-License-Identifier: Apache-2.0
#include "cli/inspect_fields.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <vector>

#include "cli/command.h"
#include "cli/number_digits.h"

namespace halftone::cli {
namespace {

constexpr int kSpacedBits = 32;  // more would not fit a line with spaces between them

struct Field {
  std::string bits, name, meaning, colour;
};

std::string bits_of(const Number& x, int from, int count) {
  std::string text;
  for (int i = from + count - 1; i >= from; --i) {
    text += (x.code >> i & 1) != 0 ? '1' : '0';
    if (x.format().bits() <= kSpacedBits && i > from) text += ' ';
  }
  return text;
}

std::uint64_t field(const Number& x, int from, int count) { return x.code >> from & detail::low_bits(count); }

std::string over_power(std::uint64_t n, int power) {
  return power < 64 ? fmt::format("{}/{}", n, detail::kOne << power) : fmt::format("{}/2^{}", n, power);
}

// Two's complement reads as a whole number below the value and a fraction above that.
std::vector<Field> integer_fields(const Number& x) {
  const Format& format = x.format();
  const int fraction = format.bias, whole = format.bits() - fraction;
  const char* name = format.is_signed ? "two's complement" : "unsigned";
  if (fraction <= 0 || whole <= 0) {
    const std::string units = fraction > 0 ? fmt::format(", in units of 2^-{}", fraction) : "";
    return {{bits_of(x, 0, format.bits()), name + units, digits_of(x.value()), "36"}};
  }
  const std::uint64_t high = field(x, fraction, whole);
  const auto floor = static_cast<std::int64_t>(high << (64 - whole)) >> (64 - whole);
  return {{bits_of(x, fraction, whole), fmt::format("integer, {}", name),
           format.is_signed ? fmt::format("{}", floor) : fmt::format("{}", high), "32"},
          {bits_of(x, 0, fraction), "fraction", "+ " + over_power(field(x, 0, fraction), fraction), "36"}};
}

// Why a code that is not finite is not.
std::string special_exponent(const Number& x) {
  const Format& format = x.format();
  if (format.specials == Specials::ieee) return "all ones";
  const std::uint64_t last = detail::magnitude_end(format) - 1, magnitude = x.code & last;
  if (magnitude == 0) return "the code of -0";
  return magnitude == last ? "the largest code" : "the largest but one";
}

std::string exponent_meaning(const Number& x, int exponent) {
  const Format& format = x.format();
  const NumberClass of = class_of(x);
  if (of == NumberClass::nan || of == NumberClass::infinity) return special_exponent(x);
  if (exponent == 0 && format.has_zero)
    return format.mantissa_bits == 0 ? "zero" : fmt::format("zero means {}", 1 - format.bias);
  return fmt::format("{} - {} = {}", exponent, format.bias, exponent - format.bias);
}

std::vector<Field> floating_fields(const Number& x) {
  const Format& format = x.format();
  const int mantissa = format.mantissa_bits;
  const auto exponent = static_cast<int>(field(x, mantissa, format.exponent_bits));
  const NumberClass of = class_of(x);
  const bool special = of == NumberClass::nan || of == NumberClass::infinity;
  std::vector<Field> fields;
  if (format.is_signed)
    fields.push_back(
        {bits_of(x, format.bits() - 1, 1), "sign", field(x, format.bits() - 1, 1) != 0 ? "-" : "+", "31"});
  fields.push_back(
      {bits_of(x, mantissa, format.exponent_bits), "exponent", exponent_meaning(x, exponent), "32"});
  if (mantissa > 0) {
    const int hidden = exponent == 0 && format.has_zero ? 0 : 1;
    fields.push_back({bits_of(x, 0, mantissa), "significand",
                      special ? std::string(name(of))
                              : fmt::format("{} + {}", hidden, over_power(field(x, 0, mantissa), mantissa)),
                      "36"});
  }
  return fields;
}

}  // namespace

void print_fields(const Number& x) {
  const bool colours = output_is_terminal();
  std::string top, middle, bottom, names, meanings;
  for (const Field& field : detail::is_integer(x.format()) ? integer_fields(x) : floating_fields(x)) {
    const std::size_t width = std::max({field.bits.size(), field.name.size(), field.meaning.size()}) + 2;
    std::string line;
    for (std::size_t i = 0; i < width; ++i) line += "─";
    const auto painted = [&](const std::string& text) {
      return colours ? fmt::format("\x1b[{}m{}\x1b[0m", field.colour, text) : text;
    };
    top += (top.empty() ? "┌" : "┬") + line;
    bottom += (bottom.empty() ? "└" : "┴") + line;
    middle += "│" + painted(fmt::format("{:^{}}", field.bits, width));
    names += " " + painted(fmt::format("{:^{}}", field.name, width));
    meanings += fmt::format(" {:^{}}", field.meaning, width);
  }
  const auto put = [](std::string text) {
    text.erase(text.find_last_not_of(' ') + 1);
    fmt::print("  {}\n", text);
  };
  put(top + "┐"), put(middle + "│"), put(bottom + "┘"), put(names), put(meanings);
}

std::string as_powers(const Number& x) {
  const Exact value = x.value();
  const std::string sign = value.negative ? "-" : "";
  const std::string whole = fmt::format("{}{} × 2^{}", sign, value.n, value.exponent);
  if (detail::is_integer(x.format())) return whole;
  // The significand in front of the fraction: 1.1 binary, or 0.1 in a subnormal.
  const int power = value.exponent + x.format().mantissa_bits;
  const Exact significand{Exact::Kind::finite, value.negative, value.n, -x.format().mantissa_bits};
  const std::string binade = fmt::format("{} × 2^{}", digits_of(significand), power);
  return x.format().mantissa_bits == 0 ? whole : binade + " = " + whole;
}

}  // namespace halftone::cli
