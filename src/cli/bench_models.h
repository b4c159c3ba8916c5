// SPDX-License-Identifier: Apache-2.0
//
// The models that `halftone bench step` and `halftone memory` know, one row each: how large, what a step is
// fed with, how many products it takes.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "halftone/autograd.h"
#include "halftone/data.h"

namespace halftone::cli {

// In a row: its defaults, 0 for what the model does not have. As a wish: 0 for the default.
struct BenchSize {
  int batch = 0, context = 0, width = 0, layers = 0, heads = 0, vocabulary = 0;
  bool checkpoint = false;  // recompute each block in backward
};

class BenchModel {
 public:
  virtual ~BenchModel() = default;
  virtual void to(DType parameter) = 0;
  virtual std::vector<Parameter> parameters() = 0;
  virtual std::vector<Parameter> buffers() = 0;
  virtual Tensor loss(const data::Batch& batch) const = 0;
};

struct BenchModelRow {
  std::string_view name, items;  // what is counted in a second: "tokens" or "images"
  BenchSize size;
  bool checkpoints;  // knows how to
  std::unique_ptr<BenchModel> (*make)(const BenchSize&);
  data::Batch (*batch)(const BenchSize&, std::int64_t step);  // noise, another in each step
  double (*flops)(const BenchSize&);                          // of a step

  std::int64_t count(const BenchSize& size) const {
    return static_cast<std::int64_t>(size.batch) * (size.context > 0 ? size.context : 1);
  }
};

std::span<const BenchModelRow> bench_models();
const BenchModelRow& find_bench_model(std::string_view name);  // throws ValueError

// The row's size with what is wished for. Throws ValueError for what the model does not have, and for sizes
// that do not fit together.
BenchSize sized(const BenchModelRow& row, const BenchSize& wish);

}  // namespace halftone::cli
