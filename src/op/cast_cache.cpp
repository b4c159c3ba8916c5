// SPDX-License-Identifier: Apache-2.0
#include "op/cast_cache.h"

#include <algorithm>
#include <memory>
#include <mutex>

#include "autograd/node.h"
#include "halftone/profile.h"

namespace halftone {
namespace {

std::mutex mutex;  // guards every Storage::casts: two threads may run the same model
thread_local std::vector<std::weak_ptr<Storage>> touched;

Tensor fresh_cast(const Tensor& x, DType dtype) {
  const profile::Scope scope("cast operand", profile::Class::cast);
  Tensor copy(x.shape(), dtype);
  thread_state().backend->copy(x, copy);
  return copy;
}

bool is_whole_parameter(const Tensor& x) {
  const auto slot = detail::slot_of(x);
  return slot && slot->is_leaf() && x.is_contiguous() && x.bytes() == x.storage()->bytes;
}

}  // namespace

Tensor cast_operand(const Tensor& x, DType dtype) {
  if (x.dtype() == dtype) return x;
  Storage& storage = *x.storage();
  const std::lock_guard lock(mutex);
  const auto cached = std::find_if(storage.casts.begin(), storage.casts.end(),
                                   [&](const Storage::CachedCast& c) { return c.dtype == dtype; });
  if (cached != storage.casts.end() && cached->version == storage.version)
    return x.with_storage(cached->copy, dtype);
  if (!is_whole_parameter(x)) return fresh_cast(x, dtype);
  const Tensor copy = fresh_cast(x, dtype);
  if (cached != storage.casts.end()) storage.casts.erase(cached);
  storage.casts.push_back({dtype, storage.version, copy.storage(), storage.keep_casts > 0});
  touched.push_back(x.storage());
  return copy;
}

void release_autocast_casts() {
  const std::lock_guard lock(mutex);
  for (const auto& weak : touched)
    if (const auto storage = weak.lock())
      std::erase_if(storage->casts, [](const Storage::CachedCast& c) { return !c.persistent; });
  touched.clear();
}

}  // namespace halftone
