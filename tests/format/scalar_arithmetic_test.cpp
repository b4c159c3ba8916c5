// SPDX-License-Identifier: Apache-2.0
//
// Arithmetic of narrow numbers is correctly rounded. The exact result is never computed as one number but
// compared with the middles between neighbours: |a / b| with m by |a| and m |b|, a root by squares, what
// double cannot hold with MPFR. Zeros, infinities and NaN follow IEEE arithmetic in double.
#include <gtest/gtest.h>
#include <mpfr.h>

#include <bit>
#include <cfenv>
#include <cmath>
#include <random>
#include <vector>

#include "format/scalars.h"

#if defined(__SSE2__)
#include <xmmintrin.h>
#endif

namespace halftone {
namespace {

// Magnitudes that compare exactly with the values and middles of a narrow format.
struct Quotient {
  double a, b;
  friend bool operator==(double m, const Quotient& x) { return m * std::fabs(x.b) == std::fabs(x.a); }
  friend bool operator<(double m, const Quotient& x) { return m * std::fabs(x.b) < std::fabs(x.a); }
};

struct Root {
  double square;
  friend bool operator==(double m, const Root& x) { return m * m == x.square; }
  friend bool operator<(double m, const Root& x) { return m * m < x.square; }
};

class Big {
 public:
  Big() { mpfr_init2(x_, 600); }  // from 2^256 down to 2^-266, with room
  ~Big() { mpfr_clear(x_); }
  Big(const Big&) = delete;
  Big& operator=(const Big&) = delete;

  const Big& fma(double a, double b, double c) {  // |a * b + c|
    mpfr_set_d(x_, a, MPFR_RNDN);
    int inexact = mpfr_mul_d(x_, x_, b, MPFR_RNDN);
    inexact |= mpfr_add_d(x_, x_, c, MPFR_RNDN);
    EXPECT_EQ(inexact, 0);
    mpfr_abs(x_, x_, MPFR_RNDN);
    return *this;
  }
  friend bool operator==(double m, const Big& x) { return mpfr_cmp_d(x.x_, m) == 0; }
  friend bool operator<(double m, const Big& x) { return mpfr_cmp_d(x.x_, m) > 0; }

 private:
  mpfr_t x_;
};

// `ieee` is the result of double, which has the sign and says whether it is a number at all.
template <class T, class Magnitude>
bool is_right(const oracle::Thresholds& table, T result, double ieee, const Magnitude& magnitude) {
  if (std::isnan(ieee)) return table.has_nan() ? table.is_nan(result.code()) : result.code() == 0;
  if (std::isinf(ieee)) return result.code() == table.of_infinity(std::signbit(ieee));
  return result.code() == table.code_of(magnitude, std::signbit(ieee));
}

template <class T>
class Arithmetic {
 public:
  Arithmetic() : table_(T::format()) {
    for (T x : every<T>()) values_.push_back(value_of(x));
  }

  std::size_t count() const { return values_.size(); }

  void check_pair(std::size_t i, std::size_t j) {
    const T a = T::from_code(i), b = T::from_code(j);
    const double x = values_[i], y = values_[j];
    ASSERT_TRUE(is_right(table_, a * b, x * y, std::fabs(x * y))) << x << " * " << y << " = " << a * b;
    const Quotient quotient = std::isinf(y) ? Quotient{0, 1} : Quotient{x, y};
    ASSERT_TRUE(is_right(table_, a / b, x / y, quotient)) << x << " / " << y << " = " << a / b;
    if constexpr (T::format().exponent_bits < 8) {  // a sum spans less than 53 bits
      ASSERT_TRUE(is_right(table_, a + b, x + y, std::fabs(x + y))) << x << " + " << y << " = " << a + b;
      ASSERT_TRUE(is_right(table_, a - b, x - y, std::fabs(x - y))) << x << " - " << y << " = " << a - b;
    } else {
      ASSERT_TRUE(is_right(table_, a + b, x + y, big(x, 1, y))) << x << " + " << y << " = " << a + b;
      ASSERT_TRUE(is_right(table_, a - b, x - y, big(x, 1, -y))) << x << " - " << y << " = " << a - b;
    }
  }

