# SPDX-License-Identifier: Apache-2.0
# Kernels that are written once (docs/guide/kernels.md). find_package(weir) includes this file.
#
#   weir_add_kernels(TARGET source.c... [HEADERS header.h...])
#
# Adds kernel sources in C to a target: compiled for the CPU device, and embedded as text for CUDA and OpenCL. For
# NAME.c the target's sources may include "NAME.kernels.h", which declares a weir_kernel_code for each kernel and the
# text, NAME_kernels_source. The text needs no include path: it has weir/kernel.h and the headers of HEADERS, which the
# sources may include and which must be plain C for every device, in place of the includes.
#
# Run as a script (cmake -P), this file makes NAME.kernels.h and NAME.kernels.c.
if(CMAKE_SCRIPT_MODE_FILE)
  file(READ ${KERNEL_HEADER} text)
  set(included "weir/kernel\\.h")
  string(REPLACE "|" ";" headers "${HEADERS}")
  foreach(header ${headers})
    get_filename_component(name ${header} NAME)
    file(READ ${header} header_text)
    string(APPEND text "\n#line 1 \"${name}\"\n${header_text}")
    string(REPLACE "." "\\." name "${name}")
    string(APPEND included "|${name}")
  endforeach()
  file(READ ${SOURCE} source)
  get_filename_component(name ${SOURCE} NAME)
  string(APPEND text "\n#line 1 \"${name}\"\n${source}")
  string(REGEX REPLACE "#[ \t]*include[ \t]*[<\"](${included})[>\"]" "" text "${text}")

  string(REGEX MATCHALL "WEIR_KERNEL\\([ \t\n]*[A-Za-z_][A-Za-z_0-9]*" kernels "${source}")
  set(declared "")
  foreach(kernel ${kernels})
    string(REGEX REPLACE "WEIR_KERNEL\\([ \t\n]*" "" kernel "${kernel}")
    string(APPEND declared "extern const weir_kernel_code ${kernel};\n")
  endforeach()
  file(WRITE ${OUTPUT}.h "// Made from ${name}.\n#pragma once\n#include <weir/kernel.h>\n\n"
    "extern const char ${SYMBOL}[];\n${declared}")

  file(WRITE ${OUTPUT}.text "${text}")
  file(READ ${OUTPUT}.text hex HEX)
  string(REGEX REPLACE "(................................)" "\\1\n" hex "${hex}")
  string(REGEX REPLACE "([0-9a-f][0-9a-f])" "'\\\\x\\1'," hex "${hex}")
  file(WRITE ${OUTPUT}.c "// Made from ${name}.\nextern const char ${SYMBOL}[];\nconst char ${SYMBOL}[] = {\n${hex}\n0};\n")
  return()
endif()

include_guard(GLOBAL)
set_property(GLOBAL PROPERTY WEIR_KERNELS_SCRIPT ${CMAKE_CURRENT_LIST_FILE})
if(NOT WEIR_KERNEL_HEADER) # set by weir-config.cmake
  get_filename_component(WEIR_KERNEL_HEADER ${CMAKE_CURRENT_LIST_DIR}/../include/weir/kernel.h ABSOLUTE)
endif()
set_property(GLOBAL PROPERTY WEIR_KERNEL_HEADER ${WEIR_KERNEL_HEADER})

function(weir_add_kernels target)
  cmake_parse_arguments(KERNELS "" "" "HEADERS" ${ARGN})
  get_property(script GLOBAL PROPERTY WEIR_KERNELS_SCRIPT)
  get_property(kernel_header GLOBAL PROPERTY WEIR_KERNEL_HEADER)
  set(headers "")
  foreach(header ${KERNELS_HEADERS})
    get_filename_component(header ${header} ABSOLUTE)
    list(APPEND headers ${header})
  endforeach()
  string(REPLACE ";" "|" joined_headers "${headers}")
  set(folder ${CMAKE_CURRENT_BINARY_DIR}/${target}_kernels)
  foreach(source ${KERNELS_UNPARSED_ARGUMENTS})
    get_filename_component(source ${source} ABSOLUTE)
    get_filename_component(name ${source} NAME_WE)
    string(MAKE_C_IDENTIFIER ${name}_kernels_source symbol)
    set(output ${folder}/${name}.kernels)
    add_custom_command(OUTPUT ${output}.c ${output}.h
      COMMAND ${CMAKE_COMMAND} -DSOURCE=${source} -DHEADERS=${joined_headers} -DKERNEL_HEADER=${kernel_header}
        -DSYMBOL=${symbol} -DOUTPUT=${output} -P ${script}
      DEPENDS ${script} ${kernel_header} ${source} ${headers}
      COMMENT "Embedding the kernels of ${name}.c" VERBATIM)
    target_sources(${target} PRIVATE ${source} ${output}.c ${output}.h)
    # The same bits as on other devices: no multiplication is fused with an addition, unless the source says fma. The
    # other options change no result; with them square roots and conditions are vectorised.
    set_property(SOURCE ${source} APPEND PROPERTY COMPILE_OPTIONS -ffp-contract=off -fno-math-errno -fno-trapping-math)
    set_property(SOURCE ${source} APPEND PROPERTY COMPILE_DEFINITIONS WEIR_KERNEL_SOURCE=${symbol})
  endforeach()
  target_include_directories(${target} PUBLIC $<BUILD_INTERFACE:${folder}>)
  target_link_libraries(${target} PRIVATE m)
endfunction()
