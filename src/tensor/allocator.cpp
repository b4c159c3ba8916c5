// SPDX-License-Identifier: Apache-2.0
#include "tensor/allocator.h"

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <mutex>
#include <new>
#include <unordered_map>
#include <vector>

#include "halftone/profile.h"
#include "halftone/tensor.h"

namespace halftone {
namespace {

struct Cache {
  std::mutex mutex;
  std::unordered_map<std::int64_t, std::vector<std::byte*>> free;
  MemoryStats stats;
};

// Never destroyed: tensors with static lifetime give their blocks back after main has returned.
Cache& cache() {
  static Cache& instance = *new Cache;
  return instance;
}

void drop_free_blocks(Cache& c) {
  const profile::Scope giving_back("free", profile::Class::allocator);
  for (auto& [bytes, blocks] : c.free) {
    for (std::byte* block : blocks) std::free(block);
    c.stats.reserved -= bytes * static_cast<std::int64_t>(blocks.size());
    blocks.clear();
  }
}

}  // namespace

namespace detail {

std::int64_t size_class(std::int64_t bytes) {
  const auto size = static_cast<std::uint64_t>(std::max<std::int64_t>(bytes, 1));
  const std::uint64_t step = std::max<std::uint64_t>(kAlignment, std::bit_floor(size) / 8);
  return static_cast<std::int64_t>((size + step - 1) / step * step);
}

std::byte* allocate(std::int64_t bytes) {
  if (bytes <= 0) return nullptr;
  const std::int64_t size = size_class(bytes);
  Cache& c = cache();
  const std::lock_guard lock(c.mutex);
  c.stats.in_use += size;
  c.stats.requested += bytes;
  c.stats.peak = std::max(c.stats.peak, c.stats.in_use);
  auto& blocks = c.free[size];
  if (!blocks.empty()) {
    std::byte* block = blocks.back();
    blocks.pop_back();
    return block;
  }
  const profile::Scope asking("allocate", profile::Class::allocator);
  void* block = std::aligned_alloc(kAlignment, static_cast<std::size_t>(size));
  if (block == nullptr) {
    drop_free_blocks(c);
    block = std::aligned_alloc(kAlignment, static_cast<std::size_t>(size));
  }
  if (block == nullptr) {
    c.stats.in_use -= size;
    c.stats.requested -= bytes;
    throw std::bad_alloc();
  }
  c.stats.reserved += size;
  return static_cast<std::byte*>(block);
}

void release(std::byte* block, std::int64_t bytes) noexcept {
  if (block == nullptr) return;
  const std::int64_t size = size_class(bytes);
  Cache& c = cache();
  const std::lock_guard lock(c.mutex);
  c.stats.in_use -= size;
  c.stats.requested -= bytes;
  c.free[size].push_back(block);
}

}  // namespace detail

MemoryStats memory_stats() {
  Cache& c = cache();
  const std::lock_guard lock(c.mutex);
  return c.stats;
}

void reset_peak_memory() {
  Cache& c = cache();
  const std::lock_guard lock(c.mutex);
  c.stats.peak = c.stats.in_use;
}

void release_cached_memory() {
  Cache& c = cache();
  const std::lock_guard lock(c.mutex);
  drop_free_blocks(c);
}

}  // namespace halftone
