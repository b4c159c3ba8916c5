// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "data/scratch.h"
#include "train/clothes.h"
#include "train/task.h"

namespace halftone::train {
namespace {

using halftone::testing::clothes_config;
using halftone::testing::Scratch;
using halftone::testing::write_clothes;
using ::testing::ElementsAre;

TEST(FashionMnistTask, HandsOutBatchesAModelAndALoss) {
  const Scratch scratch;
  write_clothes(scratch / "data", 30, 20);
  for (const char* model : {"mlp", "cnn"}) {
    Config config = clothes_config(scratch / "data", "");
    config.model = model;
    const auto task = find_task("fashion-mnist").make(config, float32);
    EXPECT_EQ(task->train_count(), 30);
    EXPECT_EQ(task->test_count(), 20);
    const data::Batch batch = task->train_batch({12, 3, 4}, 0, 2);
    EXPECT_THAT(batch.targets.to_vector(), ElementsAre(2, 3));
    const Tensor outputs = task->forward(batch.inputs);
    EXPECT_EQ(outputs.shape(), (Shape{2, 10}));
    EXPECT_GT(task->loss(outputs, batch.targets).item(), 0);
    EXPECT_THAT(task->test_batch({11}, 0, 1).targets.to_vector(), ElementsAre(1));
    EXPECT_EQ(task->buffers().empty(), config.model == "mlp");
  }
}

TEST(FashionMnistTask, MatricesAreStoredAsTheRecipeSays) {
  const Scratch scratch;
  write_clothes(scratch / "data", 10, 10);
  const auto task = find_task("fashion-mnist").make(clothes_config(scratch / "data", ""), float16);
  for (const Parameter& parameter : task->parameters())
    EXPECT_EQ(parameter.value.dtype(), parameter.value.rank() >= 2 ? float16 : float32) << parameter.name;
}

TEST(FashionMnistTask, OtherDataHasAnotherFingerprint) {
  const Scratch scratch;
  const auto fingerprint = [&](std::int64_t count) {
    write_clothes(scratch / "data", count, 10);
    return find_task("fashion-mnist").make(clothes_config(scratch / "data", ""), float32)->data_fingerprint();
  };
  const std::string one = fingerprint(10);
  EXPECT_NE(fingerprint(20), one);
  EXPECT_EQ(fingerprint(10), one);
}

}  // namespace
}  // namespace halftone::train
