// SPDX-License-Identifier: Apache-2.0
//
// One power of two per tensor brings its largest magnitude just under the largest number of the format
// (Micikevicius et al., "FP8 formats for deep learning", 2022). Current scaling takes the magnitude from the
// tensor; delayed scaling from the last kHistory steps, so that hardware need not read a tensor twice, and
// saturates what has grown since. A power of two instead of the exact quotient keeps every value in bfloat16
// and costs at most one bit of range. What is not finite becomes NaN, so that no overflow is hidden.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <string>

#include "amp/magnitude.h"
#include "amp/quantizers.h"
#include "halftone/parallel.h"
#include "halftone/profile.h"
#include "halftone/random.h"
#include "halftone/rounding.h"
#include "op/memory_order.h"

namespace halftone::amp {
namespace {

constexpr std::int64_t kChunk = 16384;
constexpr std::int64_t kHistory = 16;  // steps
constexpr std::int64_t kRoles = 3;

// The largest k for which amax 2^k is at most the largest number of the format, and 2^k and 2^-k are normal.
int exponent_for(float amax, const Format& format) {
  if (amax == 0) return 0;
  const double limit = max_finite(format);
  int k = std::ilogb(limit) - std::ilogb(amax);
  if (std::ldexp(static_cast<double>(amax), k) > limit) --k;
  return std::clamp(k, -126, 126);
}

class TensorQuantizer final : public Quantizer {
 public:
  TensorQuantizer(const Operands& operands, const std::vector<Parameter>& parameters)
      : forward_(find_dtype(operands.forward)),
        gradient_(find_dtype(operands.gradient)),
        rounding_(operands.gradient_rounding) {
    if (operands.scaling != OperandScaling::delayed) return;
    for (const Parameter& parameter : parameters)
      if (parameter.value.rank() >= 2) history_.emplace(parameter.name, zeros({kRoles, 1 + kHistory}));
  }

  std::vector<Parameter> state() const override {
    std::vector<Parameter> state;
    for (const auto& [layer, history] : history_) state.push_back({"amax." + layer, history});
    return state;
  }

  // What the step has seen moves into the history, and the oldest entry out of it.
  void finish_step() const override {
    for (const auto& [layer, tensor] : history_) {
      Tensor history = tensor;
      float* row = history.mutable_data<float>();
      for (std::int64_t role = 0; role < kRoles; ++role, row += 1 + kHistory) {
        std::copy_backward(row, row + kHistory, row + 1 + kHistory);
        row[0] = 0;
      }
    }
  }

  Tensor quantize(const Tensor& given, OperandRole role, Along, std::string_view layer) const override {
    const profile::Scope scope("round operand", profile::Class::cast);
    const Tensor x = contiguous(*thread_state().backend, given);
    const DType format = role == OperandRole::gradient ? gradient_ : forward_;
    const float amax = reference_magnitude(largest_magnitude(x), role, layer);
    const int exponent = exponent_for(amax, format.format());
    const Tensor result(x.shape(), carrier(format.format()));
    round(x, format, exponent, conversion(role), result);
    return result;
  }

  bool may_share(OperandRole role) const override {
    return conversion(role).rounding != Rounding::stochastic;
  }

 private:
  Conversion conversion(OperandRole role) const {
    Conversion saturating{.overflow = Overflow::saturate};
    if (role == OperandRole::gradient) saturating.rounding = rounding_;
    return saturating;
  }

  // Of this tensor or of those before it; notes the former for the steps to come.
  float reference_magnitude(float now, OperandRole role, std::string_view layer) const {
    const auto entry = history_.find(layer);
    if (entry == history_.end()) return now;
    Tensor history = entry->second;
    const float* row = history.data<float>() + static_cast<std::int64_t>(role) * (1 + kHistory);
    const float before = *std::max_element(row + 1, row + 1 + kHistory);
    if (thread_state().training && now > row[0])
      history.mutable_data<float>()[static_cast<std::int64_t>(role) * (1 + kHistory)] = now;
    return before == 0 ? now : before;
  }

  void round(const Tensor& x, DType format, int exponent, const Conversion& conversion,
             const Tensor& result) const {
    RandomWords random{thread_state().seed, streams::operands, 0};
    if (conversion.rounding == Rounding::stochastic)
      random.first = take_random(static_cast<std::uint64_t>(x.count()));
    const float up = std::ldexp(1.0f, exponent), down = std::ldexp(1.0f, -exponent);
    const RowPair all{x.dtype(), x.raw(), result.dtype(), result.raw_mutable()};
    parallel_for(x.count(), kChunk, [&](std::int64_t begin, std::int64_t end) {
      RandomWords here = random;
      here.first += static_cast<std::uint64_t>(begin);
      round_row(format, all.at(begin), end - begin, conversion, here, up, down);
    });
  }

  DType forward_, gradient_;
  Rounding rounding_;
  std::map<std::string, Tensor, std::less<>>
      history_;  // of a weight's layer: role x (this step, steps before)
};

}  // namespace

std::shared_ptr<const Quantizer> make_tensor_quantizer(const Operands& operands,
                                                       const std::vector<Parameter>& parameters) {
  return std::make_shared<TensorQuantizer>(operands, parameters);
}

}  // namespace halftone::amp
