// SPDX-License-Identifier: Apache-2.0
//
// A folder for the files of one test, gone afterwards; and files as bytes.
#pragma once

#include <gtest/gtest.h>
#include <stdlib.h>
#include <zlib.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>

#include "halftone/error.h"
#include "halftone/random.h"
#include "halftone/tensor.h"

namespace halftone::testing {

class Scratch {
 public:
  Scratch() {
    std::string name = ::testing::TempDir() + "halftone_XXXXXX";
    if (mkdtemp(name.data()) == nullptr) throw std::runtime_error("no temporary folder");
    path_ = name;
  }
  ~Scratch() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;

  const std::filesystem::path& path() const { return path_; }
  std::filesystem::path operator/(std::string_view name) const { return path_ / name; }

 private:
  std::filesystem::path path_;
};

inline std::string read_bytes(const std::filesystem::path& file) {
  std::ifstream stream(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

inline void write_bytes(const std::filesystem::path& file, const std::string& bytes) {
  std::ofstream(file, std::ios::binary | std::ios::trunc) << bytes;
}

// What lies in a contiguous tensor's memory.
inline std::string_view bytes_of(const Tensor& tensor) {
  return {static_cast<const char*>(tensor.raw()), static_cast<std::size_t>(tensor.bytes())};
}

inline std::string gzip(const std::string& bytes) {
  z_stream stream{};
  deflateInit2(&stream, 9, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY);
  std::string out(deflateBound(&stream, bytes.size()), '\0');
  std::string in = bytes;
  stream.next_in = reinterpret_cast<Bytef*>(in.data());
  stream.avail_in = static_cast<uInt>(in.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  deflate(&stream, Z_FINISH);
  out.resize(stream.total_out);
  deflateEnd(&stream);
  return out;
}

// The message of the error that `call` throws, which must be of type E.
template <class E, class F>
std::string message_of(F&& call) {
  try {
    call();
  } catch (const E& error) {
    return error.what();
  } catch (const std::exception& error) {
    ADD_FAILURE() << "another error: " << error.what();
    return "";
  }
  ADD_FAILURE() << "no error";
  return "";
}

// Reads every truncation of `bytes`, and `count` copies with up to three bytes replaced at random: each must
// load or throw a halftone::Error. Returns how many threw.
template <class Load>
int fuzz(const std::filesystem::path& file, const std::string& bytes, std::uint64_t seed, int count,
         Load load) {
  int thrown = 0;
  const auto attempt = [&](const std::string& mutated) {
    write_bytes(file, mutated);
    try {
      load(file);
    } catch (const Error&) {
      ++thrown;
    }
  };
  for (std::size_t length = 0; length < bytes.size(); ++length) attempt(bytes.substr(0, length));
  for (int i = 0; i < count; ++i) {
    std::string mutated = bytes;
    auto draw = [&, word = std::uint64_t{0}](std::uint64_t below) mutable {
      return random_bits(seed, static_cast<std::uint64_t>(i), word++) % below;
    };
    for (std::uint64_t changes = 1 + draw(3); changes > 0; --changes)
      mutated[draw(mutated.size())] = static_cast<char>(draw(256));
    attempt(mutated);
  }
  return thrown;
}

}  // namespace halftone::testing
