# SPDX-License-Identifier: Apache-2.0
# Included by CMakeLists.txt: makes a source out of page.html, its style and scripts, and sets WEIR_TIMELINE_PAGE to it.
# Run as a script (cmake -P), it is the program that does so.
if(CMAKE_SCRIPT_MODE_FILE)
  file(READ ${FOLDER}/page.html page)
  foreach(part STYLE=page.css RANKS=ranks.js MODEL=model.js LINES=lines.js HOST=host.js VIEW=view.js PAGE=page.js)
    string(REGEX MATCH "^(.*)=(.*)$" part ${part})
    file(READ ${FOLDER}/${CMAKE_MATCH_2} text)
    string(REPLACE "@${CMAKE_MATCH_1}@" "${text}" page "${page}")
  endforeach()
  file(WRITE ${OUTPUT}.html "${page}")
  file(READ ${OUTPUT}.html hex HEX)
  string(REGEX REPLACE "(................................)" "\\1\n" hex "${hex}")
  string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," hex "${hex}")
  file(WRITE ${OUTPUT} "// Made from tools/timeline/page.html and its parts.\n#include \"timeline/page.h\"\n\n"
    "const unsigned char weir__timeline_page_text[] = {\n${hex}\n};\n"
    "const size_t weir__timeline_page_bytes = sizeof(weir__timeline_page_text);\n")
  return()
endif()

file(GLOB WEIR_TIMELINE_PAGE_PARTS CONFIGURE_DEPENDS ${CMAKE_CURRENT_LIST_DIR}/*.html ${CMAKE_CURRENT_LIST_DIR}/*.css
  ${CMAKE_CURRENT_LIST_DIR}/*.js)
set(WEIR_TIMELINE_PAGE ${CMAKE_CURRENT_BINARY_DIR}/page_text.c)
add_custom_command(OUTPUT ${WEIR_TIMELINE_PAGE}
  COMMAND ${CMAKE_COMMAND} -DFOLDER=${CMAKE_CURRENT_LIST_DIR} -DOUTPUT=${WEIR_TIMELINE_PAGE}
    -P ${CMAKE_CURRENT_LIST_FILE}
  DEPENDS ${CMAKE_CURRENT_LIST_FILE} ${WEIR_TIMELINE_PAGE_PARTS}
  COMMENT "Embedding the timeline page" VERBATIM)
