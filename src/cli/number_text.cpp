// SPDX-License-Identifier: Apache-2.0
#include "cli/number_text.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>

namespace halftone::cli {

std::size_t columns(std::string_view text) {
  std::size_t count = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\033') {  // to the m that ends a colour
      i = std::min(text.find('m', i), text.size());
      continue;
    }
    if ((text[i] & 0xC0) != 0x80) ++count;
  }
  return count;
}

std::string padded(const std::string& text, std::size_t width) {
  return text + std::string(width - std::min(width, columns(text)), ' ');
}

std::string padded_left(const std::string& text, std::size_t width) {
  return std::string(width - std::min(width, columns(text)), ' ') + text;
}

int terminal_width() {
  winsize size{};
  int width = 0;
  if (::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0) width = size.ws_col;
  if (const char* columns = std::getenv("COLUMNS"); width == 0 && columns != nullptr)
    width = std::atoi(columns);
  return width <= 0 ? 80 : std::clamp(width, 40, 400);
}

}  // namespace halftone::cli
