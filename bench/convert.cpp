// SPDX-License-Identifier: Apache-2.0
//
// Conversions against a copy of the same bytes, and against Eigen's and libfp16's, interleaved in one run:
// medians of the rates of one core, in cache and far beyond it. A table on stderr, JSON on stdout.
#include <fmt/format.h>
#include <fp16.h>

#include <Eigen/Core>
#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/median.h"
#include "halftone/block.h"
#include "halftone/census.h"
#include "halftone/conversion.h"
#include "halftone/random.h"

namespace halftone {
namespace {

using Json = nlohmann::ordered_json;
using Clock = std::chrono::steady_clock;

struct Case {
  std::string name;
  double bytes;  // read and written per element
  std::function<void()> run;
};

// Seconds of one call, the cases taking turns.
std::vector<double> medians(const std::vector<Case>& cases, int rounds) {
  std::vector<std::vector<double>> seconds(cases.size());
  for (const Case& c : cases) c.run();
  for (int round = 0; round < rounds; ++round) {
    for (std::size_t i = 0; i < cases.size(); ++i) {
      const auto begin = Clock::now();
      cases[i].run();
      seconds[i].push_back(std::chrono::duration<double>(Clock::now() - begin).count());
    }
  }
  std::vector<double> result;
  for (const std::vector<double>& of_case : seconds) result.push_back(median(of_case));
  return result;
}

// Everything about one size. In cache each call goes over the data `repeat` times.
class Bench {
 public:
  Bench(std::int64_t count, int repeat)
      : count_(count),
        repeat_(repeat),
        values_(size(count)),
        back_(size(count)),
        codes_(size(count) * 4),
        other_(size(count) * 8),
        scales_(size(count)) {
    for (std::int64_t i = 0; i < count; ++i)
      values_[size(i)] = random_normal_at(1, 1, static_cast<std::uint64_t>(i % 65536));
    std::memset(other_.data(), 1, other_.size());
  }

  Json run(int rounds) {
    std::vector<Case> cases;
    const auto add = [&](std::string name, double bytes, std::function<void()> body) {
      cases.push_back({std::move(name), bytes, [this, body = std::move(body)] {
                         for (int i = 0; i < repeat_; ++i) body();
                       }});
    };
    for (double bytes : {8.0, 6.0, 5.0, 4.5})
      add(fmt::format("copy of {} bytes", bytes), bytes, [this, bytes] {
        std::memcpy(other_.data(), codes_.data(),
                    static_cast<std::size_t>(static_cast<double>(count_) * bytes / 2));
      });
    for (const char* name :
         {"tfloat32", "float16", "bfloat16", "float8_e4m3fn", "float8_e5m2", "float8_e4m3fnuz",
          "float6_e3m2fn", "float6_e2m3fn", "float4_e2m1fn", "fixed8m6", "e5m7", "binary8p4se"})
      rows(find_dtype(name), add);
    for (const BlockFormat& format : kBlockFormats) blocks(format, add);
    peers(add);
    const std::vector<double> seconds = medians(cases, rounds);
    Json out = Json::array();
    std::map<double, double> copies;
    for (std::size_t i = 0; i < cases.size(); ++i) {
      const double elements = static_cast<double>(count_) * repeat_ / seconds[i];
      if (cases[i].name.rfind("copy", 0) == 0) copies[cases[i].bytes] = elements;
      // Against the copy of as many bytes, or, between those measured, of the next smaller number scaled.
      const auto copy = std::prev(copies.upper_bound(std::max(cases[i].bytes, copies.begin()->first)));
      const double of_copy = elements * cases[i].bytes / (copy->second * copy->first);
      out.push_back({{"case", cases[i].name},
                     {"giga_elements_per_second", elements * 1e-9},
                     {"gigabytes_per_second", elements * cases[i].bytes * 1e-9},
                     {"of_copy", of_copy}});
      fmt::print(stderr, "  {:<34} {:>7.2f} G elements/s {:>7.1f} GB/s {:>6.2f} of a copy\n", cases[i].name,
                 elements * 1e-9, elements * cases[i].bytes * 1e-9, of_copy);
    }
    return out;
  }

 private:
  static std::size_t size(std::int64_t n) { return static_cast<std::size_t>(n); }

