// SPDX-License-Identifier: Apache-2.0
#include "base/atomic_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

#include "halftone/error.h"

namespace halftone {

AtomicFile::AtomicFile(const std::filesystem::path& file) : file_(file), temporary_(file) {
  temporary_ += ".tmp";
  std::error_code ignored;
  if (std::filesystem::is_directory(file_, ignored)) errno = EISDIR, fail("written");
  descriptor_ = ::open(temporary_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (descriptor_ < 0) fail("opened");
}

AtomicFile::~AtomicFile() {
  if (descriptor_ < 0) return;
  ::close(descriptor_);
  ::unlink(temporary_.c_str());
}

void AtomicFile::write(const void* bytes, std::size_t count) {
  const char* next = static_cast<const char*>(bytes);
  while (count > 0) {
    const ssize_t written = ::write(descriptor_, next, count);
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) fail("written");
    next += written;
    count -= static_cast<std::size_t>(written);
  }
}

void AtomicFile::commit() {
  if (::fsync(descriptor_) != 0) fail("flushed to disk");
  if (::rename(temporary_.c_str(), file_.c_str()) != 0) fail("renamed");
  ::close(descriptor_);
  descriptor_ = -1;
  const std::filesystem::path folder = file_.has_parent_path() ? file_.parent_path() : ".";
  const int directory = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (directory < 0) return;  // a folder one may write to but not read: nothing to flush it by
  ::fsync(directory);
  ::close(directory);
}

void AtomicFile::fail(const char* what) const {
  const int code = errno;
  throw FileError(file_.string(),
                  fmt::format("can not be {}: {}", what, std::generic_category().message(code)), "",
                  "another path, or free space and permission there");
}

void write_file(const std::filesystem::path& file, std::string_view bytes) {
  AtomicFile out(file);
  out.write(bytes.data(), bytes.size());
  out.commit();
}

}  // namespace halftone
