// SPDX-License-Identifier: Apache-2.0
#include "report/axis.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "report/page.h"
#include "report/words.h"

namespace halftone::report {
namespace {

// The smallest of 1, 2, 5, 10, 20, ... that cuts the range into at most `about` + 1 pieces.
double round_step(double range, int about, bool whole) {
  const double rough = range / about;
  const double power = std::pow(10, std::floor(std::log10(rough)));
  double step = 10 * power;
  for (const double candidate : {1.0, 2.0, 5.0})
    if (candidate * power >= 0.8 * rough) {
      step = candidate * power;
      break;
    }
  return whole ? std::max(1.0, std::round(step)) : step;
}

std::string label(double value, double step) {
  const double magnitude = std::max(std::abs(value), step);
  if (magnitude >= 1e7 || step < 1e-5) return fmt::format("{:.3g}", value);
  return decimals(value, std::max(0, -static_cast<int>(std::floor(std::log10(step) + 1e-9))));
}

}  // namespace

Axis::Axis(double low, double high, AxisScale scale, TickStyle style, bool round_out, int about)
    : scale_(scale) {
  if (!std::isfinite(low) || !std::isfinite(high) || low > high || (scale != AxisScale::linear && low <= 0)) {
    low = scale == AxisScale::linear ? 0 : 1;
    high = low + 1;
  }
  low_ = transform(low);
  high_ = transform(high);
  if (high_ - low_ <= 1e-9 * std::max(std::abs(low_), std::abs(high_))) {  // one value: put it in the middle
    const double half = scale != AxisScale::linear || style == TickStyle::whole ? 1
                        : low_ == 0                                             ? 0.5
                                                                                : 0.1 * std::abs(low_);
    low_ -= half;
    high_ += half;
  }
  if (scale == AxisScale::log2)
    log2_ticks();
  else if (scale == AxisScale::log10)
    log10_ticks();
  else
    linear_ticks(style, round_out, about);
}

double Axis::transform(double value) const {
  if (scale_ == AxisScale::linear) return value;
  if (!(value > 0)) return std::numeric_limits<double>::quiet_NaN();
  return scale_ == AxisScale::log2 ? std::log2(value) : std::log10(value);
}

double Axis::place(double value) const { return (transform(value) - low_) / (high_ - low_); }

void Axis::linear_ticks(TickStyle style, bool round_out, int about) {
  const double unit = style == TickStyle::percent ? 100 : 1;
  const double step = round_step(unit * (high_ - low_), about, style == TickStyle::whole);
  double first = std::ceil(unit * low_ / step - 1e-9), last = std::floor(unit * high_ / step + 1e-9);
  if (round_out || first > last) {
    first = std::floor(unit * low_ / step + 1e-9);
    last = std::ceil(unit * high_ / step - 1e-9);
    low_ = first * step / unit;
    high_ = last * step / unit;
  }
  for (double tick = first; tick <= last; ++tick)
    add_tick(tick * step / unit, label(tick * step, step) + (unit == 100 ? " %" : ""));
}

void Axis::log10_ticks() {
  const double margin = 0.04 * (high_ - low_);
  low_ -= margin;
  high_ += margin;
  const double decades = high_ - low_;
  if (decades < 0.4) {  // as good as linear
    const double low = std::pow(10, low_), high = std::pow(10, high_),
                 step = round_step(high - low, 5, false);
    for (double tick = std::ceil(low / step); tick * step <= high; ++tick)
      add_tick(tick * step, label(tick * step, step));
    return;
  }
  const int stride = static_cast<int>(std::ceil(decades / 6));
  for (int power = static_cast<int>(std::floor(low_)); power <= std::ceil(high_); ++power)
    for (const double lead : {1.0, 1.5, 2.0, 3.0, 5.0, 7.0}) {
      if (decades > 1.2 && (lead == 1.5 || lead == 3 || lead == 7)) continue;
      if (decades > 2.5 && lead != 1) continue;
      if (power % stride != 0) continue;
      const double value = lead * std::pow(10, power), at = std::log10(value);
      if (at >= low_ && at <= high_) add_tick(value, fmt::format("{:.3g}", value));
    }
}

void Axis::log2_ticks() {
  low_ = std::floor(low_);
  high_ = std::ceil(high_);
  const int stride = std::max(1, static_cast<int>(std::ceil((high_ - low_) / 6)));
  for (int power = static_cast<int>(low_); power <= high_; power += stride)
    add_tick(std::exp2(power), fmt::format("2<sup>{}</sup>", power));
}

std::string percent_place(double place) { return fmt::format("{:.2f}%", 100 * std::clamp(place, 0.0, 1.0)); }

std::string x_ticks(const Axis& x, std::string_view label) {
  std::string out = "<div class=\"xaxis\" aria-hidden=\"true\">";
  for (const Tick& tick : x.ticks())
    out += fmt::format("<span style=\"left:{}\">{}</span>", percent_place(tick.place), tick.html);
  return out + fmt::format("</div>\n<div class=\"xlabel\" aria-hidden=\"true\">{}</div>\n", escape(label));
}

}  // namespace halftone::report
