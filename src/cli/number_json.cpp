// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "cli/number_code.h"
#include "cli/number_limits.h"
#include "cli/number_table.h"

namespace halftone::cli {
namespace {

using Json = nlohmann::ordered_json;

// JSON knows neither infinity nor numbers beyond a double: null, and the exponent beside it says where it is.
Json number(const Exact& x) {
  const double value = detail::nearest_double(x);
  return std::isfinite(value) && value != 0 ? Json(value) : Json(nullptr);
}

Json row(const Format& format) {
  Json row = {{"name", format.name}, {"bits", format.bits()}, {"bytes", format.bytes()}};
  row["kind"] = kind_text(format);
  row["is_signed"] = format.is_signed;
  row["has_zero"] = format.has_zero;
  if (format.is_floating()) {
    row["exponent_bits"] = format.exponent_bits;
    row["mantissa_bits"] = format.mantissa_bits;
    row["bias"] = format.bias;
    row["max_finite"] = number(largest(format));
    row["min_normal"] = number(smallest_normal(format));
    row["min_subnormal"] = number(smallest(format));
  } else {
    row["max_finite"] = detail::max_code(format);
  }
  row["max_exponent"] = top_exponent(largest(format));  // floor(log2 x)
  row["min_exponent"] = top_exponent(smallest(format));
  row["epsilon"] = epsilon(format);
  row["has_infinity"] = has_infinity(format);
  row["has_nan"] = has_nan(format);
  row["specials"] = specials_text(format);
  row["specials_rule"] = specials_name(format.specials);
  row["rounding"] = name(default_conversion(format).rounding);
  row["overflow"] = name(default_conversion(format).overflow);
  row["overflow_becomes"] = overflow_result(format);
  if (format.bits() < 64)
    row["codes"] = std::uint64_t{1} << format.bits();
  else
    row["codes"] = 0x1p64;
  return row;
}

Json row(const BlockFormat& format) {
  return {{"name", format.name},
          {"kind", "block"},
          {"element", format.element.name()},
          {"length", format.length},
          {"scale", format.scale.name()},
          {"rule", name(format.rule)},
          {"has_tensor_scale", format.has_tensor_scale},
          {"bits_per_element", format.bits_per_element()},
          {"max_finite", number(largest(format))},
          {"max_exponent", top_exponent(largest(format))},
          {"min_exponent", top_exponent(smallest(format))}};
}

}  // namespace

void print_json(const Selection& selection) {
  Json rows = Json::array();
  for (const DType dtype : selection.formats) rows.push_back(row(dtype.format()));
  for (const BlockFormat& format : selection.blocks) rows.push_back(row(format));
  fmt::print("{}\n", rows.dump(2));
}

}  // namespace halftone::cli
