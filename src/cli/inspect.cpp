// SPDX-License-Identifier: Apache-2.0
//
// `halftone inspect`: one number, bit by bit, exactly, and what it becomes in every other format.
#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cli/command.h"
#include "halftone/conversion.h"

namespace halftone::cli {
namespace {

struct Number {
  const Format& format;
  std::uint64_t code;

  double value() const { return decode(format, code); }
  std::string hex() const { return fmt::format("0x{:0{}x}", code, (format.bits() + 3) / 4); }
};

[[noreturn]] void refuse(const std::string& text, const std::string& why) {
  throw CLI::ValidationError("VALUE", fmt::format("\"{}\" {}", text, why));
}

bool is_code(const std::string& text) {
  const bool hexadecimal = text.size() >= 2 && text[0] == '0' && (text[1] == 'x' || text[1] == 'X');
  return hexadecimal && text.find_first_of("pP.") == std::string::npos;
}

std::uint64_t parse_code(const std::string& text, const Format& format) {
  std::uint64_t code = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data() + 2, end, code, 16);
  if (error == std::errc::invalid_argument || stop != end)
    refuse(text, "is not a code: expected hexadecimal digits after 0x, or an exponent as in 0x1.8p-3");
  if (error == std::errc::result_out_of_range || code > detail::low_bits(format.bits()))
    refuse(text, fmt::format("does not fit {}, whose codes end at 0x{:x}; try another --format", format.name,
                             detail::low_bits(format.bits())));
  return code;
}

double parse_value(const std::string& text) {
  const bool spaced = text.empty() || std::isspace(static_cast<unsigned char>(text[0])) != 0;
  char* stop = nullptr;
  const double value = spaced ? 0 : std::strtod(text.c_str(), &stop);
  if (spaced || *stop != '\0')
    refuse(
        text,
        "is not a number: expected a decimal (0.1, 1e-8), a hexadecimal float (0x1.8p-3), inf, nan or a code "
        "(0x3c00)");
  const bool names_infinity = text.find_first_of("iI") != std::string::npos;
  if (std::isinf(value) && !names_infinity)
    refuse(text, "is beyond float64, the widest format; inf is written inf");
  if (value == 0 &&
      text.substr(0, text.find_first_of("eEpP")).find_first_of("123456789abcdfABCDF") != text.npos)
    refuse(text, "is closer to zero than any float64, the widest format");
  return value;
}

std::string trimmed(std::string text) {
  const auto point = text.find('.');
  if (point == std::string::npos) return text;
  text.erase(text.find_last_not_of('0') + 1);
  if (text.back() == '.') text.pop_back();
  return text;
}

// Every digit of the decimal expansion, which is finite for every binary number.
std::string exact(double value) {
  if (!std::isfinite(value)) return std::isnan(value) ? "NaN" : value < 0 ? "-infinity" : "infinity";
  const double size = std::fabs(value);
  if (value == 0 || (size >= 1e-5 && size < 1e21)) return trimmed(fmt::format("{:.1074f}", value));
  const std::string digits = fmt::format("{:.770e}", value);
  const auto e = digits.find('e');
  return trimmed(digits.substr(0, e)) + digits.substr(e);
}

std::string exact(const Number& x) {
  if (x.format.is_floating()) return exact(x.value());
  const bool negative = x.format.is_signed && x.value() < 0;
  const std::uint64_t magnitude = (negative ? ~x.code + 1 : x.code) & detail::low_bits(x.format.bits());
  return fmt::format("{}{}", negative ? "-" : "", magnitude);  // a double would round 64 bits
}

// The fields of a floating code.
struct Fields {
  explicit Fields(const Number& x)
      : negative((x.code & detail::sign_bit(x.format)) != 0),
        exponent(
            static_cast<int>(x.code >> x.format.mantissa_bits & detail::low_bits(x.format.exponent_bits))),
        fraction(x.code & detail::low_bits(x.format.mantissa_bits)),
        power(std::max(exponent, 1) - x.format.bias),
        hidden(exponent == 0 ? 0 : 1) {}

