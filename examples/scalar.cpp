// SPDX-License-Identifier: Apache-2.0
//
// Narrow numbers as ordinary values: where a sum stops growing, what float16 makes of a hypotenuse, and how
// far apart the numbers of a format lie.
#include <halftone/scalar.h>

#include <cstdio>
#include <cstdlib>
#include <map>

using namespace halftone;

void require(bool holds, const char* what) {
  if (holds) return;
  std::printf("failed: %s\n", what);
  std::exit(1);
}

// 1 + 1 + 1 + ... until adding one more changes nothing.
template <class T>
T stagnation() {
  T sum(0);
  while (sum + T(1) != sum) sum += T(1);
  return sum;
}

template <class T>
void describe() {
  using Limits = std::numeric_limits<T>;
  std::printf("%-14s adding ones stops at %-6g max %-11g epsilon %-11g after 1 comes %g\n",
              T::format().name.data(), float{stagnation<T>()}, float{Limits::max()}, float{Limits::epsilon()},
              float{nextafter(T(1), Limits::max())});
}

// A function of any number type: with float16 the squares overflow long before the result does.
template <class T>
T hypotenuse(T a, T b) {
  return sqrt(fma(a, a, b * b));
}

constexpr float16_t kThird = float16_t(1) / float16_t(3);  // arithmetic is constexpr
static_assert(kThird.code() == 0x3555 && kThird < 1.0f / 3);

int main() {
  describe<float16_t>();
  describe<bfloat16_t>();
  describe<float8_e4m3fn_t>();
  describe<float4_e2m1fn_t>();
  require(stagnation<bfloat16_t>() == 256, "bfloat16 counts to 256");

  require(hypotenuse(float16_t(3), float16_t(4)) == 5, "3, 4, 5");
  require(isinf(hypotenuse(float16_t(300), float16_t(400))), "the square of 300 is beyond float16");
  require(hypotenuse(bfloat16_t(300), bfloat16_t(400)) == 500, "but not beyond bfloat16");

  // With float the result is a float; the way back is written out, and rounds once.
  const float wide = kThird * 3.0f;
  require(wide == 4095.0f / 4096 && float16_t(wide) == 1, "a third of float16, times three");
  // const float16_t narrow = wide;   does not compile

  std::map<float8_e4m3fn_t, int> counts;  // how many of 0.00, 0.01, ... 1.00 become each number
  for (int i = 0; i <= 100; ++i) ++counts[float8_e4m3fn_t(i * 0.01)];
  std::printf("101 numbers from 0 to 1 become %zu of float8_e4m3fn\n", counts.size());
  require(counts.rbegin()->first == 1 && counts.begin()->first == 0, "ordered by value");
}
