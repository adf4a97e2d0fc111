# SPDX-License-Identifier: Apache-2.0
# Included by src/CMakeLists.txt: makes resident_source.c out of protocol.h, its parts and kernel.cu, and appends it to WEIR_SOURCES.
set(WEIR_RESIDENT_PARTS protocol.h protocol_memory.h protocol_fetcher.h protocol_scheduler.h protocol_worker.h kernel.cu)
set(WEIR_RESIDENT_SOURCE ${CMAKE_CURRENT_BINARY_DIR}/resident_source.c)
list(TRANSFORM WEIR_RESIDENT_PARTS PREPEND ${CMAKE_CURRENT_LIST_DIR}/ OUTPUT_VARIABLE WEIR_RESIDENT_FILES)
list(JOIN WEIR_RESIDENT_FILES "," WEIR_RESIDENT_LIST)
add_custom_command(OUTPUT ${WEIR_RESIDENT_SOURCE}
  COMMAND ${CMAKE_COMMAND} -DPARTS=${WEIR_RESIDENT_LIST} -DINCLUDE=device/cuda/resident/part.h
    -DSYMBOL=weir__resident_source -DOUTPUT=${WEIR_RESIDENT_SOURCE} -P ${PROJECT_SOURCE_DIR}/cmake/WeirEmbedCuda.cmake
  DEPENDS ${PROJECT_SOURCE_DIR}/cmake/WeirEmbedCuda.cmake ${WEIR_RESIDENT_FILES}
  COMMENT "Embedding the resident kernel" VERBATIM)
list(APPEND WEIR_SOURCES ${WEIR_RESIDENT_SOURCE})
