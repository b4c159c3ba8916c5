// SPDX-License-Identifier: Apache-2.0
#include "halftone/profile.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <thread>

#include "halftone/parallel.h"

namespace halftone {
namespace {

using profile::Class;
using profile::Event;
using profile::Recording;
using profile::Role;
using profile::Scope;

std::int64_t sum(const profile::Breakdown& breakdown) {
  std::int64_t total = 0;
  for (const profile::Share& share : breakdown.of_class) total += share.busy + share.idle;
  return total;
}

profile::Share of(const profile::Breakdown& breakdown, Class kind) {
  return breakdown.of_class[static_cast<std::size_t>(kind)];
}

void wait(int microseconds) {
  const auto until = std::chrono::steady_clock::now() + std::chrono::microseconds(microseconds);
  while (std::chrono::steady_clock::now() < until) {
  }
}

// Parents enclose their children, and children of one parent follow each other.
void expect_nested(const std::vector<Event>& events) {
  std::vector<const Event*> open;
  std::int64_t free_from = 0;
  for (const Event& event : events) {
    ASSERT_LE(event.depth, static_cast<int>(open.size())) << event.name;
    while (static_cast<int>(open.size()) > event.depth) {
      free_from = open.back()->end;
      open.pop_back();
    }
    EXPECT_GE(event.begin, free_from) << event.name;
    EXPECT_GE(event.end, event.begin) << event.name;
    if (!open.empty()) {
      EXPECT_GE(event.begin, open.back()->begin) << event.name;
      EXPECT_LE(event.end, open.back()->end) << event.name;
    }
    free_from = event.begin;
    open.push_back(&event);
  }
}

class Threads {
 public:
  explicit Threads(int count) : before_(thread_count()) { set_thread_count(count); }
  ~Threads() { set_thread_count(before_); }
  Threads(const Threads&) = delete;
  Threads& operator=(const Threads&) = delete;

