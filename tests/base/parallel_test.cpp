// SPDX-License-Identifier: Apache-2.0
#include "halftone/parallel.h"

#include <gtest/gtest.h>
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "halftone/error.h"
#include "halftone/warning.h"

#if defined(__SSE2__)
#include <xmmintrin.h>
#endif

namespace halftone {
namespace {

using Chunk = std::pair<std::int64_t, std::int64_t>;

class Parallel : public testing::Test {
 protected:
  void TearDown() override { set_thread_count(before_); }

 private:
  int before_ = thread_count();
};

std::vector<Chunk> chunks_of(std::int64_t count, std::int64_t chunk) {
  std::mutex mutex;
  std::vector<Chunk> seen;
  parallel_for(count, chunk, [&](std::int64_t begin, std::int64_t end) {
    const std::lock_guard lock(mutex);
    seen.emplace_back(begin, end);
  });
  std::sort(seen.begin(), seen.end());
  return seen;
}

TEST_F(Parallel, ChunksDependOnTheProblemAndNotOnTheThreads) {
  const std::vector<Chunk> expected = {{0, 4}, {4, 8}, {8, 10}};
  for (int threads : {1, 2, 3, 8}) {
    set_thread_count(threads);
    EXPECT_EQ(thread_count(), threads);
    EXPECT_EQ(chunks_of(10, 4), expected);
  }
}

TEST_F(Parallel, CoversEveryCountExactlyOnce) {
  for (int threads : {1, 2}) {
    set_thread_count(threads);
    for (std::int64_t count = 0; count < 40; ++count) {
      for (std::int64_t chunk : {1, 3, 7, 100}) {
        const std::vector<Chunk> seen = chunks_of(count, chunk);
        ASSERT_EQ(static_cast<std::int64_t>(seen.size()), chunk_count(count, chunk));
        std::int64_t next = 0;
        for (const Chunk& c : seen) {
          ASSERT_EQ(c.first, next);
          ASSERT_EQ(c.second, std::min(next + chunk, count));
          next = c.second;
        }
        ASSERT_EQ(next, count);
      }
    }
  }
}

TEST_F(Parallel, SumsCombinedInOrderOfTheChunksHaveTheSameBitsOnAnyNumberOfThreads) {
  constexpr std::int64_t kCount = 100000, kChunk = 1024;
  const auto sum = [&] {
    std::vector<float> partial(static_cast<std::size_t>(chunk_count(kCount, kChunk)));
    parallel_for(kCount, kChunk, [&](std::int64_t begin, std::int64_t end) {
      float total = 0;
      for (std::int64_t i = begin; i < end; ++i) total += 1.0f / static_cast<float>(i + 1);
      partial[static_cast<std::size_t>(begin / kChunk)] = total;
    });
    float total = 0;
    for (float part : partial) total += part;
    return total;
  };
  set_thread_count(1);
  const float alone = sum();
  EXPECT_NEAR(alone, 12.090146f, 1e-4f);  // the harmonic number of 100000
  for (int threads : {2, 3, 5}) {
    set_thread_count(threads);
    for (int repeat = 0; repeat < 5; ++repeat) EXPECT_EQ(sum(), alone);
  }
}

// Each of two chunks waits for the other, which a single thread could not do; the wait is bounded.
bool two_threads_meet() {
  std::atomic<int> inside = 0;
  std::atomic<bool> met = false;
  parallel_for(2, 1, [&](std::int64_t, std::int64_t) {
    ++inside;
    for (int i = 0; i < 10000 && inside < 2; ++i) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    if (inside == 2) met = true;
  });
  return met;
}

TEST_F(Parallel, UsesMoreThanOneThreadWhenThereIsMoreThanOneChunk) {
  set_thread_count(2);
  EXPECT_TRUE(two_threads_meet());
}

TEST_F(Parallel, HelpersThatFellAsleepComeAgain) {
  set_thread_count(2);
  for (int repeat = 0; repeat < 5; ++repeat) {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    EXPECT_TRUE(two_threads_meet());
  }
}

// A helper that comes late must neither take part in the next loop by mistake nor run a chunk twice.
TEST_F(Parallel, ShortLoopsOneAfterTheOtherRunEveryChunkOnce) {
  for (int threads : {2, 5}) {
    set_thread_count(threads);
    for (int loop = 0; loop < 20000; ++loop) {
      std::array<std::atomic<int>, 8> runs{};
      const std::int64_t chunks = 2 + loop % 7;
      parallel_for(chunks, 1,
                   [&](std::int64_t begin, std::int64_t) { ++runs[static_cast<std::size_t>(begin)]; });
      for (std::size_t i = 0; i < runs.size(); ++i)
        ASSERT_EQ(runs[i], static_cast<std::int64_t>(i) < chunks ? 1 : 0)
            << "loop " << loop << " chunk " << i;
    }
  }
}

TEST_F(Parallel, SeveralThreadsMayCallAtOnce) {
  set_thread_count(3);
  std::atomic<int> wrong = 0;
  std::vector<std::thread> callers;
  for (int caller = 0; caller < 4; ++caller)
    callers.emplace_back([&] {
      for (int loop = 0; loop < 500; ++loop) {
        std::atomic<std::int64_t> total = 0;
        parallel_for(100, 7, [&](std::int64_t begin, std::int64_t end) {
          for (std::int64_t i = begin; i < end; ++i) total += i;
        });
        if (total != 99 * 100 / 2) ++wrong;
      }
    });
  for (std::thread& caller : callers) caller.join();
  EXPECT_EQ(wrong, 0);
}

TEST_F(Parallel, OneThreadOrOneChunkRunsInline) {
  const std::thread::id self = std::this_thread::get_id();
  const auto here = [&](std::int64_t, std::int64_t) { EXPECT_EQ(std::this_thread::get_id(), self); };
  set_thread_count(1);
  parallel_for(8, 1, here);
  set_thread_count(2);
  parallel_for(8, 8, here);
}

TEST_F(Parallel, RethrowsWhatABodyThrows) {
  for (int threads : {1, 2}) {
    set_thread_count(threads);
    try {
      parallel_for(100, 1, [](std::int64_t begin, std::int64_t) {
        if (begin == 37) throw ValueError("chunk", "37");
      });
      FAIL() << "nothing was thrown on " << threads << " threads";
    } catch (const ValueError& error) {
      EXPECT_STREQ(error.what(), "[chunk] 37");
    }
  }
}

TEST_F(Parallel, RethrowsOneOfManyAndStaysUsable) {
  set_thread_count(2);
  EXPECT_THROW(parallel_for(100, 1, [](std::int64_t, std::int64_t) { throw std::out_of_range("each"); }),
               std::out_of_range);
  EXPECT_EQ(chunks_of(6, 3).size(), 2u);
}

TEST_F(Parallel, ALoopInsideALoopRunsInline) {
  set_thread_count(2);
  std::atomic<int> strangers = 0;
  std::atomic<std::int64_t> total = 0;
  parallel_for(4, 1, [&](std::int64_t outer, std::int64_t) {
    const std::thread::id self = std::this_thread::get_id();
    parallel_for(10, 2, [&](std::int64_t begin, std::int64_t end) {
      if (std::this_thread::get_id() != self) ++strangers;
      for (std::int64_t i = begin; i < end; ++i) total += outer * 10 + i;
    });
  });
  EXPECT_EQ(strangers, 0);
  EXPECT_EQ(total, 39 * 40 / 2);
}

TEST_F(Parallel, AnExceptionOfAnInnerLoopReachesTheCaller) {
  set_thread_count(2);
  EXPECT_THROW(parallel_for(4, 1,
                            [](std::int64_t, std::int64_t) {
                              parallel_for(
                                  4, 1, [](std::int64_t, std::int64_t) { throw ShapeError("inner", "x"); });
                            }),
               ShapeError);
}

TEST_F(Parallel, RoundsUpToWholeUnits) {
  for (const std::int64_t unit : {1, 3, 64})
    for (std::int64_t count = 0; count < 200; ++count) {
      const std::int64_t whole = round_up(count, unit);
      EXPECT_EQ(whole % unit, 0);
      EXPECT_TRUE(whole >= count && whole < count + unit) << count << " by " << unit << ": " << whole;
    }
}

#if defined(__SSE2__)
TEST_F(Parallel, ChunksKeepSubnormalsWhateverTheCallerDoes) {
  const unsigned before = _mm_getcsr(), flushes = before | 0x8040u;
  for (const int threads : {1, 2, 3}) {
    set_thread_count(threads);
    std::vector<float> halves(64, 0x1p-140f);
    _mm_setcsr(flushes);
    parallel_for(64, 1, [&](std::int64_t begin, std::int64_t) {
      volatile float half = 0.5f;
      halves[static_cast<std::size_t>(begin)] *= half;
    });
    const unsigned after = _mm_getcsr();
    _mm_setcsr(before);
    EXPECT_EQ(after & 0x8040u, 0x8040u) << "the caller's own state";
    EXPECT_EQ(halves, std::vector<float>(64, 0x1p-141f)) << threads << " threads";
  }
}
#endif

// A child has none of the threads of its parent.
TEST_F(Parallel, AForkedChildGetsHelpersOfItsOwn) {
  set_thread_count(2);
  ASSERT_TRUE(two_threads_meet());
  const pid_t child = ::fork();
  if (child == 0) ::_exit(two_threads_meet() ? 0 : 1);
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
  EXPECT_TRUE(two_threads_meet());
}

// Each of the threads to come wants a stack that no machine has.
[[noreturn]] void loop_without_new_threads() {
  pthread_attr_t attributes;
  bool right = ::pthread_attr_init(&attributes) == 0 &&
               ::pthread_attr_setstacksize(&attributes, std::size_t{1} << 60) == 0 &&
               ::pthread_setattr_default_np(&attributes) == 0;
  int warnings = 0;
  set_warning_handler([&](const std::string&) { ++warnings; });
  set_thread_count(3);
  const std::vector<Chunk> expected = {{0, 4}, {4, 8}, {8, 10}};
  for (int loop = 0; loop < 3; ++loop) right = right && chunks_of(10, 4) == expected;
  std::_Exit(right && warnings == 1 ? 0 : 1);
}

TEST(ParallelDeathTest, LoopsGoOnWithTheThreadsThereAre) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(loop_without_new_threads(), testing::ExitedWithCode(0), "");
}

TEST_F(Parallel, RefusesFewerThanOneThread) {
  EXPECT_THROW(set_thread_count(0), ValueError);
  EXPECT_THROW(set_thread_count(-2), ValueError);
  EXPECT_GE(thread_count(), 1);
}

}  // namespace
}  // namespace halftone
