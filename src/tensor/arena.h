// SPDX-License-Identifier: Apache-2.0
//
// One stretch of addresses from which large blocks are cut, and into which they merge again. A new block
// takes the smallest free range that has room for it; when none has, the stretch grows. So a training step
// holds little more than it has in use at its peak, whatever sizes follow one another, and a step that asks
// for what the one before asked for gets the same places without a call to the system or a page fault.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <utility>
#include <vector>

namespace halftone::detail {

// Not for several threads at once.
class Arena {
 public:
  Arena();  // reserves addresses, no memory
  ~Arena();
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;

  // `bytes`: a multiple of kAlignment (allocator.h), on which the block lies. nullptr if the system has no
  // more. Throws std::bad_alloc, and has changed nothing then, if there is no memory to keep account of it.
  std::byte* allocate(std::int64_t bytes);
  void release(std::byte* block, std::int64_t bytes) noexcept;

  // Gives the pages of free ranges back to the system; the addresses stay.
  void give_back();

  // Bytes taken from the system: those in use and those of free ranges that may have been touched.
  std::int64_t held() const { return held_; }

 private:
  struct Range {
    std::int64_t bytes, held;  // held: at most so many of the bytes are backed by memory
  };
  using Ranges = std::map<std::int64_t, Range>;  // by offset
  using Sizes = std::set<std::pair<std::int64_t, std::int64_t>>;

  bool reserve(std::int64_t bytes);
  bool grow(std::int64_t bytes);
  void make_nodes(std::size_t blocks);
  void insert(std::int64_t offset, Range range) noexcept;
  Range remove(Ranges::iterator range) noexcept;

  std::byte* base_ = nullptr;
  std::int64_t capacity_ = 0, usable_ = 0;  // reserved addresses; those that may be touched
  std::int64_t end_ = 0;                    // of the last block there has been
  std::int64_t held_ = 0;
  Ranges free_;
  Sizes by_size_;  // bytes, offset of every free range
  // Nodes of the two for the free ranges to come, so that giving a block back needs no memory.
  std::vector<std::pair<Ranges::node_type, Sizes::node_type>> spare_;
  std::size_t blocks_ = 0;  // in use
};

}  // namespace halftone::detail
