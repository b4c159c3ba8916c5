// SPDX-License-Identifier: Apache-2.0
//
// What autocast can do beyond one compute format: operands of matmuls in formats too short to compute in
// directly, exceptions for single ops, and a log of what was cast and why. The seam between the ops, which
// ask, and floor `amp`, which decides (amp/quantizers.h, halftone/autocast.h).
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "halftone/tensor.h"

namespace halftone {

enum class CastPolicy;

// What an operand of a contraction with a weight is.
enum class OperandRole : std::uint8_t { activation, weight, gradient };

// Where the elements lie that a matmul sums over: those share the scale of a block.
enum class Along : std::uint8_t {
  last,   // the last axis
  first,  // the first axis
  rows,   // all axes but the last, joined
};

// Rounds operands of linear and conv2d to a short format. The values stay in a format that holds them exactly
// and that the processor multiplies (bfloat16, or float32 where that is too short), so the product is
// bit-true: exact products of short numbers, summed in float32.
class OperandQuantizer {
 public:
  virtual ~OperandQuantizer() = default;
  // x, of any format and strides, rounded once. `layer` is the name of the weight, for state kept per tensor;
  // empty if it has none.
  virtual Tensor quantize(const Tensor& x, OperandRole role, Along along, std::string_view layer) const = 0;
  // Whether quantize gives the same along every axis and each time, so that products may share the result.
  // Not so of blocks, nor of what is rounded stochastically: products have random numbers of their own.
  virtual bool may_share(OperandRole role) const = 0;
};

// An exception for the ops of one name; a list, innermost first. Empty fields change nothing.
struct CastOverride {
  std::string op;
  std::optional<CastPolicy> policy;  // instead of the op's own
  std::optional<DType> result;       // the format of the result, whatever the policy says
  std::shared_ptr<const CastOverride> outer;
};

// One op call: what was cast and why.
struct CastRecord {
  struct Operand {
    DType from, to;
  };
  std::string op, layer;  // layer: path of the parameter used, if any
  CastPolicy policy;
  bool overridden = false;
  bool quantized = false;  // operands rounded to a short format on the way into the matmul
  std::vector<Operand> operands;
  DType result = float32;
};

// Records the op calls of this thread for as long as it lives. Nested logs all see them.
class CastLog {
 public:
  CastLog();
  ~CastLog();
  CastLog(const CastLog&) = delete;
  CastLog& operator=(const CastLog&) = delete;
  const std::vector<CastRecord>& records() const { return records_; }

  // For op/apply.cpp.
  static bool active();
  static void add(const CastRecord& record);

 private:
  std::vector<CastRecord> records_;
  CastLog* outer_;
};

}  // namespace halftone
