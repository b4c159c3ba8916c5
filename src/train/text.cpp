// SPDX-License-Identifier: Apache-2.0
//
// The task `text`: which token comes next? An example is a window of the text; the order of an epoch is a
// random order of all places where a window can begin, so which windows a step sees is a function of seed and
// position.
#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>

#include "halftone/models.h"
#include "halftone/tokenizer.h"
#include "halftone/weights.h"
#include "train/flops.h"
#include "train/task.h"

namespace halftone::train {
namespace {

constexpr double kValidationShare = 0.1;
constexpr std::int64_t kValidationWindows = 160;  // at most: an evaluation must not cost more than training

data::Tokenizer make_tokenizer(const Config& config, std::string_view training) {
  if (config.tokenizer == "bytes") return data::Tokenizer::bytes();
  if (config.tokenizer == "bpe") return data::Tokenizer::train_bpe(training, config.vocabulary);
  if (!std::filesystem::exists(config.tokenizer))
    throw ValueError("tokenizer", config.tokenizer + ", which is no file",
                     "bytes, bpe, or the path of a tokenizer.json or its folder");
  return data::Tokenizer::load(config.tokenizer);
}

struct Corpus {
  data::Tokenizer tokenizer;
  data::TokenSplit tokens;
};

Corpus read_corpus(const Config& config) {
  Corpus corpus;
  if (config.data.extension() == ".bin") {
    if (config.tokenizer == "bpe")
      throw ValueError("tokenizer", "bpe, for a file of tokens",
                       "the tokenizer.json that made them, or bytes");
    corpus.tokenizer = make_tokenizer(config, "");
    const auto vocabulary = static_cast<std::int32_t>(corpus.tokenizer.vocabulary());
    corpus.tokens = data::split_tokens(data::load_tokens(config.data, vocabulary), kValidationShare);
  } else {
    const std::string text = data::load_text(config.data);
    const data::TextSplit parts = data::split_text(text, kValidationShare);
    corpus.tokenizer = make_tokenizer(config, parts.training);
    corpus.tokens = {corpus.tokenizer.encode(parts.training), corpus.tokenizer.encode(parts.validation)};
  }
  data::check_windows(corpus.tokens, config.context);
  return corpus;
}

// The models by their names: how they are made, and what is their head.
struct Gpt2 {
  using Model = models::Gpt2;
  static Model make(const Config& config, std::int64_t vocabulary) {
    return Model({.vocabulary = static_cast<int>(vocabulary),
                  .context = config.context,
                  .width = config.width,
                  .layers = config.layers,
                  .heads = config.heads,
                  .dropout = config.dropout,
                  .attention_dropout = config.dropout,
                  .checkpoint = config.checkpoint});
  }
  static const Tensor& head(const Model& model) { return model.wte.weight; }
  static bool is_looked_up(std::string_view parameter) { return parameter == "wpe.weight"; }
};
struct Llama {
  using Model = models::Llama;
  static Model make(const Config& config, std::int64_t vocabulary) {
    return Model({.vocabulary = static_cast<int>(vocabulary),
                  .context = config.context,
                  .width = config.width,
                  .layers = config.layers,
                  .heads = config.heads,
                  .kv_heads = config.kv_heads,
                  .checkpoint = config.checkpoint});
  }
  static const Tensor& head(const Model& model) { return model.head(); }
  static bool is_looked_up(std::string_view parameter) { return parameter == "model.embed_tokens.weight"; }
};

template <class Kind>
class Text : public Task {
 public:
  Text(const Config& config, DType parameter)
      : context_(config.context),
        corpus_(read_corpus(config)),
        text_(corpus_.tokens),
        prompt_(config.prompt),
        prompt_tokens_(config.sample_every == 0 ? std::vector<std::int32_t>()
                                                : corpus_.tokenizer.encode(prompt_.empty() ? "\n" : prompt_)),
        model_(Kind::make(config, corpus_.tokenizer.vocabulary())) {
    nn::to(model_, parameter);
    const auto places = static_cast<std::int64_t>(text_.validation.size()) - 1;
    const std::int64_t windows = std::min(kValidationWindows, places / context_);
    for (std::int64_t i = 0; i < windows; ++i) validation_starts_.push_back(places / windows * i);
  }

  std::int64_t train_count() const override {
    return static_cast<std::int64_t>(text_.training.size()) - context_;
  }
  std::int64_t test_count() const override { return std::ssize(validation_starts_); }
  std::string data_fingerprint() const override {
    return fmt::format("{:08x}{:08x}", checksum(text_.training), checksum(text_.validation));
  }

  data::Batch train_batch(const Order& order, std::int64_t begin, std::int64_t end) const override {
    const std::vector<std::int64_t> starts(order.begin() + begin, order.begin() + end);
    return data::gather_windows(text_.training, context_, starts);
  }
  data::Batch test_batch(const Order& order, std::int64_t begin, std::int64_t end) const override {
    std::vector<std::int64_t> starts;
    for (std::int64_t i = begin; i < end; ++i)
      starts.push_back(validation_starts_[static_cast<std::size_t>(order[static_cast<std::size_t>(i)])]);
    return data::gather_windows(text_.validation, context_, starts);
  }

