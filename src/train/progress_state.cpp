// SPDX-License-Identifier: Apache-2.0
#include "train/progress_state.h"

#include <fmt/format.h>

#include <cstring>
#include <nlohmann/json.hpp>
#include <unordered_map>

#include "train/config.h"
#include "train/machine.h"

namespace halftone::train {
namespace {

using Json = nlohmann::json;

constexpr std::string_view kLayout = "2";  // of what is below; a file of another layout is refused
constexpr int kEpochColumns = 6;

// ---- The record as tensors: rows of numbers, exact.
// ---------------------------------------------------------

template <class T, class Record, class Get>
Tensor column(const std::vector<Record>& records, DType dtype, Get get) {
  Tensor values = empty({static_cast<std::int64_t>(records.size())}, dtype);
  T* value = values.mutable_data<T>();
  for (const Record& record : records) *value++ = static_cast<T>(get(record));
  return values;
}

void add_record(State& state, const RunRecord& record) {
  state.tensors.push_back(
      {"record.loss", column<float>(record.steps, float32, [](const StepRecord& s) { return s.loss; })});
  state.tensors.push_back(
      {"record.scale", column<float>(record.steps, float32, [](const StepRecord& s) { return s.scale; })});
  state.tensors.push_back(
      {"record.applied",
       column<std::uint8_t>(record.steps, uint8, [](const StepRecord& s) { return s.applied; })});
  Tensor epochs = empty({static_cast<std::int64_t>(record.epochs.size()), kEpochColumns}, float64);
  double* value = epochs.mutable_data<double>();
  for (const EpochRecord& e : record.epochs)
    for (const double number :
         {static_cast<double>(e.epoch), e.train_loss, e.test_loss, e.test_accuracy, e.seconds, e.per_second})
      *value++ = number;
  state.tensors.push_back({"record.epochs", epochs});
  Json skips = Json::array();
  for (const SkipRecord& skip : record.skips)
    skips.push_back({{"step", skip.step}, {"scale", skip.scale}, {"culprit", skip.culprit}});
  state.metadata["skips"] = skips.dump();
}

// ---- The scaler.
// --------------------------------------------------------------------------------------------

Json scaler_json(const amp::ScalerState& state) {
  return {{"scale", state.scale},
          {"clean_steps", state.clean_steps},
          {"skips_in_a_row", state.skips_in_a_row},
          {"skips", state.skips},
          {"tolerated", state.tolerated},
          {"skips_at_floor", state.skips_at_floor},
          {"enabled", state.enabled},
          {"history",
           {{"steps", state.history.steps},
            {"mean", state.history.mean},
            {"variance", state.history.variance},
            {"overflowed", state.history.overflowed}}}};
}

amp::ScalerState read_scaler(const Json& json) {
  const Json& history = json.at("history");
  return {.scale = json.at("scale").get<float>(),
          .clean_steps = json.at("clean_steps").get<int>(),
          .skips_in_a_row = json.at("skips_in_a_row").get<int>(),
          .skips = json.at("skips").get<std::int64_t>(),
          .tolerated = json.at("tolerated").get<int>(),
          .skips_at_floor = json.at("skips_at_floor").get<int>(),
          .enabled = json.at("enabled").get<bool>(),
          .history = {.steps = history.at("steps").get<std::int64_t>(),
                      .mean = history.at("mean").get<double>(),
                      .variance = history.at("variance").get<double>(),
                      .overflowed = history.at("overflowed").get<bool>()}};
}

// All of a recipe: its name may stand for another one in a configuration file that has changed since.
std::string fields_of(const std::string& name) {
  const amp::Recipe& recipe = amp::find_recipe(name);
  const amp::Operands& operands = recipe.operands;
  return fmt::format("compute {}, parameter {}, master {}, scaling {}, operands {} {} {} {}, state {}",
                     recipe.compute.name(), recipe.parameter.name(), to_string(recipe.master),
                     to_string(recipe.scaling), to_string(operands.scaling), operands.forward,
                     operands.gradient, halftone::name(operands.gradient_rounding), recipe.state.name());
}

// ---- Reading back.
// ------------------------------------------------------------------------------------------

class Unpacker {
 public:
  Unpacker(const State& state, const std::filesystem::path& file) : state_(state), file_(file) {
    for (const Parameter& tensor : state.tensors) tensors_.emplace(tensor.name, tensor.value);
  }

