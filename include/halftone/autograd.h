// SPDX-License-Identifier: Apache-2.0
//
// Reverse-mode differentiation. Ops record nodes (floor `op`); backward() walks them in reverse order of
// creation. Gradients of leaves, and of tensors used more than once, are summed in float32 (float64
// if the format of the tensor is beyond it), and rounded once when complete (laws 2 and 3).
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "halftone/backend.h"
#include "halftone/tensor.h"

namespace halftone {

class OperandQuantizer;  // casting.h
struct CastOverride;

// A tensor to be trained, and its path in the model ("blocks.0.attention.weight").
struct Parameter {
  std::string name;
  Tensor value;
};

// The format in which what has that one is added up: float32, or float64 for formats beyond it.
DType sum_dtype(DType dtype);

// Everything about the running thread that an op's result depends on besides its inputs. A scope is: copy,
// change, restore. checkpoint() keeps a copy and restores it to recompute.
struct ThreadState {
  const Backend* backend = &find_backend("cpu");
  std::optional<DType> autocast;                      // compute format of the innermost autocast region
  std::shared_ptr<const OperandQuantizer> quantizer;  // of that region; null: operands are only cast
  std::shared_ptr<const CastOverride> overrides;      // innermost first
  bool grad_enabled = true;                           // ops record nodes
  bool training = true;            // batch norm uses and updates batch statistics, dropout drops
  bool recomputing = false;        // inside the backward of a checkpoint: side effects were done before
  std::uint64_t seed = 0;          // of every random number drawn below
  std::uint64_t random_index = 0;  // next unused index; manual_seed sets it to 0
};
ThreadState& thread_state();

// Restores all of it but the random numbers: those drawn inside a scope count.
class ThreadStateScope {
 public:
  ThreadStateScope() : saved_(thread_state()) {}
  ~ThreadStateScope() {
    saved_.seed = thread_state().seed;
    saved_.random_index = thread_state().random_index;
    thread_state() = saved_;
  }
  ThreadStateScope(const ThreadStateScope&) = delete;
  ThreadStateScope& operator=(const ThreadStateScope&) = delete;

 private:
  ThreadState saved_;
};

void manual_seed(std::uint64_t seed);
// First of `count` fresh random indices of this thread.
std::uint64_t take_random(std::uint64_t count);

// Names a leaf, for messages: the path of the parameter in its model.
void set_name(const Tensor& leaf, std::string name);
std::string name_of(const Tensor& tensor);  // empty if it has none

// Runs f with no node recorded, and returns what it returns.
template <class F>
decltype(auto) no_grad(F&& f) {
  const ThreadStateScope scope;
  thread_state().grad_enabled = false;
  return std::forward<F>(f)();
}

// no_grad, and layers behave as in evaluation. Random numbers drawn inside count.
template <class F>
decltype(auto) inference(F&& f) {
  const ThreadStateScope scope;
  thread_state().grad_enabled = false;
  thread_state().training = false;
  return std::forward<F>(f)();
}

template <class F>
decltype(auto) with_backend(std::string_view name, F&& f) {
  const ThreadStateScope scope;
  thread_state().backend = &find_backend(name);
  return std::forward<F>(f)();
}

// Differentiates a scalar (or, given a gradient of its shape, any tensor) with respect to every leaf it
// depends on, adding to their grad(). Frees the graph as it goes: a second call throws.
void backward(const Tensor& loss, const Tensor& gradient = {});

// Called during backward as soon as the gradient of this leaf is complete, on the thread that runs backward;
// the gradient may be used and dropped (zero_grad) there and then. One hook per leaf; an empty one removes
// it. Throws ValueError if the tensor is not a leaf.
void set_gradient_hook(const Tensor& leaf, std::function<void()> hook);
const std::function<void()>& gradient_hook(const Tensor& leaf);  // empty if it has none; throws likewise

// d sum(y * gradient) / d inputs, in their order, without touching any grad(). An input that y does not
// depend on gets zeros. Results are float32 (float64 of formats beyond it). The graph of y is consumed, as by
// backward; with create_graph it stays, and the results can be differentiated again (a gradient penalty); an
// op on the way without a second derivative throws Unsupported naming itself. Throws ValueError for an input
// that requires no gradient.
struct GradientOptions {
  bool create_graph = false;
};
std::vector<Tensor> gradients(const Tensor& y, const std::vector<Tensor>& inputs,
                              GradientOptions options = {}, const Tensor& gradient = {});

// Where a node puts the gradients of its op's inputs.
class Gradients {
 public:
  virtual ~Gradients() = default;
  virtual bool wanted(int input) const = 0;
  virtual DType dtype(int input) const = 0;         // the format to deliver; float32 for leaves and fan-in
  virtual Tensor accumulator(int input) const = 0;  // a float32 sum already begun: add into it, or undefined
  // If nothing else will come to this input, all that has come to it so far, in any format: add it to the
  // gradient and deliver their sum, in dtype(), which from then on is the input's own. Otherwise undefined.
  virtual Tensor take_sum(int /*input*/) { return {}; }
  virtual void deliver(int input, Tensor gradient) = 0;  // instead; any format
};

// Activation checkpointing (Chen, Xu, Zhang, Guestrin, "Training deep nets with sublinear memory cost",
// 2016): runs fn and keeps only its inputs; backward runs fn again, under the same casts, random numbers and
// modes. Gradients have the bits of the run without. fn may use parameters that it captures, and
// an input may be undefined; where nothing needs a gradient, neither does the result. Throws Error from
// backward, naming the op, if recomputing does not run the same ops on the same shapes and formats.
struct CheckpointOptions {
  // Results of ops of these names are kept and not computed again ("linear", "conv2d": those that cost most).
  std::vector<std::string> keep;
};
using CheckpointFunction = std::function<Tensor(const std::vector<Tensor>& inputs)>;
Tensor checkpoint(CheckpointFunction fn, std::vector<Tensor> inputs, CheckpointOptions options = {});

// Compares backward's gradient of a scalar function with central differences, element by element, in float64.
// Inputs must be float64 leaves. Returns the largest |difference| / (1 + |numeric|) and where it was.
struct GradcheckResult {
  double worst = 0;
  std::string where;
};
GradcheckResult gradcheck(const std::function<Tensor(const std::vector<Tensor>&)>& fn,
                          std::vector<Tensor> inputs, double step = 1e-5);

// Law 5: while a watch is active on this thread, every op's result and every gradient is scanned, and the
// first non-finite one is described: op, forward or backward, how many infinities and NaNs, nearest
// parameter.
struct NonFinite {
  std::string op;         // "conv2d"
  std::string direction;  // "forward" or "backward"
  std::string layer;      // path of the parameter used by the op, or of the one used last before it
  std::int64_t infinities = 0, nans = 0;
  std::string describe() const;
};
class NonFiniteWatch {
 public:
  NonFiniteWatch();
  ~NonFiniteWatch();
  NonFiniteWatch(const NonFiniteWatch&) = delete;
  NonFiniteWatch& operator=(const NonFiniteWatch&) = delete;
  const std::optional<NonFinite>& first() const { return first_; }

  // For the floors that produce values: reports a result to the active watch, if there is one.
  static bool watching();
  static void see(const Tensor& value, std::string_view op, std::string_view direction,
                  std::string_view layer);

 private:
  std::optional<NonFinite> first_;
  std::string last_layer_;
  NonFiniteWatch* outer_;
};

}  // namespace halftone
