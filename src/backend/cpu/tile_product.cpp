// SPDX-License-Identifier: Apache-2.0
#include "backend/cpu/tile_product.h"

#include "backend/cpu/onednn.h"

namespace halftone::cpu {

void tile_product(DType format, std::int64_t rows, std::int64_t columns, std::int64_t inner,
                  const TileOperand& a, const TileOperand& b, float* c, std::int64_t stride,
                  bool accumulate) {
  const PrimitiveKey key{static_cast<std::int64_t>(PrimitiveKind::tile_product),
                         rows,
                         columns,
                         inner,
                         a.row,
                         a.column,
                         b.row,
                         b.column,
                         stride,
                         format == bfloat16,
                         accumulate};
  const auto compiled = cached_primitive(key, [&] {
    using dnnl::memory;
    const memory::desc left({rows, inner}, onednn_type(format), memory::dims{a.row, a.column}),
        right({inner, columns}, onednn_type(format), memory::dims{b.row, b.column}),
        result({rows, columns}, memory::data_type::f32, memory::dims{stride, 1});
    dnnl::primitive_attr attributes = primitive_attributes();
    if (accumulate) {
      dnnl::post_ops add;
      add.append_sum(1.0f);
      attributes.set_post_ops(add);
    }
    const dnnl::matmul::primitive_desc description(dnnl::matmul::desc(left, right, result), attributes,
                                                   onednn_engine());
    return CompiledPrimitive{dnnl::matmul(description),
                             {{DNNL_ARG_SRC, left}, {DNNL_ARG_WEIGHTS, right}, {DNNL_ARG_DST, result}},
                             description.scratchpad_desc()};
  });
  execute(*compiled, {{DNNL_ARG_SRC, a.data}, {DNNL_ARG_WEIGHTS, b.data}, {DNNL_ARG_DST, c}});
}

}  // namespace halftone::cpu
