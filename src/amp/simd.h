// SPDX-License-Identifier: Apache-2.0
//
// Runs a plain loop compiled for the best SIMD level of this processor. The loop is a stateless functor whose
// arithmetic does not depend on the vector width, so every level gives the same bits.
#pragma once

#include "halftone/formula.h"

namespace halftone::amp {

template <class Loop, class... Arguments>
void loop_baseline(Arguments... arguments) {
  Loop{}(arguments...);
}

#if defined(__x86_64__)
template <class Loop, class... Arguments>
[[gnu::target("avx2,f16c"), gnu::flatten]] void loop_avx2(Arguments... arguments) {
  Loop{}(arguments...);
}

template <class Loop, class... Arguments>
[[gnu::target("avx512f,avx512bw,avx512vl,avx512dq"), gnu::flatten]] void loop_avx512(Arguments... arguments) {
  Loop{}(arguments...);
}

template <class Loop, class... Arguments>
void run_vectorised(Arguments... arguments) {
  switch (simd_level()) {
    case SimdLevel::baseline:
      return loop_baseline<Loop>(arguments...);
    case SimdLevel::avx2:
      return loop_avx2<Loop>(arguments...);
    case SimdLevel::avx512:
      return loop_avx512<Loop>(arguments...);
  }
}
#else
template <class Loop, class... Arguments>
void run_vectorised(Arguments... arguments) {
  loop_baseline<Loop>(arguments...);
}
#endif

}  // namespace halftone::amp
