# SPDX-License-Identifier: Apache-2.0
# A program (cmake -P): makes of the SPIR-V module INPUT the C source OUTPUT.c and the header OUTPUT.h with the array NAME_spv.
file(READ ${INPUT} hex HEX)
string(LENGTH "${hex}" digits)
math(EXPR count "${digits} / 8")
string(REGEX REPLACE "(..)(..)(..)(..)" "0x\\4\\3\\2\\1," words "${hex}")
string(REGEX REPLACE "(0x........,0x........,0x........,0x........,0x........,0x........,0x........,0x........,)" "\\1\n"
  words "${words}")
file(WRITE ${OUTPUT}.h "#include <stdint.h>\nextern const uint32_t ${NAME}_spv[${count}];\n")
file(WRITE ${OUTPUT}.c "#include \"${NAME}.spv.h\"\nconst uint32_t ${NAME}_spv[${count}] = {\n${words}\n};\n")