 private:
  int before_;
};

Class norm_of(std::string_view name) { return name == "a norm" ? Class::norm : Class::other; }

TEST(Profile, NothingIsRecordedOutsideARecording) {
  { const Scope scope("before", Class::norm); }
  profile::start();
  const Recording recording = profile::stop();
  { const Scope scope("after", Class::norm); }
  ASSERT_EQ(recording.of_thread.size(), 1U);
  ASSERT_EQ(recording.of_thread[0].size(), 1U);
  EXPECT_EQ(recording.of_thread[0][0].name, "step");
}

TEST(Profile, ScopesNestAndHaveTheirNames) {
  profile::start();
  {
    const Scope outer("outer", Class::attention);
    { const Scope inner("a norm", norm_of, "backward"); }
    { const Scope inner("cast", Class::cast); }
  }
  const Recording recording = profile::stop();
  const auto& events = recording.of_thread[0];
  ASSERT_EQ(events.size(), 4U);
  const int depths[] = {0, 1, 2, 2};
  const char* names[] = {"step", "outer", "a norm", "cast"};
  for (std::size_t i = 0; i < 4; ++i) {
    EXPECT_EQ(events[i].depth, depths[i]);
    EXPECT_EQ(events[i].name, names[i]);
  }
  EXPECT_EQ(events[2].kind, Class::norm);
  EXPECT_EQ(events[2].part, "backward");
  expect_nested(events);
}

TEST(Profile, AScopeThatOutlivesItsRecordingLeavesTheNextAlone) {
  profile::start();
  auto late = std::make_unique<Scope>("late", Class::norm);
  const Recording first = profile::stop();
  profile::start();
  {
    const Scope scope("loss", Class::loss);
    late.reset();
    wait(100);
  }
  const Recording second = profile::stop();
  expect_nested(first.of_thread[0]);
  EXPECT_GT(first.of_thread[0].back().end, 0);
  ASSERT_EQ(second.of_thread[0].size(), 2U);
  EXPECT_GE(second.of_thread[0][1].end - second.of_thread[0][1].begin, 100'000);
  expect_nested(second.of_thread[0]);
}

// Times made up: the numbers follow from the definition.
TEST(Profile, ABreakdownCountsEachNanosecondOfEachThreadOnce) {
  const auto event = [](Class kind, Role role, int depth, std::int64_t begin, std::int64_t end) {
    return Event{"x", {}, kind, role, depth, begin, end};
  };
  const Recording recording{
      2,
      {{event(Class::other, Role::scope, 0, 0, 100), event(Class::norm, Role::scope, 1, 10, 60),
        event(Class::norm, Role::loop, 2, 20, 50), event(Class::norm, Role::chunk, 3, 21, 40),
        event(Class::cast, Role::scope, 4, 25, 30), event(Class::loss, Role::scope, 1, 70, 80)},
       {event(Class::norm, Role::chunk, 0, 22, 48), event(Class::allocator, Role::scope, 1, 30, 33),
        event(Class::data, Role::scope, 0, 60, 90)}}};  // beside the loops
  const profile::Breakdown breakdown = break_down(recording);
  EXPECT_EQ(breakdown.wall, 100);
  EXPECT_EQ(of(breakdown, Class::other).busy, 40);
  EXPECT_EQ(of(breakdown, Class::other).idle, 40);
  EXPECT_EQ(of(breakdown, Class::loss).busy, 10);
  EXPECT_EQ(of(breakdown, Class::loss).idle, 10);
  EXPECT_EQ(of(breakdown, Class::norm).busy, (50 - 30) + (19 - 5) + (26 - 3));
  EXPECT_EQ(of(breakdown, Class::norm).idle, 20 + (2 * 30 - 19 - 26));
  EXPECT_EQ(of(breakdown, Class::cast).busy, 5);
  EXPECT_EQ(of(breakdown, Class::cast).idle, 0);
  EXPECT_EQ(of(breakdown, Class::allocator).busy, 3);
  EXPECT_EQ(of(breakdown, Class::data).busy, 0);
  EXPECT_EQ(sum(breakdown), 2 * 100);
}

TEST(Profile, LoopsOfSeveralThreadsAddUp) {
  for (const int count : {1, 2, 3}) {
    const Threads threads(count);
    profile::start();
    {
      const Scope scope("work", Class::embedding);
      parallel_for(8, 1, [](std::int64_t, std::int64_t) {
        wait(200);
        const Scope inner("allocate", Class::allocator);
        wait(50);
      });
    }
    wait(500);
    const Recording recording = profile::stop();
    const profile::Breakdown breakdown = break_down(recording);
    EXPECT_EQ(recording.threads, count);
    EXPECT_LE(recording.of_thread.size(), static_cast<std::size_t>(count));
    EXPECT_EQ(sum(breakdown), count * breakdown.wall);
    // What the bodies took, whichever thread ran them; idle is what other threads could have done meanwhile.
    EXPECT_GE(of(breakdown, Class::embedding).busy, 8 * 200'000);
    EXPECT_GE(of(breakdown, Class::allocator).busy, 8 * 50'000);
    EXPECT_GE(of(breakdown, Class::other).busy, 500'000);
    EXPECT_GE(of(breakdown, Class::other).idle, (count - 1) * 500'000);
    for (const profile::Share& share : breakdown.of_class) {
      EXPECT_GE(share.busy, 0);
      EXPECT_GE(share.idle, 0);
    }
    int chunks = 0;
    for (const auto& events : recording.of_thread) {
      expect_nested(events);
      for (const Event& event : events) {
        if (event.role != Role::chunk) continue;
        ++chunks;
        EXPECT_EQ(event.name, "work");
        EXPECT_EQ(event.kind, Class::embedding);
      }
    }
    EXPECT_LE(chunks, count);  // the chunks of a thread are one event
    EXPECT_EQ(chunks == 0, count == 1);
  }
}

TEST(Profile, EachRecordingStartsEmpty) {
  const Threads threads(2);
  for (int i = 0; i < 3; ++i) {
    profile::start();
    parallel_for(4, 1, [](std::int64_t, std::int64_t) { wait(100); });
    const Recording recording = profile::stop();
    ASSERT_LE(recording.of_thread.size(), 2U);
    EXPECT_LE(recording.of_thread[0].size(), 3U);  // the step, the loop, and a chunk if this thread got one
    for (const auto& events : recording.of_thread) EXPECT_GE(events.front().begin, 0);
  }
}

// What a thread writes while another one stops the recording and reads it.
TEST(Profile, ThreadsOfTheProgramMayBeAtWorkWhileARecordingEnds) {
  std::atomic<bool> over = false;
  std::thread other([&] {
    while (!over) {
      const Scope outer("outer", Class::data);
      const Scope inner("inner", Class::data);
      std::this_thread::yield();
    }
  });
  for (int i = 0; i < 500; ++i) {
    profile::start();
    wait(10);
    const Recording recording = profile::stop();
    ASSERT_EQ(recording.of_thread[0].size(), 1U);
    ASSERT_LE(recording.of_thread.size(), 2U);
    if (recording.of_thread.size() == 1) continue;
    for (const Event& event : recording.of_thread[1]) {
      ASSERT_TRUE(event.name == "outer" || event.name == "inner") << event.name;
      ASSERT_LE(event.depth, 1);
      ASSERT_GE(event.begin, 0);
      ASSERT_GE(event.end, event.begin);
    }
  }
  over = true;
  other.join();
}

TEST(Profile, ThreadsOfTheProgramStayOut) {
  profile::start();
  std::thread other([] {
    const Scope scope("elsewhere", Class::data);
    wait(100);
  });
  other.join();
  const Recording recording = profile::stop();
  EXPECT_EQ(of(break_down(recording), Class::data).busy, 0);
  EXPECT_EQ(sum(break_down(recording)), recording.threads * break_down(recording).wall);
}

}  // namespace
}  // namespace halftone
