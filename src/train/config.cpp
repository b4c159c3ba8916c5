// SPDX-License-Identifier: Apache-2.0
#include "train/config.h"

#include <fmt/format.h>

#include <toml++/toml.h>
#include <algorithm>
#include <limits>
#include <vector>

#include "base/file.h"
#include "base/join.h"
#include "halftone/optim.h"
#include "train/recipe_table.h"
#include "train/task.h"

namespace halftone::train {
namespace {

constexpr double kInt = std::numeric_limits<int>::max();
constexpr double kInt64 = 9007199254740992;  // 2^53: exact as a double, too

const Field kFields[] = {
    // name              member                     low     high        changes_bits
    {"task", &Config::task, 0, 0, true},
    {"model", &Config::model, 0, 0, true},
    {"recipe", &Config::recipe, 0, 0, true},
    {"optimizer", &Config::optimizer, 0, 0, true},
    {"epochs", &Config::epochs, 1, 100000, true, false, "fashion-mnist"},
    {"batch", &Config::batch, 1, 1 << 20, true},
    {"accumulate", &Config::accumulate, 1, 1 << 20, true},
    {"lr", &Config::lr, 0, 1000, true},
    {"weight_decay", &Config::weight_decay, 0, 1000, true},
    {"decay", &Config::decay, 0, 0, true, false, "", true},
    {"clip_norm", &Config::clip_norm, 0, 1e30, true},
    {"loss_weight", &Config::loss_weight, 1e-30, 1e30, true},
    {"seed", &Config::seed, 0, kInt64, true},
    {"limit", &Config::limit, 0, kInt, true},
    {"threads", &Config::threads, 0, 1024, false},
    {"save_every", &Config::save_every, 1, kInt, false},
    {"scaler", &Config::scaler, 0, 0, true},
    {"init_scale", &Config::init_scale, 1, amp::ScalerOptions().max_scale, true, true},
    {"growth_interval", &Config::growth_interval, 1, kInt, true, true},
    {"data", &Config::data, 0, 0, false},
    {"out", &Config::out, 0, 0, false},
    {"resume", &Config::resume, 0, 0, false},
    {"steps", &Config::steps, 1, kInt, true, false, "text"},
    {"evaluate_every", &Config::evaluate_every, 1, kInt, true, false, "text"},
    {"tokenizer", &Config::tokenizer, 0, 0, true, false, "text"},
    {"vocabulary", &Config::vocabulary, 256, 65536, true, false, "text"},
    {"context", &Config::context, 1, 1 << 20, true, false, "text"},
    {"width", &Config::width, 1, 1 << 16, true, false, "text"},
    {"layers", &Config::layers, 1, 1 << 10, true, false, "text"},
    {"heads", &Config::heads, 1, 1 << 10, true, false, "text"},
    {"kv_heads", &Config::kv_heads, 0, 1 << 10, true, false, "text"},
    {"dropout", &Config::dropout, 0, 0.99, true, false, "text"},
    {"checkpoint", &Config::checkpoint, 0, 0, false, false, "text"},
    {"sample_every", &Config::sample_every, 0, kInt, false, false, "text"},
    {"prompt", &Config::prompt, 0, 0, false, false, "text"},
};

bool is_one_of(std::string_view name, const std::vector<std::string_view>& names) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

// Insertions, deletions, replacements and swaps of neighbours between two words (Damerau 1964).
std::size_t distance(std::string_view a, std::string_view b) {
  std::vector<std::vector<std::size_t>> to(a.size() + 1, std::vector<std::size_t>(b.size() + 1));
  for (std::size_t i = 0; i <= a.size(); ++i)
    for (std::size_t j = 0; j <= b.size(); ++j) {
      to[i][j] = i + j;  // of which one is 0, or else there is a shorter way
      if (i == 0 || j == 0) continue;
      to[i][j] = std::min({to[i - 1][j] + 1, to[i][j - 1] + 1, to[i - 1][j - 1] + (a[i - 1] != b[j - 1])});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        to[i][j] = std::min(to[i][j], to[i - 2][j - 2] + 1);
    }
  return to[a.size()][b.size()];
}

// The name that this one nearly is; empty if it is near to none.
std::string_view near_miss(std::string_view name, const std::vector<std::string_view>& names) {
  const auto nearest = std::min_element(
      names.begin(), names.end(), [&](auto a, auto b) { return distance(name, a) < distance(name, b); });
  return nearest != names.end() && distance(name, *nearest) <= 2 ? *nearest : "";
}

// What to try instead of an unknown key: the one it nearly is, or else any of them.
std::string suggestion(std::string_view key) {
  std::vector<std::string_view> names;
  for (const Field& known : kFields) names.push_back(known.name);
  const std::string_view near = near_miss(key, names);
  return near.empty() ? "one of " + join(names) : fmt::format("\"{}\"", near);
}

// The largest first loss scale is that of the policy.
double highest(const Field& field, const Config& config) {
  const amp::ScalerPolicy* policy =
      field.name == "init_scale" ? amp::find_scaler_policy_if(config.scaler) : nullptr;
  return policy == nullptr ? field.high : policy->options.max_scale;
}

// Reads a TOML value into a field; what a value of that field looks like if it is of another type.
std::string assign(Config& config, const Member& member, const toml::node& value) {
  if (const auto* text = std::get_if<std::string Config::*>(&member)) {
    if (!value.is_string()) return "a string";
    config.*(*text) = *value.value<std::string>();
  } else if (const auto* path = std::get_if<std::filesystem::path Config::*>(&member)) {
    if (!value.is_string()) return "a string, the path";
    config.*(*path) = *value.value<std::string>();
  } else if (const auto* flag = std::get_if<bool Config::*>(&member)) {
    if (!value.is_boolean()) return "true or false";
    config.*(*flag) = *value.value<bool>();
  } else if (const auto* real = std::get_if<double Config::*>(&member)) {
    if (!value.is_number()) return "a number";
    config.*(*real) = *value.value<double>();
  } else {
    const auto whole = value.is_integer() ? value.value<std::int64_t>() : std::nullopt;
    if (!whole) return "a whole number";
    if (const auto* wide = std::get_if<std::int64_t Config::*>(&member)) {
      config.*(*wide) = *whole;
    } else {  // out of int's range becomes out of the field's range, not another number
      config.*std::get<int Config::*>(member) = static_cast<int>(
          std::clamp<std::int64_t>(*whole, std::numeric_limits<int>::min(), std::numeric_limits<int>::max()));
    }
  }
  return "";
}

// The keys `recipe` with a table and `recipes` with a list of them; false for anything else.
bool read_recipes(const std::filesystem::path& file, std::string_view key, const toml::node& value,
                  Config& config) {
  if (key == "recipe" && value.is_table()) {
    config.recipe = add_recipe(file, *value.as_table()).name;
    return true;
  }
  if (key != "recipes") return false;
  const toml::array* list = value.as_array();
  if (list == nullptr || (!list->empty() && !list->is_homogeneous(toml::node_type::table)))
    throw FileError(place(file, value.source().begin), "recipes is of another type", "tables [[recipes]]");
  for (const toml::node& entry : *list) add_recipe(file, *entry.as_table());
  return true;
}

}  // namespace

std::span<const Field> config_fields() { return kFields; }

std::vector<std::string_view> names_for(std::string_view field, const Config& config) {
  if (field == "task") return task_names();
  if (field == "model") return find_task(config.task).models;
  if (field == "optimizer") return optim::optimizer_names();
  if (field == "decay") return {"all", "matrices"};
  std::vector<std::string_view> names;
  if (field == "scaler")
    for (const amp::ScalerPolicy& policy : amp::kScalerPolicies) names.push_back(policy.name);
  if (field == "recipe")
    for (const amp::Recipe& recipe : amp::kRecipes) names.push_back(recipe.name);
  return names;
}

std::string to_string(const Field& field, const Config& config) {
  return std::visit(
      [&](auto member) {
        if constexpr (std::is_same_v<decltype(member), std::filesystem::path Config::*>)
          return (config.*member).string();
        else
          return fmt::format("{}", config.*member);
      },
      field.member);
}

std::string complaint(const Field& field, const Config& config) {
  if (!field.task.empty() && field.task != config.task &&
      to_string(field, config) != to_string(field, Config{}))
    return fmt::format("nothing: it means something for the task {} only", field.task);
  if (const auto* text = std::get_if<std::string Config::*>(&field.member)) {
    if (field.name == "prompt" || field.name == "tokenizer") return "";
    if (field.name == "recipe" && amp::find_recipe_if(config.*(*text)) != nullptr) return "";
    const auto names = names_for(field.name, config);
    if (is_one_of(config.*(*text), names)) return "";
    const std::string_view near = near_miss(config.*(*text), names);
    return join(names) + (field.name == "recipe" ? ", or the name of a format to compute in" : "") +
           (near.empty() ? "" : fmt::format("; try \"{}\"", near));
  }
  const double high = highest(field, config);
  const auto within = [&](double value) {  // false for NaN
    return (value >= field.low && value <= high) || (field.zero_is_default && value == 0);
  };
  const char* or_zero = field.zero_is_default ? ", or 0 for what the scaler says" : "";
  if (const auto* real = std::get_if<double Config::*>(&field.member)) {
    if (within(config.*(*real))) return "";
    return fmt::format("a number from {} to {}{}", field.low, high, or_zero);
  }
  double whole = field.low;
  if (const auto* wide = std::get_if<std::int64_t Config::*>(&field.member))
    whole = static_cast<double>(config.*(*wide));
  if (const auto* narrow = std::get_if<int Config::*>(&field.member)) whole = config.*(*narrow);
  if (within(whole)) return "";
  return fmt::format("a whole number from {:.0f} to {:.0f}{}", field.low, high, or_zero);
}

amp::ScalerOptions scaler_options(const Config& config) {
  amp::ScalerOptions options = amp::find_scaler_policy(config.scaler).options;
  if (config.init_scale != 0) options.init_scale = config.init_scale;
  if (config.growth_interval != 0) options.growth_interval = config.growth_interval;
  return options;
}

void validate(const Config& config) {
  for (const Field& field : kFields) {
    const std::string allowed = complaint(field, config);
    if (!allowed.empty())
      throw ValueError(field.name, fmt::format("\"{}\"", to_string(field, config)), allowed);
  }
  if (config.batch % config.accumulate != 0)
    throw ValueError("accumulate", fmt::format("{} pieces of a batch of {}", config.accumulate, config.batch),
                     "a number that divides the batch");
}

void load_config(const std::filesystem::path& file, Config& config) {
  toml::table table;
  try {
    table = toml::parse(read_file(file, "a TOML file"));
  } catch (const toml::parse_error& error) {
    throw FileError(place(file, error.source().begin), error.description(), "TOML");
  }
  Config read = config;  // a file with a mistake changes nothing
  // Another task has other defaults, wherever in the file it stands.
  if (const auto task = table["task"].value<std::string>();
      task && *task != read.task && is_one_of(*task, task_names()))
    read = default_config(*task);
  for (const auto& [key, value] : table) {
    const std::string_view name = key.str();
    if (read_recipes(file, name, value, read)) continue;
    const Field* field = std::find_if(std::begin(kFields), std::end(kFields),
                                      [&](const Field& known) { return known.name == name; });
    if (field == std::end(kFields))
      throw FileError(place(file, key.source().begin), fmt::format("the unknown key \"{}\"", name), "",
                      suggestion(name));
    const std::string expected = assign(read, field->member, value);
    if (!expected.empty())
      throw FileError(place(file, value.source().begin), fmt::format("{} is of another type", name),
                      expected);
  }
  // All keys are known now: which models there are depends on the task, wherever in the file it stands.
  for (const Field& field : kFields) {
    const toml::node* value = table.get(field.name);
    const std::string allowed = value ? complaint(field, read) : "";
    if (!allowed.empty())
      throw FileError(place(file, value->source().begin),
                      fmt::format("{} = \"{}\"", field.name, to_string(field, read)), allowed);
  }
  config = read;
}

}  // namespace halftone::train
