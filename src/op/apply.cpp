// SPDX-License-Identifier: Apache-2.0
//
// The only path into a kernel: cast -> run -> record. What autocast means is decided here, from the op's
// policy and the compute format of the thread, and nowhere else; backward reads the operands as they were
// cast.
#include <fmt/format.h>

#include <utility>

#include "autograd/node.h"
#include "autograd/op_trace.h"
#include "halftone/op.h"
#include "halftone/ops.h"
#include "halftone/warning.h"
#include "op/cast_cache.h"
#include "op/differentiate.h"
#include "op/op_class.h"

namespace halftone {
namespace {

struct Plan {
  std::optional<DType> operand;  // cast floating operands to this
  DType result;
  CastPolicy policy;
  bool overridden = false, quantized = false;
};

const CastOverride* find_override(const Op& op) {
  const CastOverride* entry = thread_state().overrides.get();
  while (entry != nullptr && entry->op != op.name) entry = entry->outer.get();
  return entry;
}

// The inputs that follow the op's policy.
struct Operands {
  const Op& op;
  std::span<const Tensor> inputs;

  template <class Body>
  void each(bool floating, const Body& body) const {
    for (std::size_t i = 0; i < inputs.size() && i < static_cast<std::size_t>(op.operands); ++i)
      if (inputs[i] && inputs[i].dtype().is_floating() == floating) body(inputs[i].dtype());
  }
  DType promoted() const {  // takes a while: asked for only where a policy needs it
    std::optional<DType> all;
    const auto add = [&](DType dtype) { all = all ? promote(*all, dtype) : dtype; };
    each(true, add);
    if (!all) each(false, add);  // integers count only among themselves
    return *all;
  }
};

// Formats by the policy, before what an override says of the result.
Plan by_policy(CastPolicy policy, const Operands& operands, bool has_float64) {
  const DType first = operands.inputs[0].dtype();
  if (policy == CastPolicy::keep) return {std::nullopt, first, policy};
  if (has_float64) return {std::nullopt, float64, policy};
  const std::optional<DType> compute = thread_state().autocast;
  switch (policy) {
    case CastPolicy::compute: {
      const DType result = compute ? *compute : operands.promoted();
      if (operands.op.quantizes && thread_state().quantizer)  // rounded once, from what they are
        return {std::nullopt, result, policy, false, true};
      return {compute, result, policy};
    }
    case CastPolicy::inside_float32:
      return {std::nullopt, compute.value_or(first.is_floating() ? first : operands.promoted()), policy};
    case CastPolicy::float32:
      return {std::nullopt, float32, policy};
    default:
      return {std::nullopt, operands.promoted(), policy};
  }
}

// The result where nothing is floating. Autocast and its overrides are not for integers.
DType of_integers(const Operands& operands) {
  if (operands.op.result) return *operands.op.result;
  switch (operands.op.cast) {
    case CastPolicy::keep:
      return operands.inputs[0].dtype();
    case CastPolicy::float32:
    case CastPolicy::inside_float32:  // exp(1) is no integer
      return float32;
    default:
      return operands.promoted();
  }
}

Plan plan(const Op& op, std::span<const Tensor> inputs) {
  const Operands operands{op, inputs};
  bool has_floating = false, has_float64 = false;
  operands.each(true, [&](DType dtype) {
    has_floating = true;
    has_float64 |= dtype == float64;
  });
  if (!has_floating) return {std::nullopt, of_integers(operands), op.cast};
  const CastOverride* entry = find_override(op);
  const CastPolicy policy = entry && entry->policy ? *entry->policy : op.cast;
  Plan made = by_policy(policy, operands, has_float64);
  made.overridden = entry != nullptr;
  if (op.result && !has_float64) made.result = *op.result;
  if (entry && entry->result && !has_float64) made.result = *entry->result;
  return made;
}

struct OpNode final : detail::Node {
  OpNode(const Op& op, std::vector<std::shared_ptr<detail::Slot>> slots)
      : Node(op.name, std::move(slots)), op(op) {}

