// SPDX-License-Identifier: Apache-2.0
//
// config.json of transformers and the options of our models. A key that is missing has transformers' default;
// a key that asks for what our model does not do is an error, or a warning if it matters in training only.
#include "train/model_config.h"

#include <fmt/format.h>

#include <limits>
#include <nlohmann/json.hpp>

#include "base/atomic_file.h"
#include "base/file.h"
#include "halftone/warning.h"
#include "halftone/weights.h"

namespace halftone::models {
namespace {

using Json = nlohmann::ordered_json;

class Fields {
 public:
  explicit Fields(const std::filesystem::path& file) : file_(file) {
    constexpr std::size_t kDeepest = 16;  // arrays and objects in each other
    const std::string expected = fmt::format("the {} of a model", file.filename().string());
    const std::string text = read_file(file, expected);
    if (json_depth(text) > kDeepest) fail("arrays and objects nested too deeply", expected);
    json_ = Json::parse(text, nullptr, false);
    if (json_.is_discarded() || !json_.is_object()) fail("no JSON object", expected);
  }

  bool has(const char* key) const { return json_.contains(key) && !json_[key].is_null(); }
  const Json& operator[](const char* key) const { return json_[key]; }

  int integer(const char* key, int otherwise) const {
    if (!has(key)) return otherwise;
    const Json& value = json_[key];
    if (!value.is_number_integer() || value < 0 || value > std::numeric_limits<int>::max())
      fail_at(key, "an integer from 0 to 2147483647");
    return value.get<int>();
  }
  double number(const char* key, double otherwise) const {
    return has(key) ? number_in(json_, key) : otherwise;
  }
  double number_in(const Json& json, const char* key) const {
    const Json value = json.value(key, Json());
    if (!value.is_number()) fail(fmt::format("{}: {}", key, dump(value)), "a number");
    return value.get<double>();
  }
  bool boolean(const char* key, bool otherwise) const {
    if (!has(key)) return otherwise;
    if (!json_[key].is_boolean()) fail_at(key, "true or false");
    return json_[key].get<bool>();
  }
  // Missing, or this.
  void expect(const char* key, const Json& value) const {
    if (has(key) && json_[key] != value) fail_at(key, dump(value) + ": nothing else is supported");
  }
  // Missing, or a name of that one function.
  void expect(const char* key, const char* name, const char* other_name) const {
    if (!has(key) || json_[key] != other_name) expect(key, name);
  }
  // Dropout that our model does not have is nothing to somebody who does not train.
  void expect_in_training(const char* key, double value, const char* why) const {
    if (has(key) && json_[key] != value)
      warn_once(file_.string(), fmt::format("{}: {}", key, dump(json_[key])), fmt::format("{}{}", value, why),
                "it as it is, unless you train: there it is what counts");
  }
  [[noreturn]] void fail_at(const char* key, const std::string& expected) const {
    fail(fmt::format("{}: {}", key, dump(json_[key])), expected);
  }
  [[noreturn]] void fail(const std::string& given, const std::string& expected) const {
    throw FileError(file_.string(), given, expected);
  }

 private:
  static std::string dump(const Json& value) {
    return value.dump(-1, ' ', true, Json::error_handler_t::replace);
  }

