// SPDX-License-Identifier: Apache-2.0
//
// One axis of a chart: its range, where a value falls on it, and ticks at round numbers.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace halftone::report {

enum class AxisScale { linear, log2, log10 };
enum class TickStyle {
  number,
  whole,
  percent
};  // whole: no tick between whole numbers; percent: of a fraction

struct Tick {
  double place;      // 0 at the low end, 1 at the high end
  std::string html;  // the label
};

class Axis {
 public:
  // An axis that shows every value in [low, high]; reversed or not finite limits stand for "no data". With
  // `round_out` the ends are ticks.
  Axis(double low, double high, AxisScale scale, TickStyle style, bool round_out, int about = 5);

  double place(double value) const;  // 0 .. 1, NaN where the value has no place (log axis)
  const std::vector<Tick>& ticks() const { return ticks_; }

 private:
  double transform(double value) const;
  void linear_ticks(TickStyle style, bool round_out, int about);
  void log10_ticks();
  void log2_ticks();
  void add_tick(double value, std::string html) { ticks_.push_back({place(value), std::move(html)}); }

  double low_, high_;  // transformed
  AxisScale scale_;
  std::vector<Tick> ticks_;
};

// A place as SVG and CSS take it: "12.34%". What lies beyond an end is put there.
std::string percent_place(double place);

// The labels below a chart, and what they are of.
std::string x_ticks(const Axis& x, std::string_view label);

}  // namespace halftone::report
