// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <stdexcept>
#include <thread>

#include "halftone/autograd.h"

namespace halftone {
namespace {

TEST(ThreadState, ScopesRestoreModesAndKeepRandomNumbersMoving) {
  manual_seed(1);
  inference([] {
    EXPECT_FALSE(thread_state().grad_enabled);
    EXPECT_FALSE(thread_state().training);
    take_random(10);
  });
  EXPECT_TRUE(thread_state().grad_enabled);
  EXPECT_TRUE(thread_state().training);
  EXPECT_EQ(thread_state().random_index, 10U);
  EXPECT_EQ(take_random(5), 10U);
}

TEST(ThreadState, AnExceptionUnwindsTheScope) {
  try {
    no_grad([] { throw std::runtime_error("out"); });
  } catch (const std::runtime_error&) {
  }
  EXPECT_TRUE(thread_state().grad_enabled);
}

TEST(ThreadState, EachThreadHasItsOwn) {
  no_grad([] {
    std::thread([] { EXPECT_TRUE(thread_state().grad_enabled); }).join();
    EXPECT_FALSE(thread_state().grad_enabled);
  });
}

TEST(ThreadState, BackendsAreChosenByNameAndScope) {
  EXPECT_EQ(thread_state().backend->name(), "cpu");
  with_backend("reference", [] { EXPECT_EQ(thread_state().backend->name(), "reference"); });
  EXPECT_EQ(thread_state().backend->name(), "cpu");
  EXPECT_THROW(with_backend("gpu", [] {}), Unsupported);
}

}  // namespace
}  // namespace halftone