  void check_root(std::size_t i) {
    const T root = sqrt(T::from_code(i));
    ASSERT_TRUE(is_right(table_, root, std::sqrt(values_[i]), Root{values_[i]})) << "sqrt " << values_[i];
  }

  // Where products and sums fit a double.
  void check_small_fma(std::size_t i, std::size_t j, std::size_t k) {
    const double x = values_[i], y = values_[j], z = values_[k], ieee = x * y + z;
    const T result = fma(T::from_code(i), T::from_code(j), T::from_code(k));
    ASSERT_TRUE(is_right(table_, result, ieee, std::fabs(ieee)))
        << x << " * " << y << " + " << z << " = " << result;
  }

  void check_fma(T a, T b, T c) {
    const double x = value_of(a), y = value_of(b), z = value_of(c);
    ASSERT_TRUE(is_right(table_, fma(a, b, c), std::fma(x, y, z), big(x, y, z)))
        << x << " * " << y << " + " << z << " = " << fma(a, b, c);
  }

 private:
  const Big& big(double x, double y, double z) { return std::isfinite(x * y + z) ? big_.fma(x, y, z) : big_; }

  oracle::Thresholds table_;
  std::vector<double> values_;
  Big big_;
};

template <class T>
class EveryPair : public testing::Test {};
using Bytes = testing::Types<float8_e4m3fn_t, float8_e5m2_t, float8_e4m3_t, float8_e3m4_t, float8_e4m3fnuz_t,
                             float8_e5m2fnuz_t, float8_e4m3b11fnuz_t, float6_e3m2fn_t, float6_e2m3fn_t,
                             float4_e2m1fn_t, float8_e8m0fnu_t, fixed8m6_t>;
TYPED_TEST_SUITE(EveryPair, Bytes, ScalarNames);

TYPED_TEST(EveryPair, IsAddedSubtractedMultipliedAndDividedWithOneRounding) {
  Arithmetic<TypeParam> arithmetic;
  for (std::size_t i = 0; i < arithmetic.count(); ++i)
    for (std::size_t j = 0; j < arithmetic.count(); ++j) ASSERT_NO_FATAL_FAILURE(arithmetic.check_pair(i, j));
}

template <class T>
class EveryNumber : public testing::Test {};
TYPED_TEST_SUITE(EveryNumber, Scalars, ScalarNames);

TYPED_TEST(EveryNumber, HasACorrectlyRoundedRoot) {
  Arithmetic<TypeParam> arithmetic;
  for (std::size_t i = 0; i < arithmetic.count(); ++i) ASSERT_NO_FATAL_FAILURE(arithmetic.check_root(i));
}

template <class T>
class EveryTriple : public testing::Test {};
using Short = testing::Types<float6_e3m2fn_t, float6_e2m3fn_t, float4_e2m1fn_t, float8_e4m3fn_t>;
TYPED_TEST_SUITE(EveryTriple, Short, ScalarNames);

TYPED_TEST(EveryTriple, IsMultipliedAndAddedWithOneRounding) {
  Arithmetic<TypeParam> arithmetic;
  const std::size_t count = arithmetic.count();
  for (std::size_t i = 0; i < count; ++i)
    for (std::size_t j = 0; j < count; ++j)
      for (std::size_t k = 0; k < count; ++k) ASSERT_NO_FATAL_FAILURE(arithmetic.check_small_fma(i, j, k));
}

template <class T>
class Wide : public testing::Test {
 protected:
  // Every class of operand: zero, subnormal, smallest and largest normal, 1, infinity, NaN, and their
  // neighbours.
  static std::vector<std::uint16_t> edges() {
    const auto top = static_cast<std::uint16_t>(detail::top_exponent(T::format()));
    const auto one = T(1).code(), normal = std::numeric_limits<T>::min().code();
    const std::uint16_t positive[] = {0,
                                      1,
                                      2,
                                      3,
                                      static_cast<std::uint16_t>(normal - 1),
                                      normal,
                                      one,
                                      static_cast<std::uint16_t>(one + 1),
                                      static_cast<std::uint16_t>(one - 1),
                                      static_cast<std::uint16_t>(top - 1),
                                      top,
                                      static_cast<std::uint16_t>(top + 1)};
    std::vector<std::uint16_t> all;
    for (std::uint16_t code : positive)
      for (std::uint16_t sign : {0x0000, 0x8000}) all.push_back(static_cast<std::uint16_t>(code | sign));
    return all;
  }

