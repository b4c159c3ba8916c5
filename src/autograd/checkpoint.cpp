// SPDX-License-Identifier: Apache-2.0
//
// Forward runs the function without recording and keeps its inputs and the state of the thread. Backward runs
// it again on the same slots, recording this time, and the engine goes on with the recomputed graph as if it
// had been there from the start: gradients add up in the same order, so they have the same bits.
#include <utility>

#include "autograd/engine.h"

namespace halftone {
namespace {

struct CheckpointNode final : detail::Node {
  CheckpointNode(CheckpointFunction fn, const std::vector<Tensor>& tensors,
                 std::vector<std::shared_ptr<detail::Slot>> slots)
      : Node("checkpoint", std::move(slots)), fn(std::move(fn)), state(thread_state()) {
    for (const Tensor& t : tensors) {
      saved.push_back(t.detach());
      versions.push_back(t.version());
    }
  }

  void backward(const Tensor& gradient, Gradients&, detail::Engine& engine) override {
    for (std::size_t i = 0; i < saved.size(); ++i) {
      if (saved[i].version() != versions[i])
        throw Error("checkpoint",
                    "input " + std::to_string(i) + " was modified in place after the forward pass",
                    "inputs that are still what they were", "modifying a copy");
      saved[i].set_slot(inputs[i]);
    }
    const Tensor output = recompute();
    const auto root = detail::slot_of(output);
    if (!root) return;  // nothing inside depends on a parameter after all
    if (output.shape() != gradient.shape() || output.dtype() != gradient.dtype())
      throw Error("checkpoint",
                  "recomputing gave " + std::string(output.dtype().name()) + " " + to_string(output.shape()),
                  std::string(gradient.dtype().name()) + " " + to_string(gradient.shape()) +
                      " as in the forward pass",
                  "a function that depends on its inputs alone");
    engine.splice(*this, root, gradient);
  }

  Tensor recompute() const {
    const ThreadState now = thread_state();
    const ThreadStateScope scope;
    thread_state() = state;
    thread_state().recomputing = true;
    Tensor output = fn(saved);
    thread_state().seed = now.seed;
    thread_state().random_index = now.random_index;
    return output;
  }

  void release() override {
    saved.clear();
    fn = nullptr;
  }

  CheckpointFunction fn;
  std::vector<Tensor> saved;
  std::vector<std::uint64_t> versions;
  ThreadState state;
};

}  // namespace

Tensor checkpoint(CheckpointFunction fn, std::vector<Tensor> inputs, CheckpointOptions) {
  if (!thread_state().grad_enabled) return fn(inputs);
  std::vector<std::shared_ptr<detail::Slot>> slots;
  for (const Tensor& input : inputs) slots.push_back(detail::slot_of(input));
  auto node = std::make_shared<CheckpointNode>(fn, inputs, std::move(slots));
  Tensor output = no_grad([&] { return fn(inputs); });
  if (!output.is_unique()) output = output.detach();  // the function may have returned one of its inputs
  detail::attach(output, std::move(node));
  return output;
}

}  // namespace halftone
