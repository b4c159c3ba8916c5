// SPDX-License-Identifier: Apache-2.0
#include "train/progress_state.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "data/scratch.h"
#include "halftone/nn.h"
#include "halftone/optim.h"
#include "train/machine.h"

namespace halftone::train {
namespace {

using halftone::testing::message_of;
using ::testing::HasSubstr;

// A run in miniature: one layer, some steps, a record.
struct Miniature {
  nn::Linear layer;
  nn::Buffer buffer;
  optim::AdamW optimizer;
  amp::GradScaler scaler;
  RunRecord record;
  double epoch_seconds = 0;

  explicit Miniature(std::uint64_t seed)
      : layer((manual_seed(seed), nn::Linear(3, 2))),
        buffer{full({2}, static_cast<double>(seed))},
        optimizer(nn::parameters(layer)),
        scaler({.init_scale = 1024}) {}

  void train(int steps) {
    for (int i = 0; i < steps; ++i) {
      optimizer.zero_grad();
      sum(layer(ones({1, 3}))).backward();
      optimizer.step();
      record.steps.push_back({0.5f + static_cast<float>(i), 1024, i != 1});
    }
  }
  RunParts parts() {
    return {nn::parameters(layer),
            {{"buffer", buffer.value}},
            optimizer,
            scaler,
            record,
            "data",
            epoch_seconds,
            1000};
  }
};

TEST(ProgressState, EverythingComesBack) {
  Miniature from(1), to(2);
  from.train(3);
  from.scaler.load({.scale = 512,
                    .clean_steps = 7,
                    .skips_in_a_row = 4,
                    .skips = 5,
                    .tolerated = 2,
                    .skips_at_floor = 3,
                    .history = {.steps = 11, .mean = -1.0 / 3, .variance = 0.1, .overflowed = true}});
  from.record.epochs = {{1, 0.25, 0.5, 0.75, 3.5, 1000}};
  from.record.skips = {{2, 1024, "layer.weight: 3 inf"}};
  from.record.started = "2024-01-02T03:04:05Z";
  from.record.version = "0.0.1";
  from.record.machine = {"a processor", "AVX2", 8, 3, "PASSIVE"};
  from.record.matmul_gflops_float32 = 100.0 / 3;
  from.record.matmul_gflops_compute = 200.0 / 3;
  from.epoch_seconds = 1.25;
  thread_state().random_index = 12345;
  const State state = pack(from.parts());

  thread_state().random_index = 0;
  unpack(state, "file", to.parts());
  EXPECT_EQ(to.layer.weight.to_vector(), from.layer.weight.to_vector());
  EXPECT_EQ(to.buffer.value.to_vector(), from.buffer.value.to_vector());
  const auto moments = to.optimizer.state(), expected = from.optimizer.state();
  ASSERT_EQ(moments.size(), expected.size());
  for (std::size_t i = 0; i < moments.size(); ++i)
    EXPECT_EQ(moments[i].value.to_vector(), expected[i].value.to_vector()) << moments[i].name;
  EXPECT_EQ(to.optimizer.steps(), 3);
  EXPECT_EQ(to.scaler.state(), from.scaler.state());
  EXPECT_EQ(thread_state().random_index, 12345u);
  EXPECT_EQ(to.epoch_seconds, 1.25);
  EXPECT_EQ(to.record.started, from.record.started);
  EXPECT_EQ(to.record.version, "0.0.1");
  EXPECT_EQ(machine_json(to.record.machine), machine_json(from.record.machine));
  EXPECT_EQ(to.record.machine.threads, 3);
  EXPECT_EQ(to.record.matmul_gflops_float32, 100.0 / 3);
  EXPECT_EQ(to.record.matmul_gflops_compute, 200.0 / 3);
  ASSERT_EQ(to.record.steps.size(), 3u);
  EXPECT_EQ(to.record.steps[2].loss, 2.5f);
  EXPECT_EQ(to.record.steps[2].scale, 1024);
  EXPECT_FALSE(to.record.steps[1].applied);
  ASSERT_EQ(to.record.epochs.size(), 1u);
  EXPECT_EQ(to.record.epochs[0].epoch, 1);
  EXPECT_EQ(to.record.epochs[0].test_accuracy, 0.75);
  EXPECT_EQ(to.record.epochs[0].per_second, 1000);
  ASSERT_EQ(to.record.skips.size(), 1u);
  EXPECT_EQ(to.record.skips[0].step, 2);
  EXPECT_EQ(to.record.skips[0].culprit, "layer.weight: 3 inf");
}

TEST(ProgressState, AnotherConfigurationIsNamedWithBothValues) {
  Miniature from(1), to(1);
  to.record.config.batch = 64;
  const std::string message =
      message_of<ValueError>([&] { unpack(pack(from.parts()), "a/file", to.parts()); });
  EXPECT_THAT(message, HasSubstr("batch = 64"));
  EXPECT_THAT(message, HasSubstr("128 as in a/file"));
  to.record.config = from.record.config;
  to.record.config.save_every = 7;  // changes no bit
  EXPECT_NO_THROW(unpack(pack(from.parts()), "a/file", to.parts()));
}

TEST(ProgressState, ARecipeThatHasChangedUnderItsNameIsNamed) {
  Miniature from(1), to(2);
  State state = pack(from.parts());
  std::string& recipe = state.metadata.at("recipe");
  EXPECT_THAT(recipe, HasSubstr("compute float16, parameter float32, master is_parameter, scaling dynamic"));
  recipe.replace(recipe.find("float16"), 7, "float32");
  const std::string message = message_of<ValueError>([&] { unpack(state, "f", to.parts()); });
  EXPECT_THAT(message, HasSubstr("recipe = compute float16"));
  EXPECT_THAT(message, HasSubstr("compute float32"));
}

TEST(ProgressState, AnOlderStateIsOfARunWithTheDefaultsOfLaterFields) {
  Miniature from(1), to(1);
  State state = pack(from.parts());
  ASSERT_EQ(state.metadata.erase("config.decay"), 1u);
  EXPECT_NO_THROW(unpack(state, "a/file", to.parts()));
  to.record.config.decay = "matrices";
  EXPECT_THAT(message_of<ValueError>([&] { unpack(state, "a/file", to.parts()); }),
              HasSubstr("decay = matrices; expected all as in a/file"));
}

TEST(ProgressState, ADamagedStateChangesNothing) {
  Miniature from(1), to(2);
  from.train(2);
  const State good = pack(from.parts());
  const std::vector<double> before = to.layer.weight.to_vector();
  const auto refused = [&](const State& state) {
    const std::string message = message_of<FileError>([&] { unpack(state, "a/file", to.parts()); });
    EXPECT_THAT(message, HasSubstr("a/file"));
    EXPECT_EQ(to.layer.weight.to_vector(), before);
    EXPECT_TRUE(to.record.steps.empty());
    return message;
  };
  EXPECT_THAT(refused({.tensors = good.tensors, .metadata = {}}),
              HasSubstr("not the state of a halftone run"));
  for (std::size_t i = 0; i < good.tensors.size(); ++i) {
    State state = good;
    state.tensors.erase(state.tensors.begin() + static_cast<std::ptrdiff_t>(i));
    EXPECT_THAT(refused(state), HasSubstr(good.tensors[i].name));
    state = good;
    state.tensors[i].value = zeros({9}, float8_e5m2);
    EXPECT_THAT(refused(state), HasSubstr(good.tensors[i].name));
  }
  for (const auto& [key, value] : good.metadata) {
    State state = good;
    state.metadata.erase(key);
    if (key != "halftone.version" && key != "config.decay") refused(state);
  }
  State state = good;
  state.tensors.push_back({"model.more", ones({1})});
  refused(state);
  for (const char* progress : {"", "{}", "[]", "{\"scaler\":\"x\"}", "7"}) {
    state = good;
    state.metadata["progress"] = progress;
    refused(state);
  }
  for (const char* skips : {"[7]", "{\"a\":{}}", "[{\"step\":1}]"}) {
    state = good;
    state.metadata["skips"] = skips;
    refused(state);
  }
  EXPECT_NO_THROW(unpack(good, "a/file", to.parts()));
}

}  // namespace
}  // namespace halftone::train
