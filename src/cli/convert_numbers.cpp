// SPDX-License-Identifier: Apache-2.0
#include "cli/convert_numbers.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

#include "cli/number_code.h"
#include "format/rounding_words.h"
#include "halftone/parallel.h"
#include "halftone/random.h"

namespace halftone::cli {
namespace {

constexpr std::int64_t kChunk = 1 << 15;     // elements of one piece, small enough for the cache
constexpr std::int64_t kSlab = 64 * kChunk;  // elements in memory at once

struct Piece {
  std::int64_t first, count;
  const std::byte* from;  // codes of the source
  std::byte* to;          // codes of the target
};

// By way of a float or a double that holds every value of the source.
template <class Value>
void convert_as(const Piece& piece, DType from, DType to, const Conversion& conversion,
                const RandomWords& random, ConvertTally& tally) {
  std::vector<Value> values(static_cast<std::size_t>(piece.count));
  std::vector<double> became(values.size());
  decode_row(from, piece.from, values.data(), piece.count);
  encode_row(to, values.data(), piece.to, piece.count, conversion, random, &tally.census);
  decode_row(to, piece.to, became.data(), piece.count);
  add_errors(values.data(), became.data(), piece.count, piece.first, tally);
}

// All 64 bits of an integer.
long double as_long_double(const Exact& x) {
  if (x.kind != Exact::Kind::finite) return detail::nearest_double(x);
  return std::ldexp(x.negative ? -static_cast<long double>(x.n) : static_cast<long double>(x.n), x.exponent);
}

// For 64-bit integers and the widest P3109 formats, whose values a double would round already.
void convert_exactly(const Piece& piece, DType from, DType to, const Conversion& conversion,
                     const RandomWords& random, ConvertTally& tally) {
  std::vector<long double> was(static_cast<std::size_t>(piece.count)), became(was.size());
  std::vector<std::uint32_t> words(was.size(), 0);
  if (conversion.rounding == Rounding::stochastic)
    rounding_words(random, conversion.random_bits, words.data(), piece.count);
  for (std::int64_t i = 0; i < piece.count; ++i) {
    const auto at = static_cast<std::size_t>(i);
    const Exact x = decode_exact(from.format(), load_code(from, piece.from, i));
    const std::uint64_t code = encode(to.format(), x, conversion, words[at]);
    store_code(to, piece.to, i, code);
    count_conversion(to.format(), x, code, tally.census);
    was[at] = as_long_double(x);
    became[at] = as_long_double(decode_exact(to.format(), code));
  }
  add_errors(was.data(), became.data(), piece.count, piece.first, tally);
}

}  // namespace

ConvertTally convert_numbers(const ConvertSource& source, DType target, const Conversion& conversion,
                             std::uint64_t seed, ConvertSink& sink) {
  const DType from = source.dtype();
  const bool as_float = is_within_float(from.format()), as_double = is_within_double(from.format());
  ConvertTally total;
  std::vector<std::byte> codes, converted;
  for (std::int64_t slab = 0; slab < source.count(); slab += kSlab) {
    const std::int64_t size = std::min(kSlab, source.count() - slab);
    codes.resize(static_cast<std::size_t>(size * from.bytes()));
    converted.resize(static_cast<std::size_t>(size * target.bytes()));
    std::vector<ConvertTally> tallies(static_cast<std::size_t>(chunk_count(size, kChunk)));
    parallel_for(size, kChunk, [&](std::int64_t begin, std::int64_t end) {
      const Piece piece{slab + begin, end - begin, codes.data() + begin * from.bytes(),
                        converted.data() + begin * target.bytes()};
      source.read(piece.first, piece.count, codes.data() + begin * from.bytes());
      const RandomWords random{seed, streams::rounding, static_cast<std::uint64_t>(piece.first)};
      ConvertTally& tally = tallies[static_cast<std::size_t>(begin / kChunk)];
      if (as_float)
        convert_as<float>(piece, from, target, conversion, random, tally);
      else if (as_double)
        convert_as<double>(piece, from, target, conversion, random, tally);
      else
        convert_exactly(piece, from, target, conversion, random, tally);
    });
    for (const ConvertTally& tally : tallies) total += tally;
    sink.write(converted.data(), size * target.bytes());
  }
  return total;
}

}  // namespace halftone::cli
