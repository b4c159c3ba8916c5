// SPDX-License-Identifier: Apache-2.0
//
// Compiled once per instruction set by Highway's foreach_target.h.
#include "format/rounding_simd.h"

#include <algorithm>

#define HWY_DISABLED_TARGETS HWY_SSSE3
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "format/rounding_simd.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "format/rounder-inl.h"

HWY_BEFORE_NAMESPACE();
namespace halftone::simd::HWY_NAMESPACE {

template <class Round>
HWY_INLINE VU load_words(const std::uint32_t* words) {
  if constexpr (Round::kRandom) return hn::LoadU(U(), words);
  return hn::Zero(U());
}

HWY_INLINE VF load(const float* values) { return hn::LoadU(F(), values); }
HWY_INLINE VF load(const std::uint16_t* codes) {
  return hn::BitCast(F(), hn::ShiftLeft<16>(load_codes(codes)));
}

// The bits whose upper half is x to nearest even. The NaNs made here have nothing below that could carry.
HWY_INLINE VU rounded_half(VF x) {
  const U du;
  const VU bits = hn::BitCast(du, x);
  const VU parity = hn::And(hn::ShiftRight<16>(bits), hn::Set(du, 1));
  return hn::Add(hn::Add(bits, hn::Set(du, 0x7FFF)), parity);
}

HWY_INLINE void store(VF x, float* values) { hn::StoreU(x, F(), values); }
HWY_INLINE void store(VF x, std::uint16_t* codes) {
  store_codes(hn::BitCast(I(), hn::ShiftRight<16>(rounded_half(x))), codes);
}

// Two neighbouring codes of bfloat16 lie in each lane of 32 bits: worked on as they lie there, none has to
// move to another lane.
template <class From, class To>
inline constexpr bool kPairs = HWY_TARGET != HWY_SCALAR && sizeof(From) == 2 && sizeof(To) == 2;

template <class Code>
HWY_INLINE VU load_pairs(const Code* codes) {
  return hn::BitCast(U(), hn::LoadU(hn::Repartition<Code, F>(), codes));
}
HWY_INLINE VF first_of(VU pairs) { return hn::BitCast(F(), hn::ShiftLeft<16>(pairs)); }
HWY_INLINE VF second_of(VU pairs) { return hn::BitCast(F(), hn::And(pairs, hn::Set(U(), 0xFFFF0000u))); }

template <class Code, class Round>
HWY_INLINE void round_pairs(const Code* from, Code* to, const Round& round) {
  const VU pairs = load_pairs(from);
  const VU first = hn::ShiftRight<16>(rounded_half(round(first_of(pairs), hn::Zero(U()))));
  const VU second = hn::And(rounded_half(round(second_of(pairs), hn::Zero(U()))), hn::Set(U(), 0xFFFF0000u));
  const hn::Repartition<Code, F> halves;
  hn::StoreU(hn::BitCast(halves, hn::Or(first, second)), halves, to);
}

// One vector of round_row.
template <class Round>
struct ScaledRounder {
  HWY_INLINE ScaledRounder(const Layout& f, float up, float down)
      : round(f),
        times(hn::Set(F(), up)),
        back(hn::Set(F(), down)),
        nan(hn::BitCast(F(), hn::Set(I(), 0x7FC00000))),
        last_finite(hn::Set(I(), 0x7F7FFFFF)) {}

  HWY_INLINE VF operator()(VF value, VU random) const {
    const VF x = hn::Mul(value, times);
    const VF y = hn::Mul(round(x, random), back);
    const auto is_special = hn::Gt(hn::BitCast(I(), hn::Abs(x)), last_finite);
    return hn::IfThenElse(hn::RebindMask(F(), is_special), nan, y);
  }

  Round round;
  VF times, back, nan;
  VI last_finite;
};

template <class Round, class From, class To>
void values_with(const Layout& f, const From* from, To* to, std::int64_t count, const std::uint32_t* words,
                 float up, float down) {
  constexpr std::size_t kMaxLanes = HWY_MAX_BYTES / sizeof(float);
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(F()));
  const ScaledRounder<Round> round(f, up, down);
  std::int64_t i = 0;
  if constexpr (kPairs<From, To> && !Round::kRandom)
    for (; i + 2 * lanes <= count; i += 2 * lanes) round_pairs(from + i, to + i, round);
  for (; i + lanes <= count; i += lanes)
    store(round(load(from + i), load_words<Round>(Round::kRandom ? words + i : nullptr)), to + i);
  if (i >= count) return;
  From rest[kMaxLanes] = {};
  To result[kMaxLanes];
  std::uint32_t random[kMaxLanes] = {};
  std::copy(from + i, from + count, rest);
  if (Round::kRandom) std::copy(words + i, words + count, random);
  store(round(load(rest), load_words<Round>(random)), result);
  std::copy_n(result, count - i, to + i);
}

// Calls body(values, rounded), typed as the rows are.
template <class Body>
HWY_INLINE void with_types(const RowPair& rows, const Body& body) {
  const auto from = [&](auto* to) {
    if (rows.from == float32) return body(static_cast<const float*>(rows.values), to);
    body(static_cast<const std::uint16_t*>(rows.values), to);
  };
  if (rows.to == float32) return from(static_cast<float*>(rows.rounded));
  from(static_cast<std::uint16_t*>(rows.rounded));
}

void values_loop(const Layout& f, const RowPair& rows, std::int64_t count, const std::uint32_t* words,
                 float up, float down) {
  with_types(rows, [&](auto* from, auto* to) {
    if (words == nullptr) return values_with<NearestRounder>(f, from, to, count, words, up, down);
    values_with<StochasticRounder>(f, from, to, count, words, up, down);
  });
}

