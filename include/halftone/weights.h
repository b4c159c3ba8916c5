// SPDX-License-Identifier: Apache-2.0
//
// Models in folders as Hugging Face's transformers reads and writes them: config.json beside
// model.safetensors, or beside several files listed in model.safetensors.index.json. Weights in a file may be
// float32, bfloat16, float16 or float64; they are read into the formats of the model's parameters.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "halftone/bert.h"
#include "halftone/gpt2.h"
#include "halftone/llama.h"

namespace halftone::models {

// "gpt2", "llama" or "bert": the model_type in the folder's config.json. Like all below, throws FileError
// naming file and place for what is missing, malformed or not supported.
std::string model_type(const std::filesystem::path& folder);

// The tokens at which a text ends: eos_token_id of the folder's generation_config.json, else of its
// config.json; empty if neither has one.
std::vector<std::int32_t> end_tokens(const std::filesystem::path& folder);

Gpt2Options gpt2_options(const std::filesystem::path& folder);
LlamaOptions llama_options(const std::filesystem::path& folder);
BertOptions bert_options(const std::filesystem::path& folder);

// The model that the folder describes, with its weights.
Gpt2 load_gpt2(const std::filesystem::path& folder);
Llama load_llama(const std::filesystem::path& folder);
Bert load_bert(const std::filesystem::path& folder);

// Weights into a model that exists, from a folder or one .safetensors file; no config.json is needed. Every
// parameter must be there in its shape and nothing unknown beside them (buffers that some versions wrote, and
// heads of BERT that this one does not have, are passed over); else FileError lists the first few, and the
// model is as before.
void load_weights(Gpt2& model, const std::filesystem::path& from);
void load_weights(Llama& model, const std::filesystem::path& from);
// new_head: what is not part of the body may be missing, and keeps its initial values (fine-tuning).
void load_weights(Bert& model, const std::filesystem::path& from, bool new_head = false);

// Writes config.json and model.safetensors into the folder, which is made if need be. `dtype`: float32,
// bfloat16 or float16.
void save_weights(const Gpt2& model, const std::filesystem::path& folder, DType dtype = float32);
void save_weights(const Llama& model, const std::filesystem::path& folder, DType dtype = float32);
void save_weights(const Bert& model, const std::filesystem::path& folder, DType dtype = float32);

}  // namespace halftone::models
