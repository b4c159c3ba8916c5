// SPDX-License-Identifier: Apache-2.0
//
// The rules of the house, measured: floors include only floors below, files stay short, carry their licence
// line and have their test, every op is in the catalogue, headers leave no macro behind.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <regex>
#include <sstream>
#include <string>
#include <vector>

namespace {

namespace fs = std::filesystem;

const fs::path root = HALFTONE_SOURCE_DIR;
const std::vector<std::string> floors = {"base", "format", "tensor", "backend", "autograd", "op",     "amp",
                                         "nn",   "optim",  "data",   "comm",    "train",    "report", "cli"};

std::string read(const fs::path& file) {
  std::ifstream in(file);
  std::stringstream text;
  text << in.rdbuf();
  return text.str();
}

std::vector<fs::path> files(const std::vector<std::string>& folders, const std::string& extensions) {
  std::vector<fs::path> found;
  for (const std::string& folder : folders)
    for (const auto& entry : fs::recursive_directory_iterator(root / folder))
      if (entry.is_regular_file() &&
          extensions.find(entry.path().extension().string()) != std::string::npos &&
          entry.path().has_extension())
        found.push_back(entry.path());
  std::sort(found.begin(), found.end());
  return found;
}

std::vector<std::string> matches(const std::string& text, const std::string& pattern) {
  const std::regex expression(pattern);
  std::vector<std::string> found;
  for (std::sregex_iterator it(text.begin(), text.end(), expression), end; it != end; ++it)
    found.push_back((*it)[1]);
  return found;
}

std::size_t level(const std::string& floor) {
  return static_cast<std::size_t>(std::find(floors.begin(), floors.end(), floor) - floors.begin());
}

// The floor of `#include "X"`: its folder in src, or of a public header the floor whose name it has.
std::string floor_of_include(const std::string& include) {
  static const std::vector<std::pair<std::string, std::string>> renamed = {
      {"error", "base"},        {"float_state", "base"},
      {"parallel", "base"},     {"random", "base"},
      {"simd", "base"},         {"format_codec", "format"},
      {"conversion", "format"}, {"conversion_codec", "format"},
      {"census", "format"},     {"block", "format"},
      {"scalar", "format"},     {"scalar_fmt", "format"},
      {"formula", "backend"},   {"ops", "op"},
      {"casting", "op"},        {"recipe", "amp"},
      {"autocast", "amp"},      {"grad_scaler", "amp"},
      {"loss_scale", "amp"},    {"optimizer", "amp"},
      {"step", "amp"},          {"warning", "base"},
      {"casting", "op"},        {"models", "nn"},
      {"tokenizer", "data"},    {"halftone", "cli"}};
  if (include.rfind("halftone/", 0) != 0) return include.substr(0, include.find('/'));
  const std::string stem = fs::path(include).stem();
  for (const auto& [header, floor] : renamed)
    if (header == stem) return floor;
  return stem;
}

TEST(House, FloorsIncludeOnlyFloorsBelow) {
  std::size_t checked = 0;
  auto check = [&](const fs::path& file, const std::string& floor) {
    for (const std::string& include : matches(read(file), "#include \"([^\"]+)\"")) {
      ASSERT_LT(level(floor_of_include(include)), floors.size())
          << file << " includes " << include << ", of no floor";
      EXPECT_LE(level(floor_of_include(include)), level(floor)) << file << " includes " << include;
      ++checked;
    }
  };
  for (const fs::path& file : files({"src"}, ".cpp.h"))
    check(file, fs::relative(file, root / "src").begin()->string());
  for (const fs::path& file : files({"include/halftone"}, ".h"))
    check(file, floor_of_include("halftone/" + file.filename().string()));
  EXPECT_GT(checked, 200U);
}

TEST(House, FilesStayShort) {
  for (const fs::path& file : files({"src", "include", "tests", "examples", "bench"}, ".cpp.h")) {
    const std::string text = read(file);
    EXPECT_LE(std::count(text.begin(), text.end(), '\n'), 400) << file;
  }
}

TEST(House, EveryFileStartsWithItsLicence) {
  for (const fs::path& file : files({"src", "include", "tests", "examples", "bench"}, ".cpp.h"))
    EXPECT_EQ(read(file).rfind("// SPDX-License-Identifier: Apache-2.0\n", 0), 0U) << file;
}

TEST(House, EveryOpIsInTheCatalogue) {
  const std::string catalogue = read(root / "include/halftone/ops.h");
  std::size_t ops = 0;
  for (const fs::path& file : files({"src/op"}, ".cpp")) {
    const std::string text = read(file);
    if (text.find("const Register registered(") == std::string::npos) continue;
    ++ops;
    const std::string name = file.stem();
    EXPECT_NE(text.find("\"" + name + "\""), std::string::npos)
        << file << " does not define the op it is named after";
    EXPECT_NE(catalogue.find("Tensor " + name + "("), std::string::npos) << name << " is not in ops.h";
  }
  EXPECT_GE(ops, 30U);
}

// An op is covered by every_op_test; every other source file has a test of its name in the mirrored place.
TEST(House, EverySourceFileHasItsTest) {
  for (const fs::path& file : files({"src"}, ".cpp")) {
    if (read(file).find("const Register registered(") != std::string::npos) continue;
    fs::path test = root / "tests" / fs::relative(file, root / "src");
    test.replace_filename(file.stem().string() + "_test.cpp");
    EXPECT_TRUE(fs::exists(test)) << file << " has no " << fs::relative(test, root);
  }
}

TEST(House, HeadersLeaveNoMacroBehind) {
  for (const fs::path& file : files({"include"}, ".h")) {
    const std::string text = read(file);
    for (const std::string& name : matches(text, "#define (\\w+)"))
      EXPECT_NE(text.find("#undef " + name), std::string::npos) << file << " leaves " << name << " defined";
  }
}

TEST(House, NothingIsLeftForLater) {
  for (const fs::path& file : files({"src", "include", "examples", "bench"}, ".cpp.h"))
    EXPECT_TRUE(matches(read(file), "\\b(TODO|FIXME|XXX)\\b").empty()) << file;
}

}  // namespace
