// SPDX-License-Identifier: Apache-2.0
//
// The training loop over a named task, its configuration, its record and its state files.
#pragma once

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "halftone/amp.h"
#include "halftone/autograd.h"
#include "halftone/tensor.h"

namespace halftone::train {

// State files.
//
// The safetensors
// layout: 8 bytes little-endian header length, a JSON header, then the tensors' bytes.

struct State {
  std::vector<Parameter> tensors;
  std::map<std::string, std::string> metadata;
};

// Writes to a temporary file beside `file`, flushes it to disk and renames: a reader sees the old file or the
// new one, whole. Throws FileError.
void save_state(const std::filesystem::path& file, const State& state);

// Reads and validates everything before returning: header length, JSON, names, formats, offsets that tile the
// file exactly. Throws FileError naming file and place.
State load_state(const std::filesystem::path& file);

// Configuration.

struct Config {
  std::string task = "fashion-mnist";
  std::string model = "cnn";  // mlp | cnn
  std::string recipe = "float16";
  std::string optimizer = "adamw";  // a name of optim::optimizer_names()
  int epochs = 3;
  int batch = 128;
  double lr = 0;                 // 0: the optimizer's default for this task
  double weight_decay = 0.0005;  // SGD and Adam add it to the gradient
  double clip_norm = 0;          // 0: none
  double loss_weight = 1;        // multiplies the loss; small values make gradients small (ablations)
  std::int64_t seed = 1;
  std::int64_t limit = 0;          // training images used; 0: all
  int threads = 0;                 // 0: all cores
  int save_every = 100;            // steps between state files
  std::string scaler = "pytorch";  // how the loss scale moves: a row of amp::kScalerPolicies
  double init_scale = 0;           // 0: the policy's
  int growth_interval = 0;         // clean steps until the scale grows; 0: the policy's
  std::filesystem::path data = "/usr/share/datasets/fashion-mnist";
  std::filesystem::path out;  // runs/NAME; empty: no files
  bool resume = false;
};

// Reads a TOML file onto `config`: top-level keys named as the fields above; a table [recipe] (or several
// [[recipes]]) with the fields of amp::Recipe makes recipes of your own known by their names. Throws
// FileError naming file, line and key for an unknown key, a wrong type or a value out of range.
void load_config(const std::filesystem::path& file, Config& config);
// Throws ValueError naming the field and what is allowed.
void validate(const Config& config);
// The policy `scaler` with what `init_scale` and `growth_interval` say instead.
amp::ScalerOptions scaler_options(const Config& config);

// The record of a run.

struct StepRecord {
  float loss = 0, scale = 1;
  bool applied = true;
};
struct EpochRecord {
  int epoch = 0;                                            // from 1
  double train_loss = 0, test_loss = 0, test_accuracy = 0;  // accuracy in [0, 1]
  double seconds = 0;                                       // training only, without evaluation
  double images_per_second = 0;
};
struct SkipRecord {
  std::int64_t step = 0;
  float scale = 1;
  std::string culprit;
};
struct Machine {
  std::string processor, simd;
  int cores = 0, threads = 0;
  std::string wait_policy;  // OMP_WAIT_POLICY
};
struct RunRecord {
  Config config;
  Machine machine;
  std::string started;  // UTC, ISO 8601
  std::string version;  // of halftone
  std::int64_t parameters = 0;
  std::vector<StepRecord> steps;
  std::vector<EpochRecord> epochs;
  std::vector<SkipRecord> skips;
  double seconds = 0;              // wall time of this process's part, evaluation included
  std::int64_t peak_memory = 0;    // bytes of tensors (allocator)
  std::int64_t peak_resident = 0;  // bytes of the process (VmHWM)
  double matmul_gflops_float32 = 0, matmul_gflops_compute = 0;  // measured in this process
  std::int64_t resumed_from = 0;                                // step, 0 if from the start
  bool finished = false;
  std::string failure;  // what ended the run early, if something did; empty when it was only stopped
  double accuracy() const { return epochs.empty() ? 0 : epochs.back().test_accuracy; }
};

// Running.

struct Progress {
  std::int64_t step, total_steps;  // done so far, of the whole run
  int epoch, epochs;               // from 1
  float loss, scale;
  std::int64_t skips;
  double images_per_second, seconds_left;
  const EpochRecord* finished_epoch;  // not null once per epoch, after evaluation
};

// Trains and evaluates. Writes config.out/state.safetensors every save_every steps, at the end of every epoch
// and when `stop` becomes true (then returns with finished == false). With config.resume, continues from that
// file and ends with the bits of an uninterrupted run (same threads); throws ValueError if the file belongs
// to another configuration.
RunRecord run(const Config& config, const std::function<void(const Progress&)>& progress = {},
              const std::atomic<bool>* stop = nullptr);

// The state file of a run directory.
inline std::filesystem::path state_file(const std::filesystem::path& out) {
  return out / "state.safetensors";
}

}  // namespace halftone::train
