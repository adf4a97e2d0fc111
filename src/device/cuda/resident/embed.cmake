# SPDX-License-Identifier: Apache-2.0
# Included by src/CMakeLists.txt: makes resident_source.c out of protocol.h, its parts and kernel.cu, and appends it to WEIR_SOURCES.
# Run as a script (cmake -P), it is the program that does so. What is included is for the host only: NVRTC needs none of it.
set(WEIR_RESIDENT_PARTS protocol.h protocol_memory.h protocol_scheduler.h protocol_worker.h kernel.cu)
if(CMAKE_SCRIPT_MODE_FILE)
  set(text "")
  foreach(part ${WEIR_RESIDENT_PARTS})
    file(READ ${FOLDER}/${part} part_text)
    string(APPEND text "#line 1 \"${part}\"\n${part_text}")
  endforeach()
  string(REGEX REPLACE "#include [^\n]*" "" text "${text}")
  file(WRITE ${OUTPUT}.cu "${text}")
  file(READ ${OUTPUT}.cu hex HEX)
  string(REGEX REPLACE "(................................)" "\\1\n" hex "${hex}")
  string(REGEX REPLACE "([0-9a-f][0-9a-f])" "'\\\\x\\1'," hex "${hex}")
  file(WRITE ${OUTPUT} "// Made from src/device/cuda/resident.\n#include \"device/cuda/resident/part.h\"\n\n"
    "const char weir__resident_source[] = {\n${hex}\n0};\n")
  return()
endif()

set(WEIR_RESIDENT_SOURCE ${CMAKE_CURRENT_BINARY_DIR}/resident_source.c)
list(TRANSFORM WEIR_RESIDENT_PARTS PREPEND ${CMAKE_CURRENT_LIST_DIR}/ OUTPUT_VARIABLE WEIR_RESIDENT_FILES)
add_custom_command(OUTPUT ${WEIR_RESIDENT_SOURCE}
  COMMAND ${CMAKE_COMMAND} -DFOLDER=${CMAKE_CURRENT_LIST_DIR} -DOUTPUT=${WEIR_RESIDENT_SOURCE}
    -P ${CMAKE_CURRENT_LIST_FILE}
  DEPENDS ${CMAKE_CURRENT_LIST_FILE} ${WEIR_RESIDENT_FILES}
  COMMENT "Embedding the resident kernel" VERBATIM)
list(APPEND WEIR_SOURCES ${WEIR_RESIDENT_SOURCE})