  Arithmetic<T> arithmetic_;
  std::mt19937 random_{1};
};
using Halves = testing::Types<float16_t, bfloat16_t>;
TYPED_TEST_SUITE(Wide, Halves, ScalarNames);

TYPED_TEST(Wide, PairsAreAddedSubtractedMultipliedAndDividedWithOneRounding) {
  for (std::uint16_t edge : this->edges())
    for (std::size_t code = 0; code < 0x10000; code += 13) {
      ASSERT_NO_FATAL_FAILURE(this->arithmetic_.check_pair(edge, code));
      ASSERT_NO_FATAL_FAILURE(this->arithmetic_.check_pair(code, edge));
    }
  for (int i = 0; i < 200000; ++i) {
    const std::uint32_t codes = this->random_();
    ASSERT_NO_FATAL_FAILURE(this->arithmetic_.check_pair(codes & 0xFFFF, codes >> 16));
  }
}

TYPED_TEST(Wide, TriplesAreMultipliedAndAddedWithOneRounding) {
  using T = TypeParam;
  const auto edges = this->edges();
  for (std::uint16_t a : edges)
    for (std::uint16_t b : edges)
      for (std::uint16_t c : edges)
        ASSERT_NO_FATAL_FAILURE(
            this->arithmetic_.check_fma(T::from_code(a), T::from_code(b), T::from_code(c)));
  for (int i = 0; i < 100000; ++i) {
    const T a = T::from_code(this->random_()), b = T::from_code(this->random_());
    ASSERT_NO_FATAL_FAILURE(this->arithmetic_.check_fma(a, b, T::from_code(this->random_())));
    ASSERT_NO_FATAL_FAILURE(
        this->arithmetic_.check_fma(a, b, -(a * b)));  // what is left is the rounding error
  }
}

// Products in the middle of two numbers: the smallest c decides.
TYPED_TEST(Wide, MiddlesAreDecidedByTheSmallestAddend) {
  using T = TypeParam;
  constexpr int kPrecision = T::format().precision();
  constexpr std::uint64_t kEnd = std::uint64_t{1} << kPrecision;
  int middles = 0;
  for (std::uint64_t s = kEnd / 2; s<kEnd; s += kPrecision> 8 ? 3 : 1)
    for (std::uint64_t t = kEnd / 2; t < kEnd; ++t) {
      const int drop = std::bit_width(s * t) - kPrecision;
      if (s * t % (std::uint64_t{1} << drop) != std::uint64_t{1} << (drop - 1)) continue;
      ++middles;
      const T a(std::ldexp(static_cast<double>(s), 1 - kPrecision));
      const T b(std::ldexp(static_cast<double>(t), 1 - kPrecision));
      for (int exponent : {-12, -23, -24, -41, -52, -53, -54, -60, -100, -126, -127, -133})
        for (double sign : {1.0, -1.0})
          ASSERT_NO_FATAL_FAILURE(this->arithmetic_.check_fma(a, b, T(std::ldexp(sign, exponent))));
    }
  EXPECT_GT(middles, 50);
}

// 1.75 * 1.15625 = 259/128 lies in the middle of 258/128 and 260/128; the c below it is lost in a double.
TEST(ScalarFma, IsRightWhereOneRoundingToDoubleIsNot) {
  const bfloat16_t a(1.75), b(1.15625), c(-0x1p-100);
  EXPECT_EQ(fma(a, b, c), 258.0 / 128);
  EXPECT_EQ(bfloat16_t(std::fma(1.75, 1.15625, -0x1p-100)), 260.0 / 128);
  EXPECT_EQ(fma(a, b, bfloat16_t(0)), 260.0 / 128);
  EXPECT_EQ(fma(bfloat16_t(1.8125), bfloat16_t(1.125), bfloat16_t(0x1p-133)), 262.0 / 128);  // from 261/128
  EXPECT_EQ(a * b - bfloat16_t(0x1p-100), 260.0 / 128);                                      // two roundings
}

TEST(ScalarArithmetic, OverflowsAsTheFormatDoes) {
  EXPECT_TRUE(isinf(float16_t(65504) + float16_t(16)));
  EXPECT_EQ(float16_t(65504) + float16_t(15), 65504);
  EXPECT_TRUE(isnan(float8_e4m3fn_t(448) + float8_e4m3fn_t(32)));
  EXPECT_EQ(float8_e4m3fn_t(448) + float8_e4m3fn_t(16), 448);
  EXPECT_TRUE(isnan(float8_e4m3fn_t(1) / float8_e4m3fn_t(0)));
  EXPECT_EQ(float6_e3m2fn_t(28) * float6_e3m2fn_t(-28), -28);
  EXPECT_EQ(float4_e2m1fn_t(1) / float4_e2m1fn_t(0), 6);
  EXPECT_EQ(float4_e2m1fn_t(0) / float4_e2m1fn_t(0), 0);  // there is no NaN
  EXPECT_EQ(fixed8m6_t(-2) * fixed8m6_t(1.5), -2);
  EXPECT_EQ(-fixed8m6_t(-2), 127.0 / 64);
}

// Neither zero nor anything negative is a scale.
TEST(ScalarArithmetic, OfScalesGivesNanForWhatIsNone) {
  const float8_e8m0fnu_t two(2), four(4), least(0x1p-127), largest(0x1p127);
  EXPECT_TRUE(isnan(two - four) && isnan(two - two) && isnan(float8_e8m0fnu_t(0)) &&
              isnan(float8_e8m0fnu_t(-1)));
  EXPECT_TRUE(isnan(largest * two) && isnan(largest + largest) && isnan(fma(two, two, float8_e8m0fnu_t(-4))));
  EXPECT_EQ(four - two, 2);
  EXPECT_EQ(least / two, 0x1p-127);
  EXPECT_EQ(sqrt(four), 2);
  EXPECT_EQ(abs(two), 2);
  EXPECT_EQ(-two, -2.0f);  // of the float: there is no minus among scales
}

#if defined(__FLT16_MAX__) && !defined(__clang__)
__extension__ typedef _Float16 Half;

TEST(ScalarArithmetic, AgreesWithTheCompilersFloat16) {
  std::mt19937 random(2);
  for (int i = 0; i < 1000000; ++i) {
    const std::uint32_t codes = random();
    const auto a = float16_t::from_code(codes), b = float16_t::from_code(codes >> 16);
    const auto x = std::bit_cast<Half>(a.code()), y = std::bit_cast<Half>(b.code());
    const auto is_same = [](float16_t result, Half expected) {
      return isnan(result) ? expected != expected : result.code() == std::bit_cast<std::uint16_t>(expected);
    };
    ASSERT_TRUE(is_same(a + b, static_cast<Half>(x + y))) << a << " + " << b;
    ASSERT_TRUE(is_same(a * b, static_cast<Half>(x * y))) << a << " * " << b;
  }
}
#endif

template <class T>
std::vector<typename T::Code> some_results() {
  std::vector<typename T::Code> codes;
  std::mt19937 random(3);
  for (int i = 0; i < 2000; ++i) {
    const T a = T::from_code(random()), b = T::from_code(random()), c = T::from_code(random() % 64);
    for (T x : {a + b, a - b, a * b, a / b, c / b, sqrt(a), fma(a, b, c), T(static_cast<float>(c))})
      codes.push_back(x.code());
    codes.push_back(a < b);
  }
  return codes;
}

TEST(ScalarArithmetic, DoesNotDependOnTheStateOfTheProcessor) {
  const auto check = [](const auto& results, const auto& change, const auto& restore) {
    const auto before = results();
    change();
    const auto then = results();
    restore();
    EXPECT_EQ(then, before);
  };
  const auto check_all = [&](const auto& change, const auto& restore) {
    check(some_results<float16_t>, change, restore);
    check(some_results<bfloat16_t>, change, restore);
    check(some_results<float8_e8m0fnu_t>, change, restore);
  };
  for (int mode : {FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO})
    check_all([mode] { std::fesetround(mode); }, [] { std::fesetround(FE_TONEAREST); });
#if defined(__SSE2__)
  const unsigned state = _mm_getcsr();
  check_all([state] { _mm_setcsr(state | 0x8040); }, [state] { _mm_setcsr(state); });
#endif
}

}  // namespace
}  // namespace halftone
