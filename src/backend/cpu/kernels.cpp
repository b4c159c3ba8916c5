// SPDX-License-Identifier: Apache-2.0
#include "backend/cpu/kernels.h"

namespace halftone::cpu {

Kernel find_kernel(std::string_view name) {
  struct Named {
    std::string_view name;
    Kernel kernel;
  };
  constexpr Named kKernels[] = {
      {"attention.backward", attention_backward},
      {"attention.forward", attention_forward},
      {"avg_pool2d.backward", avg_pool2d_backward},
      {"avg_pool2d.forward", avg_pool2d_forward},
      {"batch_norm.backward", batch_norm_backward},
      {"batch_norm.forward", batch_norm_forward},
      {"layer_norm.backward", layer_norm_backward},
      {"layer_norm.forward", layer_norm_forward},
      {"max_pool2d.backward", max_pool2d_backward},
      {"max_pool2d.forward", max_pool2d_forward},
      {"rms_norm.backward", rms_norm_backward},
      {"rms_norm.forward", rms_norm_forward},
      {"rotary", rotary},
  };
  for (const Named& entry : kKernels)
    if (entry.name == name) return entry.kernel;
  return nullptr;
}

}  // namespace halftone::cpu
