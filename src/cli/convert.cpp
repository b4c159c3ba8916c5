// SPDX-License-Identifier: Apache-2.0
//
// `halftone convert`: an array from one format to another, and what that costs.
#include <fmt/format.h>

#include <filesystem>
#include <memory>
#include <string>

#include "cli/checks.h"
#include "cli/command.h"
#include "cli/convert_blocks.h"
#include "cli/convert_numbers.h"
#include "cli/convert_report.h"
#include "cli/convert_sink.h"
#include "cli/convert_source.h"
#include "cli/number_code.h"
#include "cli/number_options.h"
#include "halftone/error.h"

namespace halftone::cli {
namespace {

namespace fs = std::filesystem;

struct Options {
  std::string file, from, to, out;
  ConversionOptions conversion;
  std::int64_t seed = 1;
  bool json = false;
};

// OUT.scales beside OUT; OUT.scales.npy beside OUT.npy.
fs::path beside(const fs::path& out, const std::string& what) {
  if (out.extension() != ".npy") return out.string() + "." + what;
  return fs::path(out).replace_extension(what + ".npy");
}

void refuse_to_overwrite_source(const Options& options) {
  std::error_code ignored;
  for (const fs::path& out :
       {fs::path(options.out), beside(options.out, "scales"), beside(options.out, "tensor_scale")})
    if (!options.out.empty() && fs::equivalent(out, options.file, ignored))
      throw CLI::ValidationError("--out", fmt::format("{} is the file that is being read", out.string()));
}

ConvertReport to_numbers(const ConvertSource& source, const Options& options) {
  const DType target = parse_dtype("--to", options.to);
  const Conversion conversion = options.conversion.conversion(target.format());
  ConvertSink sink;
  if (!options.out.empty()) sink = ConvertSink(options.out, source.shape(), target);
  ConvertReport report;
  report.target = target.name();
  report.conversion = describe(conversion);
  report.coverage = coverage(target.format());
  report.tally = convert_numbers(source, target, conversion, static_cast<std::uint64_t>(options.seed), sink);
  if (sink.is_open()) report.written.push_back(sink.finish());
  return report;
}

ConvertReport to_blocks(const ConvertSource& source, const Options& options) {
  const BlockFormat target = parse_block_format("--to", options.to);
  const Conversion conversion = options.conversion.block_conversion();
  const BlockShape shape(target, source.shape());
  ConvertReport report;
  report.target = target.name;
  report.layout = fmt::format("blocks of {} {}, each with a scale of {} ({})", target.length,
                              target.element.name(), target.scale.name(), name(target.rule));
  report.conversion = describe(conversion);
  report.coverage = coverage(target);
  if (!is_within_float(source.dtype().format()))
    report.notes.emplace_back("values are rounded to float32 first, in which scales are computed");
  const bool writes = !options.out.empty();
  ConvertSink elements, scales;
  if (writes) elements = ConvertSink(options.out, shape.elements, uint8);
  if (writes) scales = ConvertSink(beside(options.out, "scales"), shape.scales, target.scale);
  const float of_tensor = tensor_scale(source, target);
  if (target.has_tensor_scale) report.tensor_scale = of_tensor;
  report.tally = convert_blocks(source, target, of_tensor, conversion,
                                static_cast<std::uint64_t>(options.seed), elements, scales);
  if (!writes) return report;
  report.written = {elements.finish(), scales.finish()};
  report.written[0].content =
      fmt::format("{} packed, {} bits each", target.element.name(), target.element.format().bits());
  if (target.has_tensor_scale) {
    ConvertSink sink(beside(options.out, "tensor_scale"), {}, float32);
    sink.write(&of_tensor, sizeof of_tensor);
    report.written.push_back(sink.finish());
  }
  return report;
}

void convert(const Options& options) {
  if (!options.from.empty() && names_block_format(options.from))
    throw CLI::ValidationError(
        "--from",
        fmt::format("{} is a block format; arrays are converted to blocks, not back", options.from));
  refuse_to_overwrite_source(options);
  const ConvertSource source(options.file, options.from);
  const ConvertReport report =
      names_block_format(options.to) ? to_blocks(source, options) : to_numbers(source, options);
  options.json ? print_json(source, report) : print_text(source, report);
}

const RegisterCommand registered(42, [](CLI::App& app) {
  const auto options = std::make_shared<Options>();
  CLI::App* command =
      app.add_subcommand("convert", "Convert an array to another format and measure what is lost");
  command->add_option("FILE", options->file, "A .npy file, or raw codes one after the other")->required();
  command->add_option("--from", options->from,
                      "The format of raw codes, or of codes that a .npy file holds as unsigned integers");
  command->add_option("--to", options->to, "A number format or a block format, see `halftone formats`")
      ->required();
  command->add_option("--out,-o", options->out,
                      "Write the codes here: NAME.npy, or raw under any other name");
  options->conversion.add_to(*command, true);
  command->add_option("--seed", options->seed, "Of stochastic rounding")
      ->check(seed())
      ->capture_default_str();
  command->add_flag("--json", options->json, "Print JSON instead of text");
  command->footer(
      "Every value is rounded once, from its exact value. Without --out the command only reports. Formats "
      "that\n"
      "numpy does not have are written as unsigned integers with their codes: one byte for up to 8 bits, "
      "two\n"
      "for up to 16. To a block format each row of the last axis is cut into blocks; OUT then holds the "
      "packed\n"
      "elements, OUT.scales the scales and, for nvfp4, OUT.tensor_scale a float32.\n\n"
      "Examples:\n"
      "  halftone convert weights.npy --to float8_e4m3fn                  # what would that lose?\n"
      "  halftone convert weights.npy --to bfloat16 -o weights_bf16.npy\n"
      "  halftone convert weights.npy --to float8_e5m2 --rounding stochastic --seed 7 -o w8.bin\n"
      "  halftone convert w8.bin --from float8_e5m2 --to float32 -o back.npy\n"
      "  halftone convert weights.npy --to mxfp4:rceil -o weights.mxfp4   # packed, and their scales\n"
      "  halftone convert weights.npy --to nvfp4 --json | jq .signal_to_noise_db");
  command->callback([options] { convert(*options); });
});

}  // namespace
}  // namespace halftone::cli
