// SPDX-License-Identifier: Apache-2.0
//
// IDX files. The header says how long the data must be, so it is read first: nothing is allocated for sizes
// the file can not hold, and a compressed file can not grow beyond what its header promised.
#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <fstream>
#include <limits>
#include <span>

#include "base/file.h"
#include "halftone/data.h"

namespace halftone::data {
namespace {

constexpr std::int64_t kDeflateRatio = 1032;  // the format can not compress further (zlib technical details)

// The bytes of an IDX file in order, decompressed on the way if the file is gzip.
class Source {
 public:
  explicit Source(const std::filesystem::path& file) : file_(file), bytes_(read_file(file, "an IDX file")) {
    compressed_ = bytes_.size() >= 2 && data()[0] == 0x1f && data()[1] == 0x8b;
    if (!compressed_) return;
    stream_.next_in = data();
    if (inflateInit2(&stream_, 15 + 16) != Z_OK)
      throw FileError(file.string(), "zlib can not start");  // 16: gzip
  }
  ~Source() {
    if (compressed_) inflateEnd(&stream_);
  }
  Source(const Source&) = delete;
  Source& operator=(const Source&) = delete;

  std::int64_t position() const { return position_; }  // in the decompressed bytes

  // Fills as much of `into` as there is and returns how much that was.
  std::int64_t read(std::span<unsigned char> into) {
    const std::int64_t got = compressed_ ? inflate_some(into) : copy_some(into);
    position_ += got;
    return got;
  }

  // No decompressed file of this source can be longer than this.
  std::int64_t longest() const {
    const auto size = static_cast<std::int64_t>(bytes_.size());
    return compressed_ ? size * kDeflateRatio : size;
  }

  [[noreturn]] void fail(std::int64_t at, const std::string& given, const std::string& expected,
                         const std::string& hint = "") const {
    const std::string_view kind = compressed_ ? "decompressed byte" : "byte";
    throw FileError(file_.string(), fmt::format("{} {}: {}", kind, at, given), expected, hint);
  }

 private:
  std::int64_t copy_some(std::span<unsigned char> into) {
    const std::size_t begin = static_cast<std::size_t>(position_);
    const std::size_t count = std::min(into.size(), bytes_.size() - begin);
    if (count > 0) std::memcpy(into.data(), bytes_.data() + begin, count);
    return static_cast<std::int64_t>(count);
  }

  // zlib counts in 32 bits; files and tensors do not.
  std::int64_t inflate_some(std::span<unsigned char> into) {
    std::size_t filled = 0;
    while (filled < into.size() && !ended_) {
      const std::size_t used = static_cast<std::size_t>(stream_.next_in - data());
      stream_.avail_in = clamp(bytes_.size() - used);
      stream_.next_out = into.data() + filled;
      const uInt room = clamp(into.size() - filled);
      stream_.avail_out = room;
      const int code = inflate(&stream_, Z_NO_FLUSH);
      filled += room - stream_.avail_out;
      if (code == Z_STREAM_END) {
        next_member();
      } else if (code == Z_BUF_ERROR || (code == Z_OK && at_end() && stream_.avail_out > 0)) {
        throw FileError(file_.string(),
                        fmt::format("the gzip data ends at byte {} of the file", bytes_.size()),
                        "more: the file is truncated", "downloading or installing it again");
      } else if (code != Z_OK) {
        throw FileError(file_.string(),
                        fmt::format("byte {} of the file: {}", stream_.next_in - data(),
                                    stream_.msg ? stream_.msg : "corrupted gzip data"),
                        "intact gzip data", "downloading or installing it again");
      }
    }
    return static_cast<std::int64_t>(filled);
  }

  // A gzip file may hold several members, one after the other (RFC 1952, section 2.2); anything else is not
  // ours.
  void next_member() {
    const std::size_t used = static_cast<std::size_t>(stream_.next_in - data());
    ended_ = used == bytes_.size();
    if (ended_) return;
    if (bytes_.size() - used < 2 || data()[used] != 0x1f || data()[used + 1] != 0x8b)
      throw FileError(file_.string(), fmt::format("byte {} of the file: more data after the gzip data", used),
                      "the end of the file");
    inflateReset(&stream_);
  }

  Bytef* data() { return reinterpret_cast<Bytef*>(bytes_.data()); }
  bool at_end() { return stream_.next_in == data() + bytes_.size(); }

  static uInt clamp(std::size_t size) {
    return static_cast<uInt>(std::min<std::size_t>(size, std::numeric_limits<uInt>::max()));
  }

