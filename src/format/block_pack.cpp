// SPDX-License-Identifier: Apache-2.0
//
// Codes of at most 8 bits to and from a stream of bits, lowest first, eight codes at a time in a word of 64
// bits. x86 has an instruction that gathers the bits under a mask; elsewhere neighbours are joined to pairs,
// pairs to fours, fours to eight, each time in all lanes at once.
#include <array>
#include <cstring>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include "halftone/block.h"

namespace halftone {
namespace {

using Word = std::uint64_t;

constexpr Word low_bits(int count) { return detail::low_bits(count); }

// The low `bits` of each lane of `lane` bits.
constexpr Word in_lanes(int bits, int lane) {
  Word mask = 0;
  for (int at = 0; at < 64; at += lane) mask |= low_bits(bits) << at;
  return mask;
}

// The steps of joining codes of `bits` bits, and of taking them apart.
struct Steps {
  explicit Steps(int bits) {
    for (std::size_t step = 0; step < 3; ++step) {
      const int lane = 16 << step, part = bits << step;  // two parts of that many bits to a lane
      first[step] = in_lanes(part, lane);
      second[step] = first[step] << (lane / 2);
      together[step] = first[step] << part;
      shift[step] = lane / 2 - part;
    }
  }

  Word join(Word codes) const {
    for (std::size_t step = 0; step < 3; ++step)
      codes = (codes & first[step]) | (codes & second[step]) >> shift[step];
    return codes;
  }

  Word split(Word stream) const {
    for (std::size_t step = 3; step-- > 0;)
      stream = (stream & first[step]) | (stream & together[step]) << shift[step];
    return stream;
  }

  std::array<Word, 3> first, second, together;
  std::array<int, 3> shift;
};

#if defined(__x86_64__)
// Words while at least 64 bits of the stream are left; returns how many codes were done.
[[gnu::target("bmi2")]] std::int64_t pack_words(int bits, const std::uint8_t* codes, std::int64_t count,
                                                std::uint8_t* out) {
  const Word mask = in_lanes(bits, 8);
  std::int64_t i = 0;
  for (; (count - i) * bits >= 64; i += 8, out += bits) {
    Word eight;
    std::memcpy(&eight, codes + i, 8);
    eight = _pext_u64(eight, mask);
    std::memcpy(out, &eight, 8);
  }
  return i;
}

[[gnu::target("bmi2")]] std::int64_t unpack_words(int bits, const std::uint8_t* in, std::int64_t count,
                                                  std::uint8_t* codes) {
  const Word mask = in_lanes(bits, 8);
  std::int64_t i = 0;
  for (; (count - i) * bits >= 64; i += 8, in += bits) {
    Word eight;
    std::memcpy(&eight, in, 8);
    eight = _pdep_u64(eight, mask);
    std::memcpy(codes + i, &eight, 8);
  }
  return i;
}

bool gathers_bits() {
  static const bool has = __builtin_cpu_supports("bmi2") != 0;
  return has;
}
#else
std::int64_t pack_words(int, const std::uint8_t*, std::int64_t, std::uint8_t*) { return 0; }
std::int64_t unpack_words(int, const std::uint8_t*, std::int64_t, std::uint8_t*) { return 0; }
bool gathers_bits() { return false; }
#endif

}  // namespace

void pack_codes(int bits, const std::uint8_t* codes, std::int64_t count, void* packed) {
  auto* out = static_cast<std::uint8_t*>(packed);
  if (bits == 8) {
    if (count > 0) std::memcpy(out, codes, static_cast<std::size_t>(count));
    return;
  }
  const Steps steps(bits);
  const auto bytes = static_cast<std::size_t>(bits);  // of eight codes
  std::int64_t i = gathers_bits() ? pack_words(bits, codes, count, out) : 0;
  out += i / 8 * bits;
  for (; (count - i) * bits >= 64; i += 8, out += bytes) {  // a word reaches beyond its eight codes
    Word eight;
    std::memcpy(&eight, codes + i, 8);
    eight = steps.join(eight);
    std::memcpy(out, &eight, 8);
  }
  for (; i < count; i += 8, out += bytes) {
    const std::int64_t size = count - i < 8 ? count - i : 8;
    Word eight = 0;
    std::memcpy(&eight, codes + i, static_cast<std::size_t>(size));
    eight = steps.join(eight);
    std::memcpy(out, &eight, static_cast<std::size_t>((size * bits + 7) / 8));
  }
}

void unpack_codes(int bits, const void* packed, std::int64_t count, std::uint8_t* codes) {
  const auto* in = static_cast<const std::uint8_t*>(packed);
  if (bits == 8) {
    if (count > 0) std::memcpy(codes, in, static_cast<std::size_t>(count));
    return;
  }
  const Steps steps(bits);
  const auto bytes = static_cast<std::size_t>(bits);
  std::int64_t i = gathers_bits() ? unpack_words(bits, in, count, codes) : 0;
  in += i / 8 * bits;
  for (; (count - i) * bits >= 64; i += 8, in += bytes) {
    Word eight;
    std::memcpy(&eight, in, 8);
    eight = steps.split(eight & low_bits(8 * bits));
    std::memcpy(codes + i, &eight, 8);
  }
  for (; i < count; i += 8, in += bytes) {
    const std::int64_t size = count - i < 8 ? count - i : 8;
    Word eight = 0;
    std::memcpy(&eight, in, static_cast<std::size_t>((size * bits + 7) / 8));
    eight = steps.split(eight);
    std::memcpy(codes + i, &eight, static_cast<std::size_t>(size));
  }
}

}  // namespace halftone
