// SPDX-License-Identifier: Apache-2.0
//
// What a person sees while a run goes on, on standard error: a bar that moves if it is a terminal, else a
// line per epoch.
#pragma once

#include <atomic>
#include <chrono>
#include <string>

#include "halftone/train.h"

namespace halftone::cli {

class ProgressDisplay {
 public:
  explicit ProgressDisplay(std::string name = "");  // goes before every line
  ~ProgressDisplay() { clear(); }
  ProgressDisplay(const ProgressDisplay&) = delete;
  ProgressDisplay& operator=(const ProgressDisplay&) = delete;

  void show(const train::Progress& progress);
  void clear();  // the bar, so that a line can be printed

 private:
  std::string name_;
  bool bar_, shown_ = false;
  std::chrono::steady_clock::time_point last_{};
};

// "epoch 1 of 3: test accuracy 88.52 %, ..."
std::string epoch_line(const train::Progress& progress);
// The bar, at most `width` columns wide.
std::string bar_line(const train::Progress& progress, int width);

// Becomes true at the first SIGINT or SIGTERM. The second one ends the process as if nobody had asked.
const std::atomic<bool>& stop_requested();

}  // namespace halftone::cli
