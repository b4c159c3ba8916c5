// SPDX-License-Identifier: Apache-2.0
//
// Matmuls of short operands from end to end: what linear and conv2d compute under the recipes that have them.
#include <gtest/gtest.h>

#include <cmath>

#include "amp/quantizers.h"
#include "amp/support.h"
#include "halftone/amp.h"

namespace halftone::amp {
namespace {

std::vector<const Recipe*> short_recipes() {
  std::vector<const Recipe*> found;
  for (const Recipe& recipe : kRecipes)
    if (recipe.operands.scaling != OperandScaling::none) found.push_back(&recipe);
  return found;
}

const Quantizer& quantizer_of(const Casting& casting) {
  return static_cast<const Quantizer&>(*casting.quantizer());
}

// rows x inner times (columns x inner)^T, in double.
std::vector<double> product(const std::vector<double>& a, const std::vector<double>& b, std::size_t rows,
                            std::size_t columns, std::size_t inner) {
  std::vector<double> c(rows * columns);
  for (std::size_t i = 0; i < rows; ++i)
    for (std::size_t j = 0; j < columns; ++j)
      for (std::size_t k = 0; k < inner; ++k) c[i * columns + j] += a[i * inner + k] * b[j * inner + k];
  return c;
}

std::vector<double> turned(const Tensor& x) {  // (rows, columns) -> row-major (columns, rows)
  std::vector<double> values = x.to_vector(), out(values.size());
  const auto rows = static_cast<std::size_t>(x.size(0)), columns = static_cast<std::size_t>(x.size(1));
  for (std::size_t i = 0; i < rows; ++i)
    for (std::size_t j = 0; j < columns; ++j) out[j * rows + i] = values[i * columns + j];
  return out;
}

void expect_near(const std::vector<double>& got, const std::vector<double>& wanted, double tolerance,
                 std::string_view where) {
  ASSERT_EQ(got.size(), wanted.size());
  double largest = 0;
  for (const double v : wanted) largest = std::max(largest, std::abs(v));
  for (std::size_t i = 0; i < got.size(); ++i)
    EXPECT_NEAR(got[i], wanted[i], tolerance * largest) << where << i;
}

TEST(Casting, EveryProductOfLinearIsThatOfItsRoundedOperands) {  // law 1
  constexpr std::size_t kRows = 40, kIn = 70, kOut = 36;
  for (const Recipe* recipe : short_recipes()) {
    if (recipe->operands.gradient_rounding == Rounding::stochastic) continue;
    SCOPED_TRACE(recipe->name);
    const Casting casting(*recipe);
    const Quantizer& q = quantizer_of(casting);
    Tensor x = random_normal({kRows, kIn}, 1, 1).set_requires_grad();
    Tensor w = random_normal({kOut, kIn}, 1, 2).set_requires_grad();
    const Tensor dy = cast(random_normal({kRows, kOut}, 1, 3), bfloat16);
    const Tensor y = autocast(casting, [&] { return linear(x, w); });
    EXPECT_EQ(y.dtype(), bfloat16);
    backward(y, dy);

    const auto round = [&](const Tensor& t, OperandRole role, Along along) {
      return q.quantize(t.detach(), role, along, "");
    };
    using enum OperandRole;
    expect_near(y.to_vector(),
                product(round(x, activation, Along::last).to_vector(),
                        round(w, weight, Along::last).to_vector(), kRows, kOut, kIn),
                0x1p-8, "y");
    // dx sums over the outputs, dw over the rows.
    expect_near(x.grad().to_vector(),
                product(round(dy, gradient, Along::last).to_vector(), turned(round(w, weight, Along::first)),
                        kRows, kIn, kOut),
                1e-6, "dx");
    expect_near(w.grad().to_vector(),
                product(turned(round(dy, gradient, Along::rows)), turned(round(x, activation, Along::rows)),
                        kOut, kIn, kRows),
                1e-6, "dw");
    EXPECT_EQ(w.grad().dtype(), float32);
  }
}

TEST(Casting, ConvolutionsOfOnePixelAreLinear) {
  for (const Recipe* recipe : short_recipes()) {
    SCOPED_TRACE(recipe->name);
    const Casting casting(*recipe);
    const Tensor values = random_normal({2, 3, 4, 40}, 1, 1), weights = random_normal({33, 40}, 1, 2);
    const auto run = [&](bool convolution) {
      manual_seed(3);
      Tensor x = reshape(values, convolution ? Shape{2, 3, 4, 40} : Shape{24, 40}).detach();
      Tensor w = reshape(weights, convolution ? Shape{33, 1, 1, 40} : Shape{33, 40}).detach();
      x.set_requires_grad(), w.set_requires_grad();
      const Tensor y = autocast(casting, [&] { return convolution ? conv2d(x, w) : linear(x, w); });
      backward(y, reshape(cast(random_normal({24, 33}, 1, 3), bfloat16), y.shape()));
      return std::array{y.to_vector(), x.grad().to_vector(), w.grad().to_vector()};
    };
    const auto a = run(true), b = run(false);
    expect_near(a[0], b[0], 0x1p-8, "y");
    expect_near(a[1], b[1], 1e-6, "dx");
    expect_near(a[2], b[2], 1e-6, "dw");
  }
}

TEST(Casting, OperandsAreRoundedOnceFromWhatTheyAre) {  // 1.0625 + 2^-9 is 1.0625 in bfloat16, a tie in e4m3
  const Casting casting(find_recipe("float8"));
  const Tensor x = full({1, 1}, 1.0625 + 0x1p-9), w = full({1, 1}, 1);
  EXPECT_EQ(autocast(casting, [&] { return linear(x, w); }).item(), 1.125);
  EXPECT_EQ(autocast(casting, [&] { return linear(cast(x, bfloat16), w); }).item(), 1);
}

TEST(Casting, FloatSixtyFourAndDisabledRegionsAreLeftAlone) {
  const Casting casting(find_recipe("mxfp4"));
  const Tensor x = full({1, 1}, 1.3), w = full({1, 1}, 1);
  autocast(casting, [&] {
    EXPECT_EQ(linear(cast(x, float64), cast(w, float64)).dtype(), float64);
    EXPECT_EQ(linear(cast(x, float64), cast(w, float64)).item(), x.item());
    EXPECT_EQ(autocast(float32, [&] { return linear(x, w); }).item(), x.item());
    EXPECT_EQ(linear(x, w).item(), 1.5);
    EXPECT_EQ(matmul(x, w).dtype(), bfloat16);
    EXPECT_EQ(matmul(x, w).item(),
              cast(x, bfloat16).item());  // no weight: as attention, in the compute format
  });
  EXPECT_EQ(linear(x, w).item(), x.item());
  EXPECT_EQ(thread_state().quantizer, nullptr);
}

TEST(Casting, BackwardRoundsAsForwardDidWhateverRegionItRunsIn) {
  const Casting casting(find_recipe("mxfp4"));
  const auto gradient = [&](const Casting& around) {
    manual_seed(1);
    Tensor x = full({1, 1}, 1.3).set_requires_grad(), w = full({1, 1}, 1.3).set_requires_grad();
    const Tensor y = autocast(casting, [&] { return linear(x, w); });
    autocast(around, [&] { backward(y, full({1, 1}, 2, bfloat16)); });
    return w.grad().item();
  };
  EXPECT_EQ(gradient(casting), 3);  // 2 * 1.5
  EXPECT_EQ(gradient(Casting(float32)), 3);
  EXPECT_EQ(gradient(Casting(float16)), 3);
}

TEST(Casting, DelayedStateBelongsToTheWeightsOfTheModel) {
  Tensor w = full({2, 3}, 1).set_requires_grad(), b = full({2}, 0).set_requires_grad();
  const std::vector<Parameter> parameters{{"up.weight", w}, {"up.bias", b}};
  set_name(w, "up.weight");
  Casting casting(find_recipe("float8_delayed"), parameters);
  ASSERT_EQ(casting.state().size(), 1u);
  EXPECT_EQ(casting.state()[0].name, "amax.up.weight");
  Tensor x = full({4, 3}, 5).set_requires_grad();
  backward(autocast(casting, [&] { return linear(x, w, b); }), full({4, 2}, 7, bfloat16));
  std::vector<double> seen = casting.state()[0].value.to_vector();
  EXPECT_EQ((std::vector<double>{seen[0], seen[17], seen[34]}), (std::vector<double>{5, 1, 7}));
  casting.finish_step();
  seen = casting.state()[0].value.to_vector();
  EXPECT_EQ((std::vector<double>{seen[0], seen[1], seen[18], seen[35]}), (std::vector<double>{0, 5, 1, 7}));
  EXPECT_TRUE(Casting(find_recipe("float8"), parameters).state().empty());
}

}  // namespace
}  // namespace halftone::amp
