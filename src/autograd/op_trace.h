// SPDX-License-Identifier: Apache-2.0
//
// What a checkpoint knows of the ops that its function runs: their names, shapes and formats, in order, to
// compare with when it runs again; the results that it keeps instead of computing them again; and the slots
// from outside that they use. Ops report to every trace of the thread (op/apply.cpp), so checkpoints nest.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "autograd/node.h"

namespace halftone::detail {

// The result of an op and what else it leaves behind.
struct OpResult {
  Tensor output;
  std::vector<Tensor> saved;         // for its backward
  std::uint64_t random_numbers = 0;  // how many it drew
};

class OpTrace {
 public:
  explicit OpTrace(std::vector<std::string> keep = {}) : keep_(std::move(keep)) {}

  // For as long as it lives, the ops of this thread are recorded, or compared with the record. finish()
  // throws Error if ops are missing.
  class Scope {
   public:
    enum class Mode { record, compare };
    Scope(OpTrace& trace, Mode mode);
    ~Scope();
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;
    void finish() const;

   private:
    friend class OpTrace;
    OpTrace& trace_;
    Mode mode_;
    std::size_t position_ = 0;
    Scope* outer_;
  };

  // The three calls of an op: before it runs, which throws Error if the record has another op here, and gives
  // its result if that was kept; what it is applied to; and what came out, which throws Error likewise.
  static bool active();
  static const OpResult* begin(std::string_view op);
  static void uses(const Tensor& operand);
  static void end(std::string_view op, const OpResult& result);

  // Of the recorded run, each once, in order of first use. Hands them over: a chain of checkpoints must not
  // hang together by more than Node::inputs.
  std::vector<std::shared_ptr<Slot>> take_used() { return std::exchange(used_, {}); }

 private:
  struct Entry {
    std::string_view op;
    Shape shape;
    DType dtype;
    int kept;  // index into kept_, or -1
  };
  struct Kept {
    OpResult result;
    std::uint64_t version;
  };

  void add(std::string_view op, const OpResult& result);
  const OpResult* expect(std::string_view op, std::size_t position) const;
  void compare(std::string_view op, const Tensor& output, std::size_t position) const;

  std::vector<std::string> keep_;
  std::vector<Entry> entries_;
  std::vector<Kept> kept_;
  std::vector<std::shared_ptr<Slot>> used_;
};

}  // namespace halftone::detail
