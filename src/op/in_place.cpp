// SPDX-License-Identifier: Apache-2.0
//
// In-place operations: the destination keeps its format and its version grows, so that no cast of it is
// stale. They are outside the graph; on a tensor that is part of it they are allowed only under no_grad.
#include "halftone/autograd.h"
#include "halftone/ops.h"
#include "op/memory_order.h"

namespace halftone {
namespace {

void check(std::string_view op, const Tensor& destination, const Tensor& source) {
  if (broadcast(destination.shape(), source.shape()) != destination.shape())
    throw ShapeError(op, to_string(source.shape()) + " into " + to_string(destination.shape()),
                     "a source that broadcasts to the destination");
  if (destination.requires_grad() && thread_state().grad_enabled)
    throw ValueError(op, "a tensor that requires a gradient", "a tensor outside the graph",
                     "no_grad([&] { ... })");
}

// The source, or a copy of it if the loops would write some of its elements before they read them: the same
// bytes in another order.
Tensor read_first(const Backend& backend, const Tensor& destination, const Tensor& source) {
  const bool moves = source.offset() != destination.offset() || source.shape() != destination.shape() ||
                     source.strides() != destination.strides();
  return moves && source.storage() == destination.storage() ? copied(backend, source) : source;
}

constexpr Formula kSame = formula<1>([](auto x) { return x; });
constexpr Formula kAdd = formula<2>([](auto x, auto y) { return x + y; });

}  // namespace

void assign_(Tensor destination, const Tensor& source) {
  check("assign_", destination, source);
  const Backend& backend = *thread_state().backend;
  const Tensor from = read_first(backend, destination, source);
  if (from.shape() == destination.shape())
    backend.copy(from, destination);
  else
    backend.elementwise(kSame, std::span(&from, 1), destination);
}

void add_(Tensor destination, const Tensor& source) {
  check("add_", destination, source);
  const Backend& backend = *thread_state().backend;
  const Tensor in[] = {destination, read_first(backend, destination, source)};
  backend.elementwise(kAdd, in, destination);
}

}  // namespace halftone
