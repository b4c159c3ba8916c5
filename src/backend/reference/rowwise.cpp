// SPDX-License-Identifier: Apache-2.0
//
// f on every row (the last axis; a scalar is a row of one). Rows are numbered in row-major order of the
// leading axes of out[0]. An input whose leading sizes are 1, or missing, serves every row.
#include <vector>

#include "backend/iteration.h"
#include "backend/reference/element.h"
#include "backend/reference/reference.h"
#include "backend/rows.h"

namespace halftone {

void Reference::rowwise(const RowFormula& f, std::span<const Tensor> in, std::span<const Tensor> out,
                        std::span<const double> parameters) const {
  Nest nest = rows_of(in, out);
  const std::size_t inputs = in.size(), outputs = out.size();

  std::vector<std::vector<double>> values;
  Rows<double> rows{{}, {}, parameters.data(), 0};
  for (const Tensor& x : in) values.emplace_back(row_width(x));
  for (const Tensor& y : out) values.emplace_back(row_width(y));
  for (std::size_t k = 0; k < inputs; ++k) rows.in[k] = values[k];
  for (std::size_t k = 0; k < outputs; ++k) rows.out[k] = values[inputs + k];

  std::vector<reference::Reader> operands(in.begin(), in.end());
  std::vector<reference::Writer> results(out.begin(), out.end());
  for (rows.row = 0; rows.row < nest.count(); ++rows.row) {
    std::int64_t at[Nest::kOperands];
    nest.locate(rows.row, nest.rank, at);
    for (std::size_t k = 0; k < inputs; ++k)
      for (std::size_t i = 0; i < values[k].size(); ++i)
        values[k][i] = operands[k][at[k] + static_cast<std::int64_t>(i) * row_stride(in[k])];
    f.float64(rows);
    for (std::size_t k = 0; k < outputs; ++k)
      for (std::size_t i = 0; i < rows.out[k].size(); ++i)
        results[k].write(at[inputs + k] + static_cast<std::int64_t>(i) * row_stride(out[k]), rows.out[k][i]);
  }
}

}  // namespace halftone
