// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "halftone/error.h"
#include "report/records.h"

namespace halftone::report {
namespace {

std::string read(const std::filesystem::path& file) {
  std::ostringstream text;
  text << std::ifstream(file, std::ios::binary).rdbuf();
  return text.str();
}

class Write : public testing::Test {
 protected:
  void SetUp() override { std::filesystem::remove_all(folder); }
  void TearDown() override { std::filesystem::remove_all(folder); }
  std::filesystem::path folder =
      std::filesystem::temp_directory_path() / ("halftone_write_test_" + std::to_string(::getpid()));
};

TEST_F(Write, ARunHasItsTwoFilesAndNoOthers) {
  write(sample_record(), folder / "a" / "b");
  EXPECT_EQ(read(folder / "a/b/record.json"), to_json(sample_record()));
  EXPECT_EQ(read(folder / "a/b/report.html"), to_html(sample_record()));
  const std::filesystem::directory_iterator files(folder / "a/b");
  EXPECT_EQ(std::distance(begin(files), end(files)), 2);
}

TEST_F(Write, AComparisonHasItsTwoFiles) {
  write(Comparison{}, folder);
  EXPECT_EQ(read(folder / "compare.json"), to_json(Comparison{}));
  EXPECT_EQ(read(folder / "compare.html"), to_html(Comparison{}));
}

TEST_F(Write, APlaceThatIsNoFolderIsNamed) {
  std::filesystem::create_directories(folder);
  std::ofstream(folder / "file") << "x";
  try {
    write(sample_record(), folder / "file");
    FAIL() << "wrote into a file";
  } catch (const FileError& error) {
    EXPECT_NE(std::string(error.what()).find((folder / "file").string()), std::string::npos) << error.what();
  }
  EXPECT_EQ(read(folder / "file"), "x");
}

}  // namespace
}  // namespace halftone::report
