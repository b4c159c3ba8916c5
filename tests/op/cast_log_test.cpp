// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <thread>

#include "halftone/op.h"
#include "halftone/ops.h"

namespace halftone {
namespace {

TEST(CastLog, NestedLogsAllSeeWhatHappensInside) {
  const Tensor x = ones({1});
  const CastLog outer;
  relu(x);
  {
    const CastLog inner;
    exp(x);
    ASSERT_EQ(inner.records().size(), 1u);
    EXPECT_EQ(inner.records()[0].op, "exp");
  }
  relu(x);
  EXPECT_EQ(outer.records().size(), 3u);
}

TEST(CastLog, BelongsToItsThread) {
  const CastLog log;
  std::thread([] {
    EXPECT_FALSE(CastLog::active());
    relu(ones({1}));
  }).join();
  EXPECT_TRUE(log.records().empty());
}

}  // namespace
}  // namespace halftone
