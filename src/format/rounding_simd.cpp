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

// One vector of round_row.
template <class Round>
struct ScaledRounder {
  HWY_INLINE ScaledRounder(const Layout& f, float up, float down)
      : round(f),
        times(hn::Set(F(), up)),
        back(hn::Set(F(), down)),
        nan(hn::BitCast(F(), hn::Set(I(), 0x7FC00000))),
        last_finite(hn::Set(I(), 0x7F7FFFFF)) {}

  HWY_INLINE void operator()(const float* from, float* to, const std::uint32_t* words) const {
    const F df;
    const VF x = hn::Mul(hn::LoadU(df, from), times);
    const VF y = hn::Mul(round(x, load_words<Round>(words)), back);
    const auto is_special = hn::Gt(hn::BitCast(I(), hn::Abs(x)), last_finite);
    hn::StoreU(hn::IfThenElse(hn::RebindMask(df, is_special), nan, y), df, to);
  }

  Round round;
  VF times, back, nan;
  VI last_finite;
};

template <class Round>
void values_with(const Layout& f, const float* values, float* rounded, std::int64_t count,
                 const std::uint32_t* words, float up, float down) {
  constexpr std::size_t kMaxLanes = HWY_MAX_BYTES / sizeof(float);
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(F()));
  const ScaledRounder<Round> round(f, up, down);
  std::int64_t i = 0;
  for (; i + lanes <= count; i += lanes) round(values + i, rounded + i, Round::kRandom ? words + i : nullptr);
  if (i >= count) return;
  float rest[kMaxLanes] = {};
  std::uint32_t random[kMaxLanes] = {};
  std::copy(values + i, values + count, rest);
  if (Round::kRandom) std::copy(words + i, words + count, random);
  round(rest, rest, random);
  std::copy_n(rest, count - i, rounded + i);
}

void values_loop(const Layout& f, const float* values, float* rounded, std::int64_t count,
                 const std::uint32_t* words, float up, float down) {
  const auto run = words == nullptr ? values_with<NearestRounder> : values_with<StochasticRounder>;
  run(f, values, rounded, count, words, up, down);
}

template <class Round>
void blocks_with(const Layout& f, float* values, std::int64_t length, std::int64_t blocks,
                 const BlockScales& scales, const std::uint32_t* words) {
  const F df;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(df));
  const Round round(f);
  const VF second = hn::Set(df, scales.tensor_scale);
  for (std::int64_t block = 0; block < blocks; ++block) {
    const VF factor = hn::Set(df, scales.factors[block]), scale = hn::Set(df, scales.scales[block]);
    for (std::int64_t i = block * length; i < (block + 1) * length; i += lanes) {
      const VU random = load_words<Round>(Round::kRandom ? words + i : nullptr);
      const VF x = round(hn::Mul(hn::LoadU(df, values + i), factor), random);
      hn::StoreU(hn::Mul(hn::Mul(x, scale), second), df, values + i);
    }
  }
}

void blocks_loop(const Layout& f, float* values, std::int64_t length, std::int64_t blocks,
                 const BlockScales& scales, const std::uint32_t* words) {
  const auto run = words == nullptr ? blocks_with<NearestRounder> : blocks_with<StochasticRounder>;
  run(f, values, length, blocks, scales, words);
}

void amax_across_loop(const float* values, std::int64_t length, std::int64_t blocks, std::int64_t stride,
                      std::uint32_t* amax) {
  const F df;
  const I di;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(df));
  for (std::int64_t block = 0; block < blocks; block += lanes) {
    VI largest = hn::Zero(di);
    for (std::int64_t i = 0; i < length; ++i)
      largest = hn::Max(largest, hn::BitCast(di, hn::Abs(hn::LoadU(df, values + i * stride + block))));
    hn::StoreU(hn::BitCast(U(), largest), U(), amax + block);
  }
}

template <class Round>
void across_with(const Layout& f, float* values, std::int64_t length, std::int64_t blocks,
                 std::int64_t stride, const BlockScales& scales, const std::uint32_t* words,
                 std::int64_t word_stride) {
  const F df;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(df));
  const Round round(f);
  const VF second = hn::Set(df, scales.tensor_scale);
  const VI places = hn::Mul(hn::Iota(I(), 0), hn::Set(I(), static_cast<std::int32_t>(word_stride)));
  for (std::int64_t block = 0; block < blocks; block += lanes) {
    const VF factor = hn::LoadU(df, scales.factors + block), scale = hn::LoadU(df, scales.scales + block);
    for (std::int64_t i = 0; i < length; ++i) {
      VU random = hn::Zero(U());
      if constexpr (Round::kRandom) random = hn::GatherIndex(U(), words + block * word_stride + i, places);
      float* at = values + i * stride + block;
      const VF x = round(hn::Mul(hn::LoadU(df, at), factor), random);
      hn::StoreU(hn::Mul(hn::Mul(x, scale), second), df, at);
    }
  }
}

void across_loop(const Layout& f, float* values, std::int64_t length, std::int64_t blocks,
                 std::int64_t stride, const BlockScales& scales, const std::uint32_t* words,
                 std::int64_t word_stride) {
  const auto run = words == nullptr ? across_with<NearestRounder> : across_with<StochasticRounder>;
  run(f, values, length, blocks, stride, scales, words, word_stride);
}

}  // namespace halftone::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace halftone::simd {

HWY_EXPORT(values_loop);
HWY_EXPORT(blocks_loop);
HWY_EXPORT(amax_across_loop);
HWY_EXPORT(across_loop);

void round_values(const Layout& layout, const float* values, float* rounded, std::int64_t count,
                  const std::uint32_t* words, float up, float down) {
  HWY_DYNAMIC_DISPATCH(values_loop)(layout, values, rounded, count, words, up, down);
}

void round_blocks(const Layout& layout, float* values, std::int64_t length, std::int64_t blocks,
                  const BlockScales& scales, const std::uint32_t* words) {
  HWY_DYNAMIC_DISPATCH(blocks_loop)(layout, values, length, blocks, scales, words);
}

void largest_magnitudes_across(const float* values, std::int64_t length, std::int64_t blocks,
                               std::int64_t stride, std::uint32_t* amax) {
  HWY_DYNAMIC_DISPATCH(amax_across_loop)(values, length, blocks, stride, amax);
}

void round_blocks_across(const Layout& layout, float* values, std::int64_t length, std::int64_t blocks,
                         std::int64_t stride, const BlockScales& scales, const std::uint32_t* words,
                         std::int64_t word_stride) {
  HWY_DYNAMIC_DISPATCH(across_loop)(layout, values, length, blocks, stride, scales, words, word_stride);
}

}  // namespace halftone::simd
#endif
