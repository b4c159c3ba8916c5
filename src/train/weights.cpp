// SPDX-License-Identifier: Apache-2.0
//
// Names. The paths of our parameters are the published names, up to a prefix of the body, old names of two
// vectors in BERT, and GPT-2's matrices, which lie (in, out) in its files. What a file may hold beside the
// parameters: buffers of old versions, second copies of tied weights, and other heads on the same body.
#include "halftone/weights.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>

#include "halftone/train.h"
#include "nn/init.h"
#include "train/model_config.h"
#include "train/weight_files.h"

namespace halftone::models {
namespace {

using Tensors = std::map<std::string, Tensor>;
namespace fs = std::filesystem;

bool begins(std::string_view name, std::initializer_list<std::string_view> prefixes) {
  return std::any_of(prefixes.begin(), prefixes.end(), [&](auto p) { return name.starts_with(p); });
}
bool ends(std::string_view name, std::initializer_list<std::string_view> suffixes) {
  return std::any_of(suffixes.begin(), suffixes.end(), [&](auto s) { return name.ends_with(s); });
}

// How the files of one kind of model name things.
struct Layout {
  std::function<std::string(std::string)> path;          // of a name in a file: the path in our model
  std::map<std::string, std::string> tied;               // second copies, by path: what they are copies of
  std::function<bool(std::string_view)> passed_over;     // by path, if the model has no such parameter
  std::function<bool(std::string_view)> transposed;      // by path
  std::function<bool(std::string_view)> may_be_missing;  // by path
};

bool never(std::string_view) { return false; }

Layout gpt2_layout() {
  return {.path = [](std::string name) { return name.starts_with("transformer.") ? name.substr(12) : name; },
          .tied = {{"lm_head.weight", "wte.weight"}},
          .passed_over =
              [](auto path) {
                return ends(path, {".attn.bias", ".attn.masked_bias"});
              },
          .transposed =
              [](auto path) {
                return ends(path, {"c_attn.weight", "c_proj.weight", "c_fc.weight"});
              },
          .may_be_missing = never};
}

Layout llama_layout(bool tied) {
  Layout layout{.path =
                    [](std::string name) {
                      return begins(name, {"model.", "lm_head."}) ? name : "model." + name;
                    },
                .tied = {},
                .passed_over = [](auto path) { return ends(path, {"rotary_emb.inv_freq"}); },
                .transposed = never,
                .may_be_missing = never};
  if (tied) layout.tied["lm_head.weight"] = "model.embed_tokens.weight";
  return layout;
}

std::string bert_path(std::string name) {
  if (begins(name, {"embeddings.", "encoder.", "pooler."})) name = "bert." + name;
  if (ends(name, {"LayerNorm.gamma"})) name.replace(name.size() - 5, 5, "weight");
  if (ends(name, {"LayerNorm.beta"})) name.replace(name.size() - 4, 4, "bias");
  return name;
}

Layout bert_layout(const BertOptions& options, bool new_head) {
  Layout layout{
      .path = bert_path,
      .tied = {},
      .passed_over =
          [](auto path) {
            return begins(path, {"bert.pooler.", "classifier.", "cls."}) || ends(path, {"position_ids"});
          },
      .transposed = never,
      .may_be_missing = never};
  if (new_head)
    layout.may_be_missing = [](auto path) { return !begins(path, {"bert.embeddings.", "bert.encoder."}); };
  if (options.head == BertHead::masked_tokens)
    layout.tied = {{"cls.predictions.decoder.weight", "bert.embeddings.word_embeddings.weight"},
                   {"cls.predictions.decoder.bias", "cls.predictions.bias"}};
  return layout;
}

// The mistakes found in one file, the first few of each kind named.
class Mistakes {
 public:
  void add(const char* kind, const std::string& what) {
    auto& [count, text] = found_[kind];
    if (++count <= 4) text += (count > 1 ? ", " : "") + what;
  }
  void raise(const fs::path& from) const {
    if (found_.empty()) return;
    std::string text;
    for (const auto& [kind, list] : found_) {
      text += fmt::format("{}{}: {}", text.empty() ? "" : "; ", kind, list.second);
      if (list.first > 4) text += fmt::format(" and {} more", list.first - 4);
    }
    throw FileError(from.string(), text, "the weights of this model, all of them and no others");
  }

