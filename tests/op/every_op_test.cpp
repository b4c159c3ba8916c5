// SPDX-License-Identifier: Apache-2.0
//
// One test for every op there is, driven by the examples of its own definition: value and gradient against
// the reference backend in every format, with autocast on and off; gradient against finite differences in
// float64; the format that its cast policy promises; the same bits under checkpoint and for any number of
// threads.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <optional>

#include "halftone/amp.h"
#include "halftone/op.h"
#include "halftone/ops.h"
#include "halftone/parallel.h"
#include "op/examples.h"

namespace halftone {
namespace {

struct Setting {
  DType inputs = float32;         // format of the floating-point inputs
  std::optional<DType> autocast;  // compute format
  std::string_view backend = "cpu";
  bool checkpointed = false;
};

struct Outcome {
  Tensor value;
  std::vector<Tensor> gradients;  // undefined for inputs that have none
};

Outcome run(const Op& op, const Example& example, const Setting& setting) {
  return with_backend(setting.backend, [&] {
    std::vector<Tensor> inputs = example_inputs(example, setting.inputs);
    auto call = [&](const std::vector<Tensor>& x) { return apply(op, x, example.options); };
    manual_seed(7);
    Outcome outcome;
    {
      const amp::AutocastScope scope(setting.autocast.value_or(float32));
      outcome.value = setting.checkpointed ? checkpoint(call, inputs) : call(inputs);
    }
    weigh(outcome.value).backward();
    for (const Tensor& x : inputs) outcome.gradients.push_back(x.grad());
    return outcome;
  });
}

void expect_same_bits(const Tensor& a, const Tensor& b) {
  ASSERT_EQ(a.defined(), b.defined());
  if (!a) return;
  ASSERT_EQ(a.dtype(), b.dtype());
  const std::vector<double> x = a.to_vector(), y = b.to_vector();
  ASSERT_EQ(x.size(), y.size());
  for (std::size_t i = 0; i < x.size(); ++i)
    EXPECT_TRUE(std::memcmp(&x[i], &y[i], sizeof(double)) == 0)
        << "element " << i << ": " << x[i] << " and " << y[i];
}

DType promised(const Op& op, const Setting& setting) {
  if (op.result) return *op.result;
  switch (op.cast) {
    case CastPolicy::compute:
    case CastPolicy::inside_float32:
      return setting.autocast.value_or(setting.inputs);
    case CastPolicy::float32:
      return float32;
    default:
      return setting.inputs;
  }
}

void expect_agreement(const Op& op, const Example& example, Setting setting) {
  SCOPED_TRACE(fmt::format("inputs {}, autocast {}", setting.inputs.name(),
                           setting.autocast ? setting.autocast->name() : "off"));
  const Outcome cpu = run(op, example, setting);
  EXPECT_TRUE(op.name == "cast" || cpu.value.dtype() == promised(op, setting)) << cpu.value.dtype().name();
  setting.backend = "reference";
  const Outcome reference = run(op, example, setting);
  const DType narrowest = setting.autocast.value_or(setting.inputs);
  // float32 sums of n terms in another order differ by more than the last bit, and by more than that of a
  // format as precise as float32.
  const bool precise = epsilon(narrowest.format()) < 64 * epsilon(float32.format());
  const DType unit = precise ? float32 : narrowest;
  const double tolerance = precise ? 64 * example.tolerance : example.tolerance;
  expect_close(cpu.value, reference.value, unit, tolerance);
  for (std::size_t i = 0; i < cpu.gradients.size(); ++i) {
    SCOPED_TRACE(fmt::format("gradient of input {}", i));
    ASSERT_EQ(cpu.gradients[i].defined(), reference.gradients[i].defined());
    if (!cpu.gradients[i]) continue;
    EXPECT_EQ(cpu.gradients[i].dtype(), sum_dtype(setting.inputs));
    expect_close(cpu.gradients[i], reference.gradients[i], unit, tolerance);
  }
}

class EveryOp : public testing::TestWithParam<const Op*> {
 protected:
  const Op& op() const { return *GetParam(); }
  template <class F>
  void for_each_example(const F& f) {
    const auto examples = op().examples();
    ASSERT_FALSE(examples.empty()) << op().name << " has no example";
    for (std::size_t i = 0; i < examples.size(); ++i) {
      SCOPED_TRACE(fmt::format("{}, example {}", op().name, i));
      f(examples[i]);
    }
  }
};

constexpr DType kNarrow[] = {bfloat16, float16, float8_e4m3fn, float8_e5m2};

TEST_P(EveryOp, AgreesWithTheReferenceInFloat32) {
  for_each_example([&](const Example& e) { expect_agreement(op(), e, {}); });
}

TEST_P(EveryOp, AgreesWithTheReferenceUnderAutocast) {
  for_each_example([&](const Example& e) {
    for (const DType dtype : kNarrow) expect_agreement(op(), e, {.autocast = dtype});
  });
}

TEST_P(EveryOp, AgreesWithTheReferenceOnNarrowOperands) {
  for_each_example([&](const Example& e) {
    for (const DType dtype : kNarrow) expect_agreement(op(), e, {.inputs = dtype, .autocast = {}});
  });
}

TEST_P(EveryOp, AgreesWithTheReferenceInFormatsThatFloat32CannotHold) {
  for_each_example([&](const Example& e) {
    for (const char* name : {"e9m6", "e11m20", "e8m40"}) {
      expect_agreement(op(), e, {.inputs = find_dtype(name), .autocast = {}});
      expect_agreement(op(), e, {.autocast = find_dtype(name)});
    }
  });
}

// The backends share the code of an op; the same numbers in float64 take another way through it.
TEST_P(EveryOp, AgreesWithFloat64InAFormatOf41Digits) {
  if (op().name == "cast") return;
  for_each_example([&](const Example& e) {
    const Outcome x = run(op(), e, {.inputs = find_dtype("e8m40"), .autocast = {}}),
                  exact = run(op(), e, {.inputs = float64, .autocast = {}});
    const double tolerance = 64 * e.tolerance;  // of ops in float32
    expect_close(x.value, exact.value, float32, tolerance);
    for (std::size_t i = 0; i < x.gradients.size(); ++i) {
      SCOPED_TRACE(fmt::format("gradient of input {}", i));
      ASSERT_EQ(x.gradients[i].defined(), exact.gradients[i].defined());
      if (x.gradients[i]) expect_close(x.gradients[i], exact.gradients[i], float32, tolerance);
    }
  });
}

TEST_P(EveryOp, GradientsMatchFiniteDifferencesInFloat64) {
  for_each_example([&](const Example& e) {
    Example example = e;
    if (op().name == "cast") example.options = float64;
    const auto result = gradcheck(
        [&](const std::vector<Tensor>& x) {
          manual_seed(7);
          return weigh(apply(op(), x, example.options));
        },
        example_inputs(example, float64));
    EXPECT_LT(result.worst, 1e-6) << result.where;
  });
}

TEST_P(EveryOp, HasTheSameBitsUnderCheckpoint) {
  for_each_example([&](const Example& e) {
    for (const DType dtype : {float32, bfloat16, float16}) {
      const Outcome plain = run(op(), e, {.autocast = dtype}),
                    again = run(op(), e, {.autocast = dtype, .checkpointed = true});
      expect_same_bits(plain.value, again.value);
      for (std::size_t i = 0; i < plain.gradients.size(); ++i)
        expect_same_bits(plain.gradients[i], again.gradients[i]);
    }
  });
}

TEST_P(EveryOp, HasTheSameBitsForAnyNumberOfThreads) {
  const int threads = thread_count();
  for_each_example([&](const Example& e) {
    for (const DType dtype : {float32, bfloat16, float16}) {
      set_thread_count(1);
      const Outcome one = run(op(), e, {.autocast = dtype});
      set_thread_count(2);
      const Outcome two = run(op(), e, {.autocast = dtype});
      expect_same_bits(one.value, two.value);
      for (std::size_t i = 0; i < one.gradients.size(); ++i)
        expect_same_bits(one.gradients[i], two.gradients[i]);
    }
  });
  set_thread_count(threads);
}

INSTANTIATE_TEST_SUITE_P(Catalogue, EveryOp,
                         testing::ValuesIn(registered_ops().begin(), registered_ops().end()),
                         [](const testing::TestParamInfo<const Op*>& info) {
                           return std::string(info.param->name);
                         });

}  // namespace
}  // namespace halftone
