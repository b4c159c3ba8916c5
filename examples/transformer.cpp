// SPDX-License-Identifier: Apache-2.0
//
// A small causal transformer, trained in float16 with every part of mixed precision spelled out. The task:
// a sequence repeats a random pattern of four tokens, so from the fifth token on, the next one can be known
// by looking back. Exits with 1 if the model did not learn to look.
#include <halftone/halftone.h>

#include <cmath>
#include <cstdio>
#include <vector>

using namespace halftone;

constexpr int kTokens = 8, kPeriod = 4, kContext = 16, kBatch = 32, kWidth = 32, kHeads = 2, kBlocks = 2;

struct Mlp {
  nn::Linear up, down;
  Mlp(int width, int hidden) : up(width, hidden), down(hidden, width) {}
  Tensor operator()(const Tensor& x) const { return down(gelu(up(x))); }
  void visit(auto&& each) { each("up", up), each("down", down); }
};

struct Block {
  nn::LayerNorm norm1, norm2;
  nn::CausalSelfAttention attention;
  Mlp mlp;
  Block(int width, int heads) : norm1(width), norm2(width), attention(width, heads), mlp(width, 4 * width) {}
  Tensor operator()(const Tensor& x) const {
    const Tensor y = x + attention(norm1(x));
    return y + mlp(norm2(y));
  }
  void visit(auto&& each) {
    each("norm1", norm1), each("attention", attention), each("norm2", norm2), each("mlp", mlp);
  }
};

struct Transformer {
  nn::Embedding tokens{kTokens, kWidth}, places{kContext, kWidth};
  std::vector<Block> blocks;
  nn::LayerNorm norm{kWidth};
  nn::Linear head{kWidth, kTokens};
  Tensor place = Tensor({kContext}, int32);  // 0, 1, 2, ...

  Transformer() {
    for (int i = 0; i < kContext; ++i) place.mutable_data<std::int32_t>()[i] = i;
    for (int i = 0; i < kBlocks; ++i) blocks.emplace_back(kWidth, kHeads);
  }
  Tensor operator()(const Tensor& inputs) const {
    Tensor x = tokens(inputs) + places(place);
    for (const Block& block : blocks) x = block(x);
    return head(norm(x));
  }
  void visit(auto&& each) {
    each("tokens", tokens), each("places", places), each("blocks", blocks), each("norm", norm),
        each("head", head);
  }
};

// Sequences that repeat their first kPeriod tokens; the target of a place is the token after it.
data::Batch repeating_batch(std::uint64_t number) {
  data::Batch batch{Tensor({kBatch, kContext}, int32), Tensor({kBatch, kContext}, int32)};
  for (int row = 0; row < kBatch; ++row)
    for (int i = 0; i < kContext; ++i) {
      const auto token = [&](int at) {
        const auto index = static_cast<std::uint64_t>(row * kPeriod + at % kPeriod);
        return static_cast<std::int32_t>(random_bits(2, streams::example + (number << 8), index) % kTokens);
      };
      batch.inputs.mutable_data<std::int32_t>()[row * kContext + i] = token(i);
      batch.targets.mutable_data<std::int32_t>()[row * kContext + i] = token(i + 1);
    }
  return batch;
}

// Returns the mean loss of the last ten steps.
double train(nn::Module auto& model, data::Batches auto&& batches) {
  optim::AdamW optimizer(nn::parameters(model), {.lr = 3e-3, .weight_decay = 0.1});
  amp::GradScaler scaler;  // or amp::Step, which does all of the below
  double recent = 0;
  int step = 0;
  for (const data::Batch& batch : batches) {
    const Tensor loss =
        amp::autocast(float16, [&] { return cross_entropy(model(batch.inputs), batch.targets); });
    optimizer.zero_grad();
    scaler.scale(loss).backward();
    scaler.unscale(optimizer);  // so that clipping sees true gradients
    optim::clip_grad_norm(optimizer, 1.0);
    const amp::StepResult result = scaler.step(optimizer);  // applied, skipped_overflow, nothing_to_do
    scaler.update();
    if (!result.applied()) std::printf("%s\n", result.describe().c_str());
    recent += (loss.item() - recent) / std::min(++step, 10);
    if (step % 50 == 0)
      std::printf("step %3d  loss %.3f  scale %g\n", step, recent, double{scaler.state().scale});
  }
  return recent;
}

int main() {
  set_thread_count(1);  // matrices this small gain nothing from a second thread
  manual_seed(1);
  Transformer model;
  std::vector<data::Batch> batches;
  for (std::uint64_t i = 0; i < 150; ++i) batches.push_back(repeating_batch(i));
  const double loss = ::train(model, batches);  // halftone::train is a namespace

  // Guessing costs ln 8 everywhere; looking back costs that only where there is nothing to look at yet.
  const double guessing = std::log(kTokens), possible = guessing * (kPeriod - 1) / kContext;
  std::printf("loss %.3f (guessing %.3f, possible %.3f)\n", loss, guessing, possible);
  return loss < 0.5 * (guessing + possible) ? 0 : 1;
}
