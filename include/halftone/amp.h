// SPDX-License-Identifier: Apache-2.0
//
// Mixed precision: recipes, autocast, loss scaling, master weights and the training step that puts them in
// the one right order. Follows Micikevicius et al., "Mixed precision training", ICLR 2018.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "halftone/autograd.h"
#include "halftone/tensor.h"

namespace halftone::amp {

// Recipes: which format where. A recipe is one row.

// What an update of a parameter is applied to, and so what becomes of small ones.
enum class MasterWeights : std::uint8_t {
  none,           // the narrow parameter, rounded to nearest: what is below half its spacing is lost
  is_parameter,   // the parameter, which is float32
  float32_copy,   // a float32 copy, from which the parameter is rounded
  trailing_bits,  // a float32 whose leading bits are the bfloat16 parameter and whose 16 trailing ones are
                  // kept
  stochastic,     // the narrow parameter, rounded stochastically: right on average
  compensated,    // the narrow parameter and what rounding took from it, in the same format (Kahan 1965)
};
enum class LossScaling : std::uint8_t { none, dynamic, constant };

struct Recipe {
  std::string_view name;
  DType compute;         // of matmuls and convolutions; float32 means no autocast
  DType parameter;       // of matrices and filters; vectors (biases, norms) stay float32
  MasterWeights master;  // what an update is applied to
  LossScaling scaling;
  std::string_view shows;  // why one would look at it
};

// clang-format off
inline constexpr Recipe kRecipes[] = {
    // name               compute   parameter  master                       scaling               shows
    {"float32",           float32,  float32,   MasterWeights::is_parameter, LossScaling::none,    "the baseline"},
    {"bfloat16",          bfloat16, float32,   MasterWeights::is_parameter, LossScaling::none,    "the range of float32 with 8 bits of significand"},
    {"float16",           float16,  float32,   MasterWeights::is_parameter, LossScaling::dynamic, "autocast and dynamic loss scaling"},
    {"float16_master",    float16,  float16,   MasterWeights::float32_copy, LossScaling::dynamic, "the classic: float16 weights, float32 master copy"},
    {"float16_static",    float16,  float16,   MasterWeights::float32_copy, LossScaling::constant, "a constant loss scale"},
    {"float16_unscaled",  float16,  float16,   MasterWeights::float32_copy, LossScaling::none,    "ablation: small gradients vanish"},
    {"float16_no_master", float16,  float16,   MasterWeights::none,         LossScaling::dynamic, "ablation: small updates vanish"},
    {"bfloat16_pure",     bfloat16, bfloat16,  MasterWeights::none,         LossScaling::none,    "ablation: small updates vanish, sooner"},
    {"bfloat16_stochastic", bfloat16, bfloat16, MasterWeights::stochastic,  LossScaling::none,    "16-bit weights that learn on average"},
    {"bfloat16_kahan",    bfloat16, bfloat16,  MasterWeights::compensated,  LossScaling::none,    "16-bit weights that remember what rounding took"},
    {"bfloat16_split",    bfloat16, bfloat16,  MasterWeights::trailing_bits, LossScaling::none,   "a float32 master in 4 bytes, not 6"},
};
// clang-format on

// A row of the table, or one made from the name of a signed floating format (as float8_e5m2 or e5m7): matmuls
// in it, float32 parameters, dynamic loss scaling where its range is short of float32's. Throws ValueError
// listing the names; find_recipe_if returns null instead.
const Recipe& find_recipe(std::string_view name);
const Recipe* find_recipe_if(std::string_view name);
std::string_view to_string(MasterWeights master);
std::string_view to_string(LossScaling scaling);

// Autocast.

// Runs f with ops casting to `compute` as their policy says (float32: no casting), and returns what it
// returns. Scopes nest, recurse and unwind; state lives on the stack. Narrow copies of parameters made inside
// are dropped at the end of the outermost scope unless an optimizer keeps them up to date.
class AutocastScope {
 public:
  explicit AutocastScope(DType compute);
  ~AutocastScope();
  AutocastScope(const AutocastScope&) = delete;
  AutocastScope& operator=(const AutocastScope&) = delete;

 private:
  std::optional<DType> outer_;
};

template <class F>
decltype(auto) autocast(DType compute, F&& f) {
  const AutocastScope scope(compute);
  return std::forward<F>(f)();
}

// Loss scaling.

struct ScalerOptions {
  double init_scale = 65536;
  double growth_factor = 2;
  double backoff_factor = 0.5;
  int growth_interval = 2000;  // clean steps in a row before the scale grows
  double min_scale = 1;
  double max_scale = 16777216;  // 2^24: a larger scale helps no float16 gradient
  int max_skips_in_a_row = 50;  // then step() throws NonFiniteError naming the first culprit
  bool enabled = true;  // disabled: the scale is 1, non-finite gradients are still skipped and counted
};

struct ScalerState {
  float scale = 1;
  int clean_steps = 0;  // since the scale last changed
  int skips_in_a_row = 0;
  std::int64_t skips = 0;  // ever
  friend bool operator==(const ScalerState&, const ScalerState&) = default;
};

// The whole loss-scale rule, a pure function: exponential back-off on an overflow, growth after
// growth_interval clean steps, both clamped to [min_scale, max_scale]. With `found_inf` the step is skipped.
ScalerState next(const ScalerState& state, const ScalerOptions& options, bool found_inf);

// Throws ValueError naming the first option that is out of range (a factor that is not finite, a growth
// factor below 1, a back-off outside (0, 1], an interval below 1, a scale whose reciprocal is not finite...).
void validate(const ScalerOptions& options);

enum class StepOutcome : std::uint8_t { applied, skipped_overflow, nothing_to_do };

struct StepResult {
  StepOutcome outcome = StepOutcome::nothing_to_do;
  float scale = 1;          // the scale that produced these gradients
  float gradient_norm = 0;  // after unscaling, before clipping; 0 if not computed
  int skips_in_a_row = 0;
  std::string culprit;  // on an overflow: which gradient, how many, inf or NaN
  bool applied() const { return outcome == StepOutcome::applied; }
  std::string describe() const;  // one line
};

// What amp needs of an optimizer. optim.h has the rules; the base class owns parameters, masters and narrow
// copies, and writes all of them in one pass.
class Optimizer {
 public:
  // `master`: what to do for parameters narrower than float32. Throws ValueError for no parameters, a
  // parameter that does not require a gradient, or the same one twice.
  Optimizer(std::vector<Parameter> parameters, MasterWeights master);
  virtual ~Optimizer();
  Optimizer(const Optimizer&) = delete;
  Optimizer& operator=(const Optimizer&) = delete;

