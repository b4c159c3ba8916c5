// SPDX-License-Identifier: Apache-2.0
//
// An index is JSON: {"weight_map": {tensor: file, ..}}. Index and files must agree on every tensor.
#include "train/weight_files.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <set>

#include "base/file.h"
#include "halftone/train.h"

namespace halftone::train {
namespace {

using Json = nlohmann::json;
namespace fs = std::filesystem;

// Tensor to file. A file lies beside the index: its name leads nowhere else.
std::map<std::string, std::string> read_index(const fs::path& index) {
  constexpr std::size_t kDeepest = 8;  // arrays and objects in each other
  const std::string text = read_file(index, "an index of weights");
  if (json_depth(text) > kDeepest)
    throw FileError(index.string(), "arrays and objects nested too deeply",
                    "{\"weight_map\": {tensor: file}}");
  const Json json = Json::parse(text, nullptr, false);
  if (json.is_discarded() || !json.is_object() || !json.contains("weight_map") ||
      !json["weight_map"].is_object())
    throw FileError(index.string(), "no JSON object with a weight_map", "{\"weight_map\": {tensor: file}}");
  std::map<std::string, std::string> files;
  for (const auto& item : json["weight_map"].items()) {
    const std::string name = item.value().is_string() ? item.value().get<std::string>() : "";
    if (name.empty() || name.find_first_of(std::string_view("/\\\0", 3)) != std::string::npos ||
        fs::path(name).extension() != ".safetensors")
      throw FileError(index.string(), fmt::format("weight_map \"{}\": {}", item.key(), item.value().dump()),
                      "the name of a .safetensors file in the same folder");
    files[item.key()] = name;
  }
  return files;
}

}  // namespace

std::map<std::string, Tensor> read_weight_files(const fs::path& from) {
  std::error_code ignored;
  std::map<std::string, Tensor> tensors;
  const fs::path single = fs::is_directory(from, ignored) ? from / "model.safetensors" : from;
  const fs::path index = from / "model.safetensors.index.json";
  if (single == from || fs::exists(single, ignored)) {
    for (const Parameter& tensor : load_state(single).tensors) tensors[tensor.name] = tensor.value;
    return tensors;
  }
  if (!fs::exists(index, ignored))
    throw FileError(from.string(), "neither model.safetensors nor model.safetensors.index.json",
                    "a folder that transformers' save_pretrained wrote");
  const std::map<std::string, std::string> listed = read_index(index);
  std::set<std::string> files;
  for (const auto& entry : listed) files.insert(entry.second);
  for (const std::string& file : files)
    for (const Parameter& tensor : load_state(from / file).tensors) {
      const auto place = listed.find(tensor.name);
      if (place == listed.end() || place->second != file)
        throw FileError((from / file).string(), fmt::format("tensor \"{}\"", tensor.name),
                        "the tensors that model.safetensors.index.json lists for this file");
      tensors[tensor.name] = tensor.value;
    }
  for (const auto& entry : listed)
    if (!tensors.contains(entry.first))
      throw FileError((from / entry.second).string(), fmt::format("no tensor \"{}\"", entry.first),
                      "the tensors that model.safetensors.index.json lists for this file");
  return tensors;
}

}  // namespace halftone::train
