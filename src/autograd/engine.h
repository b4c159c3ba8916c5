// SPDX-License-Identifier: Apache-2.0
//
// One backward pass. The gradient of a tensor is complete when all its consumers have been visited, which the
// order of node numbers guarantees; a leaf with a hook counts them. A tensor with one consumer receives its
// gradient in its own format, as the kernel rounded it; a leaf, or a tensor with several consumers, receives
// a float32 sum (float64 for float64), which the last op to deliver may add to and round itself.
#pragma once

#include <memory>
#include <queue>
#include <unordered_map>
#include <vector>

#include "autograd/node.h"

namespace halftone::detail {

// Gradients of chosen slots, leaves or not, in float32.
using Collected = std::unordered_map<const Slot*, Tensor>;

class Engine {
 public:
  Engine() = default;
  // Delivers to the entries of `collected`; no grad() of a leaf is touched.
  explicit Engine(Collected& collected) : collected_(&collected) {}
  void run(const std::shared_ptr<Slot>& root, const Tensor& gradient);

  // For a checkpoint node in the middle of run(): continues with the graph that produced `root`, which has
  // been recomputed in the place of `node`.
  void splice(const Node& node, const std::shared_ptr<Slot>& root, const Tensor& gradient);

 private:
  friend class NodeGradients;

  struct Pending {
    Tensor sum;
    int consumers = 0;   // that deliver to it
    int unfinished = 0;  // nodes not yet done that do, or did until a checkpoint's own took their place
    bool taken = false;  // the sum, by the last consumer: it delivers the total
    bool visited = false;
  };

  void discover(const std::shared_ptr<Slot>& root);
  void expect(const std::shared_ptr<Slot>& leaf);  // one more node that will deliver to it
  void complete(const Node& node);  // node has been visited: calls the hooks that waited for it
  bool collects(const Slot& slot) const { return collected_ != nullptr && collected_->count(&slot) != 0; }
  bool wanted(const Slot& slot) const { return collected_ == nullptr || !slot.is_leaf() || collects(slot); }
  Tensor& leaf_gradient(Slot& slot) { return collected_ == nullptr ? slot.grad : (*collected_)[&slot]; }
  DType wanted_dtype(const Slot& slot) const;
  void deliver(const std::shared_ptr<Slot>& slot, Tensor gradient);

  struct LowerNumber {
    bool operator()(const std::shared_ptr<Slot>& a, const std::shared_ptr<Slot>& b) const {
      return a->producer->id < b->producer->id;
    }
  };
  Collected* collected_ = nullptr;
  std::unordered_map<const Slot*, Pending> pending_;
  std::unordered_map<const Slot*, int> hooked_;  // leaves with a hook: nodes not yet visited
  std::priority_queue<std::shared_ptr<Slot>, std::vector<std::shared_ptr<Slot>>, LowerNumber> ready_;
};

}  // namespace halftone::detail
