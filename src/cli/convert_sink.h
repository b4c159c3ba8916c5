// SPDX-License-Identifier: Apache-2.0
//
// A file of converted codes, raw or .npy as its name says. It appears under its name when it is complete.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "base/atomic_file.h"
#include "halftone/format.h"

namespace halftone::cli {

// A file that has been written.
struct Written {
  std::string file;
  std::int64_t bytes;
  std::string content;  // "codes of float8_e4m3fn as uint8"
};

class ConvertSink {
 public:
  ConvertSink() = default;  // nowhere: write() does nothing
  // A format that numpy has not goes into .npy as unsigned integers of its size, which hold its codes.
  ConvertSink(const std::filesystem::path& file, const std::vector<std::int64_t>& shape, DType dtype);

  bool is_open() const { return output_ != nullptr; }
  void write(const void* bytes, std::int64_t count);
  Written finish();

 private:
  std::filesystem::path file_;
  std::unique_ptr<AtomicFile> output_;
  std::string what_;
  std::int64_t bytes_ = 0;
};

}  // namespace halftone::cli
