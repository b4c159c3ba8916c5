// SPDX-License-Identifier: Apache-2.0
#include "cli/bench_trace.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

namespace halftone::cli {
namespace {

using Json = nlohmann::ordered_json;

Json name_event(const char* what, std::size_t process, std::size_t thread, const std::string& name) {
  return {{"name", what}, {"ph", "M"}, {"pid", process}, {"tid", thread}, {"args", {{"name", name}}}};
}

// Names are ours or an op's, whatever its author chose.
std::string line(const Json& event) { return event.dump(-1, ' ', false, Json::error_handler_t::replace); }

Json complete(const profile::Event& event, std::size_t process, std::size_t thread) {
  std::string name(event.name);
  if (!event.part.empty()) name += " " + std::string(event.part);
  if (event.role == profile::Role::loop) name += " (loop)";
  if (event.role == profile::Role::chunk) name += " (share)";
  return {{"name", name},
          {"cat", std::string(to_string(event.kind))},
          {"ph", "X"},
          {"pid", process},
          {"tid", thread},
          {"ts", static_cast<double>(event.begin) / 1000},
          {"dur", static_cast<double>(event.end - event.begin) / 1000}};
}

}  // namespace

std::string trace_json(const std::vector<std::pair<std::string, const profile::Recording*>>& recordings) {
  std::string lines;
  const auto add = [&](const Json& event) { lines += (lines.empty() ? "[\n" : ",\n") + line(event); };
  for (std::size_t process = 0; process < recordings.size(); ++process) {
    const auto& threads = recordings[process].second->of_thread;
    add(name_event("process_name", process, 0, recordings[process].first));
    for (std::size_t thread = 0; thread < threads.size(); ++thread) {
      add(name_event("thread_name", process, thread,
                     thread == 0 ? "caller" : fmt::format("worker {}", thread)));
      for (const profile::Event& event : threads[thread]) add(complete(event, process, thread));
    }
  }
  return lines.empty() ? "[]\n" : lines + "\n]\n";
}

}  // namespace halftone::cli