 private:
  std::map<std::string, std::pair<int, std::string>> found_;
};

bool is_weight(DType dtype) {
  return dtype == float32 || dtype == bfloat16 || dtype == float16 || dtype == float64;
}

bool same_values(const Tensor& a, const Tensor& b) {
  return a.shape() == b.shape() && a.to_vector() == b.to_vector();
}

// Everything is checked before the first parameter is written.
void fill(std::vector<Parameter> parameters, const Tensors& files, const Layout& layout,
          const fs::path& from) {
  Tensors tensors;
  Mistakes mistakes;
  for (const auto& entry : files)
    if (!tensors.emplace(layout.path(entry.first), entry.second).second) mistakes.add("twice", entry.first);
  for (const auto& copy : layout.tied) {
    const auto found = tensors.find(copy.first), original = tensors.find(copy.second);
    if (found == tensors.end()) continue;
    if (original == tensors.end())
      tensors[copy.second] = found->second;
    else if (!same_values(found->second, original->second))
      mistakes.add("not tied", fmt::format("{} differs from {}", copy.first, copy.second));
    tensors.erase(copy.first);
  }
  std::vector<Tensor> values;
  for (const Parameter& parameter : parameters) {
    const auto found = tensors.find(parameter.name);
    values.emplace_back();
    if (found == tensors.end()) {
      if (!layout.may_be_missing(parameter.name)) mistakes.add("missing", parameter.name);
      continue;
    }
    const Tensor given = found->second;
    tensors.erase(found);
    const bool turn = layout.transposed(parameter.name) && given.rank() == 2;
    values.back() = turn ? transpose(given, 0, 1) : given;
    Shape expected = parameter.value.shape();
    if (layout.transposed(parameter.name)) std::swap(expected[0], expected[1]);
    if (given.shape() != expected)
      mistakes.add("of another shape", fmt::format("{} {}, expected {}", parameter.name,
                                                   to_string(given.shape()), to_string(expected)));
    if (!is_weight(given.dtype()))
      mistakes.add("of another format", fmt::format("{} {}", parameter.name, given.dtype().name()));
  }
  for (const auto& entry : tensors)
    if (!layout.passed_over(entry.first)) mistakes.add("unknown", entry.first);
  mistakes.raise(from);
  no_grad([&] {
    for (std::size_t i = 0; i < parameters.size(); ++i)
      if (values[i]) assign_(parameters[i].value, values[i]);
  });
}

template <class Model>
std::vector<Parameter> parameters_of(const Model& model) {
  Model handles = model;  // shares every tensor; walking a module needs one that can be changed
  return nn::parameters(handles);
}

// `name`: of a path in our model, the name in the file.
template <class Model>
void write(const Model& model, const fs::path& folder, DType dtype, const Layout& layout,
           const std::function<std::string(const std::string&)>& name) {
  if (dtype != float32 && dtype != bfloat16 && dtype != float16)
    throw DTypeError("save_weights", std::string(dtype.name()), "float32, bfloat16 or float16");
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) throw FileError(folder.string(), error.message(), "a folder that can be made");
  train::State state{{}, {{"format", "pt"}}};  // transformers reads no file without it
  no_grad([&] {
    for (const Parameter& parameter : parameters_of(model)) {
      const Tensor value =
          layout.transposed(parameter.name) ? transpose(parameter.value, 0, 1) : parameter.value;
      state.tensors.push_back({name(parameter.name), cast(value, dtype).detach()});
    }
  });
  train::save_state(folder / "model.safetensors", state);
  write_config(model.options, dtype, folder);
}

// A model is made only after the files have shown that it has these sizes: tables by their paths.
using Sizes = std::initializer_list<std::pair<const char*, Shape>>;

Tensors read_checked(const fs::path& folder, const Layout& layout, int layers, Sizes tables) {
  Tensors files = train::read_weight_files(folder);
  std::map<std::string, Shape> shapes;
  for (const auto& entry : files) shapes[layout.path(entry.first)] = entry.second.shape();
  for (const auto& copy : layout.tied)  // a file may have the copy alone
    if (const auto found = shapes.find(copy.first); found != shapes.end())
      shapes.emplace(copy.second, found->second);
  Mistakes mistakes;
  for (const auto& table : tables) {
    const auto found = shapes.find(table.first);
    if (found == shapes.end())
      mistakes.add("missing", table.first);
    else if (found->second != table.second)
      mistakes.add(
          "of another shape than config.json says",
          fmt::format("{} {}, expected {}", table.first, to_string(found->second), to_string(table.second)));
  }
  if (static_cast<std::size_t>(layers) > files.size())
    mistakes.add("missing", fmt::format("tensors of {} layers", layers));
  mistakes.raise(folder);
  return files;
}

}  // namespace

