// SPDX-License-Identifier: Apache-2.0
//
// Fashion-MNIST (Xiao, Rasul, Vollgraf, "Fashion-MNIST: a novel image dataset for benchmarking machine
// learning algorithms", 2017): 28 x 28 grey images of ten kinds of clothing.
#include <fmt/format.h>

#include <algorithm>

#include "halftone/data.h"

namespace halftone::data {
namespace {

constexpr int kSide = 28, kClasses = 10;

std::filesystem::path find_file(const std::filesystem::path& directory, const std::string& name) {
  std::error_code ignored;
  for (const std::string& candidate : {name, name + ".gz"})
    if (std::filesystem::exists(directory / candidate, ignored)) return directory / candidate;
  throw FileError((directory / name).string(), "neither this file nor the same with .gz is there",
                  "the four IDX files of Fashion-MNIST",
                  "`apt install dataset-fashion-mnist`, or --data with the folder that has them");
}

ImageSet load_set(const std::filesystem::path& directory, const std::string& prefix) {
  const auto image_file = find_file(directory, prefix + "-images-idx3-ubyte");
  const auto label_file = find_file(directory, prefix + "-labels-idx1-ubyte");
  const ImageSet set{load_idx(image_file), load_idx(label_file)};
  if (set.images.rank() != 3 || set.images.size(1) != kSide || set.images.size(2) != kSide ||
      set.count() == 0)
    throw FileError(image_file.string(), "sizes " + to_string(set.images.shape()),
                    fmt::format("images of {0} x {0} pixels", kSide));
  if (set.labels.rank() != 1 || set.labels.size(0) != set.count())
    throw FileError(
        label_file.string(), "sizes " + to_string(set.labels.shape()),
        fmt::format("one label for each of the {} images in {}", set.count(), image_file.string()));
  const auto* labels = set.labels.data<std::uint8_t>();
  const auto* bad =
      std::find_if(labels, labels + set.count(), [](std::uint8_t label) { return label >= kClasses; });
  if (bad != labels + set.count())
    throw FileError(label_file.string(), fmt::format("byte {}: label {}", 8 + (bad - labels), *bad),
                    fmt::format("labels from 0 to {}", kClasses - 1));
  return set;
}

}  // namespace

ImageData load_fashion_mnist(const std::filesystem::path& directory) {
  return {load_set(directory, "train"), load_set(directory, "t10k")};
}

}  // namespace halftone::data