  std::filesystem::path file_;
  Json json_;
};

Fields open_config(const std::filesystem::path& folder, const char* type) {
  Fields fields(folder / "config.json");
  if (!fields.has("model_type") || fields["model_type"] != type)
    fields.fail("a model that is not of type " + std::string(type),
                fmt::format("\"model_type\": \"{}\"", type));
  return fields;
}

// Options that can not be are the file's mistake here.
template <class Options>
Options checked(const Fields& fields, const Options& options) {
  try {
    return options.filled();
  } catch (const ValueError& error) {
    fields.fail(error.what(), "the options of a model");
  }
}

// Where transformers 4 and 5 have it.
void read_rope(const Fields& fields, LlamaOptions& o) {
  o.rope_theta = fields.number("rope_theta", 10000);
  for (const char* key : {"rope_scaling", "rope_parameters"}) {
    if (!fields.has(key)) continue;
    const Json& rope = fields[key];
    const char* type_key = rope.is_object() && rope.contains("type") ? "type" : "rope_type";
    const Json type = rope.is_object() ? rope.value(type_key, Json("default")) : Json();
    if (type != "default" && type != "linear" && type != "llama3")
      fields.fail_at(key, "an object of rope_type \"default\", \"linear\" or \"llama3\"");
    if (rope.contains("rope_theta")) o.rope_theta = fields.number_in(rope, "rope_theta");
    if (type == "default") continue;
    o.rope_scaling.factor = fields.number_in(rope, "factor");
    if (type == "linear") continue;
    const char* original = "original_max_position_embeddings";
    const double context =
        rope.contains(original) ? fields.number_in(rope, original) : static_cast<double>(o.context);
    if (!(context >= 1 && context <= std::numeric_limits<int>::max()))
      fields.fail_at(key, "an original_max_position_embeddings of at least 1");
    o.rope_scaling.original_context = static_cast<std::int64_t>(context);
    o.rope_scaling.low_frequency = fields.number_in(rope, "low_freq_factor");
    o.rope_scaling.high_frequency = fields.number_in(rope, "high_freq_factor");
  }
}

Json rope_scaling_json(const RotaryScaling& scaling) {
  if (scaling.original_context == 0)
    return scaling.factor == 1 ? Json(nullptr) : Json{{"rope_type", "linear"}, {"factor", scaling.factor}};
  return {{"rope_type", "llama3"},
          {"factor", scaling.factor},
          {"low_freq_factor", scaling.low_frequency},
          {"high_freq_factor", scaling.high_frequency},
          {"original_max_position_embeddings", scaling.original_context}};
}

BertHead bert_head(const Fields& fields) {
  const std::string name = fields.has("architectures") && fields["architectures"].is_array() &&
                                   fields["architectures"].size() == 1 &&
                                   fields["architectures"][0].is_string()
                               ? fields["architectures"][0].get<std::string>()
                               : "";
  if (name == "BertForMaskedLM" || name == "BertForPreTraining") return BertHead::masked_tokens;
  if (name == "BertForSequenceClassification") return BertHead::classes;
  if (name == "BertModel") return BertHead::pooler;
  fields.fail(fmt::format("architectures: {}", fields.has("architectures") ? "\"" + name + "\"" : "none"),
              "one of BertModel, BertForMaskedLM, BertForPreTraining, BertForSequenceClassification");
}

Json common(const char* type, const char* architecture, DType dtype, bool tied) {
  return {{"architectures", {architecture}},
          {"model_type", type},
          {"tie_word_embeddings", tied},
          {"torch_dtype", std::string(dtype.name())}};
}

void write(const std::filesystem::path& folder, const Json& json) {
  write_file(folder / "config.json", json.dump(2) + "\n");
}

}  // namespace

std::string model_type(const std::filesystem::path& folder) {
  const Fields fields(folder / "config.json");
  for (const char* type : {"gpt2", "llama", "bert"})
    if (fields.has("model_type") && fields["model_type"] == type) return type;
  const std::string expected = "gpt2, llama or bert";
  fields.has("model_type") ? fields.fail_at("model_type", expected) : fields.fail("no model_type", expected);
}

std::vector<std::int32_t> end_tokens(const std::filesystem::path& folder) {
  for (const char* name : {"generation_config.json", "config.json"}) {
    if (!std::filesystem::exists(folder / name)) continue;
    const Fields fields(folder / name);
    if (!fields.has("eos_token_id")) continue;
    const Json& given = fields["eos_token_id"];
    std::vector<std::int32_t> ids;
    for (const Json& id : given.is_array() ? given : Json::array({given})) {
      if (!id.is_number_integer() || id < 0 || id > std::numeric_limits<std::int32_t>::max())
        fields.fail_at("eos_token_id", "a token, or a list of them");
      ids.push_back(id.get<std::int32_t>());
    }
    return ids;
  }
  return {};
}

Gpt2Options gpt2_options(const std::filesystem::path& folder) {
  const Fields fields = open_config(folder, "gpt2");
  fields.expect("activation_function", "gelu_new", "gelu_pytorch_tanh");
  fields.expect("scale_attn_weights", true);
  fields.expect("scale_attn_by_inverse_layer_idx", false);
  fields.expect("add_cross_attention", false);
  fields.expect("tie_word_embeddings", true);
  Gpt2Options o;
  o.vocabulary = fields.integer("vocab_size", 50257);
  o.context = fields.integer("n_positions", 1024);
  o.width = fields.integer("n_embd", 768);
  o.layers = fields.integer("n_layer", 12);
  o.heads = fields.integer("n_head", 12);
  if (fields.has("n_inner") && fields.integer("n_inner", 0) != std::int64_t{4} * o.width)
    fields.fail_at("n_inner", "null: four times n_embd");
  o.epsilon = fields.number("layer_norm_epsilon", 1e-5);
  o.dropout = fields.number("resid_pdrop", 0.1);
  fields.expect_in_training("embd_pdrop", o.dropout, ", the resid_pdrop");
  o.attention_dropout = fields.number("attn_pdrop", 0.1);
  return checked(fields, o);
}

LlamaOptions llama_options(const std::filesystem::path& folder) {
  const Fields fields = open_config(folder, "llama");
  fields.expect("hidden_act", "silu", "swish");
  fields.expect("attention_bias", false);
  fields.expect("mlp_bias", false);
  fields.expect_in_training("attention_dropout", 0, "");
  LlamaOptions o;
  o.vocabulary = fields.integer("vocab_size", 32000);
  o.context = fields.integer("max_position_embeddings", 2048);
  o.width = fields.integer("hidden_size", 4096);
  o.layers = fields.integer("num_hidden_layers", 32);
  o.heads = fields.integer("num_attention_heads", 32);
  o.kv_heads = fields.integer("num_key_value_heads", 0);
  o.intermediate = fields.integer("intermediate_size", 11008);
  o.head_width = fields.integer("head_dim", 0);
  o.epsilon = fields.number("rms_norm_eps", 1e-6);
  read_rope(fields, o);
  o.tied = fields.boolean("tie_word_embeddings", false);
  return checked(fields, o);
}

BertOptions bert_options(const std::filesystem::path& folder) {
  const Fields fields = open_config(folder, "bert");
  fields.expect("hidden_act", "gelu");
  fields.expect("position_embedding_type", "absolute");
  fields.expect("is_decoder", false);
  fields.expect("tie_word_embeddings", true);
  BertOptions o;
  o.vocabulary = fields.integer("vocab_size", 30522);
  o.context = fields.integer("max_position_embeddings", 512);
  o.width = fields.integer("hidden_size", 768);
  o.layers = fields.integer("num_hidden_layers", 12);
  o.heads = fields.integer("num_attention_heads", 12);
  o.intermediate = fields.integer("intermediate_size", 3072);
  o.token_types = fields.integer("type_vocab_size", 2);
  o.epsilon = fields.number("layer_norm_eps", 1e-12);
  o.dropout = fields.number("hidden_dropout_prob", 0.1);
  fields.expect_in_training("classifier_dropout", o.dropout, ", the hidden_dropout_prob");
  o.attention_dropout = fields.number("attention_probs_dropout_prob", 0.1);
  o.head = bert_head(fields);
  if (o.head == BertHead::classes) {
    o.classes = fields.integer("num_labels", 2);
    if (fields.has("id2label")) o.classes = static_cast<int>(fields["id2label"].size());
  }
  return checked(fields, o);
}

void write_config(const Gpt2Options& o, DType dtype, const std::filesystem::path& folder) {
  Json json = common("gpt2", "GPT2LMHeadModel", dtype, true);
  json.update({{"vocab_size", o.vocabulary},
               {"n_positions", o.context},
               {"n_embd", o.width},
               {"n_layer", o.layers},
               {"n_head", o.heads},
               {"activation_function", "gelu_new"},
               {"layer_norm_epsilon", o.epsilon},
               {"resid_pdrop", o.dropout},
               {"embd_pdrop", o.dropout},
               {"attn_pdrop", o.attention_dropout},
               // GPT-2's own lie outside a small vocabulary.
               {"bos_token_id", nullptr},
               {"eos_token_id", nullptr}});
  write(folder, json);
}

void write_config(const LlamaOptions& given, DType dtype, const std::filesystem::path& folder) {
  const LlamaOptions o = given.filled();
  Json json = common("llama", "LlamaForCausalLM", dtype, o.tied);
  json.update({{"vocab_size", o.vocabulary},
               {"max_position_embeddings", o.context},
               {"hidden_size", o.width},
               {"num_hidden_layers", o.layers},
               {"num_attention_heads", o.heads},
               {"num_key_value_heads", o.kv_heads},
               {"intermediate_size", o.intermediate},
               {"head_dim", o.head_width},
               {"hidden_act", "silu"},
               {"rms_norm_eps", o.epsilon},
               {"rope_theta", o.rope_theta},
               {"rope_scaling", rope_scaling_json(o.rope_scaling)},
               {"attention_bias", false},
               {"mlp_bias", false},
               {"bos_token_id", nullptr},
               {"eos_token_id", nullptr}});
  write(folder, json);
}

void write_config(const BertOptions& given, DType dtype, const std::filesystem::path& folder) {
  const BertOptions o = given.filled();
  const char* names[] = {"BertModel", "BertForSequenceClassification", "BertForMaskedLM"};
  Json json = common("bert", names[static_cast<std::size_t>(o.head)], dtype, true);
  json.update({{"vocab_size", o.vocabulary},
               {"max_position_embeddings", o.context},
               {"hidden_size", o.width},
               {"num_hidden_layers", o.layers},
               {"num_attention_heads", o.heads},
               {"intermediate_size", o.intermediate},
               {"type_vocab_size", o.token_types},
               {"hidden_act", "gelu"},
               {"layer_norm_eps", o.epsilon},
               {"hidden_dropout_prob", o.dropout},
               {"attention_probs_dropout_prob", o.attention_dropout},
               {"pad_token_id", 0}});
  if (o.head == BertHead::classes) {
    for (int i = 0; i < o.classes; ++i) {
      json["id2label"][std::to_string(i)] = fmt::format("LABEL_{}", i);
      json["label2id"][fmt::format("LABEL_{}", i)] = i;
    }
  }
  write(folder, json);
}

}  // namespace halftone::models
