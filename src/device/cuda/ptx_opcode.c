// SPDX-License-Identifier: Apache-2.0
#include <string.h>

#include "device/cuda/ptx_code.h"

// In the order of strcmp.
static const ptx_opcode OPCODES[] = {{"abs", PTX_MANGLE, PTX_USE_NONE},
                                     {"activemask", PTX_MANGLE, PTX_USE_NONE},
                                     {"add", PTX_ADD, PTX_USE_NONE},
                                     {"addc", PTX_ADD, PTX_USE_NONE},
                                     {"and", PTX_ADD, PTX_USE_NONE},
                                     {"applypriority", PTX_NONE, PTX_USE_NONE},
                                     {"atom", PTX_ANY, PTX_USE_UPDATE_1},
                                     {"bar", PTX_NONE, PTX_USE_NONE},
                                     {"barrier", PTX_NONE, PTX_USE_NONE},
                                     {"bfe", PTX_MANGLE, PTX_USE_NONE},
                                     {"bfi", PTX_MANGLE, PTX_USE_NONE},
                                     {"bfind", PTX_MANGLE, PTX_USE_NONE},
                                     {"bmsk", PTX_MANGLE, PTX_USE_NONE},
                                     {"bra", PTX_NONE, PTX_USE_NONE},
                                     {"brev", PTX_MANGLE, PTX_USE_NONE},
                                     {"brkpt", PTX_NONE, PTX_USE_NONE},
                                     {"brx", PTX_NONE, PTX_USE_NONE},
                                     {"call", PTX_NONE, PTX_USE_CALL},
                                     {"clz", PTX_MANGLE, PTX_USE_NONE},
                                     {"cnot", PTX_MANGLE, PTX_USE_NONE},
                                     {"copysign", PTX_MANGLE, PTX_USE_NONE},
                                     {"cos", PTX_MANGLE, PTX_USE_NONE},
                                     {"cp", PTX_ANY, PTX_USE_COPY},
                                     {"createpolicy", PTX_MANGLE, PTX_USE_NONE},
                                     {"cvt", PTX_CONVERT, PTX_USE_NONE},
                                     {"cvta", PTX_CONVERT_ADDRESS, PTX_USE_NONE},
                                     {"discard", PTX_ANY, PTX_USE_WRITE_0},
                                     {"div", PTX_MANGLE, PTX_USE_NONE},
                                     {"dp2a", PTX_MANGLE, PTX_USE_NONE},
                                     {"dp4a", PTX_MANGLE, PTX_USE_NONE},
                                     {"elect", PTX_MANGLE, PTX_USE_NONE},
                                     {"ex2", PTX_MANGLE, PTX_USE_NONE},
                                     {"exit", PTX_NONE, PTX_USE_NONE},
                                     {"fence", PTX_NONE, PTX_USE_NONE},
                                     {"fma", PTX_MANGLE, PTX_USE_NONE},
                                     {"fns", PTX_MANGLE, PTX_USE_NONE},
                                     {"griddepcontrol", PTX_NONE, PTX_USE_NONE},
                                     {"isspacep", PTX_MANGLE, PTX_USE_NONE},
                                     {"ld", PTX_LOAD, PTX_USE_READ_1},
                                     {"ldmatrix", PTX_ANY, PTX_USE_NONE},
                                     {"ldu", PTX_LOAD, PTX_USE_READ_1},
                                     {"lg2", PTX_MANGLE, PTX_USE_NONE},
                                     {"lop3", PTX_MANGLE, PTX_USE_NONE},
                                     {"mad", PTX_MULTIPLY_ADD, PTX_USE_NONE},
                                     {"mad24", PTX_MULTIPLY_ADD, PTX_USE_NONE},
                                     {"madc", PTX_MULTIPLY_ADD, PTX_USE_NONE},
                                     {"match", PTX_MANGLE, PTX_USE_NONE},
                                     {"max", PTX_JOIN, PTX_USE_NONE},
                                     {"membar", PTX_NONE, PTX_USE_NONE},
                                     {"min", PTX_JOIN, PTX_USE_NONE},
                                     {"mma", PTX_MANGLE, PTX_USE_NONE},
                                     {"mov", PTX_COPY, PTX_USE_NONE},
                                     {"movmatrix", PTX_MANGLE, PTX_USE_NONE},
                                     {"mul", PTX_MULTIPLY, PTX_USE_NONE},
                                     {"mul24", PTX_MULTIPLY, PTX_USE_NONE},
                                     {"nanosleep", PTX_NONE, PTX_USE_NONE},
                                     {"neg", PTX_MANGLE, PTX_USE_NONE},
                                     {"not", PTX_MANGLE, PTX_USE_NONE},
                                     {"or", PTX_ADD, PTX_USE_NONE},
                                     {"pmevent", PTX_NONE, PTX_USE_NONE},
                                     {"popc", PTX_MANGLE, PTX_USE_NONE},
                                     {"prefetch", PTX_NONE, PTX_USE_NONE},
                                     {"prefetchu", PTX_NONE, PTX_USE_NONE},
                                     {"prmt", PTX_MANGLE, PTX_USE_NONE},
                                     {"rcp", PTX_MANGLE, PTX_USE_NONE},
                                     {"red", PTX_ANY, PTX_USE_UPDATE_0},
                                     {"redux", PTX_MANGLE, PTX_USE_NONE},
                                     {"rem", PTX_MANGLE, PTX_USE_NONE},
                                     {"ret", PTX_NONE, PTX_USE_NONE},
                                     {"rsqrt", PTX_MANGLE, PTX_USE_NONE},
                                     {"sad", PTX_MANGLE, PTX_USE_NONE},
                                     {"selp", PTX_JOIN, PTX_USE_NONE},
                                     {"set", PTX_MANGLE, PTX_USE_NONE},
                                     {"setmaxnreg", PTX_NONE, PTX_USE_NONE},
                                     {"setp", PTX_MANGLE, PTX_USE_NONE},
                                     {"shf", PTX_MANGLE, PTX_USE_NONE},
                                     {"shfl", PTX_MANGLE, PTX_USE_NONE},
                                     {"shl", PTX_MULTIPLY, PTX_USE_NONE},
                                     {"shr", PTX_MANGLE, PTX_USE_NONE},
                                     {"sin", PTX_MANGLE, PTX_USE_NONE},
                                     {"slct", PTX_JOIN, PTX_USE_NONE},
                                     {"sqrt", PTX_MANGLE, PTX_USE_NONE},
                                     {"st", PTX_ANY, PTX_USE_WRITE_0},
                                     {"stmatrix", PTX_NONE, PTX_USE_NONE},
                                     {"sub", PTX_SUBTRACT, PTX_USE_NONE},
                                     {"subc", PTX_SUBTRACT, PTX_USE_NONE},
                                     {"szext", PTX_MANGLE, PTX_USE_NONE},
                                     {"tanh", PTX_MANGLE, PTX_USE_NONE},
                                     {"testp", PTX_MANGLE, PTX_USE_NONE},
                                     {"trap", PTX_NONE, PTX_USE_NONE},
                                     {"vote", PTX_MANGLE, PTX_USE_NONE},
                                     {"wmma", PTX_ANY, PTX_USE_MATRIX},
                                     {"xor", PTX_MANGLE, PTX_USE_NONE}};

