// SPDX-License-Identifier: Apache-2.0
#include "cli/inspect_rounding.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "cli/command.h"
#include "cli/number_digits.h"
#include "cli/number_text.h"

namespace halftone::cli {
namespace {

constexpr int kCertain = 6;  // of the seven roundings do not draw lots

void put(std::string_view label, std::string_view text) { fmt::print("  {:<9} {}\n", label, text); }

bool is_finite(const std::optional<Number>& x) { return x && x->value().kind == Exact::Kind::finite; }

std::string spacing(const Number& x, const std::optional<Number>& other) {
  const auto k = other ? spacing_exponent(x, *other) : std::nullopt;
  if (!k) return "";
  if (!x.format().is_floating()) return "1";
  return std::abs(*k) < 1000 ? fmt::format("2^{} = {:.7g}", *k, std::exp2(*k)) : fmt::format("2^{}", *k);
}

// The border of overflow: half a spacing beyond the largest number, or the lowest.
void print_overflow(const Number& x, const Conversion& conversion, std::size_t most_digits) {
  Exact edge = x.value();
  edge.n = 2 * edge.n + 1;
  --edge.exponent;
  Exact further = edge;
  further.more = true;
  if (encode(x.format(), edge, conversion) != x.code)
    put("overflow", "from " + digits_of(edge, most_digits));
  else if (encode(x.format(), further, conversion) != x.code)
    put("overflow", "beyond " + digits_of(edge, most_digits));
  else
    put("overflow", "saturates");
}

void print_neighbour(const Number& x, int step, const Conversion& conversion, std::size_t most_digits) {
  const std::optional<Number> next = neighbour(x, step);
  put(step < 0 ? "below" : "above",
      next ? fmt::format("{}  {}", next->hex(), digits_of(next->value(), most_digits)) : "none");
  if (is_finite(next) && class_of(x) != NumberClass::infinity) {
    // The sum of two neighbours has a bit more than they, which 64-bit integers have not to spare.
    const Decimal middle = (Decimal(x.value()) + Decimal(next->value())).half();
    const Number to{x.dtype, encode(x.format(), parse_exact(middle.text()), conversion)};
    put("midpoint", fmt::format("{:{}}  {}  {}", "", x.hex().size(), middle.text(most_digits),
                                pale("a tie: to " + to.hex())));
  } else if (x.code == detail::max_code(x.format()) ||
             (x.format().is_signed && x.code == detail::lowest_code(x.format()))) {
    if (!detail::is_integer(x.format())) print_overflow(x, conversion, most_digits);
  }
}

// Stochastic rounding goes away from zero from one of the random words on. Says how many of the 2^random_bits
// words those are, as the codec has it.
std::uint64_t words_away(const Exact& given, const Format& format, const Conversion& conversion) {
  const int unused = 32 - conversion.random_bits;
  const std::uint64_t all = detail::kOne << conversion.random_bits;
  const std::uint64_t inner = encode(format, given, conversion, 0);
  std::uint64_t low = 0, high = all;
  while (low < high) {
    const std::uint64_t middle = (low + high) / 2;
    if (encode(format, given, conversion, static_cast<std::uint32_t>(middle << unused)) != inner)
      high = middle;
    else
      low = middle + 1;
  }
  return all - low;
}

struct Outcome {
  std::string rounding, note;
  std::uint64_t code;
};

std::vector<Outcome> outcomes(const Exact& given, const Format& format, Conversion conversion) {
  std::vector<Outcome> all;
  for (int i = 0; i < kCertain; ++i) {
    conversion.rounding = static_cast<Rounding>(i);
    all.push_back({std::string(name(conversion.rounding)), "", encode(format, given, conversion)});
  }
  conversion.rounding = Rounding::stochastic;
  const std::uint64_t words = words_away(given, format, conversion),
                      every = detail::kOne << conversion.random_bits;
  const auto chance = [&](std::uint64_t count) {
    return fmt::format("{}{}", count == every ? "always" : "with probability ",
                       count == every ? ""
                                      : fmt::format("{:.6g}", std::ldexp(static_cast<double>(count),
                                                                         -conversion.random_bits)));
  };
  if (words != every)
    all.push_back({"stochastic", chance(every - words), encode(format, given, conversion, 0)});
  if (words != 0)
    all.push_back({words == every ? "stochastic" : "", chance(words),
                   encode(format, given, conversion, ~std::uint32_t{0})});
  return all;
}

}  // namespace

void print_neighbours(const Number& x, const Conversion& conversion, std::size_t most_digits) {
  if (class_of(x) == NumberClass::nan) return;
  print_neighbour(x, -1, conversion, most_digits);
  print_neighbour(x, +1, conversion, most_digits);
  const std::string down = spacing(x, neighbour(x, -1)), up = spacing(x, neighbour(x, +1));
  if (down.empty() && up.empty()) return;
  if (down == up || down.empty() || up.empty())
    put("spacing", down.empty() ? up : down);
  else
    put("spacing", fmt::format("{} below, {} above", down, up));
}

void print_roundings(const Exact& given, DType dtype, const Conversion& conversion, std::size_t most_digits) {
  const std::vector<Outcome> all = outcomes(given, dtype.format(), conversion);
  const auto shown = [&](std::uint64_t code) {
    const Number x{dtype, code};
    return fmt::format("{}  {}", x.hex(), digits_of(x.value(), most_digits));
  };
  if (std::all_of(all.begin(), all.end(), [&](const Outcome& o) { return o.code == all[0].code; })) {
    fmt::print("\n  every rounding   {}\n", shown(all[0].code));
    return;
  }
  std::size_t width = 0;
  for (const Outcome& outcome : all) width = std::max(width, columns(shown(outcome.code)));
  fmt::print("\n  rounding\n");
  for (const Outcome& outcome : all) {
    const std::string line =
        fmt::format("  {:<15}  {}  {}", outcome.rounding, padded(shown(outcome.code), width), outcome.note);
    fmt::print("{}\n", line.substr(0, line.find_last_not_of(' ') + 1));
  }
}

}  // namespace halftone::cli
