// SPDX-License-Identifier: Apache-2.0
//
// A small data set in the files of Fashion-MNIST, which a model can learn: each of ten classes has a pattern
// of its own below a lot of noise.
#pragma once

#include <filesystem>
#include <string>

#include "halftone/data.h"
#include "halftone/random.h"
#include "halftone/train.h"

namespace halftone::testing {

inline void write_clothes(const std::filesystem::path& folder, std::int64_t train_count,
                          std::int64_t test_count) {
  constexpr std::uint64_t kPixels = 28 * 28;
  std::filesystem::create_directories(folder);
  const auto write = [&](const std::string& prefix, std::int64_t count, std::uint64_t seed) {
    Tensor images = empty({count, 28, 28}, uint8), labels = empty({count}, uint8);
    auto* pixels = images.mutable_data<std::uint8_t>();
    auto* label = labels.mutable_data<std::uint8_t>();
    for (std::uint64_t i = 0; i < static_cast<std::uint64_t>(count); ++i) {
      const std::uint64_t kind = i % 10;
      label[i] = static_cast<std::uint8_t>(kind);
      for (std::uint64_t p = 0; p < kPixels; ++p) {
        const std::uint64_t block = p / 28 / 4 * 7 + p % 28 / 4;
        const std::uint32_t pattern = random_bits(1, kind, block) % 64, noise = random_bits(seed, i, p) % 192;
        pixels[i * kPixels + p] = static_cast<std::uint8_t>(pattern + noise);
      }
    }
    data::save_idx(folder / (prefix + "-images-idx3-ubyte"), images);
    data::save_idx(folder / (prefix + "-labels-idx1-ubyte"), labels);
  };
  write("train", train_count, 2);
  write("t10k", test_count, 3);
}

// A short run of the MLP on them.
inline train::Config clothes_config(const std::filesystem::path& data, const std::filesystem::path& out) {
  train::Config config;
  config.model = "mlp";
  config.recipe = "float32";
  config.epochs = 2;
  config.batch = 64;
  config.threads = 2;
  config.data = data;
  config.out = out;
  return config;
}

}  // namespace halftone::testing
