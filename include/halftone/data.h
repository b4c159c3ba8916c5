// SPDX-License-Identifier: Apache-2.0
//
// Data: IDX files, arrays in numpy's .npy files, and batches whose order is a function of (seed, epoch).
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
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

// Arrays in .npy files, version 1.0 (numpy.lib.format): row-major, little-endian. The format is one that
// numpy has: float16, float32, float64, and integers of 8, 16, 32 and 64 bits with or without sign (int8,
// uint16,
// ...). The raw bytes that numpy keeps for the types of other libraries ("|V1", "<V2") are read as uint8 and
// uint16.
struct NpyArray {
  std::vector<std::int64_t> shape;  // empty: one element
  DType dtype = float32;
  std::vector<std::byte> bytes;

  std::int64_t count() const;  // of elements
};

// The head of a file: what its elements are and where they begin. The file is exactly as long as it says.
struct NpyHeader {
  std::vector<std::int64_t> shape;
  DType dtype = float32;
  std::int64_t count = 0;   // elements
  std::int64_t offset = 0;  // bytes before the first
  bool is_untyped = false;  // "|V1" or "<V2": codes of a format that numpy does not know
};

// Reads the head, or everything. Throws FileError naming file, place and what was expected there: for another
// version, column-major or big-endian data, a type that is none of the above, and a file that is longer or
// shorter than its shape says.
NpyHeader read_npy_header(const std::filesystem::path& file);
NpyArray read_npy(const std::filesystem::path& file);

// Writes a file that numpy.load reads. Throws DTypeError for a format that numpy does not have, ShapeError if
// shape and bytes do not fit together, and FileError.
void write_npy(const std::filesystem::path& file, const NpyArray& array);

std::string shape_text(const std::vector<std::int64_t>& shape);  // as numpy writes it: "(3, 4)", "(3,)", "()"

// The bytes before the elements, for a writer that has these piece by piece.
std::string npy_head(const std::vector<std::int64_t>& shape, DType dtype);

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

// Text and tokens.

// The bytes of a file, or of the King James Bible where the path is empty. Throws FileError.
std::string load_text(const std::filesystem::path& file);
// 4.4 MB, a verse a line, from the command of the Debian package bible-kjv. Throws FileError naming it.
std::string king_james_bible();
// A file of little-endian uint16. Throws FileError for an odd length, and for a token that is not below
// `vocabulary` (0: any).
std::vector<std::int32_t> load_tokens(const std::filesystem::path& file, std::int32_t vocabulary = 0);

// The last `validation_share` of a text or of tokens is kept for validation: of the bytes of a text, from the
// beginning of a UTF-8 character on, so that every tokenizer is judged by the same text.
struct TextSplit {
  std::string_view training, validation;
};
struct TokenSplit {
  std::vector<std::int32_t> training, validation;
};
TextSplit split_text(std::string_view text, double validation_share);
TokenSplit split_tokens(std::vector<std::int32_t> tokens, double validation_share);
// Throws ValueError unless both parts have a window of `context` tokens and its targets.
void check_windows(const TokenSplit& split, std::int64_t context);

// The windows that begin at `starts`: inputs int32 (windows, context), targets the same one token later.
Batch gather_windows(const std::vector<std::int32_t>& tokens, std::int64_t context,
                     std::span<const std::int64_t> starts);

}  // namespace halftone::data
