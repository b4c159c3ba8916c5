// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "data/scratch.h"
#include "halftone/data.h"

namespace halftone::data {
namespace {

using halftone::testing::message_of;
using halftone::testing::Scratch;
using ::testing::HasSubstr;

void write_set(const Scratch& scratch, const std::string& prefix, const Shape& images, const Shape& labels) {
  save_idx(scratch / (prefix + "-images-idx3-ubyte"), zeros(images, uint8));
  save_idx(scratch / (prefix + "-labels-idx1-ubyte"), full(labels, 9, uint8));
}

TEST(FashionMnist, TheRealFilesAreWhatTheAuthorsPublished) {
  const std::filesystem::path directory = "/usr/share/datasets/fashion-mnist";
  if (!std::filesystem::exists(directory))
    GTEST_SKIP() << "the package dataset-fashion-mnist is not installed";
  const ImageData data = load_fashion_mnist(directory);
  EXPECT_EQ(data.train.images.shape(), (Shape{60000, 28, 28}));
  EXPECT_EQ(data.test.images.shape(), (Shape{10000, 28, 28}));
  for (const ImageSet& set : {data.train, data.test}) {
    const auto* labels = set.labels.data<std::uint8_t>();
    for (std::uint8_t label = 0; label < 10; ++label)
      EXPECT_EQ(std::count(labels, labels + set.count(), label), set.count() / 10) << int{label};
  }
  EXPECT_EQ(data.train.labels.data<std::uint8_t>()[0], 9);  // an ankle boot

  // The mean and deviation that gather_images takes off.
  const auto* pixels = data.train.images.data<std::uint8_t>();
  double sum = 0, squares = 0;
  for (std::int64_t i = 0; i < data.train.images.count(); ++i) {
    sum += pixels[i];
    squares += double{1} * pixels[i] * pixels[i];
  }
  const auto count = static_cast<double>(data.train.images.count());
  const double mean = sum / count;
  EXPECT_NEAR(mean / 255, 0.2860, 5e-5);
  EXPECT_NEAR(std::sqrt(squares / count - mean * mean) / 255, 0.3530, 5e-5);
}

TEST(FashionMnist, AMissingFileNamesThePackage) {
  const Scratch scratch;
  write_set(scratch, "train", {3, 28, 28}, {3});
  const std::string message = message_of<FileError>([&] { load_fashion_mnist(scratch.path()); });
  EXPECT_THAT(message, HasSubstr("t10k-images-idx3-ubyte"));
  EXPECT_THAT(message, HasSubstr("dataset-fashion-mnist"));
}

TEST(FashionMnist, FilesThatDoNotBelongTogetherAreRefused) {
  const Scratch scratch;
  write_set(scratch, "t10k", {2, 28, 28}, {2});
  const auto error = [&] { return message_of<FileError>([&] { load_fashion_mnist(scratch.path()); }); };
  write_set(scratch, "train", {3, 28, 28}, {4});
  EXPECT_THAT(error(), HasSubstr("one label for each of the 3 images"));
  write_set(scratch, "train", {3, 28, 27}, {3});
  EXPECT_THAT(error(), HasSubstr("28 x 28"));
  write_set(scratch, "train", {3}, {3});
  EXPECT_THAT(error(), HasSubstr("28 x 28"));
  write_set(scratch, "train", {3, 28, 28}, {3});
  save_idx(scratch / "train-labels-idx1-ubyte", from_values({1, 2, 10}, uint8));
  EXPECT_THAT(error(), HasSubstr("byte 10: label 10"));
  save_idx(scratch / "train-labels-idx1-ubyte", from_values({1, 2, 9}, uint8));
  EXPECT_EQ(load_fashion_mnist(scratch.path()).train.count(), 3);
}

}  // namespace
}  // namespace halftone::data
