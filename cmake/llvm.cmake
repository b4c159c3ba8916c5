# SPDX-License-Identifier: Apache-2.0
#
# LLVM 19, if it is installed: an oracle that one test takes where it can. The target llvm::support is absent
# where there is none.
find_path(LLVM_INCLUDE_DIR llvm/ADT/APFloat.h PATHS /usr/lib/llvm-19/include NO_DEFAULT_PATH)
find_library(LLVM_LIBRARY LLVM-19 PATHS /usr/lib/llvm-19/lib NO_DEFAULT_PATH)
if(LLVM_INCLUDE_DIR AND LLVM_LIBRARY)
  add_library(llvm::support INTERFACE IMPORTED)
  target_include_directories(llvm::support SYSTEM INTERFACE "${LLVM_INCLUDE_DIR}")
  target_link_libraries(llvm::support INTERFACE "${LLVM_LIBRARY}")
endif()
