// SPDX-License-Identifier: Apache-2.0
//
// The tensors of a published model: one safetensors file, or several that an index lists.
#pragma once

#include <filesystem>
#include <map>
#include <string>

#include "halftone/tensor.h"

namespace halftone::train {

// `from`: a .safetensors file, or a folder with model.safetensors or model.safetensors.index.json. Throws
// FileError naming file and place.
std::map<std::string, Tensor> read_weight_files(const std::filesystem::path& from);

}  // namespace halftone::train
