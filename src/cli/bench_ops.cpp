// SPDX-License-Identifier: Apache-2.0
//
// halftone bench ops: what an op costs when its tensors are tiny: the engine around the kernel. A chain of
// the same op, without a graph, with one, and with backward through it.
#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <memory>

#include "cli/bench.h"
#include "cli/bench_rates.h"
#include "cli/checks.h"
#include "cli/command.h"
#include "halftone/amp.h"
#include "halftone/ops.h"
#include "halftone/random.h"
#include "report/bars.h"
#include "report/page.h"
#include "report/words.h"

namespace halftone::cli {
namespace {

using report::Json;

constexpr const char* kExamples =
    "Examples:\n"
    "  halftone bench ops\n"
    "  halftone bench ops --size 64 --seconds 1 --json ops.json";

struct Options {
  int size = 8;
  double seconds = 0.2;
  BenchOutput output;
};

// Square tensors of the wanted size.
struct Tiny {
  Tensor x, other, weight, bias, row;
};
struct OpCase {
  const char* name;
  Tensor (*run)(const Tiny&, const Tensor&);
};
const OpCase kCases[] = {
    {"add", [](const Tiny& t, const Tensor& x) { return x + t.other; }},
    {"mul", [](const Tiny& t, const Tensor& x) { return x * t.other; }},
    {"scale", [](const Tiny&, const Tensor& x) { return x * 0.5; }},
    {"relu", [](const Tiny&, const Tensor& x) { return relu(x); }},
    {"gelu_tanh", [](const Tiny&, const Tensor& x) { return gelu_tanh(x); }},
    {"softmax", [](const Tiny&, const Tensor& x) { return softmax(x); }},
    {"layer_norm", [](const Tiny& t, const Tensor& x) { return layer_norm(x, t.row, t.bias); }},
    {"matmul", [](const Tiny& t, const Tensor& x) { return matmul(x, t.weight); }},
    {"linear", [](const Tiny& t, const Tensor& x) { return linear(x, t.weight, t.bias); }},
    {"transpose", [](const Tiny&, const Tensor& x) { return transpose(x, 0, 1); }},
    {"reshape",
     [](const Tiny&, const Tensor& x) {
       return reshape(x, {x.size(1), x.size(0)});
     }},
};

constexpr int kChain = 100;  // ops between two looks at the clock

Tensor chain(const OpCase& op, const Tiny& tiny) {
  Tensor x = tiny.x;
  for (int i = 0; i < kChain; ++i) x = op.run(tiny, x);
  return x;
}

Json measure(const OpCase& op, const Options& options, DType compute) {
  const std::int64_t n = options.size;
  const auto random = [](const Shape& shape) {
    return random_uniform(shape, -0.5, 0.5, 1, streams::example);
  };
  Tiny tiny{random({n, n}), random({n, n}), random({n, n}), random({n}), ones({n})};
  tiny.x.set_requires_grad();
  for (Tensor leaf : {tiny.weight, tiny.bias, tiny.row}) leaf.set_requires_grad();
  const auto nanoseconds = [&](const std::function<void()>& call) {
    return 1e9 / kChain * seconds_per_call(call, options.seconds);
  };
  Json result{{"op", op.name}, {"compute", std::string(compute.name())}};
  const auto forward = [&] { return amp::autocast(compute, [&] { return chain(op, tiny); }); };
  result["no_grad"] = nanoseconds([&] { no_grad(forward); });
  result["forward"] = nanoseconds([&] { forward(); });
  const Tensor gradient = zeros({n, n});
  result["forward_and_backward"] = nanoseconds([&] {
    const Tensor y = forward();
    backward(y, y.dtype() == float32 ? gradient : no_grad([&] { return cast(gradient, y.dtype()); }));
    for (Tensor leaf : {tiny.x, tiny.weight, tiny.bias, tiny.row}) leaf.zero_grad();
  });
  return result;
}

std::vector<std::string> cells(const Json& op) {
  return {op["op"].get<std::string>(), op["compute"].get<std::string>(), report::decimals(op["no_grad"], 0),
          report::decimals(op["forward"], 0), report::decimals(op["forward_and_backward"], 0)};
}

const std::vector<std::string> kHead = {"op", "compute", "no_grad", "forward", "with backward"};

std::string to_page(const Json& json, const Options& options) {
  report::Table table{.head = kHead, .numeric = {false, false, true, true, true}, .rows = {}};
  report::StackedBars bars{.title = "What an op costs",
                           .x_label = "nanoseconds",
                           .unit = "ns",
                           .parts = {"without a graph", "what the graph adds", "what backward adds"},
                           .rows = {}};
  for (const Json& op : json["ops"]) {
    const double bare = op["no_grad"], forward = op["forward"], all = op["forward_and_backward"];
    table.rows.push_back(cells(op));
    bars.rows.push_back(
        {op["op"], op["compute"], {bare, std::max(0.0, forward - bare), std::max(0.0, all - forward)}});
  }
  return bench_page("Overhead of an op",
                    fmt::format("Nanoseconds of an op on tensors of {0} x {0}.", options.size),
                    report::section("Ops", to_html(bars) + to_html(table)), json);
}

void run(const Options& options) {
  options.output.prepare();
  Json json{{"benchmark", "ops"},
            {"environment", bench_environment()},
            {"size", options.size},
            {"unit", "nanoseconds"},
            {"ops", Json::array()}};
  for (const DType compute : {float32, bfloat16})
    for (const OpCase& op : kCases) json["ops"].push_back(measure(op, options, compute));
  const auto line = [](const std::vector<std::string>& c) {
    return fmt::format("{:<12}{:<10}{:>10}{:>10}{:>15}\n", c[0], c[1], c[2], c[3], c[4]);
  };
  fmt::print("{}", bold(line(kHead)));
  for (const Json& op : json["ops"]) fmt::print("{}", line(cells(op)));
  fmt::print("{}", pale(fmt::format("nanoseconds of an op in a chain of {}, tensors of {} x {}\n", kChain,
                                    options.size, options.size)));
  write_bench(options.output, json, to_page(json, options));
}

}  // namespace

void add_bench_ops(CLI::App& bench) {
  CLI::App* command = bench.add_subcommand("ops", "What the engine adds to each op");
  const auto options = std::make_shared<Options>();
  command->add_option("--size", options->size, "Rows and columns of the tensors")
      ->check(within(1, 4096))
      ->capture_default_str();
  command->add_option("--seconds", options->seconds, "About how long each number is measured")
      ->check(within(0.0, 60.0))
      ->capture_default_str();
  options->output.add(*command);
  command->footer(kExamples);
  command->callback([options] { run(*options); });
}

}  // namespace halftone::cli
