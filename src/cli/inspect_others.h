// SPDX-License-Identifier: Apache-2.0
//
// What a number becomes in every format of the table, rounded once from its digits.
#pragma once

#include <optional>
#include <string>

#include "cli/number_code.h"
#include "cli/number_digits.h"

namespace halftone::cli {

// What is worth saying about `given` having become `y`: "exact", "overflow to inf", "flushed to zero". May be
// empty.
std::string note(const Exact& given, const Number& y);

// `digits` are those of `given` in full, where they can be had.
void print_others(const Exact& given, const std::optional<Decimal>& digits, DType shown);

// "-2.44e-05" and "0.00024", or "-" where there is no difference to speak of.
struct Error {
  std::string absolute, relative;
};
Error error_of(const std::optional<Decimal>& digits, const Exact& became);

}  // namespace halftone::cli
