# SPDX-License-Identifier: Apache-2.0
# What `cmake --install` puts where.
include(CMakePackageConfigHelpers)
set(WEIR_CMAKE_DIR ${CMAKE_INSTALL_LIBDIR}/cmake/weir)

install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/weir DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} FILES_MATCHING PATTERN "*.h"
  PATTERN "*.hpp" PATTERN "mpi.h" EXCLUDE)
if(TARGET weir_mpi)
  install(FILES ${PROJECT_SOURCE_DIR}/include/weir/mpi.h DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/weir)
  install(TARGETS weir_mpi EXPORT weir-mpi LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
  install(EXPORT weir-mpi NAMESPACE weir:: FILE weir-mpi-targets.cmake DESTINATION ${WEIR_CMAKE_DIR})
endif()
install(TARGETS weir weir_static EXPORT weir LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}
  ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(EXPORT weir NAMESPACE weir:: FILE weir-targets.cmake DESTINATION ${WEIR_CMAKE_DIR})
install(FILES ${PROJECT_SOURCE_DIR}/docs/man/weir.1 ${PROJECT_SOURCE_DIR}/docs/man/weir-check.1
  DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)

# Pages, and the examples as sources, in folders that keep the pages' links; beside the examples the parts of this
# repository that their build uses.
install(FILES ${PROJECT_SOURCE_DIR}/README.md ${PROJECT_SOURCE_DIR}/CHANGELOG.md ${PROJECT_SOURCE_DIR}/LICENSE
  DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(DIRECTORY ${PROJECT_SOURCE_DIR}/docs DESTINATION ${CMAKE_INSTALL_DOCDIR}
  FILES_MATCHING PATTERN "*.md" PATTERN "*.ipynb" PATTERN "*.png" PATTERN "*.svg" PATTERN man EXCLUDE)
install(DIRECTORY ${PROJECT_SOURCE_DIR}/examples DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(DIRECTORY ${PROJECT_SOURCE_DIR}/tools/plot/ DESTINATION ${CMAKE_INSTALL_DOCDIR}/examples/plot)
install(FILES ${CMAKE_CURRENT_LIST_DIR}/WeirCuda.cmake ${CMAKE_CURRENT_LIST_DIR}/WeirSpirv.cmake
  ${CMAKE_CURRENT_LIST_DIR}/embed_spirv.cmake DESTINATION ${CMAKE_INSTALL_DOCDIR}/examples/cmake)

configure_package_config_file(${CMAKE_CURRENT_LIST_DIR}/weir-config.cmake.in ${CMAKE_BINARY_DIR}/weir-config.cmake
  INSTALL_DESTINATION ${WEIR_CMAKE_DIR} PATH_VARS CMAKE_INSTALL_INCLUDEDIR NO_SET_AND_CHECK_MACRO)
write_basic_package_version_file(${CMAKE_BINARY_DIR}/weir-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_BINARY_DIR}/weir-config.cmake ${CMAKE_BINARY_DIR}/weir-config-version.cmake
  ${CMAKE_CURRENT_LIST_DIR}/WeirKernels.cmake DESTINATION ${WEIR_CMAKE_DIR})

# The folder of weir.pc finds the prefix, so that an installed tree can be moved.
file(RELATIVE_PATH WEIR_PC_PREFIX /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
string(REGEX REPLACE "/$" "" WEIR_PC_PREFIX "${WEIR_PC_PREFIX}")
configure_file(${CMAKE_CURRENT_LIST_DIR}/weir.pc.in ${CMAKE_BINARY_DIR}/weir.pc @ONLY)
install(FILES ${CMAKE_BINARY_DIR}/weir.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
if(TARGET weir_mpi)
  configure_file(${CMAKE_CURRENT_LIST_DIR}/weir-mpi.pc.in ${CMAKE_BINARY_DIR}/weir-mpi.pc @ONLY)
  install(FILES ${CMAKE_BINARY_DIR}/weir-mpi.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
endif()
