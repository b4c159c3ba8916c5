// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "data/scratch.h"
#include "halftone/optim.h"
#include "halftone/parallel.h"
#include "train/clothes.h"

namespace halftone::train {
namespace {

using halftone::testing::clothes_config;
using halftone::testing::message_of;
using halftone::testing::read_bytes;
using halftone::testing::Scratch;
using halftone::testing::write_bytes;
using halftone::testing::write_clothes;
using ::testing::HasSubstr;

TEST(Run, TheModelLearnsInEveryRecipeThatIsNoAblation) {
  const Scratch scratch;
  write_clothes(scratch / "data", 1000, 200);
  for (const char* recipe : {"float32", "bfloat16", "float16", "float16_master"}) {
    Config config = clothes_config(scratch / "data", "");
    config.recipe = recipe;
    config.init_scale = 1024;
    const RunRecord record = run(config);
    EXPECT_TRUE(record.finished);
    EXPECT_GT(record.accuracy(), 0.9) << recipe;  // chance is 0.1
    EXPECT_LT(record.epochs[1].train_loss, record.epochs[0].train_loss) << recipe;
  }
}

TEST(Run, EveryOptimizerLearnsTheConvolutionalModelWithItsDefaults) {
  const Scratch scratch;
  write_clothes(scratch / "data", 600, 100);
  for (const std::string_view optimizer : optim::optimizer_names()) {
    Config config = clothes_config(scratch / "data", "");
    config.model = "cnn";
    config.recipe = "bfloat16";
    config.optimizer = optimizer;
    config.batch = 32;
    EXPECT_GT(run(config).accuracy(), 0.9) << optimizer;
  }
}

TEST(Run, TheRecordIsComplete) {
  const Scratch scratch;
  write_clothes(scratch / "data", 150, 50);
  Config config = clothes_config(scratch / "data", scratch / "out");
  config.recipe = "float16";
  config.init_scale = 256;
  std::vector<std::int64_t> steps;
  int finished_epochs = 0;
  const RunRecord record = run(config, [&](const Progress& progress) {
    steps.push_back(progress.step);
    finished_epochs += progress.finished_epoch != nullptr;
    EXPECT_EQ(progress.total_steps, 6);
    EXPECT_EQ(progress.epochs, 2);
    EXPECT_TRUE(std::isfinite(progress.seconds_left));
  });
  EXPECT_EQ(steps, (std::vector<std::int64_t>{1, 2, 3, 3, 4, 5, 6, 6}));
  EXPECT_EQ(finished_epochs, 2);
  ASSERT_EQ(record.steps.size(), 6u);  // 64 + 64 + 22 images, twice
  ASSERT_EQ(record.epochs.size(), 2u);
  EXPECT_EQ(record.epochs[1].epoch, 2);
  EXPECT_NEAR(record.epochs[0].train_loss,
              (64 * record.steps[0].loss + 64 * record.steps[1].loss + 22 * record.steps[2].loss) / 150,
              1e-6);
  for (const StepRecord& step : record.steps) EXPECT_EQ(step.scale, 256);
  EXPECT_EQ(record.parameters, 784 * 512 + 512 + 512 * 512 + 512 + 512 * 10 + 10);
  EXPECT_GT(record.config.lr, 0);
  EXPECT_EQ(record.config.threads, 2);
  EXPECT_EQ(record.started.size(), std::string("2024-01-02T03:04:05Z").size());
  EXPECT_FALSE(record.version.empty());
  EXPECT_FALSE(record.machine.processor.empty());
  EXPECT_GT(record.seconds, record.epochs[0].seconds + record.epochs[1].seconds);
  EXPECT_GT(record.peak_memory, 4 * 4 * record.parameters);  // weights, gradients and two moments
  EXPECT_GT(record.matmul_gflops_float32, 0);
  EXPECT_GT(record.matmul_gflops_compute, 0);
  EXPECT_EQ(record.resumed_from, 0);
}

TEST(Run, TheSameConfigurationGivesTheSameBitsAndAnotherSeedOthers) {
  const Scratch scratch;
  write_clothes(scratch / "data", 200, 50);
  const auto losses = [&](std::int64_t seed) {
    Config config = clothes_config(scratch / "data", "");
    config.seed = seed;
    std::vector<float> values;
    for (const StepRecord& step : run(config).steps) values.push_back(step.loss);
    return values;
  };
  const std::vector<float> first = losses(1);
  EXPECT_EQ(losses(1), first);
  EXPECT_NE(losses(2), first);
}

TEST(Run, LeavesTheCallersThreadsAndRandomNumbersAlone) {
  const Scratch scratch;
  write_clothes(scratch / "data", 64, 10);
  manual_seed(77);
  thread_state().random_index = 5;
  const int threads = thread_count();
  Config config = clothes_config(scratch / "data", "");
  config.threads = threads + 1;
  run(config);
  EXPECT_EQ(thread_count(), threads);
  EXPECT_EQ(thread_state().seed, 77u);
  EXPECT_EQ(thread_state().random_index, 5u);
}

TEST(Run, AnOverflowIsSkippedRecordedAndExplained) {
  const Scratch scratch;
  write_clothes(scratch / "data", 1000, 50);
  Config config = clothes_config(scratch / "data", "");
  config.recipe = "float16";
  config.init_scale = 16777216;
  config.loss_weight = 1000;
  const RunRecord record = run(config);
  ASSERT_FALSE(record.skips.empty());
  EXPECT_EQ(record.skips[0].step, 1);
  EXPECT_EQ(record.skips[0].scale, 16777216);
  EXPECT_FALSE(record.skips[0].culprit.empty());
  EXPECT_FALSE(record.steps[0].applied);
  EXPECT_EQ(record.steps[1].scale, 8388608);
  EXPECT_NEAR(record.steps[0].loss, std::log(10), 1);  // the weight of the loss is taken out again
  EXPECT_TRUE(record.steps.back().applied);
}

TEST(Run, ALossThatIsNotFiniteEndsTheRun) {
  const Scratch scratch;
  write_clothes(scratch / "data", 500, 50);
  Config config = clothes_config(scratch / "data", scratch / "out");
  config.optimizer = "sgd";
  config.lr = 1000;
  config.epochs = 30;
  const RunRecord record = run(config);
  EXPECT_FALSE(record.finished);
  EXPECT_NE(record.failure.find("expected a finite loss"), std::string::npos) << record.failure;
  EXPECT_GE(record.steps.size(), 1u);
  EXPECT_TRUE(std::filesystem::exists(state_file(scratch / "out")));
}

TEST(Run, WhatCanNotBeginIsRefusedBeforeAnythingIsWritten) {
  const Scratch scratch;
  write_clothes(scratch / "data", 100, 50);
  Config config = clothes_config(scratch / "data", scratch / "out");
  config.limit = 101;
  EXPECT_THAT(message_of<ValueError>([&] { run(config); }), HasSubstr("at most 100"));
  config.limit = 0;
  config.epochs = 0;
  EXPECT_THROW(run(config), ValueError);
  config.epochs = 2;
  config.data = scratch / "nowhere";
  EXPECT_THROW(run(config), FileError);
  config.data = scratch / "data";
  config.resume = true;
  EXPECT_THAT(message_of<FileError>([&] { run(config); }), HasSubstr("without --resume"));
  config.out = "";
  EXPECT_THROW(run(config), ValueError);
  write_bytes(scratch / "file", "not a folder");
  config.resume = false;
  config.out = scratch / "file";
  EXPECT_THROW(run(config), FileError);
  EXPECT_FALSE(std::filesystem::exists(state_file(scratch / "out")));
}

TEST(Run, AModelOrAnotherRunsFilesAreNotReplaced) {
  const Scratch scratch;
  for (const char* file : {"config.json", "model.safetensors", "tokenizer.json", "record.json"}) {
    const std::filesystem::path out = scratch / ("with-" + std::string(file));
    std::filesystem::create_directory(out);
    write_bytes(out / file, "somebody's");
    Config config = clothes_config(scratch / "data", out);
    EXPECT_THAT(message_of<ValueError>([&] { run(config); }), HasSubstr((out / file).string()));
    EXPECT_EQ(read_bytes(out / file), "somebody's");
  }
}

TEST(Run, AStateFileIsNeverOverwrittenByAnotherRun) {
  const Scratch scratch;
  write_clothes(scratch / "data", 100, 50);
  Config config = clothes_config(scratch / "data", scratch / "out");
  run(config);
  const auto file = state_file(scratch / "out");
  const std::string finished = read_bytes(file);
  EXPECT_THAT(message_of<ValueError>([&] { run(config); }), HasSubstr("--resume"));

  config.resume = true;
  config.lr = 0.5;
  EXPECT_THAT(message_of<ValueError>([&] { run(config); }), HasSubstr("lr = 0.5"));
  config.lr = 0;
  write_clothes(scratch / "data", 200, 50);
  EXPECT_THAT(message_of<ValueError>([&] { run(config); }), HasSubstr("data of checksum"));
  write_clothes(scratch / "data", 100, 50);
  EXPECT_EQ(read_bytes(file), finished);

  const std::string truncated = finished.substr(0, finished.size() / 2);
  write_bytes(file, truncated);
  EXPECT_THAT(message_of<FileError>([&] { run(config); }), HasSubstr(file.string()));
  EXPECT_EQ(read_bytes(file), truncated);
  save_state(file, {.tensors = {{"w", ones({1})}}, .metadata = {}});
  const std::string foreign = read_bytes(file);
  EXPECT_THAT(message_of<FileError>([&] { run(config); }), HasSubstr("not the state of a halftone run"));
  EXPECT_EQ(read_bytes(file), foreign);
}

TEST(Run, RealClothesAreToldApart) {
  if (!std::filesystem::exists("/usr/share/datasets/fashion-mnist"))
    GTEST_SKIP() << "the package dataset-fashion-mnist is not installed";
  Config config;
  config.model = "mlp";
  config.recipe = "bfloat16";
  config.epochs = 2;
  config.limit = 10000;
  EXPECT_GT(run(config).accuracy(), 0.80);
}

}  // namespace
}  // namespace halftone::train
