// SPDX-License-Identifier: Apache-2.0
//
// Philox for many blocks at a time: lane l of the registers works on block index + l. Compiled once per
// instruction set by Highway's foreach_target.h; integers only, so every one gives the same words.
#include <algorithm>
#include <array>
#include <cstring>

#define HWY_DISABLED_TARGETS HWY_SSSE3
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "base/random_words.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "halftone/random.h"

HWY_BEFORE_NAMESPACE();
namespace halftone::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

#if HWY_TARGET == HWY_SCALAR || HWY_TARGET == HWY_EMU128  // no vectors: words need not be aligned for 64 bits
void philox_blocks(std::uint64_t seed, std::uint64_t stream, std::uint64_t index, std::uint32_t* words,
                   std::int64_t blocks) {
  for (std::int64_t block = 0; block < blocks; ++block) {
    const auto four = philox(seed, stream, index + static_cast<std::uint64_t>(block));
    std::copy(four.begin(), four.end(), words + 4 * block);
  }
}
#else
using Wide = hn::ScalableTag<std::uint64_t>;
using V = hn::Vec<Wide>;

// The 64-bit products of the lower halves.
HWY_INLINE V multiply(V x, V factor) {
  const hn::Repartition<std::uint32_t, Wide> narrow;
  return hn::MulEven(hn::BitCast(narrow, x), hn::BitCast(narrow, factor));
}

// Whole blocks of four words, from block `index` on; `blocks` is a multiple of twice the lanes of every
// target. Each 64-bit lane works on one block and holds each of its words in the lower half; what is in the
// upper half of a factor does not matter, so it is never cleared.
void philox_blocks(std::uint64_t seed, std::uint64_t stream, std::uint64_t index, std::uint32_t* words,
                   std::int64_t blocks) {
  const Wide d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  const V first = hn::Set(d, 0xD2511F53u), second = hn::Set(d, 0xCD9E8D57u),
          low_half = hn::Set(d, 0xFFFFFFFFu);
  V keys0[10], keys1[10];
  for (std::uint32_t round = 0; round < 10; ++round) {
    keys0[round] = hn::Set(d, static_cast<std::uint32_t>(seed) + round * 0x9E3779B9u);
    keys1[round] = hn::Set(d, static_cast<std::uint32_t>(seed >> 32) + round * 0xBB67AE85u);
  }
  auto* out = reinterpret_cast<std::uint64_t*>(words);
  const V iota = hn::Iota(d, 0);
  // Two groups at a time: a round waits for the one before it, so one group would leave the processor idle.
  for (std::int64_t block = 0; block < blocks; block += 2 * lanes) {
    V x0 = hn::Add(hn::Set(d, index + static_cast<std::uint64_t>(block)), iota);
    V y0 = hn::Add(hn::Set(d, index + static_cast<std::uint64_t>(block + lanes)), iota);
    V x1 = hn::ShiftRight<32>(x0), y1 = hn::ShiftRight<32>(y0);
    V x2 = hn::Set(d, stream), x3 = hn::Set(d, stream >> 32), y2 = x2, y3 = x3;
    for (std::size_t round = 0; round < 10; ++round) {
      const V p0 = multiply(x0, first), p1 = multiply(x2, second);
      const V q0 = multiply(y0, first), q1 = multiply(y2, second);
      x0 = hn::Xor(hn::Xor(hn::ShiftRight<32>(p1), x1), keys0[round]);
      y0 = hn::Xor(hn::Xor(hn::ShiftRight<32>(q1), y1), keys0[round]);
      x2 = hn::Xor(hn::Xor(hn::ShiftRight<32>(p0), x3), keys1[round]);
      y2 = hn::Xor(hn::Xor(hn::ShiftRight<32>(q0), y3), keys1[round]);
      x1 = p1, x3 = p0, y1 = q1, y3 = q0;
    }
    const V front = hn::Or(hn::And(x0, low_half), hn::ShiftLeft<32>(x1));
    const V back = hn::Or(hn::And(x2, low_half), hn::ShiftLeft<32>(x3));
    hn::StoreInterleaved2(front, back, d, out + 2 * block);
    const V front2 = hn::Or(hn::And(y0, low_half), hn::ShiftLeft<32>(y1));
    const V back2 = hn::Or(hn::And(y2, low_half), hn::ShiftLeft<32>(y3));
    hn::StoreInterleaved2(front2, back2, d, out + 2 * (block + lanes));
  }
}
#endif

}  // namespace halftone::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace halftone {

HWY_EXPORT(philox_blocks);

void random_bits(std::uint64_t seed, std::uint64_t stream, std::uint64_t first, std::uint32_t* words,
                 std::int64_t count) {
  const std::uint64_t left = ~first + 1;  // behind the last word of all comes the first
  if (count > 0 && left != 0 && left < static_cast<std::uint64_t>(count)) {
    random_bits(seed, stream, first, words, static_cast<std::int64_t>(left));
    random_bits(seed, stream, 0, words + left, count - static_cast<std::int64_t>(left));
    return;
  }
  constexpr std::int64_t kBlocks = 16;  // of 32-bit lanes in the widest registers
  std::int64_t done = 0;
  std::uint64_t block = first / 4;
  auto skip = static_cast<std::int64_t>(first % 4);
  while (done < count) {
    if (const std::int64_t whole = (count - done) / (4 * kBlocks) * kBlocks; skip == 0 && whole > 0) {
      HWY_DYNAMIC_DISPATCH(philox_blocks)(seed, stream, block, words + done, whole);
      done += 4 * whole;
      block += static_cast<std::uint64_t>(whole);
      continue;
    }
    std::array<std::uint32_t, 4 * kBlocks> piece;
    HWY_DYNAMIC_DISPATCH(philox_blocks)(seed, stream, block, piece.data(), kBlocks);
    const std::int64_t size = std::min<std::int64_t>(4 * kBlocks - skip, count - done);
    std::copy_n(piece.data() + skip, size, words + done);
    done += size;
    block += kBlocks;
    skip = 0;
  }
}

}  // namespace halftone
#endif
