// SPDX-License-Identifier: Apache-2.0
//
// The training loop. Where it stands is how many steps and epochs its record has, and every random choice is
// a function of the seed and that position: so it can stop after any step, and a state file is all it needs
// to go on as if it had not.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <memory>
#include <numeric>

#include "base/utc_time.h"
#include "halftone/error.h"
#include "halftone/ops.h"
#include "halftone/optim.h"
#include "halftone/parallel.h"
#include "train/folder_lock.h"
#include "train/machine.h"
#include "train/progress_state.h"
#include "train/task.h"
#include "train/version.h"

namespace halftone::train {
namespace {

constexpr double kWarmup = 0.05;  // of all steps

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

// Gives the caller back what a run changes about its thread: random numbers, modes, thread count.
class CallerScope {
 public:
  explicit CallerScope(int threads) : state_(thread_state()), threads_(thread_count()) {
    if (threads > 0) set_thread_count(threads);
  }
  ~CallerScope() {
    thread_state() = state_;
    set_thread_count(threads_);
  }
  CallerScope(const CallerScope&) = delete;
  CallerScope& operator=(const CallerScope&) = delete;

 private:
  ThreadState state_;
  int threads_;
};

Config resolved(Config config) {
  if (config.lr == 0) config.lr = find_task(config.task).default_lr(config);
  config.threads = thread_count();
  const amp::ScalerOptions scaler = scaler_options(config);
  config.init_scale = scaler.init_scale;
  config.growth_interval = scaler.growth_interval;
  return config;
}

std::unique_ptr<amp::Optimizer> make_optimizer(const Config& config, const amp::Recipe& recipe,
                                               std::vector<Parameter> parameters) {
  std::vector<std::pair<std::string_view, double>> options{{"lr", config.lr},
                                                           {"weight_decay", config.weight_decay}};
  if (config.optimizer == "sgd") options.emplace_back("momentum", 0.9);
  auto optimizer = optim::make_optimizer(config.optimizer, std::move(parameters), recipe, options);
  if (config.decay == "matrices")
    optimizer->adjust([](const Parameter& p) { return p.value.rank() < 2; }, {.weight_decay = 0});
  return optimizer;
}

// Rows whose largest output is the target's. A row with a NaN is wrong, whatever std::max_element makes of
// it.
std::int64_t count_correct(const Tensor& outputs, const Tensor& targets) {
  const std::vector<double> values = outputs.to_vector();
  const std::int64_t classes = outputs.size(-1);
  const auto* target = targets.data<std::int32_t>();
  std::int64_t correct = 0;
  for (auto row = values.begin(); row != values.end(); row += classes, ++target) {
    const bool is_number = std::none_of(row, row + classes, [](double value) { return std::isnan(value); });
    correct += is_number && std::max_element(row, row + classes) - row == *target;
  }
  return correct;
}

// Refuses, before any work is done, what would end in a lost or mixed-up run.
void check_out(const Config& config) {
  if (config.out.empty()) {
    if (config.resume)
      throw ValueError("resume", "no folder to resume from", "", "--out with the run's folder");
    return;
  }
  std::error_code error;
  if (config.resume && !std::filesystem::exists(state_file(config.out), error))
    throw FileError(state_file(config.out).string(), "no state file to resume from", "",
                    "another --out, or starting the run without --resume");
  if (!config.resume) refuse_to_overwrite(config.out);
  std::filesystem::create_directories(config.out, error);
  if (error) throw FileError(config.out.string(), error.message(), "a folder to write to", "another --out");
}

class Run {
 public:
  Run(const Config& config, const std::function<void(const Progress&)>& progress,
      const std::atomic<bool>* stop)
      : config_(config),
        recipe_(amp::find_recipe(config.recipe)),
        report_(progress),
        stop_(stop),
        task_((manual_seed(static_cast<std::uint64_t>(config.seed)),
               find_task(config.task).make(config, recipe_.parameter))),
        optimizer_(make_optimizer(config, recipe_, task_->parameters())),
        step_(*optimizer_, recipe_, task_->buffers(), {.clip_norm = config.clip_norm},
              scaler_options(config)),
        measure_(task_->measure()) {
    if (config.limit > task_->train_count())
      throw ValueError("limit", fmt::format("{}", config.limit),
                       fmt::format("at most {}", task_->train_count()));
    count_ = config.limit > 0 ? config.limit : task_->train_count();
    steps_per_pass_ = (count_ + config.batch - 1) / config.batch;
    steps_per_epoch_ = task_->steps_per_epoch(config);
    total_steps_ = task_->total_steps(config);
    epochs_ = static_cast<int>((total_steps_ + steps_per_epoch_ - 1) / steps_per_epoch_);
    data_ = task_->data_fingerprint();

    record_.config = config;
    record_.measure = measure_;
    record_.started = utc_now();
    for (const Parameter& parameter : task_->parameters()) record_.parameters += parameter.value.count();
  }

