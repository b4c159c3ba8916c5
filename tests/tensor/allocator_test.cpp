// SPDX-License-Identifier: Apache-2.0
#include "tensor/allocator.h"

#include <gtest/gtest.h>
#include <malloc.h>

#include <algorithm>
#include <bit>
#include <vector>

#include "halftone/tensor.h"

namespace halftone {
namespace {

TEST(Allocator, SizeClassesWasteAtMostAnEighth) {
  for (std::int64_t bytes = 1; bytes < (1 << 22); bytes += 1 + bytes / 7) {
    const std::int64_t size = detail::size_class(bytes);
    EXPECT_GE(size, bytes);
    EXPECT_EQ(size % 64, 0);
    EXPECT_EQ(detail::size_class(size), size) << "a class is its own class";
    EXPECT_LE(size, std::max<std::int64_t>(bytes + bytes / 8, (bytes + 63) / 64 * 64));
  }
}

TEST(Allocator, AFreedBlockIsReusedWithoutAskingTheSystem) {
  const void* first = nullptr;
  {
    const Tensor a({1000, 1000}, float32);
    first = a.raw();
  }
  const auto reserved = memory_stats().reserved;
  const Tensor b({1000, 1000}, float32);
  EXPECT_EQ(b.raw(), first);
  EXPECT_EQ(memory_stats().reserved, reserved);
}

TEST(Allocator, CountsWhatWasAskedForBesideWhatThatTook) {
  const auto before = memory_stats();
  {
    const Tensor a({1001}, float32);
    EXPECT_EQ(memory_stats().requested - before.requested, 4004);
    EXPECT_EQ(memory_stats().in_use - before.in_use, detail::size_class(4004));
  }
  EXPECT_EQ(memory_stats().requested, before.requested);
}

TEST(Allocator, CountsWhatIsInUseAndItsPeak) {
  reset_peak_memory();
  const auto before = memory_stats();
  { const Tensor a({1 << 20}, float32); }
  const auto after = memory_stats();
  EXPECT_EQ(after.in_use, before.in_use);
  EXPECT_EQ(after.peak, before.in_use + (4 << 20));
  reset_peak_memory();
  EXPECT_EQ(memory_stats().peak, memory_stats().in_use);
}

TEST(Allocator, CachedBlocksGoBackToTheSystemOnRequest) {
  { const Tensor a({1 << 20}, float32); }
  release_cached_memory();
  EXPECT_EQ(memory_stats().reserved, memory_stats().in_use);
}

// So that it cannot fail where there is none.
TEST(Allocator, GivingSmallBlocksBackTakesNoMemory) {
  std::vector<std::byte*> blocks(300);
  for (std::byte*& block : blocks) block = detail::allocate(11111);  // a size that no other test has
  const std::size_t before = ::mallinfo2().uordblks;
  for (std::byte* block : blocks) detail::release(block, 11111);
  EXPECT_EQ(::mallinfo2().uordblks, before);
}

TEST(Allocator, BlocksAreAlignedToACacheLine) {
  for (int n = 1; n < 100; ++n)
    EXPECT_EQ(std::bit_cast<std::uintptr_t>(Tensor({n}, uint8).raw()) % detail::kAlignment, 0U);
}

}  // namespace
}  // namespace halftone
