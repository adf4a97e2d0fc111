# SPDX-License-Identifier: Apache-2.0
# Included by src/CMakeLists.txt: makes ondevice_source.c out of the protocols and kernel.cu, and appends it to WEIR_SOURCES.
set(WEIR_ONDEVICE_PARTS ../resident/protocol.h ../resident/protocol_memory.h ../resident/protocol_scheduler.h
  ../resident/protocol_worker.h protocol.h kernel.cu)
set(WEIR_ONDEVICE_SOURCE ${CMAKE_CURRENT_BINARY_DIR}/ondevice_source.c)
list(TRANSFORM WEIR_ONDEVICE_PARTS PREPEND ${CMAKE_CURRENT_LIST_DIR}/ OUTPUT_VARIABLE WEIR_ONDEVICE_FILES)
list(JOIN WEIR_ONDEVICE_FILES "," WEIR_ONDEVICE_LIST)
add_custom_command(OUTPUT ${WEIR_ONDEVICE_SOURCE}
  COMMAND ${CMAKE_COMMAND} -DPARTS=${WEIR_ONDEVICE_LIST} -DINCLUDE=device/cuda/ondevice/inside.h
    -DSYMBOL=weir__ondevice_source -DOUTPUT=${WEIR_ONDEVICE_SOURCE} -P ${PROJECT_SOURCE_DIR}/cmake/WeirEmbedCuda.cmake
  DEPENDS ${PROJECT_SOURCE_DIR}/cmake/WeirEmbedCuda.cmake ${WEIR_ONDEVICE_FILES}
  COMMENT "Embedding the launcher's kernels" VERBATIM)
list(APPEND WEIR_SOURCES ${WEIR_ONDEVICE_SOURCE})
