// SPDX-License-Identifier: Apache-2.0
//
// Magnitudes are compared as the bits of a float32, whose order is theirs: a loop of integers, which every
// SIMD level has.
#include "amp/magnitude.h"

#include <algorithm>
#include <array>
#include <bit>
#include <vector>

#include "halftone/parallel.h"
#include "halftone/simd.h"

namespace halftone::amp {
namespace {

constexpr std::int64_t kChunk = 16384, kTile = 1024;
constexpr std::int32_t kInfinity = 0x7F800000;

struct Largest {
  static void run(const float* values, std::int64_t count, std::int32_t* most) {
    std::int32_t largest = *most;
    for (std::int64_t i = 0; i < count; ++i) {
      const std::int32_t bits = std::bit_cast<std::int32_t>(values[i]) & 0x7FFFFFFF;
      const std::int32_t finite = bits < kInfinity ? bits : 0;
      largest = finite > largest ? finite : largest;
    }
    *most = largest;
  }
};

}  // namespace

float largest_magnitude(const Tensor& x) {
  std::vector<std::int32_t> largest(static_cast<std::size_t>(chunk_count(x.count(), kChunk)), 0);
  parallel_for(x.count(), kChunk, [&](std::int64_t begin, std::int64_t end) {
    std::array<float, kTile> tile;
    for (std::int64_t at = begin; at < end; at += kTile) {
      const std::int64_t count = std::min(kTile, end - at);
      decode_row(x.dtype(), static_cast<const std::byte*>(x.raw()) + at * x.dtype().bytes(), tile.data(),
                 count);
      at_simd_level<Largest>(tile.data(), count, &largest[static_cast<std::size_t>(begin / kChunk)]);
    }
  });
  return largest.empty() ? 0 : std::bit_cast<float>(*std::max_element(largest.begin(), largest.end()));
}

}  // namespace halftone::amp
