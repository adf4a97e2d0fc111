// SPDX-License-Identifier: Apache-2.0
//
// Which bindings a shader reads and writes, from the instructions of its functions: a declaration without `readonly` says
// nothing. Pointers and images are followed from where they come from; what may be done elsewhere with one (a function that
// gets it, an unknown instruction) counts as both.
#include "device/vulkan/spirv_reader.h"

enum {
  OP_FUNCTION_CALL = 57,
  OP_IMAGE_TEXEL_POINTER = 60,
  OP_LOAD = 61,
  OP_STORE = 62,
  OP_COPY_MEMORY = 63,
  OP_COPY_MEMORY_SIZED = 64,
  OP_ACCESS_CHAIN = 65,
  OP_IN_BOUNDS_ACCESS_CHAIN = 66,
  OP_PTR_ACCESS_CHAIN = 67,
  OP_ARRAY_LENGTH = 68,
  OP_IN_BOUNDS_PTR_ACCESS_CHAIN = 70,
  OP_COPY_OBJECT = 83,
  OP_SAMPLED_IMAGE = 86,
  OP_IMAGE_SAMPLE = 87, // the first of those that read from an image
  OP_IMAGE_READ = 98,   // the last
  OP_IMAGE_WRITE = 99,
  OP_IMAGE = 100,
  OP_BITCAST = 124,
  OP_SELECT = 169,
  OP_ATOMIC_LOAD = 227,
  OP_ATOMIC_STORE = 228,
  OP_ATOMIC_EXCHANGE = 229,
  OP_ATOMIC_XOR = 242,
  OP_PHI = 245,
  OP_RETURN_VALUE = 254,
  OP_SPARSE_SAMPLE = 305, // the first of those that read from a sparse image
  OP_SPARSE_GATHER = 315,
  OP_ATOMIC_FLAG_TEST_AND_SET = 318,
  OP_ATOMIC_FLAG_CLEAR = 319,
  OP_SPARSE_READ = 320,
  OP_LAST_CORE = 403,
};

static weir__spirv_binding *root_of(const spirv_reader *reader, const spirv_op *op, uint32_t operand) {
  if (operand >= op->count) return NULL;
  uint32_t root = spirv_find(reader, spirv_operand(reader, op, operand))->root;
  return root > 0 ? &reader->module->bindings[root - 1] : NULL;
}

static void note(const spirv_reader *reader, const spirv_op *op, uint32_t operand, bool reads, bool writes) {
  weir__spirv_binding *binding = root_of(reader, op, operand);
  if (binding == NULL) return;
  if (reads) binding->reads = true;
  if (writes) binding->writes = true;
}

// The instruction writes what the operand points to, and that is nothing else.
static void note_store(const spirv_reader *reader, const spirv_op *op, uint32_t operand, bool reads) {
  weir__spirv_binding *binding = root_of(reader, op, operand);
  note(reader, op, operand, reads, true);
  if (binding != NULL && reader->surely_runs) binding->stores = true;
}

// The result comes from where the operand comes from.
static void pass_on(const spirv_reader *reader, const spirv_op *op, uint32_t operand) {
  if (operand >= op->count) return;
  uint32_t root = spirv_find(reader, spirv_operand(reader, op, operand))->root;
  uint32_t result = spirv_operand(reader, op, 2);
  if (root > 0 && result > 0 && result < reader->bound) reader->ids[result].root = root;
}

// The operand's address may go anywhere.
static void note_all(const spirv_reader *reader, const spirv_op *op, uint32_t first) {
  for (uint32_t i = first; i < op->count; i++) note(reader, op, i, true, true);
}

static void read_load(const spirv_reader *reader, const spirv_op *op) {
  const weir__spirv_binding *binding = root_of(reader, op, 3);
  if (binding == NULL) return;
  if (binding->kind == WEIR__SPIRV_STORAGE_BUFFER)
    note(reader, op, 3, true, false);
  else
    pass_on(reader, op, 3); // the image itself, not its contents
}

void weir__spirv_read_use(spirv_reader *reader, const spirv_op *op) {
  switch (op->code) {
  case OP_LOAD:
    read_load(reader, op);
    return;
  case OP_STORE:
    note_store(reader, op, 1, false);
    note(reader, op, 2, true, true); // a pointer that is kept
    return;
  case OP_ATOMIC_STORE:
    note_store(reader, op, 1, false);
    return;
  case OP_ATOMIC_LOAD:
    note(reader, op, 3, true, false);
    return;
  case OP_COPY_MEMORY:
  case OP_COPY_MEMORY_SIZED:
    note_store(reader, op, 1, false);
    note(reader, op, 2, true, false);
    return;
  case OP_IMAGE_WRITE:
    note_store(reader, op, 1, false);
    return;
  case OP_ACCESS_CHAIN:
  case OP_IN_BOUNDS_ACCESS_CHAIN:
  case OP_PTR_ACCESS_CHAIN:
  case OP_IN_BOUNDS_PTR_ACCESS_CHAIN:
  case OP_IMAGE_TEXEL_POINTER:
  case OP_COPY_OBJECT:
  case OP_SAMPLED_IMAGE:
  case OP_IMAGE:
  case OP_BITCAST:
    pass_on(reader, op, 3);
    return;
  case OP_ARRAY_LENGTH:
    return;
  case OP_FUNCTION_CALL:
    note_all(reader, op, 4);
    return;
  case SPIRV_EXTENDED_INSTRUCTION:
    note_all(reader, op, 5);
    return;
  case OP_SELECT:
  case OP_PHI:
    note_all(reader, op, 3);
    return;
  case OP_RETURN_VALUE:
    note_all(reader, op, 1);
    return;
  case OP_ATOMIC_FLAG_TEST_AND_SET:
    note_store(reader, op, 3, true);
    return;
  case OP_ATOMIC_FLAG_CLEAR:
    note_store(reader, op, 1, false);
    return;
  default:
    break;
  }
  bool samples = (op->code >= OP_IMAGE_SAMPLE && op->code <= OP_IMAGE_READ) ||
                 (op->code >= OP_SPARSE_SAMPLE && op->code <= OP_SPARSE_GATHER) || op->code == OP_SPARSE_READ;
  if (samples)
    note(reader, op, 3, true, false);
  else if (op->code >= OP_ATOMIC_EXCHANGE && op->code <= OP_ATOMIC_XOR)
    note_store(reader, op, 3, true);
  else if (op->code > OP_LAST_CORE)
    note_all(reader, op, 1);
}
