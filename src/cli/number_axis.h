// SPDX-License-Identifier: Apache-2.0
//
// An axis of powers of two in a terminal: which column an exponent is in, a ruler with labels, and bars that
// say which part of the axis a format covers.
#pragma once

#include <string>
#include <vector>

#include "halftone/block.h"

namespace halftone::cli {

// Binades [low, high): the numbers from 2^low up to, but without, 2^high.
struct Binades {
  int low, high;
  int count() const { return high - low; }
};

// What a format covers. normal.low = low of the whole where nothing is subnormal.
struct Coverage {
  Binades reach;      // of a block format with any scale; else the same as `all`
  Binades all;        // of a block format with the scale 1
  int normal_low;     // below it numbers are subnormal
  bool even = false;  // integers and fixed point: one spacing throughout
};
Coverage coverage(const Format& format);
Coverage coverage(const BlockFormat& format);

class BinaryAxis {
 public:
  BinaryAxis(Binades range, int width);

  int width() const { return width_; }
  Binades range() const { return range_; }
  double place(double exponent) const;          // 0 at the left edge, width at the right
  Binades binades_of(int column) const;         // those that begin in the column; may be none
  std::string bar(const Coverage& what) const;  // coloured on a terminal, and without spaces behind
  // Two lines: a rule with marks and the powers of two below it, each line after `indent` spaces.
  std::vector<std::string> ruler(std::size_t indent) const;

 private:
  int stride() const;  // binades between labels

  Binades range_;
  int width_;
};

// What the characters of bar() mean, for those that occur.
std::string bar_legend(const std::vector<Coverage>& shown, Binades axis);

}  // namespace halftone::cli