  void check_belongs(const RunParts& parts) const {
    const auto layout = state_.metadata.find("halftone.run");
    if (layout == state_.metadata.end())
      throw FileError(file_.string(), "not the state of a halftone run", "metadata with halftone.run",
                      "another --out");
    if (layout->second != kLayout)
      throw FileError(file_.string(), fmt::format("state layout {}", layout->second),
                      fmt::format("layout {}", kLayout));
    for (const Field& field : config_fields()) {
      if (!field.changes_bits) continue;
      const std::string key = fmt::format("config.{}", field.name);
      const bool is_older = field.is_later && !state_.metadata.contains(key);
      check_same(field.name, is_older ? to_string(field, Config{}) : text(key),
                 to_string(field, parts.record.config));
    }
    check_same("recipe", text("recipe"), fields_of(parts.record.config.recipe));
    if (text("config.data") != parts.data)
      throw ValueError(
          "resume", fmt::format("data of checksum {}", parts.data),
          fmt::format("{}, those of {}", text("config.data"), file_.string()),
          "the files (of a text: and the tokenizer) that the run was started with, or a new --out");
  }

  const Tensor& tensor(const std::string& name, DType dtype, const Shape& shape) {
    const auto found = tensors_.find(name);
    if (found == tensors_.end()) fail(fmt::format("tensor \"{}\" is missing", name), "");
    const Tensor& value = found->second;
    if (value.dtype() != dtype || !(value.shape() == shape))
      fail(fmt::format("tensor \"{}\" is {} {}", name, value.dtype().name(), to_string(value.shape())),
           fmt::format("{} {}", dtype.name(), to_string(shape)));
    ++used_;
    return value;
  }

  std::int64_t length(const std::string& name) const {
    const auto found = tensors_.find(name);
    if (found == tensors_.end() || found->second.rank() == 0)
      fail(fmt::format("tensor \"{}\" is missing", name), "");
    return found->second.size(0);
  }

  void expect_nothing_else() const {
    if (used_ != tensors_.size()) fail(fmt::format("{} tensors", tensors_.size()), fmt::format("{}", used_));
  }

  Json json(const std::string& key) const {
    const Json value = Json::parse(text(key), nullptr, false);
    if (value.is_discarded()) fail(fmt::format("metadata \"{}\"", key), "JSON");
    return value;
  }

  const std::string& text(const std::string& key) const {
    const auto found = state_.metadata.find(key);
    if (found == state_.metadata.end()) fail(fmt::format("metadata \"{}\" is missing", key), "");
    return found->second;
  }

  [[noreturn]] void fail(const std::string& given, const std::string& expected) const {
    throw FileError(file_.string(), given, expected, "an intact state file, or a new --out");
  }

 private:
  void check_same(std::string_view field, const std::string& saved, const std::string& wanted) const {
    if (saved != wanted)
      throw ValueError("resume", fmt::format("{} = {}", field, wanted),
                       fmt::format("{} as in {}", saved, file_.string()),
                       "the options that the run was started with, or a new --out");
  }

