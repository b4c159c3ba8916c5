// SPDX-License-Identifier: Apache-2.0
//
// The contract of a backend: a closed set of loops over memory. Loops decode operands exactly, compute in
// float32 (in double where an operand is float64, and always in the reference backend), accumulate in float32
// or better, and round once when they store (laws 1 and 2). Operands may have any format and any strides.
//
// To write a backend, copy src/backend/reference/, keep the file names and fill in the functions below.
// A backend may offer a faster kernel for a named op through find(); the loops remain the definition.
#pragma once

#include <any>
#include <span>
#include <string_view>

#include "halftone/formula.h"
#include "halftone/tensor.h"

namespace halftone {

enum class Reduction { sum, max };

// c = a b (+ c if accumulate) (+ bias, along the last axis). a (.., rows, inner), b (.., inner, columns),
// c (.., rows, columns), with equal leading (batch) sizes, or none on b. Transposition is a matter of
// strides.
struct Matmul {
  Tensor a, b, c, bias;  // bias may be undefined
  bool accumulate = false;
};

// Convolution of images (batch, height, width, channels) with filters (out_channels, kernel_height,
// kernel_width, channels); stride and zero padding are the same in both directions.
struct Convolution {
  Tensor image, filter, bias, result;  // bias may be undefined
  int stride = 1, padding = 0;
  bool accumulate = false;  // add into the result (filter gradient only)
};

// A kernel of a named op: operands in, operands out, the op's options.
struct KernelCall {
  std::span<const Tensor> in;
  std::span<const Tensor> out;
  const std::any& options;
};
using Kernel = void (*)(const KernelCall& call);

class Backend {
 public:
  virtual ~Backend() = default;
  virtual std::string_view name() const = 0;

  // to = from, rounded once. Equal shapes.
  virtual void copy(const Tensor& from, const Tensor& to) const = 0;

  // out[i] = f(in[0][i], ...). Inputs broadcast to the shape of out; out may be one of the inputs.
  virtual void elementwise(const Formula& f, std::span<const Tensor> in, const Tensor& out,
                           std::span<const double> parameters = {}) const = 0;

  // f on every row (last axis). The operands' leading sizes are those of out[0]; an input whose leading sizes
  // are all 1 (or of rank 1) serves every row.
  virtual void rowwise(const RowFormula& f, std::span<const Tensor> in, std::span<const Tensor> out,
                       std::span<const double> parameters = {}) const = 0;

  // Reduces x onto y: y has x's rank and either x's size or 1 along each axis. y = scale * sum(x) (+ y if
  // accumulate), or max(x).
  virtual void reduce(Reduction kind, const Tensor& x, const Tensor& y, double scale = 1,
                      bool accumulate = false) const = 0;

  virtual void matmul(const Matmul& call) const = 0;

  // result = image * filter; then, with `result` holding dy: image = gradient of the image, and
  // filter = gradient of the filter.
  virtual void convolution(const Convolution& call) const = 0;
  virtual void convolution_image_gradient(const Convolution& call) const = 0;
  virtual void convolution_filter_gradient(const Convolution& call) const = 0;

  // rows[i] = table[indices[i]]; table[indices[i]] += rows[i], summed in float32. table (n, width), indices
  // int32 (count), rows (count, width). Throws ValueError for an index out of range, before writing.
  virtual void gather(const Tensor& table, const Tensor& indices, const Tensor& rows) const = 0;
  virtual void scatter_add(const Tensor& table, const Tensor& indices, const Tensor& rows) const = 0;

  // The kernel for a named op computing in float32, or nullptr.
  virtual Kernel find(std::string_view name) const {
    static_cast<void>(name);
    return nullptr;
  }
};

// "cpu" (the default) or "reference". Throws Unsupported listing the names there are.
const Backend& find_backend(std::string_view name);
std::span<const Backend* const> backends();

}  // namespace halftone
