// SPDX-License-Identifier: Apache-2.0
//
// One process at a time trains in a folder: two would write each other's state files.
#pragma once

#include <filesystem>

namespace halftone::train {

class FolderLock {
 public:
  // Of a folder that exists, until the end of the object or of the process; of an empty path, nothing. Throws
  // FileError if another process has it. A file system without locks gives none.
  explicit FolderLock(const std::filesystem::path& folder);
  ~FolderLock();
  FolderLock(const FolderLock&) = delete;
  FolderLock& operator=(const FolderLock&) = delete;

 private:
  int descriptor_ = -1;
};

}  // namespace halftone::train
