// SPDX-License-Identifier: Apache-2.0
//
// Reads the tables of this folder: "format NAME", then a value for every code.
#pragma once

#include <cstdlib>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

namespace halftone::golden {

inline std::map<std::string, std::vector<double>> read(const std::string& file) {
  std::ifstream in(std::string(HALFTONE_SOURCE_DIR) + "/tests/golden/" + file);
  std::map<std::string, std::vector<double>> tables;
  std::string line, name, word;
  while (std::getline(in, line)) {
    if (line.rfind("#", 0) == 0) continue;
    std::istringstream words(line);
    while (words >> word) {
      if (word == "format") {
        words >> name;
      } else {
        tables[name].push_back(std::strtod(word.c_str(), nullptr));
      }
    }
  }
  return tables;
}

}  // namespace halftone::golden
