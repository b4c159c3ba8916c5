// SPDX-License-Identifier: Apache-2.0
//
// The reference backend: every loop of the contract (backend.h) as plainly as it can be written. One thread,
// one element at a time, any strides, all arithmetic in double, conversions by the generic codec. It is the
// oracle of the tests, the backend of float64, and the folder to copy when writing another backend.
#pragma once

#include "halftone/backend.h"

namespace halftone {

class Reference : public Backend {
 public:
  std::string_view name() const override { return "reference"; }

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
};

}  // namespace halftone
