// SPDX-License-Identifier: Apache-2.0
#include "train/folder_lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>

#include "halftone/error.h"

namespace halftone::train {

FolderLock::FolderLock(const std::filesystem::path& folder) {
  if (folder.empty()) return;
  descriptor_ = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor_ < 0 || ::flock(descriptor_, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK) return;
  ::close(descriptor_);
  throw FileError(folder.string(), "another process trains in this folder", "one at a time",
                  "waiting for its end, or another --out");
}

FolderLock::~FolderLock() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

}  // namespace halftone::train
