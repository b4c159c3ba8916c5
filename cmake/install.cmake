# SPDX-License-Identifier: Apache-2.0
#
# `cmake --install` puts the library, its headers and the command where find_package(halftone) finds them.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

set(installed halftone halftone_flags)
install(TARGETS ${installed} EXPORT halftoneTargets
        RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}
        ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} INCLUDES DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
if(TARGET halftone_command)
  install(TARGETS halftone_command RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
endif()
install(DIRECTORY include/halftone DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(EXPORT halftoneTargets NAMESPACE halftone:: DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/halftone)
configure_package_config_file(cmake/halftoneConfig.cmake.in ${PROJECT_BINARY_DIR}/halftoneConfig.cmake
  INSTALL_DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/halftone)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/halftoneConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/halftoneConfig.cmake ${PROJECT_BINARY_DIR}/halftoneConfigVersion.cmake
        DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/halftone)
