// SPDX-License-Identifier: Apache-2.0
#include "train/machine.h"

#include <gtest/gtest.h>

#include <cstring>
#include <fstream>
#include <sstream>
#include <vector>

#include "halftone/parallel.h"
#include "train/version.h"

namespace halftone::train {
namespace {

Machine parse(const std::string& text) {
  std::istringstream stream(text);
  return parse_cpuinfo(stream);
}

TEST(Machine, TheProcessorIsReadFromCpuinfo) {
  const Machine machine = parse(
      "processor\t: 0\nmodel name\t: Example 9000 CPU\nflags\t\t: fpu sse4_2 avx avx2 avx512bw "
      "avx512_bf16\n\n"
      "processor\t: 1\nmodel name\t: Other\nflags\t\t: fpu\n");
  EXPECT_EQ(machine.processor, "Example 9000 CPU");
  EXPECT_EQ(machine.simd, "AVX512_BF16");
  EXPECT_EQ(parse("flags : sse4_2 avx avx2").simd, "AVX2");
  EXPECT_EQ(parse("Features : fp asimd").simd, "NEON");
  EXPECT_EQ(parse("").simd, "none");
  EXPECT_EQ(parse("").processor, "unknown processor");
}

TEST(Machine, ThisOneHasCoresAndThreads) {
  const Machine machine = describe_machine();
  EXPECT_GE(machine.cores, 1);
  EXPECT_EQ(machine.threads, thread_count());
  EXPECT_FALSE(machine.processor.empty());
}

TEST(Machine, PeakMemorySeesALargeBlockComeAndGo) {
  if (peak_resident_bytes() == 0) GTEST_SKIP() << "the system does not tell";
  constexpr std::size_t kBlock = std::size_t{64} << 20;
  reset_peak_resident();
  const std::int64_t before = peak_resident_bytes();
  {
    std::vector<char> block(kBlock);
    std::memset(block.data(), 1, block.size());
    EXPECT_GE(peak_resident_bytes() - before, static_cast<std::int64_t>(kBlock) * 9 / 10);
  }
}

TEST(Machine, WhatIsResidentNowIsItsOwnOrOfFiles) {
  const Resident before = resident_bytes();
  if (peak_resident_bytes() == 0) GTEST_SKIP() << "the system does not tell";
  EXPECT_GT(before.files, 0);
  constexpr std::size_t kBlock = std::size_t{64} << 20;
  std::vector<char> block(kBlock);
  std::memset(block.data(), 1, block.size());
  const Resident after = resident_bytes();
  EXPECT_GE(after.anonymous - before.anonymous, static_cast<std::int64_t>(kBlock) * 9 / 10);
  EXPECT_LT(after.files - before.files, static_cast<std::int64_t>(kBlock) / 2);
}

TEST(Machine, TheMatmulRateIsANumber) {
  EXPECT_GT(matmul_gflops(float32), 0);
  EXPECT_GT(matmul_gflops(float32, 64, 32, 16), 0);
  EXPECT_GT(matmul_gflops(bfloat16), 0);
  EXPECT_GT(matmul_gflops(find_dtype("e9m6")),
            0);  // a small one: the reference's takes minutes for a large one
}

TEST(Machine, TheVersionIsTheProjects) {
  std::ifstream lists(HALFTONE_SOURCE_DIR "/CMakeLists.txt");
  std::stringstream text;
  text << lists.rdbuf();
  EXPECT_NE(text.str().find("VERSION " + std::string(kVersion) + " "), std::string::npos);
}

}  // namespace
}  // namespace halftone::train
