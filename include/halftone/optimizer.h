// SPDX-License-Identifier: Apache-2.0
//
// What amp needs of an optimizer: the base class of the rules in optim.h.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "halftone/autograd.h"
#include "halftone/recipe.h"

namespace halftone::amp {

// Consecutive elements of one parameter as an update rule sees them: float32, whatever is stored.
struct Tile {
  static constexpr std::int64_t kSize = 1024;  // at most: stays in the first-level cache
  static constexpr std::size_t kMaxState = 3;

  std::int64_t begin, count;
  float* weights;
  const float* gradient;  // to be read as gradient_scale * gradient
  float gradient_scale;
  // Each of the rule's state tensors: the same elements, or all of a tensor that has another shape than the
  // parameter; null where none is kept.
  std::array<float*, kMaxState> state;
};

// The base class owns parameters, masters, narrow copies and the rule's state, and writes all of them in one
// pass. Where a program writes to a parameter itself (load_weights, assign_, a mask), the next update starts
// from what it wrote: a float32 master takes over the elements that are not its own rounded, trailing bits
// and compensation start again from 0. Not so if the master was written as well, as when a state is loaded:
// then that counts. Parameters that are views of a part of a storage are not looked at. Rules compute in
// float32 whatever the formats: which format is summed in where, is
//   gradients           float32, by backward (law 3)
//   gradient norms      double, by GradScaler and clip_grad_norm
//   masters             MasterWeights
//   state (moments)     the format given to keep_state, updated in float32 and then rounded stochastically
class Optimizer {
 public:
  // `master`: what to do for parameters narrower than float32. Throws ValueError for no parameters, a
  // parameter that does not require a gradient, the same one twice, or two of one name (parameters without a
  // name may be any number; their state can not be loaded).
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
  void set_lr(double lr);  // throws ValueError unless it is from 0 to 1e30

  // Everything an uninterrupted run would have in memory besides the parameters: masters, moments, counts.
  // Tensors are shared: loading assigns into them.
  std::vector<Parameter> state() const;
  void set_steps(std::int64_t steps);  // throws ValueError for a negative one
  // What another optimizer's state() and steps() were. Throws ValueError, ShapeError or DTypeError naming the
  // tensor if it is not of this optimizer's names, shapes and formats; nothing has changed then.
  void load(const std::vector<Parameter>& state, std::int64_t steps);

  // From now on, backward updates each parameter as soon as its gradient is complete, and drops the gradient:
  // no two need be in memory. step() then only ends the step, and so does zero_grad(). Bits are those of an
  // ordinary step. A gradient that is not finite throws NonFiniteError, out of backward, that names the
  // parameters updated before it; a second backward in one step throws Error.
  //   The norm of all gradients is known only after the last of them has been used. `clip_previous_norm`
  // scales gradients down by what the norm of the step before was above it: the first step is not clipped, a
  // sudden large one neither. 0 means no clipping. A call with the clipping that is on already keeps the
  // norm. A parameter that requires no gradient any more is left out.
  void consume_gradients(bool on, double clip_previous_norm = 0);
  bool consumes_gradients() const { return consuming_ != nullptr; }
  // For what needs all gradients at once: throws ValueError from `where` if they are consumed.
  void expect_gradients(std::string_view where) const;
  // Norm of the gradients consumed by the step ended last, before clipping.
  double consumed_norm() const;

 protected:
  // For constructors: a state tensor, of zeros, of parameter number `index`, in place `slot` of Tile::state.
  // A tensor of another shape than the parameter's must be float32.
  void keep_state(std::size_t index, std::size_t slot, std::string_view name, const Shape& shape,
                  DType dtype);
  const Tensor& state_tensor(std::size_t index, std::size_t slot) const { return state_[index][slot]; }

  // Before the tiles of a parameter: for rules that need to know something of all of it.
  virtual void prepare(std::size_t /*index*/, const Tensor& /*gradient*/, float /*gradient_scale*/) {}
  // The rule: changes weights and state in place. Runs on several threads at once, on disjoint tiles.
  virtual void rule(std::size_t index, const Tile& tile) = 0;

  // For prepare(): calls `read` with every tile of the parameter, on several threads at once. It must not
  // change what it sees.
  void read_tiles(std::size_t index, const Tensor& gradient, float gradient_scale,
                  const std::function<void(const Tile&)>& read) const;

 private:
  struct Narrow;
  struct Buffers;
  struct Consuming;
  struct Hook;
  // Versions at the end of the last update: of a parameter, and of what is kept beside it.
  struct Versions {
    std::uint64_t parameter, beside;
  };
  // The float32 master, trailing bits or compensation of a narrow parameter; undefined if there is none.
  Tensor beside(std::size_t index) const;
  Versions versions(std::size_t index) const;
  void follow_write(std::size_t index) const;
  void update(std::size_t index, float gradient_scale);
  void consume(std::size_t index);
  void finish_consuming();
  Tile load_tile(std::size_t index, std::int64_t begin, std::int64_t count, Buffers& buffers) const;
  void store_state(std::size_t index, const Tile& tile, RandomWords random) const;
  bool elementwise(std::size_t index, std::size_t slot) const;

  std::vector<Parameter> parameters_;
  std::vector<Tensor> masters_;                  // float32; the parameter itself, a copy, or undefined
  std::vector<std::unique_ptr<Narrow>> narrow_;  // those without a float32 master
  std::vector<Versions> versions_;
  std::vector<std::array<Tensor, Tile::kMaxState>> state_;
  std::array<std::string, Tile::kMaxState> state_names_;
  std::int64_t steps_ = 0;
  std::unique_ptr<Consuming> consuming_;

 protected:
  double lr_ = 0;
};

}  // namespace halftone::amp
