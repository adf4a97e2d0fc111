// SPDX-License-Identifier: Apache-2.0
//
// Reading a SPIR-V module in one pass from its first word to its last, as the specification orders its sections: what is
// known of each id when an instruction is read is all that the instruction may use. Parts of spirv.c only.
#ifndef WEIR_DEVICE_VULKAN_SPIRV_READER_H
#define WEIR_DEVICE_VULKAN_SPIRV_READER_H

#include <string.h>

#include "device/vulkan/spirv.h"

// Instructions, by their numbers in the specification.
enum {
  SPIRV_EXTENDED_INSTRUCTION = 12,
  SPIRV_ENTRY_POINT = 15,
  SPIRV_EXECUTION_MODE = 16,
  SPIRV_CAPABILITY = 17,
  SPIRV_TYPE_VOID = 19,
  SPIRV_TYPE_BOOL = 20,
  SPIRV_TYPE_INT = 21,
  SPIRV_TYPE_FLOAT = 22,
  SPIRV_TYPE_VECTOR = 23,
  SPIRV_TYPE_MATRIX = 24,
  SPIRV_TYPE_IMAGE = 25,
  SPIRV_TYPE_SAMPLER = 26,
  SPIRV_TYPE_SAMPLED_IMAGE = 27,
  SPIRV_TYPE_ARRAY = 28,
  SPIRV_TYPE_RUNTIME_ARRAY = 29,
  SPIRV_TYPE_STRUCT = 30,
  SPIRV_TYPE_POINTER = 32,
  SPIRV_TYPE_FORWARD_POINTER = 39, // of addresses of buffers, which structs name before they are defined
  SPIRV_CONSTANT_TRUE = 41,
  SPIRV_CONSTANT_FALSE = 42,
  SPIRV_CONSTANT = 43,
  SPIRV_CONSTANT_COMPOSITE = 44,
  SPIRV_SPEC_CONSTANT_TRUE = 48,
  SPIRV_SPEC_CONSTANT_FALSE = 49,
  SPIRV_SPEC_CONSTANT = 50,
  SPIRV_SPEC_CONSTANT_COMPOSITE = 51,
  SPIRV_SPEC_CONSTANT_OP = 52,
  SPIRV_FUNCTION = 54,
  SPIRV_VARIABLE = 59,
  SPIRV_DECORATE = 71,
  SPIRV_MEMBER_DECORATE = 72,
  SPIRV_DECORATION_GROUP = 73,
  SPIRV_EXECUTION_MODE_ID = 331,
};

// Decorations.
enum {
  SPIRV_SPEC_ID = 1,
  SPIRV_BUFFER_BLOCK = 3,
  SPIRV_ROW_MAJOR = 4,
  SPIRV_ARRAY_STRIDE = 6,
  SPIRV_MATRIX_STRIDE = 7,
  SPIRV_BUILT_IN = 11,
  SPIRV_NON_WRITABLE = 24,
  SPIRV_NON_READABLE = 25,
  SPIRV_BINDING = 33,
  SPIRV_DESCRIPTOR_SET = 34,
  SPIRV_OFFSET = 35,
};

// What is known of an id.
enum {
  SPIRV_HAS_SET = 1u << 0,
  SPIRV_HAS_BINDING = 1u << 1,
  SPIRV_HAS_SPEC_ID = 1u << 2,
  SPIRV_IS_BUFFER_BLOCK = 1u << 3,
  SPIRV_NOT_WRITABLE = 1u << 4, // of a struct: all its members
  SPIRV_NOT_READABLE = 1u << 5,
  SPIRV_IN_INTERFACE = 1u << 6, // of the entry point
  SPIRV_HAS_VALUE = 1u << 7,
};

typedef struct spirv_id {
  uint32_t word;  // of the instruction that defines it; 0: none so far
  uint32_t flags; // SPIRV_*
  uint32_t set, binding, spec_id, array_stride;
  uint32_t root;     // in functions: 1 + index of the binding that a pointer or image comes from
  uint64_t value;    // of a constant; of an array type: its length
  uint64_t bytes;    // of a type: packed, without any layout
  uint64_t laid_out; // of a type: with the layout that its decorations give
} spirv_id;

typedef struct spirv_reader {
  const unsigned char *words;
  uint32_t count, bound;
  spirv_id *ids;
  weir__spirv *module;
  char *reason;
  size_t reason_size;

  const char *entry;
  uint32_t entry_id; // 0: not found so far
  char others[160];  // names of the other entry points
  const weir_vulkan_constant *constants;
  uint32_t constant_count;

  uint32_t first_annotation, end_annotation; // words
  bool in_types, in_functions;
  bool surely_runs;     // the function that is read is the entry point, or belongs to a module with no other one
  uint32_t entry_count; // entry points of all kinds
  uint32_t size_id;     // the constant that gives the work-group's size
  uint32_t size_ids[3]; // or three of them
  bool has_size;
  bool is_readable[WEIR__SPIRV_MOST_BINDINGS], is_writable[WEIR__SPIRV_MOST_BINDINGS]; // as the bindings are declared
} spirv_reader;

// One instruction: its first word, what it is, and how many words it has.
typedef struct spirv_op {
  uint32_t at, code, count;
} spirv_op;

static inline uint32_t spirv_word(const spirv_reader *reader, uint32_t at) {
  uint32_t word;
  memcpy(&word, reader->words + (size_t)at * 4, sizeof word); // which need not be aligned
  return word;
}

// The instruction's operand: its word `index`, which is within it.
static inline uint32_t spirv_operand(const spirv_reader *reader, const spirv_op *op, uint32_t index) {
  return spirv_word(reader, op->at + index);
}

// What is known of an id; an id that no module can have is like one that is not defined.
static inline spirv_id *spirv_find(const spirv_reader *reader, uint32_t id) {
  return &reader->ids[id < reader->bound ? id : 0];
}

// The instruction that defines an id; its code is 0 if there is none so far.
spirv_op weir__spirv_definition(const spirv_reader *reader, uint32_t id);

// Sets the reason, with the word at which it was seen, and returns false.
__attribute__((format(printf, 3, 4))) bool weir__spirv_fail(spirv_reader *reader, uint32_t word, const char *format,
                                                            ...);

// a * b + c, UINT64_MAX if it is more.
uint64_t weir__spirv_extent(uint64_t a, uint64_t b, uint64_t c);

// Types and constants: sizes, values with the given specialization constants, and the list of these.
bool weir__spirv_read_type(spirv_reader *reader, const spirv_op *op);
bool weir__spirv_read_constant(spirv_reader *reader, const spirv_op *op);

// Lists the members of a struct with offsets as those of the push constants.
void weir__spirv_read_members(spirv_reader *reader, uint32_t struct_id);

// Calls `function` for each decoration of the members of a struct until it returns false. `words`: member, decoration, literals.
typedef bool (*spirv_member_function)(spirv_reader *reader, const spirv_op *op, void *user);
bool weir__spirv_for_members(spirv_reader *reader, uint32_t struct_id, spirv_member_function function, void *user);

// Notes which bindings an instruction of a function reads and writes.
void weir__spirv_read_use(spirv_reader *reader, const spirv_op *op);

#endif // WEIR_DEVICE_VULKAN_SPIRV_READER_H
