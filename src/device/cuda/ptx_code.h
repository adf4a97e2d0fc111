// SPDX-License-Identifier: Apache-2.0
//
// A function's body as an array of instructions, in which names are numbers. It is made once, so that what goes over the code
// again and again reads no text. Parts of ptx.c only.
#ifndef WEIR_DEVICE_CUDA_PTX_CODE_H
#define WEIR_DEVICE_CUDA_PTX_CODE_H

#include "device/cuda/ptx_reader.h"

// What an instruction makes of its operands, as far as addresses go.
typedef enum ptx_result {
  PTX_NONE,         // it defines nothing
  PTX_COPY,         // the first source
  PTX_JOIN,         // either of two sources
  PTX_ADD,          // a sum of two, or what keeps an address as a sum does
  PTX_SUBTRACT,     // the first less the second
  PTX_MULTIPLY,     // a product
  PTX_MULTIPLY_ADD, // a product and the third
  PTX_MANGLE,       // made of all of them in another way
  PTX_OWN,          // an address in shared or local memory
  PTX_NUMBER,       // no address
  PTX_UNKNOWN,      // an address that comes from anywhere
  PTX_ANY,          // a number, or such an address
  PTX_PARAM,        // the value of a parameter of the function, if that is an address
  PTX_TO_CALL,      // a source is stored to a parameter of a call, which stands for it
  // Of opcodes only; their operands decide which of those above it is.
  PTX_CONVERT,
  PTX_CONVERT_ADDRESS,
  PTX_LOAD,
} ptx_result;

// What it does to memory of buffers.
typedef enum ptx_memory {
  PTX_USE_NONE,
  PTX_USE_OPERAND, // through the address in an operand
  PTX_USE_ALL,     // through any
  PTX_USE_CALL,    // what the function does that it calls
  // Of opcodes only.
  PTX_USE_READ_1,
  PTX_USE_WRITE_0,
  PTX_USE_UPDATE_0,
  PTX_USE_UPDATE_1,
  PTX_USE_COPY,
  PTX_USE_MATRIX,
} ptx_memory;

typedef struct ptx_opcode {
  char name[15];
  uint8_t result, memory; // ptx_result, ptx_memory
} ptx_opcode;

// By the instruction's name. One that is not known makes anything and does anything.
const ptx_opcode *weir__ptx_opcode(ptx_word name);

// The part of an opcode: 0 is the instruction's name, and the rest are what follows its points.
ptx_word weir__ptx_part(ptx_word opcode, uint32_t index);
bool weir__ptx_has_part(ptx_word opcode, const char *text);

// Names and numbers of an operand, without punctuation: words[first], of which there are `count`.
typedef struct ptx_operand {
  uint32_t first;
  uint8_t count;
  bool is_address, is_list;
} ptx_operand;

typedef struct ptx_instruction {
  uint32_t first; // operand
  uint8_t count;
  uint8_t result, memory; // ptx_result, ptx_memory; none that are of opcodes only
  uint8_t param;          // PTX_PARAM: which; of PTX_USE_OPERAND and PTX_USE_ALL...
  uint8_t use;            // ... what it does
  uint8_t address;        // PTX_USE_OPERAND: the operand
  bool is_conversion;     // of an address, which its source must be then
} ptx_instruction;

enum { PTX_NOT_A_NAME = 0 }; // the word of each number

typedef enum ptx_name_kind {
  PTX_OTHER,   // nothing defines it: a special register, say, or a function
  PTX_DEFINED, // some instruction does
  PTX_VARIABLE // in shared or local memory
} ptx_name_kind;

typedef struct ptx_name {
  ptx_word text;
  ptx_name_kind kind;
} ptx_name;

typedef struct ptx_code {
  ptx_instruction *instructions;
  ptx_operand *operands;
  uint32_t *words; // indices into `names`
  ptx_name *names;
  uint32_t *places; // hash table of names
  uint32_t instruction_count, instruction_room;
  uint32_t operand_count, operand_room;
  uint32_t word_count, word_room;
  uint32_t name_count, name_room, place_room;
} ptx_code;

// Reads the body of a function; its words are taken off the module's budget. False: it is not understood, or there is no memory.
// The code is freed in any case.
bool weir__ptx_code_read(ptx_module *module, const ptx_function *function, ptx_code *out_code);
void weir__ptx_code_free(ptx_code *code);

#endif // WEIR_DEVICE_CUDA_PTX_CODE_H
