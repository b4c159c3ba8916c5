// SPDX-License-Identifier: Apache-2.0
//
// The cpu backend: float32 arithmetic at the best SIMD level, on all threads, with the same bits whatever
// both are. Operands in other formats pass through tiles that stay in the first-level cache (tile.h).
// Contractions belong to oneDNN (onednn_loops.h), some named ops have kernels of their own (kernels.h). A
// call with a float64 operand is the reference's.
#pragma once

#include "halftone/backend.h"

namespace halftone {

class Cpu : public Backend {
 public:
  std::string_view name() const override { return "cpu"; }

  void copy(const Tensor& from, const Tensor& to) const override;
  void elementwise(const Formula& f, std::span<const Tensor> in, const Tensor& out,
                   std::span<const double> parameters) const override;
  void rowwise(const RowFormula& f, std::span<const Tensor> in, std::span<const Tensor> out,
               std::span<const double> parameters) const override;
  void reduce(Reduction kind, const Tensor& x, const Tensor& y, double scale, bool accumulate) const override;
  void matmul(const Matmul& call) const override;
  void convolution(const Convolution& call) const override;
  void convolution_image_gradient(const Convolution& call) const override;
  void convolution_filter_gradient(const Convolution& call) const override;
  void gather(const Tensor& table, const Tensor& indices, const Tensor& rows) const override;
  void scatter_add(const Tensor& table, const Tensor& indices, const Tensor& rows) const override;
  Kernel find(std::string_view name) const override;
};

}  // namespace halftone
