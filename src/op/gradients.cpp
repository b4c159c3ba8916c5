// SPDX-License-Identifier: Apache-2.0
//
// gradients(). Without create_graph it is the engine of backward, delivering elsewhere. With it, nodes are
// visited in the same order, but each gives its gradients as tensors made of ops (Op::differentiate), and the
// graph that is visited stays for whoever differentiates the result.
#include <fmt/format.h>

#include <algorithm>
#include <queue>
#include <unordered_map>
#include <utility>

#include "autograd/engine.h"
#include "halftone/ops.h"
#include "op/differentiate.h"

namespace halftone {
namespace {

using detail::Node;
using detail::Slot;
using SlotPointer = std::shared_ptr<Slot>;

class GraphEngine {
 public:
  explicit GraphEngine(detail::Collected& results) : results_(results) {}

  void run(const SlotPointer& root, const Tensor& gradient) {
    discover(root);
    deliver(*root, gradient);
    while (!ready_.empty()) {
      const SlotPointer slot = ready_.top();
      ready_.pop();
      Pending& pending = pending_.at(slot.get());
      const Tensor sum = std::move(pending.sum);
      if (!sum) continue;
      if (is_result(*slot)) results_[slot.get()] = sum;
      if (!pending.passes) continue;
      NodeGradients gradients(*this, *slot->producer);
      slot->producer->differentiate(slot, sum.dtype() == slot->dtype ? sum : cast(sum, slot->dtype),
                                    gradients);
    }
  }

 private:
  struct Pending {
    SlotPointer slot;  // kept: the map goes by address
    Tensor sum;
    bool visited = false;
    bool passes = false;  // an input asked for lies behind its producer
  };

  class NodeGradients final : public detail::GraphGradients {
   public:
    NodeGradients(GraphEngine& engine, const Node& node) : engine_(engine), node_(node) {}
    bool wanted(int input) const override { return slot(input) && engine_.needed(*slot(input)); }
    DType dtype(int input) const override { return sum_dtype(slot(input)->dtype); }
    Tensor accumulator(int) const override { return {}; }
    void deliver(int input, Tensor gradient) override {
      if (NonFiniteWatch::watching()) NonFiniteWatch::see(gradient, node_.name, "backward", layer_of(node_));
      engine_.deliver(*slot(input), gradient);
    }
    void splice(const Node&, const SlotPointer& root, const Tensor& gradient) override {
      engine_.discover(root);
      engine_.deliver(*root, gradient);
    }

   private:
    const SlotPointer& slot(int input) const { return node_.inputs[static_cast<std::size_t>(input)]; }
    GraphEngine& engine_;
    const Node& node_;
  };

  // As in the engine; and finds out what lies on the way to the inputs asked for, so that nothing else needs
  // a second derivative.
  void discover(const SlotPointer& root) {
    std::vector<SlotPointer> found, stack{root};
    while (!stack.empty()) {
      const SlotPointer slot = std::move(stack.back());
      stack.pop_back();
      Pending& pending = pending_[slot.get()];
      if (std::exchange(pending.visited, true)) continue;
      pending.slot = slot;
      if (slot->is_leaf()) continue;
      if (slot->producer->used)
        throw Error(
            "gradients",
            fmt::format("the graph behind '{}' was freed by an earlier backward", slot->producer->name),
            "a graph that is still there", "calling gradients() before backward, or computing y again");
      found.push_back(slot);
      for (const auto& input : slot->producer->inputs)
        if (input) stack.push_back(input);
    }
    std::sort(found.begin(), found.end(), LowerNumber());
    for (const SlotPointer& slot : found) {
      pending_[slot.get()].passes = leads_to_result(*slot->producer);
      if (needed(*slot)) ready_.push(slot);
    }
  }

  bool is_result(const Slot& slot) const { return results_.count(&slot) != 0; }

  bool leads_to_result(const Node& node) const {
    auto any = [](const std::vector<SlotPointer>& slots, auto&& test) {
      return std::any_of(slots.begin(), slots.end(), [&](const SlotPointer& s) { return s && test(*s); });
    };
    return any(node.inputs, [&](const Slot& s) { return needed(s); }) ||
           any(node.captured, [&](const Slot& s) { return is_result(s); });
  }

  bool needed(const Slot& slot) const {
    if (is_result(slot)) return true;
    const auto it = pending_.find(&slot);
    return it != pending_.end() && it->second.passes;
  }

  // Gradients come in float32 or wider, and are rounded once, when their sum is complete and goes on.
  void deliver(const Slot& slot, const Tensor& gradient) {
    if (!needed(slot)) return;
    if (gradient.shape() != slot.shape)
      throw ShapeError("gradients", "a gradient of shape " + to_string(gradient.shape()),
                       to_string(slot.shape));
    Tensor& sum = slot.is_leaf() ? results_[&slot] : pending_[&slot].sum;
    sum = sum ? add(widened(sum), widened(gradient)) : gradient;
  }

  struct LowerNumber {
    bool operator()(const SlotPointer& a, const SlotPointer& b) const {
      return a->producer->id < b->producer->id;
    }
  };
  detail::Collected& results_;
  std::unordered_map<const Slot*, Pending> pending_;
  std::priority_queue<SlotPointer, std::vector<SlotPointer>, LowerNumber> ready_;
};

SlotPointer root_of(const Tensor& y, const Tensor& gradient) {
  const auto root = detail::slot_of(y);
  if (!root)
    throw Error("gradients", "a tensor that depends on no leaf with requires_grad",
                "a tensor computed from parameters or inputs",
                "set_requires_grad() on what to differentiate by, and computing outside no_grad");
  if (!gradient && y.count() != 1)
    throw ShapeError("gradients", "a tensor of shape " + to_string(y.shape()),
                     "a scalar, or a gradient of the same shape");
  return root;
}

}  // namespace

std::vector<Tensor> gradients(const Tensor& y, const std::vector<Tensor>& inputs, GradientOptions options,
                              const Tensor& gradient) {
  const SlotPointer root = root_of(y, gradient);
  detail::Collected results;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const auto slot = detail::slot_of(inputs[i]);
    if (!slot)
      throw ValueError("gradients", fmt::format("input {} that requires no gradient", i),
                       "leaves, or tensors computed from them", "set_requires_grad() before computing y");
    results.emplace(slot.get(), Tensor());
  }
  const ThreadStateScope scope;
  thread_state().grad_enabled = options.create_graph;
  thread_state().autocast.reset();
  thread_state().quantizer = nullptr;
  thread_state().overrides = nullptr;
  const Tensor seed = gradient ? gradient : ones(y.shape(), y.dtype());
  if (options.create_graph)
    GraphEngine(results).run(root, seed);
  else
    detail::Engine(results).run(root, seed);
  std::vector<Tensor> found;
  for (const Tensor& input : inputs) {
    const Tensor& result = results.at(detail::slot_of(input).get());
    found.push_back(result ? widened(result) : zeros(input.shape(), sum_dtype(input.dtype())));
  }
  return found;
}

}  // namespace halftone
