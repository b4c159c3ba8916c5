// SPDX-License-Identifier: Apache-2.0
#include "train/model_config.h"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "data/scratch.h"
#include "halftone/warning.h"
#include "halftone/weights.h"

namespace halftone::models {
namespace {

using halftone::testing::fuzz;
using halftone::testing::message_of;
using halftone::testing::read_bytes;
using halftone::testing::Scratch;
using halftone::testing::write_bytes;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Json = nlohmann::json;

struct ModelConfig : ::testing::Test {
  Scratch scratch;
  void config(const std::string& text) { write_bytes(scratch / "config.json", text); }
  template <class Options>
  std::string refused(Options (*read)(const std::filesystem::path&), const std::string& text) {
    config(text);
    return message_of<FileError>([&] { read(scratch.path()); });
  }
};

TEST_F(ModelConfig, MissingKeysHaveTransformersDefaults) {
  config(R"({"model_type": "gpt2"})");
  const Gpt2Options gpt2 = gpt2_options(scratch.path());
  EXPECT_EQ(gpt2.vocabulary, 50257);
  EXPECT_EQ(gpt2.context, 1024);
  EXPECT_EQ(gpt2.width, 768);
  EXPECT_EQ(gpt2.layers, 12);
  EXPECT_EQ(gpt2.dropout, 0.1);
  EXPECT_EQ(gpt2.attention_dropout, 0.1);
  config(R"({"model_type": "llama"})");
  const LlamaOptions llama = llama_options(scratch.path());
  EXPECT_EQ(llama.kv_heads, 32);
  EXPECT_EQ(llama.head_width, 128);
  EXPECT_EQ(llama.intermediate, 11008);
  EXPECT_EQ(llama.rope_theta, 10000);
  EXPECT_FALSE(llama.tied);
  config(R"({"model_type": "bert", "architectures": ["BertForPreTraining"]})");
  const BertOptions bert = bert_options(scratch.path());
  EXPECT_EQ(bert.head, BertHead::masked_tokens);
  EXPECT_EQ(bert.intermediate, 3072);
  EXPECT_EQ(bert.epsilon, 1e-12);
  EXPECT_EQ(bert.attention_dropout, 0.1);
}

TEST_F(ModelConfig, WhatIsWrittenIsRead) {
  Gpt2Options gpt2{.vocabulary = 5, .context = 7, .width = 6, .layers = 3, .heads = 2};
  gpt2.epsilon = 1e-3, gpt2.dropout = 0.25, gpt2.attention_dropout = 0.125;
  write_config(gpt2, bfloat16, scratch.path());
  const Json json = Json::parse(read_bytes(scratch / "config.json"));
  EXPECT_EQ(json["model_type"], "gpt2");
  EXPECT_EQ(json["architectures"], Json({"GPT2LMHeadModel"}));
  EXPECT_EQ(json["torch_dtype"], "bfloat16");
  const Gpt2Options read = gpt2_options(scratch.path());
  EXPECT_EQ(read.vocabulary, 5);
  EXPECT_EQ(read.context, 7);
  EXPECT_EQ(read.width, 6);
  EXPECT_EQ(read.layers, 3);
  EXPECT_EQ(read.heads, 2);
  EXPECT_EQ(read.epsilon, 1e-3);
  EXPECT_EQ(read.dropout, 0.25);
  EXPECT_EQ(read.attention_dropout, 0.125);

  LlamaOptions llama{.vocabulary = 5, .context = 7, .width = 12, .layers = 3, .heads = 6, .kv_heads = 3};
  llama.rope_scaling = {.factor = 2, .original_context = 6, .low_frequency = 0.5, .high_frequency = 3};
  llama.rope_theta = 5e5, llama.tied = true, llama.head_width = 4, llama.intermediate = 31;
  write_config(llama, float32, scratch.path());
  const LlamaOptions l = llama_options(scratch.path());
  EXPECT_EQ(l.kv_heads, 3);
  EXPECT_EQ(l.rope_theta, 5e5);
  EXPECT_EQ(l.rope_scaling, llama.rope_scaling);
  EXPECT_EQ(l.head_width, 4);
  EXPECT_EQ(l.intermediate, 31);
  EXPECT_TRUE(l.tied);

  BertOptions bert{.vocabulary = 5, .context = 7, .width = 6, .layers = 3, .heads = 2};
  bert.head = BertHead::classes, bert.classes = 4, bert.token_types = 3;
  bert.dropout = 0.25, bert.attention_dropout = 0.125;
  write_config(bert, float32, scratch.path());
  const BertOptions b = bert_options(scratch.path());
  EXPECT_EQ(b.head, BertHead::classes);
  EXPECT_EQ(b.classes, 4);
  EXPECT_EQ(b.token_types, 3);
  EXPECT_EQ(b.dropout, 0.25);
  EXPECT_EQ(b.attention_dropout, 0.125);
  EXPECT_EQ(b.intermediate, 24);
}

TEST_F(ModelConfig, ScaledRotaryPositionsAndOldPlacesOfTheirBase) {
  config(R"({"model_type": "llama", "rope_theta": 77, "rope_scaling": null})");
  EXPECT_EQ(llama_options(scratch.path()).rope_theta, 77);
  config(R"({"model_type": "llama", "rope_parameters": {"rope_type": "default", "rope_theta": 78}})");
  EXPECT_EQ(llama_options(scratch.path()).rope_theta, 78);
  config(R"({"model_type": "llama", "rope_scaling": {"type": "linear", "factor": 4}})");
  EXPECT_EQ(llama_options(scratch.path()).rope_scaling, (RotaryScaling{.factor = 4}));
  // As Llama 3.1 has it.
  config(R"({"model_type": "llama", "max_position_embeddings": 131072, "rope_theta": 500000.0,
             "rope_scaling": {"factor": 8.0, "low_freq_factor": 1.5, "high_freq_factor": 4.5,
                              "original_max_position_embeddings": 8192, "rope_type": "llama3"}})");
  const RotaryScaling llama3{
      .factor = 8, .original_context = 8192, .low_frequency = 1.5, .high_frequency = 4.5};
  EXPECT_EQ(llama_options(scratch.path()).rope_scaling, llama3);
  EXPECT_EQ(llama_options(scratch.path()).rope_theta, 500000);
  config(R"({"model_type": "llama", "max_position_embeddings": 64,
             "rope_scaling": {"factor": 8.0, "low_freq_factor": 1, "high_freq_factor": 4, "rope_type": "llama3"}})");
  EXPECT_EQ(llama_options(scratch.path()).rope_scaling.original_context, 64);
  EXPECT_THAT(refused(llama_options, R"({"model_type": "llama", "rope_scaling": {"rope_type": "yarn"}})"),
              HasSubstr("rope_scaling: {\"rope_type\":\"yarn\"}; expected an object of rope_type"));
  EXPECT_THAT(
      refused(llama_options, R"({"model_type": "llama", "rope_scaling": {"type": "linear", "factor": 0}})"),
      HasSubstr("rope_scaling by 0"));
  EXPECT_THAT(
      refused(llama_options, R"({"model_type": "llama", "rope_scaling": {"type": "llama3", "factor": 8,
                                         "original_max_position_embeddings": -1}})"),
      HasSubstr("at least 1"));
  for (const char* rope : {R"({"type": "linear"})", R"({"type": "llama3"})"})  // transformers refuses it too
    EXPECT_THAT(
        refused(llama_options, std::string(R"({"model_type": "llama", "rope_scaling": )") + rope + "}"),
        HasSubstr("factor: null; expected a number"));
}

