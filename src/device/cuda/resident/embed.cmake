# SPDX-License-Identifier: Apache-2.0
# Included by src/CMakeLists.txt: makes resident_source.c out of protocol.h and kernel.cu, and appends it to WEIR_SOURCES.
# Run as a script (cmake -P), it is the program that does so. What is included is for the host only: NVRTC needs none of it.
if(CMAKE_SCRIPT_MODE_FILE)
  file(READ ${FOLDER}/protocol.h text)
  file(READ ${FOLDER}/kernel.cu kernel)
  string(APPEND text "#line 1 \"kernel.cu\"\n${kernel}")
  string(REGEX REPLACE "#include [^\n]*" "" text "${text}")
  file(WRITE ${OUTPUT}.cu "#line 1 \"protocol.h\"\n${text}")
  file(READ ${OUTPUT}.cu hex HEX)
  string(REGEX REPLACE "(................................)" "\\1\n" hex "${hex}")
  string(REGEX REPLACE "([0-9a-f][0-9a-f])" "'\\\\x\\1'," hex "${hex}")
  file(WRITE ${OUTPUT} "// Made from src/device/cuda/resident.\n#include \"device/cuda/resident/part.h\"\n\n"
    "const char weir__resident_source[] = {\n${hex}\n0};\n")
  return()
endif()

set(WEIR_RESIDENT_SOURCE ${CMAKE_CURRENT_BINARY_DIR}/resident_source.c)
add_custom_command(OUTPUT ${WEIR_RESIDENT_SOURCE}
  COMMAND ${CMAKE_COMMAND} -DFOLDER=${CMAKE_CURRENT_LIST_DIR} -DOUTPUT=${WEIR_RESIDENT_SOURCE}
    -P ${CMAKE_CURRENT_LIST_FILE}
  DEPENDS ${CMAKE_CURRENT_LIST_FILE} ${CMAKE_CURRENT_LIST_DIR}/protocol.h ${CMAKE_CURRENT_LIST_DIR}/kernel.cu
  COMMENT "Embedding the resident kernel" VERBATIM)
list(APPEND WEIR_SOURCES ${WEIR_RESIDENT_SOURCE})
