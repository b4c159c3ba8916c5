// SPDX-License-Identifier: Apache-2.0
//
// Data: IDX files, and batches whose order is a function of (seed, epoch).
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "halftone/tensor.h"

namespace halftone::data {

struct Batch {
  Tensor inputs, targets;
};

// A range of Batch, for generic training loops.
template <class T>
concept Batches = requires(T& t) {
  { *t.begin() } -> std::convertible_to<const Batch&>;
};

// Reads an IDX file of unsigned bytes (Y. LeCun's format: big-endian magic 0x0000080R for rank R, sizes,
// data), plain or gzip-compressed. Throws FileError naming file, offset and what was expected there; a file
// that is longer or shorter than its sizes say is an error too.
Tensor load_idx(const std::filesystem::path& file);

// Writes the same, plain. For tests and tools.
void save_idx(const std::filesystem::path& file, const Tensor& bytes);

// Images (count, height, width) and labels (count), both uint8.
struct ImageSet {
  Tensor images, labels;
  std::int64_t count() const { return images.size(0); }
};
struct ImageData {
  ImageSet train, test;
};

// train-images-idx3-ubyte, train-labels-idx1-ubyte, t10k-..., each plain or with .gz. Throws FileError if one
// is missing (naming the Debian package that has them) or if they do not belong together.
ImageData load_fashion_mnist(const std::filesystem::path& directory = "/usr/share/datasets/fashion-mnist");

// The order of an epoch: a permutation of 0 .. count-1, a function of (seed, epoch).
std::vector<std::int32_t> shuffled(std::int64_t count, std::uint64_t seed, std::uint64_t epoch);

// The images at order[begin .. end), normalised to (pixel / 255 - mean) / deviation as float32
// (batch, height, width, 1), and their labels as int32.
Batch gather_images(const ImageSet& set, const std::vector<std::int32_t>& order, std::int64_t begin,
                    std::int64_t end);

}  // namespace halftone::data
