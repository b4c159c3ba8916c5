// SPDX-License-Identifier: Apache-2.0
//
// A file that appears whole or not at all, whenever the process or the machine stops: written beside its
// final name, flushed to the disk, renamed, and the folder that names it flushed too.
#pragma once

#include <cstddef>
#include <filesystem>
#include <string_view>

namespace halftone {

class AtomicFile {
 public:
  // Opens FILE.tmp. Throws FileError, as do the others.
  explicit AtomicFile(const std::filesystem::path& file);
  ~AtomicFile();  // without commit(): removes FILE.tmp, FILE stays as it was
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;

  void write(const void* bytes, std::size_t count);
  void commit();

 private:
  [[noreturn]] void fail(const char* what) const;

  std::filesystem::path file_, temporary_;
  int descriptor_ = -1;
};

// The same for a file whose bytes are all there.
void write_file(const std::filesystem::path& file, std::string_view bytes);

}  // namespace halftone
