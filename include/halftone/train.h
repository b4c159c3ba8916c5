// SPDX-License-Identifier: Apache-2.0
//
// The training loop over a named task, its configuration, its record and its state files.
#pragma once

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <numbers>
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
  std::string model = "cnn";  // of fashion-mnist: mlp, cnn; of text: gpt2, llama
  std::string recipe = "float16";
  std::string optimizer = "adamw";  // a name of optim::optimizer_names()
  int epochs = 3;
  int batch = 128;               // images, or windows of text, per step
  int accumulate = 1;            // in so many pieces, whose gradients are added up in float32
  double lr = 0;                 // 0: the optimizer's default for this task
  double weight_decay = 0.0005;  // SGD and Adam add it to the gradient
  std::string decay = "all";     // of what: all parameters, or matrices (not biases, nor scales of norms)
  double clip_norm = 0;          // 0: none
  double loss_weight = 1;        // multiplies the loss; small values make gradients small (ablations)
  std::int64_t seed = 1;
  std::int64_t limit = 0;          // training images, or windows of text, used; 0: all
  int threads = 0;                 // 0: all cores
  int save_every = 100;            // steps between state files
  std::string scaler = "pytorch";  // how the loss scale moves: a row of amp::kScalerPolicies
  double init_scale = 0;           // 0: the policy's
  int growth_interval = 0;         // clean steps until the scale grows; 0: the policy's
  std::filesystem::path data;      // empty: where Debian has it
  std::filesystem::path out;       // runs/NAME; empty: no files
  bool resume = false;

  // Of the task text.
  int steps = 2000;
  int evaluate_every = 250;         // steps
  std::string tokenizer = "bytes";  // bytes, bpe (trained on the text), or a tokenizer.json
  int vocabulary = 4096;            // of bpe
  int context = 256, width = 384, layers = 6, heads = 6;
  int kv_heads = 0;         // of llama: heads of keys and values; 0: as many as heads
  double dropout = 0;       // of gpt2, in its attention, too
  bool checkpoint = false;  // blocks keep only their inputs and are computed again by backward
  int sample_every = 0;     // steps between samples; 0: none
  std::string prompt = "";  // of samples; empty: a new line
};

// What a run of that task is unless something else is said. Throws ValueError listing the tasks.
Config default_config(std::string_view task);

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
// What a run counts, and by what it is judged: the share of the test images that are classified right, or the
// bits that a byte of the validation text costs.
struct Measure {
  std::string unit = "images";
  std::int64_t units_per_example = 1;
  double bytes_per_unit = 0;  // of a language model; 0: a classifier
  double flops_per_unit = 0;  // of a training step; 0: not known
  std::int64_t test_batch = 500;

  bool is_text() const { return bytes_per_unit > 0; }
  // From a mean loss per token, in nats.
  double bits_per_byte(double loss) const { return loss / std::numbers::ln2 / bytes_per_unit; }
};
// An epoch ends with an evaluation: it is a pass over the images, or `evaluate_every` steps of text.
struct EpochRecord {
  int epoch = 0;                                            // from 1
  double train_loss = 0, test_loss = 0, test_accuracy = 0;  // accuracy in [0, 1]; 0 for text
  double seconds = 0;                                       // training only, without evaluation
  double per_second = 0;                                    // images or tokens
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
  Measure measure;
  Machine machine;
  std::string started;  // UTC, ISO 8601
  std::string version;  // of halftone
  std::int64_t parameters = 0;
  std::vector<StepRecord> steps;
  std::vector<EpochRecord> epochs;
  std::vector<SkipRecord> skips;
  double seconds = 0;              // wall time of all parts of the run, evaluation included
  std::int64_t peak_memory = 0;    // bytes of tensors (allocator), of the largest part
  std::int64_t peak_resident = 0;  // bytes of the process (VmHWM), of the largest part
  double matmul_gflops_float32 = 0, matmul_gflops_compute = 0;  // of `machine`, before it trained
  std::int64_t resumed_from = 0;                                // step, 0 if from the start
  bool finished = false;
  bool finished_before = false;  // read from its state file: nothing was left to train
  std::string failure;           // what ended the run early, if something did; empty when it was only stopped
  double accuracy() const { return epochs.empty() ? 0 : epochs.back().test_accuracy; }
  // Accuracy, or bits per byte of the validation text, at the end.
  double score() const {
    if (!measure.is_text()) return accuracy();
    return epochs.empty() ? 0 : measure.bits_per_byte(epochs.back().test_loss);
  }
};

// Running.

struct Progress {
  std::int64_t step, total_steps;  // done so far, of the whole run
  int epoch, epochs;               // from 1
  float loss, scale;
  std::int64_t skips;
  double per_second, seconds_left;    // images or tokens
  const EpochRecord* finished_epoch;  // not null once per epoch, after evaluation
  const Measure& measure;
  double of_roofline;  // of the matmul rate of the compute format in this process; 0: not known
  std::string sample;  // text, now and then
};

// Trains and evaluates. Writes config.out/state.safetensors every save_every steps, at the end of every epoch
// and when `stop` becomes true; then returns with finished == false. So does a run that cannot go on, because
// its loss is not finite or too many steps in a row were skipped: `failure` says why. With config.resume,
// continues from that file and ends with the bits of an uninterrupted run; throws ValueError if the file
// belongs to another configuration, FileError if another process trains in that folder.
RunRecord run(const Config& config, const std::function<void(const Progress&)>& progress = {},
              const std::atomic<bool>* stop = nullptr);

// Throws ValueError if that folder holds a run, a comparison or a model, of whose files a new run would
// replace some.
void refuse_to_overwrite(const std::filesystem::path& out);

// The state file of a run directory.
inline std::filesystem::path state_file(const std::filesystem::path& out) {
  return out / "state.safetensors";
}

}  // namespace halftone::train