  const std::vector<Parameter>& parameters() const { return parameters_; }
  void zero_grad();
  // Applies the rule to every parameter that has a gradient. Gradients are read as gradient_scale * grad.
  void step(float gradient_scale = 1);
  std::int64_t steps() const { return steps_; }

  double lr() const { return lr_; }
  void set_lr(double lr) { lr_ = lr; }

  // Everything an uninterrupted run would have in memory besides the parameters: masters, moments, counts.
  // Tensors are shared: loading assigns into them.
  std::vector<Parameter> state() const;
  void set_steps(std::int64_t steps) { steps_ = steps; }

 protected:
  // The rule on elements [begin, begin + count) of parameter number `index`: updates float32 weights in
  // place. `gradient` points at the same elements. Runs on several threads at once, on disjoint ranges.
  virtual void rule(std::size_t index, std::int64_t begin, std::int64_t count, float* weights,
                    const float* gradient, float gradient_scale) = 0;
  virtual void begin_step() {}  // steps() has been advanced
  virtual std::vector<Parameter> rule_state() const = 0;

 private:
  void update(std::size_t index, float gradient_scale);

  std::vector<Parameter> parameters_;
  struct Narrow;
  std::vector<Tensor> masters_;                  // float32; the parameter itself, a copy, or undefined
  std::vector<std::unique_ptr<Narrow>> narrow_;  // those without a float32 master
  std::int64_t steps_ = 0;

 protected:
  double lr_ = 0;
};

// The field's loss scaler. Order per step: scale -> backward -> unscale (optional) -> step -> update.
class GradScaler {
 public:
  explicit GradScaler(ScalerOptions options = {});  // validates

  Tensor scale(const Tensor& loss) const;  // float32, times the scale
  // Divides the gradients by the scale that produced them and looks for non-finite values, once per step: a
  // second call before update() throws ValueError before it touches a gradient. If it finds one, it clears
  // all gradients, so that what a program does before step() (clipping, logging) does not meet it.
  void unscale(Optimizer& optimizer);
  // Unscales if that was not done, then lets the optimizer step unless a gradient was not finite. A skipped
  // step clears the gradients, so that nothing non-finite is carried over. With clip_norm, the optimizer
  // reads the gradients scaled so that their joint norm is at most that (no pass of its own, unlike
  // clip_grad_norm).
  StepResult step(Optimizer& optimizer, double clip_norm = 0);
  void update();   // moves the scale by next(); after an overflow, a clean step or nothing at all
  void abandon();  // forgets the current window: unscale is legal again, the scale does not move

  const ScalerOptions& options() const { return options_; }
  const ScalerState& state() const { return state_; }
  void load(const ScalerState& state);  // before or after first use; validates

 private:
  ScalerOptions options_;
  ScalerState state_;
  bool unscaled_ = false, found_inf_ = false, has_gradients_ = false, stepped_ = false;
  float norm_ = 0;
  std::string culprit_;
};

// One pass over all gradients: multiplies by `factor`, counts non-finite results and sums squares.
struct GradientScan {
  double squared_norm = 0;
  std::int64_t gradients = 0;  // parameters that had one
  bool finite = true;
  std::string culprit;  // "conv1.weight: 3 inf, 0 NaN of 288"
};
GradientScan scan_gradients(std::span<const Parameter> parameters, float factor);

// The training step.

struct StepOptions {
  double clip_norm = 0;        // 0: no clipping
  int accumulation_steps = 1;  // micro-batches whose mean loss makes one step
  bool attribute = true;       // on an overflow, run the step again under a watch to name op and layer
};

// scale -> backward -> (accumulate) -> unscale -> clip -> step -> update, in the only right order. A skipped
// step leaves parameters, masters, optimizer state and the given buffers (running statistics) as they were.
class Step {
 public:
  Step(Optimizer& optimizer, const Recipe& recipe, std::vector<Parameter> buffers = {},
       StepOptions options = {}, ScalerOptions scaler = {});

  // `loss(i)` computes the loss of micro-batch i, inside autocast. Throws NonFiniteError if a loss is NaN or
  // infinite before it is scaled: no scale cures that. With StepOptions::attribute it may be called again for
  // the same micro-batch, and must then compute the same.
  StepResult operator()(const std::function<Tensor(int micro_batch)>& loss);
  float loss() const { return loss_; }  // mean over the micro-batches of the last call
  GradScaler& scaler() { return scaler_; }

 private:
  float run(const std::function<Tensor(int)>& loss);
  std::string replay(const std::function<Tensor(int)>& loss, std::uint64_t random_before);

  Optimizer& optimizer_;
  const Recipe& recipe_;
  std::vector<Parameter> buffers_;
  StepOptions options_;
  GradScaler scaler_;
  float loss_ = 0;
};

}  // namespace halftone::amp
