// SPDX-License-Identifier: Apache-2.0
#include "train/task.h"

#include <fmt/format.h>

#include <deque>

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

std::string join(const std::vector<std::string_view>& names) {
  std::string text;
  for (const std::string_view name : names) text += (text.empty() ? "" : ", ") + std::string(name);
  return text;
}

std::vector<std::string_view> task_names() {
  std::vector<std::string_view> names;
  for (const TaskEntry& task : registry()) names.push_back(task.name);
  return names;
}

}  // namespace halftone::train
