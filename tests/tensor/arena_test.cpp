// SPDX-License-Identifier: Apache-2.0
#include "tensor/arena.h"

#include <gtest/gtest.h>
#include <malloc.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <map>
#include <random>
#include <thread>

#include "tensor/allocator.h"
#include "tensor/poison.h"

namespace halftone::detail {
namespace {

constexpr std::int64_t kMiB = 1 << 20;

TEST(Arena, ABlockMergesWithItsFreeNeighboursOnBothSides) {
  Arena arena;
  std::byte* blocks[3];
  for (std::byte*& block : blocks) block = arena.allocate(kMiB);
  EXPECT_EQ(blocks[1], blocks[0] + kMiB);
  for (const int i : {0, 2, 1}) arena.release(blocks[i], kMiB);
  EXPECT_EQ(arena.held(), 3 * kMiB);
  EXPECT_EQ(arena.allocate(3 * kMiB), blocks[0]);
  EXPECT_EQ(arena.held(), 3 * kMiB);
}

TEST(Arena, TheSmallestRangeWithRoomIsTaken) {
  Arena arena;
  std::byte* const wide = arena.allocate(4 * kMiB);
  arena.allocate(64);  // keeps the two apart
  std::byte* const narrow = arena.allocate(2 * kMiB);
  arena.allocate(64);
  arena.release(wide, 4 * kMiB);
  arena.release(narrow, 2 * kMiB);
  EXPECT_EQ(arena.allocate(kMiB), narrow);
  EXPECT_EQ(arena.allocate(kMiB), narrow + kMiB);
  EXPECT_EQ(arena.allocate(kMiB), wide);
}

TEST(Arena, GrowsByWhatTheFreeRangeAtItsEndLacks) {
  Arena arena;
  std::byte* const first = arena.allocate(kMiB);
  std::byte* const last = arena.allocate(kMiB);
  arena.release(last, kMiB);
  EXPECT_EQ(arena.allocate(3 * kMiB), last);
  EXPECT_EQ(arena.held(), 4 * kMiB);
  std::memset(first, 1, 4 * kMiB);
}

TEST(Arena, PagesGoBackAndComeAgainAsZeros) {
  Arena arena;
  std::byte* const kept = arena.allocate(kMiB);
  std::byte* const block = arena.allocate(8 * kMiB);
  std::memset(kept, 1, kMiB);
  std::memset(block, 1, 8 * kMiB);
  arena.release(block, 8 * kMiB);
  arena.give_back();
  EXPECT_EQ(arena.held(), kMiB);
  ASSERT_EQ(arena.allocate(8 * kMiB), block);
  EXPECT_EQ(arena.held(), 9 * kMiB);
  EXPECT_TRUE(std::all_of(block, block + 8 * kMiB, [](std::byte byte) { return byte == std::byte{0}; }));
  EXPECT_EQ(kept[kMiB - 1], std::byte{1});
}

TEST(Arena, WhatCannotBeHadIsNullAndChangesNothing) {
  Arena arena;
  std::byte* const block = arena.allocate(kMiB);
  EXPECT_EQ(arena.allocate(std::int64_t{1} << 60), nullptr);
  EXPECT_EQ(arena.allocate(std::int64_t{1} << 39), nullptr) << "more than the machine has";
  EXPECT_EQ(arena.held(), kMiB);
  EXPECT_EQ(arena.allocate(kMiB), block + kMiB);
}

// So that it cannot fail where there is none.
TEST(Arena, GivingBlocksBackTakesNoMemory) {
  Arena arena;
  std::byte* blocks[200];
  for (std::byte*& block : blocks) block = arena.allocate(64);
  const std::size_t before = ::mallinfo2().uordblks;
  for (std::size_t i = 0; i < 200; i += 2) arena.release(blocks[i], 64);  // a range each
  const std::size_t apart = ::mallinfo2().uordblks;
  for (std::size_t i = 1; i < 200; i += 2) arena.release(blocks[i], 64);
  EXPECT_EQ(::mallinfo2().uordblks, before);
  EXPECT_EQ(apart, before);
  EXPECT_EQ(arena.allocate(200 * 64), blocks[0]);
}

// In a process of its own, because the limit is on all that the process has. The rest of it, little more than
// a power of two, must do for the stack of a thread, too.
[[noreturn]] void allocate_with_few_addresses() {
  std::int64_t used = 0;  // pages
  std::ifstream("/proc/self/statm") >> used;
  constexpr std::int64_t kLeft = std::int64_t{1} << 32;
  const auto few = static_cast<rlim_t>(used * ::sysconf(_SC_PAGESIZE) + kLeft + kMiB);
  const rlimit limit{few, few};
  bool right = used > 0 && ::setrlimit(RLIMIT_AS, &limit) == 0, ran = false;
  Arena arena;
  right = right && arena.allocate(kLeft / 8) != nullptr && arena.allocate(kLeft) == nullptr;
  std::thread([&] { ran = true; }).join();
  std::_Exit(right && ran ? 0 : 1);
}

TEST(ArenaDeathTest, MakesDoWithHalfOfTheAddressesWhereTheyAreLimited) {
  if (__asan_poison_memory_region != nullptr) GTEST_SKIP() << "AddressSanitizer needs terabytes of addresses";
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(allocate_with_few_addresses(), testing::ExitedWithCode(0), "");
}

// What a tensor does not own is poisoned: beyond its last byte, and all of it once it is gone.
TEST(ArenaDeathTest, AddressSanitizerSeesAByteBeyondALargeBlock) {
  if (__asan_poison_memory_region == nullptr) GTEST_SKIP() << "runs under AddressSanitizer only";
  for (const std::int64_t bytes : {std::int64_t{100}, std::int64_t{100000}}) {
    std::byte* const block = allocate(bytes);
    block[bytes - 1] = std::byte{1};
    EXPECT_DEATH(block[bytes] = std::byte{1}, "use-after-poison");
    release(block, bytes);
    EXPECT_DEATH(block[0] = std::byte{1}, "use-after-poison");
  }
}

// Random sizes and orders: blocks never overlap, keep what was written, and what is free again in the end is
// one range.
TEST(Arena, RandomBlocksKeepTheirBytes) {
  Arena arena;
  std::mt19937 random(7);
  std::map<std::byte*, std::pair<std::int64_t, std::byte>> blocks;
  std::int64_t in_use = 0, peak = 0;
  for (int i = 0; i < 20000; ++i) {
    if (blocks.empty() || random() % 2 == 0) {
      const auto bytes = static_cast<std::int64_t>(64 << random() % 8) * (1 + random() % 4);
      std::byte* const block = arena.allocate(bytes);
      ASSERT_NE(block, nullptr);
      ASSERT_EQ(reinterpret_cast<std::uintptr_t>(block) % kAlignment, 0U);
      const auto fill = static_cast<std::byte>(random());
      std::memset(block, static_cast<int>(fill), static_cast<std::size_t>(bytes));
      blocks[block] = {bytes, fill};
      peak = std::max(peak, in_use += bytes);
    } else {
      auto one = std::next(blocks.begin(), static_cast<std::int64_t>(random() % blocks.size()));
      const auto [bytes, fill] = one->second;
      ASSERT_EQ(std::count(one->first, one->first + bytes, fill), bytes);
      arena.release(one->first, bytes);
      in_use -= bytes;
      blocks.erase(one);
    }
    if (i % 1000 == 999) arena.give_back();
    ASSERT_GE(arena.held(), in_use);
  }
  for (const auto& [block, content] : blocks) arena.release(block, content.first);
  EXPECT_NE(arena.allocate(peak), nullptr);
  arena.give_back();
  EXPECT_LE(arena.held(), 2 * peak);
}

}  // namespace
}  // namespace halftone::detail
