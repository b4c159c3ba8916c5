// SPDX-License-Identifier: Apache-2.0
//
// The array that is to be converted: a .npy file, or raw codes. Read piece by piece, so that its size does
// not matter.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "halftone/format.h"

namespace halftone::cli {

class ConvertSource {
 public:
  // `from` is the name of a format, or empty for what a .npy file says itself. In a .npy file of uint8 or
  // uint16 it names what the codes mean. Throws FileError and, for names, CLI::ValidationError.
  ConvertSource(const std::filesystem::path& file, const std::string& from);
  ~ConvertSource();
  ConvertSource(const ConvertSource&) = delete;
  ConvertSource& operator=(const ConvertSource&) = delete;

  const std::filesystem::path& file() const { return file_; }
  DType dtype() const { return dtype_; }
  const std::vector<std::int64_t>& shape() const { return shape_; }
  std::int64_t count() const { return count_; }
  std::string describe() const;  // "float32, shape (128, 784), 100,352 values"

  // Elements begin, begin + 1, ... as codes. May be called from several threads.
  void read(std::int64_t begin, std::int64_t count, void* codes) const;

 private:
  void open_npy(const std::string& from);
  void open_raw(const std::string& from);

  std::filesystem::path file_;
  DType dtype_ = float32;
  std::vector<std::int64_t> shape_;
  std::int64_t count_ = 0, offset_ = 0;
  int descriptor_ = -1;
};

}  // namespace halftone::cli
