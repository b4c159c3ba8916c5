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

HWY_INLINE void store(VF x, float* values) { hn::StoreU(x, F(), values); }
// To nearest even. The NaNs made here have nothing in their lower half that could carry.
HWY_INLINE void store(VF x, std::uint16_t* codes) {
  const U du;
  const VU bits = hn::BitCast(du, x);
  const VU parity = hn::And(hn::ShiftRight<16>(bits), hn::Set(du, 1));
  const VU rounded = hn::Add(hn::Add(bits, hn::Set(du, 0x7FFF)), parity);
  store_codes(hn::BitCast(I(), hn::ShiftRight<16>(rounded)), codes);
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

  template <class From, class To>
  HWY_INLINE void operator()(const From* from, To* to, const std::uint32_t* words) const {
    const VF x = hn::Mul(load(from), times);
    const VF y = hn::Mul(round(x, load_words<Round>(words)), back);
    const auto is_special = hn::Gt(hn::BitCast(I(), hn::Abs(x)), last_finite);
    store(hn::IfThenElse(hn::RebindMask(F(), is_special), nan, y), to);
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
  for (; i + lanes <= count; i += lanes) round(from + i, to + i, Round::kRandom ? words + i : nullptr);
  if (i >= count) return;
  From rest[kMaxLanes] = {};
  To result[kMaxLanes];
  std::uint32_t random[kMaxLanes] = {};
  std::copy(from + i, from + count, rest);
  if (Round::kRandom) std::copy(words + i, words + count, random);
  round(rest, result, random);
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
template <class From>
HWY_INLINE VI magnitude(const From* from) {
  return hn::BitCast(I(), hn::Abs(load(from)));
}

template <class From>
void amax_with(const From* from, const Blocks& blocks, std::uint32_t* amax) {
  const I di;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(di));
  if (blocks.next_element == 1) {
    for (std::int64_t block = 0; block < blocks.count; ++block, from += blocks.next_block) {
      VI largest = hn::Zero(di);
      for (std::int64_t i = 0; i < blocks.length; i += lanes) largest = hn::Max(largest, magnitude(from + i));
      amax[block] = static_cast<std::uint32_t>(hn::GetLane(hn::MaxOfLanes(di, largest)));
    }
    return;
  }
  for (std::int64_t block = 0; block < blocks.count; block += lanes) {
    VI largest = hn::Zero(di);
    for (std::int64_t i = 0; i < blocks.length; ++i)
      largest = hn::Max(largest, magnitude(from + i * blocks.next_element + block));
    hn::StoreU(hn::BitCast(U(), largest), U(), amax + block);
  }
}

void amax_loop(DType dtype, const void* values, const Blocks& blocks, std::uint32_t* amax) {
  if (dtype == float32) return amax_with(static_cast<const float*>(values), blocks, amax);
  amax_with(static_cast<const std::uint16_t*>(values), blocks, amax);
}

// One vector of blocks: values, factors and scales of its lanes.
template <class Round>
struct BlockedRounder {
  HWY_INLINE BlockedRounder(const Layout& f, float tensor_scale)
      : round(f), second(hn::Set(F(), tensor_scale)) {}

  template <class From, class To>
  HWY_INLINE void operator()(const From* from, To* to, VF factor, VF scale, VU random) const {
    store(hn::Mul(hn::Mul(round(hn::Mul(load(from), factor), random), scale), second), to);
  }

  Round round;
  VF second;
};

template <class Round, class From, class To>
void blocks_with(const Layout& f, const From* from, To* to, const Blocks& blocks, const BlockScales& scales,
                 const std::uint32_t* words, std::int64_t next_words) {
  const F df;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(df));
  const BlockedRounder<Round> round(f, scales.tensor_scale);
  if (blocks.next_element == 1) {
    for (std::int64_t block = 0; block < blocks.count; ++block) {
      const VF factor = hn::Set(df, scales.factors[block]), scale = hn::Set(df, scales.scales[block]);
      const std::int64_t begin = block * blocks.next_block;
      for (std::int64_t i = 0; i < blocks.length; i += lanes)
        round(from + begin + i, to + begin + i, factor, scale,
              load_words<Round>(Round::kRandom ? words + block * next_words + i : nullptr));
    }
    return;
  }
  const VI places = hn::Mul(hn::Iota(I(), 0), hn::Set(I(), static_cast<std::int32_t>(next_words)));
  for (std::int64_t block = 0; block < blocks.count; block += lanes) {
    const VF factor = hn::LoadU(df, scales.factors + block), scale = hn::LoadU(df, scales.scales + block);
    for (std::int64_t i = 0; i < blocks.length; ++i) {
      VU random = hn::Zero(U());
      if constexpr (Round::kRandom) random = hn::GatherIndex(U(), words + block * next_words + i, places);
      const std::int64_t at = i * blocks.next_element + block;
      round(from + at, to + at, factor, scale, random);
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
