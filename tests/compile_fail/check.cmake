# SPDX-License-Identifier: Apache-2.0
#
# cmake -DCOMPILER=... -DSTANDARD=... -DINCLUDE=... -DSNIPPET=... -P check.cmake
set(ENV{LC_ALL} C)
file(STRINGS "${SNIPPET}" expected REGEX "^// error: ")
string(REPLACE "// error: " "" expected "${expected}")
if(expected STREQUAL "")
  message(FATAL_ERROR "${SNIPPET} does not say which error it expects")
endif()

function(compile result output)
  execute_process(COMMAND "${COMPILER}" ${STANDARD} -fsyntax-only "-I${INCLUDE}" ${ARGN} "${SNIPPET}"
                  RESULT_VARIABLE code OUTPUT_VARIABLE text ERROR_VARIABLE text)
  set(${result} "${code}" PARENT_SCOPE)
  set(${output} "${text}" PARENT_SCOPE)
endfunction()

compile(code output)
if(NOT code EQUAL 0)
  message(FATAL_ERROR "the snippet does not compile without MISUSE:\n${output}")
endif()
compile(code output -DMISUSE)
if(code EQUAL 0)
  message(FATAL_ERROR "the misuse compiles")
endif()
if(NOT output MATCHES "${expected}")
  message(FATAL_ERROR "the error does not say \"${expected}\":\n${output}")
endif()
