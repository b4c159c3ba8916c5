// SPDX-License-Identifier: Apache-2.0
//
// How `halftone demo` prints: titles, sentences, rows of columns, and numbers with their bits.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <string>
#include <vector>

#include "halftone/tensor.h"

namespace halftone::cli {

void title(const char* letter, const char* text);
void row(const std::vector<std::string>& cells);
void print_sentence(const std::string& text);

template <class... T>
void say(fmt::format_string<T...> format, T&&... values) {
  print_sentence(fmt::format(format, std::forward<T>(values)...));
}

// Of a tensor with one element: the shortest decimal that names it, its code, its code drawn as sign,
// exponent and significand, and the next number of its format above or below.
std::string number(const Tensor& tensor);
std::uint64_t code(const Tensor& tensor);
std::string bits(const Tensor& tensor);
double neighbour(const Tensor& tensor, int direction);

}  // namespace halftone::cli
