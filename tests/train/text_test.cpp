// SPDX-License-Identifier: Apache-2.0
//
// The task `text`, alone and in the loop.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>

#include "data/scratch.h"
#include "halftone/generation.h"
#include "halftone/gpt2.h"
#include "halftone/tokenizer.h"
#include "halftone/weights.h"
#include "train/task.h"

namespace halftone::train {
namespace {

using halftone::testing::message_of;
using halftone::testing::Scratch;
using ::testing::HasSubstr;

// Sentences of a few words, which a small model learns quickly.
std::string sentences(int count) {
  constexpr const char* kWords[] = {"the", "cat", "saw", "a", "dog", "and", "sang"};
  std::string text;
  for (int i = 0; i < count; ++i) text += std::string(kWords[i * 7919 % 7]) + (i % 5 == 4 ? ".\n" : " ");
  return text;
}

Config small(const Scratch& scratch, const std::string& recipe = "bfloat16") {
  std::ofstream(scratch / "text.txt") << sentences(2000);
  Config config = default_config("text");
  config.data = scratch / "text.txt";
  config.recipe = recipe;
  config.steps = 12;
  config.evaluate_every = 5;
  config.context = 16;
  config.width = 16;
  config.layers = 1;
  config.heads = 2;
  config.batch = 4;
  config.threads = 1;
  return config;
}

std::vector<float> losses(const RunRecord& record) {
  std::vector<float> values;
  for (const StepRecord& step : record.steps) values.push_back(step.loss);
  return values;
}

TEST(TextTask, DefaultsAreThoseOfALanguageModel) {
  const Config config = default_config("text");
  EXPECT_EQ(config.model, "gpt2");
  EXPECT_EQ(config.recipe, "bfloat16");
  EXPECT_EQ(config.clip_norm, 1);
  EXPECT_NO_THROW(validate(config));
  EXPECT_THROW(default_config("speech"), ValueError);
}

TEST(TextTask, CountsTheOperationsOfAStepAsItSays) {
  const Scratch scratch;
  Config config = small(scratch);
  const Measure measure = find_task("text").make(config, float32)->measure();
  // 6 x (12 x 16 x 16 + 16 x 256) + 12 x 16 x 16
  EXPECT_EQ(measure.flops_per_unit, 6.0 * (3072 + 4096) + 3072);
  EXPECT_EQ(measure.units_per_example, 16);
  EXPECT_TRUE(measure.is_text());
}

TEST(TextTask, ARunHasAsManyStepsAndEvaluationsAsAsked) {
  const Scratch scratch;
  const RunRecord record = run(small(scratch));
  EXPECT_TRUE(record.finished);
  EXPECT_EQ(record.steps.size(), 12u);
  ASSERT_EQ(record.epochs.size(), 3u);  // after 5, 10 and 12
  EXPECT_NEAR(record.epochs[2].train_loss, (record.steps[10].loss + record.steps[11].loss) / 2, 1e-6);
  EXPECT_NEAR(record.score(), record.epochs[2].test_loss / std::log(2.0), 1e-12);
  EXPECT_NEAR(record.steps[0].loss, std::log(256.0), 0.3);  // nothing is known yet
  EXPECT_GT(record.epochs[2].per_second, 0);
}

TEST(TextTask, EveryRecipeThatIsNoAblationLearns) {
  for (const amp::Recipe& recipe : amp::kRecipes) {
    if (recipe.name == "float16_unscaled" || recipe.name == "float16_no_master" ||
        recipe.name == "bfloat16_pure")
      continue;
    const Scratch scratch;
    Config config = small(scratch, std::string(recipe.name));
    config.steps = 60;
    config.evaluate_every = 60;
    config.lr = 0.01;
    const RunRecord record = run(config);
    EXPECT_LT(record.epochs.back().test_loss, 2.6) << recipe.name;  // from 5.5; letters alone give 2.6
  }
}

TEST(TextTask, BiasesAndScalesOfNormsDecayOnlyIfAsked) {
  const Scratch scratch;
  const auto smallest_scale = [&](const std::string& decay) {
    Config config = small(scratch);
    config.weight_decay = 100;
    config.lr = 1e-3;
    config.decay = decay;
    config.out = scratch / decay;
    run(config);
    double smallest = 1e9;
    for (const Parameter& p : load_state(config.out / "model.safetensors").tensors)
      if (p.name.ends_with("ln_f.weight"))
        for (const double v : p.value.to_vector()) smallest = std::min(smallest, v);
    return smallest;
  };
  EXPECT_LT(smallest_scale("all"), 0.6);  // from 1, by up to a tenth in each of 12 steps
  EXPECT_GT(smallest_scale("matrices"), 0.98);
}

TEST(TextTask, StoppedAndResumedGivesTheSameBits) {
  const Scratch scratch;
  for (const char* recipe : {"bfloat16", "float16_master"}) {
    Config config = small(scratch, recipe);
    const RunRecord whole = run(config);
    for (const std::int64_t at : {1, 5, 7, 11}) {
      config.out = scratch / (std::string(recipe) + std::to_string(at));
      config.resume = false;
      std::atomic<bool> stop = false;
      const RunRecord first = run(
          config, [&](const Progress& p) { stop = p.step >= at; }, &stop);
      EXPECT_FALSE(first.finished);
      config.resume = true;
      const RunRecord rest = run(config);
      EXPECT_EQ(losses(rest), losses(whole)) << recipe << " stopped after " << at;
      EXPECT_EQ(rest.epochs.back().test_loss, whole.epochs.back().test_loss);
    }
  }
}

TEST(TextTask, AFinishedRunIsReadBackWholeWhateverItsLastInterval) {
  const Scratch scratch;
  Config config = small(scratch);  // evaluates after 5, 10 and 12
  config.out = scratch / "run";
  const RunRecord first = run(config);
  config.resume = true;
  const RunRecord again = run(config);
  EXPECT_TRUE(again.finished);
  EXPECT_EQ(losses(again), losses(first));
  EXPECT_EQ(again.seconds, first.seconds);
}

// More windows between two evaluations than the text has: each pass over them in another order.
TEST(TextTask, AShortTextIsGoneThroughAgain) {
  const Scratch scratch;
  Config config = small(scratch);
  config.limit = 10;  // three steps a pass, the last of two windows
  config.save_every = 1;
  const RunRecord whole = run(config);
  ASSERT_EQ(whole.steps.size(), 12u);
  for (const float loss : losses(whole)) EXPECT_GT(loss, 0);
  EXPECT_NEAR(whole.epochs[0].train_loss,
              (4 * whole.steps[0].loss + 4 * whole.steps[1].loss + 2 * whole.steps[2].loss +
               4 * whole.steps[3].loss + 4 * whole.steps[4].loss) /
                  18,
              1e-6);
  config.out = scratch / "run";
  std::atomic<bool> stop = false;
  run(
      config, [&](const Progress& p) { stop = p.step >= 4; }, &stop);
  config.resume = true;
  EXPECT_EQ(losses(run(config)), losses(whole));
  config.accumulate = 2;
  config.out.clear();
  config.resume = false;
  EXPECT_TRUE(run(config).finished);
}

TEST(TextTask, ARunWhoseModelCouldNotBeWrittenIsNotFinished) {
  const Scratch scratch;
  Config config = small(scratch);
  config.out = scratch / "run";
  const auto in_the_way = config.out / "model.safetensors.tmp";
  EXPECT_THROW(run(config,
                   [&](const Progress& p) {
                     if (p.step == 11) std::filesystem::create_directory(in_the_way);
                   }),
               FileError);
  std::filesystem::remove(in_the_way);
  config.resume = true;
  EXPECT_TRUE(run(config).finished);
  EXPECT_NO_THROW(models::load_gpt2(config.out));
}

TEST(TextTask, ABatchInPiecesHasTheGradientsOfTheWhole) {
  const Scratch scratch;
  Config config = small(scratch, "float32");
  const std::vector<float> whole = losses(run(config));
  config.accumulate = 2;
  const std::vector<float> pieces = losses(run(config));
  for (std::size_t i = 0; i < whole.size(); ++i) EXPECT_NEAR(pieces[i], whole[i], 2e-4) << i;
  config.accumulate = 3;
  EXPECT_THAT(message_of<ValueError>([&] { run(config); }), HasSubstr("3 pieces of a batch of 4"));
}

TEST(TextTask, LlamaIsTrainedToo) {
  const Scratch scratch;
  Config config = small(scratch);
  config.model = "llama";
  config.kv_heads = 1;
  config.steps = 60;
  config.evaluate_every = 60;
  config.lr = 0.01;
  EXPECT_LT(run(config).epochs.back().test_loss, 2.6);
}

TEST(TextTask, AFinishedRunLeavesAModelThatGeneratesTheSameText) {
  const Scratch scratch;
  Config config = small(scratch);
  config.out = scratch / "run";
  config.sample_every = 6;
  config.prompt = "the ";
  std::vector<std::string> samples;
  run(config, [&](const Progress& p) {
    if (!p.sample.empty()) samples.push_back(p.sample);
  });
  ASSERT_EQ(samples.size(), 2u);  // after 6 and 12 steps
  const models::Gpt2 model = models::load_gpt2(config.out);
  EXPECT_EQ(model.options.context, 16);
  const auto prompt = data::Tokenizer::bytes().encode(config.prompt);
  const auto tokens =
      models::generate(model, prompt, {.max_new_tokens = 100, .temperature = 0.8, .seed = 12});
  EXPECT_EQ(samples[1], config.prompt + data::Tokenizer::bytes().decode(tokens));
}

TEST(TextTask, PairsOfBytesAreTokensOfTheirBytes) {
  const Scratch scratch;
  Config config = small(scratch);
  config.tokenizer = "bpe";
  config.vocabulary = 280;
  config.out = scratch / "run";
  const RunRecord record = run(config);
  EXPECT_GT(record.measure.bytes_per_unit, 1.5);
  EXPECT_NEAR(record.score(), record.epochs.back().test_loss / std::log(2.0) / record.measure.bytes_per_unit,
              1e-12);
  const data::Tokenizer trained = data::Tokenizer::load(config.out / "tokenizer.json");
  EXPECT_LE(trained.vocabulary(), 280);
  EXPECT_GT(trained.vocabulary(), 256);
  // The same file, given back.
  config.tokenizer = (config.out / "tokenizer.json").string();
  config.vocabulary = Config().vocabulary;
  config.out.clear();
  EXPECT_EQ(losses(run(config)), losses(record));
}

// A vocabulary of letters, with a gap that an untrained model draws from.
TEST(TextTask, SamplesShowWhatHasNoTokenAndAPromptIsReadFirst) {
  const Scratch scratch;
  Config config = small(scratch);
  std::string vocab = R"(" ": 0, ".": 1, "\n": 2)";
  for (char c = 'a'; c <= 'z'; ++c)
    vocab += ", \"" + std::string(1, c) + "\": " + std::to_string(200 + c - 'a');
  config.tokenizer = scratch / "letters.json";
  std::ofstream(config.tokenizer) << R"({"model": {"type": "BPE", "merges": [], "vocab": {)" << vocab
                                  << "}}}";
  config.sample_every = 1;
  config.steps = 1;
  config.lr = 1e-6;
  std::string sample;
  run(config, [&](const Progress& p) { sample += p.sample; });
  EXPECT_THAT(sample, HasSubstr("\uFFFD"));
  config.prompt = "Xyz";
  std::int64_t steps = 0;
  EXPECT_THAT(message_of<ValueError>([&] { run(config, [&](const Progress& p) { steps = p.step; }); }),
              HasSubstr("'X', which the vocabulary has no token for"));
  EXPECT_EQ(steps, 0);
  // Of bytes, and some are missing.
  std::ofstream(config.tokenizer)
      << R"({"model": {"type": "BPE", "merges": [], "vocab": {)" << vocab
      << R"(}}, "pre_tokenizer": {"type": "ByteLevel"}, "decoder": {"type": "ByteLevel"}})";
  EXPECT_THAT(message_of<ValueError>([&] { run(config); }), HasSubstr("try a tokenizer with all 256 bytes"));
}

TEST(TextTask, OptionsOfAnotherModelOrTokenizerAreRefused) {
  const Scratch scratch;
  const auto refused = [&](const auto& change) {
    Config config = small(scratch);
    change(config);
    return message_of<ValueError>([&] { run(config); });
  };
  EXPECT_THAT(refused([](Config& c) { c.model = "llama", c.dropout = 0.5; }), HasSubstr("[dropout] 0.5"));
  EXPECT_THAT(refused([](Config& c) { c.kv_heads = 2; }), HasSubstr("[kv_heads] 2"));
  EXPECT_THAT(refused([](Config& c) { c.vocabulary = 300; }), HasSubstr("[vocabulary] 300"));
  EXPECT_THAT(refused([](Config& c) { c.prompt = "a"; }), HasSubstr("[prompt] a without samples"));
  EXPECT_THAT(refused([](Config& c) { c.tokenizer = "BPE"; }),
              HasSubstr("BPE, which is no file; expected bytes, bpe, or the path"));
  std::ofstream(scratch / "t.bin") << "abcd";
  EXPECT_THAT(refused([&](Config& c) { c.data = scratch / "t.bin", c.tokenizer = "bpe"; }),
              HasSubstr("bpe, for a file of tokens"));
}

TEST(TextTask, CheckpointedBlocksGiveTheSameBits) {
  const Scratch scratch;
  Config config = small(scratch);
  config.dropout = 0.1;
  const std::vector<float> plain = losses(run(config));
  config.checkpoint = true;
  EXPECT_EQ(losses(run(config)), plain);
}

TEST(TextTask, OptionsOfAnotherTaskAreRefused) {
  Config config;
  config.context = 64;
  EXPECT_THAT(message_of<ValueError>([&] { validate(config); }), HasSubstr("the task text only"));
  config = default_config("text");
  config.epochs = 7;
  EXPECT_THAT(message_of<ValueError>([&] { validate(config); }), HasSubstr("the task fashion-mnist only"));
}

TEST(TextTask, AFileThatNamesTheTaskStartsFromItsDefaults) {
  const Scratch scratch;
  std::ofstream(scratch / "my.toml") << "steps = 7\ntask = 'text'\n";
  Config config;
  load_config(scratch / "my.toml", config);
  EXPECT_EQ(config.model, "gpt2");
  EXPECT_EQ(config.batch, 8);
  EXPECT_EQ(config.steps, 7);
}

TEST(TextTask, ATextTooShortIsRefused) {
  const Scratch scratch;
  Config config = small(scratch);
  std::ofstream(scratch / "text.txt") << "too short";
  EXPECT_THAT(message_of<ValueError>([&] { run(config); }), HasSubstr("9 tokens"));
}

TEST(TextTask, OtherTextHasAnotherFingerprint) {
  const Scratch scratch;
  const Config config = small(scratch);
  const std::string one = find_task("text").make(config, float32)->data_fingerprint();
  std::ofstream(scratch / "text.txt") << sentences(2000) << "!";
  EXPECT_NE(find_task("text").make(config, float32)->data_fingerprint(), one);
}

}  // namespace
}  // namespace halftone::train
