// SPDX-License-Identifier: Apache-2.0
//
// JSON as a person would lay it out: objects indented, lists of numbers on one line (a run has thousands).
#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace halftone::report {

using Json = nlohmann::ordered_json;

// Ends with a newline. Numbers that are not finite become null; bytes that are not UTF-8 become U+FFFD.
std::string layout(const Json& json);

// The double that prints as shortly as the float does: 0.1 and not 0.10000000149011612. Reads back as the
// float.
double short_double(float value);

}  // namespace halftone::report
