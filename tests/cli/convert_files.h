// SPDX-License-Identifier: Apache-2.0
//
// Arrays for `halftone convert`, in a folder of their own, and what it says of them.
#pragma once

#include <cmath>
#include <cstring>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "cli/command_text.h"
#include "data/scratch.h"
#include "halftone/conversion.h"
#include "halftone/data.h"

namespace halftone {

class ConvertFiles {
 public:
  std::string path(const std::string& name) const { return (folder_ / name).string(); }

  void save(const std::string& name, const std::vector<float>& values,
            std::vector<std::int64_t> shape = {}) const {
    if (shape.empty()) shape = {static_cast<std::int64_t>(values.size())};
    data::NpyArray array{shape, float32, std::vector<std::byte>(4 * values.size())};
    if (!values.empty()) std::memcpy(array.bytes.data(), values.data(), array.bytes.size());
    data::write_npy(path(name), array);
  }
  // `arguments` has names of files, which are looked for in this folder.
  std::string convert(const std::string& arguments) const { return shown(line(arguments)); }
  nlohmann::json json(const std::string& arguments) const {
    return nlohmann::json::parse(convert(arguments + " --json"));
  }
  CommandResult run(const std::string& arguments) const { return run_command(line(arguments)); }

  std::string bytes(const std::string& name) const { return testing::read_bytes(path(name)); }
  void write(const std::string& name, const std::string& bytes) const {
    testing::write_bytes(path(name), bytes);
  }
  data::NpyArray load(const std::string& name) const { return data::read_npy(path(name)); }
  const std::filesystem::path& folder() const { return folder_.path(); }

 private:
  std::string line(const std::string& arguments) const {
    return "--version >/dev/null; cd " + folder_.path().string() + " && " + HALFTONE_COMMAND + " convert " +
           arguments;
  }
  testing::Scratch folder_;
};

// Values over many binades, of both signs.
inline std::vector<float> noise(std::int64_t count, std::uint64_t seed = 1, float binades = 6) {
  std::vector<float> values(static_cast<std::size_t>(count));
  for (std::size_t i = 0; i < values.size(); ++i)
    values[i] = random_normal_at(seed, 7, i) * std::exp2(binades * random_normal_at(seed, 8, i));
  return values;
}

inline std::uint64_t code_at(const data::NpyArray& array, std::int64_t i) {
  return load_code(array.dtype, array.bytes.data(), i);
}

}  // namespace halftone
