// SPDX-License-Identifier: Apache-2.0
//
// Which images, in which order, and their way into a float32 batch. The order is a function of (seed, epoch),
// so a resumed run needs no more than its position.
#include <fmt/format.h>

#include <array>
#include <limits>

#include "halftone/data.h"
#include "halftone/parallel.h"
#include "halftone/random.h"

namespace halftone::data {
namespace {

// Mean and standard deviation of all pixels of Fashion-MNIST's training images, of [0, 1].
constexpr double kMean = 0.2860, kDeviation = 0.3530;
constexpr std::int64_t kImagesPerChunk = 16;

// A pixel has 256 values: each is normalised once, in double, and rounded once.
constexpr std::array<float, 256> kNormalised = [] {
  std::array<float, 256> table{};
  for (std::size_t pixel = 0; pixel < table.size(); ++pixel)
    table[pixel] = static_cast<float>((static_cast<double>(pixel) / 255 - kMean) / kDeviation);
  return table;
}();

}  // namespace

std::vector<std::int32_t> shuffled(std::int64_t count, std::uint64_t seed, std::uint64_t epoch) {
  if (count < 0 || count > std::numeric_limits<std::int32_t>::max())
    throw ValueError("shuffled", fmt::format("count {}", count), "0 to 2^31 - 1");
  return random_permutation(static_cast<std::int32_t>(count), seed, streams::shuffle + epoch);
}

Batch gather_images(const ImageSet& set, const std::vector<std::int32_t>& order, std::int64_t begin,
                    std::int64_t end) {
  if (begin < 0 || end < begin || end > static_cast<std::int64_t>(order.size()))
    throw ValueError("gather_images", fmt::format("range [{}, {})", begin, end),
                     fmt::format("a range within the order's {} entries", order.size()));
  const std::int32_t* chosen = order.data() + begin;
  for (std::int64_t i = 0; i < end - begin; ++i)
    if (chosen[i] < 0 || chosen[i] >= set.count())
      throw ValueError("gather_images", fmt::format("image {} at position {}", chosen[i], begin + i),
                       fmt::format("0 to {}", set.count() - 1));

  const std::int64_t height = set.images.size(1), width = set.images.size(2), pixels = height * width;
  Batch batch{empty({end - begin, height, width, 1}, float32), empty({end - begin}, int32)};
  const auto* from = set.images.data<std::uint8_t>();
  const auto* labels = set.labels.data<std::uint8_t>();
  auto* to = batch.inputs.mutable_data<float>();
  auto* targets = batch.targets.mutable_data<std::int32_t>();
  parallel_for(end - begin, kImagesPerChunk, [=](std::int64_t first, std::int64_t last) {
    for (std::int64_t i = first; i < last; ++i) {
      const std::uint8_t* image = from + chosen[i] * pixels;
      for (std::int64_t p = 0; p < pixels; ++p) to[i * pixels + p] = kNormalised[image[p]];
      targets[i] = labels[chosen[i]];
    }
  });
  return batch;
}

}  // namespace halftone::data
