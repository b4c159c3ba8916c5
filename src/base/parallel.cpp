// SPDX-License-Identifier: Apache-2.0
//
// The thread pool. The caller of a loop works on its chunks itself, and threads that wait for work help: a
// loop never waits for a thread that has not begun, so one that gets no core costs nothing. A waiting thread
// looks for work for a short while, because the next loop is usually microseconds away and waking a thread
// takes longer than that, and then sleeps, because a core that other processes want must not be burnt. In a
// forked child, which has none of these threads, the pool begins anew.
#include "halftone/parallel.h"

#include <omp.h>
#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <new>
#include <string>
#include <system_error>
#include <thread>

#include "halftone/error.h"
#include "halftone/float_state.h"
#include "halftone/profile.h"
#include "halftone/warning.h"

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace halftone {
namespace {

constexpr int kSpins = 2000;  // of about 20 to 40 ns

void relax() {
#if defined(__SSE2__)
  _mm_pause();
#else
  std::this_thread::yield();
#endif
}

// Returns when the value is no longer `old` (or, rarely, for no reason).
void await_change(const std::atomic<int>& value, int old) {
  for (int i = 0; i < kSpins; ++i) {
    if (value.load(std::memory_order_acquire) != old) return;
    relax();
  }
  value.wait(old, std::memory_order_acquire);
}

thread_local bool inside_loop = false;

class Pool {
 public:
  // False if the pool works for another caller.
  bool run(detail::ChunkFunction call, const void* body, std::int64_t count, std::int64_t chunk,
           int threads) {
    const std::unique_lock only(caller_, std::try_to_lock);
    if (!only) return false;
    const profile::Loop recorded;
    hire(threads - 1);
    // Before anything changes: a helper late for the loop before must not find a chunk under a larger count.
    ticket_.store(kNoTicket, std::memory_order_seq_cst);
    call_ = call;
    body_ = body;
    recorded_ = &recorded;
    count_ = count;
    chunk_ = chunk;
    chunks_ = static_cast<int>(chunk_count(count, chunk));
    error_ = nullptr;
    failed_ = false;
    done_ = 0;
    helpers_ = threads - 1;
    const int loop = static_cast<int>(static_cast<unsigned>(loop_.load(std::memory_order_relaxed)) + 1U);
    ticket_.store(first_ticket(loop), std::memory_order_release);
    loop_.store(loop, std::memory_order_seq_cst);
    loop_.notify_all();
    work(loop);
    for (int done = done_.load(std::memory_order_acquire); done != chunks_;
         done = done_.load(std::memory_order_acquire))
      await_change(done_, done);
    if (error_) std::rethrow_exception(error_);
    return true;
  }

 private:
  // Where the system gives no more threads, those there are do the work: it is not asked again, which would
  // cost every loop a failed call.
  void hire(int helpers) {
    try {
      for (; workers_ < helpers && !refused_; ++workers_)
        std::thread([this, index = workers_] { help(index); }).detach();
    } catch (const std::system_error& error) {
      refused_ = true;
      warn_once("threads",
                std::to_string(helpers + 1) + " threads, of which " + std::to_string(workers_ + 1) +
                    " could be had: " + error.what(),
                "as many threads as loops are to use", "a higher limit of the process, or set_thread_count");
    }
  }

  static constexpr std::uint64_t kNoTicket = 0xffffffff;  // beyond every chunk

  static std::uint64_t first_ticket(int loop) {
    return static_cast<std::uint64_t>(static_cast<std::uint32_t>(loop)) << 32;
  }

  // Works on chunks of that loop until none is left. What describes the loop is only read with a chunk in
  // hand: until that is done, the caller does not return and nothing changes.
  void work(int loop) {
    std::uint64_t ticket = ticket_.load(std::memory_order_acquire);
    inside_loop = true;
    while (ticket >> 32 == first_ticket(loop) >> 32) {
      const auto index = static_cast<std::int64_t>(ticket & 0xffffffff);
      if (index >= chunks_.load(std::memory_order_relaxed)) break;
      if (!ticket_.compare_exchange_weak(ticket, ticket + 1, std::memory_order_acq_rel)) continue;
      try {
        const profile::Chunk busy(*recorded_);
        call_(body_, index * chunk_, std::min((index + 1) * chunk_, count_));
      } catch (...) {
        if (!failed_.exchange(true)) error_ = std::current_exception();
      }
      const int chunks = chunks_.load(std::memory_order_relaxed);
      if (done_.fetch_add(1, std::memory_order_acq_rel) + 1 == chunks) done_.notify_one();
      ticket = ticket_.load(std::memory_order_acquire);
    }
    inside_loop = false;
  }

  [[noreturn]] void help(int index) {
    const DefaultFloatState state;  // and not that of the thread that made this one
    for (int seen = 0;;) {
      await_change(loop_, seen);
      seen = loop_.load(std::memory_order_acquire);
      if (index < helpers_.load(std::memory_order_relaxed)) work(seen);
    }
  }

  std::mutex caller_;
  int workers_ = 0;
  bool refused_ = false;
  detail::ChunkFunction call_ = nullptr;
  const void* body_ = nullptr;
  const profile::Loop* recorded_ = nullptr;
  std::int64_t count_ = 0, chunk_ = 0;
  std::exception_ptr error_;
  std::atomic<bool> failed_ = false;
  std::atomic<int> chunks_ = 0, helpers_ = 0;
  alignas(64) std::atomic<int> loop_ = 0;              // number of the loop that runs or ran last
  alignas(64) std::atomic<std::uint64_t> ticket_ = 0;  // number of the loop, then of the next chunk to take
  alignas(64) std::atomic<int> done_ = 0;              // chunks
};

Pool& pool();

// Of the pool that a child of fork finds only the memory is of use. (A fork out of a chunk leaves it: the
// loop around is not over.)
void begin_anew() {
  if (!inside_loop) new (&pool()) Pool;
}

// Never destroyed: its threads may wait on it while the process ends.
Pool& pool() {
  static Pool& instance = []() -> Pool& {
    Pool& made = *new Pool;
    ::pthread_atfork(nullptr, nullptr, begin_anew);
    return made;
  }();
  return instance;
}

// As many as OpenMP would use (OMP_NUM_THREADS, or all cores), until set_thread_count says otherwise.
std::atomic<int>& count_of_threads() {
  static std::atomic<int> count = omp_get_max_threads();
  return count;
}

constexpr std::int64_t kMaxChunks = 1 << 30;

}  // namespace

int thread_count() { return count_of_threads(); }

void set_thread_count(int count) {
  if (count < 1) throw ValueError("threads", std::to_string(count), "at least 1");
  count_of_threads() = count;
}

namespace detail {

void parallel_chunks(std::int64_t count, std::int64_t chunk, ChunkFunction call, const void* body) {
  // Chunks on the caller's own thread, too, give the bits of those elsewhere (laws 8 and 9).
  const DefaultFloatState state;
  const std::int64_t chunks = chunk_count(count, chunk);
  const int threads = static_cast<int>(std::min<std::int64_t>(thread_count(), chunks));
  if (threads > 1 && !inside_loop && chunks <= kMaxChunks && pool().run(call, body, count, chunk, threads))
    return;
  for (std::int64_t begin = 0; begin < count; begin += chunk)
    call(body, begin, std::min(begin + chunk, count));
}

}  // namespace detail
}  // namespace halftone
