// SPDX-License-Identifier: Apache-2.0
//
// Numbers as people write them: 60,000 · 91.42 % · 1 min 52 s · 212 MiB. One place, so that console, JSON and
// pages never disagree.
#pragma once

#include <cstdint>
#include <string>

#include "halftone/train.h"

namespace halftone::report {

std::string count(std::int64_t value);                     // 60,000
std::string plural(std::int64_t value, const char* noun);  // "1 step", "1,407 steps"
std::string percent(double fraction);                      // 91.42 %; "not a number" where it is none
std::string decimals(double value, int digits);  // fixed, with thousands: 1,210.4; ∞ and "NaN" as words
std::string duration(double seconds);            // 0.42 s, 1 min 52 s, 2 h 5 min
std::string mebibytes(std::int64_t bytes);       // 212 MiB
std::string scale_text(double scale);            // 65,536 or 0.25

// "convolutional network", or the model's own name if it is not one of halftone's.
std::string model_words(const std::string& model);
// The same with its size, where that is known.
std::string network_words(const train::RunRecord& record);
// What the skips of a run mean, in one sentence: normal at the start, a warning when there are many.
std::string skip_words(const train::RunRecord& record);
std::int64_t skip_count(const train::RunRecord& record);
// "float16 matmuls, weights in float32 (which is the master), dynamic loss scale".
std::string recipe_words(const std::string& recipe);
// "float8_e4m3fn (gradients float8_e5m2)"; empty if the operands of layers are only cast.
std::string operand_words(const amp::Operands& operands);
// Images per second of training over all epochs, or 0 before the first ended.
double per_second(const train::RunRecord& record);
std::string capitalised(std::string text);
std::string extent_words(
    const train::RunRecord& record);  // "3 epochs", "500 images an epoch, ..", "2,000 steps"
std::string roofline_words(const train::RunRecord& record);  // ", 81 % of roofline", or nothing

}  // namespace halftone::report
