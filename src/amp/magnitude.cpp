// SPDX-License-Identifier: Apache-2.0
//
// Magnitudes are compared as the bits of a float32, whose order is theirs: a loop of integers, which every
// SIMD level has. Codes of bfloat16 are their upper halves.
#include "amp/magnitude.h"

#include <algorithm>
#include <array>
#include <bit>
#include <limits>
#include <vector>

#include "halftone/parallel.h"
#include "halftone/simd.h"

namespace halftone::amp {
namespace {

constexpr std::int64_t kChunk = 16384, kTile = 1024;

// Of what has the bits of a float32, or of its upper half.
template <class Value, class Bits>
struct Largest {
  static void run(const Value* values, std::int64_t count, Bits* most) {
    constexpr auto kMagnitude = std::numeric_limits<Bits>::max();
    constexpr auto kInfinity = static_cast<Bits>(0x7F800000 >> (32 - 8 * sizeof(Bits)));
    Bits largest = *most;
    for (std::int64_t i = 0; i < count; ++i) {
      const auto magnitude = static_cast<Bits>(std::bit_cast<Bits>(values[i]) & kMagnitude);
      const Bits finite = magnitude < kInfinity ? magnitude : Bits{0};
      largest = finite > largest ? finite : largest;
    }
    *most = largest;
  }
};

}  // namespace

float largest_magnitude(const Tensor& x) {
  const auto* codes = static_cast<const std::byte*>(x.raw());
  std::vector<std::int32_t> largest(static_cast<std::size_t>(chunk_count(x.count(), kChunk)), 0);
  parallel_for(x.count(), kChunk, [&](std::int64_t begin, std::int64_t end) {
    std::int32_t& here = largest[static_cast<std::size_t>(begin / kChunk)];
    if (x.dtype() == bfloat16) {
      std::int16_t half = 0;
      at_simd_level<Largest<std::int16_t, std::int16_t>>(reinterpret_cast<const std::int16_t*>(codes) + begin,
                                                         end - begin, &half);
      here = std::int32_t{half} << 16;
      return;
    }
    const auto look = [&here](const float* values, std::int64_t count) {
      at_simd_level<Largest<float, std::int32_t>>(values, count, &here);
    };
    if (x.dtype() == float32) return look(reinterpret_cast<const float*>(codes) + begin, end - begin);
    std::array<float, kTile> tile;
    for (std::int64_t at = begin; at < end; at += kTile) {
      const std::int64_t count = std::min(kTile, end - at);
      decode_row(x.dtype(), codes + at * x.dtype().bytes(), tile.data(), count);
      look(tile.data(), count);
    }
  });
  return largest.empty() ? 0 : std::bit_cast<float>(*std::max_element(largest.begin(), largest.end()));
}

}  // namespace halftone::amp
