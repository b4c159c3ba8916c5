// SPDX-License-Identifier: Apache-2.0
//
// Law 8: a run that was stopped, or killed, and resumed ends with the bits of the run that was not.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <thread>

#include "data/scratch.h"
#include "train/clothes.h"

namespace halftone::train {
namespace {

using halftone::testing::bytes_of;
using halftone::testing::clothes_config;
using halftone::testing::Scratch;
using halftone::testing::write_clothes;

// Everything but the times, which no two runs share.
void expect_same_bits(const std::filesystem::path& a, const std::filesystem::path& b) {
  const State one = load_state(state_file(a)), two = load_state(state_file(b));
  ASSERT_EQ(one.tensors.size(), two.tensors.size());
  for (std::size_t i = 0; i < one.tensors.size(); ++i) {
    const Parameter &x = one.tensors[i], &y = two.tensors[i];
    ASSERT_EQ(x.name, y.name);
    EXPECT_TRUE(x.name == "record.epochs" || bytes_of(x.value) == bytes_of(y.value)) << x.name;
  }
  EXPECT_EQ(one.metadata.at("skips"), two.metadata.at("skips"));
}

RunRecord run_until(const Config& config, std::int64_t step) {
  std::atomic<bool> stop = false;
  return run(
      config, [&](const Progress& progress) { stop = progress.step >= step; }, &stop);
}

// Stops the run after each of the given steps, resuming in between.
void compare_stopped_with_whole(Config config, const Scratch& scratch,
                                const std::vector<std::int64_t>& stops) {
  config.out = scratch / "whole";
  const RunRecord whole = run(config);
  EXPECT_TRUE(whole.finished);

  config.out = scratch / "stopped";
  for (const std::int64_t step : stops) {
    const RunRecord part = run_until(config, step);
    EXPECT_FALSE(part.finished);
    EXPECT_EQ(part.steps.size(), static_cast<std::size_t>(step));
    config.resume = true;
  }
  const RunRecord resumed = run(config);
  EXPECT_TRUE(resumed.finished);
  EXPECT_EQ(resumed.resumed_from, stops.back());
  EXPECT_EQ(resumed.steps.size(), whole.steps.size());
  EXPECT_EQ(resumed.accuracy(), whole.accuracy());
  ASSERT_EQ(resumed.epochs.size(), whole.epochs.size());
  for (std::size_t i = 0; i < whole.epochs.size(); ++i) {
    EXPECT_EQ(resumed.epochs[i].train_loss, whole.epochs[i].train_loss);
    EXPECT_EQ(resumed.epochs[i].test_loss, whole.epochs[i].test_loss);
  }
  expect_same_bits(scratch / "whole", scratch / "stopped");
}

class Resume : public ::testing::TestWithParam<std::string> {};

TEST_P(Resume, AStoppedMlpEndsWithTheSameBits) {
  const Scratch scratch;
  write_clothes(scratch / "data", 500, 50);
  Config config = clothes_config(scratch / "data", "");
  config.recipe = GetParam();
  config.growth_interval = 5;  // the scale moves, up and down
  config.clip_norm = 1;
  config.save_every = 3;
  compare_stopped_with_whole(config, scratch,
                             {1, 7, 8, 13});  // 8 steps an epoch: before and after evaluation
}

std::vector<std::string> recipes() {
  std::vector<std::string> names = {"e5m7"};  // one made from the name of a format
  for (const amp::Recipe& recipe : amp::kRecipes) names.emplace_back(recipe.name);
  return names;
}

INSTANTIATE_TEST_SUITE_P(EveryRecipe, Resume, ::testing::ValuesIn(recipes()),
                         [](const auto& info) { return info.param; });

// Every policy, with overflows and growth in the little time there is.
TEST(ResumeRun, AStoppedRunOfEveryScalerEndsWithTheSameBits) {
  for (const amp::ScalerPolicy& policy : amp::kScalerPolicies) {
    SCOPED_TRACE(policy.name);
    const Scratch scratch;
    write_clothes(scratch / "data", 300, 50);
    Config config = clothes_config(scratch / "data", "");
    config.recipe = "float16";
    config.scaler = policy.name;
    if (policy.name != "predictive") config.init_scale = 16777216;
    config.growth_interval = 2;
    compare_stopped_with_whole(config, scratch, {1, 2, 6});
    const State state = load_state(state_file(scratch / "whole"));
    EXPECT_EQ(state.metadata.at("skips") == "[]", policy.name == "predictive");
    for (const Parameter& tensor : state.tensors)
      if (tensor.name == "record.scale") {
        const std::vector<double> scales = tensor.value.to_vector();
        EXPECT_NE(std::count(scales.begin(), scales.end(), scales[0]), std::ssize(scales));
      }
  }
}

TEST(ResumeRun, AStoppedCnnEndsWithTheSameBits) {
  const Scratch scratch;
  write_clothes(scratch / "data", 200, 50);
  Config config = clothes_config(scratch / "data", "");
  config.model = "cnn";
  config.recipe = "float16";
  config.optimizer = "sgd";
  compare_stopped_with_whole(config, scratch, {3, 6});
}

TEST(ResumeRun, TheNumberOfThreadsMayChangeInBetween) {
  const Scratch scratch;
  write_clothes(scratch / "data", 300, 50);
  Config config = clothes_config(scratch / "data", scratch / "whole");
  config.recipe = "bfloat16";
  run(config);
  config.out = scratch / "stopped";
  ASSERT_EQ(config.threads, 2);
  run_until(config, 3);
  config.threads = 1;
  config.resume = true;
  const RunRecord resumed = run(config);
  EXPECT_EQ(resumed.resumed_from, 3);
  EXPECT_EQ(resumed.machine.threads, 1);
  expect_same_bits(scratch / "whole", scratch / "stopped");
}

TEST(ResumeRun, ARunToldToStopAtOnceCanBeResumed) {
  const Scratch scratch;
  write_clothes(scratch / "data", 100, 50);
  Config config = clothes_config(scratch / "data", scratch / "out");
  const std::atomic<bool> stop = true;
  const RunRecord record = run(config, {}, &stop);
  EXPECT_FALSE(record.finished);
  EXPECT_TRUE(record.steps.empty());
  config.resume = true;
  EXPECT_TRUE(run(config).finished);
}

TEST(ResumeRun, AFinishedRunIsReadBackWhole) {
  const Scratch scratch;
  write_clothes(scratch / "data", 100, 50);
  Config config = clothes_config(scratch / "data", scratch / "out");
  const RunRecord first = run(config);
  config.resume = true;
  const RunRecord again = run(config);
  EXPECT_TRUE(again.finished);
  // As they were when it ran; no two measurements agree to the last bit.
  EXPECT_EQ(again.seconds, first.seconds);
  EXPECT_EQ(again.matmul_gflops_float32, first.matmul_gflops_float32);
  EXPECT_EQ(again.matmul_gflops_compute, first.matmul_gflops_compute);
  EXPECT_EQ(again.steps.size(), first.steps.size());
  EXPECT_EQ(again.accuracy(), first.accuracy());
  EXPECT_EQ(again.started, first.started);
  EXPECT_EQ(again.resumed_from, 0);  // it never was
  EXPECT_TRUE(again.finished_before);
  EXPECT_FALSE(first.finished_before);
}

// ---- Killed. The victim is this program again: a process that has threads can not fork.
// ---------------------

constexpr const char* kVictim = "HALFTONE_TEST_VICTIM";  // the scratch folder

Config victim_config(const std::filesystem::path& folder, const std::string& out) {
  Config config = clothes_config(folder / "data", folder / out);
  config.recipe = "float16";
  config.save_every = 5;
  return config;
}

class Victim : public ::testing::Environment {
  void SetUp() override {
    const char* folder = getenv(kVictim);
    if (folder == nullptr) return;
    Config config = victim_config(folder, "killed");
    config.resume = std::filesystem::exists(state_file(config.out));
    run(config);
    _exit(0);
  }
};
const auto* const kEnvironment = ::testing::AddGlobalTestEnvironment(new Victim);

pid_t start_victim(const std::filesystem::path& folder) {
  std::string program = "/proc/self/exe", filter = "--gtest_filter=ResumeRun.*";
  char* arguments[] = {program.data(), filter.data(), nullptr};
  setenv(kVictim, folder.c_str(), 1);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
  pid_t victim = 0;
  const int error = posix_spawn(&victim, program.c_str(), &actions, nullptr, arguments, environ);
  posix_spawn_file_actions_destroy(&actions);
  unsetenv(kVictim);
  return error == 0 ? victim : -1;
}

TEST(ResumeRun, AKilledRunEndsWithTheSameBits) {
  ASSERT_NE(kEnvironment, nullptr);
  const Scratch scratch;
  write_clothes(scratch / "data", 3000, 50);  // 94 steps
  run(victim_config(scratch.path(), "whole"));

  // At an unplanned moment each time: in the first loading, in a step, while a state file is written.
  int killed = 0, status = -1;
  for (int attempt = 0; attempt < 40; ++attempt) {
    const pid_t victim = start_victim(scratch.path());
    ASSERT_GT(victim, 0);
    const int delay = 100 + 60 * attempt;  // milliseconds, growing, so that one of them gets to the end
    bool ended = false;
    for (int waited = 0; waited < delay && !ended; ++waited) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
      ended = waitpid(victim, &status, WNOHANG) == victim;
    }
    if (!ended) {
      kill(victim, SIGKILL);
      waitpid(victim, &status, 0);
    }
    if (WIFEXITED(status)) break;
    ++killed;
  }
  ASSERT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  EXPECT_GT(killed, 0);
  expect_same_bits(scratch / "whole", scratch / "killed");
}

}  // namespace
}  // namespace halftone::train
