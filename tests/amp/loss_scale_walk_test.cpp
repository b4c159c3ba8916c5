// SPDX-License-Identifier: Apache-2.0
//
// The whole state space of the rule for small parameters, against a model that keeps no state: it decides by
// looking back over all that happened. And what holds for any options and any stream of events.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "halftone/amp.h"

namespace halftone::amp {
namespace {

enum Kind : char { clean, overflow, bad_loss };
struct Past {
  Kind kind;
  bool grew = false;
  float scale_before = 0;
  double log2_largest = 0;
};
using History = std::vector<Past>;

ScalerEvent event_of(const Past& past) {
  return {past.kind == overflow, past.kind == bad_loss, past.log2_largest};
}

// Clean steps up to and with the last one, none but bad losses in between, since the last overflow.
int clean_since_overflow(const History& history) {
  int count = 0;
  for (auto it = history.rbegin(); it != history.rend() && it->kind != overflow; ++it)
    count += it->kind == clean;
  return count;
}

// Overflows up to and with the last event since the tolerance was last whole.
int overflows_since_refill(const History& history, Refill refill) {
  int count = 0;
  for (auto it = history.rbegin(); it != history.rend(); ++it) {
    if (it->kind == clean && (refill == Refill::every_clean_step || it->grew)) break;
    count += it->kind == overflow;
  }
  return count;
}

int skips_in_a_row(const History& history) {
  const auto last_clean =
      std::find_if(history.rbegin(), history.rend(), [](const Past& past) { return past.kind == clean; });
  return static_cast<int>(last_clean - history.rbegin());
}

// The dynamic rule, from the history and the scale before its last event.
ScalerState dynamic_model(History& history, const ScalerOptions& o) {
  Past& last = history.back();
  double scale = last.scale_before;
  const int clean_steps = clean_since_overflow(history);
  last.grew = last.kind == clean && clean_steps % o.growth_interval == 0;
  const int overflows = overflows_since_refill(history, o.refill);
  if (last.grew) scale = std::min(o.max_scale, scale * o.growth_factor);
  if (last.kind == overflow && overflows >= o.hysteresis)
    scale = std::max(o.min_scale, scale * o.backoff_factor);
  int skips = 0, at_floor = 0;
  for (const Past& past : history) skips += past.kind != clean;
  // At the floor: due to be lowered, and was at the minimum.
  for (std::size_t i = history.size(); i-- > 0 && history[i].kind != clean;) {
    const History until(history.begin(), history.begin() + static_cast<std::ptrdiff_t>(i) + 1);
    at_floor += history[i].kind == overflow && history[i].scale_before == static_cast<float>(o.min_scale) &&
                overflows_since_refill(until, o.refill) >= o.hysteresis;
  }
  return {.scale = static_cast<float>(scale),
          .clean_steps = clean_steps % o.growth_interval,
          .skips_in_a_row = skips_in_a_row(history),
          .skips = skips,
          .tolerated = std::min(overflows, o.hysteresis - 1),
          .skips_at_floor = at_floor};
}

void walk(History& history, const ScalerState& state, const ScalerOptions& options, int depth,
          std::int64_t& visited) {
  for (const Kind kind : {clean, overflow, bad_loss}) {
    history.push_back({kind, false, state.scale});
    const ScalerState after = next(state, options, event_of(history.back()));
    ASSERT_EQ(after, dynamic_model(history, options));
    ++visited;
    if (depth > 1) walk(history, after, options, depth - 1, visited);
    if (::testing::Test::HasFatalFailure()) return;
    history.pop_back();
  }
}

TEST(LossScaleWalk, TheDynamicRuleIsItsHistoryOnEverySequence) {
  std::int64_t visited = 0;
  for (const int interval : {1, 2, 3})
    for (const int hysteresis : {1, 2, 3})
      for (const Refill refill : {Refill::on_growth, Refill::every_clean_step})
        for (const double growth : {1.0, 3.0})
          for (const double backoff : {0.5, 1.0}) {
            SCOPED_TRACE(::testing::Message() << interval << ' ' << hysteresis << ' '
                                              << static_cast<int>(refill) << ' ' << growth << ' ' << backoff);
            const ScalerOptions options{.init_scale = 2,
                                        .growth_factor = growth,
                                        .backoff_factor = backoff,
                                        .growth_interval = interval,
                                        .min_scale = 1,
                                        .max_scale = 10,
                                        .hysteresis = hysteresis,
                                        .refill = refill};
            History history;
            walk(history, {.scale = 2}, options, 8, visited);
            ASSERT_FALSE(HasFatalFailure());
          }
  EXPECT_EQ(visited, 72 * (19683 - 3) / 2);  // 3 + 9 + .. + 3^8 for each of 72 options
}

// ---- The predictive rule.

// Weighted mean and variance in two passes over everything learned so far.
GradientHistory learned_model(const std::vector<double>& seen, double decay) {
  GradientHistory result{.steps = static_cast<std::int64_t>(seen.size())};
  std::vector<double> weights;
  for (std::size_t i = 0; i < seen.size(); ++i) {
    const double weight = std::max(1 - decay, 1.0 / static_cast<double>(i + 1));
    for (double& earlier : weights) earlier *= 1 - weight;
    weights.push_back(weight);
  }
  for (std::size_t i = 0; i < seen.size(); ++i) result.mean += weights[i] * seen[i];
  for (std::size_t i = 0; i < seen.size(); ++i)
    result.variance += weights[i] * (seen[i] - result.mean) * (seen[i] - result.mean);
  return result;
}

TEST(LossScaleWalk, ThePredictiveRuleIsItsHistoryOnEverySequence) {
  constexpr double kNone = -std::numeric_limits<double>::infinity();  // gradients that are all 0
  constexpr int kDepth = 7;
  const std::vector<Past> kinds = {
      {clean, false, 0, -9}, {clean, false, 0, -4.5}, {clean, false, 0, kNone}, {overflow}, {bad_loss}};
  for (const int interval : {1, 2, 3}) {
    const ScalerOptions options{.init_scale = 4096,
                                .growth_interval = interval,
                                .max_scale = 131072,
                                .rule = ScalerRule::predictive,
                                .deviations = 1.5,
                                .decay = 0.6};
    const double limit = std::log2(65504);
    std::vector<std::size_t> digits(kDepth, 0);
    for (bool done = false; !done;) {
      ScalerState state{.scale = 4096};
      History history;
      std::vector<double> seen;
      for (const std::size_t digit : digits) {
        history.push_back(kinds[digit]);
        Past& last = history.back();
        last.scale_before = state.scale;
        if (last.kind == overflow) seen.push_back(limit - std::log2(state.scale));
        if (last.kind == clean && last.log2_largest != kNone) seen.push_back(last.log2_largest);
        const GradientHistory learned = learned_model(seen, 0.6);
        const bool has_overflowed =
            std::any_of(history.begin(), history.end(), [](const Past& p) { return p.kind == overflow; });
        double scale = state.scale;
        const double predicted = std::clamp(
            std::exp2(std::floor(limit - learned.mean - 1.5 * std::sqrt(learned.variance))), 1.0, 131072.0);
        if (last.kind == overflow) scale = std::max(1.0, scale / 2);
        if (last.kind == clean && learned.steps > 0) {
          const bool may_grow = !has_overflowed || clean_since_overflow(history) >= interval;
          scale = may_grow ? predicted : std::min(scale, predicted);
        }
        state = next(state, options, event_of(last));
        ASSERT_EQ(state.scale, static_cast<float>(scale));
        ASSERT_EQ(state.history.steps, learned.steps);
        ASSERT_NEAR(state.history.mean, learned.mean, 1e-12);
        ASSERT_NEAR(state.history.variance, learned.variance, 1e-12);
        ASSERT_EQ(state.skips_in_a_row, skips_in_a_row(history));
      }
      std::size_t place = 0;
      while (place < digits.size() && ++digits[place] == kinds.size()) digits[place++] = 0;
      done = place == digits.size();
    }
  }
}

// Gradients whose largest is log-normal, and activation gradients `hidden` powers of two above what is seen.
struct Stream {
  double mean = -3, deviation = 0.5, hidden = 0;
  std::int64_t skips = 0;
  double settled = 0;  // log2 of the scale, mean of the second half
};
Stream train(Stream stream, const ScalerOptions& options, int steps) {
  std::mt19937 random(1);
  std::normal_distribution<double> largest(stream.mean, stream.deviation);
  ScalerState state{.scale = static_cast<float>(options.init_scale)};
  for (int i = 0; i < steps; ++i) {
    const double log2_largest = largest(random), log2_scale = std::log2(state.scale);
    const bool overflows = log2_largest + stream.hidden + log2_scale > 15.9;
    state = next(state, options, {.found_inf = overflows, .log2_largest = log2_largest});
    if (2 * i >= steps) stream.settled += log2_scale / (steps / 2);
  }
  stream.skips = state.skips;
  return stream;
}

TEST(LossScaleWalk, ThePredictionSettlesBelowTheLimitWithHardlyASkip) {
  const ScalerOptions& predictive = find_scaler_policy("predictive").options;
  const Stream plain = train({}, predictive, 10000);
  EXPECT_LE(plain.skips, 20);    // 0.2 %
  EXPECT_GT(plain.settled, 16);  // 2^19 would overflow every second step
  EXPECT_LT(plain.settled, 18.5);
  // What it can not see costs a few steps each time the prediction is tried again, not every second one.
  const Stream hidden = train({.hidden = 6}, predictive, 10000);
  EXPECT_LE(hidden.skips, 100);
  EXPECT_GT(hidden.settled, 10);
  EXPECT_LT(hidden.settled, 13);
}

// ---- Whatever the options and whatever happens.

ScalerOptions random_options(std::mt19937& random) {
  const auto pick = [&](auto... values) {
    const double all[] = {static_cast<double>(values)...};
    return all[random() % sizeof...(values)];
  };
  ScalerOptions options{.growth_factor = pick(1, 1.5, 2, 10, 1e30),
                        .backoff_factor = pick(0.001, 0.25, 0.5, 0.9, 1),
                        .growth_interval = static_cast<int>(pick(1, 2, 3, 7)),
                        .min_scale = pick(std::ldexp(1.0, -127), 0.1, 1, 64),
                        .max_scale = pick(64, 65536, 1e6, std::ldexp(1.0, 126)),
                        .hysteresis = static_cast<int>(pick(1, 2, 5)),
                        .refill = random() % 2 ? Refill::on_growth : Refill::every_clean_step,
                        .enabled = random() % 10 != 0,
                        .rule = static_cast<ScalerRule>(random() % 3),
                        .largest_value = pick(65504, 3.4e38, 448),
                        .deviations = pick(0, 3.09, 1e6),
                        .decay = pick(0, 0.9, 0.999)};
  options.init_scale = random() % 2 ? options.min_scale : options.max_scale;
  return options;
}

TEST(LossScaleWalk, UnderAnyStreamTheScaleStaysUsableAndWithinItsLimits) {  // faults A1, A2, A3, A12, E5
  std::mt19937 random(7);
  for (int stream = 0; stream < 3000; ++stream) {
    const ScalerOptions options = random_options(random);
    ASSERT_NO_THROW(validate(options));
    GradScaler scaler(options);  // for its first state
    ScalerState state = scaler.state();
    const bool moves = options.enabled && options.rule != ScalerRule::constant;
    const unsigned overflows = 1 + random() % 20;  // in 20
    History history;
    int in_a_row = 0;
    float before_row = state.scale;
    for (int i = 0; i < 60; ++i) {
      const Kind kind = random() % 20 < overflows ? (random() % 8 ? overflow : bad_loss) : clean;
      const double largest =
          std::ldexp(static_cast<double>(random()), static_cast<int>(random() % 300) - 150);
      const ScalerState after =
          next(state, options, {kind == overflow, kind == bad_loss, std::log2(largest)});
      history.push_back({kind, after.scale > state.scale});

      ASSERT_TRUE(std::isfinite(after.scale) && after.scale > 0 && std::isfinite(1 / after.scale));
      if (options.enabled) {
        ASSERT_GE(after.scale, static_cast<float>(options.min_scale));
        ASSERT_LE(after.scale, static_cast<float>(options.max_scale));
      }
      if (!moves || kind == bad_loss) {
        ASSERT_EQ(after.scale, state.scale);
      }
      if (kind == overflow) {
        ASSERT_LE(after.scale, state.scale);
        if (overflows_since_refill(history, Refill::every_clean_step) >= options.hysteresis && moves) {
          ASSERT_EQ(after.scale,
                    static_cast<float>(std::max(options.min_scale, state.scale * options.backoff_factor)));
        }
        // Not before its count: of overflows since the scale grew or, with the other refill rule, in a row.
        if (options.rule == ScalerRule::dynamic && after.scale < state.scale) {
          ASSERT_GE(overflows_since_refill(history, options.refill), options.hysteresis);
        }
      }
      // N clean steps always grow, wherever they begin.
      if (in_a_row == 0) before_row = state.scale;
      in_a_row = kind == clean ? in_a_row + 1 : 0;
      if (in_a_row == options.growth_interval) {
        if (options.enabled && options.rule == ScalerRule::dynamic) {
          ASSERT_GE(after.scale,
                    static_cast<float>(std::min(options.max_scale, before_row * options.growth_factor)));
        }
        in_a_row = 0;
      }
      ASSERT_EQ(after.skips - state.skips, kind != clean);
      state = after;
      ASSERT_NO_THROW(scaler.load(state));  // every state that can be reached is one that can be loaded
    }
  }
}

}  // namespace
}  // namespace halftone::amp
