// SPDX-License-Identifier: Apache-2.0
//
// Every op, top to bottom. Images are (batch, height, width, channels); filters (out, height, width, in);
// class targets int32. The cast rule of each op is printed by `halftone ops`. Shape errors throw ShapeError.
#pragma once

#include <vector>

#include "halftone/tensor.h"

namespace halftone {

// Elementwise; shapes broadcast as in numpy.
Tensor add(const Tensor& a, const Tensor& b);
Tensor sub(const Tensor& a, const Tensor& b);
Tensor mul(const Tensor& a, const Tensor& b);
Tensor div(const Tensor& a, const Tensor& b);
Tensor scale(const Tensor& x, double factor);
Tensor exp(const Tensor& x);
Tensor log(const Tensor& x);
Tensor relu(const Tensor& x);
Tensor gelu(const Tensor& x);       // exact: x Phi(x) (Hendrycks and Gimpel 2016)
Tensor gelu_tanh(const Tensor& x);  // GPT-2's form: x/2 (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3)))
Tensor silu(const Tensor& x);       // x sigmoid(x)
Tensor sigmoid(const Tensor& x);
Tensor tanh(const Tensor& x);
Tensor dropout(const Tensor& x, double probability);  // identity outside training
// a where the condition (an integer tensor, uint8 say) is not 0, else b.
Tensor where(const Tensor& condition, const Tensor& a, const Tensor& b);

inline Tensor operator+(const Tensor& a, const Tensor& b) { return add(a, b); }
inline Tensor operator-(const Tensor& a, const Tensor& b) { return sub(a, b); }
inline Tensor operator*(const Tensor& a, const Tensor& b) { return mul(a, b); }
inline Tensor operator/(const Tensor& a, const Tensor& b) { return div(a, b); }
inline Tensor operator*(const Tensor& a, double factor) { return scale(a, factor); }
inline Tensor operator*(double factor, const Tensor& a) { return scale(a, factor); }

// Views: no element moves (reshape copies a tensor that is not contiguous).
Tensor reshape(const Tensor& x, const Shape& shape);  // one size may be -1
Tensor flatten(const Tensor& x);                      // (batch, everything else)
Tensor transpose(const Tensor& x, int axis0, int axis1);
Tensor slice(const Tensor& x, int axis, std::int64_t begin, std::int64_t end);

// Tensors one after the other along an axis, or along a new one.
Tensor concat(const std::vector<Tensor>& tensors, int axis = 0);
Tensor stack(const std::vector<Tensor>& tensors, int axis = 0);

Tensor cast(const Tensor& x, DType dtype);

// Reductions over the given axes (none: all), which are removed, or kept with size 1. Result float32.
Tensor sum(const Tensor& x, const std::vector<int>& axes = {}, bool keep_axes = false);
Tensor mean(const Tensor& x, const std::vector<int>& axes = {}, bool keep_axes = false);

// Along the last axis. causal: in each (queries, keys) matrix, key j counts for query i only if j <= i.
// A row with no finite key gives zeros (log_softmax: -infinity) and zero gradients.
Tensor softmax(const Tensor& x, bool causal = false);
Tensor log_softmax(const Tensor& x);

// Normalisation (Ba et al. 2016; Ioffe and Szegedy 2015). layer_norm: along the last axis. batch_norm: over
// all axes but the last; in training uses the batch's statistics and moves running_mean and running_variance
// (float32, updated once even under checkpoint) by momentum.
Tensor layer_norm(const Tensor& x, const Tensor& weight, const Tensor& bias, double epsilon = 1e-5);
Tensor rms_norm(const Tensor& x, const Tensor& weight, double epsilon = 1e-5);  // Zhang and Sennrich 2019
Tensor batch_norm(const Tensor& x, const Tensor& weight, const Tensor& bias, Tensor running_mean,
                  Tensor running_variance, double momentum = 0.1, double epsilon = 1e-5);

// Contractions. matmul: (.., rows, inner) x (.., inner, columns), equal leading sizes or rank-2 b.
// linear: x (.., in), weight (out, in), bias (out) or undefined.
Tensor matmul(const Tensor& a, const Tensor& b);
Tensor linear(const Tensor& x, const Tensor& weight, const Tensor& bias = {});
Tensor conv2d(const Tensor& image, const Tensor& filter, const Tensor& bias = {}, int stride = 1,
              int padding = 0);

// Scaled dot-product attention: q (batch, heads, queries, head_width), k and v (batch, kv_heads, keys,
// head_width) with heads a multiple of kv_heads (each key head serves heads / kv_heads query heads). Scores
// and their softmax are float32. causal: query i sees key j if j <= i + keys - queries, so that the last
// query sees every key. lengths, int32 (batch): only the first lengths[b] keys count, the rest is padding. A
// query that sees no key gives zeros. Memory grows with the context, not with its square (in float64 and on
// the reference backend it does). The result lies in memory as q does: a view of (batch, context, heads,
// head_width) stays one.
struct AttentionOptions {
  bool causal = false;
  double factor = 0;  // on the scores; 0: 1 / sqrt(head_width)
  Tensor lengths{};
  int kv_heads = 0;    // of self_attention; 0: as many as heads
  double dropout = 0;  // of the shares (the softmax), in training; the others count 1 / (1 - dropout) times
};
Tensor attention(const Tensor& q, const Tensor& k, const Tensor& v, const AttentionOptions& options = {});

// The same on the result of one matmul that makes queries, keys and values: qkv (batch, context, (heads + 2
// kv_heads) head_width), q, k and v one after the other and the heads side by side in each; the result is
// (batch, context, heads head_width).
Tensor self_attention(const Tensor& qkv, int heads, const AttentionOptions& options = {});

// Slower turns, for contexts longer than the one a model was made for. The rate of a pair is divided by
// `factor`: of all pairs (position interpolation, Chen et al. 2023), or, with an original_context, as
// Llama 3.1 does: a pair that turns at most low_frequency times within it is slowed down, one that turns at
// least high_frequency times is not, and rates in between pass over linearly.
struct RotaryScaling {
  double factor = 1;
  std::int64_t original_context = 0;  // in tokens
  double low_frequency = 1, high_frequency = 4;
  bool operator==(const RotaryScaling&) const = default;
  bool valid() const { return factor > 0 && original_context >= 0 && low_frequency < high_frequency; }
};

// Rotary positions (Su et al. 2021) for x (.., positions, width): element i of the first half of a row turns
// with element i of the second by (first_position + position) rate, rate = base^(-2 i / width) or what the
// scaling makes of it.
Tensor rotary(const Tensor& x, double base = 10000, std::int64_t first_position = 0,
              const RotaryScaling& scaling = {});

// Pooling windows of size x size (of a maximum at most 16), moved by the same; sizes must divide.
Tensor max_pool2d(const Tensor& image, int size);
Tensor avg_pool2d(const Tensor& image, int size);

// Rows of table (n, width) by int32 index (..): (.., width). The gradient is summed in float32.
Tensor embedding(const Tensor& table, const Tensor& indices);

// Losses, float32 scalars: the mean over rows (elements, for the last three).
// cross_entropy: logits (.., classes), int32 targets (..); targets equal to ignore_index do not count, and a
// batch of nothing else has loss 0 and gradient 0. A target out of range throws ValueError. A target masked
// by -infinity makes the loss infinite. label_smoothing e: the target distribution has 1 - e more on the
// target than the e / classes that every class gets (Szegedy et al. 2016). z_loss c adds c (ln sum_j
// exp(x_j))^2 to the loss of a row, which keeps logits from drifting (Chowdhery et al. 2022).
struct CrossEntropyOptions {
  std::int32_t ignore_index = -100;
  double label_smoothing = 0;
  double z_loss = 0;
};
Tensor cross_entropy(const Tensor& logits, const Tensor& targets, CrossEntropyOptions options = {});
// linear_cross_entropy: of the logits x weight^T, x (.., width), weight (classes, width), targets (..), which
// are never there all at once: memory grows with the rows, and with the classes, but not with their product.
// Operands are those of linear, but logits are the float32 sums, not rounded to the compute format. While a
// graph is recorded the gradients are computed with the loss, and are held, float32, until backward: evaluate
// in inference(). Their products take softmax - target rounded to the operands' format. Short operands of a
// recipe are rounded as for linear, gradients chunk by chunk.
Tensor linear_cross_entropy(const Tensor& x, const Tensor& weight, const Tensor& targets,
                            CrossEntropyOptions options = {});
Tensor mse_loss(const Tensor& x, const Tensor& target);
Tensor binary_cross_entropy_with_logits(const Tensor& logits, const Tensor& target);
Tensor binary_cross_entropy(const Tensor& probability, const Tensor& target);  // throws on narrow input

// In place, outside the graph: the destination keeps its format, its version grows.
void assign_(Tensor destination, const Tensor& source);
void add_(Tensor destination, const Tensor& source);

}  // namespace halftone
