# SPDX-License-Identifier: Apache-2.0
#
# GNU MPFR (which brings GMP) has no package file for CMake: the target mpfr::mpfr from its header and library.
find_path(MPFR_INCLUDE_DIR mpfr.h REQUIRED)
find_library(MPFR_LIBRARY mpfr REQUIRED)
find_library(GMP_LIBRARY gmp REQUIRED)
add_library(mpfr::mpfr INTERFACE IMPORTED)
target_include_directories(mpfr::mpfr INTERFACE "${MPFR_INCLUDE_DIR}")
target_link_libraries(mpfr::mpfr INTERFACE "${MPFR_LIBRARY}" "${GMP_LIBRARY}")
