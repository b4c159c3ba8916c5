// SPDX-License-Identifier: Apache-2.0
//
// Formats by name: the rows of the table, and rows made up from a systematic name, which are kept for good so
// that a DType may point at them.
#include <fmt/format.h>

#include <charconv>
#include <deque>
#include <mutex>
#include <string>

#include "halftone/error.h"
#include "halftone/format.h"

namespace halftone {
namespace {

// Takes pieces off the front of a name.
class Reader {
 public:
  explicit Reader(std::string_view text) : text_(text) {}

  bool take(std::string_view word) {
    if (text_.substr(0, word.size()) != word) return false;
    text_.remove_prefix(word.size());
    return true;
  }

  // A decimal number without sign and leading zeros, at most `limit`.
  bool take(int& number, int limit) {
    const char* end = text_.data() + text_.size();
    if (text_.empty() || text_[0] < '0' || text_[0] > '9') return false;
    if (text_.size() > 1 && text_[0] == '0' && text_[1] >= '0' && text_[1] <= '9') return false;
    const auto [stop, error] = std::from_chars(text_.data(), end, number);
    if (error != std::errc() || number > limit) return false;
    text_ = std::string_view(stop, static_cast<std::size_t>(end - stop));
    return true;
  }

  bool done() const { return text_.empty(); }

 private:
  std::string_view text_;
};

std::optional<Format> parse_float(std::string_view name) {
  Reader reader(name);
  Format format{name, 0, 0, 0, Specials::ieee};
  format.is_signed = !reader.take("u");
  if (!reader.take("e") || !reader.take(format.exponent_bits, 11) || !reader.take("m") ||
      !reader.take(format.mantissa_bits, 52) || format.exponent_bits == 0)
    return std::nullopt;
  int bias = -1;
  if (reader.take("b") && !reader.take(bias, 2000)) return std::nullopt;
  if (reader.take("fnuz")) {
    format.specials = Specials::nan_zero;
  } else if (reader.take("finite")) {
    format.specials = Specials::none;
  } else if (reader.take("fn")) {
    format.specials = Specials::nan_only;
  }
  const int half = 1 << (format.exponent_bits - 1);
  format.bias = bias >= 0 ? bias : format.specials == Specials::nan_zero ? half : half - 1;
  // There must be a positive number besides the special ones, and a code of -0 where that is the NaN.
  if (!reader.done() || (format.specials == Specials::nan_zero && !format.is_signed) || format.bits() > 64 ||
      format.bits() < 2 || detail::max_code(format) == 0 ||
      detail::max_code(format) >= detail::magnitude_end(format))
    return std::nullopt;
  return format;
}

std::optional<Format> parse_p3109(std::string_view name) {
  Reader reader(name);
  int bits = 0, precision = 0;
  if (!reader.take("binary") || !reader.take(bits, 16) || !reader.take("p") || !reader.take(precision, 16))
    return std::nullopt;
  Format format{name, 0, precision - 1, 0, Specials::extended};
  if (reader.take("u")) {
    format.is_signed = false;
  } else if (!reader.take("s")) {
    return std::nullopt;
  }
  if (reader.take("f")) {
    format.specials = format.is_signed ? Specials::nan_zero : Specials::nan_only;
    format.overflow = Overflow::keep_infinity;  // SatNone: finite formats clamp
  } else if (!reader.take("e")) {
    return std::nullopt;
  }
  format.exponent_bits = bits - precision + (format.is_signed ? 0 : 1);
  if (!reader.done() || bits < 3 || precision < 1 || format.exponent_bits < 1) return std::nullopt;
  format.bias = 1 << (format.exponent_bits - 1);
  return format;
}

std::optional<Format> parse_integer(std::string_view name) {
  Reader reader(name);
  Format format{name, 0, 0, 0, Specials::integer};
  const bool fixed = reader.take("fixed");
  format.is_signed = fixed || !reader.take("u");
  if ((!fixed && !reader.take("int")) || !reader.take(format.mantissa_bits, 64)) return std::nullopt;
  if (fixed && (!reader.take("m") || !reader.take(format.bias, 64))) return std::nullopt;
  if (format.is_signed) --format.mantissa_bits;
  if (!reader.done() || format.mantissa_bits < 1) return std::nullopt;
  return format;
}

struct Row {
  std::string name;
  Format format;
};

// Never destroyed: tensors may outlive the end of main.
DType keep(const Format& format) {
  static std::mutex mutex;
  static auto* rows = new std::deque<Row>;
  const std::lock_guard lock(mutex);
  for (const Row& row : *rows)
    if (row.format == format) return DType(&row.format);
  Row& row = rows->emplace_back(Row{std::string(format.name), format});
  row.format.name = row.name;
  return DType(&row.format);
}

}  // namespace

std::optional<Format> parse_format(std::string_view name) {
  if (const auto format = parse_p3109(name)) return format;
  if (const auto format = parse_integer(name)) return format;
  return parse_float(name);
}

DType find_dtype(std::string_view name) {
  for (const Format& row : kFormats)
    if (row.name == name) return DType(&row);
  if (const auto format = parse_format(name)) return keep(*format);
  std::string names;
  for (const Format& row : kFormats) names += fmt::format("{}{}", names.empty() ? "one of " : ", ", row.name);
  throw DTypeError("format", fmt::format("\"{}\"", name), names,
                   "a name that says what it is, as e5m7, e4m3b9fn, ue5m3, binary8p4se, int4 or fixed16m8");
}

}  // namespace halftone
