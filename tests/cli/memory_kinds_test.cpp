// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "cli/bench_run.h"

namespace halftone {
namespace {

const nlohmann::json& memory_of(std::size_t recipe) { return small_step().json["recipes"][recipe]["memory"]; }

TEST(MemoryKinds, AddUpToTheProcess) {
  for (std::size_t i = 0; i < 2; ++i) {
    std::int64_t sum = 0;
    for (const auto& [kind, bytes] : memory_of(i).items()) {
      EXPECT_GE(bytes, 0) << kind;
      if (kind != "peak") sum += bytes.get<std::int64_t>();
    }
    EXPECT_EQ(sum, memory_of(i)["peak"]);
    EXPECT_GT(memory_of(i)["process"], 1 << 20);  // the program itself
  }
}

TEST(MemoryKinds, AreWhatTheRecipeSays) {
  const std::int64_t parameters = small_step().json["parameters"];
  EXPECT_EQ(memory_of(0)["parameters"], 4 * parameters);
  EXPECT_EQ(memory_of(0)["gradients"], 4 * parameters);
  EXPECT_EQ(memory_of(0)["optimizer"], 8 * parameters);
  EXPECT_EQ(memory_of(0)["copies"], 0);
  EXPECT_EQ(memory_of(0)["masters"], 0);
  // Two bytes of each weight that is multiplied, the head included.
  EXPECT_EQ(memory_of(1)["copies"], 2 * (2 * 12 * 256 + 32 * 16));
}

}  // namespace
}  // namespace halftone
