// SPDX-License-Identifier: Apache-2.0
#include "autograd/node.h"

#include <atomic>
#include <utility>

namespace halftone::detail {

Node::Node(std::string_view name, std::vector<std::shared_ptr<Slot>> inputs)
    : name(name), inputs(std::move(inputs)) {
  static std::atomic<std::uint64_t> created = 0;
  id = ++created;
}

// A graph that backward never visited may be a chain of any length; letting each node destroy the next would
// exhaust the stack. The outermost destructor works the chain off as a list instead.
Node::~Node() {
  thread_local std::vector<std::shared_ptr<Slot>>* pending = nullptr;
  if (pending != nullptr) {
    for (auto& slot : inputs)
      if (slot) pending->push_back(std::move(slot));
    return;
  }
  std::vector<std::shared_ptr<Slot>> list = std::move(inputs);
  pending = &list;
  while (!list.empty()) {
    const std::shared_ptr<Slot> slot = std::move(list.back());
    list.pop_back();
  }
  pending = nullptr;
}

std::shared_ptr<Slot> slot_of(const Tensor& tensor) {
  return tensor ? std::static_pointer_cast<Slot>(tensor.slot()) : nullptr;
}

std::shared_ptr<Slot> attach(const Tensor& output, std::shared_ptr<Node> node) {
  auto slot = std::make_shared<Slot>(output.dtype(), output.shape());
  slot->producer = std::move(node);
  output.set_slot(slot);
  return slot;
}

std::string layer_of(const Node& node) {
  for (const auto& slot : node.inputs)
    if (slot && !slot->name.empty()) return slot->name;
  return {};
}

}  // namespace halftone::detail
