# SPDX-License-Identifier: Apache-2.0
# cmake -DPARTS=A,B,... -DINCLUDE=HEADER -DSYMBOL=NAME -DOUTPUT=FILE -P: makes a C file with a constant of the text of all parts, one behind the
# other, for NVRTC. HEADER declares it. What the parts include is for the host only: NVRTC needs none of it.
string(REPLACE "," ";" parts "${PARTS}")
set(text "")
foreach(part ${parts})
  file(READ ${part} part_text)
  get_filename_component(name ${part} NAME)
  string(APPEND text "#line 1 \"${name}\"\n${part_text}")
endforeach()
string(REGEX REPLACE "#include [^\n]*" "" text "${text}")
file(WRITE ${OUTPUT}.cu "${text}")
file(READ ${OUTPUT}.cu hex HEX)
string(REGEX REPLACE "(................................)" "\\1\n" hex "${hex}")
string(REGEX REPLACE "([0-9a-f][0-9a-f])" "'\\\\x\\1'," hex "${hex}")
file(WRITE ${OUTPUT} "// Made by cmake/WeirEmbedCuda.cmake.\n#include \"${INCLUDE}\"\n\nconst char ${SYMBOL}[] = {\n${hex}\n0};\n")
