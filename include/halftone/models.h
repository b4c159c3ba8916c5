// SPDX-License-Identifier: Apache-2.0
//
// Whole networks of the field, as modules whose parameters have the names that the published weights have,
// and text from them.
#pragma once

#include "halftone/bert.h"
#include "halftone/generation.h"
#include "halftone/gpt2.h"
#include "halftone/llama.h"
#include "halftone/resnet.h"
