// SPDX-License-Identifier: Apache-2.0
#include "train/config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "data/scratch.h"
#include "train/config_text.h"

namespace halftone::train {
namespace {

using halftone::testing::fuzz;
using halftone::testing::message_of;
using halftone::testing::Scratch;
using halftone::testing::write_bytes;
using ::testing::HasSubstr;

TEST(LoadConfig, EveryFieldCanBeSet) {
  const Config config = load(R"(
task = "fashion-mnist"
model = "mlp"
recipe = "bfloat16"
optimizer = "sgd"
epochs = 7
batch = 64
lr = 0.25
weight_decay = 0
clip_norm = 1
loss_weight = 0.5
seed = 9
limit = 1000
threads = 2
save_every = 10
scaler = "megatron"
init_scale = 1024
growth_interval = 50
data = "some/folder"
out = "runs/x"
resume = true
)");
  EXPECT_EQ(config.task, "fashion-mnist");
  EXPECT_EQ(config.model, "mlp");
  EXPECT_EQ(config.recipe, "bfloat16");
  EXPECT_EQ(config.optimizer, "sgd");
  EXPECT_EQ(config.epochs, 7);
  EXPECT_EQ(config.batch, 64);
  EXPECT_EQ(config.lr, 0.25);
  EXPECT_EQ(config.weight_decay, 0);
  EXPECT_EQ(config.clip_norm, 1);
  EXPECT_EQ(config.loss_weight, 0.5);
  EXPECT_EQ(config.seed, 9);
  EXPECT_EQ(config.limit, 1000);
  EXPECT_EQ(config.threads, 2);
  EXPECT_EQ(config.save_every, 10);
  EXPECT_EQ(config.scaler, "megatron");
  EXPECT_EQ(config.init_scale, 1024);
  EXPECT_EQ(config.growth_interval, 50);
  EXPECT_EQ(config.data, "some/folder");
  EXPECT_EQ(config.out, "runs/x");
  EXPECT_TRUE(config.resume);
}

TEST(LoadConfig, WhatIsNotInTheFileStays) {
  const Config config = load("epochs = 2 # and nothing else\n");
  EXPECT_EQ(config.epochs, 2);
  EXPECT_EQ(config.batch, Config().batch);
  EXPECT_EQ(config.recipe, Config().recipe);
}

TEST(LoadConfig, AnUnknownKeyIsNamedWithItsPlaceAndANeighbour) {
  const std::string message = error("epochs = 2\n  recipee = \"float16\"\n");
  EXPECT_THAT(message, HasSubstr("c.toml:2:3"));
  EXPECT_THAT(message, HasSubstr("unknown key \"recipee\""));
  EXPECT_THAT(message, HasSubstr("try \"recipe\""));
  EXPECT_THAT(error("epoch = 2"), HasSubstr("try \"epochs\""));
  EXPECT_THAT(error("weight-decay = 2"), HasSubstr("try \"weight_decay\""));
  EXPECT_THAT(error("[train]\nepochs = 2"), HasSubstr("unknown key \"train\""));
  EXPECT_THAT(error("learning_rate = 2"), HasSubstr("try one of task, model"));
}

TEST(LoadConfig, AWrongTypeIsNamedWithItsPlace) {
  EXPECT_THAT(error("\nepochs = \"two\""), HasSubstr("c.toml:2:10"));
  EXPECT_THAT(error("epochs = 2.5"), HasSubstr("a whole number"));
  EXPECT_THAT(error("lr = true"), HasSubstr("a number"));
  EXPECT_THAT(error("recipe = 16"), HasSubstr("a string"));
  EXPECT_THAT(error("resume = 1"), HasSubstr("true or false"));
  EXPECT_THAT(error("out = 1"), HasSubstr("path"));
}

TEST(LoadConfig, AValueOutOfRangeIsNamedWithItsPlace) {
  const std::string message = error("batch = 8\nepochs = 0");
  EXPECT_THAT(message, HasSubstr("c.toml:2:10"));
  EXPECT_THAT(message, HasSubstr("from 1 to"));
  EXPECT_THAT(error("epochs = 99999999999999999"), HasSubstr("epochs"));
  EXPECT_THAT(error("lr = nan"), HasSubstr("lr"));
  EXPECT_THAT(error("lr = inf"), HasSubstr("lr"));
  EXPECT_THAT(error("recipe = \"float15\""), HasSubstr("float16_master"));
  EXPECT_THAT(error("model = \"transformer\"\ntask = \"fashion-mnist\""), HasSubstr("mlp, cnn"));
}

TEST(LoadConfig, ANameThatIsNearlyOneIsSuggested) {
  EXPECT_THAT(error("recipe = \"float61\""), HasSubstr("; try \"float16\""));
  EXPECT_THAT(error("recipe = \"float16_mater\""), HasSubstr("; try \"float16_master\""));
  EXPECT_THAT(error("optimizer = \"adamW\""), HasSubstr("; try \"adamw\""));
  EXPECT_THAT(error("scaler = \"something\""), ::testing::Not(HasSubstr("try")));
}

TEST(LoadConfig, WhatIsNotTomlIsNamedWithItsPlace) {
  EXPECT_THAT(error("epochs = 2\nepochs 3"), HasSubstr("c.toml:2:"));
  EXPECT_THAT(error("epochs = 2\nepochs = 3"), HasSubstr("c.toml:2:"));
  Config config;
  EXPECT_THAT(message_of<FileError>([&] { load_config("/no/such/file.toml", config); }),
              HasSubstr("/no/such/file.toml"));
  EXPECT_THROW(load_config("/", config), FileError);
}

TEST(LoadConfig, AFileWithAMistakeChangesNothing) {
  const Scratch scratch;
  write_bytes(scratch / "c.toml", "batch = 8\nepochs = 0");
  Config config;
  EXPECT_THROW(load_config(scratch / "c.toml", config), FileError);
  EXPECT_EQ(config.batch, Config().batch);
}

TEST(LoadConfig, NoMutilatedFileCrashes) {
  const Scratch scratch;
  const std::string toml =
      "recipe = \"float16\"\nepochs = 3\nlr = 1e-3\nresume = false\nout = 'runs/a' # x\n";
  const int thrown = fuzz(scratch / "c.toml", toml, 4, 1000, [](const std::filesystem::path& file) {
    Config config;
    load_config(file, config);
  });
  EXPECT_GT(thrown, 500);
}

TEST(ValidateConfig, TheDefaultsAreValid) { EXPECT_NO_THROW(validate(Config())); }

TEST(ValidateConfig, EveryFieldOutOfRangeIsNamed) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const auto named = [](const std::string& field, auto member, auto value) {
    Config config;
    config.*member = value;
    const std::string message = message_of<ValueError>([&] { validate(config); });
    EXPECT_THAT(message, HasSubstr("[" + field + "]"));
    EXPECT_THAT(message, HasSubstr("expected"));
  };
  named("task", &Config::task, "imagenet");
  named("model", &Config::model, "rnn");
  named("recipe", &Config::recipe, "int8");
  named("optimizer", &Config::optimizer, "adagrad");
  named("epochs", &Config::epochs, 0);
  named("batch", &Config::batch, 0);
  named("lr", &Config::lr, -1e-3);
  named("lr", &Config::lr, nan);
  named("weight_decay", &Config::weight_decay, -1);
  named("decay", &Config::decay, "some");
  named("clip_norm", &Config::clip_norm, -1);
  named("loss_weight", &Config::loss_weight, 0);
  named("seed", &Config::seed, -1);
  named("limit", &Config::limit, -1);
  named("threads", &Config::threads, -1);
  named("save_every", &Config::save_every, 0);
  named("scaler", &Config::scaler, "jax");
  named("init_scale", &Config::init_scale, 0.5);
  named("init_scale", &Config::init_scale, 1e9);
  named("growth_interval", &Config::growth_interval, -1);
}

TEST(ValidateConfig, ThePiecesOfABatchDivideIt) {
  Config config;
  config.batch = 8;
  config.accumulate = 4;
  EXPECT_NO_THROW(validate(config));
  config.accumulate = 3;
  EXPECT_THAT(message_of<ValueError>([&] { validate(config); }),
              HasSubstr("[accumulate] 3 pieces of a batch of 8"));
}

TEST(ValidateConfig, TheFirstScaleMayBeAsLargeAsThePolicyAllows) {
  for (const amp::ScalerPolicy& policy : amp::kScalerPolicies) {
    Config config;
    config.scaler = policy.name;
    config.init_scale = policy.options.max_scale;
    EXPECT_NO_THROW(validate(config)) << policy.name;
    config.init_scale *= 2;
    EXPECT_THROW(validate(config), ValueError) << policy.name;
  }
}

TEST(ScalerOptionsOf, ThePolicyIsTheDefaultAndTheFieldsOverrideIt) {
  for (const amp::ScalerPolicy& policy : amp::kScalerPolicies) {
    Config config;
    config.scaler = policy.name;
    EXPECT_NO_THROW(validate(config));
    EXPECT_EQ(scaler_options(config).init_scale, policy.options.init_scale);
    EXPECT_EQ(scaler_options(config).growth_interval, policy.options.growth_interval);
    EXPECT_EQ(scaler_options(config).hysteresis, policy.options.hysteresis);
    config.init_scale = 128;
    config.growth_interval = 5;
    EXPECT_EQ(scaler_options(config).init_scale, 128);
    EXPECT_EQ(scaler_options(config).growth_interval, 5);
    EXPECT_EQ(scaler_options(config).hysteresis, policy.options.hysteresis);
  }
}

TEST(ConfigFields, ADoubleIsWrittenSoThatItReadsBack) {
  Config config;
  config.lr = 0.1;
  config.weight_decay = 1.0 / 3;
  EXPECT_EQ(config_fields().size(), 35u);
  for (const Field& field : config_fields()) {
    if (field.name == "lr") {
      EXPECT_EQ(to_string(field, config), "0.1");
    } else if (field.name == "weight_decay") {
      EXPECT_EQ(std::stod(to_string(field, config)), 1.0 / 3);
    }
  }
}

}  // namespace
}  // namespace halftone::train
