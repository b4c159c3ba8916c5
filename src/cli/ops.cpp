// SPDX-License-Identifier: Apache-2.0
//
// halftone ops: every op with its cast policy, as the ops themselves state it.
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>

#include "cli/command.h"
#include "halftone/op.h"

namespace halftone::cli {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kExamples =
    "Examples:\n"
    "  halftone ops\n"
    "  halftone ops --json";

constexpr CastPolicy kPolicies[] = {CastPolicy::compute, CastPolicy::inside_float32, CastPolicy::float32,
                                    CastPolicy::widest, CastPolicy::keep};

const char* explain(CastPolicy policy) {
  switch (policy) {
    case CastPolicy::compute:
      return "operands cast to the recipe's compute format, sums in float32, result in the compute format";
    case CastPolicy::inside_float32:
      return "operands read as they are, computed in float32, result in the compute format";
    case CastPolicy::float32:
      return "operands read as they are, computed in float32, result float32";
    case CastPolicy::widest:
      return "operands promoted to the smallest format that holds all of them, result in it";
    case CastPolicy::keep:
      return "operands read as they are, result in the format of the first";
  }
  return "";
}

void print_text() {
  std::size_t width = 0;
  for (const Op* op : registered_ops()) width = std::max(width, op->name.size());
  fmt::print("{}\n", bold(fmt::format("{:<{}}  {}", "op", width, "cast policy")));
  for (const Op* op : registered_ops())
    fmt::print("{:<{}}  {}{}{}\n", op->name, width, to_string(op->cast),
               op->quantizes ? " (short operands)" : "",
               op->result ? fmt::format(" (result {})", op->result->name()) : "");
  fmt::print("\n{}\n", bold("What a policy does inside autocast"));
  for (const CastPolicy policy : kPolicies) fmt::print("{:<14}  {}\n", to_string(policy), explain(policy));
  fmt::print(
      "short operands  under a recipe that has them, operands are rounded to its short formats instead\n");
  fmt::print("{}\n",
             pale("float64 operands are never cast down, integers never cast; outside autocast nothing is."));
}

void print_json() {
  Json ops = Json::array(), policies = Json::object();
  for (const Op* op : registered_ops())
    ops.push_back({{"name", std::string(op->name)},
                   {"cast", std::string(to_string(op->cast))},
                   {"short_operands", op->quantizes},
                   {"result", op->result ? Json(std::string(op->result->name())) : Json()}});
  for (const CastPolicy policy : kPolicies) policies[std::string(to_string(policy))] = explain(policy);
  fmt::print("{}\n", Json{{"ops", ops}, {"policies", policies}}.dump(2));
}

const RegisterCommand registered(60, [](CLI::App& app) {
  CLI::App* command = app.add_subcommand("ops", "Every op with its cast policy");
  const auto json = std::make_shared<bool>(false);
  command->add_flag("--json", *json, "As JSON");
  command->footer(kExamples);
  command->callback([json] { *json ? print_json() : print_text(); });
});

}  // namespace
}  // namespace halftone::cli
