// SPDX-License-Identifier: Apache-2.0
//
// halftone demo: the arguments of mixed precision (Micikevicius et al. 2018), each computed here and now with
// the library. Every number printed is read back from a tensor, an optimizer or a scaler.
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "cli/command.h"
#include "cli/demo_print.h"
#include "halftone/amp.h"
#include "halftone/ops.h"
#include "halftone/optim.h"

namespace halftone::cli {
namespace {

Tensor weight(double value, DType dtype) { return full({}, value, dtype).set_requires_grad(); }

Tensor state_tensor(const amp::Optimizer& optimizer, std::string_view name) {
  for (const Parameter& entry : optimizer.state())
    if (entry.name == name) return entry.value;
  throw Error("demo", "the optimizer has no " + std::string(name));
}

void master_weights() {
  title("a", "Small updates vanish without a float32 master");
  const double lr = 0.000244140625;  // 2^-12
  const Tensor alone = weight(1, float16), copy = weight(1, float16);
  optim::SGD plain({{"w", alone}}, {.lr = lr, .master = amp::MasterWeights::none});
  optim::SGD with_master({{"w", copy}}, {.lr = lr, .master = amp::MasterWeights::float32_copy});
  const Tensor master = state_tensor(with_master, "master.w");
  say("A weight of 1 has a gradient of 1; the learning rate is 2^-12 = {}. Four steps of SGD:", lr);
  row({"", "float16 weight alone", "float32 master", "its float16 copy"});
  const auto show = [&](const std::string& when) {
    row({when, number(alone), number(master), fmt::format("{:<15}{}", number(copy), bits(copy))});
  };
  show("start");
  for (int step = 1; step <= 4; ++step) {
    for (optim::SGD* optimizer : {&plain, &with_master}) {
      optimizer->zero_grad();
      sum(optimizer->parameters()[0].value).backward();
      optimizer->step();
    }
    show(fmt::format("step {}", step));
  }
  say("Below 1, float16 numbers are {} apart: 1 - 2^-12 is half way and rounds back to 1, every time.",
      1 - neighbour(full({}, 1, float16), -1));
  say("The master adds the four updates up to 2^-10, and then the copy shows them.");
}

// The gradient that reaches a float32 weight through a float16 activation, for a loss of slope `slope`.
Tensor through_float16(const Tensor& w, double slope) {
  return sum(scale(cast(cast(w, float16), float32), slope));
}

void loss_scaling() {
  title("b", "Small gradients vanish in float16, and survive scaled");
  const double slope = 1e-8;
  say("A gradient of {} passes through a float16 activation on its way to the weight.", slope);
  say("Smallest positive float16: {:.4g}.", min_subnormal(float16.format()));
  Tensor w = weight(1, float32);
  through_float16(w, slope).backward();
  row({"not scaled", number(full({}, slope, float16)), bits(full({}, slope, float16)),
       "weight's gradient " + number(w.grad())});

  w.zero_grad();
  optim::SGD optimizer({{"w", w}}, {.lr = 1});
  amp::GradScaler scaler;
  const double scaled = slope * static_cast<double>(scaler.state().scale);
  scaler.scale(through_float16(w, slope)).backward();
  scaler.unscale(optimizer);
  row({fmt::format("times {}", number(full({}, scaler.state().scale))), number(full({}, scaled, float16)),
       bits(full({}, scaled, float16)), "unscaled again " + number(w.grad())});
}

void accumulation() {
  title("c", "Long sums stop growing in bfloat16");
  const Tensor one = ones({}, bfloat16);
  Tensor narrow = zeros({}, bfloat16), wide = zeros({}, float32);
  row({"ones added", "bfloat16 running sum", "", "float32 running sum"});
  for (int i = 1; i <= 1000; ++i) {
    narrow = narrow + one;
    wide = wide + one;
    if (i == 1 || i == 255 || i == 256 || i == 257 || i == 1000)
      row({fmt::format("{}", i), number(narrow), bits(narrow), number(wide)});
  }
  say("The next bfloat16 after {} is {}: adding 1 is half a step, and rounds back.", number(narrow),
      neighbour(narrow, +1));
  say("halftone's sum of the same 1000 bfloat16 ones, which adds in float32: {}.",
      number(sum(ones({1000}, bfloat16))));
}

void dynamic_scale() {
  title("d", "The loss scale finds its place by itself");
  const Tensor w = weight(1, float32);
  optim::SGD optimizer({{"w", w}}, {.lr = 0.125});
  amp::GradScaler scaler({.init_scale = 32768, .growth_interval = 3});
  say("The gradient is 1, held in float16 while it is scaled; the scale doubles after {} clean steps.",
      scaler.options().growth_interval);
  row({"step", "scale", "gradient in float16", "weight", "outcome"});
  for (int step = 1; step <= 8; ++step) {
    const float scale_now = scaler.state().scale;
    optimizer.zero_grad();
    scaler.scale(through_float16(w, 1)).backward();
    const amp::StepResult result = scaler.step(optimizer);
    scaler.update();
    const float scale_next = scaler.state().scale;
    const char* moved = scale_next > scale_now   ? ", scale doubled"
                        : scale_next < scale_now ? ", scale halved"
                                                 : "";
    row({fmt::format("{}", step), number(full({}, scale_now)), number(full({}, scale_now, float16)),
         number(w), std::string(result.applied() ? "applied" : "skipped") + moved});
  }
  say("65536 is too large for float16: the step is skipped, the weight keeps its bits, the scale halves.");
}

void range() {
  title("e", "float16 ends at 65504, bfloat16 does not");
  say("Largest finite: float16 {}, bfloat16 {:.4g}.", max_finite(float16.format()),
      max_finite(bfloat16.format()));
  row({"value", "float16", "", "bfloat16"});
  for (const double value : {65504.0, 65519.0, 65520.0}) {
    const Tensor half = full({}, value, float16), brain = full({}, value, bfloat16);
    row({fmt::format("{}", value), number(half), bits(half),
         fmt::format("{:<9}{}", number(brain), bits(brain))});
  }
  const Tensor half = full({}, 65504, float16), brain = full({}, 65504, bfloat16);
  row({"65504 + 65504", number(half + half), bits(half + half),
       fmt::format("{:<9}{}", number(brain + brain), bits(brain + brain))});
  say("bfloat16 pays for the range with its significand: {} bits instead of {}.",
      bfloat16.format().precision(), float16.format().precision());
}

void chain_rule() {
  title("f", "Scaling the loss is scaling the gradient");
  const double factor = 65536;
  const Tensor x = from_values({0.5, -1.25, 3}), target = from_values({1, 1, 1});
  Tensor w = from_values({0.1, 0.2, 0.3}).set_requires_grad();
  const auto loss = [&] { return mse_loss(w * x, target); };
  loss().backward();
  const Tensor plain = w.grad();
  w.zero_grad();
  (loss() * factor).backward();
  const Tensor scaled = w.grad(), unscaled = scale(scaled, 1 / factor);
  say("loss = mean((w x - 1)^2) for three weights, in float32, and the same times {}.", factor);
  row({"weight", "gradient", "of the scaled loss", "divided again", "same bits"});
  for (int i = 0; i < 3; ++i) {
    const auto at = [&](const Tensor& t) { return slice(t, 0, i, i + 1); };
    row({number(at(w)), number(at(plain)), number(at(scaled)), number(at(unscaled)),
         code(at(plain)) == code(at(unscaled)) ? "yes" : "no"});
  }
  say("The factor is a power of two, so it moves the exponent only: nothing is lost on the way back.");
}

struct Argument {
  const char* letter;
  void (*run)();
};
constexpr Argument kArguments[] = {{"a", master_weights}, {"b", loss_scaling}, {"c", accumulation},
                                   {"d", dynamic_scale},  {"e", range},        {"f", chain_rule}};

constexpr const char* kExamples =
    "Examples:\n"
    "  halftone demo        all of them\n"
    "  halftone demo b d    loss scaling: why, and how the scale is found";

const RegisterCommand registered(50, [](CLI::App& app) {
  CLI::App* command = app.add_subcommand("demo", "The arguments of mixed precision, computed live");
  const auto letters = std::make_shared<std::vector<std::string>>();
  command
      ->add_option("arguments", *letters,
                   "a: master weights, b: loss scaling, c: float32 sums, d: the dynamic scale, e: range, f: "
                   "the chain rule")
      ->check(CLI::IsMember({"a", "b", "c", "d", "e", "f"}));
  command->footer(kExamples);
  command->callback([letters] {
    for (const Argument& argument : kArguments)
      if (letters->empty() || std::find(letters->begin(), letters->end(), argument.letter) != letters->end())
        argument.run();
  });
});

}  // namespace
}  // namespace halftone::cli
