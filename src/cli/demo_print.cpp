// SPDX-License-Identifier: Apache-2.0
#include "cli/demo_print.h"

#include <algorithm>
#include <cmath>

#include "cli/command.h"

namespace halftone::cli {
namespace {

constexpr std::size_t kColumn = 22;

bool first_title = true;

}  // namespace

void title(const char* letter, const char* text) {
  fmt::print("{}{}\n", first_title ? "" : "\n", bold(fmt::format("({}) {}", letter, text)));
  first_title = false;
}

void print_sentence(const std::string& text) { fmt::print("    {}\n", text); }

void row(const std::vector<std::string>& cells) {
  std::string line = "      ";
  for (std::size_t i = 0; i < cells.size(); ++i)
    line += i + 1 == cells.size() ? cells[i] : fmt::format("{:<{}}", cells[i], i == 0 ? 14 : kColumn);
  line.erase(line.find_last_not_of(' ') + 1);
  fmt::print("{}\n", line);
}

std::string number(const Tensor& tensor) {
  const double value = tensor.item();
  // The value in full where that is short, else the shortest decimal that reads back as the same float.
  const std::string exact = fmt::format("{}", value);
  if (tensor.dtype() == float32)
    return exact.size() <= 14 ? exact : fmt::format("{}", static_cast<float>(value));
  return std::abs(value) > 0 && std::abs(value) < 1e-3 ? fmt::format("{:.6g}", value) : exact;
}

std::uint64_t code(const Tensor& tensor) { return load_code(tensor.dtype(), tensor.raw(), 0); }

std::string bits(const Tensor& tensor) {
  const Format& format = tensor.dtype().format();
  const std::uint64_t value = code(tensor);
  std::string text;
  for (int bit = format.bits() - 1; bit >= 0; --bit) {
    text += (value >> bit & 1) != 0 ? '1' : '0';
    if (bit == format.bits() - 1 || (bit == format.mantissa_bits && bit > 0)) text += ' ';
  }
  return text;
}

// Codes of positive numbers of one sign are in the order of their values.
double neighbour(const Tensor& tensor, int direction) {
  return decode(tensor.dtype().format(), code(tensor) + static_cast<std::uint64_t>(direction));
}

}  // namespace halftone::cli
