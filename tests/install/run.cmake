# SPDX-License-Identifier: Apache-2.0
#
# Installs the build BUILD into a fresh prefix, builds the project in this folder against it and runs its program
# and the installed command.
set(work ${BUILD}/installed)
file(REMOVE_RECURSE ${work})
function(run)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE result OUTPUT_VARIABLE output ERROR_VARIABLE output)
  if(NOT result EQUAL 0)
    message(FATAL_ERROR "${ARGN} failed (${result}):\n${output}")
  endif()
endfunction()
run(${CMAKE_COMMAND} --install ${BUILD} --prefix ${work}/prefix)
run(${CMAKE_COMMAND} -S ${CMAKE_CURRENT_LIST_DIR} -B ${work}/outside -DCMAKE_PREFIX_PATH=${work}/prefix
    -DPROGRAM=${CMAKE_CURRENT_LIST_DIR}/../../examples/readme.cpp)
run(${CMAKE_COMMAND} --build ${work}/outside)
set(ENV{LD_LIBRARY_PATH} ${work}/prefix/lib)
run(${work}/outside/outside)
run(${work}/prefix/bin/halftone formats)