  RunRecord go() {
    if (config_.resume) {
      resume();
      record_.finished = finished();
      const bool complete = record_.matmul_gflops_compute > 0;  // not of an older file
      record_.finished_before = record_.finished && complete;
      if (record_.finished_before) return std::move(record_);
    }
    describe_process();
    if (!config_.resume) save();  // from now on the run can be resumed, whatever happens to the process
    try {
      bool going_on = true;
      while (going_on && !finished()) going_on = train_epoch() && evaluate();
      record_.finished = finished();
      if (!record_.finished) save();
    } catch (const NonFiniteError& error) {  // the last state file stays: of weights that could go on
      record_.failure = error.what();
      count_costs();
    }
    return std::move(record_);
  }

 private:
  // Where the run goes on, and how fast.
  void describe_process() {
    record_.version = kVersion;
    record_.machine = describe_machine();
    record_.matmul_gflops_float32 = matmul_gflops(float32);
    record_.matmul_gflops_compute =
        recipe_.compute == float32 ? record_.matmul_gflops_float32 : matmul_gflops(recipe_.compute);
    reset_peak_memory();
  }

  bool finished() const { return static_cast<int>(record_.epochs.size()) == epochs_; }
  bool stopped() const { return stop_ != nullptr && stop_->load(); }
  std::int64_t done() const { return static_cast<std::int64_t>(record_.steps.size()); }

  // The rest of the epoch in progress; false if told to stop.
  bool train_epoch() {
    const auto epoch = static_cast<std::int64_t>(record_.epochs.size());
    Task::Order order;
    for (std::int64_t pass = -1; done() < std::min((epoch + 1) * steps_per_epoch_, total_steps_);) {
      if (stopped()) return false;
      const std::int64_t step = done() - epoch * steps_per_epoch_;
      if (const std::int64_t now = step / steps_per_pass_; now != pass) {
        pass = now;
        order = data::shuffled(count_, static_cast<std::uint64_t>(config_.seed),
                               static_cast<std::uint64_t>(epoch + pass * epochs_));
      }
      const std::int64_t begin = step % steps_per_pass_ * config_.batch;
      train_step(order, begin, std::min(begin + config_.batch, count_));
      tell(static_cast<int>(epoch) + 1, nullptr);
      if (done() % config_.save_every == 0) save();
    }
    return true;
  }

  void train_step(const Task::Order& order, std::int64_t begin, std::int64_t end) {
    const auto start = Clock::now();
    const auto warmup = static_cast<std::int64_t>(kWarmup * static_cast<double>(total_steps_));
    optimizer_->set_lr(optim::warmup_cosine(optimizer_->steps(), warmup, total_steps_, config_.lr));
    const amp::StepResult result = run_step(order, begin, end);
    if (result.outcome == amp::StepOutcome::loss_not_finite)
      amp::throw_non_finite(fmt::format("step {}", done() + 1),
                            result);  // the weights stay non-finite or blind
    record_.steps.push_back(
        {static_cast<float>(step_.loss() / config_.loss_weight), result.scale, result.applied()});
    if (!result.applied()) record_.skips.push_back({done(), result.scale, result.culprit});
    const double seconds = seconds_since(start);
    epoch_seconds_ += seconds;
    trained_seconds_ += seconds;
    trained_units_ += (end - begin) * measure_.units_per_example;
  }

