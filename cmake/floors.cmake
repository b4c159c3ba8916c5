# SPDX-License-Identifier: Apache-2.0
#
# The floors of the house, lowest first. A floor may include only headers of floors before it in this list;
# configuring the build stops at the first upward include it finds.
set(HALFTONE_FLOORS base format tensor backend autograd op amp nn optim data comm train report cli)

# Public header of each floor (op has two: one for users, one for authors).
set(HALFTONE_HEADERS_base error float_state parallel profile random simd warning)
set(HALFTONE_HEADERS_format format format_codec conversion conversion_codec census block scalar scalar_fmt)
set(HALFTONE_HEADERS_tensor tensor)
set(HALFTONE_HEADERS_backend formula backend)
set(HALFTONE_HEADERS_autograd autograd)
set(HALFTONE_HEADERS_op casting op ops)
set(HALFTONE_HEADERS_nn nn models)
set(HALFTONE_HEADERS_amp amp recipe autocast loss_scale grad_scaler optimizer step)
foreach(floor optim data comm train report)
  set(HALFTONE_HEADERS_${floor} ${floor})
endforeach()

function(halftone_check_layers)
  set(above ${HALFTONE_FLOORS})
  foreach(floor IN LISTS HALFTONE_FLOORS)
    list(POP_FRONT above)
    file(GLOB_RECURSE sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/src/${floor}/*.h"
         "${PROJECT_SOURCE_DIR}/src/${floor}/*.cpp")
    foreach(header IN LISTS HALFTONE_HEADERS_${floor})
      list(APPEND sources "${PROJECT_SOURCE_DIR}/include/halftone/${header}.h")
    endforeach()
    set(forbidden "halftone/halftone\\.h")
    foreach(upper IN LISTS above)
      string(APPEND forbidden "|${upper}/")
      foreach(header IN LISTS HALFTONE_HEADERS_${upper})
        string(APPEND forbidden "|halftone/${header}\\.h")
      endforeach()
    endforeach()
    foreach(source IN LISTS sources)
      file(STRINGS "${source}" upward REGEX "^#include \"(${forbidden})")
      if(upward)
        message(FATAL_ERROR "[layers] ${source} (floor '${floor}') includes a floor above it: ${upward}")
      endif()
    endforeach()
  endforeach()
endfunction()
halftone_check_layers()
