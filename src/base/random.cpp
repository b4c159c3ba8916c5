// SPDX-License-Identifier: Apache-2.0
#include "halftone/random.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <numbers>
#include <numeric>
#include <span>
#include <utility>

namespace halftone {

std::array<std::uint32_t, 4> philox(std::uint64_t seed, std::uint64_t stream, std::uint64_t index) {
  auto low = [](std::uint64_t x) { return static_cast<std::uint32_t>(x); };
  auto high = [](std::uint64_t x) { return static_cast<std::uint32_t>(x >> 32); };
  std::uint32_t x0 = low(index), x1 = high(index), x2 = low(stream), x3 = high(stream);
  std::uint32_t k0 = low(seed), k1 = high(seed);
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t p0 = std::uint64_t{0xD2511F53} * x0, p1 = std::uint64_t{0xCD9E8D57} * x2;
    x0 = high(p1) ^ x1 ^ k0;
    x1 = low(p1);
    x2 = high(p0) ^ x3 ^ k1;
    x3 = low(p0);
    k0 += 0x9E3779B9;  // the golden ratio and the square root of 3, as the authors chose
    k1 += 0xBB67AE85;
  }
  return {x0, x1, x2, x3};
}

std::uint32_t random_bits(std::uint64_t seed, std::uint64_t stream, std::uint64_t index) {
  return philox(seed, stream, index / 4)[index % 4];
}

float random_uniform_at(std::uint64_t seed, std::uint64_t stream, std::uint64_t index) {
  return static_cast<float>(random_bits(seed, stream, index) >> 8) * 0x1p-24f;
}

void random_kept(std::uint64_t seed, std::uint64_t stream, std::uint64_t first, double probability,
                 std::uint8_t* kept, std::int64_t count) {
  const auto least = static_cast<std::uint32_t>(std::ceil(probability * 0x1p24));
  std::array<std::uint32_t, 1024> words;
  for (std::int64_t done = 0; done < count;) {
    const auto size = std::min<std::int64_t>(count - done, std::ssize(words));
    random_bits(seed, stream, first + static_cast<std::uint64_t>(done), words.data(), size);
    for (const std::uint32_t word : std::span(words).first(static_cast<std::size_t>(size)))
      kept[done++] = (word >> 8) >= least;
  }
}

float random_normal_at(std::uint64_t seed, std::uint64_t stream, std::uint64_t index) {
  const auto bits = philox(seed, stream, index);
  const double u = (bits[0] + 1.0) * 0x1p-32, v = bits[1] * 0x1p-32;
  return static_cast<float>(std::sqrt(-2 * std::log(u)) * std::cos(2 * std::numbers::pi * v));
}

std::vector<std::int32_t> random_permutation(std::int32_t count, std::uint64_t seed, std::uint64_t stream) {
  std::vector<std::int32_t> order(static_cast<std::size_t>(count));
  std::iota(order.begin(), order.end(), 0);
  for (std::int32_t i = count - 1; i > 0; --i) {
    // A 64-bit product maps the word onto [0, i] with a bias below 2^-32 per choice.
    const std::uint64_t word = random_bits(seed, stream, static_cast<std::uint64_t>(i));
    std::swap(order[static_cast<std::size_t>(i)], order[(word * (static_cast<std::uint64_t>(i) + 1)) >> 32]);
  }
  return order;
}

}  // namespace halftone
