// SPDX-License-Identifier: Apache-2.0
#include "cli/bench_models.h"

#include <fmt/format.h>

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

Tensor gpt2_loss(const models::Gpt2& model, const data::Batch& batch) {
  return model.loss(batch.inputs, batch.targets);
}

Tensor gpt2_checkpointed_loss(const models::Gpt2& model, const data::Batch& batch) {
  Tensor x = model.wte(batch.inputs) + slice(model.wpe.weight, 0, 0, batch.inputs.size(1));
  for (const models::Gpt2Block& block : model.h)
    x = checkpoint([&block](const std::vector<Tensor>& in) { return block(in[0]); }, {x});
  return linear_cross_entropy(model.ln_f(x), model.wte.weight, batch.targets);
}

std::unique_ptr<BenchModel> make_gpt2(const BenchSize& size) {
  models::Gpt2 model({.vocabulary = size.vocabulary,
                      .context = size.context,
                      .width = size.width,
                      .layers = size.layers,
                      .heads = size.heads});
  return made(std::move(model), size.checkpoint ? gpt2_checkpointed_loss : gpt2_loss);
}

double gpt2_flops(const BenchSize& size) {
  const std::int64_t width = size.width, weights = 12 * size.layers * width * width + size.vocabulary * width;
  return static_cast<double>(size.batch) * static_cast<double>(size.context) *
         train::transformer_flops(weights, size.layers, width, size.context);
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

constexpr BenchModelRow kRows[] = {
    {"gpt2",
     "tokens",
     {.batch = 8, .context = 256, .width = 384, .layers = 6, .heads = 6, .vocabulary = 256},
     true,
     make_gpt2,
     noise_tokens,
     gpt2_flops},
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
  std::string names;
  for (const BenchModelRow& row : kRows) {
    if (row.name == name) return row;
    names += (names.empty() ? "" : ", ") + std::string(row.name);
  }
  throw ValueError("model", fmt::format("\"{}\"", name), names);
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