  Tensor loss_of(const Task::Order& order, std::int64_t begin, std::int64_t end) const {
    const data::Batch batch = task_->train_batch(order, begin, end);
    const Tensor loss = task_->loss(task_->forward(batch.inputs), batch.targets);
    return config_.loss_weight == 1 ? loss : loss * config_.loss_weight;
  }

  amp::StepResult run_step(const Task::Order& order, std::int64_t begin, std::int64_t end) {
    if (config_.accumulate == 1) return step_([&](int) { return loss_of(order, begin, end); });
    // The last batch of an epoch may be a smaller one: pieces then count by what is in them.
    const std::int64_t piece = config_.batch / config_.accumulate;
    const auto weighted = [&](int micro) {
      const std::int64_t first = begin + micro * piece, last = std::min(first + piece, end);
      const auto examples = static_cast<double>(last - first);
      return amp::WeightedLoss{loss_of(order, first, last) * examples, examples};
    };
    return step_(weighted, static_cast<int>((end - begin + piece - 1) / piece));
  }

  // Ends the epoch: its record, with the test data's loss and accuracy. False if told to stop.
  bool evaluate() {
    const auto start = Clock::now();
    Task::Order order(static_cast<std::size_t>(task_->test_count()));
    std::iota(order.begin(), order.end(), 0);
    double loss = 0;
    std::int64_t correct = 0;
    for (std::int64_t begin = 0; begin < task_->test_count(); begin += measure_.test_batch) {
      if (stopped()) return false;
      const std::int64_t end = std::min(begin + measure_.test_batch, task_->test_count());
      const data::Batch batch = task_->test_batch(order, begin, end);
      inference([&] {
        amp::autocast(step_.casting(), [&] {
          const Tensor outputs = task_->forward(batch.inputs);
          loss += task_->loss(outputs, batch.targets).item() * static_cast<double>(end - begin);
          if (!measure_.is_text()) correct += count_correct(outputs, batch.targets);
        });
      });
    }
    const auto tests = static_cast<double>(task_->test_count());
    const int epoch = static_cast<int>(record_.epochs.size()) + 1;
    record_.epochs.push_back({epoch, epoch_loss(), loss / tests, static_cast<double>(correct) / tests,
                              epoch_seconds_, epoch_units() / epoch_seconds_});
    epoch_seconds_ = 0;
    evaluation_seconds_ = seconds_since(start);
    if (!config_.out.empty()) task_->export_model(config_.out);  // first: a finished run has its model
    save();
    tell(epoch, &record_.epochs.back());
    return true;
  }

  // Of the epoch just trained: its first step, and the examples of its step number i.
  std::int64_t first_step() const { return (done() - 1) / steps_per_epoch_ * steps_per_epoch_; }
  double examples(std::int64_t i) const {
    return static_cast<double>(
        std::min<std::int64_t>(config_.batch, count_ - i % steps_per_pass_ * config_.batch));
  }
  double epoch_examples() const {
    double sum = 0;
    for (std::int64_t i = 0; i < done() - first_step(); ++i) sum += examples(i);
    return sum;
  }
  double epoch_units() const { return epoch_examples() * static_cast<double>(measure_.units_per_example); }

  // The mean loss over the examples of the epoch just trained, each as its step saw it.
  double epoch_loss() const {
    double sum = 0;
    for (std::int64_t i = first_step(); i < done(); ++i)
      sum += record_.steps[static_cast<std::size_t>(i)].loss * examples(i - first_step());
    return sum / epoch_examples();
  }

