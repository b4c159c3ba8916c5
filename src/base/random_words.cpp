// SPDX-License-Identifier: Apache-2.0
//
// Philox for many blocks at a time: lane l of the registers holds block index + l. Compiled once per
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

#if HWY_TARGET == HWY_SCALAR
void philox_blocks(std::uint64_t seed, std::uint64_t stream, std::uint64_t index, std::uint32_t* words,
                   std::int64_t blocks) {
  for (std::int64_t block = 0; block < blocks; ++block) {
    const auto four = philox(seed, stream, index + static_cast<std::uint64_t>(block));
    std::copy(four.begin(), four.end(), words + 4 * block);
  }
}
#else
using U = hn::ScalableTag<std::uint32_t>;
using VU = hn::Vec<U>;

// The halves of the 64-bit products of all lanes with one number.
HWY_INLINE void multiply(VU x, VU factor, VU& high, VU& low) {
  const hn::RepartitionToWide<U> wide;
  const U du;
  const auto even = hn::MulEven(x, factor);
  const auto odd = hn::MulEven(hn::BitCast(du, hn::ShiftRight<32>(hn::BitCast(wide, x))), factor);
  high = hn::OddEven(hn::BitCast(du, odd), hn::BitCast(du, hn::ShiftRight<32>(even)));
  low = hn::OddEven(hn::BitCast(du, hn::ShiftLeft<32>(odd)), hn::BitCast(du, even));
}

// Whole blocks of four words, from block `index` on; `blocks` is a multiple of the lanes of every target.
void philox_blocks(std::uint64_t seed, std::uint64_t stream, std::uint64_t index, std::uint32_t* words,
                   std::int64_t blocks) {
  const U du;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(du));
  const auto low = [](std::uint64_t x) { return static_cast<std::uint32_t>(x); };
  const auto high = [](std::uint64_t x) { return static_cast<std::uint32_t>(x >> 32); };
  const VU first = hn::Set(du, 0xD2511F53u), second = hn::Set(du, 0xCD9E8D57u);
  for (std::int64_t block = 0; block < blocks; block += lanes) {
    const std::uint64_t at = index + static_cast<std::uint64_t>(block);
    VU x0 = hn::Add(hn::Set(du, low(at)), hn::Iota(du, 0));
    // The index carries into its upper half where the lower one wrapped.
    const VU wrapped = hn::VecFromMask(du, hn::Lt(x0, hn::Set(du, low(at))));
    VU x1 = hn::Sub(hn::Set(du, high(at)), wrapped);
    VU x2 = hn::Set(du, low(stream)), x3 = hn::Set(du, high(stream));
    std::uint32_t k0 = low(seed), k1 = high(seed);
    for (int round = 0; round < 10; ++round) {
      VU high0, low0, high1, low1;
      multiply(x0, first, high0, low0);
      multiply(x2, second, high1, low1);
      x0 = hn::Xor(hn::Xor(high1, x1), hn::Set(du, k0));
      x2 = hn::Xor(hn::Xor(high0, x3), hn::Set(du, k1));
      x1 = low1;
      x3 = low0;
      k0 += 0x9E3779B9;
      k1 += 0xBB67AE85;
    }
    hn::StoreInterleaved4(x0, x1, x2, x3, du, words + 4 * block);
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
