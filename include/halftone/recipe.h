// SPDX-License-Identifier: Apache-2.0
//
// Recipes: which format where. A recipe is one row of kRecipes, or yours (add_recipe, or a TOML file:
// train.h).
#pragma once

#include <cstdint>
#include <string_view>

#include "halftone/conversion.h"
#include "halftone/format.h"

namespace halftone::amp {

// What an update of a parameter is applied to, and so what becomes of small ones.
enum class MasterWeights : std::uint8_t {
  none,           // the narrow parameter, rounded to nearest: what is below half its spacing is lost
  is_parameter,   // the parameter, which is float32
  float32_copy,   // a float32 copy, from which the parameter is rounded
  trailing_bits,  // a float32 whose leading bits are the bfloat16 parameter and whose 16 trailing ones are
                  // kept
  stochastic,     // the narrow parameter, rounded stochastically: right on average
  compensated,    // the narrow parameter and what rounding took from it, in the same format (Kahan 1965)
};
enum class LossScaling : std::uint8_t { none, dynamic, constant };

// Operands of linear and conv2d shorter than `compute`: rounded on the way into the matmul, whose products
// are exact and whose sums are float32. Everything else stays in `compute`.
enum class OperandScaling : std::uint8_t {
  none,     // operands are cast to `compute`
  current,  // one power of two per tensor, from its own largest magnitude
  delayed,  // the same, from the largest magnitude of the last steps (Micikevicius et al. 2022)
  block,    // a scale per block of elements (block.h)
};
struct Operands {
  OperandScaling scaling = OperandScaling::none;
  std::string_view forward{}, gradient{};  // number formats; of block: block formats
  Rounding gradient_rounding = Rounding::nearest_even;
  friend constexpr bool operator==(const Operands&, const Operands&) = default;
};

struct Recipe {
  std::string_view name;
  DType compute;         // of matmuls and convolutions; float32 means no autocast
  DType parameter;       // of matrices and filters; vectors (biases, norms) stay float32
  MasterWeights master;  // what an update is applied to
  LossScaling scaling;
  std::string_view shows;  // why one would look at it
  Operands operands{};
  DType state = float32;  // of the optimizer's moments; narrower ones are rounded stochastically
  friend constexpr bool operator==(const Recipe&, const Recipe&) = default;
};

// clang-format off
inline constexpr Recipe kRecipes[] = {
    // name               compute   parameter  master                       scaling               shows
    {"float32",           float32,  float32,   MasterWeights::is_parameter, LossScaling::none,    "the baseline"},
    {"bfloat16",          bfloat16, float32,   MasterWeights::is_parameter, LossScaling::none,    "the range of float32 with 8 bits of significand"},
    {"float16",           float16,  float32,   MasterWeights::is_parameter, LossScaling::dynamic, "autocast and dynamic loss scaling"},
    {"float16_master",    float16,  float16,   MasterWeights::float32_copy, LossScaling::dynamic, "the classic: float16 weights, float32 master copy"},
    {"float16_static",    float16,  float16,   MasterWeights::float32_copy, LossScaling::constant, "a constant loss scale"},
    {"float16_unscaled",  float16,  float16,   MasterWeights::float32_copy, LossScaling::none,    "ablation: small gradients vanish"},
    {"float16_no_master", float16,  float16,   MasterWeights::none,         LossScaling::dynamic, "ablation: small updates vanish"},
    {"bfloat16_pure",     bfloat16, bfloat16,  MasterWeights::none,         LossScaling::none,    "ablation: small updates vanish, sooner"},
    {"bfloat16_stochastic", bfloat16, bfloat16, MasterWeights::stochastic,  LossScaling::none,    "16-bit weights that learn on average"},
    {"bfloat16_kahan",    bfloat16, bfloat16,  MasterWeights::compensated,  LossScaling::none,    "16-bit weights that remember what rounding took"},
    {"bfloat16_split",    bfloat16, bfloat16,  MasterWeights::trailing_bits, LossScaling::none,   "a float32 master in 4 bytes, not 6"},
    {"bfloat16_lean",     bfloat16, bfloat16,  MasterWeights::stochastic,   LossScaling::none,    "weights and moments in 16 bits, rounded stochastically", {}, bfloat16},
    {"float8",            bfloat16, float32,   MasterWeights::is_parameter, LossScaling::none,    "8-bit operands, a scale per tensor (Micikevicius et al. 2022)",
     {OperandScaling::current, "float8_e4m3fn", "float8_e5m2"}},
    {"float8_delayed",    bfloat16, float32,   MasterWeights::is_parameter, LossScaling::none,    "the same, scales from the steps before",
     {OperandScaling::delayed, "float8_e4m3fn", "float8_e5m2"}},
    {"mxfp8",             bfloat16, float32,   MasterWeights::is_parameter, LossScaling::none,    "8-bit operands, a scale per 32 (Mishra et al. 2025)",
     {OperandScaling::block, "mxfp8_e4m3:rceil", "mxfp8_e4m3:rceil"}},
    {"mxfp6",             bfloat16, float32,   MasterWeights::is_parameter, LossScaling::none,    "6-bit operands (Rouhani et al. 2023)",
     {OperandScaling::block, "mxfp6_e2m3", "mxfp6_e3m2"}},
    {"mxfp4",             bfloat16, float32,   MasterWeights::is_parameter, LossScaling::none,    "4-bit operands, gradients rounded stochastically (Tseng et al. 2025)",
     {OperandScaling::block, "mxfp4", "mxfp4:rceil", Rounding::stochastic}},
    {"nvfp4",             bfloat16, float32,   MasterWeights::is_parameter, LossScaling::none,    "4-bit operands, an 8-bit scale per 16, gradients rounded stochastically (NVIDIA 2025)",
     {OperandScaling::block, "nvfp4", "nvfp4", Rounding::stochastic}},
};
// clang-format on

// A row of the table, or one made from the name of a signed floating format (as float8_e5m2 or e5m7): matmuls
// in it, float32 parameters, dynamic loss scaling where its range is short of float32's. Throws ValueError
// listing the names; find_recipe_if returns null instead.
const Recipe& find_recipe(std::string_view name);
const Recipe* find_recipe_if(std::string_view name);
// Makes a recipe of your own known by its name, for good (a program's, or one read from TOML). Throws
// ValueError if the name is taken by another recipe or a field can not be.
const Recipe& add_recipe(const Recipe& recipe);
std::string_view to_string(MasterWeights master);
std::string_view to_string(OperandScaling scaling);
std::string_view to_string(LossScaling scaling);

}  // namespace halftone::amp
