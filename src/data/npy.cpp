// SPDX-License-Identifier: Apache-2.0
//
// Numpy's .npy files: the frame around the dictionary of npy_head.h. Sizes are checked against the length of
// the file before anything is allocated.
#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <optional>
#include <string_view>

#include "base/join.h"
#include "data/npy_head.h"
#include "halftone/data.h"

namespace halftone::data {
namespace {

constexpr std::string_view kMagic = "\x93NUMPY";
constexpr std::int64_t kAlignment = 64;  // of the first element
constexpr std::size_t kMostSizes = 32;   // numpy's limit on the rank

// The product of the sizes, or nothing if it is beyond `most`.
std::optional<std::int64_t> checked_count(const std::vector<std::int64_t>& shape, std::int64_t most) {
  std::int64_t count = 1;
  if (std::find(shape.begin(), shape.end(), 0) != shape.end()) return 0;
  for (const std::int64_t size : shape) {
    if (count > most / size) return std::nullopt;
    count *= size;
  }
  return count;
}

std::string read_some(std::ifstream& stream, std::int64_t count) {
  std::string bytes(static_cast<std::size_t>(count), '\0');
  stream.read(bytes.data(), count);
  bytes.resize(static_cast<std::size_t>(stream.gcount()));
  return bytes;
}

std::ifstream open(const std::filesystem::path& file, std::int64_t& size) {
  std::error_code error;
  if (!std::filesystem::is_regular_file(file, error))
    throw FileError(file.string(), error ? error.message() : "not a regular file", "a .npy file");
  size = static_cast<std::int64_t>(std::filesystem::file_size(file, error));
  std::ifstream stream(file, std::ios::binary);
  if (error || !stream) throw FileError(file.string(), "can not be opened", "a .npy file that can be read");
  return stream;
}

NpyHeader read_header(const std::filesystem::path& file, std::ifstream& stream, std::int64_t size) {
  const std::string prelude = read_some(stream, std::min(size, kNpyPrelude));
  if (prelude.substr(0, kMagic.size()) != kMagic)
    throw FileError(file.string(), "byte 0: no numpy magic", "a .npy file, which begins with \\x93NUMPY");
  if (prelude.size() < static_cast<std::size_t>(kNpyPrelude))
    throw FileError(file.string(), fmt::format("the file ends at byte {}", prelude.size()),
                    "the version and a head");
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(prelude[i]); };
  if (byte(6) != 1 || byte(7) != 0)
    throw FileError(file.string(), fmt::format("byte 6: version {}.{}", byte(6), byte(7)), "version 1.0",
                    "numpy.lib.format.write_array(f, array, version=(1, 0))");
  const std::int64_t length = byte(8) | byte(9) << 8;
  const std::string text = read_some(stream, std::min(length, size - kNpyPrelude));
  if (static_cast<std::int64_t>(text.size()) < length)
    throw FileError(file.string(), fmt::format("the file ends at byte {}", size),
                    fmt::format("a head of {} bytes", length), "saving it again: the file is truncated");
  NpyHeader head = parse_npy_dictionary(file, text);
  head.offset = kNpyPrelude + length;
  const std::int64_t room = size - head.offset, bytes = head.dtype.bytes();
  const std::optional<std::int64_t> count = checked_count(head.shape, room / bytes);
  if (!count || *count * bytes != room)
    throw FileError(
        file.string(), fmt::format("{} bytes of data from byte {} on", room, head.offset),
        count ? fmt::format("{} for the shape {} of {}", *count * bytes, shape_text(head.shape),
                            head.dtype.name())
              : fmt::format("more: the shape is {} of {}", shape_text(head.shape), head.dtype.name()),
        !count || *count * bytes > room ? "saving it again: the file is truncated" : "");
  head.count = *count;
  return head;
}

}  // namespace

std::int64_t NpyArray::count() const { return static_cast<std::int64_t>(bytes.size()) / dtype.bytes(); }

std::string shape_text(const std::vector<std::int64_t>& shape) {
  const std::string sizes = join(shape, [](std::int64_t size) { return std::to_string(size); });
  return fmt::format("({}{})", sizes, shape.size() == 1 ? "," : "");
}

NpyHeader read_npy_header(const std::filesystem::path& file) {
  std::int64_t size = 0;
  std::ifstream stream = open(file, size);
  return read_header(file, stream, size);
}

NpyArray read_npy(const std::filesystem::path& file) {
  std::int64_t size = 0;
  std::ifstream stream = open(file, size);
  const NpyHeader head = read_header(file, stream, size);
  NpyArray array{head.shape, head.dtype, {}};
  array.bytes.resize(static_cast<std::size_t>(head.count * head.dtype.bytes()));
  stream.read(reinterpret_cast<char*>(array.bytes.data()), static_cast<std::streamsize>(array.bytes.size()));
  if (stream.gcount() != static_cast<std::streamsize>(array.bytes.size()))
    throw FileError(file.string(),
                    fmt::format("can not be read beyond byte {}", head.offset + stream.gcount()));
  return array;
}

std::string npy_head(const std::vector<std::int64_t>& shape, DType dtype) {
  std::string text = npy_dictionary(shape, dtype);
  const auto unpadded = kNpyPrelude + static_cast<std::int64_t>(text.size()) + 1;
  text +=
      std::string(static_cast<std::size_t>((kAlignment - unpadded % kAlignment) % kAlignment), ' ') + '\n';
  std::string head(kMagic);
  head += '\x01';
  head += '\0';
  head += static_cast<char>(text.size() & 0xFF);
  head += static_cast<char>(text.size() >> 8);
  return head + text;
}

void write_npy(const std::filesystem::path& file, const NpyArray& array) {
  const std::string head = npy_head(array.shape, array.dtype);
  const bool sizes_are_positive =
      std::all_of(array.shape.begin(), array.shape.end(), [](auto n) { return n >= 0; });
  const auto most = static_cast<std::int64_t>(array.bytes.size());
  const auto count = sizes_are_positive ? checked_count(array.shape, most) : std::nullopt;
  if (!count || *count * array.dtype.bytes() != most || array.shape.size() > kMostSizes)
    throw ShapeError("write_npy",
                     fmt::format("shape {} of {} with {} bytes", shape_text(array.shape), array.dtype.name(),
                                 array.bytes.size()),
                     "as many bytes as the shape says");
  std::ofstream stream(file, std::ios::binary | std::ios::trunc);
  stream.write(head.data(), static_cast<std::streamsize>(head.size()));
  stream.write(reinterpret_cast<const char*>(array.bytes.data()),
               static_cast<std::streamsize>(array.bytes.size()));
  stream.close();
  if (!stream) throw FileError(file.string(), "can not be written", "a writable file in an existing folder");
}

}  // namespace halftone::data
