// SPDX-License-Identifier: Apache-2.0
//
// `halftone inspect`: one number, bit by bit, exactly: its neighbours, its roundings, and what it becomes in
// every other format.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cli/command.h"
#include "cli/inspect_fields.h"
#include "cli/inspect_others.h"
#include "cli/inspect_rounding.h"
#include "cli/number_digits.h"
#include "cli/number_options.h"
#include "halftone/error.h"

namespace halftone::cli {
namespace {

constexpr std::size_t kMostDigits = 120;  // of the number itself: float32 in full; a small float64 has 767
constexpr std::size_t kFewerDigits = 40;  // of what surrounds it

[[noreturn]] void refuse(const std::string& text, const std::string& why) {
  throw CLI::ValidationError("VALUE", fmt::format("\"{}\" {}", text, why));
}

// 16 for 0x3c00, 2 for 0b0011; 0 for what is a number, as 0x1.8p-3 is.
int base_of_code(const std::string& text) {
  if (text.size() < 2 || text[0] != '0') return 0;
  if (text[1] == 'b' || text[1] == 'B') return 2;
  const bool hexadecimal = text[1] == 'x' || text[1] == 'X';
  return hexadecimal && text.find_first_of("pP.") == std::string::npos ? 16 : 0;
}

std::uint64_t parse_code(const std::string& text, int base, const Format& format) {
  std::string digits = text.substr(2);
  digits.erase(std::remove(digits.begin(), digits.end(), '_'), digits.end());  // 0b0_01111_0000000000
  std::uint64_t code = 0;
  const char* end = digits.data() + digits.size();
  const auto [stop, error] = std::from_chars(digits.data(), end, code, base);
  if (error == std::errc::invalid_argument || stop != end)
    refuse(text, base == 2
                     ? "is not a code: expected binary digits after 0b"
                     : "is not a code: expected hexadecimal digits after 0x, or an exponent as in 0x1.8p-3");
  if (error == std::errc::result_out_of_range || code > detail::low_bits(format.bits()))
    refuse(text, fmt::format("does not fit {}, whose codes end at 0x{:x}; try another --format", format.name,
                             detail::low_bits(format.bits())));
  return code;
}

Exact parse_value(const std::string& text) {
  try {
    return parse_exact(text);
  } catch (const ValueError&) {
    refuse(
        text,
        "is not a number: expected a decimal (0.1, 1e-8), a hexadecimal float (0x1.8p-3), inf, nan or a code "
        "(0x3c00, 0b0011)");
  }
}

// The number to show, and what was given if that was not the code itself.
struct Given {
  Number number;
  Exact value;
  std::optional<Decimal> digits;  // of the value, where there are any
  bool is_code;
};

Given read(const std::string& text, DType dtype, const Conversion& conversion) {
  if (const int base = base_of_code(text); base != 0) {
    const Number x{dtype, parse_code(text, base, dtype.format())};
    const Exact value = x.value();
    return {x, value, value.kind == Exact::Kind::finite ? std::optional(Decimal(value)) : std::nullopt, true};
  }
  const Exact value = parse_value(text);
  return {{dtype, encode(dtype.format(), value, conversion)},
          value,
          value.kind == Exact::Kind::finite ? Decimal::parse(text) : std::nullopt,
          false};
}

void print_facts(const Given& given, std::size_t most_digits) {
  const Number& x = given.number;
  const auto put = [](std::string_view label, const std::string& text) {
    fmt::print("  {:<9} {}\n", label, text);
  };
  put("code", x.hex());
  const Exact value = x.value();
  put("value", digits_of(value, most_digits));
  if (x.format().is_floating() && value.kind == Exact::Kind::finite && value.n != 0) put("", as_powers(x));
  put("class", std::string(name(class_of(x))));
  if (given.is_code || given.value.kind == Exact::Kind::nan || same_value(given.value, value)) return;
  const Error error = error_of(given.digits, value);
  const std::string size =
      error.absolute == "-" ? "" : fmt::format("{}, relative {}", error.absolute, error.relative);
  const std::string why = note(given.value, x);
  if (!(size + why).empty()) put("error", size + (size.empty() || why.empty() ? "" : ", ") + why);
}

struct Options {
  std::string value, format = "float32";
  ConversionOptions conversion;
  bool all_digits = false;
};

void inspect(const Options& options, const std::string& text) {
  const DType dtype = parse_dtype("--format", options.format);
  const Conversion conversion = options.conversion.conversion(dtype.format());
  const std::size_t most_digits = options.all_digits ? 0 : kMostDigits;
  const std::size_t fewer_digits = options.all_digits ? 0 : kFewerDigits;
  const Given given = read(text, dtype, conversion);
  fmt::print("{} in {}\n\n", text, dtype.name());
  print_fields(given.number);
  fmt::print("\n");
  print_facts(given, most_digits);
  print_neighbours(given.number, conversion, fewer_digits);
  if (!given.is_code) print_roundings(given.value, dtype, conversion, fewer_digits);
  print_others(given.value, given.digits, dtype);
}

// A negative number looks like an option; CLI11 leaves it among the extras.
std::string value_among(CLI::App& command, const std::string& positional) {
  std::vector<std::string> extras = command.remaining();
  std::string value = positional;
  if (value.empty() && !extras.empty() && extras[0].rfind("--", 0) != 0) {
    value = extras[0];
    extras.erase(extras.begin());
  }
  if (!extras.empty()) throw CLI::ExtrasError("inspect", extras);
  if (value.empty()) throw CLI::RequiredError("VALUE");
  return value;
}

const RegisterCommand registered(41, [](CLI::App& app) {
  const auto options = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand("inspect", "Show one number bit by bit and in every format");
  command->add_option("VALUE", options->value,
                      "A number (0.1, 1e-8, 0x1.8p-3, inf, nan) or a code (0x3c00, 0b0_01111_0000000000)");
  command
      ->add_option(
          "--format,-f", options->format,
          "The format to show it in: a name of `halftone formats`, or one that says what it is (e5m7, "
          "binary8p4se, ue5m3, fixed16m8)")
      ->capture_default_str();
  options->conversion.add_to(*command, false);
  command->add_flag(
      "--all-digits", options->all_digits,
      fmt::format("Show numbers of more than {} digits in full ({} around it)", kMostDigits, kFewerDigits));
  command->allow_extras();  // a negative number looks like an option
  command->footer(
      "A number is read digit by digit and rounded once to each format, to nearest even. 0x without a point "
      "or\n"
      "'p', and 0b, is a code of --format. Errors are relative to the number given. The table of the other\n"
      "formats shows what each does by default; --overflow and --subnormals are for --format.\n\n"
      "Examples:\n"
      "  halftone inspect 0.1\n"
      "  halftone inspect 1e-8 --format float16        # flushed to zero: the epsilon of Adam\n"
      "  halftone inspect -1e9 --format bfloat16       # an attention mask\n"
      "  halftone inspect 0x7e --format float8_e4m3fn  # its largest number, 448\n"
      "  halftone inspect 500 -f float8_e4m3fn --overflow saturate\n"
      "  halftone inspect 0b01000001 -f binary8p4se    # a format of IEEE P3109, by its name");
  command->callback([command, options] { inspect(*options, value_among(*command, options->value)); });
});

}  // namespace
}  // namespace halftone::cli
