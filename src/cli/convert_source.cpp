// SPDX-License-Identifier: Apache-2.0
#include "cli/convert_source.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>

#include "cli/number_options.h"
#include "halftone/data.h"
#include "halftone/error.h"
#include "report/words.h"

namespace halftone::cli {
namespace {

constexpr std::string_view kMagic = "\x93NUMPY";

bool begins_with_magic(int descriptor) {
  std::array<char, kMagic.size()> begin{};
  return ::pread(descriptor, begin.data(), begin.size(), 0) == static_cast<ssize_t>(begin.size()) &&
         std::string_view(begin.data(), begin.size()) == kMagic;
}

}  // namespace

ConvertSource::ConvertSource(const std::filesystem::path& file, const std::string& from) : file_(file) {
  std::error_code error;
  if (!std::filesystem::exists(file, error))
    throw FileError(file.string(), "no such file", "a .npy file or raw codes");
  if (!std::filesystem::is_regular_file(file, error))
    throw FileError(file.string(), "not a regular file", "a .npy file or raw codes",
                    "writing what comes through a pipe to a file first");
  descriptor_ = ::open(file.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor_ < 0) throw FileError(file.string(), std::strerror(errno), "a file that can be read");
  try {
    if (file.extension() == ".npy" || begins_with_magic(descriptor_))
      open_npy(from);
    else
      open_raw(from);
  } catch (...) {
    ::close(descriptor_);
    throw;
  }
}

ConvertSource::~ConvertSource() { ::close(descriptor_); }

void ConvertSource::open_npy(const std::string& from) {
  const data::NpyHeader head = data::read_npy_header(file_);
  shape_ = head.shape, count_ = head.count, offset_ = head.offset, dtype_ = head.dtype;
  if (from.empty() && head.is_untyped)
    throw CLI::ValidationError("--from",
                               fmt::format("{} holds elements of {} whose type numpy does not know, so "
                                           "--from must say it",
                                           file_.string(), report::plural(dtype_.bytes(), "byte")));
  if (from.empty()) return;
  const DType named = parse_dtype("--from", from);
  const bool holds_codes = dtype_.name() == "uint8" || dtype_.name() == "uint16" ||
                           dtype_.name() == "uint32" || dtype_.name() == "uint64";
  if (named == dtype_ || (named == tfloat32 && dtype_ == float32)) {
    dtype_ = named;
  } else if (holds_codes && named.bytes() == dtype_.bytes()) {
    dtype_ = named;
  } else {
    throw FileError(
        file_.string(), fmt::format("an array of {}", dtype_.name()),
        fmt::format("{}, or its codes as unsigned integers of {} bytes", named.name(), named.bytes()),
        "leaving --from out: the file says what it holds");
  }
}

void ConvertSource::open_raw(const std::string& from) {
  if (from.empty())
    throw CLI::ValidationError(
        "--from",
        fmt::format("{} is no .npy file, so --from must say which format its codes are in", file_.string()));
  dtype_ = parse_dtype("--from", from);
  const auto size = static_cast<std::int64_t>(std::filesystem::file_size(file_));
  const int bytes = dtype_.bytes();
  if (size % bytes != 0)
    throw FileError(file_.string(), fmt::format("{} bytes", report::count(size)),
                    fmt::format("a multiple of the {} that an element of {} takes", bytes, dtype_.name()),
                    "another --from");
  count_ = size / bytes;
  shape_ = {count_};
}

std::string ConvertSource::describe() const {
  return fmt::format("{}, shape {}, {}", dtype_.name(), data::shape_text(shape_),
                     report::plural(count_, "value"));
}

void ConvertSource::read(std::int64_t begin, std::int64_t count, void* codes) const {
  const std::int64_t bytes = dtype_.bytes();
  auto* to = static_cast<char*>(codes);
  std::int64_t at = offset_ + begin * bytes, left = count * bytes;
  while (left > 0) {
    const ssize_t got = ::pread(descriptor_, to, static_cast<std::size_t>(left), at);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0)
      throw FileError(file_.string(), fmt::format("can not be read at byte {}", at),
                      "a file that stays as it is while it is converted");
    to += got, at += got, left -= got;
  }
}

}  // namespace halftone::cli