  void check_versions() const {
    for (const auto& [tensor, version] : versions)
      if (tensor.version() != version)
        throw Error(op.name, "an operand saved for backward was modified in place",
                    "operands as they were in the forward pass",
                    "modifying a copy, or calling backward before the update");
  }

  void backward(const Tensor& gradient, Gradients& gradients, detail::Engine&) override {
    check_versions();
    const std::string layer = quantizer ? layer_of(*this) : std::string();
    BackwardCall call{*backend, kept,      output, gradient,        options,
                      saved,    gradients, shapes, quantizer.get(), layer};
    const profile::Scope scope(op.name, class_of_op, "backward");
    op.backward(call);
  }

  void differentiate(const std::shared_ptr<detail::Slot>& slot, const Tensor& gradient,
                     detail::GraphGradients& gradients) override {
    if (!op.differentiate)
      throw Unsupported(op.name, "a gradient that can be differentiated again",
                        "an op with a second derivative (Op::differentiate)",
                        "gradients() without create_graph, or the same formula written in other ops");
    check_versions();
    // What was kept, and the history of what it was cast from.
    auto restored = [&](const Tensor& kept, const std::shared_ptr<detail::Slot>& history) {
      if (!kept) return Tensor();
      const Tensor alias = kept.detach();
      alias.set_slot(history);
      return op.cast == CastPolicy::compute ? alias : widened(alias);
    };
    const ThreadStateScope scope;
    thread_state().backend = backend;
    std::vector<Tensor> operands;
    for (std::size_t i = 0; i < kept.size(); ++i) operands.push_back(restored(kept[i], inputs[i]));
    const std::string layer = quantizer ? layer_of(*this) : std::string();
    const DifferentiateCall call{operands,
                                 restored(output, slot),
                                 op.cast == CastPolicy::compute ? gradient : widened(gradient),
                                 options,
                                 saved,
                                 shapes,
                                 gradients,
                                 quantizer.get(),
                                 layer};
    const std::vector<Tensor> results = op.differentiate(call);
    for (std::size_t i = 0; i < results.size(); ++i)
      if (const int input = static_cast<int>(i); results[i] && gradients.wanted(input))
        gradients.deliver(input, summed_onto(results[i], shapes[i]));
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
  std::shared_ptr<const OperandQuantizer> quantizer;
  std::any options;
  std::vector<Tensor> kept, saved;
  Tensor output;
  std::vector<Shape> shapes;
  std::vector<std::pair<Tensor, std::uint64_t>> versions;
};

void record(const Op& op, std::span<const Tensor> originals, std::span<const Tensor> operands,
            const Tensor& output, const std::any& options, std::vector<Tensor> saved, bool quantized) {
  std::vector<std::shared_ptr<detail::Slot>> slots;
  for (const Tensor& t : originals) slots.push_back(detail::slot_of(t));
  auto node = std::make_shared<OpNode>(op, std::move(slots));
  node->options = options;
  if (quantized) node->quantizer = thread_state().quantizer;
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

void log_call(const Op& op, const Plan& formats, std::span<const Tensor> inputs,
              std::span<const Tensor> operands, DType result) {
  CastRecord record{.op = std::string(op.name),
                    .layer = layer_of(inputs),
                    .policy = formats.policy,
                    .overridden = formats.overridden,
                    .quantized = formats.quantized,
                    .operands = {},
                    .result = result};
  for (std::size_t i = 0; i < inputs.size(); ++i)
    if (inputs[i]) record.operands.push_back({inputs[i].dtype(), operands[i].dtype()});
  CastLog::add(record);
}

// A narrow weight that no optimizer looks after, trained under autocast: autocast wants float32 parameters.
void warn_of_narrow_weights(std::span<const Tensor> inputs) {
  for (const Tensor& input : inputs) {
    if (!input || !input.dtype().is_floating() || input.dtype().bytes() >= 4) continue;
    const auto slot = detail::slot_of(input);
    if (slot && slot->is_leaf() && input.storage()->keep_casts == 0)
      warn_once(
          "autocast", fmt::format("a weight stored in {}", input.dtype().name()),
          "float32 weights, which autocast casts where that does no harm: a narrow weight loses updates "
          "smaller than half its spacing",
          "a float32 model, or an optimizer with MasterWeights::float32_copy");
  }
}

// op.forward, or inside a recomputed checkpoint the result that was kept.
Tensor run(const Op& op, Call& call, std::span<const Tensor> inputs) {
  const profile::Scope scope(op.name, class_of_op);
  if (!detail::OpTrace::active()) return op.forward(call);
  for (const Tensor& input : inputs) detail::OpTrace::uses(input);
  const std::uint64_t first = thread_state().random_index;
  Tensor output;
  if (const detail::OpResult* kept = detail::OpTrace::begin(op.name)) {
    output = kept->output.detach();
    call.saved = kept->saved;
    take_random(kept->random_numbers);
  } else {
    output = op.forward(call);
  }
  detail::OpTrace::end(op.name, {output, call.saved, thread_state().random_index - first});
  return output;
}

// Operand number `input` of a contraction with a weight, as its matmul sees it.
Tensor rounded(const OperandQuantizer* quantizer, std::span<const Tensor> inputs, int input, Along along,
               std::string_view layer) {
  const Tensor& x = inputs[static_cast<std::size_t>(input)];
  if (quantizer == nullptr) return x;
  return quantizer->quantize(x, input == 0 ? OperandRole::activation : OperandRole::weight, along, layer);
}

}  // namespace

Tensor Call::operand(int input, Along along) const { return rounded(quantizer, inputs, input, along, layer); }

Tensor BackwardCall::operand(int input, Along along) const {
  return rounded(quantizer, inputs, input, along, layer);
}

Tensor BackwardCall::gradient_operand(Along along) const {
  if (quantizer == nullptr) return gradient;
  if (rounded_gradient) return rounded_gradient;
  Tensor rounded = quantizer->quantize(gradient, OperandRole::gradient, along, layer);
  if (quantizer->may_share(OperandRole::gradient)) rounded_gradient = rounded;
  return rounded;
}

namespace {

// The rounded tensor with the history of the exact one.
Tensor straight_through(const Tensor& result, const Tensor& x) {
  const Tensor alias = result.detach();
  alias.set_slot(x.slot());
  return alias;
}

}  // namespace

Tensor DifferentiateCall::operand(int input, Along along) const {
  const Tensor& x = inputs[static_cast<std::size_t>(input)];
  return quantizer == nullptr ? x : straight_through(rounded(quantizer, inputs, input, along, layer), x);
}

Tensor DifferentiateCall::gradient_operand(Along along) const {
  if (quantizer == nullptr) return gradient;
  return straight_through(quantizer->quantize(gradient, OperandRole::gradient, along, layer), gradient);
}

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
  const bool recorded = differentiable && thread_state().grad_enabled && op.backward;
  if (recorded && thread_state().autocast && op.cast == CastPolicy::compute) warn_of_narrow_weights(inputs);
  const std::string layer = formats.quantized ? layer_of(inputs) : std::string();
  Call call{.backend = *thread_state().backend,
            .inputs = cast,
            .options = options,
            .result = formats.result,
            .quantizer = formats.quantized ? thread_state().quantizer.get() : nullptr,
            .layer = layer};
  if (recorded)
    for (std::size_t i = 0; i < inputs.size(); ++i) call.wanted[i] = inputs[i] && inputs[i].requires_grad();
  Tensor output = run(op, call, inputs);
  // An op may have returned an operand: the caller's own handle, whose history is not this op's.
  if (!output.is_unique()) output = output.detach();
  if (NonFiniteWatch::watching()) NonFiniteWatch::see(output, op.name, "forward", layer_of(inputs));
  if (CastLog::active()) log_call(op, formats, inputs, cast, output.dtype());
  if (recorded) record(op, inputs, cast, output, options, std::move(call.saved), formats.quantized);
  return output;
}

}  // namespace halftone
