// SPDX-License-Identifier: Apache-2.0
//
// Configuration files as texts.
#pragma once

#include <string>

#include "data/scratch.h"
#include "halftone/train.h"

namespace halftone::train {

inline Config load(const std::string& toml) {
  const testing::Scratch scratch;
  testing::write_bytes(scratch / "c.toml", toml);
  Config config;
  load_config(scratch / "c.toml", config);
  return config;
}

inline std::string error(const std::string& toml) {
  return testing::message_of<FileError>([&] { load(toml); });
}

}  // namespace halftone::train
