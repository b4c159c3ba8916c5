// SPDX-License-Identifier: Apache-2.0
#include "cli/convert_blocks.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

#include "halftone/parallel.h"
#include "halftone/random.h"

namespace halftone::cli {
namespace {

constexpr std::int64_t kChunkElements = 1 << 15;
constexpr std::int64_t kSlabChunks = 64;

struct Job {
  const ConvertSource& source;
  const BlockFormat& format;
  const BlockShape shape;
  float tensor_scale;
  Conversion conversion;
  std::uint64_t seed;

  // Where block number g begins: among the elements, and among the packed bytes.
  std::int64_t first_element(std::int64_t g) const {
    return g / shape.row_blocks * shape.row_length + g % shape.row_blocks * format.length;
  }
  std::int64_t first_byte(std::int64_t g) const {
    return g / shape.row_blocks * shape.row_bytes + g % shape.row_blocks * format.element_bytes();
  }
};

std::vector<float> read_floats(const ConvertSource& source, std::int64_t begin, std::int64_t count) {
  std::vector<std::byte> codes(static_cast<std::size_t>(count * source.dtype().bytes()));
  std::vector<float> values(static_cast<std::size_t>(count));
  source.read(begin, count, codes.data());
  decode_row(source.dtype(), codes.data(), values.data(), count);
  return values;
}

// A run of blocks of one row.
void convert_run(const Job& job, const float* values, std::int64_t count, std::int64_t first,
                 std::byte* elements, std::byte* scales, ConvertTally& tally) {
  std::vector<float> became(static_cast<std::size_t>(count));
  const RandomWords random{job.seed, streams::rounding, static_cast<std::uint64_t>(first)};
  encode_blocks(job.format, values, count, elements, scales, job.tensor_scale, job.conversion, random,
                &tally.census);
  decode_blocks(job.format, elements, scales, count, became.data(), job.tensor_scale);
  const std::vector<double> wide(became.begin(), became.end());
  add_errors(values, wide.data(), count, first, tally);
}

// Of the values themselves, for which their own format is as good as any.
void count_exponents(const std::vector<float>& values, Census& census) {
  Census own;
  count_row(float32, values.data(), values.data(), static_cast<std::int64_t>(values.size()), own);
  census.exponents = own.exponents;
}

// Blocks [begin, end), which may lie in several rows.
void convert_chunk(const Job& job, std::int64_t begin, std::int64_t end, std::byte* elements,
                   std::byte* scales, ConvertTally& tally) {
  const std::int64_t first = job.first_element(begin);
  const std::int64_t last = std::min(job.first_element(end - 1) + job.format.length,
                                     ((end - 1) / job.shape.row_blocks + 1) * job.shape.row_length);
  const std::vector<float> values = read_floats(job.source, first, last - first);
  for (std::int64_t g = begin; g < end;) {
    const std::int64_t row_end = (g / job.shape.row_blocks + 1) * job.shape.row_blocks,
                       stop = std::min(end, row_end);
    const std::int64_t at = job.first_element(g), to = stop == end ? last : job.first_element(stop);
    convert_run(job, values.data() + (at - first), to - at, at,
                elements + (job.first_byte(g) - job.first_byte(begin)),
                scales + (g - begin) * job.format.scale.bytes(), tally);
    g = stop;
  }
  count_exponents(values, tally.census);
}

}  // namespace

BlockShape::BlockShape(const BlockFormat& format, const std::vector<std::int64_t>& shape)
    : elements(shape), scales(shape) {
  if (!shape.empty()) row_length = shape.back();
  row_blocks = block_count(format, row_length);
  row_bytes = packed_bytes(format, row_length);
  if (shape.empty()) elements.push_back(0), scales.push_back(0);
  elements.back() = row_bytes;
  scales.back() = row_blocks;
}

float tensor_scale(const ConvertSource& source, const BlockFormat& format) {
  if (!format.has_tensor_scale) return 1;
  std::vector<float> largest(static_cast<std::size_t>(chunk_count(source.count(), kChunkElements)), 0.0f);
  parallel_for(source.count(), kChunkElements, [&](std::int64_t begin, std::int64_t end) {
    float most = 0;
    for (const float value : read_floats(source, begin, end - begin))
      if (std::isfinite(value)) most = std::max(most, std::fabs(value));
    largest[static_cast<std::size_t>(begin / kChunkElements)] = most;
  });
  return halftone::tensor_scale(format,
                                largest.empty() ? 0 : *std::max_element(largest.begin(), largest.end()));
}

ConvertTally convert_blocks(const ConvertSource& source, const BlockFormat& format, float tensor_scale,
                            const Conversion& conversion, std::uint64_t seed, ConvertSink& elements,
                            ConvertSink& scales) {
  const Job job{source, format, BlockShape(format, source.shape()), tensor_scale, conversion, seed};
  const std::int64_t blocks =
      source.count() == 0 ? 0 : source.count() / job.shape.row_length * job.shape.row_blocks;
  const std::int64_t chunk = std::max<std::int64_t>(1, kChunkElements / format.length),
                     slab = kSlabChunks * chunk;
  ConvertTally total;
  std::vector<std::byte> packed, codes;
  for (std::int64_t begin = 0; begin < blocks; begin += slab) {
    const std::int64_t size = std::min(slab, blocks - begin);
    // The last row may end within the slab; then its blocks end where the next row would begin.
    const std::int64_t offset = job.first_byte(begin), bytes = job.first_byte(begin + size) - offset;
    packed.assign(static_cast<std::size_t>(bytes), std::byte{0});
    codes.resize(static_cast<std::size_t>(size * format.scale.bytes()));
    std::vector<ConvertTally> tallies(static_cast<std::size_t>(chunk_count(size, chunk)));
    parallel_for(size, chunk, [&](std::int64_t from, std::int64_t to) {
      convert_chunk(job, begin + from, begin + to, packed.data() + (job.first_byte(begin + from) - offset),
                    codes.data() + from * format.scale.bytes(),
                    tallies[static_cast<std::size_t>(from / chunk)]);
    });
    for (const ConvertTally& tally : tallies) total += tally;
    elements.write(packed.data(), bytes);
    scales.write(codes.data(), static_cast<std::int64_t>(codes.size()));
  }
  return total;
}

}  // namespace halftone::cli
