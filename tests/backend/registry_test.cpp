// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "halftone/backend.h"

namespace halftone {
namespace {

TEST(Registry, TheCpuComesFirstAndTheReferenceIsThere) {
  ASSERT_GE(backends().size(), 2U);
  EXPECT_EQ(backends()[0]->name(), "cpu");
  EXPECT_EQ(find_backend("reference").name(), "reference");
  EXPECT_EQ(&find_backend("cpu"), backends()[0]);
}

TEST(Registry, AnUnknownNameIsAnsweredWithTheNamesThereAre) {
  try {
    find_backend("tpu");
    FAIL() << "no exception";
  } catch (const Unsupported& error) {
    EXPECT_THAT(error.what(),
                ::testing::AllOf(::testing::HasSubstr("tpu"), ::testing::HasSubstr("cpu, reference")));
  }
}

TEST(Registry, TheReferenceHasNoKernelsOfItsOwn) {
  EXPECT_EQ(find_backend("reference").find("batch_norm.forward"), nullptr);
}

}  // namespace
}  // namespace halftone
