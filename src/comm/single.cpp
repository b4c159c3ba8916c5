// SPDX-License-Identifier: Apache-2.0
//
// One process: every collective is the identity.
#include "halftone/comm.h"

namespace halftone::comm {

int rank() { return 0; }
int size() { return 1; }

void all_reduce_mean(Tensor tensor) {
  if (tensor.dtype() != float32)
    throw DTypeError("all_reduce_mean", to_string(tensor), "float32",
                     "casting first: narrow sums lose what ranks add");
}

bool any(bool flag) { return flag; }

void barrier() {}

}  // namespace halftone::comm