// Bits of magnitudes are ordered as these are.
HWY_INLINE VI magnitude(VF x) { return hn::BitCast(I(), hn::Abs(x)); }

template <class From>
void amax_with(const From* from, const Blocks& blocks, std::uint32_t* amax) {
  const I di;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(di));
  if (blocks.next_element == 1) {
    for (std::int64_t block = 0; block < blocks.count; ++block, from += blocks.next_block) {
      VI largest = hn::Zero(di);
      std::int64_t i = 0;
      if constexpr (kPairs<From, From>)
        for (; i + 2 * lanes <= blocks.length; i += 2 * lanes) {
          const VU pairs = load_pairs(from + i);
          largest = hn::Max(largest, hn::Max(magnitude(first_of(pairs)), magnitude(second_of(pairs))));
        }
      for (; i < blocks.length; i += lanes) largest = hn::Max(largest, magnitude(load(from + i)));
      amax[block] = static_cast<std::uint32_t>(hn::GetLane(hn::MaxOfLanes(di, largest)));
    }
    return;
  }
  for (std::int64_t block = 0; block < blocks.count; block += lanes) {
    VI largest = hn::Zero(di);
    for (std::int64_t i = 0; i < blocks.length; ++i)
      largest = hn::Max(largest, magnitude(load(from + i * blocks.next_element + block)));
    hn::StoreU(hn::BitCast(U(), largest), U(), amax + block);
  }
}

void amax_loop(DType dtype, const void* values, const Blocks& blocks, std::uint32_t* amax) {
  if (dtype == float32) return amax_with(static_cast<const float*>(values), blocks, amax);
  amax_with(static_cast<const std::uint16_t*>(values), blocks, amax);
}

// One vector of blocks. `factor` and `scale` are those of its lanes.
template <class Round>
struct BlockedRounder {
  HWY_INLINE VF operator()(VF x, VU random) const {
    return hn::Mul(hn::Mul(round(hn::Mul(x, factor), random), scale), second);
  }

  const Round& round;
  VF factor, scale, second;
};

template <class Round, class From, class To>
void blocks_with(const Layout& f, const From* from, To* to, const Blocks& blocks, const BlockScales& scales,
                 const std::uint32_t* words, std::int64_t next_words) {
  const F df;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(df));
  const Round to_format(f);
  const VF second = hn::Set(df, scales.tensor_scale);
  if (blocks.next_element == 1) {
    for (std::int64_t block = 0; block < blocks.count; ++block) {
      const BlockedRounder<Round> round{to_format, hn::Set(df, scales.factors[block]),
                                        hn::Set(df, scales.scales[block]), second};
      const std::int64_t begin = block * blocks.next_block, end = begin + blocks.length;
      std::int64_t i = begin;
      if constexpr (kPairs<From, To> && !Round::kRandom)
        for (; i + 2 * lanes <= end; i += 2 * lanes) round_pairs(from + i, to + i, round);
      for (; i < end; i += lanes) {
        const std::uint32_t* at = Round::kRandom ? words + block * next_words + i - begin : nullptr;
        store(round(load(from + i), load_words<Round>(at)), to + i);
      }
    }
    return;
  }
  const VI places = hn::Mul(hn::Iota(I(), 0), hn::Set(I(), static_cast<std::int32_t>(next_words)));
  for (std::int64_t block = 0; block < blocks.count; block += lanes) {
    const BlockedRounder<Round> round{to_format, hn::LoadU(df, scales.factors + block),
                                      hn::LoadU(df, scales.scales + block), second};
    for (std::int64_t i = 0; i < blocks.length; ++i) {
      VU random = hn::Zero(U());
      if constexpr (Round::kRandom) random = hn::GatherIndex(U(), words + block * next_words + i, places);
      const std::int64_t at = i * blocks.next_element + block;
      store(round(load(from + at), random), to + at);
    }
  }
}

void blocks_loop(const Layout& f, const RowPair& rows, const Blocks& blocks, const BlockScales& scales,
                 const std::uint32_t* words, std::int64_t next_words) {
  with_types(rows, [&](auto* from, auto* to) {
    if (words == nullptr) return blocks_with<NearestRounder>(f, from, to, blocks, scales, words, next_words);
    blocks_with<StochasticRounder>(f, from, to, blocks, scales, words, next_words);
  });
}

}  // namespace halftone::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace halftone::simd {

HWY_EXPORT(values_loop);
HWY_EXPORT(amax_loop);
HWY_EXPORT(blocks_loop);

bool reads_and_writes(const RowPair& rows) {
  return (rows.from == float32 || rows.from == bfloat16) && (rows.to == float32 || rows.to == bfloat16);
}

void round_values(const Layout& layout, const RowPair& rows, std::int64_t count, const std::uint32_t* words,
                  float up, float down) {
  HWY_DYNAMIC_DISPATCH(values_loop)(layout, rows, count, words, up, down);
}

void largest_magnitudes(DType dtype, const void* values, const Blocks& blocks, std::uint32_t* amax) {
  HWY_DYNAMIC_DISPATCH(amax_loop)(dtype, values, blocks, amax);
}

void round_blocks(const Layout& layout, const RowPair& rows, const Blocks& blocks, const BlockScales& scales,
                  const std::uint32_t* words, std::int64_t next_words) {
  HWY_DYNAMIC_DISPATCH(blocks_loop)(layout, rows, blocks, scales, words, next_words);
}

}  // namespace halftone::simd
#endif
