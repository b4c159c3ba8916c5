# SPDX-License-Identifier: Apache-2.0
#
# PCRE2 for bytes (Debian's has no package file for CMake): the target pcre2::pcre2 from its header and library.
find_path(PCRE2_INCLUDE_DIR pcre2.h REQUIRED)
find_library(PCRE2_LIBRARY pcre2-8 REQUIRED)
add_library(pcre2::pcre2 INTERFACE IMPORTED)
target_include_directories(pcre2::pcre2 INTERFACE "${PCRE2_INCLUDE_DIR}")
target_link_libraries(pcre2::pcre2 INTERFACE "${PCRE2_LIBRARY}")
