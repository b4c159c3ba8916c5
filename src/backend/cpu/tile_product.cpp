// SPDX-License-Identifier: Apache-2.0
#include "backend/cpu/tile_product.h"

namespace halftone::cpu {

std::shared_ptr<const CompiledPrimitive> compiled_product(const TileProduct& p) {
  const PrimitiveKey key{static_cast<std::int64_t>(PrimitiveKind::matmul),
                         p.rows,
                         p.columns,
                         p.inner,
                         p.a.row,
                         p.a.column,
                         p.b.row,
                         p.b.column,
                         p.c_row,
                         p.format == bfloat16,
                         p.result == bfloat16,
                         p.bias,
                         p.accumulate};
  return cached_primitive(key, [&] {
    using dnnl::memory;
    const memory::desc a({p.rows, p.inner}, onednn_type(p.format), memory::dims{p.a.row, p.a.column});
    const memory::desc b({p.inner, p.columns}, onednn_type(p.format), memory::dims{p.b.row, p.b.column});
    const memory::desc c({p.rows, p.columns}, onednn_type(p.result), memory::dims{p.c_row, 1});
    const memory::desc bias({1, p.columns}, memory::data_type::f32, memory::dims{p.columns, 1});
    dnnl::primitive_attr attributes = primitive_attributes();
    if (p.accumulate) {
      dnnl::post_ops add;
      add.append_sum(1.0f);
      attributes.set_post_ops(add);
    }
    const dnnl::matmul::desc what = p.bias ? dnnl::matmul::desc(a, b, bias, c) : dnnl::matmul::desc(a, b, c);
    const dnnl::matmul::primitive_desc description(what, attributes, onednn_engine());
    CompiledPrimitive made{dnnl::matmul(description),
                           {{DNNL_ARG_SRC, a}, {DNNL_ARG_WEIGHTS, b}, {DNNL_ARG_DST, c}},
                           description.scratchpad_desc()};
    if (p.bias) made.arguments.emplace_back(DNNL_ARG_BIAS, bias);
    return made;
  });
}

void tile_product(DType format, std::int64_t rows, std::int64_t columns, std::int64_t inner,
                  const TileOperand& a, const TileOperand& b, float* c, std::int64_t stride,
                  bool accumulate) {
  const auto compiled = compiled_product({.format = format,
                                          .result = float32,
                                          .rows = rows,
                                          .columns = columns,
                                          .inner = inner,
                                          .a = {a.row, a.column},
                                          .b = {b.row, b.column},
                                          .c_row = stride,
                                          .accumulate = accumulate});
  execute(*compiled, {{DNNL_ARG_SRC, a.data}, {DNNL_ARG_WEIGHTS, b.data}, {DNNL_ARG_DST, c}});
}

}  // namespace halftone::cpu
