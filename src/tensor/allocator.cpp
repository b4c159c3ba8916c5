// SPDX-License-Identifier: Apache-2.0
#include "tensor/allocator.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstdlib>
#include <mutex>
#include <new>
#include <vector>

#include "halftone/profile.h"
#include "halftone/tensor.h"
#include "tensor/arena.h"
#include "tensor/poison.h"

namespace halftone {
namespace {

using detail::Arena, detail::kAlignment, detail::poison, detail::unpoison;

// Small blocks of one size. The list has room for all of them, so that giving one back needs no memory.
struct SmallBlocks {
  std::vector<std::byte*> free;
  std::size_t made = 0;  // in use or not
};

struct Cache {
  std::mutex mutex;
  std::array<SmallBlocks, detail::kLargeBlock / kAlignment> blocks;
  std::int64_t small = 0;  // bytes of small blocks, in use or not
  Arena arena;             // large ones
  MemoryStats stats;

  SmallBlocks& blocks_of(std::int64_t size) { return blocks[static_cast<std::size_t>(size / kAlignment)]; }
};

// Never destroyed: tensors with static lifetime give their blocks back after main has returned.
Cache& cache() {
  static Cache& instance = *new Cache;
  return instance;
}

bool is_large(std::int64_t size) { return size >= detail::kLargeBlock; }

// Poisoned bytes after a large block, which another one may follow.
std::int64_t red_zone() { return __asan_poison_memory_region == nullptr ? 0 : kAlignment; }

void drop_free_blocks(Cache& c) {
  const profile::Scope giving_back("free", profile::Class::allocator);
  for (std::int64_t bytes = 0; bytes < detail::kLargeBlock; bytes += kAlignment) {
    SmallBlocks& blocks = c.blocks_of(bytes);
    for (std::byte* block : blocks.free) {
      unpoison(block, bytes);
      std::free(block);
    }
    c.small -= bytes * static_cast<std::int64_t>(blocks.free.size());
    blocks.made -= blocks.free.size();
    blocks.free.clear();
  }
  c.arena.give_back();
}

std::byte* small_block(Cache& c, std::int64_t size) {
  auto& [free, made] = c.blocks_of(size);
  if (!free.empty()) {
    std::byte* block = free.back();
    free.pop_back();
    return block;
  }
  const profile::Scope asking("allocate", profile::Class::allocator);
  if (free.capacity() == made) free.reserve(2 * made + 8);
  void* block = std::aligned_alloc(kAlignment, static_cast<std::size_t>(size));
  if (block == nullptr) return nullptr;
  ++made;
  c.small += size;
  return static_cast<std::byte*>(block);
}

}  // namespace

namespace detail {

std::int64_t size_class(std::int64_t bytes) {
  const auto size = static_cast<std::uint64_t>(std::max<std::int64_t>(bytes, 1));
  const std::uint64_t step =
      is_large(bytes) ? kAlignment : std::max<std::uint64_t>(kAlignment, std::bit_floor(size) / 8);
  return static_cast<std::int64_t>((size + step - 1) / step * step);
}

std::byte* allocate(std::int64_t bytes) {
  if (bytes <= 0) return nullptr;
  const std::int64_t size = size_class(bytes);
  Cache& c = cache();
  const std::lock_guard lock(c.mutex);
  const auto attempt = [&] {
    return is_large(size) ? c.arena.allocate(size + red_zone()) : small_block(c, size);
  };
  std::byte* block = attempt();
  if (block == nullptr) {
    drop_free_blocks(c);
    block = attempt();
  }
  if (block == nullptr) throw std::bad_alloc();
  c.stats.in_use += size;
  c.stats.requested += bytes;
  c.stats.peak = std::max(c.stats.peak, c.stats.in_use);
  poison(block, size + (is_large(size) ? red_zone() : 0));
  unpoison(block, bytes);
  return block;
}

void release(std::byte* block, std::int64_t bytes) noexcept {
  if (block == nullptr) return;
  const std::int64_t size = size_class(bytes);
  Cache& c = cache();
  const std::lock_guard lock(c.mutex);
  c.stats.in_use -= size;
  c.stats.requested -= bytes;
  poison(block, size);
  if (is_large(size))
    c.arena.release(block, size + red_zone());
  else
    c.blocks_of(size).free.push_back(block);
}

}  // namespace detail

MemoryStats memory_stats() {
  Cache& c = cache();
  const std::lock_guard lock(c.mutex);
  MemoryStats stats = c.stats;
  stats.reserved = c.small + c.arena.held();
  return stats;
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