  bool negative;
  int exponent;
  std::uint64_t fraction;
  int power;  // of two, that the significand is multiplied by
  int hidden;
};

std::string class_of(const Number& x) {
  const double value = x.value();
  if (!x.format.is_floating()) return value == 0 ? "zero" : "integer";
  if (std::isnan(value)) return "NaN";
  if (std::isinf(value)) return "infinity";
  if (value == 0) return std::signbit(value) ? "negative zero" : "zero";
  return Fields(x).exponent == 0 ? "subnormal" : "normal";
}

std::string significand(const Number& x) {
  const Fields f(x);
  const double fraction = std::ldexp(static_cast<double>(f.fraction), -x.format.mantissa_bits);
  return trimmed(fmt::format("{:.60f}", f.hidden + fraction));
}

struct Field {
  std::string bits, name, meaning, colour;
};

std::string binary(std::uint64_t code, int from, int count, bool spaced) {
  std::string text;
  for (int i = from + count - 1; i >= from; --i) {
    text += (code >> i & 1) != 0 ? '1' : '0';
    if (spaced && i > from) text += ' ';
  }
  return text;
}

std::vector<Field> fields_of(const Number& x) {
  const Format& format = x.format;
  const bool spaced = format.bits() <= 32;
  if (!format.is_floating()) {
    const char* name = format.is_signed ? "two's complement" : "unsigned";
    return {{binary(x.code, 0, format.bits(), spaced), name, exact(x), "36"}};
  }
  const Fields f(x);
  const double value = x.value();
  std::string exponent = fmt::format("{} - {} = {}", std::max(f.exponent, 1), format.bias, f.power), meaning;
  if (!std::isfinite(value)) {
    meaning = class_of(x);
    exponent = format.specials == Specials::nan_zero ? "the code of -0" : "all ones";
  } else {
    if (f.exponent == 0) exponent = fmt::format("zero means {}", f.power);
    meaning = fmt::format("{} + {}/{}", f.hidden, f.fraction, std::uint64_t{1} << format.mantissa_bits);
  }
  const int mantissa = format.mantissa_bits;
  return {{binary(x.code, mantissa + format.exponent_bits, 1, spaced), "sign", f.negative ? "-" : "+", "31"},
          {binary(x.code, mantissa, format.exponent_bits, spaced), "exponent", exponent, "32"},
          {binary(x.code, 0, mantissa, spaced), "significand", meaning, "36"}};
}

void print_boxes(const Number& x) {
  const bool colours = output_is_terminal();
  std::string top, middle, bottom, names, meanings;
  for (const Field& field : fields_of(x)) {
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

// The next number up (+1) or down (-1) in the order of the values; none past the ends or around NaN.
std::optional<Number> neighbour(const Number& x, int step) {
  const Format& format = x.format;
  const double value = x.value();
  if (std::isnan(value)) return std::nullopt;
  const std::uint64_t mask = detail::low_bits(format.bits());
  if (!format.is_floating()) {
    const std::uint64_t highest = detail::max_code(format), lowest = format.is_signed ? highest + 1 : 0;
    if (x.code == (step > 0 ? highest : lowest)) return std::nullopt;
    return Number{format, (x.code + static_cast<std::uint64_t>(step)) & mask};
  }
  const std::uint64_t sign = detail::sign_bit(format), magnitude = x.code & (sign - 1);
  if (magnitude == 0) return Number{format, step > 0 ? 1 : sign | 1};
  const bool outward = (step > 0) == ((x.code & sign) == 0);
  const std::uint64_t last = detail::max_code(format) + has_infinity(format);
  if (outward && magnitude == last) return std::nullopt;
  const std::uint64_t next = outward ? magnitude + 1 : magnitude - 1;
  if (next == 0 && format.specials == Specials::nan_zero) return Number{format, 0};
  return Number{format, (x.code & sign) | next};
}

std::string spacing_to(const Number& x, const std::optional<Number>& other) {
  if (!x.format.is_floating()) return "1";
  const double distance = other ? std::fabs(other->value() - x.value()) : 0;
  if (distance == 0 || !std::isfinite(distance)) return "";
  return fmt::format("2^{} = {:.7g}", std::ilogb(distance), distance);
}

// What is worth saying about `value` having become `y`.
std::string note(double value, const Number& y) {
  const double became = y.value(), largest = max_finite(y.format);
  if (std::isnan(value)) return std::isnan(became) ? "" : "NaN becomes zero";
  if (std::isnan(became)) return "overflow to NaN";
  const bool subnormal = class_of(y) == "subnormal";
  if (became == value) return subnormal ? "exact, subnormal" : "exact";
  if (std::isinf(became)) return "overflow to inf";
  if (!y.format.is_floating()) {
    if (value < 0 && !y.format.is_signed) return "negative becomes zero";
    const std::uint64_t top = detail::max_code(y.format);
    const bool at_end = y.code == top || (y.format.is_signed && y.code == top + 1);
    return at_end && std::fabs(value) > largest ? "saturated" : "rounded to an integer";
  }
  if (std::fabs(value) > largest)
    return y.format.specials == Specials::none ? "saturated" : "rounded to the largest";
  if (became == 0) return "flushed to zero";
  return subnormal ? "subnormal" : "";
}

void print_facts(const Number& x, std::optional<double> given) {
  const double value = x.value();
  const auto put = [](const char* name, const std::string& text) { fmt::print("  {:<9} {}\n", name, text); };
  put("code", x.hex());
  put("value", exact(x));
  if (x.format.is_floating() && std::isfinite(value) && value != 0) {
    const Fields f(x);
    const std::uint64_t n = f.fraction + (f.hidden != 0 ? std::uint64_t{1} << x.format.mantissa_bits : 0);
    const char* sign = f.negative ? "-" : "";
    put("", fmt::format("{}{} × 2^{} = {}{} × 2^{}", sign, significand(x), f.power, sign, n,
                        f.power - x.format.mantissa_bits));
  }
  put("class", class_of(x));
  if (given && std::isfinite(*given) && *given != value) {
    const double error = value - *given;
    put("given", exact(*given));
    const std::string size =
        std::isfinite(error) ? fmt::format("{:.3g}, relative {:.2g}", error, std::fabs(error / *given)) : "";
    const std::string why = note(*given, x);
    put("error", size + (size.empty() || why.empty() ? "" : ", ") + why);
  }
  const auto below = neighbour(x, -1), above = neighbour(x, +1);
  if (std::isnan(value)) return;
  put("below", below ? fmt::format("{}  {}", below->hex(), exact(*below)) : "none");
  put("above", above ? fmt::format("{}  {}", above->hex(), exact(*above)) : "none");
  const std::string down = spacing_to(x, below), up = spacing_to(x, above);
  if (down == up || down.empty() || up.empty()) {
    if (!(down + up).empty()) put("spacing", down.empty() ? up : down);
  } else {
    put("spacing", fmt::format("{} below, {} above", down, up));
  }
}

void print_others(double value, const Format& shown) {
  fmt::print("\n  {:<14} {:>18}  {:<24} {:>10}  {:>9}  {}\n", "other formats", "code", "value", "error",
             "relative", "note");
  for (const Format& format : kFormats) {
    if (&format == &shown) continue;
    const Number y{format, encode(format, value)};
    const double error = y.value() - value;
    const bool finite = std::isfinite(error);
    const std::string text = !format.is_floating()   ? exact(y)
                             : std::isnan(y.value()) ? "NaN"
                                                     : fmt::format("{}", y.value());
    const std::string line = fmt::format(
        "  {:<14} {:>18}  {:<24} {:>10}  {:>9}  {}", format.name, y.hex(), text,
        finite ? fmt::format("{:.3g}", error) : "-",
        finite && value != 0 ? fmt::format("{:.2g}", std::fabs(error / value)) : "-", note(value, y));
    fmt::print("{}\n", line.substr(0, line.find_last_not_of(' ') + 1));
  }
}

void inspect(const std::string& text, const Format& format) {
  const bool code = is_code(text);
  const std::optional<double> given = code ? std::nullopt : std::optional(parse_value(text));
  const Number x{format, code ? parse_code(text, format) : encode(format, *given)};
  fmt::print("{} in {}\n\n", text, format.name);
  print_boxes(x);
  fmt::print("\n");
  print_facts(x, given);
  print_others(given ? *given : x.value(), format);
  if (!given && exact(x) != exact(x.value()))
    fmt::print("  (from float64, which has no {} and takes {} for it)\n", exact(x), exact(x.value()));
}

const RegisterCommand registered(41, [](CLI::App& app) {
  struct Options {
    std::string value, format = "float32";
  };
  const auto options = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand("inspect", "Show one number bit by bit and in every format");
  std::vector<std::string> names;
  for (const Format& row : kFormats) names.emplace_back(row.name);
  command->add_option("VALUE", options->value, "A number (0.1, 1e-8, 0x1.8p-3, inf, nan) or a code (0x3c00)");
  command->add_option("--format,-f", options->format, "The format to show it in")
      ->capture_default_str()
      ->check(CLI::IsMember(names));
  command->allow_extras();  // a negative number looks like an option
  command->footer(
      "A decimal or hexadecimal float is read as float64 and rounded once to each format. 0x without a 'p' "
      "is\n"
      "a code of --format. Errors are relative to the number given.\n\n"
      "Examples:\n"
      "  halftone inspect 0.1\n"
      "  halftone inspect 1e-8 --format float16        # flushed to zero: the epsilon of Adam\n"
      "  halftone inspect -1e9 --format bfloat16       # an attention mask\n"
      "  halftone inspect 0x7e --format float8_e4m3fn  # its largest number, 448");
  command->callback([command, options] {
    std::vector<std::string> extras = command->remaining();
    std::string value = options->value;
    if (value.empty() && !extras.empty() && extras[0].rfind("--", 0) != 0) {
      value = extras[0];
      extras.erase(extras.begin());
    }
    if (!extras.empty()) throw CLI::ExtrasError("inspect", extras);
    if (value.empty()) throw CLI::RequiredError("VALUE");
    inspect(value, find_dtype(options->format).format());
  });
});

}  // namespace
}  // namespace halftone::cli
