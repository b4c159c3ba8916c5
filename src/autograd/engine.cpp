// SPDX-License-Identifier: Apache-2.0
#include "autograd/engine.h"

#include <fmt/format.h>

#include <utility>

#include "backend/precision.h"
#include "halftone/profile.h"

namespace halftone::detail {
namespace {

constexpr Formula kAdd = formula<2>([](auto x, auto y) { return x + y; });

Tensor converted(const Tensor& x, DType dtype) {
  const profile::Scope scope("convert gradient", profile::Class::cast);
  Tensor result(x.shape(), dtype);
  thread_state().backend->copy(x, result);
  return result;
}

// True if the engine may add to the sum in place.
bool owned_sum(const Tensor& sum, DType dtype) {
  return sum && sum.is_unique() && sum.is_contiguous() && sum.dtype() == sum_dtype(dtype);
}

// sum += x in the format of the sum, which must be float32 or float64.
void add_to(Tensor& sum, const Tensor& x) {
  const profile::Scope scope("add gradient", profile::Class::elementwise);
  const Tensor operands[] = {sum, x};
  thread_state().backend->elementwise(kAdd, operands, sum);
}

}  // namespace

// The gradients of one node's inputs.
class NodeGradients final : public Gradients {
 public:
  NodeGradients(Engine& engine, const Node& node) : engine_(engine), node_(node) {}

  bool wanted(int input) const override { return slot(input) && engine_.wanted(*slot(input)); }
  DType dtype(int input) const override { return engine_.wanted_dtype(*slot(input)); }

  Tensor accumulator(int input) const override {
    // What is added in place no watch would see; and what nobody asked for must not begin.
    if (NonFiniteWatch::watching() || !wanted(input)) return {};
    const auto& s = slot(input);
    if (s->is_leaf()) return engine_.leaf_gradient(*s);
    const auto it = engine_.pending_.find(s.get());
    return it != engine_.pending_.end() && owned_sum(it->second.sum, s->dtype) ? it->second.sum : Tensor();
  }

  Tensor take_sum(int input) override {
    const auto& s = slot(input);
    const auto it = engine_.pending_.find(s.get());
    if (it == engine_.pending_.end() || it->second.unfinished != 1 || engine_.collects(*s)) return {};
    it->second.taken = it->second.sum.defined();
    return std::move(it->second.sum);
  }

  void deliver(int input, Tensor gradient) override {
    if (NonFiniteWatch::watching()) NonFiniteWatch::see(gradient, node_.name, "backward", layer_of(node_));
    engine_.deliver(slot(input), std::move(gradient));
  }

