// SPDX-License-Identifier: Apache-2.0
#include "cli/convert_sink.h"

#include <fmt/format.h>

#include "halftone/data.h"

namespace halftone::cli {
namespace {

// The format under which numpy takes the elements: their own, float32 for a tfloat32, which is one with zeros
// at the end, or unsigned integers of the same size.
DType as_numpy(DType dtype) {
  if (dtype == tfloat32) return float32;
  for (const DType own :
       {float16, float32, float64, int32, int64, uint8, find_dtype("int8"), find_dtype("int16"),
        find_dtype("uint16"), find_dtype("uint32"), find_dtype("uint64")})
    if (dtype == own) return dtype;
  const int bytes = dtype.bytes();
  return bytes == 1 ? uint8 : find_dtype(bytes == 2 ? "uint16" : bytes == 4 ? "uint32" : "uint64");
}

}  // namespace

ConvertSink::ConvertSink(const std::filesystem::path& file, const std::vector<std::int64_t>& shape,
                         DType dtype)
    : file_(file) {
  const bool npy = file.extension() == ".npy";
  const DType stored = npy ? as_numpy(dtype) : dtype;
  std::string head;
  if (npy) head = data::npy_head(shape, stored);
  if (!npy)
    what_ = fmt::format("raw {}", dtype.name());
  else if (stored == dtype)
    what_ = std::string(dtype.name());
  else if (dtype == tfloat32)
    what_ = "tfloat32 as float32";
  else
    what_ = fmt::format("codes of {} as {}", dtype.name(), stored.name());
  output_ = std::make_unique<AtomicFile>(file);
  write(head.data(), static_cast<std::int64_t>(head.size()));
}

void ConvertSink::write(const void* bytes, std::int64_t count) {
  if (!output_ || count == 0) return;
  output_->write(bytes, static_cast<std::size_t>(count));
  bytes_ += count;
}

Written ConvertSink::finish() {
  output_->commit();
  output_.reset();
  return {file_.string(), bytes_, what_};
}

}  // namespace halftone::cli
