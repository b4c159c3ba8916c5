// SPDX-License-Identifier: Apache-2.0
#include "train/task.h"

#include <fmt/format.h>

#include <deque>

#include "base/join.h"

namespace halftone::train {
namespace {

// A deque, so that references stay good; a function, so that it exists before the first registration.
std::deque<TaskEntry>& registry() {
  static std::deque<TaskEntry> tasks;
  return tasks;
}

}  // namespace

RegisterTask::RegisterTask(TaskEntry entry) { registry().push_back(std::move(entry)); }

const TaskEntry& find_task(std::string_view name) {
  for (const TaskEntry& task : registry())
    if (task.name == name) return task;
  throw ValueError("task", fmt::format("\"{}\"", name), join(task_names()));
}

Config default_config(std::string_view task) {
  Config config;
  config.task = task;
  find_task(task).defaults(config);
  return config;
}

std::int64_t Task::steps_per_epoch(const Config& config) const {
  const std::int64_t count = config.limit > 0 ? config.limit : train_count();
  return (count + config.batch - 1) / config.batch;
}

std::int64_t Task::total_steps(const Config& config) const { return steps_per_epoch(config) * config.epochs; }

std::vector<std::string_view> task_names() {
  std::vector<std::string_view> names;
  for (const TaskEntry& task : registry()) names.push_back(task.name);
  return names;
}

}  // namespace halftone::train
