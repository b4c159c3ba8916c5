// SPDX-License-Identifier: Apache-2.0
//
// Decimal numbers of any length, exactly. Every number of every binary format is one, and so are the middle
// of two, what a user typed and the difference between that and what became of it.
#pragma once

#include <gmpxx.h>

#include <optional>
#include <string>
#include <string_view>

#include "halftone/format_codec.h"

namespace halftone::cli {

class Decimal {
 public:
  Decimal() = default;               // zero
  explicit Decimal(const Exact& x);  // a finite one; `more` is not in it

  // What a text says that parse_exact takes, infinity and NaN excepted. Nothing where its exponent is far
  // outside every format: the digits would fill the memory.
  static std::optional<Decimal> parse(std::string_view text);

  bool is_zero() const { return integer_ == 0; }
  bool is_negative() const { return integer_ < 0; }
  Decimal operator-() const;
  friend Decimal operator+(const Decimal& a, const Decimal& b);
  friend Decimal operator-(const Decimal& a, const Decimal& b) { return a + -b; }
  Decimal half() const;

  // Every digit, as 0.0625 or 5.9604644775390625e-08. With a limit, longer ones end in "…e-08".
  std::string text(std::size_t most_digits = 0) const;
  // The same rounded to so many digits, like printf's %g.
  std::string rounded(int digits) const;
  // |this / other|, for a relative error. Infinity where other is zero.
  double ratio(const Decimal& other) const;

 private:
  struct Scientific {
    std::string digits;  // without sign, and without zeros at the end; the point is after the first
    int exponent;
  };
  Scientific scientific() const;

  mpz_class integer_;
  int power_ = 0;  // of ten, that it is multiplied by
};

// "infinity", "-infinity", "NaN", or the digits of a finite number (with a limit as above).
std::string digits_of(const Exact& x, std::size_t most_digits = 0);

}  // namespace halftone::cli
