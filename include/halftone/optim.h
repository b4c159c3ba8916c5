// SPDX-License-Identifier: Apache-2.0
//
// Optimizers, clipping and schedules. Every optimizer is a row of one table of update rules (src/optim): all
// of them work with every recipe. All arithmetic is in float32, whatever the formats of parameters and state.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "halftone/amp.h"

namespace halftone::optim {

using amp::MasterWeights;
using amp::Optimizer;

struct Rule;  // src/optim/rule.h

// What some parameters have instead of the optimizer's options (PyTorch's parameter groups).
struct Adjustment {
  double lr_factor = 1;  // times lr(), whatever a schedule makes of that; 0 to 1e6
  std::optional<double> weight_decay = std::nullopt;  // the optimizer's if there is none here
};

// What the optimizers below are: a row of the table on parameters. Throws ValueError for options out of
// range.
class RuleOptimizer : public Optimizer {
 public:
  static constexpr std::size_t kMaxOptions = 7, kMaxCoefficients = 9;
  using Options = std::array<double, kMaxOptions>;           // in the order of the row, lr first
  using Coefficients = std::array<float, kMaxCoefficients>;  // what the rule computes from them for a step

  RuleOptimizer(const Rule& rule, std::vector<Parameter> parameters, const Options& options,
                MasterWeights master, DType state);

  // Gives the parameters for which `chosen` is true an adjustment instead of the one they had; how many they
  // are. As other options, it is no part of state(). Throws ValueError if none is chosen, for a factor that
  // is negative or not finite, and for a weight decay out of the range of the option; nothing has changed
  // then.
  std::int64_t adjust(const std::function<bool(const Parameter&)>& chosen, const Adjustment& adjustment);

 protected:
  void prepare(std::size_t index, const Tensor& gradient, float gradient_scale) override;
  void rule(std::size_t index, const amp::Tile& tile) override;

 private:
  Options options_now(const Adjustment& adjustment) const;

  const Rule& rule_;
  Options options_;
  std::vector<Adjustment> adjustments_;  // of each parameter
  Coefficients of_parameter_{};
};

// `state`, here and below: the format of the moments. They are updated in float32; a narrower format is
// rounded to stochastically, which is right on average where rounding to nearest would lose small changes.
// Recipe::state is it for a recipe.

struct SGDOptions {
  double lr = 0.1;
  double momentum = 0;
  bool nesterov = false;
  double weight_decay = 0;  // added to the gradient
  MasterWeights master = MasterWeights::float32_copy;
  DType state = float32;
};

// v = momentum v + g; w -= lr v, or with Nesterov w -= lr (g + momentum v).
class SGD : public RuleOptimizer {
 public:
  SGD(std::vector<Parameter> parameters, SGDOptions options = {});
};

struct AdamOptions {
  double lr = 1e-3;
  double beta1 = 0.9, beta2 = 0.999;
  double epsilon = 1e-8;
  double weight_decay = 0;  // added to the gradient
  MasterWeights master = MasterWeights::float32_copy;
  DType state = float32;
};

// Kingma and Ba, "Adam: a method for stochastic optimization", ICLR 2015, algorithm 1. The t of its bias
// correction, here, in AdamW and in Lamb, is steps(): of the optimizer, and so the same for a parameter whose
// first gradient comes late (PyTorch counts for each parameter).
class Adam : public RuleOptimizer {
 public:
  Adam(std::vector<Parameter> parameters, AdamOptions options = {});
};

struct AdamWOptions {
  double lr = 1e-3;
  double beta1 = 0.9, beta2 = 0.999;
  double epsilon = 1e-8;
  double weight_decay = 0.01;  // decoupled, on every parameter
  MasterWeights master = MasterWeights::float32_copy;
  DType state = float32;
};

// Loshchilov and Hutter, "Decoupled weight decay regularization", ICLR 2019, algorithm 2.
class AdamW : public RuleOptimizer {
 public:
  AdamW(std::vector<Parameter> parameters, AdamWOptions options = {});
};

struct LambOptions {
  double lr = 2e-3;
  double beta1 = 0.9, beta2 = 0.999;
  double epsilon = 1e-6;
  double weight_decay = 0.01;
  MasterWeights master = MasterWeights::float32_copy;
  DType state = float32;
};

// You et al., "Large batch optimization for deep learning: training BERT in 76 minutes", ICLR 2020, algorithm
// 2, with the identity for phi: a step of AdamW, its length made lr times that of the parameter. The ratio is
// 1 where either is zero.
class Lamb : public RuleOptimizer {
 public:
  Lamb(std::vector<Parameter> parameters, LambOptions options = {});
};

struct LionOptions {
  double lr = 1e-4;
  double beta1 = 0.9, beta2 = 0.99;
  double weight_decay = 0;  // decoupled
  MasterWeights master = MasterWeights::float32_copy;
  DType state = float32;
};

// Chen et al., "Symbolic discovery of optimization algorithms", NeurIPS 2023, algorithm 2: the sign of a
// momentum is the step, so lr is 3 to 10 times smaller than AdamW's.
class Lion : public RuleOptimizer {
 public:
  Lion(std::vector<Parameter> parameters, LionOptions options = {});
};

struct AdafactorOptions {
  double lr = 0.01;           // rho of the paper: of the size of the parameter, and at most 1 / sqrt(step)
  double decay_power = 0.8;   // beta2 of step t is 1 - t^-decay_power
  double epsilon1 = 1e-30;    // added to squared gradients
  double epsilon2 = 1e-3;     // least size of a parameter
  double clip_threshold = 1;  // of the root mean square of an update
  double weight_decay = 0;    // decoupled
  MasterWeights master = MasterWeights::float32_copy;
  DType state = float32;  // of vectors; the row and column means of matrices are float32
};

// Shazeer and Stern, "Adafactor: adaptive learning rates with sublinear memory cost", ICML 2018, algorithms 4
// and 5. A tensor of more than two dimensions is the matrix of its first by all others.
class Adafactor : public RuleOptimizer {
 public:
  Adafactor(std::vector<Parameter> parameters, AdafactorOptions options = {});
};

// An optimizer by its name in the table, "adamw", with the defaults of its options but for those given by
// name. Masters and state are the recipe's. Throws ValueError listing the names if it has not that one.
std::unique_ptr<RuleOptimizer> make_optimizer(
    std::string_view name, std::vector<Parameter> parameters, const amp::Recipe& recipe,
    const std::vector<std::pair<std::string_view, double>>& options = {});
std::vector<std::string_view> optimizer_names();

// Scales all gradients so that their joint norm is at most max_norm, and returns the norm before. Gradients
// must have been unscaled. Throws NonFiniteError if the norm is not finite.
double clip_grad_norm(Optimizer& optimizer, double max_norm);

// Linear warm-up over warmup_steps to peak, then half a cosine down to `floor` at total_steps. `step` counts
// from 0; give it Optimizer::steps(), which a skipped step does not advance. Throws ValueError where step is
// negative, or not 0 <= warmup_steps <= total_steps.
double warmup_cosine(std::int64_t step, std::int64_t warmup_steps, std::int64_t total_steps, double peak,
                     double floor = 0);

}  // namespace halftone::optim
