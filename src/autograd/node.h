// SPDX-License-Identifier: Apache-2.0
//
// The graph. A tensor that takes part in differentiation carries a Slot; a slot that is not a leaf points at
// the Node that produced it; a node points at the slots of its inputs. Nodes are numbered in order of
// creation, which is a topological order: backward visits them from the highest number down.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "halftone/autograd.h"
#include "halftone/tensor.h"

namespace halftone::detail {

class Engine;
struct Node;
struct Slot;

// Where a node puts the gradients of its inputs as tensors with a history (op/gradients.cpp).
class GraphGradients : public Gradients {
 public:
  // For a checkpoint: goes on with the graph that produced `root`, recomputed in the place of `node`.
  virtual void splice(const Node& node, const std::shared_ptr<Slot>& root, const Tensor& gradient) = 0;
};

struct Slot : AutogradSlot {
  Slot(DType dtype, const Shape& shape) : dtype(dtype), shape(shape) {}
  bool is_leaf() const { return producer == nullptr; }

  DType dtype;
  Shape shape;
  std::string name;                // of a leaf: its path in the model
  Tensor grad;                     // of a leaf
  std::function<void()> hook;      // of a leaf: called when its gradient is complete
  std::shared_ptr<Node> producer;  // null for a leaf
};

struct Node {
  Node(std::string_view name, std::vector<std::shared_ptr<Slot>> inputs);
  virtual ~Node();
  Node(const Node&) = delete;
  Node& operator=(const Node&) = delete;

  // Delivers the gradients of the inputs, given that of the output.
  virtual void backward(const Tensor& gradient, Gradients& gradients, Engine& engine) = 0;
  virtual void release() = 0;  // drops saved tensors

  // The same as a graph: `output` is the slot that this node produced. Throws Unsupported.
  virtual void differentiate(const std::shared_ptr<Slot>& output, const Tensor& gradient,
                             GraphGradients& gradients) = 0;

  std::uint64_t id;
  std::string_view name;
  std::vector<std::shared_ptr<Slot>> inputs;    // null where no gradient is wanted
  std::vector<std::shared_ptr<Slot>> captured;  // of a checkpoint: leaves that its function uses besides
  bool used = false;                            // backward has been here and freed what was saved
};

std::shared_ptr<Slot> slot_of(const Tensor& tensor);  // null if it needs no gradient
std::shared_ptr<Slot> attach(const Tensor& output,
                             std::shared_ptr<Node> node);  // makes output the node's result
std::string layer_of(const Node& node);                    // name of the first parameter among its inputs

}  // namespace halftone::detail
