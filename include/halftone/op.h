// SPDX-License-Identifier: Apache-2.0
//
// For authors of ops. An op is one file: formulas, gradient, cast rule and examples; nothing else in the
// house changes. From the definition follow autocast, autograd, checkpointing, all formats, the generic tests
// (tests/op/every_op_test.cpp) and the line printed by `halftone ops`. See examples/custom_op.cpp.
#pragma once

#include <any>
#include <array>
#include <functional>
#include <initializer_list>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "halftone/autograd.h"
#include "halftone/casting.h"
#include "halftone/formula.h"
#include "halftone/tensor.h"

namespace halftone {

// What autocast does to an op's operands, and the format of its result (ARCHITECTURE.md, "Cast rules").
// Outside autocast operands are read as they are and the result is in the smallest format that holds all of
// them (compute, widest), in that of the first (inside_float32, keep) or in float32 (float32). float64
// operands are never cast down and make the result float64 (but for keep); integers are never cast, have no
// say beside floating operands, and alone give float32 under inside_float32, outside autocast and in it.
enum class CastPolicy {
  compute,         // operands cast to the compute format, result in it
  inside_float32,  // operands read as they are, maths in float32, result in the compute format
  float32,         // operands read as they are, result float32
  widest,          // operands promoted to the smallest format that holds all, result in it
  keep,            // operands as they are, result in the format of the first
};
std::string_view to_string(CastPolicy policy);

// One forward call. Operands have been cast already.
struct Call {
  const Backend& backend;
  std::span<const Tensor> inputs;
  const std::any& options;
  DType result;                                 // the format the result must have
  std::vector<Tensor> saved{};                  // what backward will find in its own `saved`
  const OperandQuantizer* quantizer = nullptr;  // of an op that quantizes, if the recipe has one
  std::string_view layer{};                     // name of its weight
  // Inputs whose gradient backward may be asked for. None outside a graph: backward will not come, or, after
  // the first pass of a checkpoint, only after another forward call.
  std::array<bool, kMaxOperands> wanted{};

  // Operand number `input` as it goes into a matmul that sums along `along`.
  Tensor operand(int input, Along along) const;
  template <class T>
  const T& as() const {
    return *std::any_cast<T>(&options);
  }
};

// One backward call. `inputs` holds the operands named in Op::keeps (others are undefined).
struct BackwardCall {
  const Backend& backend;
  std::span<const Tensor> inputs;
  const Tensor& output;    // defined if Op::keeps names it
  const Tensor& gradient;  // of the output
  const std::any& options;
  std::span<Tensor> saved;  // to be taken or left: a node is visited once
  Gradients& gradients;
  std::span<const Shape> shapes;  // of the inputs
  const OperandQuantizer* quantizer = nullptr;
  std::string_view layer{};
  mutable Tensor rounded_gradient{};  // for gradient_operand, where products may share it

  Tensor operand(int input, Along along) const;  // as Call::operand, of `inputs`
  Tensor gradient_operand(Along along) const;    // of `gradient`
  template <class T>
  const T& as() const {
    return *std::any_cast<T>(&options);
  }
};

// Operands of a gradient formula, and what a node keeps for it.
enum class Operand : std::uint8_t { x0, x1, x2, y, dy };

// A tensor of an example: values uniform in [low, high), or for an integer format whole numbers in [low,
// high).
struct ExampleInput {
  Shape shape;
  double low = -1, high = 1;
  DType dtype = float32;
  bool differentiable = true;
};
struct Example {
  std::vector<ExampleInput> inputs;
  std::any options{};
  double tolerance =
      4;  // allowed error of a narrow result, in units of its roundoff times the largest |value|
};

// The gradient as a graph, for gradients(.., {.create_graph = true}): operands and output have their history.
// Operands of a `compute` op arrive as they were cast, all others in float32 or wider, so that ops on them
// round nothing to a narrow format on the way.
struct DifferentiateCall {
  std::span<const Tensor> inputs;  // those named in Op::keeps
  const Tensor& output;            // likewise
  const Tensor& gradient;
  const std::any& options;
  std::span<const Tensor> saved;
  std::span<const Shape> shapes;  // of the inputs
  const Gradients& gradients;     // which are wanted, and in what format
  const OperandQuantizer* quantizer = nullptr;
  std::string_view layer{};

  bool wanted(int input) const { return gradients.wanted(input); }
  Tensor operand(int input, Along along) const;  // as in BackwardCall; their rounding has gradient 1
  Tensor gradient_operand(Along along) const;

  template <class T>
  const T& as() const {
    return *std::any_cast<T>(&options);
  }
};

struct Op {
  std::string_view name;
  CastPolicy cast;
  int operands =
      kMaxOperands;  // the first so many inputs follow the cast policy; the rest are read as they are
  std::vector<Operand> keeps;  // inputs and output that backward reads
  std::function<Tensor(Call&)> forward;
  std::function<void(BackwardCall&)> backward;
  std::function<std::vector<Example>()> examples;
  // The gradients of the inputs, made of ops; undefined where there is none. One of a broadcast shape is
  // summed onto its input. Absent: no second derivative.
  std::function<std::vector<Tensor>(const DifferentiateCall&)> differentiate{};
  // Takes operands through Call::operand: under a recipe with short operands they arrive as they are.
  bool quantizes = false;
  // The format of the result where it is not the one that the policy says. float64 operands make it float64.
  std::optional<DType> result{};
};

// The only path into a kernel: cast, run, record. Throws what the op throws.
Tensor apply(const Op& op, std::initializer_list<Tensor> inputs, const std::any& options = {});
Tensor apply(const Op& op, std::span<const Tensor> inputs, const std::any& options = {});

// Enumeration for tests, docs and the command; calls never go through it.
class Register {
 public:
  explicit Register(const Op& op);
};
std::span<const Op* const> registered_ops();

// An op of the elementwise loop. Its options, if any, are Scalars and reach the formulas as parameters.
using Scalars = std::array<double, kMaxParameters>;
struct Gradient {
  Formula formula{};              // none: the gradient is dy itself
  std::vector<Operand> operands;  // what the formula takes, in order
};
struct ElementwiseSpec {
  std::string_view name;
  CastPolicy cast;
  Formula forward;
  std::vector<Gradient> gradients;  // of each input
  std::function<std::vector<Example>()> examples;
  std::function<std::vector<Tensor>(const DifferentiateCall&)> differentiate{};  // as Op::differentiate
  int operands = kMaxOperands;                                                   // as Op::operands
};
Op elementwise_op(ElementwiseSpec spec);

// gradient (of a broadcast result) summed onto the shape of input number `input`, and delivered.
void deliver_reduced(BackwardCall& call, int input, Tensor gradient);

}  // namespace halftone