  // The head is part of the loss.
  Tensor forward(const Tensor& tokens) const override { return model_.hidden(tokens); }
  Tensor loss(const Tensor& hidden, const Tensor& targets) const override {
    return linear_cross_entropy(hidden, Kind::head(model_), targets);
  }
  std::vector<Parameter> parameters() override { return nn::parameters(model_); }
  std::vector<Parameter> buffers() override { return nn::buffers(model_); }

  Measure measure() const override {
    const auto& o = model_.options;
    return {.unit = "tokens",
            .units_per_example = context_,
            .bytes_per_unit = bytes_per_token(),
            .flops_per_unit = transformer_flops(multiplied_weights(), o.layers, o.width, o.context),
            .test_batch = 8};
  }
  std::int64_t steps_per_epoch(const Config& config) const override {
    return std::min(config.evaluate_every, config.steps);
  }
  std::int64_t total_steps(const Config& config) const override { return config.steps; }

  std::string sample(std::uint64_t seed) override {
    std::string text = prompt_;
    models::GenerateOptions options{.max_new_tokens = 100, .temperature = 0.8, .seed = seed};
    for (const std::int32_t token : models::generate(model_, prompt_tokens_, options))
      text += corpus_.tokenizer.shown(token);
    return text;
  }
  void export_model(const std::filesystem::path& folder) override {
    corpus_.tokenizer.save(folder);  // first: a model without one is read as bytes
    models::save_weights(model_, folder);
  }

 private:
  // Elements of the matrices that every token is multiplied by: not those that are looked up.
  std::int64_t multiplied_weights() const {
    std::int64_t count = 0;
    for (const Parameter& p : nn::parameters(const_cast<typename Kind::Model&>(model_)))
      if (p.value.rank() == 2 && !Kind::is_looked_up(p.name)) count += p.value.count();
    return count;
  }

  // Of the validation text.
  double bytes_per_token() const {
    std::vector<std::size_t> lengths(static_cast<std::size_t>(corpus_.tokenizer.vocabulary()), 0);
    std::size_t bytes = 0;
    for (const std::int32_t token : text_.validation) {
      std::size_t& length = lengths[static_cast<std::size_t>(token)];
      if (length == 0) length = corpus_.tokenizer.bytes(token).size();
      bytes += length;
    }
    return static_cast<double>(bytes) / static_cast<double>(text_.validation.size());
  }

  static std::uint32_t checksum(const std::vector<std::int32_t>& tokens) {
    const auto bytes = static_cast<z_size_t>(tokens.size() * sizeof(tokens[0]));
    return static_cast<std::uint32_t>(adler32_z(1, reinterpret_cast<const Bytef*>(tokens.data()), bytes));
  }

  std::int64_t context_;
  Corpus corpus_;
  const data::TokenSplit& text_;
  std::vector<std::int64_t> validation_starts_;
  std::string prompt_;
  // Encoded before anything is trained: the vocabulary may lack a part of it.
  std::vector<std::int32_t> prompt_tokens_;
  typename Kind::Model model_;
};

void defaults(Config& config) {
  config.model = "gpt2";
  config.recipe = "bfloat16";
  config.batch = 8;
  config.weight_decay = 0.1;
  config.clip_norm = 1;
}

double default_lr(const Config& config) {
  if (config.optimizer == "sgd") return 0.05;
  return config.optimizer == "lion" ? 1e-4 : 1e-3;
}

// An option that would do nothing is a mistake.
void check_options(const Config& config) {
  const auto refuse = [](const char* option, auto given, const char* of, const char* hint) {
    throw ValueError(option, fmt::format("{} {}", given, of), "leaving it out", hint);
  };
  if (config.model == "llama" && config.dropout != 0)
    refuse("dropout", config.dropout, "of a llama, which has none", "--model gpt2");
  if (config.model != "llama" && config.kv_heads != 0)
    refuse("kv_heads", config.kv_heads, "of a gpt2, which has as many as heads", "--model llama");
  if (config.tokenizer != "bpe" && config.vocabulary != Config().vocabulary)
    refuse("vocabulary", config.vocabulary, "of a tokenizer that is not trained here", "--tokenizer bpe");
  if (config.sample_every == 0 && !config.prompt.empty())
    refuse("prompt", config.prompt, "without samples", "--sample-every");
}

std::unique_ptr<Task> make(const Config& config, DType parameter) {
  check_options(config);
  if (config.model == "llama") return std::make_unique<Text<Llama>>(config, parameter);
  return std::make_unique<Text<Gpt2>>(config, parameter);
}

const RegisterTask registered({"text", {"gpt2", "llama"}, defaults, default_lr, make});

}  // namespace
}  // namespace halftone::train
