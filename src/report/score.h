// SPDX-License-Identifier: Apache-2.0
//
// By what a run is judged, in words: the accuracy of a classifier, or the bits per byte of a language model.
#pragma once

#include <string>

#include "halftone/train.h"

namespace halftone::report {

std::string score_name(const train::Measure& measure);                   // "test accuracy", "bits per byte"
std::string score_key(const train::Measure& measure);                    // "accuracy", "bits_per_byte"
std::string score_text(const train::Measure& measure, double score);     // "91.42 %", "1.8732"
std::string score_digits(const train::Measure& measure, double score);   // without the sign: "91.42"
std::string score_difference(const train::Measure& measure, double by);  // in points: "+0.04"; "-0.0031"
bool better_score(const train::Measure& measure, double a, double b);
// After one epoch: what score() of a record is at the end.
double score_of(const train::Measure& measure, const train::EpochRecord& epoch);

// When a run is evaluated: after every "epoch", or of text at a "step".
std::string evaluation_unit(const train::Measure& measure);

// The number of the epoch, or of the step, after which the evaluation `index`, counted from 0, was made.
std::int64_t evaluated_at(const train::RunRecord& record, std::size_t index);

}  // namespace halftone::report
