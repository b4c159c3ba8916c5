// SPDX-License-Identifier: Apache-2.0
//
// Writes the config.json by which transformers knows a model. Reading is in halftone/weights.h.
#pragma once

#include <filesystem>

#include "halftone/bert.h"
#include "halftone/gpt2.h"
#include "halftone/llama.h"

namespace halftone::models {

void write_config(const Gpt2Options& options, DType dtype, const std::filesystem::path& folder);
void write_config(const LlamaOptions& options, DType dtype, const std::filesystem::path& folder);
void write_config(const BertOptions& options, DType dtype, const std::filesystem::path& folder);

}  // namespace halftone::models
