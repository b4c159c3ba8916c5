// SPDX-License-Identifier: Apache-2.0
//
// Tests of commands that write files: each runs in a folder of its own, which also holds a small data set.
#pragma once

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "cli/run_command.h"
#include "halftone/data.h"
#include "halftone/random.h"

namespace halftone {

inline std::string read_file(const std::filesystem::path& file) {
  std::ostringstream text;
  text << std::ifstream(file, std::ios::binary).rdbuf();
  return text.str();
}

class RunInFolder : public testing::Test {
 protected:
  void SetUp() override {
    outer_ = std::filesystem::current_path();
    folder_ = std::filesystem::temp_directory_path() / ("halftone_cli_test_" + std::to_string(::getpid()));
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_ / "data");
    std::filesystem::current_path(folder_);
    write_images("train", 512);
    write_images("t10k", 64);
  }
  void TearDown() override {
    std::filesystem::current_path(outer_);
    std::filesystem::remove_all(folder_);
  }

  // A run of seconds: the perceptron on 256 images, four steps.
  static std::string tiny(const std::string& more = "") {
    return "train fashion-mnist --model mlp --limit 256 --batch 64 --epochs 1 --threads 1 --data data " +
           more;
  }
  static nlohmann::json json(const std::string& file) { return nlohmann::json::parse(read_file(file)); }

  // Standard output and standard error, apart.
  struct Streams {
    int code;
    std::string output, error;
  };
  static Streams run_apart(const std::string& arguments) {
    const int code = run_command(arguments + " >stdout.txt 2>stderr.txt #").code;
    return {code, read_file("stdout.txt"), read_file("stderr.txt")};
  }

  // Starts the command without a shell in between, so that signals reach it, and sends it SIGTERM when its
  // standard error holds `words`. Its exit code; what it wrote is in stdout.txt and stderr.txt.
  static int stopped_when(const std::vector<std::string>& arguments, const std::string& words) {
    const pid_t child = ::fork();
    if (child == 0) {
      std::vector<char*> argv = {const_cast<char*>(HALFTONE_COMMAND)};
      for (const std::string& argument : arguments) argv.push_back(const_cast<char*>(argument.c_str()));
      argv.push_back(nullptr);
      if (!std::freopen("stdout.txt", "w", stdout) || !std::freopen("stderr.txt", "w", stderr)) ::_exit(126);
      ::execv(HALFTONE_COMMAND, argv.data());
      ::_exit(127);
    }
    for (int i = 0; i < 3000 && read_file("stderr.txt").find(words) == std::string::npos; ++i)
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    EXPECT_EQ(::kill(child, SIGTERM), 0);
    int status = 0;
    EXPECT_EQ(::waitpid(child, &status, 0), child);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }

 private:
  // Noise with a bright column that names the class.
  static void write_images(const std::string& name, std::int64_t count) {
    Tensor images({count, 28, 28}, uint8), labels({count}, uint8);
    auto* pixel = images.mutable_data<std::uint8_t>();
    auto* label = labels.mutable_data<std::uint8_t>();
    for (std::int64_t i = 0; i < count; ++i) {
      label[i] = static_cast<std::uint8_t>(random_bits(7, 1, static_cast<std::uint64_t>(i)) % 10);
      for (std::int64_t j = 0; j < 784; ++j) {
        const auto noise = random_bits(7, 2, static_cast<std::uint64_t>(784 * i + j)) % 64;
        pixel[784 * i + j] = static_cast<std::uint8_t>(noise + (j % 28 / 2 == label[i] ? 160 : 0));
      }
    }
    data::save_idx("data/" + name + "-images-idx3-ubyte", images);
    data::save_idx("data/" + name + "-labels-idx1-ubyte", labels);
  }

  std::filesystem::path outer_, folder_;
};

}  // namespace halftone
