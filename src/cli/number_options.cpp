// SPDX-License-Identifier: Apache-2.0
#include "cli/number_options.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "cli/checks.h"
#include "halftone/error.h"

namespace halftone::cli {
namespace {

template <class Enum>
std::vector<std::string> names_of(int count) {
  std::vector<std::string> names;
  for (int i = 0; i < count; ++i) names.emplace_back(name(static_cast<Enum>(i)));
  return names;
}

}  // namespace

bool names_block_format(const std::string& text) {
  if (text.find(':') != std::string::npos) return true;
  return std::any_of(std::begin(kBlockFormats), std::end(kBlockFormats),
                     [&](const BlockFormat& row) { return row.name == text; });
}

DType parse_dtype(const std::string& option, const std::string& text) {
  try {
    if (!names_block_format(text)) return find_dtype(text);
    const DType element = find_block_format(text).element;
    throw CLI::ValidationError(option,
                               fmt::format("{} is a block format; here a number format is needed, as that of "
                                           "its elements, {}",
                                           text, element.name()));
  } catch (const DTypeError& error) {
    throw CLI::ValidationError(option, error.what());
  }
}

BlockFormat parse_block_format(const std::string& option, const std::string& text) {
  try {
    return find_block_format(text);
  } catch (const DTypeError& error) {
    throw CLI::ValidationError(option, error.what());
  }
}

void ConversionOptions::add_to(CLI::App& command, bool rounding) {
  if (rounding)
    command.add_option("--rounding", rounding_, "How a value between two codes is rounded")
        ->check(CLI::IsMember(names_of<Rounding>(7)))
        ->capture_default_str();
  command
      .add_option("--overflow", overflow_,
                  "What a value beyond the largest becomes (else as `halftone formats` says for the format)")
      ->check(CLI::IsMember(names_of<Overflow>(3)));
  command
      .add_option("--subnormals", subnormals_, "Keep values below the smallest normal, or flush them to zero")
      ->check(CLI::IsMember({"keep", "flush"}))
      ->capture_default_str();
  command.add_option("--random-bits", random_bits_, "Bits that stochastic rounding looks at")
      ->check(within(1, 32))
      ->capture_default_str();
}

Conversion ConversionOptions::block_conversion() const {
  if (!overflow_.empty() && overflow_ != name(Overflow::saturate))
    throw CLI::ValidationError("--overflow", "the elements of blocks saturate");
  if (subnormals_ != "keep")
    throw CLI::ValidationError("--subnormals", "the elements of blocks keep subnormals");
  Conversion conversion;
  conversion.rounding = parse_rounding(rounding_);
  conversion.overflow = Overflow::saturate;
  conversion.random_bits = random_bits_;
  return conversion;
}

Conversion ConversionOptions::conversion(const Format& format) const {
  Conversion conversion = default_conversion(format);
  conversion.rounding = parse_rounding(rounding_);
  if (!overflow_.empty()) conversion.overflow = parse_overflow(overflow_);
  if (subnormals_ == "flush") conversion.subnormals = Subnormals::flush;
  conversion.random_bits = random_bits_;
  return conversion;
}

}  // namespace halftone::cli
