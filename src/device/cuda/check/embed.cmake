# SPDX-License-Identifier: Apache-2.0
# Included by src/CMakeLists.txt: makes check_source.c out of check/table.h and check.cu, and appends it to WEIR_SOURCES.
set(WEIR_CHECK_SOURCE ${CMAKE_CURRENT_BINARY_DIR}/check_source.c)
set(WEIR_CHECK_FILES ${CMAKE_CURRENT_LIST_DIR}/../../../check/table.h ${CMAKE_CURRENT_LIST_DIR}/check.cu)
list(JOIN WEIR_CHECK_FILES "," WEIR_CHECK_LIST)
add_custom_command(OUTPUT ${WEIR_CHECK_SOURCE}
  COMMAND ${CMAKE_COMMAND} -DPARTS=${WEIR_CHECK_LIST} -DINCLUDE=device/cuda/check/source.h
    -DSYMBOL=weir__check_source -DOUTPUT=${WEIR_CHECK_SOURCE} -P ${PROJECT_SOURCE_DIR}/cmake/WeirEmbedCuda.cmake
  DEPENDS ${PROJECT_SOURCE_DIR}/cmake/WeirEmbedCuda.cmake ${WEIR_CHECK_FILES}
  COMMENT "Embedding check mode's functions for cards" VERBATIM)
list(APPEND WEIR_SOURCES ${WEIR_CHECK_SOURCE})
