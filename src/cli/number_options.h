// SPDX-License-Identifier: Apache-2.0
//
// What several commands ask about number formats: their names, and how a conversion is to behave.
#pragma once

#include <string>

#include "cli/command.h"
#include "halftone/block.h"
#include "halftone/conversion.h"

namespace halftone::cli {

// The format of that name. Another is a usage error of `option`, which says where block formats belong.
DType parse_dtype(const std::string& option, const std::string& text);

// True for a name that find_block_format is to judge: a row of its table, or anything with a colon.
bool names_block_format(const std::string& text);
BlockFormat parse_block_format(const std::string& option, const std::string& text);

// --overflow, --subnormals, --random-bits, and --rounding where `rounding` says so. What is not given is as
// in default_conversion.
class ConversionOptions {
 public:
  void add_to(CLI::App& command, bool rounding);
  Conversion conversion(const Format& format) const;
  // Of the elements of blocks, which saturate and keep subnormals: asking for something else is a usage
  // error.
  Conversion block_conversion() const;

 private:
  std::string rounding_ = "nearest_even", overflow_, subnormals_ = "keep";
  int random_bits_ = Conversion{}.random_bits;
};

}  // namespace halftone::cli
