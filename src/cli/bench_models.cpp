// SPDX-License-Identifier: Apache-2.0
#include "cli/bench_models.h"

#include <fmt/format.h>

#include "base/join.h"
#include "halftone/models.h"
#include "halftone/random.h"
#include "train/flops.h"
#include "train/models.h"

namespace halftone::cli {
namespace {

// A module with its loss.
template <nn::Module Model, class Loss>
class Made : public BenchModel {
 public:
  Made(Model model, Loss loss) : model_(std::move(model)), loss_(loss) {}
  void to(DType parameter) override { nn::to(model_, parameter); }
  std::vector<Parameter> parameters() override { return nn::parameters(model_); }
  std::vector<Parameter> buffers() override { return nn::buffers(model_); }
  Tensor loss(const data::Batch& batch) const override { return loss_(model_, batch); }

 private:
  Model model_;
  Loss loss_;
};

template <class Model, class Loss>
std::unique_ptr<BenchModel> made(Model model, Loss loss) {
  return std::make_unique<Made<Model, Loss>>(std::move(model), loss);
}

// Tokens and their successors.
data::Batch noise_tokens(const BenchSize& size, std::int64_t step) {
  data::Batch batch{empty({size.batch, size.context}, int32), empty({size.batch, size.context}, int32)};
  auto* input = batch.inputs.mutable_data<std::int32_t>();
  auto* target = batch.targets.mutable_data<std::int32_t>();
  const std::int64_t count = batch.inputs.count();
  const auto token = [&](std::int64_t at) {
    const std::uint32_t bits = random_bits(1, streams::example, static_cast<std::uint64_t>(at));
    return static_cast<std::int32_t>(bits % static_cast<std::uint32_t>(size.vocabulary));
  };
  for (std::int64_t i = 0; i < count; ++i) input[i] = token(step * count + i);
  for (std::int64_t i = 0; i < count; ++i)
    target[i] = (i + 1) % size.context == 0 ? token(step * count + i + 1) : input[i + 1];
  return batch;
}

data::Batch noise_images(const BenchSize& size, std::int64_t step) {
  constexpr std::int64_t kImages = 4096;
  static const data::ImageSet set = [] {
    data::ImageSet made{empty({kImages, 28, 28}, uint8), empty({kImages}, uint8)};
    auto* pixels = made.images.mutable_data<std::uint8_t>();
    auto* labels = made.labels.mutable_data<std::uint8_t>();
    for (std::int64_t i = 0; i < made.images.count(); ++i)
      pixels[i] = static_cast<std::uint8_t>(random_bits(1, streams::example, static_cast<std::uint64_t>(i)));
    for (std::int64_t i = 0; i < kImages; ++i) labels[i] = static_cast<std::uint8_t>(i % 10);
    return made;
  }();
  std::vector<std::int32_t> order;
  for (std::int64_t i = 0; i < size.batch; ++i)
    order.push_back(static_cast<std::int32_t>((step * size.batch + i) % kImages));
  return data::gather_images(set, order, 0, size.batch);
}

template <class Model>
Tensor next_token_loss(const Model& model, const data::Batch& batch) {
  return model.loss(batch.inputs, batch.targets);
}

double tokens_of(const BenchSize& size) {
  return static_cast<double>(size.batch) * static_cast<double>(size.context);
}

models::Gpt2Options gpt2_options(const BenchSize& size) {
  return {.vocabulary = size.vocabulary,
          .context = size.context,
          .width = size.width,
          .layers = size.layers,
          .heads = size.heads,
          .checkpoint = size.checkpoint};
}

std::unique_ptr<BenchModel> make_gpt2(const BenchSize& size) {
  return made(models::Gpt2(gpt2_options(size)), next_token_loss<models::Gpt2>);
}

double gpt2_flops(const BenchSize& size) {
  const std::int64_t width = size.width, weights = 12 * size.layers * width * width + size.vocabulary * width;
  return tokens_of(size) * train::transformer_flops(weights, size.layers, width, size.context);
}

models::LlamaOptions llama_options(const BenchSize& size) {
  return models::LlamaOptions{.vocabulary = size.vocabulary,
                              .context = size.context,
                              .width = size.width,
                              .layers = size.layers,
                              .heads = size.heads,
                              .checkpoint = size.checkpoint}
      .filled();
}

std::unique_ptr<BenchModel> make_llama(const BenchSize& size) {
  return made(models::Llama(llama_options(size)), next_token_loss<models::Llama>);
}

double llama_flops(const BenchSize& size) {
  const std::int64_t width = size.width, inside = llama_options(size).intermediate;
  const std::int64_t weights =
      size.layers * (4 * width * width + 3 * width * inside) + size.vocabulary * width;
  return tokens_of(size) * train::transformer_flops(weights, size.layers, width, size.context);
}

constexpr std::int64_t kMaskedEvery = 7;  // about 15 % of the tokens, as published

data::Batch masked_tokens(const BenchSize& size, std::int64_t step) {
  data::Batch batch = noise_tokens(size, step);
  auto* target = batch.targets.mutable_data<std::int32_t>();
  for (std::int64_t i = 0; i < batch.targets.count(); ++i)
    if (i % kMaskedEvery != 0) target[i] = CrossEntropyOptions().ignore_index;
  return batch;
}

std::unique_ptr<BenchModel> make_bert(const BenchSize& size) {
  models::Bert model({.vocabulary = size.vocabulary,
                      .context = size.context,
                      .width = size.width,
                      .layers = size.layers,
                      .heads = size.heads,
                      .checkpoint = size.checkpoint});
  return made(std::move(model), [](const models::Bert& bert, const data::Batch& batch) {
    return bert.loss({.tokens = batch.inputs}, batch.targets);
  });
}

// The head sees the masked tokens only.
double bert_flops(const BenchSize& size) {
  const std::int64_t width = size.width, tokens = static_cast<std::int64_t>(size.batch) * size.context;
  const double masked = static_cast<double>((tokens + kMaskedEvery - 1) / kMaskedEvery);
  return tokens_of(size) *
             train::transformer_flops(12 * size.layers * width * width, size.layers, width, size.context) +
         masked * train::transformer_flops(width * width + size.vocabulary * width, 0, 0, 0);
}

template <nn::Module Model>
std::unique_ptr<BenchModel> make_classifier(const BenchSize&) {
  return made(Model(), [](const Model& model, const data::Batch& batch) {
    return cross_entropy(model(batch.inputs), batch.targets);
  });
}

double mlp_flops(const BenchSize& size) {
  const std::int64_t batch = size.batch;
  const train::Product products[] = {{batch, 784, 512}, {batch, 512, 512}, {batch, 512, 10}};
  return train::training_flops(products);
}

double cnn_flops(const BenchSize& size) {
  const std::int64_t batch = size.batch;
  const train::Product products[] = {{batch * 28 * 28, 9 * 1, 32},
                                     {batch * 28 * 28, 9 * 32, 64},
                                     {batch * 14 * 14, 9 * 64, 128},
                                     {batch, 7 * 7 * 128, 256},
                                     {batch, 256, 10}};
  return train::training_flops(products);
}

std::unique_ptr<BenchModel> make_resnet(const BenchSize& size) {
  models::ResNet model({.depth = size.layers, .channels = 1, .width = size.width});
  return made(std::move(model), [](const models::ResNet& resnet, const data::Batch& batch) {
    return cross_entropy(resnet(batch.inputs), batch.targets);
  });
}

double resnet_flops(const BenchSize& size) {
  const std::int64_t batch = size.batch, blocks = size.layers / 6;
  std::vector<train::Product> products{{batch * 28 * 28, 9, size.width}};
  for (int stage = 0; stage < 3; ++stage) {
    const std::int64_t side = 28 >> stage, out = size.width << stage, in = stage == 0 ? out : out / 2;
    products.push_back({batch * side * side, 9 * in, out});
    for (std::int64_t i = 1; i < 2 * blocks; ++i) products.push_back({batch * side * side, 9 * out, out});
  }
  products.push_back({batch, 4 * size.width, 10});
  return train::training_flops(products);
}

constexpr BenchSize kTransformer{
    .batch = 8, .context = 256, .width = 384, .layers = 6, .heads = 6, .vocabulary = 256};

constexpr BenchModelRow kRows[] = {
    {"gpt2", "tokens", kTransformer, true, make_gpt2, noise_tokens, gpt2_flops},
    {"llama", "tokens", kTransformer, true, make_llama, noise_tokens, llama_flops},
    {"bert", "tokens", kTransformer, true, make_bert, masked_tokens, bert_flops},
    {"resnet",
     "images",
     {.batch = 128, .width = 16, .layers = 20},
     false,
     make_resnet,
     noise_images,
     resnet_flops},
    {"cnn", "images", {.batch = 128}, false, make_classifier<train::Cnn>, noise_images, cnn_flops},
    {"mlp", "images", {.batch = 128}, false, make_classifier<train::Mlp>, noise_images, mlp_flops},
};

void wish_for(const BenchModelRow& row, const char* what, int wish, int& size) {
  if (wish == 0) return;
  if (size == 0)
    throw ValueError(what, fmt::format("{}", wish), fmt::format("nothing: {} has none", row.name));
  if (wish < 0) throw ValueError(what, fmt::format("{}", wish), "at least 1");
  size = wish;
}

}  // namespace

std::span<const BenchModelRow> bench_models() { return kRows; }

const BenchModelRow& find_bench_model(std::string_view name) {
  for (const BenchModelRow& row : kRows)
    if (row.name == name) return row;
  throw ValueError("model", fmt::format("\"{}\"", name), join(kRows, &BenchModelRow::name));
}

BenchSize sized(const BenchModelRow& row, const BenchSize& wish) {
  BenchSize size = row.size;
  wish_for(row, "batch", wish.batch, size.batch);
  wish_for(row, "context", wish.context, size.context);
  wish_for(row, "width", wish.width, size.width);
  wish_for(row, "layers", wish.layers, size.layers);
  wish_for(row, "heads", wish.heads, size.heads);
  wish_for(row, "vocabulary", wish.vocabulary, size.vocabulary);
  size.checkpoint = wish.checkpoint;
  if (size.checkpoint && !row.checkpoints)
    throw ValueError("checkpoint", std::string(row.name), "a model made of blocks");
  if (size.heads > 0 && size.width % size.heads != 0)
    throw ValueError("heads", fmt::format("{} for width {}", size.heads, size.width),
                     "a divisor of the width");
  return size;
}

}  // namespace halftone::cli
