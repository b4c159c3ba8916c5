// SPDX-License-Identifier: Apache-2.0
//
// Run records made by hand, so that every number a page must show is known.
#pragma once

#include <cmath>
#include <string>

#include "halftone/report.h"

namespace halftone::report {

// A float16 run of `steps` steps in three epochs. Two skips at the start, one in the middle.
inline train::RunRecord sample_record(std::int64_t steps = 300, int seed = 1,
                                      const std::string& recipe = "float16") {
  train::RunRecord record;
  record.config.recipe = recipe;
  record.config.seed = seed;
  record.config.out = "runs/sample";
  record.machine = {
      .processor = "Some Processor", .simd = "AVX-512", .cores = 2, .threads = 2, .wait_policy = "PASSIVE"};
  record.started = "2024-05-01T10:00:00Z";
  record.version = "0.1.0";
  record.parameters = 1690826;
  const bool scaled = recipe.starts_with("float16") && recipe != "float16_unscaled";
  float scale = scaled ? 65536 : 1;
  for (std::int64_t i = 0; i < steps; ++i) {
    const double wave = std::sin(12.9898 * static_cast<double>(i) + seed) * 43758.5453;
    const double noise = wave - std::floor(wave) - 0.5;
    train::StepRecord step;
    step.loss =
        static_cast<float>((0.22 + 2.1 * std::exp(-static_cast<double>(i) / 60)) * (1 + 0.35 * noise));
    step.scale = scale;
    if (scaled && (i < 2 || i == steps / 2)) {
      step.applied = false;
      record.skips.push_back({i + 1, scale, "conv1.weight: 3 inf, 0 NaN of 288 (conv2d, backward)"});
      scale /= 2;
    } else if (scaled && i % 200 == 199) {
      scale *= 2;
    }
    record.steps.push_back(step);
  }
  for (int epoch = 1; epoch <= 3; ++epoch) {
    train::EpochRecord row;
    row.epoch = epoch;
    row.train_loss = 0.6 / epoch;
    row.test_loss = 0.2401 + 0.1 / epoch;
    row.test_accuracy = 0.9142 + 0.001 * seed - 0.03 / epoch;
    row.seconds = 50;
    row.per_second = 1200;
    record.epochs.push_back(row);
  }
  record.seconds = 172;
  record.peak_memory = 212 << 20;
  record.peak_resident = 480 << 20;
  record.matmul_gflops_float32 = 210;
  record.matmul_gflops_compute = 205;
  record.finished = true;
  return record;
}

}  // namespace halftone::report
