// SPDX-License-Identifier: Apache-2.0
//
// Weights stored narrower than float32, as the rule of an optimizer sees them: a tile of float32 before the
// update, and back in store afterwards. What MasterWeights says is how small updates survive the way back.
#pragma once

#include <cstdint>

#include "halftone/amp.h"
#include "halftone/conversion.h"

namespace halftone::amp {

// Rounding that is right on average.
inline Conversion stochastic_conversion(DType dtype) {
  Conversion conversion = default_conversion(dtype.format());
  conversion.rounding = Rounding::stochastic;
  return conversion;
}

class NarrowWeights {
 public:
  // Throws DTypeError if the format does not go with the mode (trailing bits need the leading bits of a
  // float32, bfloat16 for one).
  NarrowWeights(const Parameter& parameter, MasterWeights master);

  // What is kept beside the parameter, by its name in the state of the optimizer; undefined if nothing is.
  const Tensor& extra() const { return extra_; }
  std::string_view extra_name() const;

  void load(std::int64_t begin, std::int64_t count, float* values) const;
  void store(std::int64_t begin, std::int64_t count, const float* values, const RandomWords& random) const;

 private:
  std::byte* codes(std::int64_t begin) const;
  std::byte* extra_codes(std::int64_t begin) const;

  Tensor parameter_, extra_;
  MasterWeights master_;
};

}  // namespace halftone::amp