  std::filesystem::path file_;
  std::string bytes_;
  bool compressed_ = false, ended_ = false;
  std::int64_t position_ = 0;
  z_stream stream_{};
};

// The four bytes at the source's position, or an error saying what they should have been.
std::array<unsigned char, 4> read_word(Source& source, const std::string& what) {
  std::array<unsigned char, 4> word{};
  const std::int64_t at = source.position(), got = source.read(word);
  if (got < 4) source.fail(at, fmt::format("the file ends after {} of 4 bytes", got), what);
  return word;
}

Shape read_header(Source& source) {
  const auto magic = read_word(source, "the IDX magic number 00 00 08 0R");
  const int rank = magic[3];
  if (magic[0] != 0 || magic[1] != 0 || magic[2] != 8 || rank < 1 || rank > kMaxRank)
    source.fail(
        0, fmt::format("{:02x} {:02x} {:02x} {:02x}", magic[0], magic[1], magic[2], magic[3]),
        fmt::format("the IDX magic number 00 00 08 0R: unsigned bytes of rank R from 1 to {}", kMaxRank));
  std::array<std::int64_t, kMaxRank> sizes{};
  for (std::size_t axis = 0; axis < static_cast<std::size_t>(rank); ++axis) {
    const auto word = read_word(source, fmt::format("the size of axis {} of {}", axis, rank));
    for (const unsigned char byte : word) sizes[axis] = sizes[axis] << 8 | byte;
  }
  return Shape(std::span(sizes.data(), static_cast<std::size_t>(rank)));
}

// The product of the sizes, or -1 if it is beyond `most`: 2^32 to the sixth does not fit into 64 bits.
std::int64_t checked_count(const Shape& shape, std::int64_t most) {
  std::int64_t count = 1;
  for (const std::int64_t size : shape) {
    if (size == 0) return 0;
    if (count > most / size)
      count = most + 1;
    else
      count *= size;
  }
  return count > most ? -1 : count;
}

// Where one size is 0, the length of the file does not bound the others, and their product may be no number.
bool has_strides(const Shape& shape) {
  std::int64_t product = 1;
  for (const std::int64_t size : shape)
    if (size != 0 && __builtin_mul_overflow(product, size, &product)) return false;
  return true;
}

}  // namespace

Tensor load_idx(const std::filesystem::path& file) {
  Source source(file);
  const Shape shape = read_header(source);
  const std::int64_t header = source.position();
  const std::int64_t count = checked_count(shape, source.longest());
  if (count < 0)
    source.fail(4, fmt::format("the sizes {} say more than the file can hold", to_string(shape)),
                fmt::format("at most {} bytes of data", source.longest() - header));
  if (count == 0 && !has_strides(shape))
    source.fail(4, fmt::format("the sizes {}", to_string(shape)),
                "a product below 2^63 of those other than 0");
  Tensor bytes = empty(shape, uint8);
  const std::int64_t got =
      source.read(std::span(bytes.mutable_data<std::uint8_t>(), static_cast<std::size_t>(count)));
  if (got < count)
    source.fail(header + got, "the file ends",
                fmt::format("{} bytes of data for the sizes {}", count, to_string(shape)));
  std::array<unsigned char, 1> extra{};
  if (source.read(extra) != 0)
    source.fail(
        header + count, "more data",
        fmt::format("the end of the file after {} bytes of data for the sizes {}", count, to_string(shape)));
  return bytes;
}

void save_idx(const std::filesystem::path& file, const Tensor& bytes) {
  if (bytes.dtype() != uint8 || !bytes.is_contiguous() || bytes.rank() < 1)
    throw DTypeError("save_idx", to_string(bytes), "a contiguous uint8 tensor of rank 1 or more");
  std::string header{'\0', '\0', '\x08', static_cast<char>(bytes.rank())};
  for (const std::int64_t size : bytes.shape()) {
    if (size > std::numeric_limits<std::uint32_t>::max())
      throw ShapeError("save_idx", to_string(bytes.shape()), "sizes below 2^32");
    for (int shift = 24; shift >= 0; shift -= 8) header += static_cast<char>(size >> shift & 0xff);
  }
  std::ofstream stream(file, std::ios::binary | std::ios::trunc);
  stream.write(header.data(), static_cast<std::streamsize>(header.size()));
  stream.write(static_cast<const char*>(bytes.raw()), bytes.count());
  stream.close();
  if (!stream) throw FileError(file.string(), "can not be written", "a writable file in an existing folder");
}

}  // namespace halftone::data
