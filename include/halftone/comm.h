// SPDX-License-Identifier: Apache-2.0
//
// Ranks and collectives. Which implementation is linked decides; callers never ask. This build has one
// process: every collective is the identity.
#pragma once

#include "halftone/tensor.h"

namespace halftone::comm {

int rank();
int size();

// The float32 mean over ranks, in place (law 2: narrow tensors are never summed in their format). Throws
// DTypeError if the tensor is not float32.
void all_reduce_mean(Tensor tensor);

// True on every rank if it was true on one: ranks agree on found_inf before any of them decides.
bool any(bool flag);

void barrier();

}  // namespace halftone::comm
