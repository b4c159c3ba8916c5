// SPDX-License-Identifier: Apache-2.0
//
// halftone bench kernels: each kernel against what the process can reach at all: the best matmul in its
// format, or a copy of as many bytes, measured right beside it.
#include <fmt/format.h>

#include <map>
#include <memory>

#include "cli/bench.h"
#include "cli/bench_kernel_list.h"
#include "cli/bench_rates.h"
#include "cli/checks.h"
#include "cli/command.h"
#include "halftone/error.h"
#include "report/chart.h"
#include "report/page.h"
#include "report/words.h"

namespace halftone::cli {
namespace {

using report::Json;

constexpr const char* kExamples =
    "Examples:\n"
    "  halftone bench kernels --formats bfloat16\n"
    "  halftone bench kernels --only layer_norm --html kernels.html\n"
    "GFLOP/s of products are beside the best large matmul of the format, GB/s of others beside a copy of as "
    "many\n"
    "bytes. A kernel whose data stay in the cache can be faster than that copy.";

struct Options {
  std::vector<std::string> formats = {"float32", "bfloat16", "float16"};
  std::string only;
  double seconds = 0.15;
  BenchOutput output;
};

std::vector<KernelCase> chosen(const Options& options) {
  std::vector<KernelCase> cases;
  for (const std::string& format : options.formats)
    for (const auto make : {product_kernels, memory_kernels})
      for (KernelCase& kernel : make(find_dtype(format)))
        if ((kernel.name + " " + kernel.shape).find(options.only) != std::string::npos)
          cases.push_back(std::move(kernel));
  if (cases.empty())
    throw CLI::ValidationError("--only", options.only + "; no kernel has that in its name and shape");
  return cases;
}

Json measure(const std::vector<KernelCase>& cases, double budget) {
  std::map<std::string, double> matmul;
  Json kernels = Json::array();
  for (const KernelCase& kernel : cases) {
    const std::string format(kernel.dtype.name());
    if (kernel.product && !matmul.contains(format)) matmul[format] = best_matmul_gflops(kernel.dtype);
    const double seconds = kernel.seconds(budget), rate = kernel.work / seconds * 1e-9;
    const double best =
        kernel.product ? matmul[format] : copy_gigabytes(static_cast<std::int64_t>(kernel.work), budget);
    kernels.push_back({{"kernel", kernel.name},
                       {"shape", kernel.shape},
                       {"format", format},
                       {"microseconds", 1e6 * seconds},
                       {"unit", kernel.product ? "GFLOP/s" : "GB/s"},
                       {"rate", rate},
                       {"yardstick", best},
                       {"of_yardstick", rate / best}});
  }
  return {{"benchmark", "kernels"}, {"environment", bench_environment()}, {"kernels", kernels}};
}

std::vector<std::string> cells(const Json& kernel) {
  const auto text = [&](const char* key) { return kernel[key].get<std::string>(); };
  return {text("kernel"),
          text("shape"),
          text("format"),
          report::decimals(kernel["microseconds"], 1),
          report::decimals(kernel["rate"], 1) + " " + text("unit"),
          report::decimals(kernel["yardstick"], 1),
          report::decimals(100 * kernel["of_yardstick"].get<double>(), 0) + " %"};
}

const std::vector<std::string> kHead = {"kernel", "shape", "format", "µs", "rate", "yardstick", "of it"};

void print_text(const Json& json) {
  const auto line = [](const std::vector<std::string>& c) {
    return fmt::format("{:<32}{:<28}{:<10}{:>11}{:>16}{:>11}{:>8}\n", c[0], c[1], c[2], c[3], c[4], c[5],
                       c[6]);
  };
  fmt::print("{}", bold(line(kHead)));
  for (const Json& kernel : json["kernels"]) fmt::print("{}", line(cells(kernel)));
}

std::string to_page(const Json& json) {
  std::string body;
  for (const std::string unit : {"GFLOP/s", "GB/s"}) {
    report::Table table{.head = kHead, .numeric = {false, false, false, true, true, true, true}, .rows = {}};
    for (const Json& kernel : json["kernels"])
      if (kernel["unit"] == unit) table.rows.push_back(cells(kernel));
    const bool products = unit == "GFLOP/s";
    report::DotPlot plot{.title = products ? "Of the best large matmul" : "Of a copy of as many bytes",
                         .x_label = "1: as fast as the yardstick",
                         .rows = {{"yardstick", "", {0, 1}, 7}}};
    for (const Json& kernel : json["kernels"])
      if (kernel["unit"] == unit)
        plot.rows.push_back(
            {kernel["kernel"],
             fmt::format("{}, {}", kernel["shape"].get<std::string>(), kernel["format"].get<std::string>()),
             {kernel["of_yardstick"].get<double>()},
             products ? 0 : 2});
    if (!table.rows.empty())
      body += report::section(products ? "Products, beside the best large matmul of the format"
                                       : "What memory limits, beside a copy of as many bytes",
                              to_html(plot) + to_html(table));
  }
  return bench_page("Kernels",
                    "Medians, each kernel alone, at the sizes of the models of halftone bench step.", body,
                    json);
}

void check_formats(const std::vector<std::string>& formats) {
  once_each("--formats", formats);
  for (const std::string& format : formats) {
    try {
      if (find_dtype(format).is_floating()) continue;
    } catch (const Error&) {  // said below
    }
    throw CLI::ValidationError("--formats", format + "; `halftone formats` lists them");
  }
}

void run(const Options& options) {
  check_formats(options.formats);
  options.output.prepare();
  const Json json = measure(chosen(options), options.seconds);
  print_text(json);
  write_bench(options.output, json, to_page(json));
}

}  // namespace

void add_bench_kernels(CLI::App& bench) {
  CLI::App* command = bench.add_subcommand("kernels", "Each kernel against the matmul rate or a copy");
  const auto options = std::make_shared<Options>();
  command->add_option("--formats", options->formats, "Formats, separated by commas")
      ->delimiter(',')
      ->capture_default_str();
  command->add_option("--only", options->only, "Kernels with this in their name and shape");
  command->add_option("--seconds", options->seconds, "About how long each is measured")
      ->check(within(0.0, 60.0))
      ->capture_default_str();
  options->output.add(*command);
  command->footer(kExamples);
  command->callback([options] { run(*options); });
}

}  // namespace halftone::cli
