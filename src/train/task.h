// SPDX-License-Identifier: Apache-2.0
//
// A task: data, a model and a loss under one name. The loop in run.cpp knows nothing else about what it
// trains. A new task is one file: a class like the one in fashion_mnist.cpp, and a RegisterTask.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "halftone/data.h"
#include "halftone/train.h"

namespace halftone::train {

class Task {
 public:
  virtual ~Task() = default;

  virtual std::int64_t train_count() const = 0;
  virtual std::int64_t test_count() const = 0;
  // Changes if the data does: a run can not be resumed on other data.
  virtual std::string data_fingerprint() const = 0;

  // Examples at order[begin .. end), of the training and of the test data.
  using Order = std::vector<std::int32_t>;
  virtual data::Batch train_batch(const Order& order, std::int64_t begin, std::int64_t end) const = 0;
  virtual data::Batch test_batch(const Order& order, std::int64_t begin, std::int64_t end) const = 0;

  virtual Tensor forward(const Tensor& inputs) const = 0;  // a classifier's: (batch, classes)
  virtual Tensor loss(const Tensor& outputs, const Tensor& targets) const = 0;  // the mean, float32
  virtual std::vector<Parameter> parameters() = 0;
  virtual std::vector<Parameter> buffers() = 0;

  // How a run is measured. What is here is that of a classifier of images.
  virtual Measure measure() const { return {}; }
  // Steps between evaluations, and of the whole run.
  virtual std::int64_t steps_per_epoch(const Config& config) const;
  virtual std::int64_t total_steps(const Config& config) const;
  // Something that the model makes, to be looked at; empty if it makes nothing.
  virtual std::string sample(std::uint64_t seed) {
    static_cast<void>(seed);
    return {};
  }
  // Writes the model for others to read, beside the state file.
  virtual void export_model(const std::filesystem::path& folder) { static_cast<void>(folder); }
};

struct TaskEntry {
  std::string_view name;
  std::vector<std::string_view> models;
  // What a configuration of this task is unless something else is said.
  void (*defaults)(Config& config);
  double (*default_lr)(const Config& config);
  // Loads the data and builds the model with random weights, matrices and filters stored in `parameter`.
  std::unique_ptr<Task> (*make)(const Config& config, DType parameter);
};

class RegisterTask {
 public:
  explicit RegisterTask(TaskEntry entry);
};

const TaskEntry& find_task(std::string_view name);  // throws ValueError listing the names
std::vector<std::string_view> task_names();

}  // namespace halftone::train
