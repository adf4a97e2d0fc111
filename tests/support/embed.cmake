# SPDX-License-Identifier: Apache-2.0
# A program (cmake -P): makes of INPUT the C source OUTPUT with its text as `const char NAME[]`.
file(READ ${INPUT} hex HEX)
string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," hex "${hex}")
string(REGEX REPLACE "(................................................................................)" "\\1\n" hex
  "${hex}")
file(WRITE ${OUTPUT} "extern const char ${NAME}[];\nconst char ${NAME}[] = {\n${hex}0};\n")
