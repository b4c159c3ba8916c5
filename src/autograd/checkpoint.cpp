// SPDX-License-Identifier: Apache-2.0
//
// Forward runs the function without recording and keeps its inputs and the state of the thread. Backward runs
// it again on the same slots, recording this time, and the engine goes on with the recomputed graph as if it
// had been there from the start: gradients add up in the same order, so they have the same bits. The same ops
// must come again (op_trace.h).
#include <algorithm>
#include <utility>

#include "autograd/engine.h"
#include "autograd/op_trace.h"

namespace halftone {
namespace {

using Mode = detail::OpTrace::Scope::Mode;

// The state of the forward pass, for as long as it lives; random numbers drawn meanwhile do not count.
class ForwardState {
 public:
  explicit ForwardState(const ThreadState& forward) : now_(thread_state()) {
    thread_state() = forward;
    thread_state().recomputing = true;
  }
  ~ForwardState() { thread_state() = now_; }
  ForwardState(const ForwardState&) = delete;
  ForwardState& operator=(const ForwardState&) = delete;

 private:
  ThreadState now_;
};

struct CheckpointNode final : detail::Node {
  CheckpointNode(CheckpointFunction fn, const std::vector<Tensor>& tensors,
                 std::vector<std::shared_ptr<detail::Slot>> slots, std::vector<std::string> keep)
      : Node("checkpoint", std::move(slots)),
        fn(std::move(fn)),
        state(thread_state()),
        trace(std::move(keep)) {
    for (const Tensor& t : tensors) {  // which may be undefined: an optional operand
      saved.push_back(t ? t.detach() : Tensor());
      versions.push_back(t ? t.version() : 0);
    }
  }

  Tensor forward(const std::vector<Tensor>& tensors) {
    Tensor output = no_grad([&] {
      const detail::OpTrace::Scope scope(trace, Mode::record);
      return fn(tensors);
    });
    // What the function captures: leaves, and tensors of the graph, which are inputs like any other.
    for (const auto& slot : trace.take_used())
      if (std::find(inputs.begin(), inputs.end(), slot) == inputs.end())
        (slot->is_leaf() ? captured : inputs).push_back(slot);
    return output;
  }

  void backward(const Tensor& gradient, Gradients&, detail::Engine& engine) override {
    if (const auto root = recompute(gradient)) engine.splice(*this, root, gradient);
  }

  void differentiate(const std::shared_ptr<detail::Slot>&, const Tensor& gradient,
                     detail::GraphGradients& gradients) override {
    if (const auto root = recompute(gradient)) gradients.splice(*this, root, gradient);
  }

  bool has_inputs() const {
    return !captured.empty() ||
           std::any_of(inputs.begin(), inputs.end(), [](const auto& s) { return s != nullptr; });
  }

  // The result of the recomputed graph; null if nothing inside depends on a parameter after all.
  std::shared_ptr<detail::Slot> recompute(const Tensor& gradient) {
    std::vector<Tensor> tensors;
    for (std::size_t i = 0; i < saved.size(); ++i) {
      if (!saved[i]) {
        tensors.emplace_back();
        continue;
      }
      if (saved[i].version() != versions[i])
        throw Error("checkpoint",
                    "input " + std::to_string(i) + " was modified in place after the forward pass",
                    "inputs that are still what they were", "modifying a copy");
      tensors.push_back(saved[i].detach());
      tensors.back().set_slot(inputs[i]);
    }
    const ForwardState forward(state);
    const detail::OpTrace::Scope scope(trace, Mode::compare);
    const Tensor output = fn(tensors);
    scope.finish();
    const auto root = detail::slot_of(output);
    if (root && (output.shape() != gradient.shape() || output.dtype() != gradient.dtype()))
      throw Error("checkpoint",
                  "recomputing gave " + std::string(output.dtype().name()) + " " + to_string(output.shape()),
                  std::string(gradient.dtype().name()) + " " + to_string(gradient.shape()) +
                      " as in the forward pass",
                  "a function that depends on its inputs alone");
    return root;
  }

  void release() override {
    saved.clear();
    fn = nullptr;
    trace = detail::OpTrace();
  }

  CheckpointFunction fn;
  std::vector<Tensor> saved;
  std::vector<std::uint64_t> versions;
  ThreadState state;
  detail::OpTrace trace;
};

}  // namespace

Tensor checkpoint(CheckpointFunction fn, std::vector<Tensor> inputs, CheckpointOptions options) {
  if (!thread_state().grad_enabled) return fn(inputs);
  std::vector<std::shared_ptr<detail::Slot>> slots;
  for (const Tensor& input : inputs) slots.push_back(detail::slot_of(input));
  auto node =
      std::make_shared<CheckpointNode>(std::move(fn), inputs, std::move(slots), std::move(options.keep));
  Tensor output = node->forward(inputs);
  // Nothing to differentiate, unless the function returned, as it is, a leaf that it captured.
  if (!node->has_inputs() && !output.requires_grad()) return output;
  if (!output.is_unique()) output = output.detach();  // the function may have returned one of its inputs
  detail::attach(output, std::move(node));
  return output;
}

}  // namespace halftone
