// SPDX-License-Identifier: Apache-2.0
//
// A row and a conversion as the vector loops see them: numbers that are the same for every lane. Codes are
// compared as signed numbers of 32 bits; `never` is larger than any.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <utility>

#include "halftone/conversion.h"

namespace halftone::simd {

struct Layout {
  static constexpr std::int32_t never = 0x7FFFFFFF;

  Layout() : Layout(float32.format()) {}
  explicit Layout(const Format& f, const Conversion& c = {})
      : mantissa_bits(f.mantissa_bits),
        shift(23 - f.mantissa_bits),
        unused(unused_of(f)),
        sign_shift(32 - f.bits()),
        least(detail::least_exponent(f)),
        is_fixed(detail::is_integer(f)),
        first_binade(127 + f.mantissa_bits + least),
        least_value(std::ldexp(1.0f, least)),
        sign(static_cast<std::int32_t>(detail::sign_bit(f))),
        mask(static_cast<std::int32_t>(detail::low_bits(f.bits()))),
        largest(code(detail::max_code(f))),
        largest_value(static_cast<float>(max_finite(f))),
        over{overflow(f, c, false), overflow(f, c, true)},
        infinity{infinity_of(f, c, false), infinity_of(f, c, true)},
        nan(code(has_nan(f) || c.missing_nan == MissingNan::zero ? detail::nan_code(f)
                                                                 : detail::max_code(f))),
        payload(f.specials == Specials::ieee && f.mantissa_bits > 0 ? 0x7FFFFF : 0),
        signed_zero(has_negative_zero(f) && c.negative_zero == NegativeZero::keep),
        signed_nan(has_nan(f) && (f.specials == Specials::ieee || f.specials == Specials::nan_only)),
        flushes(c.subnormals == Subnormals::flush && !is_fixed),
        limit((127 + top_of(f)) << 23),
        first_special(f.specials == Specials::ieee || f.specials == Specials::nan_only ||
                              f.specials == Specials::extended
                          ? largest + 1
                          : never),
        first_nan(f.specials == Specials::ieee       ? largest + 2
                  : f.specials == Specials::nan_only ? first_special
                                                     : never),
        nan_code(f.specials == Specials::nan_zero || f.specials == Specials::extended ? sign : never),
        rebias((127 - f.bias) << 23),
        rounding(c.rounding),
        random_bits(c.random_bits),
        random_mask(random_mask_of(c)) {}

  // Low bits of an element that no code has; upper bits of a random word that count.
  static int unused_of(const Format& f) { return f.bits() > 16 ? 32 - f.bits() : 0; }
  static std::uint32_t random_mask_of(const Conversion& c) {
    return c.random_bits >= 32 ? ~0u : ~(~0u >> c.random_bits);
  }

  static std::int32_t code(std::uint64_t bits) { return static_cast<std::int32_t>(bits); }

  // Of a value beyond the largest and of infinity, sign included. In two's complement it is not used.
  static std::int32_t overflow(const Format& f, const Conversion& c, bool negative) {
    return detail::clamps(c, negative) ? largest_of(f, negative) : code(detail::special_code(f, negative));
  }
  static std::int32_t infinity_of(const Format& f, const Conversion& c, bool negative) {
    return c.overflow == Overflow::saturate ? largest_of(f, negative)
                                            : code(detail::special_code(f, negative));
  }
  static std::int32_t largest_of(const Format& f, bool negative) {
    return code(detail::max_code(f) | (negative ? detail::sign_bit(f) : 0));
  }

  // The exponent of the first power of two beyond the largest value.
  static int top_of(const Format& f) {
    const Exact last = decode_exact(f, detail::max_code(f));
    return last.exponent + detail::width(last.n);
  }

  // To nearest even with one outcome of overflow, within the range in which encoder-inl.h can round by
  // adding.
  bool fits_addition() const {
    return rounding == Rounding::nearest_even && in_range() && (is_fixed || one_overflow());
  }
  bool fits_stochastic() const {
    return rounding == Rounding::stochastic && random_bits < 32 && in_range() && !is_fixed && one_overflow();
  }
  // To the numbers of a format that has -0, overflow becoming the largest: what rounder-inl.h can do.
  bool fits_rounding() const {
    return signed_zero && !is_fixed && over[0] == largest && (fits_addition() || fits_stochastic());
  }
  bool in_range() const {
    return !flushes && mantissa_bits > 0 && first_binade > 0 && (limit >> 23) + shift < 255;
  }
  bool one_overflow() const {
    return over[1] == (over[0] | sign) && infinity[0] == over[0] && infinity[1] == over[1];
  }

  std::int32_t mantissa_bits, shift, unused, sign_shift, least;
  bool is_fixed;
  std::int32_t first_binade;
  float least_value;
  std::int32_t sign, mask, largest;
  float largest_value;
  std::int32_t over[2], infinity[2], nan, payload;
  bool signed_zero, signed_nan;
  bool flushes;
  std::int32_t limit;  // a power of two that overflows, as the bits of a float32
  std::int32_t first_special, first_nan, nan_code, rebias;
  Rounding rounding;
  int random_bits;
  std::uint32_t random_mask;
};

// The values that a thread needed last, by key: rows are converted piece by piece, and often from one format
// to another, so that a few come again and again.
template <class Key, class Value, int kCount = 8>
class Recent {
 public:
  template <class Same, class Make>
  const Value& find(const Key& key, const Same& same, const Make& make) {
    for (int i = 0; i < used_; ++i)
      if (same(entries_[i].first, key)) return entries_[i].second;
    const int at = used_ < kCount ? used_++ : next_++ % kCount;
    entries_[at] = {key, make(key)};
    return entries_[at].second;
  }

 private:
  std::pair<Key, Value> entries_[kCount];
  int used_ = 0;
  unsigned next_ = 0;
};

inline const Layout& layout_for(const Format& format, const Conversion& conversion) {
  using Key = std::pair<Format, Conversion>;
  thread_local Recent<Key, Layout> recent;
  return recent.find(
      {format, conversion},
      [](const Key& a, const Key& b) { return a.first.same_codes(b.first) && a.second == b.second; },
      [](const Key& key) { return Layout(key.first, key.second); });
}

// float16; or the leading bits of a float32 (bfloat16, tfloat32 and their kin); or any other.
enum class Kind { any, half, brain };

inline Kind kind(const Format& format) {
  if (format.same_codes(float16.format())) return Kind::half;
  Format leading = float32.format();
  leading.mantissa_bits = format.mantissa_bits;
  return format.same_codes(leading) && format.mantissa_bits < 23 ? Kind::brain : Kind::any;
}

// Whether the codes are the leading bits of a float32 after an addition of integers.
inline bool leads(const Format& format, const Conversion& c) {
  Conversion common = c;
  if (c.rounding == Rounding::stochastic) common.rounding = Rounding::nearest_even;
  common.random_bits = Conversion{}.random_bits;
  return kind(format) == Kind::brain && format.mantissa_bits > 0 && common == Conversion{};
}

}  // namespace halftone::simd
