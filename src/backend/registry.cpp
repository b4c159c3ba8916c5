// SPDX-License-Identifier: Apache-2.0
#include "backend/cpu/cpu.h"
#include "backend/reference/reference.h"
#include "base/join.h"
#include "halftone/backend.h"
#include "halftone/error.h"

namespace halftone {

std::span<const Backend* const> backends() {
  static const Cpu cpu;
  static const Reference reference;
  static const Backend* const all[] = {&cpu, &reference};
  return all;
}

const Backend& find_backend(std::string_view name) {
  for (const Backend* backend : backends())
    if (backend->name() == name) return *backend;
  throw Unsupported("backend", name, join(backends(), &Backend::name));
}

}  // namespace halftone