 private:
  const std::shared_ptr<Slot>& slot(int input) const { return node_.inputs[static_cast<std::size_t>(input)]; }
  Engine& engine_;
  const Node& node_;
};

// Counts, for every slot reachable from root, the nodes that will deliver to it, and queues their producers.
void Engine::discover(const std::shared_ptr<Slot>& root) {
  std::vector<std::shared_ptr<Slot>> stack{root};
  while (!stack.empty()) {
    const std::shared_ptr<Slot> slot = std::move(stack.back());
    stack.pop_back();
    if (slot->is_leaf() || std::exchange(pending_[slot.get()].visited, true)) continue;
    if (slot->producer->used)
      throw Error("backward",
                  fmt::format("the graph behind '{}' was freed by an earlier backward", slot->producer->name),
                  "one backward per forward", "computing the loss again, or adding losses before backward");
    ready_.push(slot);
    for (const auto& leaf : slot->producer->captured) expect(leaf);
    for (const auto& input : slot->producer->inputs) {
      if (!input) continue;
      if (input->is_leaf()) {
        expect(input);
        continue;
      }
      Pending& pending = pending_[input.get()];
      ++pending.consumers, ++pending.unfinished;
      stack.push_back(input);
    }
  }
}

void Engine::expect(const std::shared_ptr<Slot>& leaf) {
  if (!leaf || !leaf->hook || collected_ != nullptr) return;  // gradients() leaves grad() and hooks alone
  const auto [it, is_new] = hooked_.try_emplace(leaf.get(), 0);
  if (!is_new && it->second == 0)
    throw Error(
        "backward",
        fmt::format("'{}', whose gradient was complete, is used again by a recomputation", leaf->name),
        "a checkpointed function that uses the same parameters in forward and backward");
  ++it->second;
}

// A checkpoint counts as one more consumer of what its function uses until the nodes that it made are known.
void Engine::complete(const Node& node) {
  for (const auto& input : node.inputs)
    if (input && !input->is_leaf()) --pending_[input.get()].unfinished;
  const auto visited = [&](const std::shared_ptr<Slot>& leaf) {
    const auto it = leaf && leaf->is_leaf() ? hooked_.find(leaf.get()) : hooked_.end();
    if (it != hooked_.end() && --it->second == 0 && leaf->grad && leaf->hook) leaf->hook();
  };
  for (const auto& leaf : node.captured) visited(leaf);
  for (const auto& input : node.inputs) visited(input);
}

DType Engine::wanted_dtype(const Slot& slot) const {
  const auto it = pending_.find(&slot);
  const bool shared = it != pending_.end() && it->second.consumers > 1 && !it->second.taken;
  return slot.is_leaf() || shared || collects(slot) ? sum_dtype(slot.dtype) : slot.dtype;
}

void Engine::deliver(const std::shared_ptr<Slot>& slot, Tensor gradient) {
  if (gradient.shape() != slot->shape)
    throw ShapeError("backward", "a gradient of shape " + to_string(gradient.shape()),
                     to_string(slot->shape));
  if (!wanted(*slot)) return;
  const DType dtype = wanted_dtype(*slot);
  Tensor& sum = slot->is_leaf() ? leaf_gradient(*slot) : pending_[slot.get()].sum;
  if (!sum) {
    // What somebody else can see must not become a sum that later deliveries, or the user, add to. Within the
    // graph a first gradient may wait as it is: it may be the only one, or be taken by the op that adds to
    // it.
    const bool result = slot->is_leaf() || collects(*slot);
    const bool keep =
        !result || (gradient.dtype() == dtype && gradient.is_unique() && gradient.is_contiguous());
    sum = keep ? std::move(gradient) : converted(gradient, dtype);
    return;
  }
  if (!slot->is_leaf() && !owned_sum(sum, slot->dtype)) sum = converted(sum, sum_dtype(slot->dtype));
  add_to(sum, gradient);
}

void Engine::splice(const Node& node, const std::shared_ptr<Slot>& root, const Tensor& gradient) {
  for (const auto& input : node.inputs)
    if (input && !input->is_leaf()) --pending_[input.get()].consumers;
  discover(root);
  deliver(root, gradient);
}

void Engine::run(const std::shared_ptr<Slot>& root, const Tensor& gradient) {
  discover(root);
  deliver(root, gradient);
  if (root->is_leaf() && root->hook && collected_ == nullptr) root->hook();
  while (!ready_.empty()) {
    const std::shared_ptr<Slot> slot = ready_.top();
    ready_.pop();
    const std::shared_ptr<Node> node = slot->producer;
    node->used = true;
    Tensor sum = std::move(pending_[slot.get()].sum);
    if (collects(*slot)) (*collected_)[slot.get()] = sum;
    if (sum && sum.dtype() != slot->dtype) sum = converted(sum, slot->dtype);
    if (sum) {
      NodeGradients gradients(*this, *node);
      node->backward(sum, gradients, *this);
    }
    node->release();
    // The map is keyed by address: entries go before the slots they belong to can.
    pending_.erase(slot.get());
    complete(*node);
    node->captured.clear();
    node->inputs.clear();
  }
}

}  // namespace halftone::detail

namespace halftone {

DType sum_dtype(DType dtype) { return is_wide(dtype) ? float64 : float32; }

void backward(const Tensor& loss, const Tensor& gradient) {
  const auto slot = detail::slot_of(loss);
  if (!slot)
    throw Error("backward", "a tensor that depends on no leaf with requires_grad",
                "a loss computed from parameters",
                "set_requires_grad() on the parameters, and computing the loss outside no_grad");
  if (!gradient && loss.count() != 1)
    throw ShapeError("backward", "a tensor of shape " + to_string(loss.shape()),
                     "a scalar, or a gradient of the same shape");
  const ThreadStateScope scope;
  thread_state().grad_enabled = false;
  thread_state().autocast.reset();
  thread_state().quantizer = nullptr;
  thread_state().overrides = nullptr;
  detail::Engine().run(slot, gradient ? gradient : ones(loss.shape(), loss.dtype()));
}

}  // namespace halftone
