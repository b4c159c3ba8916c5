// SPDX-License-Identifier: Apache-2.0
//
// All 2^32 float32 inputs through encode_row, to nearest even, for every format of at most 16 bits, against
// the table of thresholds of tests/format/oracle.h, which is walked upwards with one pointer. One line per
// format; the exit status is 1 if any input differs.
//
//   exhaustive [--stride N] [--target NAME] [--threads N] [FORMAT...]
//
// A stride N > 1 takes every N-th input (ctest does). Without formats: all rows of tests/format/oracle.h, or,
// of all inputs, those that the vector loops cover.
#include <fmt/format.h>

#include <atomic>
#include <bit>
#include <charconv>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <thread>

#include "format/oracle.h"
#include "format/rows_simd.h"
#include "halftone/error.h"

namespace halftone {
namespace {

constexpr std::uint32_t kInfinity = 0x7F800000;

// For one sign: code i is right for the floats, as bits, up to and including last[i].
struct Floats {
  std::vector<std::uint32_t> last;
  std::vector<std::uint16_t> codes;
};

// The largest float32 that is at most x, as bits.
std::uint32_t bits_at_most(double x) {
  const auto value = static_cast<float>(x);
  const std::uint32_t bits = std::bit_cast<std::uint32_t>(value);
  return static_cast<double>(value) > x ? bits - 1 : std::min(bits, kInfinity - 1);
}

Floats floats_of(const oracle::Thresholds& table, bool negative) {
  const oracle::Thresholds::Side& side = table.side(negative);
  Floats floats{{0}, {static_cast<std::uint16_t>(table.code_of(0.0, negative))}};
  for (std::size_t i = 0; i < side.codes.size(); ++i) {
    std::uint32_t last = kInfinity - 1;
    if (i < side.middles.size()) {
      last = bits_at_most(side.middles[i]);
      const bool is_tie = static_cast<double>(std::bit_cast<float>(last)) == side.middles[i];
      if (is_tie && i % 2 != 0) --last;  // goes up, to the even code
    }
    floats.last.push_back(last);
    floats.codes.push_back(static_cast<std::uint16_t>(side.codes[i]));
  }
  return floats;
}

class Sweep {
 public:
  Sweep(DType dtype, std::uint64_t stride)
      : dtype_(dtype),
        stride_(stride),
        table_(dtype.format()),
        sides_{floats_of(table_, false), floats_of(table_, true)} {}

  // The inputs of one sign whose bits lie in [begin, end).
  std::int64_t count_differences(bool negative, std::uint64_t begin, std::uint64_t end) const {
    constexpr std::size_t kPiece = 1 << 14;
    const std::uint32_t sign = negative ? 0x80000000 : 0;
    const Floats& floats = sides_[negative ? 1 : 0];
    std::vector<float> values(kPiece);
    std::vector<std::uint16_t> codes(kPiece), expected(kPiece);
    std::size_t at = 0;
    std::int64_t differences = 0;
    std::uint64_t bits = (begin + stride_ - 1) / stride_ * stride_;
    while (bits < end) {
      const auto count =
          static_cast<std::size_t>(std::min<std::uint64_t>(kPiece, (end - bits + stride_ - 1) / stride_));
      const auto first = static_cast<std::uint32_t>(bits), step = static_cast<std::uint32_t>(stride_);
      for (std::uint32_t k = 0; k < count; ++k) values[k] = std::bit_cast<float>((first + k * step) | sign);
      bits += count * stride_;
      encode(values.data(), codes.data(), count);
      std::uint32_t u = first;
      std::size_t i = 0;
      while (i < count && u < kInfinity) {  // a run of one code at a time
        while (floats.last[at] < u) ++at;
        const std::uint64_t run = (floats.last[at] - u) / stride_ + 1;
        const std::size_t stop = static_cast<std::size_t>(std::min<std::uint64_t>(count, i + run));
        std::fill(expected.begin() + static_cast<std::ptrdiff_t>(i),
                  expected.begin() + static_cast<std::ptrdiff_t>(stop), floats.codes[at]);
        u += static_cast<std::uint32_t>((stop - i) * stride_);
        i = stop;
      }
      for (std::size_t k = i; k < count; ++k)  // infinity and NaN
        expected[k] = table_.accepts(static_cast<double>(values[k]), codes[k])
                          ? codes[k]
                          : static_cast<std::uint16_t>(~codes[k]);
      if (std::memcmp(codes.data(), expected.data(), count * sizeof(codes[0])) == 0) continue;
      for (std::size_t k = 0; k < count; ++k)
        if (!table_.same(codes[k], expected[k])) {
          if (!reported_.exchange(true))
            fmt::print("  {:a} became {:#x}, expected {:#x}\n", values[k], codes[k], expected[k]);
          ++differences;
        }
    }
    return differences;
  }

