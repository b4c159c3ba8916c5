// SPDX-License-Identifier: Apache-2.0
//
// What amp needs of an optimizer: the base class of the rules in optim.h.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "halftone/autograd.h"
#include "halftone/recipe.h"

namespace halftone::amp {

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

}  // namespace halftone::amp
