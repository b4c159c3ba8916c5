// SPDX-License-Identifier: Apache-2.0
//
// The rules of the house, measured: floors include only floors below, files stay short, carry their licence
// line and have their test, every op is in the catalogue, headers leave no macro behind, comments and pages
// name files that exist.
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
  if (include.rfind("halftone/", 0) != 0) return include.substr(0, include.find('/'));
  const std::string stem = fs::path(include).stem();
  if (stem == "halftone") return "cli";  // all of the house
  // Floors whose headers have other names than their own are listed for the build.
  static const std::string list = read(root / "cmake/floors.cmake");
  static const std::regex line("set\\(HALFTONE_HEADERS_(\\w+) ([^)]*)\\)");
  for (std::sregex_iterator at(list.begin(), list.end(), line), end; at != end; ++at)
    for (const std::string& header : matches((*at)[2].str(), "(\\w+)"))
      if (header == stem) return (*at)[1].str();
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

TEST(House, FilesNamedInCommentsAndPagesExist) {
  std::string all;
  for (const fs::path& file : files({"src", "include", "tests", "examples", "bench", "docs"}, ".cpp.h.md.py"))
    all += file.string() + "\n";
  std::size_t checked = 0;
  const auto check = [&](const fs::path& file, const std::string& text) {
    for (const std::string& name : matches(text, "(?:^|[^\\w/.~-])([\\w-]+/[\\w/-]+\\.(?:cpp|h|md|py))\\b")) {
      EXPECT_NE(all.find("/" + name + "\n"), std::string::npos) << file << " names " << name;
      ++checked;
    }
  };
  for (const fs::path& file : files({"src", "include", "tests", "examples", "bench"}, ".cpp.h"))
    for (const std::string& comment : matches(read(file), "\n *//([^\n]*)")) check(file, comment);
  for (const char* page : {"README.md", "ARCHITECTURE.md", "CONTRIBUTING.md"}) check(page, read(root / page));
  for (const fs::path& file : files({"docs"}, ".md")) check(file, read(file));
  EXPECT_GT(checked, 50U);
}

TEST(House, NothingIsLeftForLater) {
  for (const fs::path& file : files({"src", "include", "examples", "bench"}, ".cpp.h"))
    EXPECT_TRUE(matches(read(file), "\\b(TODO|FIXME|XXX)\\b").empty()) << file;
}

}  // namespace
