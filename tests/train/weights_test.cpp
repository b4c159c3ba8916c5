// SPDX-License-Identifier: Apache-2.0
//
// Models that transformers wrote (tests/fixtures) give the logits that it computed; what is written here is
// read back; files that do not fit are refused as a whole.
#include "halftone/weights.h"

#include <gmock/gmock.h>

#include <cmath>
#include <fstream>

#include "data/scratch.h"
#include "halftone/train.h"

namespace halftone::models {
namespace {

using halftone::testing::message_of;
using halftone::testing::read_bytes;
using halftone::testing::Scratch;
using halftone::testing::write_bytes;
using ::testing::HasSubstr;
namespace fs = std::filesystem;

const fs::path fixtures = fs::path(HALFTONE_SOURCE_DIR) / "tests/fixtures";

std::vector<double> numbers(const fs::path& file) {
  std::ifstream stream(file);
  return {std::istream_iterator<double>(stream), {}};
}
Tensor input(const fs::path& folder) { return from_values(numbers(folder / "input.txt"), {2, 9}, int32); }

void expect_logits(const Tensor& logits, const fs::path& folder) {
  const std::vector<double> expected = numbers(folder / "logits.txt"), actual = logits.to_vector();
  ASSERT_EQ(actual.size(), expected.size());
  for (std::size_t i = 0; i < actual.size(); ++i)
    ASSERT_NEAR(actual[i], expected[i], 1e-5 * (1 + std::abs(expected[i]))) << folder << " " << i;
}

// As make.py ran it: the second row has 5 tokens and 4 of padding, tokens 5.. are of type 1.
Bert::Inputs bert_inputs(const fs::path& folder) {
  Tensor types({2, 9}, int32);
  for (int i = 0; i < 18; ++i) types.mutable_data<std::int32_t>()[i] = i % 9 >= 5;
  return {input(folder), from_values({9, 5}, int32), types};
}

Tensor answer(const Gpt2& model, const fs::path& folder) {
  return inference([&] { return model(input(folder)); });
}
Tensor answer(const Llama& model, const fs::path& folder) {
  return inference([&] { return model(input(folder)); });
}
Tensor answer(const Bert& model, const fs::path& folder) {
  return inference([&] {
    const Tensor hidden = model.hidden(bert_inputs(folder));
    return model.options.head == BertHead::classes ? model.class_logits(hidden) : model.masked_logits(hidden);
  });
}

template <class Model>
std::vector<double> values_of(Model& model) {
  std::vector<double> all;
  for (const Parameter& p : nn::parameters(model))
    for (const double v : p.value.to_vector()) all.push_back(v);
  return all;
}

TEST(Weights, Gpt2OfTransformersGivesItsLogits) {
  for (const char* name : {"gpt2", "gpt2_sharded", "gpt2_bfloat16"}) {
    EXPECT_EQ(model_type(fixtures / name), "gpt2");
    expect_logits(answer(load_gpt2(fixtures / name), fixtures / name), fixtures / name);
  }
}

TEST(Weights, LlamaOfTransformersGivesItsLogits) {
  for (const char* name : {"llama", "llama_tied", "llama_scaled"}) {
    EXPECT_EQ(model_type(fixtures / name), "llama");
    expect_logits(answer(load_llama(fixtures / name), fixtures / name), fixtures / name);
  }
}

TEST(Weights, BertOfTransformersGivesItsLogits) {
  for (const char* name : {"bert", "bert_classes"}) {
    EXPECT_EQ(model_type(fixtures / name), "bert");
    expect_logits(answer(load_bert(fixtures / name), fixtures / name), fixtures / name);
  }
}

// Written and read again: the same values in float32, rounded once in 16 bits.
template <class Model>
void expect_round_trip(Model model, Model (*load)(const fs::path&)) {
  const Scratch scratch;
  for (const DType dtype : {float32, bfloat16, float16}) {
    save_weights(model, scratch / "model", dtype);
    Model again = load(scratch / "model");
    const std::vector<double> before = values_of(model), after = values_of(again);
    EXPECT_EQ(after, from_values(before, {std::int64_t(before.size())}, dtype).to_vector()) << dtype.name();
    EXPECT_EQ(train::load_state(scratch / "model/model.safetensors").metadata.at("format"), "pt");
  }
  EXPECT_THROW(save_weights(model, scratch / "model", float8_e5m2), DTypeError);
}

TEST(Weights, WhatIsWrittenIsReadBack) {
  manual_seed(1);
  expect_round_trip(Gpt2({.vocabulary = 11, .context = 6, .width = 8, .layers = 2, .heads = 2}), load_gpt2);
  LlamaOptions llama{.vocabulary = 11, .context = 6, .width = 8, .layers = 2, .heads = 2, .kv_heads = 1};
  llama.head_width = 6;
  expect_round_trip(Llama(llama), load_llama);
  llama.tied = true;
  expect_round_trip(Llama(llama), load_llama);
  for (const BertHead head : {BertHead::pooler, BertHead::classes, BertHead::masked_tokens}) {
    BertOptions bert{.vocabulary = 11, .context = 6, .width = 8, .layers = 2, .heads = 2};
    bert.head = head, bert.classes = 5;
    expect_round_trip(Bert(bert), load_bert);
  }
}

// The names in the files of the fixtures are those written here.
TEST(Weights, NamesAreThoseOfTransformers) {
  const Scratch scratch;
  const auto names = [](const fs::path& folder) {
    std::vector<std::string> all;
    for (const Parameter& tensor : train::load_state(folder / "model.safetensors").tensors)
      all.push_back(tensor.name + to_string(tensor.value.shape()));
    std::sort(all.begin(), all.end());
    return all;
  };
  save_weights(load_gpt2(fixtures / "gpt2"), scratch / "gpt2");
  EXPECT_EQ(names(scratch / "gpt2"), names(fixtures / "gpt2"));
  for (const char* name : {"llama", "llama_tied", "llama_scaled"}) {
    save_weights(load_llama(fixtures / name), scratch / name);
    EXPECT_EQ(names(scratch / name), names(fixtures / name));
  }
  for (const char* name : {"bert", "bert_classes"}) {
    save_weights(load_bert(fixtures / name), scratch / name);
    EXPECT_EQ(names(scratch / name), names(fixtures / name));
  }
}

struct Changed : ::testing::Test {
  Scratch scratch;
  train::State state;
  void take(const char* name) { state = train::load_state(fixtures / name / "model.safetensors"); }
  fs::path file() {
    train::save_state(scratch / "changed.safetensors", state);
    return scratch / "changed.safetensors";
  }
  Tensor& tensor(std::string_view name) {
    for (Parameter& p : state.tensors)
      if (p.name == name) return p.value;
    throw std::runtime_error("no tensor " + std::string(name));
  }
  void rename(const std::function<std::string(std::string)>& to) {
    for (Parameter& p : state.tensors) p.name = to(p.name);
  }
};

TEST_F(Changed, OlderNamesOfGpt2AreRead) {
  take("gpt2");
  rename([](const std::string& name) { return name.substr(12); });  // without "transformer."
  state.tensors.push_back({"lm_head.weight", tensor("wte.weight")});
  state.tensors.push_back({"h.0.attn.bias", ones({1, 1, 12, 12}, uint8)});
  state.tensors.push_back({"h.1.attn.masked_bias", full({}, -1e4)});
  Gpt2 model(gpt2_options(fixtures / "gpt2"));
  load_weights(model, file());
  expect_logits(answer(model, fixtures / "gpt2"), fixtures / "gpt2");

  state.tensors[state.tensors.size() - 3].value = zeros({40, 16});
  EXPECT_THAT(message_of<FileError>([&] { load_weights(model, file()); }),
              HasSubstr("not tied: lm_head.weight differs from wte.weight"));
}

TEST_F(Changed, ATiedMatrixMayHaveTheNameOfTheHeadOnly) {
  take("gpt2");
  rename([](const std::string& name) { return name == "transformer.wte.weight" ? "lm_head.weight" : name; });
  train::save_state(scratch / "model.safetensors", state);
  fs::copy_file(fixtures / "gpt2" / "config.json", scratch / "config.json");
  expect_logits(answer(load_gpt2(scratch.path()), fixtures / "gpt2"), fixtures / "gpt2");
}

TEST_F(Changed, OlderNamesOfBertAndOtherHeadsAreRead) {
  take("bert");
  rename([](std::string name) {
    if (name.ends_with("LayerNorm.weight")) name.replace(name.size() - 6, 6, "gamma");
    if (name.ends_with("LayerNorm.bias")) name.replace(name.size() - 4, 4, "beta");
    return name;
  });
  state.tensors.push_back({"bert.embeddings.position_ids", zeros({1, 12}, int64)});
  state.tensors.push_back(
      {"cls.predictions.decoder.weight", tensor("bert.embeddings.word_embeddings.weight")});
  state.tensors.push_back({"cls.seq_relationship.weight", zeros({2, 16})});
  state.tensors.push_back({"bert.pooler.dense.weight", zeros({16, 16})});
  Bert model(bert_options(fixtures / "bert"));
  load_weights(model, file());
  expect_logits(answer(model, fixtures / "bert"), fixtures / "bert");
}

TEST_F(Changed, ANewHeadKeepsItsInitialValues) {
  take("bert");
  BertOptions options = bert_options(fixtures / "bert");
  options.head = BertHead::classes;
  Bert model(options);
  const std::vector<double> head = model.classifier.weight.to_vector();
  EXPECT_THAT(message_of<FileError>([&] { load_weights(model, file()); }),
              HasSubstr("missing: bert.pooler.dense.weight"));
  load_weights(model, file(), true);
  EXPECT_EQ(model.classifier.weight.to_vector(), head);
  EXPECT_EQ(model.embeddings.word_embeddings.weight.to_vector(),
            tensor("bert.embeddings.word_embeddings.weight").to_vector());
}

TEST_F(Changed, WhatDoesNotFitIsListedAndNothingIsLoaded) {
  take("llama");
  Llama model(llama_options(fixtures / "llama"));
  const std::vector<double> before = values_of(model);
  const auto refused = [&](const char* expected) {
    EXPECT_THAT(message_of<FileError>([&] { load_weights(model, file()); }), HasSubstr(expected));
    EXPECT_EQ(values_of(model), before);
    take("llama");
  };
  tensor("model.norm.weight") = zeros({17});
  refused("of another shape: model.norm.weight (17), expected (16)");
  tensor("model.norm.weight") = zeros({16}, int32);
  refused("of another format: model.norm.weight int32");
  rename([](const std::string& name) { return name == "model.norm.weight" ? "model.norm.bias" : name; });
  refused("missing: model.norm.weight; unknown: model.norm.bias");
  state.tensors.resize(1);
  refused(" and 16 more");
  state.tensors.push_back({"norm.weight", zeros({16})});  // is model.norm.weight, too
  refused("twice: norm.weight");
}

TEST_F(Changed, AConfigThatDoesNotFitIsNoticedBeforeAModelIsMade) {
  for (const char* name : {"gpt2", "llama", "bert"}) {
    fs::create_directories(scratch / name);
    fs::copy_file(fixtures / name / "model.safetensors", scratch / name / "model.safetensors");
    std::string config = read_bytes(fixtures / name / "config.json");
    config.replace(config.find("\"vocab_size\": 40"), 16, "\"vocab_size\": 2000000000");
    write_bytes(scratch / name / "config.json", config);
  }
  const char* expected = "expected (2000000000, 16)";
  EXPECT_THAT(message_of<FileError>([&] { load_gpt2(scratch / "gpt2"); }), HasSubstr(expected));
  EXPECT_THAT(message_of<FileError>([&] { load_llama(scratch / "llama"); }), HasSubstr(expected));
  EXPECT_THAT(message_of<FileError>([&] { load_bert(scratch / "bert"); }), HasSubstr(expected));
}

}  // namespace
}  // namespace halftone::models