static int compare(ptx_word name, const char *other) {
  size_t length = strlen(other), common = name.length < length ? name.length : length;
  int order = memcmp(name.at, other, common);
  return order != 0 ? order : (name.length > length) - (name.length < length);
}

const ptx_opcode *weir__ptx_opcode(ptx_word name) {
  static const ptx_opcode UNHEARD = {"", PTX_ANY, PTX_USE_ALL};
  size_t low = 0, high = sizeof OPCODES / sizeof OPCODES[0];
  while (low < high) {
    size_t middle = (low + high) / 2;
    int order = compare(name, OPCODES[middle].name);
    if (order == 0) return &OPCODES[middle];
    if (order < 0)
      high = middle;
    else
      low = middle + 1;
  }
  return &UNHEARD;
}

ptx_word weir__ptx_part(ptx_word opcode, uint32_t index) {
  const char *at = opcode.at, *end = opcode.at + opcode.length;
  for (; index > 0 && at < end; index--) {
    while (at < end && *at != '.') at++;
    if (at < end) at++;
  }
  ptx_word part = {at, 0};
  while (at + part.length < end && at[part.length] != '.') part.length++;
  return part;
}

bool weir__ptx_has_part(ptx_word opcode, const char *text) {
  for (uint32_t i = 1;; i++) {
    ptx_word part = weir__ptx_part(opcode, i);
    if (part.length == 0) return false;
    size_t length = strlen(text); // "shared" stands for "shared::cta" as well
    if (part.length >= length && memcmp(part.at, text, length) == 0 &&
        (part.length == length || part.at[length] == ':'))
      return true;
  }
}
