// SPDX-License-Identifier: Apache-2.0
//
// Where the time of a step goes. Scopes, nested, have a name and a class and are recorded on each thread
// between start() and stop(); at all other times a scope costs one branch. A parallel loop says which thread
// was at work, so that a breakdown by class has the idle time of threads, too, and adds up to the last
// nanosecond.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <string_view>
#include <vector>

namespace halftone::profile {

enum class Class : std::uint8_t {
  matmul,  // convolutions, too
  attention,
  norm,
  activation,
  loss,
  elementwise,  // sums of gradients, too
  embedding,
  pooling,
  layout,  // copies that only move values
  optimizer,
  scan,  // unscale, finite check and norm of the gradients
  cast,
  allocator,  // asking the system for memory
  data,
  other,  // the engine, and what no scope covers
};
inline constexpr std::size_t kClasses = 15;
std::string_view to_string(Class kind);

enum class Role : std::uint8_t {
  scope,
  loop,   // a parallel loop as its caller sees it: what is not in its chunks is waiting
  chunk,  // one thread's share of a loop
};

// Names must outlive the recording. Events of a thread are in order of their beginning; the parent of one is
// the last before it whose depth is smaller.
struct Event {
  std::string_view name, part;  // part: "backward", or empty
  Class kind;
  Role role;
  int depth;
  std::int64_t begin, end;  // nanoseconds since start()
};

// Of the thread that called start() first; its first event spans the whole recording.
struct Recording {
  int threads;
  std::vector<std::vector<Event>> of_thread;
};

void start();
Recording stop();  // closes what is still open on this thread

// Nanoseconds of all threads together, by class: at work in it, and idle while the thread that called start()
// was in it. All of them add up to threads * wall.
struct Share {
  std::int64_t busy = 0, idle = 0;
};
struct Breakdown {
  int threads = 1;
  std::int64_t wall = 0;
  std::array<Share, kClasses> of_class{};
};
Breakdown break_down(const Recording& recording);

namespace detail {
inline std::atomic<int> recording = 0;  // its number; 0: none
int open(std::string_view name, std::string_view part, Class kind, Role role);
void close(int recording);
}  // namespace detail

class Scope {
 public:
  Scope(std::string_view name, Class kind) {
    if (detail::recording.load(std::memory_order_relaxed) != 0)
      recording_ = detail::open(name, {}, kind, Role::scope);
  }
  // The class is looked up only if there is a recording.
  Scope(std::string_view name, Class (*kind)(std::string_view), std::string_view part = {}) {
    if (detail::recording.load(std::memory_order_relaxed) != 0)
      recording_ = detail::open(name, part, kind(name), Role::scope);
  }
  ~Scope() {
    if (recording_ != 0) detail::close(recording_);
  }
  Scope(const Scope&) = delete;
  Scope& operator=(const Scope&) = delete;

 protected:
  Scope() = default;
  int recording_ = 0;
};

// Lives around a parallel loop, on the thread that starts it. Its chunks have the class of the scope around.
class Loop : Scope {
 public:
  Loop();

 private:
  friend class Chunk;
  std::string_view name_, part_;
  Class kind_ = Class::other;
  std::int64_t number_ = 0;
};

// Lives in the body of the loop. Chunks of one thread that follow each other are one event.
class Chunk : Scope {
 public:
  explicit Chunk(const Loop& loop) {
    if (loop.number_ != 0) begin(loop);
  }

 private:
  void begin(const Loop& loop);
};

}  // namespace halftone::profile
