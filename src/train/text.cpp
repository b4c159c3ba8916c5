// SPDX-License-Identifier: Apache-2.0
//
// The task `text`: which byte comes next? An example is a window of the text; the order of an epoch is a
// random order of all places where a window can begin, so which windows a step sees is a function of seed and
// position.
#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>

#include "halftone/models.h"
#include "train/flops.h"
#include "train/task.h"

namespace halftone::train {
namespace {

constexpr std::int32_t kVocabulary = 256;  // bytes
constexpr double kValidationShare = 0.1;
constexpr std::int64_t kValidationWindows = 160;  // at most: an evaluation must not cost more than training

std::vector<std::int32_t> read_tokens(const std::filesystem::path& file) {
  if (file.extension() == ".bin") return data::load_tokens(file, kVocabulary);
  const std::string text = data::load_text(file);
  std::vector<std::int32_t> tokens(text.size());
  std::transform(text.begin(), text.end(), tokens.begin(),
                 [](char c) { return static_cast<std::int32_t>(static_cast<unsigned char>(c)); });
  return tokens;
}

models::Gpt2Options model_options(const Config& config) {
  return {.vocabulary = kVocabulary,
          .context = config.context,
          .width = config.width,
          .layers = config.layers,
          .heads = config.heads};
}

class Text : public Task {
 public:
  Text(const Config& config, DType parameter)
      : context_(config.context),
        text_(data::split_tokens(read_tokens(config.data), kValidationShare, config.context)),
        model_(model_options(config)) {
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

  // The head is part of the loss, which never holds all logits.
  Tensor forward(const Tensor& tokens) const override { return model_.hidden(tokens); }
  Tensor loss(const Tensor& hidden, const Tensor& targets) const override {
    return linear_cross_entropy(hidden, model_.wte.weight, targets);
  }
  std::vector<Parameter> parameters() override { return nn::parameters(model_); }
  std::vector<Parameter> buffers() override { return nn::buffers(model_); }

  Measure measure() const override {
    const models::Gpt2Options& o = model_.options;
    const std::int64_t width = o.width, weights = 12 * o.layers * width * width + width * o.vocabulary;
    return {.unit = "tokens",
            .units_per_example = context_,
            .bytes_per_unit = 1,
            .flops_per_unit = transformer_flops(weights, o.layers, width, o.context),
            .test_batch = 8};
  }
  std::int64_t steps_per_epoch(const Config& config) const override {
    return std::min(config.evaluate_every, config.steps);
  }
  std::int64_t total_steps(const Config& config) const override { return config.steps; }

 private:
  static std::uint32_t checksum(const std::vector<std::int32_t>& tokens) {
    const auto bytes = static_cast<z_size_t>(tokens.size() * sizeof(tokens[0]));
    return static_cast<std::uint32_t>(adler32_z(1, reinterpret_cast<const Bytef*>(tokens.data()), bytes));
  }

  std::int64_t context_;
  data::TokenSplit text_;
  std::vector<std::int64_t> validation_starts_;
  models::Gpt2 model_;
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

std::unique_ptr<Task> make(const Config& config, DType parameter) {
  return std::make_unique<Text>(config, parameter);
}

const RegisterTask registered({"text", {"gpt2"}, defaults, default_lr, make});

}  // namespace
}  // namespace halftone::train
