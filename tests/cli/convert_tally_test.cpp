// SPDX-License-Identifier: Apache-2.0
//
// Errors against sums of their own.
#include <gtest/gtest.h>

#include <string>

#include "cli/convert_files.h"

namespace halftone {
namespace {

TEST(ConvertTally, ErrorsAreThoseOfFiniteValues) {
  const ConvertFiles files;
  std::vector<float> values = noise(70'000, 2, 4);
  values[5] = NAN, values[6] = INFINITY;
  files.save("w.npy", values);
  const auto report = files.json("w.npy --to float8_e5m2");
  long double signal = 0, noise = 0;
  double most = 0;
  std::int64_t finite = 0;
  for (const float value : values) {
    const double x = value, y = decode(float8_e5m2.format(), encode(float8_e5m2.format(), x));
    if (!std::isfinite(x) || !std::isfinite(y)) continue;
    ++finite;
    signal += static_cast<long double>(x) * x;
    noise += static_cast<long double>(y - x) * (y - x);
    most = std::max(most, std::fabs(y - x));
  }
  EXPECT_EQ(report["finite"], finite);
  EXPECT_LT(finite, 70'000 - 2);  // some overflowed
  EXPECT_EQ(report["max_error"].get<double>(), most);
  EXPECT_NEAR(report["rms_error"].get<double>() / static_cast<double>(std::sqrt(noise / finite)), 1, 1e-12);
  EXPECT_NEAR(report["signal_to_noise_db"].get<double>(),
              static_cast<double>(10 * std::log10(signal / noise)), 1e-9);
}

TEST(ConvertTally, NothingChangedIsSaidAsSuch) {
  const ConvertFiles files;
  files.save("w.npy", {1, 2, -4});
  EXPECT_NE(files.convert("w.npy --to float16").find("infinite: nothing changed"), std::string::npos);
  const auto report = files.json("w.npy --to float16");
  EXPECT_EQ(report["max_error"], 0);
  EXPECT_EQ(report["rms_error"], 0);
  EXPECT_TRUE(report["signal_to_noise_db"].is_null());
}

TEST(ConvertTally, WithoutASignalThereIsNoRatio) {
  const ConvertFiles files;
  files.save("zeros.npy", {0, -0.0f});
  files.save("nans.npy", {NAN, INFINITY});
  EXPECT_NE(files.convert("zeros.npy --to float16").find("none: every value is zero"), std::string::npos);
  EXPECT_NE(files.convert("nans.npy --to float16").find("none: no value is finite"), std::string::npos);
  EXPECT_TRUE(files.json("nans.npy --to float16")["max_error"].is_null());
}

TEST(ConvertTally, SquaresOfLargeDoublesDoNotOverflow) {
  const ConvertFiles files;
  const std::vector<double> values = {1.00001e300, -3.3e299};
  data::NpyArray array{{2}, float64, std::vector<std::byte>(16)};
  std::memcpy(array.bytes.data(), values.data(), 16);
  data::write_npy(files.path("d.npy"), array);
  const double ratio = files.json("d.npy --to e11m7")["signal_to_noise_db"].get<double>();
  EXPECT_GT(ratio, 40);
  EXPECT_LT(ratio, 70);
}

}  // namespace
}  // namespace halftone