  template <class Add>
  void rows(DType dtype, const Add& add) {
    const double bytes = 4 + dtype.bytes();
    const std::string name(dtype.name());
    add(name + " encode", bytes, [this, dtype] { encode_row(dtype, values_.data(), codes_.data(), count_); });
    add(name + " decode", bytes, [this, dtype] { decode_row(dtype, other_.data(), back_.data(), count_); });
    if (dtype != float16 && dtype != bfloat16 && dtype != float8_e4m3fn) return;
    Conversion stochastic;
    stochastic.rounding = Rounding::stochastic;
    add(name + " encode, stochastic", bytes, [this, dtype, stochastic] {
      encode_row(dtype, values_.data(), codes_.data(), count_, stochastic, {1, 2, 0});
    });
    Conversion odd;
    odd.rounding = Rounding::to_odd;
    add(name + " encode, to odd", bytes,
        [this, dtype, odd] { encode_row(dtype, values_.data(), codes_.data(), count_, odd); });
    add(name + " encode, census", bytes, [this, dtype] {
      encode_row(dtype, values_.data(), codes_.data(), count_, default_conversion(dtype.format()), {},
                 &census_);
    });
  }

  template <class Add>
  void blocks(const BlockFormat& format, const Add& add) {
    const double bytes = 4 + format.bits_per_element() / 8;
    add(fmt::format("{} encode", format.name), bytes,
        [this, format] { encode_blocks(format, values_.data(), count_, codes_.data(), scales_.data()); });
    add(fmt::format("{} decode", format.name), bytes,
        [this, format] { decode_blocks(format, other_.data(), other_.data(), count_, back_.data()); });
  }

  template <class Add>
  void peers(const Add& add) {
    add("Eigen float16 encode", 6, [this] { eigen<Eigen::half>(); });
    add("Eigen float16 decode", 6, [this] { from_eigen<Eigen::half>(); });
    add("Eigen bfloat16 encode", 6, [this] { eigen<Eigen::bfloat16>(); });
    add("Eigen bfloat16 decode", 6, [this] { from_eigen<Eigen::bfloat16>(); });
    add("libfp16 float16 encode", 6, [this] {
      auto* out = reinterpret_cast<std::uint16_t*>(codes_.data());
      for (std::size_t i = 0; i < values_.size(); ++i) out[i] = fp16_ieee_from_fp32_value(values_[i]);
    });
    add("libfp16 float16 decode", 6, [this] {
      const auto* in = reinterpret_cast<const std::uint16_t*>(other_.data());
      for (std::size_t i = 0; i < back_.size(); ++i) back_[i] = fp16_ieee_to_fp32_value(in[i]);
    });
  }

  template <class T>
  void eigen() {
    Eigen::Map<Eigen::Array<T, Eigen::Dynamic, 1>>(reinterpret_cast<T*>(codes_.data()), count_) =
        Eigen::Map<const Eigen::ArrayXf>(values_.data(), count_).template cast<T>();
  }
  template <class T>
  void from_eigen() {
    Eigen::Map<Eigen::ArrayXf>(back_.data(), count_) = Eigen::Map<const Eigen::Array<T, Eigen::Dynamic, 1>>(
                                                           reinterpret_cast<const T*>(other_.data()), count_)
                                                           .template cast<float>();
  }

  std::int64_t count_;
  int repeat_;
  std::vector<float> values_, back_;
  std::vector<std::uint8_t> codes_, other_;
  std::vector<std::uint16_t> scales_;
  Census census_;
};

}  // namespace
}  // namespace halftone

int main(int argc, char** argv) {
  const int rounds = argc > 1 ? std::atoi(argv[1]) : 21;
  nlohmann::ordered_json out = {{"threads", 1}, {"rounds", rounds}};
  fmt::print(stderr, "in cache (4096 elements):\n");
  out["in_cache"] = halftone::Bench(4096, 200).run(rounds);
  fmt::print(stderr, "beyond the last cache (64 Mi elements):\n");
  out["in_memory"] = halftone::Bench(std::int64_t{1} << 26, 1).run(std::max(3, rounds / 4));
  fmt::print("{}\n", out.dump(1));
}
