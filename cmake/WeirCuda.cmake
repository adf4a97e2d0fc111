# SPDX-License-Identifier: Apache-2.0
# For what needs the CUDA toolkit, which the library does not.

# Sets WEIR_CUDA to whether there is a CUDA compiler that works and this is not a checked build; if not, says that
# `what` is left out. Its caller sets CMAKE_CUDA_ARCHITECTURES and enables the language.
macro(weir_find_cuda what)
  set(WEIR_CUDA OFF)
  if(WEIR_SANITIZE OR WEIR_COVERAGE)
    message(STATUS "${what} is left out: the CUDA runtime does not go with checked builds")
  else()
    find_program(WEIR_NVCC nvcc HINTS ENV CUDA_HOME PATHS /usr/local/cuda PATH_SUFFIXES bin)
    if(WEIR_NVCC AND NOT DEFINED ENV{CUDACXX})
      set(ENV{CUDACXX} ${WEIR_NVCC})
    endif()
    include(CheckLanguage)
    check_language(CUDA)
    if(CMAKE_CUDA_COMPILER)
      set(WEIR_CUDA ON)
    else()
      message(STATUS "${what} is left out: no CUDA compiler (nvcc) that works was found")
    endif()
  endif()
endmacro()
