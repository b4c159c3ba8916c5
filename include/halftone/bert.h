// SPDX-License-Identifier: Apache-2.0
//
// BERT (Devlin et al. 2019): an encoder with learned positions and token types, layer norm after each half of
// a block, exact gelu. Parameters have the names of the published weights.
#pragma once

#include <cstdint>
#include <vector>

#include "halftone/nn.h"

namespace halftone::models {

// What stands on the encoder: nothing but the pooler; the pooler and a linear layer to classes; or, without
// the pooler, the prediction of masked tokens.
enum class BertHead : std::uint8_t { pooler, classes, masked_tokens };

struct BertOptions {
  int vocabulary = 30522, context = 512, width = 768, layers = 12, heads = 12;
  int intermediate = 0;  // width between the halves of the feed-forward layer; 0: 4 width
  int token_types = 2;
  double epsilon = 1e-12;
  double dropout = 0.1;  // of the embedding, of what each half of a block adds, and of the pooled state
  double attention_dropout = 0.1;  // of the shares of attention
  BertHead head = BertHead::masked_tokens;
  int classes = 2;             // of BertHead::classes
  bool checkpoint = false;     // blocks keep only their inputs and are computed again by backward
  BertOptions filled() const;  // with what 0 stands for. Throws ValueError naming the option that can not be
};

struct BertEmbeddings {
  nn::Embedding word_embeddings, position_embeddings, token_type_embeddings;
  nn::LayerNorm norm;
  explicit BertEmbeddings(const BertOptions& o)
      : word_embeddings(o.vocabulary, o.width),
        position_embeddings(o.context, o.width),
        token_type_embeddings(o.token_types, o.width),
        norm(o.width, o.epsilon) {}
  void visit(auto&& each) {
    each("word_embeddings", word_embeddings), each("position_embeddings", position_embeddings);
    each("token_type_embeddings", token_type_embeddings), each("LayerNorm", norm);
  }
};

struct BertBlock {
  nn::Linear query, key, value, project, up, down;
  nn::LayerNorm attention_norm, output_norm;
  nn::Dropout drop;
  int heads;
  double attention_dropout;
  explicit BertBlock(const BertOptions& options);
  // lengths: of AttentionOptions, may be undefined.
  Tensor operator()(const Tensor& x, const Tensor& lengths) const;
  void visit(auto&& each) {
    each("attention.self.query", query), each("attention.self.key", key), each("attention.self.value", value);
    each("attention.output.dense", project), each("attention.output.LayerNorm", attention_norm);
    each("intermediate.dense", up), each("output.dense", down), each("output.LayerNorm", output_norm);
  }
};

// Of the head that options.head does not name, weights are undefined.
struct Bert {
  BertOptions options;  // filled
  BertEmbeddings embeddings;
  std::vector<BertBlock> layer;
  nn::Linear pooler, classifier, transform;
  nn::LayerNorm transform_norm;
  Tensor prediction_bias;
  explicit Bert(const BertOptions& options);

  struct Inputs {
    Tensor tokens;         // int32 (batch, context up to options.context)
    Tensor lengths{};      // int32 (batch): tokens of each row that count, the rest is padding; default: all
    Tensor token_types{};  // int32 (batch, context); default: 0
  };
  Tensor hidden(const Inputs& inputs) const;         // (batch, context, width)
  Tensor pooled(const Tensor& hidden) const;         // (batch, width): tanh of a layer on the first token
  Tensor class_logits(const Tensor& hidden) const;   // (batch, classes)
  Tensor masked_logits(const Tensor& hidden) const;  // (batch, context, vocabulary), or of rows (.., width)
  // The mean cross-entropy of the masked tokens: targets int32 (batch, context), the ignore index where a
  // token was not masked. Logits are made only of the masked ones.
  Tensor loss(const Inputs& inputs, const Tensor& targets, CrossEntropyOptions options = {}) const;

  void visit(auto&& each) {
    each("bert.embeddings", embeddings), each("bert.encoder.layer", layer), each("bert.pooler.dense", pooler);
    each("classifier", classifier), each("cls.predictions.transform.dense", transform);
    each("cls.predictions.transform.LayerNorm", transform_norm),
        each("cls.predictions.bias", prediction_bias);
  }
};

}  // namespace halftone::models
