// SPDX-License-Identifier: Apache-2.0
//
// to = from. Within one format the codes move unchanged (NaN payloads and all 64 bits of int64 survive);
// between formats the value is decoded exactly and rounded once.
#include "backend/iteration.h"
#include "backend/reference/reference.h"

namespace halftone {

void Reference::copy(const Tensor& from, const Tensor& to) const {
  Nest nest(to.shape());
  nest.add(from);
  nest.add(to);
  const void* source = from.raw();
  void* target = to.raw_mutable();
  const bool same = from.dtype() == to.dtype();
  for (std::int64_t i = 0; i < nest.count(); ++i) {
    std::int64_t at[2];
    nest.locate(i, nest.rank, at);
    const std::uint64_t code = load_code(from.dtype(), source, at[0]);
    store_code(to.dtype(), target, at[1],
               same ? code
                    : encode(to.dtype().format(), decode_exact(from.dtype().format(), code),
                             default_conversion(to.dtype().format())));
  }
}

}  // namespace halftone
