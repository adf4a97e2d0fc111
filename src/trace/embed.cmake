# SPDX-License-Identifier: Apache-2.0
# Included by src/CMakeLists.txt: makes trace_page.c out of timeline.html, its style and scripts, and appends it to
# WEIR_SOURCES.
# Run as a script (cmake -P), it is the program that does so.
if(CMAKE_SCRIPT_MODE_FILE)
  file(READ ${FOLDER}/timeline.html page)
  foreach(part STYLE=.css MODEL=_model.js LINES=_lines.js VIEW=_view.js PAGE=_page.js)
    string(REGEX MATCH "^(.*)=(.*)$" part ${part})
    file(READ ${FOLDER}/timeline${CMAKE_MATCH_2} text)
    string(REPLACE "@${CMAKE_MATCH_1}@" "${text}" page "${page}")
  endforeach()
  file(WRITE ${OUTPUT}.html "${page}")
  file(READ ${OUTPUT}.html hex HEX)
  string(REGEX REPLACE "(................................)" "\\1\n" hex "${hex}")
  string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," hex "${hex}")
  file(WRITE ${OUTPUT} "// Made from src/trace/timeline*.\n#include \"trace/page.h\"\n\n"
    "const unsigned char weir__trace_page[] = {\n${hex}\n};\n"
    "const size_t weir__trace_page_bytes = sizeof(weir__trace_page);\n")
  return()
endif()

file(GLOB WEIR_TRACE_PAGE_PARTS CONFIGURE_DEPENDS ${CMAKE_CURRENT_LIST_DIR}/timeline*)
set(WEIR_TRACE_PAGE ${CMAKE_CURRENT_BINARY_DIR}/trace_page.c)
add_custom_command(OUTPUT ${WEIR_TRACE_PAGE}
  COMMAND ${CMAKE_COMMAND} -DFOLDER=${CMAKE_CURRENT_LIST_DIR} -DOUTPUT=${WEIR_TRACE_PAGE} -P ${CMAKE_CURRENT_LIST_FILE}
  DEPENDS ${CMAKE_CURRENT_LIST_FILE} ${WEIR_TRACE_PAGE_PARTS}
  COMMENT "Embedding the timeline page" VERBATIM)
list(APPEND WEIR_SOURCES ${WEIR_TRACE_PAGE})
