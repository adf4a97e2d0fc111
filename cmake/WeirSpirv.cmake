# SPDX-License-Identifier: Apache-2.0
# weir_embed_spirv(TARGET FILE...): compiles shaders to SPIR-V for Vulkan 1.2 and embeds them in a target. Of NAME.comp (GLSL)
# or NAME.spvasm (SPIR-V assembly) come a header and a source:
#   #include "NAME.spv.h"   // declares: extern const uint32_t NAME_spv[N], so that sizeof NAME_spv is its bytes
set(WEIR_SPIRV_SCRIPT ${CMAKE_CURRENT_LIST_DIR}/embed_spirv.cmake)

function(weir_spirv_program variable program package)
  find_program(${variable} ${program})
  if(NOT ${variable})
    message(FATAL_ERROR "${program} is missing, which compiles the Vulkan shaders of tests and examples: install it "
      "(Debian: ${package}), or set ${variable}")
  endif()
endfunction()

# weir_shader_files(VARIABLE FILE): what a shader depends on: itself, absolute, and the *.glsl beside it that it may include.
function(weir_shader_files variable file)
  get_filename_component(file ${file} ABSOLUTE)
  get_filename_component(folder ${file} DIRECTORY)
  file(GLOB included CONFIGURE_DEPENDS ${folder}/*.glsl)
  set(${variable} ${file} ${included} PARENT_SCOPE)
endfunction()

function(weir_embed_spirv target)
  set(folder ${CMAKE_CURRENT_BINARY_DIR}/${target}_spirv)
  file(MAKE_DIRECTORY ${folder})
  foreach(file ${ARGN})
    weir_shader_files(files ${file})
    get_filename_component(file ${file} ABSOLUTE)
    get_filename_component(name ${file} NAME_WE)
    get_filename_component(kind ${file} LAST_EXT)
    set(words ${folder}/${name}.spv)
    if(kind STREQUAL ".spvasm")
      weir_spirv_program(WEIR_SPIRV_AS spirv-as spirv-tools)
      set(compile ${WEIR_SPIRV_AS} --target-env vulkan1.2 -o ${words} ${file})
    else()
      weir_spirv_program(WEIR_GLSLANG glslangValidator glslang-tools)
      set(compile ${WEIR_GLSLANG} --quiet -V --target-env vulkan1.2 -o ${words} ${file})
    endif()
    add_custom_command(OUTPUT ${words}.c ${words}.h BYPRODUCTS ${words}
      COMMAND ${compile}
      COMMAND ${CMAKE_COMMAND} -DINPUT=${words} -DOUTPUT=${words} -DNAME=${name} -P ${WEIR_SPIRV_SCRIPT}
      DEPENDS ${files} ${WEIR_SPIRV_SCRIPT} VERBATIM)
    target_sources(${target} PRIVATE ${words}.c ${words}.h)
  endforeach()
  target_include_directories(${target} PRIVATE ${folder})
endfunction()