 private:
  void encode(const float* values, std::uint16_t* codes, std::size_t count) const {
    const auto n = static_cast<std::int64_t>(count);
    encode_row(dtype_, values, codes, n);
    if (dtype_.bytes() == 2) return;
    const auto* bytes = reinterpret_cast<const std::uint8_t*>(codes);
    for (std::size_t i = count; i-- > 0;) codes[i] = bytes[i];  // from the end, in place
  }

  DType dtype_;
  std::uint64_t stride_;
  oracle::Thresholds table_;
  Floats sides_[2];
  mutable std::atomic<bool> reported_ = false;
};

std::int64_t sweep(DType dtype, std::uint64_t stride, unsigned threads) {
  const Sweep sweep(dtype, stride);
  constexpr std::uint64_t kPart = std::uint64_t{1} << 25, kParts = (std::uint64_t{1} << 32) / kPart;
  std::atomic<std::uint64_t> next = 0;
  std::atomic<std::int64_t> differences = 0;
  const auto work = [&] {
    for (std::uint64_t part = next++; part < kParts; part = next++) {
      const std::uint64_t begin = part % (kParts / 2) * kPart;
      differences += sweep.count_differences(part >= kParts / 2, begin, begin + kPart);
    }
  };
  std::vector<std::thread> others;
  for (unsigned i = 1; i < threads; ++i) others.emplace_back(work);
  work();
  for (std::thread& thread : others) thread.join();
  return differences;
}

void use_target(std::string_view name) {
  std::string names;
  for (std::int64_t target : simd::targets()) {
    if (simd::target_name(target) == name) return simd::use_target(target);
    names += (names.empty() ? "one of " : ", ") + simd::target_name(target);
  }
  throw ValueError("exhaustive", fmt::format("target \"{}\"", name), names);
}

unsigned parse_count(std::string_view text) {
  unsigned count = 0;
  const auto end = std::from_chars(text.data(), text.data() + text.size(), count);
  if (end.ec != std::errc() || end.ptr != text.data() + text.size() || count == 0)
    throw ValueError("exhaustive", fmt::format("\"{}\"", text), "a positive number");
  return count;
}

int run(const std::vector<std::string_view>& arguments) {
  unsigned stride = 1, threads = 2;
  std::vector<DType> dtypes;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const bool has_value = arguments[i].substr(0, 2) == "--";
    if (has_value && i + 1 == arguments.size())
      throw ValueError("exhaustive", arguments[i], "a value after it");
    if (arguments[i] == "--stride") {
      stride = parse_count(arguments[++i]);
    } else if (arguments[i] == "--threads") {
      threads = parse_count(arguments[++i]);
    } else if (arguments[i] == "--target") {
      use_target(arguments[++i]);
    } else {
      dtypes.push_back(find_dtype(arguments[i]));
    }
  }
  static const std::vector<Format> rows = oracle::rows();
  if (dtypes.empty())
    for (const Format& row : rows)
      if (stride > 1 || simd::covers(row)) dtypes.emplace_back(&row);
  bool all_agree = true;
  for (DType dtype : dtypes) {
    const Format& f = dtype.format();
    if (f.bits() > 16 || !std::isfinite(max_finite(f)) || min_subnormal(f) == 0)
      throw ValueError("exhaustive", dtype.name(), "a format of at most 16 bits whose values are doubles");
    const auto start = std::chrono::steady_clock::now();
    const std::int64_t differences = sweep(dtype, stride, threads);
    const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
    std::printf("%-20s %12.0f inputs %8.2f s %10.0f differences\n", std::string(dtype.name()).c_str(),
                2 * std::ceil(0x1p31 / stride), seconds.count(), static_cast<double>(differences));
    std::fflush(stdout);
    all_agree = all_agree && differences == 0;
  }
  return all_agree ? 0 : 1;
}

}  // namespace
}  // namespace halftone

int main(int count, char** arguments) {
  try {
    return halftone::run({arguments + 1, arguments + count});
  } catch (const std::exception& error) {
    fmt::print(stderr, "{}\n", error.what());
    return 2;
  }
}
