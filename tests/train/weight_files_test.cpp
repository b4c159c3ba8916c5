// SPDX-License-Identifier: Apache-2.0
#include "train/weight_files.h"

#include <gmock/gmock.h>

#include "data/scratch.h"
#include "halftone/train.h"

namespace halftone::train {
namespace {

using halftone::testing::fuzz;
using halftone::testing::message_of;
using halftone::testing::read_bytes;
using halftone::testing::Scratch;
using halftone::testing::write_bytes;
using ::testing::HasSubstr;

struct WeightFiles : ::testing::Test {
  Scratch scratch;
  WeightFiles() {
    save_state(scratch / "a.safetensors", {{{"x", ones({2})}, {"y", zeros({3})}}, {}});
    save_state(scratch / "b.safetensors", {{{"z", full({1}, 5)}}, {}});
  }
  void index(const std::string& map) {
    write_bytes(scratch / "model.safetensors.index.json", "{\"metadata\": {}, \"weight_map\": " + map + "}");
  }
  std::string refused() {
    return message_of<FileError>([&] { read_weight_files(scratch.path()); });
  }
};

constexpr const char* kGood = R"({"x": "a.safetensors", "y": "a.safetensors", "z": "b.safetensors"})";

TEST_F(WeightFiles, AreOneOrSeveral) {
  EXPECT_EQ(read_weight_files(scratch / "b.safetensors").at("z").item(), 5);
  index(kGood);
  EXPECT_EQ(read_weight_files(scratch.path()).size(), 3u);
  EXPECT_EQ(read_weight_files(scratch.path()).at("z").item(), 5);
  save_state(scratch / "model.safetensors", {{{"alone", ones({2})}}, {}});
  EXPECT_TRUE(read_weight_files(scratch.path()).contains("alone"));
}

TEST_F(WeightFiles, IndexAndFilesMustAgree) {
  EXPECT_THAT(refused(), HasSubstr("neither model.safetensors nor"));
  index(R"({"x": "a.safetensors", "z": "b.safetensors"})");
  EXPECT_THAT(refused(), HasSubstr("tensor \"y\""));
  index(R"({"x": "a.safetensors", "y": "a.safetensors", "z": "a.safetensors"})");
  EXPECT_THAT(refused(), HasSubstr("no tensor \"z\""));
  index(R"({"x": "a.safetensors", "y": "a.safetensors", "z": "c.safetensors"})");
  EXPECT_THAT(refused(), HasSubstr("c.safetensors"));
  for (const char* name :
       {"../a.safetensors", "/etc/passwd", "a.bin", "", "a\\\\b.safetensors", "a\\u0000.safetensors"}) {
    index(std::string(R"({"x": ")") + name + "\"}");
    EXPECT_THAT(refused(), HasSubstr("the name of a .safetensors file in the same folder")) << name;
  }
  index("[]");
  EXPECT_THAT(refused(), HasSubstr("weight_map"));
  index(std::string(R"({"x": )").append(200000, '['));
  EXPECT_THAT(refused(), HasSubstr("nested too deeply"));
}

TEST_F(WeightFiles, NoIndexBreaksTheReader) {
  index(kGood);
  const auto file = scratch / "model.safetensors.index.json";
  const std::string bytes = read_bytes(file);
  EXPECT_GT(fuzz(file, bytes, 5, 200, [&](const auto&) { read_weight_files(scratch.path()); }), 150);
}

}  // namespace
}  // namespace halftone::train
