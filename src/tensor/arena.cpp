// SPDX-License-Identifier: Apache-2.0
#include "tensor/arena.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>

#include "halftone/parallel.h"
#include "halftone/profile.h"
#include "tensor/poison.h"

namespace halftone::detail {
namespace {

constexpr std::int64_t kMostAddresses = std::int64_t{1} << 40;
constexpr std::int64_t kLeastAddresses = std::int64_t{1} << 24;
constexpr std::int64_t kAddressUnit = std::int64_t{1} << 20;  // a multiple of every page size
constexpr std::int64_t kGrowth = std::int64_t{1} << 26;       // addresses become usable so many at a time

}  // namespace

// Where the system limits addresses, about half of what it leaves must do: the stacks of threads, libraries
// and small blocks need some, too.
Arena::Arena() {
  std::int64_t bytes = kMostAddresses;
  while (!reserve(bytes)) {
    bytes = bytes / 8 * 7 / kAddressUnit * kAddressUnit;
    if (bytes < kLeastAddresses) return;
  }
  if (bytes == kMostAddresses) return;
  capacity_ = bytes / 2 / kAddressUnit * kAddressUnit;
  ::munmap(base_ + capacity_, static_cast<std::size_t>(bytes - capacity_));
}

bool Arena::reserve(std::int64_t bytes) {
  void* begin =
      ::mmap(nullptr, static_cast<std::size_t>(bytes), PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (begin == MAP_FAILED) return false;
  base_ = static_cast<std::byte*>(begin);
  capacity_ = bytes;
  return true;
}

Arena::~Arena() {
  if (capacity_ == 0) return;
  unpoison(base_, end_);
  ::munmap(base_, static_cast<std::size_t>(capacity_));
}

// Makes room for `bytes` after the end.
bool Arena::grow(std::int64_t bytes) {
  if (bytes > capacity_ - end_) return false;
  const std::int64_t wanted = std::min(capacity_, round_up(end_ + bytes, kGrowth));
  if (wanted <= usable_) return true;
  const profile::Scope asking("allocate", profile::Class::allocator);
  std::byte* begin = base_ + usable_;
  const auto more = static_cast<std::size_t>(wanted - usable_);
  if (::mprotect(begin, more, PROT_READ | PROT_WRITE) != 0) return false;
  ::madvise(begin, more, MADV_HUGEPAGE);  // fewer addresses to translate; where it is refused, it is refused
  usable_ = wanted;
  return true;
}

// Between so many blocks and beside them there is at most one free range more than blocks.
void Arena::make_nodes(std::size_t blocks) {
  for (std::size_t made = free_.size() + spare_.size(); made <= blocks; ++made) {
    if (spare_.capacity() <= made) spare_.reserve(2 * made + 16);
    Ranges range{{0, {0, 0}}};
    Sizes size{{0, 0}};
    spare_.emplace_back(range.extract(range.begin()), size.extract(size.begin()));
  }
}

void Arena::insert(std::int64_t offset, Range range) noexcept {
  auto& [node, size] = spare_.back();
  node.key() = offset;
  node.mapped() = range;
  size.value() = {range.bytes, offset};
  free_.insert(std::move(node));
  by_size_.insert(std::move(size));
  spare_.pop_back();
}

Arena::Range Arena::remove(Ranges::iterator range) noexcept {
  const Range removed = range->second;
  auto size = by_size_.extract({removed.bytes, range->first});
  spare_.emplace_back(free_.extract(range), std::move(size));
  return removed;
}

std::byte* Arena::allocate(std::int64_t bytes) {
  make_nodes(blocks_ + 1);
  std::int64_t offset = end_;
  Range range{0, 0};
  if (const auto fitting = by_size_.lower_bound({bytes, 0}); fitting != by_size_.end()) {
    offset = fitting->second;
    range = remove(free_.find(offset));
  } else {
    const bool at_end = !free_.empty() && free_.rbegin()->first + free_.rbegin()->second.bytes == end_;
    if (!grow(bytes - (at_end ? free_.rbegin()->second.bytes : 0))) return nullptr;
    if (at_end) {
      offset = free_.rbegin()->first;
      range = remove(std::prev(free_.end()));
    }
    end_ = offset + bytes;
    range.bytes = bytes;
  }
  const Range rest{range.bytes - bytes, std::min(range.held, range.bytes - bytes)};
  if (rest.bytes > 0) insert(offset + bytes, rest);
  held_ += bytes + rest.held - range.held;
  ++blocks_;
  return base_ + offset;
}

void Arena::release(std::byte* block, std::int64_t bytes) noexcept {
  std::int64_t offset = block - base_;
  Range range{bytes, bytes};
  const auto merge = [&](Ranges::iterator neighbour) {
    offset = std::min(offset, neighbour->first);
    const Range other = remove(neighbour);
    range.bytes += other.bytes;
    range.held += other.held;
  };
  const auto next = free_.lower_bound(offset);
  const auto previous = next == free_.begin() ? free_.end() : std::prev(next);
  if (next != free_.end() && next->first == offset + bytes) merge(next);
  if (previous != free_.end() && previous->first + previous->second.bytes == offset) merge(previous);
  insert(offset, range);
  --blocks_;
}

void Arena::give_back() {
  const std::int64_t page = ::sysconf(_SC_PAGESIZE);
  for (auto& [offset, range] : free_) {
    const std::int64_t begin = round_up(offset, page), end = (offset + range.bytes) / page * page;
    if (begin < end) ::madvise(base_ + begin, static_cast<std::size_t>(end - begin), MADV_DONTNEED);
    held_ -= range.held;
    range.held = 0;
  }
}

}  // namespace halftone::detail
