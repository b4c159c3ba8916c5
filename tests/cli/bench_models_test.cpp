// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "cli/bench_run.h"

namespace halftone {
namespace {

nlohmann::json once(const std::string& arguments) {
  const BenchRun run =
      run_bench("step --recipes float32 --repetitions 1 --steps 1 --warmup 1 --no-memory " + arguments);
  EXPECT_EQ(run.result.code, 0) << run.result.output;
  return run.json;
}

// By hand: 2 blocks of 12 * 16 * 16 weights and a head of 32 * 16, 6 FLOPs each, and 12 * 2 * 16 * 8 for
// attention; 16 tokens.
TEST(BenchModels, FlopsOfGpt2) {
  EXPECT_EQ(small_step().json["flops_per_step"], 16 * (6 * (2 * 12 * 256 + 32 * 16) + 12 * 2 * 16 * 8));
  EXPECT_EQ(small_step().json["items_per_step"], 16);
  EXPECT_EQ(small_step().json["items"], "tokens");
  // Embeddings 32 x 16 and 8 x 16; a block: weights, biases 3 + 1 + 4 + 1 widths, norms 4 widths; last norm.
  EXPECT_EQ(small_step().json["parameters"], 512 + 128 + 2 * (12 * 256 + 9 * 16 + 4 * 16) + 32);
}

const std::string kTransformer = "--batch 2 --context 8 --width 32 --layers 2 --heads 2 --vocabulary 16";

// Blocks of 4 width^2 and three matrices of width x 96 (8/3 of 32, up to a multiple of 32), a head of its
// own.
TEST(BenchModels, FlopsOfLlama) {
  const nlohmann::json llama = once("--model llama " + kTransformer);
  EXPECT_EQ(llama["flops_per_step"], 16 * (6 * (2 * (4 * 1024 + 3 * 32 * 96) + 16 * 32) + 12 * 2 * 32 * 8));
  EXPECT_EQ(llama["parameters"], 2 * 16 * 32 + 2 * (4 * 1024 + 3 * 32 * 96 + 2 * 32) + 32);
}

// Of 16 tokens 0, 7 and 14 are masked, and reach the head.
TEST(BenchModels, FlopsOfBert) {
  const nlohmann::json bert = once("--model bert " + kTransformer);
  EXPECT_EQ(bert["flops_per_step"], 16 * (6 * 2 * 12 * 1024 + 12 * 2 * 32 * 8) + 3 * 6 * (1024 + 16 * 32));
}

TEST(BenchModels, FlopsOfResNet) {
  const nlohmann::json resnet = once("--model resnet --batch 2 --layers 8 --width 4");
  // Depth 8: a block of two convolutions in each stage, of 4, 8 and 16 channels.
  EXPECT_EQ(resnet["flops_per_step"], 2 * 6 *
                                          (784 * 9 * 4 + 784 * (36 * 4 + 36 * 4) + 196 * (36 * 8 + 72 * 8) +
                                           49 * (72 * 16 + 144 * 16) + 16 * 10));
}

TEST(BenchModels, FlopsOfTheMlp) {
  const nlohmann::json mlp = once("--model mlp --batch 3");
  EXPECT_EQ(mlp["flops_per_step"], 3 * 6 * (784 * 512 + 512 * 512 + 512 * 10));
  EXPECT_EQ(mlp["parameters"], 669706);
  EXPECT_EQ(mlp["items_per_step"], 3);
  EXPECT_EQ(mlp["items"], "images");
}

// A convolution multiplies each of its weights once for every position: 784 or 196 of them.
TEST(BenchModels, FlopsOfTheCnn) {
  const nlohmann::json cnn = once("--model cnn --batch 2");
  EXPECT_EQ(cnn["flops_per_step"], 2 * 6 * (784 * 288 + 784 * 18432 + 196 * 73728 + 6272 * 256 + 256 * 10));
}

TEST(BenchModels, AreThoseOfTheMemoryCommand) {
  const nlohmann::json memory =
      nlohmann::json::parse(run_command("memory --model gpt2 --recipe float32 --json").output);
  EXPECT_EQ(memory["parameters"], 256 * 384 + 256 * 384 + 6 * (12 * 384 * 384 + 13 * 384) + 2 * 384);
  EXPECT_NEAR(memory["recipes"][0]["bytes_per_parameter"]["total"], 16, 0.01);
}

}  // namespace
}  // namespace halftone
