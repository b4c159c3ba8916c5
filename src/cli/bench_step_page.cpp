// SPDX-License-Identifier: Apache-2.0
//
// The page of `halftone bench step`.
#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "cli/bench.h"
#include "cli/bench_step_report.h"
#include "report/bars.h"
#include "report/chart.h"
#include "report/page.h"
#include "report/words.h"

namespace halftone::cli {
namespace {

using report::decimals;
using report::Json;

std::string text(const Json& json) { return json.get<std::string>(); }

const Json& fastest(const Json& json) {
  const Json& all = json["recipes"];
  return *std::max_element(all.begin(), all.end(), [](const Json& a, const Json& b) {
    return a["items_per_second"].get<double>() < b["items_per_second"].get<double>();
  });
}

std::string speed_section(const Json& json) {
  report::DotPlot plot{
      .title = fmt::format("{} a second, each turn", json["items"].get<std::string>()),
      .x_label = fmt::format("{}/s: a dot for each turn, a bar at their mean", text(json["items"])),
      .rows = {}};
  plot.title[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(plot.title[0])));
  report::Table table{
      .head = {"Recipe", "Products in", text(json["items"]) + "/s", "slowest", "fastest", "ms a step",
               "GFLOP/s", "best matmul, GFLOP/s", "of roofline", "page faults a step"},
      .numeric = {false, false, true, true, true, true, true, true, true, true},
      .rows = {}};
  int colour = 0;
  for (const Json& r : json["recipes"]) {
    report::DotRow row{.label = text(r["recipe"]),
                       .note = decimals(r["items_per_second"], 0),
                       .values = {},
                       .colour = colour++};
    for (const Json& turn : r["turns"])
      row.values.push_back(json["items_per_step"].get<double>() / turn.get<double>() * 1e3);
    plot.rows.push_back(std::move(row));
    table.rows.push_back(
        {text(r["recipe"]), text(r["compute"]), decimals(r["items_per_second"], 0), decimals(r["slowest"], 0),
         decimals(r["fastest"], 0), decimals(r["milliseconds"], 2), decimals(r["gflops"], 1),
         decimals(r["matmul_gflops"], 1), decimals(100 * r["of_roofline"].get<double>(), 1) + " %",
         decimals(r["page_faults_per_step"], 1)});
  }
  return report::section(
      "Speed",
      to_html(plot) + to_html(table) +
          fmt::format("<p class=\"note\">A step takes {} GFLOP: the products of layers and attention, "
                      "forward and backward. The roofline is the best matmul of the same format, measured "
                      "in the same process between the turns.</p>\n",
                      decimals(json["flops_per_step"].get<double>() * 1e-9, 2)));
}

std::string time_section(const Json& json) {
  report::StackedBars bars{.title = "Where the time of a step goes",
                           .x_label = "milliseconds",
                           .unit = "ms",
                           .parts = {},
                           .pale_last = true,
                           .rows = {}};
  report::Table table{.head = {"Class"}, .numeric = {false}, .rows = {}};
  for (const auto& entry : json["recipes"][0]["breakdown"]["classes"].items())
    bars.parts.push_back(entry.key());
  bars.parts.emplace_back("idle");
  for (const std::string& part : bars.parts) table.rows.push_back({part});
  table.rows.push_back({"sum"});
  for (const Json& r : json["recipes"]) {
    const Json& breakdown = r["breakdown"];
    const double wall = breakdown["milliseconds"];
    report::BarRow row{text(r["recipe"]), decimals(wall, 1) + " ms", {}};
    for (const auto& entry : breakdown["classes"].items()) row.parts.push_back(entry.value()["busy"]);
    row.parts.push_back(breakdown["idle"]);
    table.head.insert(table.head.end(), {row.label + ", ms", "share"});
    table.numeric.insert(table.numeric.end(), {true, true});
    for (std::size_t i = 0; i < row.parts.size(); ++i)
      table.rows[i].insert(table.rows[i].end(),
                           {decimals(row.parts[i], 2), decimals(100 * row.parts[i] / wall, 1) + " %"});
    table.rows.back().insert(table.rows.back().end(), {decimals(wall, 2), "100.0 %"});
    bars.rows.push_back(std::move(row));
  }
  std::erase_if(table.rows, [](const std::vector<std::string>& row) {  // what no recipe has
    return std::all_of(row.begin() + 1, row.end(),
                       [](const std::string& cell) { return cell.rfind("0.0", 0) == 0; });
  });
  merge_small(bars, report::kColours, "the rest", true);
  return report::section(
      "Time",
      to_html(bars) + to_html(table) +
          "<p class=\"note\">One recorded step. What all threads did in a class, over their number; idle is "
          "what they could have done besides.</p>\n");
}

std::string memory_section(const Json& json) {
  if (!json["recipes"][0].contains("memory")) return "";
  report::StackedBars bars{.title = "What the memory of the process is for, at its peak",
                           .x_label = "MiB",
                           .unit = "MiB",
                           .parts = {},
                           .pale_last = true,
                           .rows = {}};
  report::Table table{.head = {"Kind"}, .numeric = {false}, .rows = {}};
  for (const auto& entry : json["recipes"][0]["memory"].items())
    if (entry.key() != "peak") bars.parts.push_back(entry.key());
  for (const std::string& part : bars.parts) table.rows.push_back({part});
  table.rows.push_back({"sum"});
  for (const Json& r : json["recipes"]) {
    report::BarRow row{text(r["recipe"]), report::mebibytes(r["memory"]["peak"]), {}};
    for (const std::string& part : bars.parts) row.parts.push_back(r["memory"][part].get<double>() / 1048576);
    table.head.push_back(row.label + ", MiB");
    table.numeric.push_back(true);
    for (std::size_t i = 0; i < row.parts.size(); ++i) table.rows[i].push_back(decimals(row.parts[i], 1));
    table.rows.back().push_back(decimals(r["memory"]["peak"].get<double>() / 1048576, 1));
    bars.rows.push_back(std::move(row));
  }
  return report::section("Memory",
                         to_html(bars) + to_html(table) +
                             "<p class=\"note\">Each recipe in a process of its own, two steps. Activations "
                             "are all temporary tensors; workspace is what the process grew by besides; "
                             "process is code, libraries and data.</p>\n");
}

}  // namespace

std::string step_page(const Json& json) {
  const Json& best = fastest(json);
  const std::string title = fmt::format(
      "{} {}/s in {}: {} % of the roofline", decimals(best["items_per_second"], 0), text(json["items"]),
      text(best["recipe"]), decimals(100 * best["of_roofline"].get<double>(), 0));
  return bench_page(title, step_words(json) + ".",
                    speed_section(json) + time_section(json) + memory_section(json), json);
}

}  // namespace halftone::cli
