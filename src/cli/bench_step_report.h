// SPDX-License-Identifier: Apache-2.0
//
// What `halftone bench step` measured, as JSON for programs; the text and the page are made from that, so
// that they never disagree.
#pragma once

#include <string>
#include <vector>

#include "cli/bench_steps.h"
#include "report/json_text.h"

namespace halftone::cli {

report::Json step_json(const StepPlan& plan, const std::vector<StepTimes>& all);
std::string step_text(const report::Json& json);
std::string step_page(const report::Json& json);

// "gpt2: 8 x 256 tokens, 6 layers of width 384, 10,844,160 parameters, adamw".
std::string step_words(const report::Json& json);

}  // namespace halftone::cli