  const State& state_;
  const std::filesystem::path& file_;
  std::unordered_map<std::string, Tensor> tensors_;
  std::size_t used_ = 0;
};

std::vector<StepRecord> read_steps(Unpacker& from) {
  const std::int64_t count = from.length("record.loss");
  const auto* loss = from.tensor("record.loss", float32, {count}).data<float>();
  const auto* scale = from.tensor("record.scale", float32, {count}).data<float>();
  const auto* applied = from.tensor("record.applied", uint8, {count}).data<std::uint8_t>();
  std::vector<StepRecord> steps(static_cast<std::size_t>(count));
  for (StepRecord& step : steps) step = {*loss++, *scale++, *applied++ != 0};
  return steps;
}

std::vector<EpochRecord> read_epochs(Unpacker& from, int most) {
  const std::int64_t count = from.length("record.epochs");
  const auto* row = from.tensor("record.epochs", float64, {count, kEpochColumns}).data<double>();
  if (count > most) from.fail(fmt::format("{} epochs", count), fmt::format("at most {}", most));
  std::vector<EpochRecord> epochs(static_cast<std::size_t>(count));
  int number = 0;
  for (EpochRecord& epoch : epochs) {
    epoch = {++number, row[1], row[2], row[3], row[4], row[5]};
    row += kEpochColumns;
  }
  return epochs;
}

}  // namespace

State pack(const RunParts& parts) {
  State state;
  state.metadata.emplace("halftone.run", kLayout);
  state.metadata["halftone.version"] = parts.record.version;
  for (const Field& field : config_fields())
    if (field.changes_bits)
      state.metadata[fmt::format("config.{}", field.name)] = to_string(field, parts.record.config);
  state.metadata["recipe"] = fields_of(parts.record.config.recipe);
  state.metadata["config.data"] = parts.data;
  state.metadata["progress"] = Json{{"optimizer_steps", parts.optimizer.steps()},
                                    {"scaler", scaler_json(parts.scaler.state())},
                                    {"random_index", thread_state().random_index},
                                    {"epoch_seconds", parts.epoch_seconds},
                                    {"started", parts.record.started},
                                    {"seconds", parts.record.seconds},
                                    {"peak_memory", parts.record.peak_memory},
                                    {"peak_resident", parts.record.peak_resident},
                                    {"machine", machine_json(parts.record.machine)},
                                    {"matmul_gflops_float32", parts.record.matmul_gflops_float32},
                                    {"matmul_gflops_compute", parts.record.matmul_gflops_compute}}
                                   .dump();
  for (const Parameter& tensor : parts.parameters)
    state.tensors.push_back({"model." + tensor.name, tensor.value});
  for (const Parameter& tensor : parts.buffers)
    state.tensors.push_back({"model." + tensor.name, tensor.value});
  for (const Parameter& tensor : parts.optimizer.state())
    state.tensors.push_back({"optimizer." + tensor.name, tensor.value});
  add_record(state, parts.record);
  return state;
}

void unpack(const State& state, const std::filesystem::path& file, const RunParts& parts) {
  Unpacker from(state, file);
  from.check_belongs(parts);

  std::vector<std::pair<Tensor, Tensor>> assignments;  // to, from
  const auto plan = [&](const std::string& prefix, const std::vector<Parameter>& tensors) {
    for (const Parameter& to : tensors)
      assignments.emplace_back(to.value, from.tensor(prefix + to.name, to.value.dtype(), to.value.shape()));
  };
  plan("model.", parts.parameters);
  plan("model.", parts.buffers);
  plan("optimizer.", parts.optimizer.state());
  std::vector<StepRecord> steps = read_steps(from);
  std::vector<EpochRecord> epochs = read_epochs(from, parts.epochs);
  from.expect_nothing_else();

  try {
    const Json progress = from.json("progress");
    const amp::ScalerState scaler = read_scaler(progress.at("scaler"));
    const auto optimizer_steps = progress.at("optimizer_steps").get<std::int64_t>();
    const auto random_index = progress.at("random_index").get<std::uint64_t>();
    const auto epoch_seconds = progress.at("epoch_seconds").get<double>();
    const std::string& version = from.text("halftone.version");
    const auto started = progress.at("started").get<std::string>();
    // Older files say neither what the run has cost nor where.
    const double seconds = progress.value("seconds", 0.0);
    const auto peak_memory = progress.value<std::int64_t>("peak_memory", 0);
    const auto peak_resident = progress.value<std::int64_t>("peak_resident", 0);
    const Machine machine = progress.contains("machine") ? read_machine(progress.at("machine")) : Machine();
    const double gflops_float32 = progress.value("matmul_gflops_float32", 0.0);
    const double gflops_compute = progress.value("matmul_gflops_compute", 0.0);
    std::vector<SkipRecord> skips;
    for (const Json& skip : from.json("skips"))
      skips.push_back({skip.at("step").get<std::int64_t>(), skip.at("scale").get<float>(),
                       skip.at("culprit").get<std::string>()});
    if (optimizer_steps < 0 || optimizer_steps > static_cast<std::int64_t>(steps.size()))
      from.fail(fmt::format("{} optimizer steps", optimizer_steps), fmt::format("0 to {}", steps.size()));

    parts.scaler.load(scaler);  // validates; from here on nothing throws
    for (auto& [to, bytes] : assignments)
      std::memcpy(to.raw_mutable(), bytes.raw(), static_cast<std::size_t>(to.bytes()));
    parts.optimizer.set_steps(optimizer_steps);
    thread_state().random_index = random_index;
    parts.epoch_seconds = epoch_seconds;
    parts.record.version = version;
    parts.record.started = started;
    parts.record.machine = machine;
    parts.record.matmul_gflops_float32 = gflops_float32;
    parts.record.matmul_gflops_compute = gflops_compute;
    parts.record.seconds = seconds;
    parts.record.peak_memory = peak_memory;
    parts.record.peak_resident = peak_resident;
    parts.record.steps = std::move(steps);
    parts.record.epochs = std::move(epochs);
    parts.record.skips = std::move(skips);
  } catch (const Json::exception& error) {
    from.fail(fmt::format("metadata: {}", error.what()), "numbers and texts as halftone writes them");
  }
}

}  // namespace halftone::train