TEST_F(ModelConfig, WhatIsNotSupportedIsAnError) {
  EXPECT_THAT(refused(gpt2_options, R"({"model_type": "gpt2", "activation_function": "relu"})"),
              HasSubstr("activation_function: \"relu\"; expected \"gelu_new\""));
  EXPECT_THAT(refused(gpt2_options, R"({"model_type": "gpt2", "n_inner": 5})"), HasSubstr("n_inner: 5"));
  EXPECT_THAT(refused(gpt2_options, R"({"model_type": "gpt2", "n_head": 5})"), HasSubstr("width 768"));
  EXPECT_THAT(refused(gpt2_options, R"({"model_type": "gpt2", "n_embd": -1})"), HasSubstr("n_embd: -1"));
  EXPECT_THAT(refused(gpt2_options, R"({"model_type": "gpt2", "n_embd": 1e3})"), HasSubstr("an integer"));
  EXPECT_THAT(refused(llama_options, R"({"model_type": "llama", "hidden_size": 2147483616,
                                         "num_attention_heads": 16, "intermediate_size": 0})"),
              HasSubstr("intermediate 5726"));
  EXPECT_THAT(refused(bert_options, R"({"model_type": "bert", "architectures": ["BertModel"],
                                        "hidden_size": 2147483640, "intermediate_size": 0})"),
              HasSubstr("intermediate 8589"));
  EXPECT_THAT(refused(llama_options, R"({"model_type": "llama", "attention_bias": true})"),
              HasSubstr("attention_bias"));
  EXPECT_THAT(refused(bert_options, R"({"model_type": "bert", "architectures": ["BertForTokens"]})"),
              HasSubstr("BertForTokens"));
  EXPECT_THAT(refused(bert_options, R"({"model_type": "gpt2"})"), HasSubstr("not of type bert"));
  EXPECT_THAT(refused(model_type, R"({"model_type": "t5"})"),
              HasSubstr("model_type: \"t5\"; expected gpt2, llama or bert"));
  EXPECT_THAT(refused(model_type, "[1]"), HasSubstr("no JSON object"));
  const std::string deep = std::string(R"({"model_type": "gpt2", "n_embd": )").append(200000, '[');
  EXPECT_THAT(refused(gpt2_options, deep), HasSubstr("nested too deeply"));
  std::filesystem::remove(scratch / "config.json");
  std::filesystem::create_directory(scratch / "config.json");
  EXPECT_THAT(message_of<FileError>([&] { model_type(scratch.path()); }), HasSubstr("not a regular file"));
}

