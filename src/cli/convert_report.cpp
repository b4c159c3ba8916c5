// SPDX-License-Identifier: Apache-2.0
#include "cli/convert_report.h"

#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "cli/command.h"
#include "cli/convert_histogram.h"
#include "report/words.h"

namespace halftone::cli {
namespace {

using Json = nlohmann::ordered_json;

// The place of element number i: "[3, 17]".
std::string place(std::int64_t i, const std::vector<std::int64_t>& shape) {
  std::string text;
  for (std::size_t axis = shape.size(); axis-- > 0; i /= shape[axis])
    text = fmt::format("{}{}{}", i % shape[axis], text.empty() ? "" : ", ", text);
  return "[" + text + "]";
}

// With as many digits as show a difference.
std::string worst_text(const ConvertTally& tally) {
  const auto text = [](long double value, int digits) { return fmt::format("{:.{}g}", value, digits); };
  const int digits = text(tally.worst_was, 9) == text(tally.worst_became, 9) ? 21 : 9;
  return fmt::format("{} became {}", text(tally.worst_was, digits), text(tally.worst_became, digits));
}

std::string decibels(const ConvertTally& tally) {
  const auto ratio = tally.signal_to_noise();
  if (!ratio) return tally.finite == 0 ? "none: no value is finite" : "none: every value is zero";
  return std::isinf(*ratio) ? "infinite: nothing changed" : fmt::format("{:.2f} dB", *ratio);
}

Json optional_number(std::optional<double> value) {
  return value && std::isfinite(*value) ? Json(*value) : Json(nullptr);
}

}  // namespace

void print_text(const ConvertSource& source, const ConvertReport& report) {
  const ConvertTally& tally = report.tally;
  const auto put = [](std::string_view label, const std::string& text) {
    fmt::print("{:<16} {}\n", label, text);
  };
  put(source.file().filename().string(), source.describe());
  put("to " + report.target, report.layout.empty() ? report.conversion : report.layout);
  if (!report.layout.empty()) put("", report.conversion);
  if (report.tensor_scale != 0) put("tensor scale", fmt::format("{:.9g}", report.tensor_scale));
  for (const std::string& note : report.notes) put("", note);
  fmt::print("\n{}\n", describe(tally.census));
  print_histogram(tally.census, report.target, report.coverage);
  fmt::print("\n");
  if (tally.finite > 0) {
    put("largest error", tally.worst < 0
                             ? "0"
                             : fmt::format("{:.6g} at {}: {}", tally.max_error,
                                           place(tally.worst, source.shape()), worst_text(tally)));
    put("rms error", fmt::format("{:.6g}", *tally.rms_error()));
  }
  put("signal to noise", decibels(tally));
  if (tally.finite < tally.census.count())
    put("", fmt::format("of the {} that were finite and stayed so", report::plural(tally.finite, "value")));
  std::string_view label = "written";
  for (const Written& file : report.written) {
    put(label, fmt::format("{}: {}, {}", file.file, report::plural(file.bytes, "byte"), file.content));
    label = "";
  }
}

void print_json(const ConvertSource& source, const ConvertReport& report) {
  const ConvertTally& tally = report.tally;
  const Census& census = tally.census;
  Json exponents = Json::object();
  for (int exponent = Census::kLowest; exponent <= Census::kHighest; ++exponent)
    if (census.at(exponent) != 0) exponents[std::to_string(exponent)] = census.at(exponent);
  Json out = {{"file", source.file().string()},
              {"from", source.dtype().name()},
              {"shape", source.shape()},
              {"count", source.count()},
              {"to", report.target},
              {"conversion", report.conversion},
              {"census",
               {{"exact", census.exact},
                {"rounded", census.rounded},
                {"to_subnormal", census.to_subnormal},
                {"to_zero", census.to_zero},
                {"saturated", census.saturated},
                {"to_infinity", census.to_infinity},
                {"to_nan", census.to_nan},
                {"nan", census.nan}}},
              {"finite", tally.finite},
              {"max_error", tally.finite > 0 ? Json(tally.max_error) : Json(nullptr)},
              {"rms_error", optional_number(tally.rms_error())},
              {"signal_to_noise_db", optional_number(tally.signal_to_noise())},
              {"exponents", exponents}};
  if (report.tensor_scale != 0) out["tensor_scale"] = report.tensor_scale;
  if (!report.layout.empty()) out["layout"] = report.layout;
  out["notes"] = report.notes;
  out["written"] = Json::array();
  for (const Written& file : report.written)
    out["written"].push_back({{"file", file.file}, {"bytes", file.bytes}, {"content", file.content}});
  fmt::print("{}\n", out.dump(2, ' ', false, Json::error_handler_t::replace));
}

}  // namespace halftone::cli
