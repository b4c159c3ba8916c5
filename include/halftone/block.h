// SPDX-License-Identifier: Apache-2.0
//
// Blocks: a run of elements in a very short format that share one scale. value = element * scale (* tensor
// scale). A block format is a row, like a number format. OCP Microscaling Formats 1.0 (mx...: 32 elements, a
// power of two as scale); NVIDIA's NVFP4 (16 elements, an E4M3 scale and a float32 scale of the whole
// tensor).
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "halftone/conversion.h"
#include "halftone/format.h"

namespace halftone {

// How the scale follows from amax, the largest magnitude in the block. emax is the exponent of the largest
// element value, max that value, p its precision. The first four give powers of two.
enum class ScaleRule : std::uint8_t {
  floor,    // 2^(floor(log2 amax) - emax): OCP; the largest element may saturate
  ceil,     // 2^(ceil(log2 amax) - emax)
  rceil,    // 2^ceil(log2(amax / max)): the smallest that saturates nothing (cuBLAS)
  even,     // as floor, of amax rounded to p bits
  nearest,  // amax / max (/ tensor scale), rounded to the scale format
};

struct BlockFormat {
  std::string_view name;
  DType element;
  int length;  // elements that share a scale
  DType scale;
  ScaleRule rule;
  bool has_tensor_scale = false;

  // Bytes of the elements of one whole block, packed: 4-bit elements two to a byte, 6-bit four in three
  // bytes, in general lowest bits first; a block starts on a byte.
  constexpr int element_bytes() const { return (length * element.format().bits() + 7) / 8; }
  constexpr double bits_per_element() const { return 8.0 * (element_bytes() + scale.bytes()) / length; }
  friend constexpr bool operator==(const BlockFormat&, const BlockFormat&) = default;
};

// clang-format off
inline constexpr BlockFormat kBlockFormats[] = {
    {"mxfp8_e4m3",  dtype("float8_e4m3fn"), 32, dtype("float8_e8m0fnu"), ScaleRule::floor},
    {"mxfp8_e5m2",  dtype("float8_e5m2"),   32, dtype("float8_e8m0fnu"), ScaleRule::floor},
    {"mxfp6_e3m2",  dtype("float6_e3m2fn"), 32, dtype("float8_e8m0fnu"), ScaleRule::floor},
    {"mxfp6_e2m3",  dtype("float6_e2m3fn"), 32, dtype("float8_e8m0fnu"), ScaleRule::floor},
    {"mxfp4",       dtype("float4_e2m1fn"), 32, dtype("float8_e8m0fnu"), ScaleRule::floor},
    {"mxint8",      dtype("fixed8m6"),      32, dtype("float8_e8m0fnu"), ScaleRule::floor},
    {"nvfp4",       dtype("float4_e2m1fn"), 16, dtype("float8_e4m3fn"),  ScaleRule::nearest, true},
};
// clang-format on

// The block format of that name: a row of the table, one with another rule ("mxfp4:rceil"), or one made up as
// element:length:scale:rule ("float4_e2m1fn:8:ue5m3:nearest"), kept for good. Throws DTypeError.
BlockFormat find_block_format(std::string_view name);
std::string_view name(ScaleRule rule);

// Blocks that `count` values make (the last may be short), and the bytes of their packed elements.
constexpr std::int64_t block_count(const BlockFormat& format, std::int64_t count) {
  return (count + format.length - 1) / format.length;
}
std::int64_t packed_bytes(const BlockFormat& format, std::int64_t count);

// The scale of a whole tensor whose largest magnitude is amax (1 where the format has none, and for zero or
// non-finite amax): amax / (largest scale * largest element).
float tensor_scale(const BlockFormat& format, float amax);

// Encodes a row into blocks: `scales` takes block_count codes of the scale format, `elements` packed_bytes.
// Of the conversion, rounding and random_bits apply to the elements, which saturate; a value is divided by
// its scale exactly where the scale is a power of two, and in float32 otherwise. A block of zeros has the
// smallest scale and zeros. A block with NaN or infinity has the scale NaN (or, where there is none, the
// largest) and decodes to NaN where it can. `census` counts what happened to the elements, that is to the
// values divided by their scales.
void encode_blocks(const BlockFormat& format, const float* values, std::int64_t count, void* elements,
                   void* scales, float tensor_scale = 1, const Conversion& conversion = {},
                   const RandomWords& random = {}, Census* census = nullptr);

// The values of blocks: element times scale (times tensor scale), each product rounded to float32.
void decode_blocks(const BlockFormat& format, const void* elements, const void* scales, std::int64_t count,
                   float* values, float tensor_scale = 1);

// Codes of at most 8 bits, a byte each, to and from their packed form (lowest bits first).
void pack_codes(int bits, const std::uint8_t* codes, std::int64_t count, void* packed);
void unpack_codes(int bits, const void* packed, std::int64_t count, std::uint8_t* codes);

}  // namespace halftone
