// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "halftone/train.h"
#include "report/json_text.h"

namespace halftone::report {

Json run_json(const train::RunRecord& record);

}  // namespace halftone::report
