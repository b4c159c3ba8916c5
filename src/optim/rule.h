// SPDX-License-Identifier: Apache-2.0
//
// An update rule as a row of data. A new one is a file like sgd.cpp and a line in rules.cpp; masters,
// formats, threads, state files, the command and the tests of every rule follow.
#pragma once

#include <functional>
#include <limits>
#include <optional>
#include <span>
#include <string_view>

#include "halftone/optim.h"

namespace halftone::optim {

using amp::Tile;
using Options = RuleOptimizer::Options;
using Coefficients = RuleOptimizer::Coefficients;

struct OptionRow {
  std::string_view name;
  double low, high;  // low <= value < high
};

struct StateRow {
  std::string_view name;
  // For a parameter of that shape; nothing where it is not kept.
  std::optional<Shape> (*shape)(const Shape& parameter, const Options& options);
};

// One parameter in one step, for rules that must see all of it before they change any of it.
struct Subject {
  const Shape& shape;
  const Options& options;
  std::int64_t step;  // from 1
  const float* gradient;
  float gradient_scale;
  std::array<float*, Tile::kMaxState>
      state;  // all of each that has another shape than the parameter, or null
  std::function<void(const std::function<void(const Tile&)>&)> read_tiles;  // on several threads at once
};

struct Rule {
  std::string_view name;   // for configurations
  std::string_view title;  // for messages
  std::span<const OptionRow> options;
  Options defaults;
  std::span<const StateRow> state;  // in the order of Tile::state
  Coefficients (*coefficients)(const Options& options, std::int64_t step);
  // Changes coefficients for this parameter, and state that has another shape than it. Null: nothing to do.
  void (*gather)(const Subject& subject, Coefficients& coefficients);
  void (*tile)(const Tile& tile, const Coefficients& coefficients, const Shape& shape);
  void (*check)(const Options& options) = nullptr;  // what ranges do not say of options; throws ValueError
};

std::span<const Rule* const> rules();
const Rule& find_rule(std::string_view name);  // throws ValueError listing the names

// A finite gradient above 1e20 has an infinite square; an infinite second moment would never decay, and its
// weight never move again.
inline constexpr float kLargest = std::numeric_limits<float>::max();

// For StateRow: state of the parameter's own shape.
inline std::optional<Shape> same_shape(const Shape& parameter, const Options&) { return parameter; }

}  // namespace halftone::optim
