// SPDX-License-Identifier: Apache-2.0
//
// Each thread writes to a list of its own, under a lock that nobody else wants until the recording ends: then
// the thread that started it reads all of them, and threads of the program may still be at work.
#include "halftone/profile.h"

#include <chrono>
#include <memory>
#include <mutex>

#include "halftone/parallel.h"

namespace halftone::profile {
namespace {

using Clock = std::chrono::steady_clock;

struct Lane {
  std::mutex mutex;  // guards the rest
  int recording = 0;
  std::vector<Event> events;
  std::vector<std::size_t> open;  // innermost last
  std::size_t chunk = 0;          // the latest chunk of this thread,
  std::int64_t loop = 0;          // and the loop that it is of
};

std::mutex mutex;  // guards `lanes`
std::vector<std::shared_ptr<Lane>> lanes;
std::atomic<Clock::duration> origin;  // when the recording began
std::atomic<std::int64_t> loops = 0;

std::int64_t now() {
  const Clock::duration since = Clock::now().time_since_epoch() - origin.load(std::memory_order_relaxed);
  return std::chrono::duration_cast<std::chrono::nanoseconds>(since).count();
}

Lane& this_lane() {
  thread_local const std::shared_ptr<Lane> lane = [] {
    auto made = std::make_shared<Lane>();
    const std::lock_guard lock(mutex);
    lanes.push_back(made);
    return made;
  }();
  return *lane;
}

// Here and below the caller holds the lane. Empties it if it has an earlier recording.
void turn_to(Lane& lane, int recording) {
  if (lane.recording == recording) return;
  lane.recording = recording;
  lane.events.clear();
  lane.open.clear();
  lane.loop = 0;
}

void push(Lane& lane, std::string_view name, std::string_view part, Class kind, Role role) {
  lane.open.push_back(lane.events.size());
  const std::int64_t time = now();
  lane.events.push_back({name, part, kind, role, static_cast<int>(lane.open.size()) - 1, time, time});
}

void close_innermost(Lane& lane) {
  lane.events[lane.open.back()].end = now();
  lane.open.pop_back();
}

}  // namespace

std::string_view to_string(Class kind) {
  constexpr std::array<std::string_view, kClasses> kNames = {
      "matmul", "attention", "norm", "activation", "loss",      "elementwise", "embedding", "pooling",
      "layout", "optimizer", "scan", "cast",       "allocator", "data",        "other"};
  return kNames[static_cast<std::size_t>(kind)];
}

namespace detail {

int open(std::string_view name, std::string_view part, Class kind, Role role) {
  const int number = recording.load(std::memory_order_acquire);
  if (number == 0) return 0;
  Lane& lane = this_lane();
  const std::lock_guard lock(lane.mutex);
  turn_to(lane, number);
  push(lane, name, part, kind, role);
  return number;
}

void close(int number) {
  Lane& lane = this_lane();
  const std::lock_guard lock(lane.mutex);
  if (lane.recording != number || lane.open.empty()) return;  // the recording ended before the scope
  close_innermost(lane);
}

}  // namespace detail

Loop::Loop() {
  const int number = detail::recording.load(std::memory_order_acquire);
  if (number == 0) return;
  Lane& lane = this_lane();
  const std::lock_guard lock(lane.mutex);
  turn_to(lane, number);
  name_ = "loop";
  if (!lane.open.empty()) {
    const Event& around = lane.events[lane.open.back()];
    name_ = around.name, part_ = around.part, kind_ = around.kind;
  }
  number_ = ++loops;
  recording_ = number;
  push(lane, name_, part_, kind_, Role::loop);
}

void Chunk::begin(const Loop& loop) {
  const int number = detail::recording.load(std::memory_order_acquire);
  if (number == 0) return;
  Lane& lane = this_lane();
  const std::lock_guard lock(lane.mutex);
  turn_to(lane, number);
  recording_ = number;
  if (lane.loop == loop.number_) return lane.open.push_back(lane.chunk);
  lane.loop = loop.number_;
  lane.chunk = lane.events.size();
  push(lane, loop.name_, loop.part_, loop.kind_, Role::chunk);
}

void start() {
  static int last = 0;
  {
    const std::lock_guard lock(mutex);
    std::erase_if(lanes, [](const auto& lane) { return lane.use_count() == 1; });  // of threads that ended
  }
  origin.store(Clock::now().time_since_epoch(), std::memory_order_relaxed);
  detail::recording.store(++last, std::memory_order_release);
  detail::open("step", {}, Class::other, Role::scope);
}

Recording stop() {
  const int number = detail::recording.exchange(0);
  Recording result{thread_count(), {}};
  Lane& own = this_lane();
  {
    const std::lock_guard lock(own.mutex);
    turn_to(own, number);
    while (!own.open.empty()) close_innermost(own);
    result.of_thread.push_back(own.events);
  }
  const std::lock_guard lock(mutex);
  for (const auto& lane : lanes) {
    if (lane.get() == &own) continue;
    const std::lock_guard held(lane->mutex);
    if (lane->recording == number && !lane->events.empty()) result.of_thread.push_back(lane->events);
  }
  return result;
}

// Outside a loop the other threads are idle. A loop takes all threads from its beginning to its end; what
// their chunks leave of that is idle, too.
Breakdown break_down(const Recording& recording) {
  Breakdown result{.threads = recording.threads, .wall = 0, .of_class = {}};
  const auto share = [&](const Event& event) -> Share& {
    return result.of_class[static_cast<std::size_t>(event.kind)];
  };
  for (std::size_t thread = 0; thread < recording.of_thread.size(); ++thread) {
    const bool caller = thread == 0;
    std::vector<const Event*> around;
    int chunks = 0;  // among those around
    const auto is_chunk = [](const Event& event) { return event.role == Role::chunk; };
    for (const Event& event : recording.of_thread[thread]) {
      while (static_cast<int>(around.size()) > event.depth) {
        chunks -= is_chunk(*around.back());
        around.pop_back();
      }
      const std::int64_t time = event.end - event.begin;
      if (around.empty() && caller) result.wall = time;
      // What a thread does beside the loops of the caller is not part of the step.
      const bool counts = caller || chunks > 0 || is_chunk(event);
      if (counts && event.role != Role::loop) share(event).busy += time;
      if (caller && event.role == Role::loop) share(event).idle += recording.threads * time;
      if (caller && event.role == Role::scope && chunks == 0)
        share(event).idle += (recording.threads - 1) * time;
      if (is_chunk(event)) share(event).idle -= time;
      if (counts && !around.empty()) {
        Share& outer = share(*around.back());
        if (around.back()->role != Role::loop) outer.busy -= time;
        if (caller && around.back()->role == Role::scope && chunks == 0)
          outer.idle -= (recording.threads - 1) * time;
      }
      around.push_back(&event);
      chunks += is_chunk(event);
    }
  }
  return result;
}

}  // namespace halftone::profile
