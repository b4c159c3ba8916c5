// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "halftone/op.h"

namespace halftone {
namespace {

std::vector<const Op*>& list() {
  static std::vector<const Op*> ops;
  return ops;
}

}  // namespace

Register::Register(const Op& op) {
  auto& ops = list();
  const auto at = std::lower_bound(ops.begin(), ops.end(), &op,
                                   [](const Op* a, const Op* b) { return a->name < b->name; });
  ops.insert(at, &op);
}

std::span<const Op* const> registered_ops() { return list(); }

std::string_view to_string(CastPolicy policy) {
  switch (policy) {
    case CastPolicy::compute:
      return "compute";
    case CastPolicy::inside_float32:
      return "inside_float32";
    case CastPolicy::float32:
      return "float32";
    case CastPolicy::widest:
      return "widest";
    case CastPolicy::keep:
      return "keep";
  }
  return "";
}

}  // namespace halftone
