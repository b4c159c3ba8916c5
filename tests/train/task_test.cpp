// SPDX-License-Identifier: Apache-2.0
#include "train/task.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "data/scratch.h"

namespace halftone::train {
namespace {

using halftone::testing::message_of;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(Task, ATaskIsFoundByItsName) {
  EXPECT_THAT(task_names(), Contains("fashion-mnist"));
  EXPECT_THAT(find_task("fashion-mnist").models, ElementsAre("mlp", "cnn"));
}

TEST(Task, AnUnknownNameListsTheOnesThereAre) {
  const std::string message = message_of<ValueError>([] { find_task("imagenet"); });
  EXPECT_THAT(message, HasSubstr("\"imagenet\""));
  EXPECT_THAT(message, HasSubstr("fashion-mnist"));
}

}  // namespace
}  // namespace halftone::train