// Who only wants its text or its logits can have them.
TEST_F(ModelConfig, DropoutThatIsNotSupportedIsAWarning) {
  std::vector<std::string> seen;
  const WarningHandler before = set_warning_handler([&](const std::string& text) { seen.push_back(text); });
  config(R"({"model_type": "gpt2", "embd_pdrop": 0.5})");
  EXPECT_EQ(gpt2_options(scratch.path()).dropout, 0.1);
  config(R"({"model_type": "llama", "attention_dropout": 0.25})");
  llama_options(scratch.path());
  config(R"({"model_type": "bert", "architectures": ["BertModel"], "classifier_dropout": 0.5})");
  EXPECT_EQ(bert_options(scratch.path()).dropout, 0.1);
  set_warning_handler(before);
  EXPECT_THAT(seen, ElementsAre(HasSubstr("embd_pdrop: 0.5; expected 0.1, the resid_pdrop; try"),
                                HasSubstr("attention_dropout: 0.25; expected 0; try"),
                                HasSubstr("classifier_dropout: 0.5; expected 0.1, the hidden_dropout_prob")));
}

TEST_F(ModelConfig, AFunctionMayHaveTwoNames) {
  config(R"({"model_type": "gpt2", "activation_function": "gelu_pytorch_tanh"})");
  EXPECT_NO_THROW(gpt2_options(scratch.path()));
  config(R"({"model_type": "llama", "hidden_act": "swish"})");
  EXPECT_NO_THROW(llama_options(scratch.path()));
}

TEST_F(ModelConfig, ATextEndsWhereTheFolderSays) {
  EXPECT_TRUE(end_tokens(scratch.path()).empty());
  config(R"({"model_type": "llama", "eos_token_id": null})");
  EXPECT_TRUE(end_tokens(scratch.path()).empty());
  config(R"({"model_type": "llama", "eos_token_id": 2})");
  EXPECT_EQ(end_tokens(scratch.path()), std::vector<std::int32_t>{2});
  write_bytes(scratch / "generation_config.json", R"({"temperature": 0.6})");
  EXPECT_EQ(end_tokens(scratch.path()), std::vector<std::int32_t>{2});
  write_bytes(scratch / "generation_config.json", R"({"eos_token_id": [128001, 128009]})");
  EXPECT_EQ(end_tokens(scratch.path()), (std::vector<std::int32_t>{128001, 128009}));
  for (const char* ids : {"-1", "\"a\"", "[1, null]", "1.5", "4294967298"}) {
    write_bytes(scratch / "generation_config.json", std::string(R"({"eos_token_id": )") + ids + "}");
    EXPECT_THAT(message_of<FileError>([&] { end_tokens(scratch.path()); }),
                HasSubstr("expected a token, or a list of them"))
        << ids;
  }
}

TEST_F(ModelConfig, NoBytesBreakTheReaders) {
  const auto expect_robust = [&](auto read, const std::string& text) {
    const auto file = scratch / "config.json";
    EXPECT_GT(fuzz(file, text, 1, 150, [&](const auto&) { read(scratch.path()); }), 100) << text;
  };
  expect_robust(gpt2_options, R"({"model_type": "gpt2", "n_embd": 768, "n_head": 12, "n_inner": null})");
  expect_robust(llama_options, R"({"model_type": "llama", "rms_norm_eps": 1e-05, "tie_word_embeddings": true,
                                   "rope_parameters": {"rope_type": "default", "rope_theta": 78.5}})");
  expect_robust(llama_options, R"({"model_type": "llama", "rope_scaling": {"rope_type": "llama3", "factor": 8,
                                   "original_max_position_embeddings": 64}})");
  expect_robust(bert_options, R"({"model_type": "bert", "architectures": ["BertForSequenceClassification"],
                                  "id2label": {"0": "a", "1": "b"}, "hidden_dropout_prob": 0.1})");
}

}  // namespace
}  // namespace halftone::models
