// SPDX-License-Identifier: Apache-2.0
#include "cli/bench_step_report.h"

#include <fmt/format.h>

#include "cli/bench.h"
#include "cli/command.h"
#include "report/words.h"

namespace halftone::cli {
namespace {

using report::Json;

double milliseconds(std::int64_t nanoseconds, int threads) {
  return static_cast<double>(nanoseconds) * 1e-6 / threads;
}

// Milliseconds of the wall clock: what all threads did in a class, over their number.
Json breakdown_json(const profile::Recording& recording) {
  const profile::Breakdown breakdown = break_down(recording);
  Json classes = Json::object();
  std::int64_t idle = 0;
  for (std::size_t i = 0; i < profile::kClasses; ++i) {
    const profile::Share& share = breakdown.of_class[i];
    classes[std::string(to_string(static_cast<profile::Class>(i)))] = {
        {"busy", milliseconds(share.busy, breakdown.threads)},
        {"idle", milliseconds(share.idle, breakdown.threads)}};
    idle += share.idle;
  }
  return {{"milliseconds", milliseconds(breakdown.wall, 1)},
          {"idle", milliseconds(idle, breakdown.threads)},
          {"classes", classes}};
}

Json memory_json(const MemoryKinds& kinds) {
  return {{"parameters", kinds.parameter}, {"copies", kinds.copy},     {"masters", kinds.master},
          {"gradients", kinds.gradient},   {"optimizer", kinds.state}, {"activations", kinds.activation},
          {"workspace", kinds.workspace},  {"process", kinds.rest},    {"peak", kinds.peak()}};
}

Json recipe_json(const StepTimes& times, double items, double flops) {
  const double seconds = times.median_seconds(), gflops = flops / seconds * 1e-9;
  Json json{{"recipe", std::string(times.recipe->name)},
            {"compute", std::string(times.recipe->compute.name())},
            {"steps_per_turn", times.steps},
            {"milliseconds", 1e3 * seconds},
            {"items_per_second", items / seconds},
            {"slowest", items / times.high()},
            {"fastest", items / times.low()},
            {"gflops", gflops},
            {"matmul_gflops", times.matmul_gflops},
            {"of_roofline", gflops / times.matmul_gflops},
            {"page_faults_per_step", times.page_faults},
            {"rejected_steps", times.rejected},
            {"turns", Json::array()},
            {"breakdown", breakdown_json(times.recording)}};
  for (const double turn : times.seconds) json["turns"].push_back(1e3 * turn);
  if (times.memory.count > 0) json["memory"] = memory_json(times.memory);
  return json;
}

std::string row(const std::string& head, const std::vector<std::string>& cells) {
  std::string line = fmt::format("{:<14}", head);
  for (const std::string& cell : cells) line += fmt::format(" {:>20}", cell);
  return line + "\n";
}

std::string mebi(const Json& bytes) { return report::decimals(bytes.get<double>() / 1048576, 1); }

std::string speeds(const Json& json) {
  std::string out = bold(fmt::format("{:<20}{:>10}{:>18}{:>10}{:>9}{:>9}{:>13}\n", "recipe",
                                     json["items"].get<std::string>() + "/s", "slowest-fastest", "ms/step",
                                     "GFLOP/s", "matmul", "of roofline"));
  for (const Json& r : json["recipes"])
    out += fmt::format("{:<20}{:>10}{:>18}{:>10}{:>9}{:>9}{:>13}\n", r["recipe"].get<std::string>(),
                       report::decimals(r["items_per_second"], 0),
                       report::decimals(r["slowest"], 0) + "-" + report::decimals(r["fastest"], 0),
                       report::decimals(r["milliseconds"], 2), report::decimals(r["gflops"], 1),
                       report::decimals(r["matmul_gflops"], 1),
                       report::decimals(100 * r["of_roofline"].get<double>(), 1) + " %");
  return out;
}

// The classes that took time in some recipe, a column for each recipe.
std::string times(const Json& json) {
  std::vector<std::string> recipes, walls, idle;
  for (const Json& r : json["recipes"]) {
    recipes.push_back(r["recipe"]);
    walls.push_back(report::decimals(r["breakdown"]["milliseconds"], 2) + "  100.0 %");
  }
  const auto share = [](double part, const Json& r) {
    return fmt::format("{}  {:5.1f} %", report::decimals(part, 2),
                       100 * part / r["breakdown"]["milliseconds"].get<double>());
  };
  std::string out = bold(row("ms of a step", recipes));
  for (const auto& entry : json["recipes"][0]["breakdown"]["classes"].items()) {
    const std::string& name = entry.key();
    std::vector<std::string> cells;
    double largest = 0;
    for (const Json& r : json["recipes"]) {
      const double part = r["breakdown"]["classes"][name]["busy"];
      cells.push_back(share(part, r));
      largest = std::max(largest, part);
    }
    if (largest > 0) out += row(name, cells);
  }
  for (const Json& r : json["recipes"]) idle.push_back(share(r["breakdown"]["idle"], r));
  return out + row("idle", idle) + row("sum", walls);
}

std::string memory(const Json& json) {
  std::vector<std::string> recipes;
  for (const Json& r : json["recipes"]) recipes.push_back(r["recipe"]);
  std::string out = bold(row("MiB at peak", recipes));
  for (const auto& entry : json["recipes"][0]["memory"].items()) {
    std::vector<std::string> cells;
    for (const Json& r : json["recipes"]) cells.push_back(mebi(r["memory"][entry.key()]));
    out += row(entry.key() == "peak" ? "sum" : entry.key(), cells);
  }
  return out;
}

}  // namespace

Json step_json(const StepPlan& plan, const std::vector<StepTimes>& all) {
  const BenchSize& size = plan.size;
  const auto items = static_cast<double>(plan.model->count(size));
  const double flops = plan.model->flops(size);
  Json json{{"benchmark", "step"},
            {"environment", bench_environment()},
            {"model",
             {{"name", std::string(plan.model->name)},
              {"batch", size.batch},
              {"context", size.context},
              {"width", size.width},
              {"layers", size.layers},
              {"heads", size.heads},
              {"vocabulary", size.vocabulary},
              {"checkpoint", size.checkpoint}}},
            {"optimizer", plan.optimizer},
            {"parameters", all.at(0).parameters},
            {"items", std::string(plan.model->items)},
            {"items_per_step", items},
            {"flops_per_step", flops},
            {"repetitions", plan.repetitions},
            {"warmup_steps", plan.warmup},
            {"recipes", Json::array()}};
  for (const StepTimes& times : all) json["recipes"].push_back(recipe_json(times, items, flops));
  return json;
}

std::string step_words(const Json& json) {
  const Json& model = json["model"];
  const std::int64_t layers = model["layers"];
  std::string words = fmt::format("{}: ", model["name"].get<std::string>());
  if (const std::int64_t context = model["context"]; context > 0)
    words +=
        fmt::format("{} x {} {}, ", model["batch"].get<int>(), context, json["items"].get<std::string>());
  else
    words += fmt::format("{} {}, ", model["batch"].get<int>(), json["items"].get<std::string>());
  if (layers > 0)
    words += fmt::format("{} of width {}, ", report::plural(layers, "layer"), model["width"].get<int>());
  words += fmt::format("{} parameters, {}", report::count(json["parameters"]),
                       json["optimizer"].get<std::string>());
  return words + (model["checkpoint"] ? ", each block recomputed" : "");
}

std::string step_text(const Json& json) {
  const Json& here = json["environment"];
  const std::string policy = here["wait_policy"];
  std::string out = step_words(json) + "\n" + speeds(json) + "\n" + times(json) + "\n";
  if (json["recipes"][0].contains("memory")) out += memory(json) + "\n";
  for (const Json& r : json["recipes"]) {
    if (r["rejected_steps"] != 0)
      out += fmt::format("{}: {} rejected, which are faster than others\n", r["recipe"].get<std::string>(),
                         report::plural(r["rejected_steps"], "step"));
  }
  return out +
         pale(fmt::format("{}; {}, OMP_WAIT_POLICY {}; medians of {}, the recipes in turns\n",
                          here["processor"].get<std::string>(), report::plural(here["threads"], "thread"),
                          policy.empty() ? "not set" : policy, report::plural(json["repetitions"], "turn")));
}

}  // namespace halftone::cli
