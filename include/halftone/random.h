// SPDX-License-Identifier: Apache-2.0
//
// Counter-based random numbers: Philox4x32-10 (Salmon, Moraes, Dror, Shaw, "Parallel random numbers: as easy
// as 1, 2, 3", SC 2011). A number is a pure function of (seed, stream, index): nothing has to be drawn in
// order, so any thread can compute any of them and a resumed run needs to know only the index.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

namespace halftone {

// The 128-bit block number `index` of stream `stream` of seed `seed`.
std::array<std::uint32_t, 4> philox(std::uint64_t seed, std::uint64_t stream, std::uint64_t index);

// The index-th 32-bit word of a stream, and the same as a float in [0, 1) (24 bits) or a standard normal
// deviate (Box-Muller).
std::uint32_t random_bits(std::uint64_t seed, std::uint64_t stream, std::uint64_t index);
void random_bits(std::uint64_t seed, std::uint64_t stream, std::uint64_t first, std::uint32_t* words,
                 std::int64_t count);  // words first, first + 1, ...: vectorised
float random_uniform_at(std::uint64_t seed, std::uint64_t stream, std::uint64_t index);
void random_kept(std::uint64_t seed, std::uint64_t stream, std::uint64_t first, double probability,
                 std::uint8_t* kept, std::int64_t count);  // of first, first + 1, ...: uniform >= probability
float random_normal_at(std::uint64_t seed, std::uint64_t stream, std::uint64_t index);

// A permutation of 0 .. count-1 that is a function of (seed, stream) alone (Fisher-Yates).
std::vector<std::int32_t> random_permutation(std::int32_t count, std::uint64_t seed, std::uint64_t stream);

// Streams in use, so that no two purposes share numbers. Data shuffling uses shuffle + epoch, stochastic
// rounding of weights rounding + the number of the parameter in its optimizer, that of an optimizer's state
// moments + the number of the state tensor: two optimizers round with the same numbers.
namespace streams {
inline constexpr std::uint64_t initialise = 1;
inline constexpr std::uint64_t dropout = 2;
inline constexpr std::uint64_t example = 3;
inline constexpr std::uint64_t operands = 4;  // stochastic rounding of gradients on their way into a matmul
inline constexpr std::uint64_t generate = 5;  // tokens of a text
inline constexpr std::uint64_t shuffle = std::uint64_t{1} << 32;
inline constexpr std::uint64_t rounding = std::uint64_t{2} << 32;
inline constexpr std::uint64_t moments = std::uint64_t{3} << 32;
}  // namespace streams

}  // namespace halftone
