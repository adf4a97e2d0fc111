# SPDX-License-Identifier: Apache-2.0
# Included by src/CMakeLists.txt: makes sim_profiles.c out of profiles/*.profile and appends it to WEIR_SOURCES.
# Run as a script (cmake -P), it is the program that does so.
if(CMAKE_SCRIPT_MODE_FILE)
  file(GLOB profiles ${FOLDER}/*.profile)
  set(texts "")
  set(table "")
  foreach(profile ${profiles})
    get_filename_component(name ${profile} NAME_WE)
    file(READ ${profile} hex HEX)
    string(REGEX REPLACE "(................................)" "\\1\n" hex "${hex}")
    string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," hex "${hex}")
    string(APPEND texts "static const char ${name}[] = {\n${hex}\n};\n")
    string(APPEND table "    {\"${name}\", ${name}, sizeof ${name}},\n")
  endforeach()
  file(WRITE ${OUTPUT} "// Made from src/device/sim/profiles.\n#include \"device/sim/builtin.h\"\n\n${texts}\n"
    "const weir__sim_builtin weir__sim_builtins[] = {\n${table}    {NULL, NULL, 0},\n};\n")
  return()
endif()

file(GLOB WEIR_SIM_PROFILES CONFIGURE_DEPENDS ${CMAKE_CURRENT_LIST_DIR}/profiles/*.profile)
set(WEIR_SIM_PROFILES_SOURCE ${CMAKE_CURRENT_BINARY_DIR}/sim_profiles.c)
add_custom_command(OUTPUT ${WEIR_SIM_PROFILES_SOURCE}
  COMMAND ${CMAKE_COMMAND} -DFOLDER=${CMAKE_CURRENT_LIST_DIR}/profiles -DOUTPUT=${WEIR_SIM_PROFILES_SOURCE}
    -P ${CMAKE_CURRENT_LIST_FILE}
  DEPENDS ${CMAKE_CURRENT_LIST_FILE} ${WEIR_SIM_PROFILES}
  COMMENT "Embedding the profiles of simulated devices" VERBATIM)
list(APPEND WEIR_SOURCES ${WEIR_SIM_PROFILES_SOURCE})