  void tell(int epoch, const EpochRecord* finished_epoch) {
    if (!report_) return;
    const double rate = trained_seconds_ > 0 ? static_cast<double>(trained_units_) / trained_seconds_ : 0;
    const double units_left =
        static_cast<double>((total_steps_ - done()) * config_.batch * measure_.units_per_example);
    const int epochs_left = epochs_ - static_cast<int>(record_.epochs.size());
    const StepRecord& last = record_.steps.back();
    report_({.step = done(),
             .total_steps = total_steps_,
             .epoch = epoch,
             .epochs = epochs_,
             .loss = last.loss,
             .scale = step_.scaler().state().scale,
             .skips = static_cast<std::int64_t>(record_.skips.size()),
             .per_second = rate,
             .seconds_left = (rate > 0 ? units_left / rate : 0) + epochs_left * evaluation_seconds_,
             .finished_epoch = finished_epoch,
             .measure = measure_,
             .of_roofline = rate * measure_.flops_per_unit / (1e9 * record_.matmul_gflops_compute),
             .sample = finished_epoch == nullptr ? sample() : ""});
  }

  std::string sample() const {
    const bool due = config_.sample_every > 0 && done() % config_.sample_every == 0;
    return due ? task_->sample(static_cast<std::uint64_t>(done())) : "";
  }

  RunParts parts() {
    return {task_->parameters(), step_.buffers(), *optimizer_, step_.scaler(), record_, data_,
            epoch_seconds_,      epochs_};
  }

  // What the run has cost so far, in this process and in those that it was resumed from.
  void count_costs() {
    record_.seconds = seconds_before_ + seconds_since(start_);
    record_.peak_memory = std::max(record_.peak_memory, memory_stats().peak);
    record_.peak_resident = std::max(record_.peak_resident, peak_resident_bytes());
  }

  void save() {
    count_costs();
    if (!config_.out.empty()) save_state(state_file(config_.out), pack(parts()));
  }

  void resume() {
    const auto file = state_file(config_.out);
    unpack(load_state(file), file, parts());
    const auto epochs = static_cast<std::int64_t>(record_.epochs.size());
    if (done() < std::min(epochs * steps_per_epoch_, total_steps_) ||
        done() > (epochs + 1) * steps_per_epoch_ || done() > total_steps_)
      throw FileError(file.string(), fmt::format("{} steps in {} epochs", done(), epochs),
                      fmt::format("{} steps per epoch", steps_per_epoch_));
    if (!finished()) record_.resumed_from = done();
    seconds_before_ = record_.seconds;
  }

  const Clock::time_point start_ = Clock::now();
  const Config config_;  // resolved
  const amp::Recipe& recipe_;
  const std::function<void(const Progress&)>& report_;
  const std::atomic<bool>* stop_;
  const std::unique_ptr<Task> task_;
  const std::unique_ptr<amp::Optimizer> optimizer_;
  amp::Step step_;
  std::string data_;
  const Measure measure_;
  // A pass is over all examples once; an epoch, up to an evaluation, may have several, or a part of one.
  std::int64_t count_ = 0, steps_per_pass_ = 0, steps_per_epoch_ = 0, total_steps_ = 0;
  int epochs_ = 0;
  RunRecord record_;
  // Training only: neither evaluation nor the writing of state files.
  double epoch_seconds_ = 0, trained_seconds_ = 0, evaluation_seconds_ = 0;
  double seconds_before_ = 0;  // of the processes that this run was resumed from
  std::int64_t trained_units_ = 0;
};

}  // namespace

void refuse_to_overwrite(const std::filesystem::path& out) {
  std::error_code error;
  for (const char* file :
       {"state.safetensors", "record.json", "compare.json", "config.json", "tokenizer.json",
        "tokenizer_config.json", "model.safetensors", "model.safetensors.index.json"})
    if (std::filesystem::exists(out / file, error))
      throw ValueError("out", fmt::format("{}, which a run or a model is in", (out / file).string()),
                       "a folder without one", "--resume to continue that run, or another --out");
}

RunRecord run(const Config& config, const std::function<void(const Progress&)>& progress,
              const std::atomic<bool>* stop) {
  validate(config);
  check_out(config);
  const FolderLock lock(config.out);
  const CallerScope caller(config.threads);
  release_cached_memory();
  reset_peak_resident();
  return Run(resolved(config), progress, stop).go();
}

}  // namespace halftone::train