void load_weights(Gpt2& model, const fs::path& from) {
  fill(nn::parameters(model), train::read_weight_files(from), gpt2_layout(), from);
}
void load_weights(Llama& model, const fs::path& from) {
  fill(nn::parameters(model), train::read_weight_files(from), llama_layout(model.options.tied), from);
}
void load_weights(Bert& model, const fs::path& from, bool new_head) {
  fill(nn::parameters(model), train::read_weight_files(from), bert_layout(model.options, new_head), from);
}

Gpt2 load_gpt2(const fs::path& folder) {
  const Gpt2Options o = gpt2_options(folder);
  const Layout layout = gpt2_layout();
  const Tensors files =
      read_checked(folder, layout, o.layers,
                   {{"wte.weight", {o.vocabulary, o.width}}, {"wpe.weight", {o.context, o.width}}});
  const nn::WithoutInitialValues all_are_read;
  Gpt2 model(o);
  fill(nn::parameters(model), files, layout, folder);
  return model;
}

Llama load_llama(const fs::path& folder) {
  const LlamaOptions o = llama_options(folder);
  const Layout layout = llama_layout(o.tied);
  const Tensors files = read_checked(
      folder, layout, o.layers,
      {{"model.embed_tokens.weight", {o.vocabulary, o.width}},
       {"model.layers.0.self_attn.q_proj.weight", {std::int64_t{o.heads} * o.head_width, o.width}},
       {"model.layers.0.mlp.up_proj.weight", {o.intermediate, o.width}}});
  const nn::WithoutInitialValues all_are_read;
  Llama model(o);
  fill(nn::parameters(model), files, layout, folder);
  return model;
}

Bert load_bert(const fs::path& folder) {
  const BertOptions o = bert_options(folder);
  const Layout layout = bert_layout(o, false);
  const Tensors files =
      read_checked(folder, layout, o.layers,
                   {{"bert.embeddings.word_embeddings.weight", {o.vocabulary, o.width}},
                    {"bert.embeddings.position_embeddings.weight", {o.context, o.width}},
                    {"bert.embeddings.token_type_embeddings.weight", {o.token_types, o.width}},
                    {"bert.encoder.layer.0.intermediate.dense.weight", {o.intermediate, o.width}}});
  const nn::WithoutInitialValues all_are_read;
  Bert model(o);
  fill(nn::parameters(model), files, layout, folder);
  return model;
}

void save_weights(const Gpt2& model, const fs::path& folder, DType dtype) {
  write(model, folder, dtype, gpt2_layout(), [](const std::string& path) { return "transformer." + path; });
}
void save_weights(const Llama& model, const fs::path& folder, DType dtype) {
  write(model, folder, dtype, llama_layout(model.options.tied), [](const std::string& path) { return path; });
}
void save_weights(const Bert& model, const fs::path& folder, DType dtype) {
  const bool bare = model.options.head == BertHead::pooler;  // no prefix in the files of the body alone
  write(model, folder, dtype, bert_layout(model.options, false), [bare](const std::string& path) {
    return bare && path.starts_with("bert.") ? path.substr(5) : path;
  });
}

}  // namespace halftone::models
