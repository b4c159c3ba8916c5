// SPDX-License-Identifier: Apache-2.0
//
// An array converted to a block format: the rows of its last axis become blocks, each row beginning a new
// one.
#pragma once

#include "cli/convert_sink.h"
#include "cli/convert_source.h"
#include "cli/convert_tally.h"
#include "halftone/block.h"

namespace halftone::cli {

// What a row of an array makes, and the shapes of what is written: bytes of packed elements, and scales.
struct BlockShape {
  BlockShape(const BlockFormat& format, const std::vector<std::int64_t>& shape);

  std::int64_t row_length = 1, row_blocks = 0, row_bytes = 0;
  std::vector<std::int64_t> elements, scales;
};

// The scale of the whole array (1 where the format has none), from its largest finite magnitude.
float tensor_scale(const ConvertSource& source, const BlockFormat& format);

// The census is of the elements: of the values divided by their scale. Its histogram is of the values.
ConvertTally convert_blocks(const ConvertSource& source, const BlockFormat& format, float tensor_scale,
                            const Conversion& conversion, std::uint64_t seed, ConvertSink& elements,
                            ConvertSink& scales);

}  // namespace halftone::cli
