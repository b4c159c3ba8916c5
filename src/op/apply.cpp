// SPDX-License-Identifier: Apache-2.0
//
// The only path into a kernel: cast -> run -> record. What autocast means is decided here, from the op's
// policy and the compute format of the thread, and nowhere else; backward reads the operands as they were
// cast.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "autograd/node.h"
#include "halftone/op.h"
#include "op/cast_cache.h"

namespace halftone {
namespace {

struct Plan {
  std::optional<DType> operand;  // cast floating operands to this
  DType result;
};

Plan plan(const Op& op, std::span<const Tensor> inputs) {
  std::optional<DType> promoted;
  bool has_float64 = false;
  for (std::size_t i = 0; i < inputs.size() && i < static_cast<std::size_t>(op.operands); ++i) {
    if (!inputs[i] || !inputs[i].dtype().is_floating()) continue;
    promoted = promoted ? promote(*promoted, inputs[i].dtype()) : inputs[i].dtype();
    has_float64 |= inputs[i].dtype() == float64;
  }
  const DType first = inputs[0].dtype();
  if (!promoted) return {std::nullopt, first};
  if (op.cast == CastPolicy::keep) return {std::nullopt, first};
  if (has_float64) return {std::nullopt, float64};
  const std::optional<DType> compute = thread_state().autocast;
  switch (op.cast) {
    case CastPolicy::compute:
      return {compute, compute.value_or(*promoted)};
    case CastPolicy::inside_float32:
      return {std::nullopt, compute.value_or(first)};
    case CastPolicy::float32:
      return {std::nullopt, float32};
    default:
      return {std::nullopt, *promoted};
  }
}

struct OpNode final : detail::Node {
  OpNode(const Op& op, std::vector<std::shared_ptr<detail::Slot>> slots)
      : Node(op.name, std::move(slots)), op(op) {}

  void backward(const Tensor& gradient, Gradients& gradients, detail::Engine&) override {
    for (const auto& [tensor, version] : versions)
      if (tensor.version() != version)
        throw Error(op.name, "an operand saved for backward was modified in place",
                    "operands as they were in the forward pass",
                    "modifying a copy, or calling backward before the update");
    BackwardCall call{*backend, kept, output, gradient, options, saved, gradients, shapes};
    op.backward(call);
  }

  void release() override {
    kept.clear();
    output = Tensor();
    saved.clear();
    versions.clear();
  }

  // Keeps an alias without history: a node that held its own output's slot would never be freed.
  Tensor keep(const Tensor& tensor) {
    Tensor alias = tensor.detach();
    versions.emplace_back(alias, alias.version());
    return alias;
  }

  const Op& op;
  const Backend* backend = thread_state().backend;
  std::any options;
  std::vector<Tensor> kept, saved;
  Tensor output;
  std::vector<Shape> shapes;
  std::vector<std::pair<Tensor, std::uint64_t>> versions;
};

void record(const Op& op, std::span<const Tensor> originals, std::span<const Tensor> operands,
            const Tensor& output, const std::any& options, std::vector<Tensor> saved) {
  std::vector<std::shared_ptr<detail::Slot>> slots;
  for (const Tensor& t : originals) slots.push_back(detail::slot_of(t));
  auto node = std::make_shared<OpNode>(op, std::move(slots));
  node->options = options;
  node->saved = std::move(saved);
  for (const Tensor& t : operands) node->shapes.push_back(t ? t.shape() : Shape());
  node->kept.resize(operands.size());
  for (const Operand operand : op.keeps) {
    const auto i = static_cast<std::size_t>(operand);
    if (operand == Operand::y) {
      node->output = node->keep(output);
    } else if (i < operands.size() && operands[i]) {
      node->kept[i] = node->keep(operands[i]);
    }
  }
  detail::attach(output, std::move(node));
}

std::string layer_of(std::span<const Tensor> inputs) {
  for (const Tensor& t : inputs)
    if (std::string name = name_of(t); !name.empty()) return name;
  return {};
}

}  // namespace

Tensor apply(const Op& op, std::initializer_list<Tensor> inputs, const std::any& options) {
  return apply(op, std::span(inputs.begin(), inputs.size()), options);
}

Tensor apply(const Op& op, std::span<const Tensor> inputs, const std::any& options) {
  if (inputs.empty() || !inputs[0]) throw ValueError(op.name, "an undefined first operand", "a tensor");
  if (inputs.size() > kMaxOperands)
    throw ValueError(op.name, fmt::format("{} operands", inputs.size()),
                     fmt::format("at most {}", kMaxOperands));
  const Plan formats = plan(op, inputs);

  std::array<Tensor, kMaxOperands> operands;
  bool differentiable = false;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    operands[i] = inputs[i];
    if (!inputs[i]) continue;
    differentiable |= inputs[i].requires_grad();
    if (formats.operand && i < static_cast<std::size_t>(op.operands) && inputs[i].dtype().is_floating())
      operands[i] = cast_operand(inputs[i], *formats.operand);
  }
  const std::span<const Tensor> cast(operands.data(), inputs.size());
  Call call{*thread_state().backend, cast, options, formats.result};
  Tensor output = op.forward(call);
  if (NonFiniteWatch::watching()) NonFiniteWatch::see(output, op.name, "forward", layer_of(inputs));
  if (differentiable && thread_state().grad_enabled && op.backward)
    record(op, inputs, cast, output, options, std::move(call.saved));
  return output;
}

}  // namespace halftone
