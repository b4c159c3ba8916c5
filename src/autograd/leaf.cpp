// SPDX-License-Identifier: Apache-2.0
//
// The autograd side of Tensor: leaves, their names and their gradients.
#include <fmt/format.h>

#include "autograd/node.h"

namespace halftone {
namespace {

std::function<void()>& hook_of(std::string_view where, const Tensor& leaf) {
  const auto slot = detail::slot_of(leaf);
  if (!slot || !slot->is_leaf())
    throw ValueError(where, "a tensor that is not a leaf", "a leaf with requires_grad");
  return slot->hook;  // the tensor keeps its slot
}

}  // namespace

bool Tensor::requires_grad() const { return slot() != nullptr; }

Tensor& Tensor::set_requires_grad(bool value) {
  if (value && !dtype().is_floating())
    throw DTypeError("set_requires_grad", fmt::format("a tensor of {}", dtype().name()),
                     "a floating-point format");
  if (!value) {
    set_slot(nullptr);
  } else if (!requires_grad()) {
    set_slot(std::make_shared<detail::Slot>(dtype(), shape()));
  }
  return *this;
}

Tensor Tensor::grad() const {
  const auto slot = detail::slot_of(*this);
  return slot ? slot->grad : Tensor();
}

void Tensor::zero_grad() {
  if (const auto slot = detail::slot_of(*this)) slot->grad = Tensor();
}

void Tensor::backward() const { halftone::backward(*this); }

void set_name(const Tensor& leaf, std::string name) {
  if (const auto slot = detail::slot_of(leaf)) slot->name = std::move(name);
}

void set_gradient_hook(const Tensor& leaf, std::function<void()> hook) {
  hook_of("set_gradient_hook", leaf) = std::move(hook);
}

const std::function<void()>& gradient_hook(const Tensor& leaf) { return hook_of("gradient_hook", leaf); }

std::string name_of(const Tensor& tensor) {
  const auto slot = detail::slot_of(tensor);
  return slot ? slot->name : std::string();
}

}  // namespace halftone
