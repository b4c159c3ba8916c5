// SPDX-License-Identifier: Apache-2.0
//
// oneDNN, used one thread at a time. oneDNN divides some sums among the threads it is given, so its bits
// depend on their number; halftone therefore compiles every primitive for one thread and runs it inside its
// own parallel loops, on pieces that are a function of the problem only (law 9). `halftone bench kernels`
// shows that this costs nothing.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>
#include <oneapi/dnnl/dnnl.hpp>
#include <utility>
#include <vector>

#include "halftone/tensor.h"

namespace halftone::cpu {

const dnnl::engine& onednn_engine();

// Whether the processor multiplies bfloat16 itself; if not, bfloat16 operands are decoded to float32.
bool has_bfloat16_products();

// The format in which the product of two operands is formed: bfloat16 if it holds every value of both (and
// the processor has it), otherwise float32. Either way products are exact in float32.
DType product_format(DType a, DType b);

// x itself if it has that format, otherwise a decoded copy, with the last two axes in the order of x's
// memory.
Tensor decoded(const Tensor& x, DType dtype);

// `count` codes of `dtype`, a float32 each, as values of `format`, float32 or bfloat16, which holds them.
void decode_values(DType dtype, const void* codes, DType format, void* values, std::int64_t count);

// Row-major: x itself, or a copy of it.
Tensor contiguous(const Tensor& x);

inline dnnl::memory::data_type onednn_type(DType dtype) {
  return dtype == bfloat16 ? dnnl::memory::data_type::bf16 : dnnl::memory::data_type::f32;
}

// Everything that tells one primitive from another; the first word is its kind.
using PrimitiveKey = std::array<std::int64_t, 16>;
enum class PrimitiveKind : std::int64_t { matmul, forward, image_gradient, filter_gradient, reorder };

struct CompiledPrimitive {
  dnnl::primitive primitive;
  std::vector<std::pair<int, dnnl::memory::desc>> arguments;  // oneDNN's argument number and layout
  dnnl::memory::desc scratchpad;
  std::uint64_t id = 0;  // of this primitive alone, for what threads keep of it; given by cached_primitive

  std::size_t place(int argument) const;  // among the arguments
  const dnnl::memory::desc& layout(int argument) const { return arguments[place(argument)].second; }
};

// Attributes every primitive is made with: strict float32 arithmetic, scratch memory passed by the caller.
dnnl::primitive_attr primitive_attributes();

// The primitive of that key, made (for one thread) on first use. Throws Unsupported if oneDNN has none,
// std::bad_alloc if it has no memory for one.
std::shared_ptr<const CompiledPrimitive> cached_primitive(const PrimitiveKey& key,
                                                          const std::function<CompiledPrimitive()>& make);

// Empties the cache; primitives in use are held by their users.
void forget_primitives();

// Runs the primitive on the calling thread alone. Safe from several threads at once. Throws as above, or
// Error.
struct Argument {
  int number;
  const void* data;
};
void execute(const CompiledPrimitive& compiled, std::initializer_list<Argument> arguments);

// Copies between two layouts (and formats) of the same logical tensor, through a cached primitive whose key
// is `key` with the kind replaced.
void reorder(PrimitiveKey key, const dnnl::memory::desc& from, const void* source,
             const dnnl::memory::desc& to, void* target);

}  // namespace halftone::cpu
