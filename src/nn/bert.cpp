// SPDX-License-Identifier: Apache-2.0
//
// BERT beyond its layers: what options stand for, initial values (normal 0.02), and how tokens become hidden
// states and these become logits.
#include "halftone/bert.h"

#include "nn/heads.h"
#include "nn/init.h"
#include "nn/model_options.h"

namespace halftone::models {
namespace {

constexpr double kDeviation = 0.02;

nn::Linear layer(int in, int out) { return nn::Linear::normal(in, out, kDeviation); }

// Rows of x (.., width) whose target counts, and their targets. If there is none, the first row and its
// target: a loss needs a row.
std::pair<Tensor, Tensor> masked_rows(const Tensor& x, const Tensor& targets, std::int32_t ignored) {
  const Tensor read = reshape(targets, {-1});  // without gaps
  const auto* target = read.data<std::int32_t>();
  std::vector<std::int32_t> kept;
  for (std::int64_t i = 0; i < targets.count(); ++i)
    if (target[i] != ignored) kept.push_back(static_cast<std::int32_t>(i));
  if (kept.empty()) kept.push_back(0);
  Tensor rows({static_cast<std::int64_t>(kept.size())}, int32), classes(rows.shape(), int32);
  for (std::size_t i = 0; i < kept.size(); ++i) {
    rows.mutable_data<std::int32_t>()[i] = kept[i];
    classes.mutable_data<std::int32_t>()[i] = target[kept[i]];
  }
  return {embedding(reshape(x, {-1, x.size(-1)}), rows), classes};
}

}  // namespace

BertOptions BertOptions::filled() const {
  const OptionCheck check{"Bert"};
  BertOptions o = *this;
  check.size("vocabulary", o.vocabulary), check.size("context", o.context), check.size("width", o.width);
  check.size("layers", o.layers), check.size("heads", o.heads), check.size("token_types", o.token_types);
  check.size("classes", o.classes);
  check.divides("heads", o.heads, "width", o.width);
  check.positive("epsilon", o.epsilon);
  check.dropout("dropout", o.dropout), check.dropout("attention_dropout", o.attention_dropout);
  if (o.intermediate == 0) o.intermediate = check.fitting("intermediate", std::int64_t{4} * o.width);
  check.size("intermediate", o.intermediate);
  return o;
}

BertBlock::BertBlock(const BertOptions& o)
    : query(layer(o.width, o.width)),
      key(layer(o.width, o.width)),
      value(layer(o.width, o.width)),
      project(layer(o.width, o.width)),
      up(layer(o.width, o.intermediate)),
      down(layer(o.intermediate, o.width)),
      attention_norm(o.width, o.epsilon),
      output_norm(o.width, o.epsilon),
      drop{o.dropout},
      heads(o.heads),
      attention_dropout(o.attention_dropout) {}

Tensor BertBlock::operator()(const Tensor& x, const Tensor& lengths) const {
  const Tensor mixed =
      attention(split_heads(query(x), heads), split_heads(key(x), heads), split_heads(value(x), heads),
                {.lengths = lengths, .dropout = attention_dropout});
  const Tensor y = attention_norm(x + drop(project(merge_heads(mixed))));
  return output_norm(y + drop(down(gelu(up(y)))));
}

Bert::Bert(const BertOptions& given) : options(given.filled()), embeddings(options) {
  for (int i = 0; i < options.layers; ++i) this->layer.emplace_back(options);
  if (options.head != BertHead::masked_tokens) pooler = models::layer(options.width, options.width);
  if (options.head == BertHead::classes) classifier = models::layer(options.width, options.classes);
  if (options.head != BertHead::masked_tokens) return;
  transform = models::layer(options.width, options.width);
  transform_norm = nn::LayerNorm(options.width, options.epsilon);
  prediction_bias = nn::constant_parameter({options.vocabulary}, 0);
}

Tensor Bert::hidden(const Inputs& inputs) const {
  check_tokens("Bert", inputs.tokens, 0, options.context);
  const BertEmbeddings& e = embeddings;
  const Tensor types = inputs.token_types ? e.token_type_embeddings(inputs.token_types)
                                          : slice(e.token_type_embeddings.weight, 0, 0, 1);
  const Tensor places = slice(e.position_embeddings.weight, 0, 0, inputs.tokens.size(1));
  Tensor x = dropout(e.norm(e.word_embeddings(inputs.tokens) + places + types), options.dropout);
  for (const BertBlock& block : layer) {
    const auto run = [at = &block, lengths = inputs.lengths](const std::vector<Tensor>& in) {
      return (*at)(in[0], lengths);
    };
    x = options.checkpoint ? checkpoint(run, {x}) : run({x});
  }
  return x;
}

Tensor Bert::pooled(const Tensor& hidden) const {
  if (!pooler.weight) throw ValueError("Bert", "a model without pooler", "BertHead::pooler or classes");
  const Tensor first = slice(hidden, 1, 0, 1);
  return tanh(pooler(reshape(first, {hidden.size(0), hidden.size(2)})));
}

Tensor Bert::class_logits(const Tensor& hidden) const {
  if (!classifier.weight) throw ValueError("Bert", "a model without classes", "BertHead::classes");
  return classifier(dropout(pooled(hidden), options.dropout));
}

Tensor Bert::masked_logits(const Tensor& hidden) const {
  if (!transform.weight)
    throw ValueError("Bert", "a model that does not predict tokens", "BertHead::masked_tokens");
  return linear(transform_norm(gelu(transform(hidden))), embeddings.word_embeddings.weight, prediction_bias);
}

Tensor Bert::loss(const Inputs& inputs, const Tensor& targets, CrossEntropyOptions options) const {
  if (targets.dtype() != int32 || targets.shape() != inputs.tokens.shape())
    throw ShapeError("Bert", "targets " + to_string(targets.shape()),
                     "int32 " + to_string(inputs.tokens.shape()));
  const auto masked = masked_rows(hidden(inputs), targets, options.ignore_index);
  return cross_entropy(masked_logits(masked.first), masked.second, options);
}

}  // namespace halftone::models
