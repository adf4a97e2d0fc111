// SPDX-License-Identifier: Apache-2.0
//
// Sizes of a SPIR-V module's types, and values of its constants.
#include "device/vulkan/spirv_reader.h"

uint64_t weir__spirv_extent(uint64_t a, uint64_t b, uint64_t c) {
  uint64_t product, sum;
  return __builtin_mul_overflow(a, b, &product) || __builtin_add_overflow(product, c, &sum) ? UINT64_MAX : sum;
}

bool weir__spirv_for_members(spirv_reader *reader, uint32_t struct_id, spirv_member_function function, void *user) {
  for (uint32_t at = reader->first_annotation; at < reader->end_annotation;) {
    uint32_t head = spirv_word(reader, at);
    spirv_op op = {at, head & 0xffff, head >> 16}; // was checked when the section was read
    if (op.code == SPIRV_MEMBER_DECORATE && spirv_operand(reader, &op, 1) == struct_id && !function(reader, &op, user))
      return false;
    at += op.count;
  }
  return true;
}

typedef struct member_layout {
  uint32_t member, stride;
  bool row_major;
} member_layout;

static bool find_matrix(spirv_reader *reader, const spirv_op *op, void *user) {
  member_layout *layout = user;
  if (spirv_operand(reader, op, 2) != layout->member) return true;
  if (spirv_operand(reader, op, 3) == SPIRV_ROW_MAJOR) layout->row_major = true;
  if (spirv_operand(reader, op, 3) == SPIRV_MATRIX_STRIDE && op->count > 4)
    layout->stride = spirv_operand(reader, op, 4);
  return true;
}

// Bytes of a matrix as a member with a layout.
static uint64_t matrix_bytes(spirv_reader *reader, const spirv_op *matrix, uint32_t struct_id, uint32_t member) {
  member_layout layout = {.member = member};
  weir__spirv_for_members(reader, struct_id, find_matrix, &layout);
  uint32_t columns = spirv_operand(reader, matrix, 3);
  spirv_op column = weir__spirv_definition(reader, spirv_operand(reader, matrix, 2));
  if (column.code != SPIRV_TYPE_VECTOR || columns == 0) return 0;
  uint32_t rows = spirv_operand(reader, &column, 3);
  uint64_t scalar = spirv_find(reader, spirv_operand(reader, &column, 2))->bytes;
  uint32_t lines = layout.row_major ? rows : columns, line = layout.row_major ? columns : rows;
  return lines == 0 ? 0 : weir__spirv_extent(lines - 1, layout.stride, weir__spirv_extent(line, scalar, 0));
}

// Bytes of a member, which may be an array of arrays of matrices: these have their strides from the struct.
static uint64_t member_bytes(spirv_reader *reader, uint32_t struct_id, uint32_t member, uint32_t type) {
  uint64_t before_last = 0;
  spirv_op op = weir__spirv_definition(reader, type);
  while (op.code == SPIRV_TYPE_ARRAY) {
    const spirv_id *array = spirv_find(reader, spirv_operand(reader, &op, 1));
    if (array->value == 0) return 0;
    before_last = weir__spirv_extent(array->value - 1, array->array_stride, before_last);
    type = spirv_operand(reader, &op, 2);
    spirv_op element = weir__spirv_definition(reader, type);
    if (element.at >= op.at) return 0; // no type is made of later ones
    op = element;
  }
  uint64_t last =
      op.code == SPIRV_TYPE_MATRIX ? matrix_bytes(reader, &op, struct_id, member) : spirv_find(reader, type)->laid_out;
  return weir__spirv_extent(1, before_last, last);
}

static bool add_member(spirv_reader *reader, const spirv_op *op, void *user) {
  const spirv_op *type = user;
  weir__spirv *module = reader->module;
  uint32_t member = spirv_operand(reader, op, 2);
  if (spirv_operand(reader, op, 3) != SPIRV_OFFSET || op->count < 5) return true;
  if (module->member_count == WEIR__SPIRV_MOST_MEMBERS || member >= type->count - 2) {
    module->member_count = 0;
    return false;
  }
  uint64_t bytes =
      member_bytes(reader, spirv_operand(reader, type, 1), member, spirv_operand(reader, type, 2 + member));
  weir__spirv_member found = {spirv_operand(reader, op, 4), bytes > UINT32_MAX ? UINT32_MAX : (uint32_t)bytes};
  uint32_t at = module->member_count++;
  for (; at > 0 && module->members[at - 1].offset > found.offset; at--) module->members[at] = module->members[at - 1];
  module->members[at] = found;
  return true;
}

void weir__spirv_read_members(spirv_reader *reader, uint32_t struct_id) {
  spirv_op type = weir__spirv_definition(reader, struct_id);
  reader->module->member_count = 0;
  if (type.code == SPIRV_TYPE_STRUCT) weir__spirv_for_members(reader, struct_id, add_member, &type);
}

typedef struct struct_reading {
  spirv_op op;
  uint64_t end;                        // of the member that reaches farthest
  uint32_t not_writable, not_readable; // members
} struct_reading;

static bool read_member(spirv_reader *reader, const spirv_op *op, void *user) {
  struct_reading *reading = user;
  uint32_t member = spirv_operand(reader, op, 2), decoration = spirv_operand(reader, op, 3);
  if (member >= reading->op.count - 2) return weir__spirv_fail(reader, op->at, "a struct has no member %u", member);
  if (decoration == SPIRV_NON_WRITABLE) reading->not_writable++;
  if (decoration == SPIRV_NON_READABLE) reading->not_readable++;
  if (decoration != SPIRV_OFFSET || op->count < 5) return true;
  uint32_t struct_id = spirv_operand(reader, &reading->op, 1), type = spirv_operand(reader, &reading->op, 2 + member);
  uint64_t end = weir__spirv_extent(1, spirv_operand(reader, op, 4), member_bytes(reader, struct_id, member, type));
  if (end > reading->end) reading->end = end;
  return true;
}

static bool read_struct(spirv_reader *reader, const spirv_op *op, spirv_id *type) {
  struct_reading reading = {.op = *op};
  if (!weir__spirv_for_members(reader, spirv_operand(reader, op, 1), read_member, &reading)) return false;
  uint32_t members = op->count - 2;
  for (uint32_t i = 0; i < members; i++)
    type->bytes = weir__spirv_extent(1, type->bytes, spirv_find(reader, spirv_operand(reader, op, 2 + i))->bytes);
  type->laid_out = reading.end;
  if (members > 0 && reading.not_writable >= members) type->flags |= SPIRV_NOT_WRITABLE;
  if (members > 0 && reading.not_readable >= members) type->flags |= SPIRV_NOT_READABLE;
  return true;
}

static void read_array(spirv_reader *reader, const spirv_op *op, spirv_id *type) {
  const spirv_id *element = spirv_find(reader, spirv_operand(reader, op, 2));
  const spirv_id *length = spirv_find(reader, spirv_operand(reader, op, 3));
  type->value = (length->flags & SPIRV_HAS_VALUE) != 0 ? length->value : 0;
  if (type->value == 0) return;
  type->bytes = weir__spirv_extent(type->value, element->bytes, 0);
  type->laid_out = weir__spirv_extent(type->value - 1, type->array_stride, element->laid_out);
}

// Words that an instruction has at least.
static uint32_t least_words(uint32_t code) {
  switch (code) {
  case SPIRV_TYPE_INT:
  case SPIRV_TYPE_VECTOR:
  case SPIRV_TYPE_MATRIX:
  case SPIRV_TYPE_ARRAY:
  case SPIRV_TYPE_POINTER:
  case SPIRV_CONSTANT:
  case SPIRV_SPEC_CONSTANT:
  case SPIRV_SPEC_CONSTANT_OP:
    return 4;
  case SPIRV_TYPE_IMAGE:
    return 9;
  case SPIRV_TYPE_FLOAT:
  case SPIRV_TYPE_SAMPLED_IMAGE:
  case SPIRV_TYPE_RUNTIME_ARRAY:
    return 3;
  default:
    return code < SPIRV_CONSTANT_TRUE ? 2 : 3;
  }
}

// Makes an id stand for the instruction.
static spirv_id *define(spirv_reader *reader, const spirv_op *op, uint32_t index) {
  if (op->count < least_words(op->code)) {
    weir__spirv_fail(reader, op->at, "instruction %u of %u words is too short", op->code, op->count);
    return NULL;
  }
  uint32_t id = spirv_operand(reader, op, index);
  if (id == 0 || id >= reader->bound || reader->ids[id].word != 0) {
    weir__spirv_fail(reader, op->at, "id %u %s", id,
                     id == 0 || id >= reader->bound ? "is out of bounds" : "is defined twice");
    return NULL;
  }
  reader->ids[id].word = op->at;
  return &reader->ids[id];
}

bool weir__spirv_read_type(spirv_reader *reader, const spirv_op *op) {
  spirv_id *type = define(reader, op, 1);
  if (type == NULL) return false;
  switch (op->code) {
  case SPIRV_TYPE_BOOL:
    type->bytes = type->laid_out = 4;
    return true;
  case SPIRV_TYPE_INT:
  case SPIRV_TYPE_FLOAT:
    type->bytes = type->laid_out = spirv_operand(reader, op, 2) / 8;
    return true;
  case SPIRV_TYPE_VECTOR:
  case SPIRV_TYPE_MATRIX:
    type->bytes =
        weir__spirv_extent(spirv_operand(reader, op, 3), spirv_find(reader, spirv_operand(reader, op, 2))->bytes, 0);
    type->laid_out = type->bytes;
    return true;
  case SPIRV_TYPE_POINTER:
    type->bytes = type->laid_out = 8;
    return true;
  case SPIRV_TYPE_ARRAY:
    read_array(reader, op, type);
    return true;
  case SPIRV_TYPE_STRUCT:
    return read_struct(reader, op, type);
  default:
    return true;
  }
}

static uint64_t cut(uint64_t value, uint64_t bytes) {
  return bytes >= 8 || bytes == 0 ? value : value & ((UINT64_C(1) << (bytes * 8)) - 1);
}

static int64_t with_sign(uint64_t value, uint64_t bytes) {
  if (bytes >= 8 || bytes == 0) return (int64_t)value;
  uint64_t sign = UINT64_C(1) << (bytes * 8 - 1);
  return (int64_t)((value ^ sign) - sign);
}

// The value of an integer operation on two constants of a size in bytes; false: Weir does not evaluate it.
static bool evaluate(uint32_t code, uint64_t a, uint64_t b, uint64_t bytes, uint64_t *out) {
  if (bytes > 8) return false;
  int64_t signed_a = with_sign(a, bytes), signed_b = with_sign(b, bytes);
  bool divides = b != 0, divides_signed = b != 0 && !(signed_a == INT64_MIN && signed_b == -1);
  switch (code) {
#define CASE(number, condition, value)                                                                                 \
  case number:                                                                                                         \
    if (condition) *out = (uint64_t)(value);                                                                           \
    return condition;
    CASE(113, true, a)                             // UConvert
    CASE(114, true, signed_a)                      // SConvert
    CASE(124, true, a)                             // Bitcast
    CASE(126, true, 0 - a)                         // SNegate
    CASE(128, true, a + b)                         // IAdd
    CASE(130, true, a - b)                         // ISub
    CASE(132, true, a * b)                         // IMul
    CASE(134, divides, a / b)                      // UDiv
    CASE(135, divides_signed, signed_a / signed_b) // SDiv
    CASE(137, divides, a % b)                      // UMod
    CASE(138, divides_signed, signed_a % signed_b) // SRem
    CASE(164, true, (a != 0) == (b != 0))          // LogicalEqual
    CASE(165, true, (a != 0) != (b != 0))          // LogicalNotEqual
    CASE(166, true, a != 0 || b != 0)              // LogicalOr
    CASE(167, true, a != 0 && b != 0)              // LogicalAnd
    CASE(168, true, a == 0)                        // LogicalNot
    CASE(170, true, a == b)                        // IEqual
    CASE(171, true, a != b)                        // INotEqual
    CASE(172, true, a > b)                         // UGreaterThan
    CASE(173, true, signed_a > signed_b)           // SGreaterThan
    CASE(174, true, a >= b)                        // UGreaterThanEqual
    CASE(175, true, signed_a >= signed_b)          // SGreaterThanEqual
    CASE(176, true, a < b)                         // ULessThan
    CASE(177, true, signed_a < signed_b)           // SLessThan
    CASE(178, true, a <= b)                        // ULessThanEqual
    CASE(179, true, signed_a <= signed_b)          // SLessThanEqual
    CASE(194, b < bytes * 8, a >> b)               // ShiftRightLogical
    CASE(195, b < bytes * 8, signed_a >> b)        // ShiftRightArithmetic
    CASE(196, b < bytes * 8, a << b)               // ShiftLeftLogical
    CASE(197, true, a | b)                         // BitwiseOr
    CASE(198, true, a ^ b)                         // BitwiseXor
    CASE(199, true, a & b)                         // BitwiseAnd
    CASE(200, true, ~a)                            // Not
#undef CASE
  default:
    return false;
  }
}

enum { OP_SELECT = 169 };

static void read_operation(const spirv_reader *reader, const spirv_op *op, spirv_id *constant, uint64_t bytes) {
  uint32_t code = spirv_operand(reader, op, 3), operands = op->count - 4;
  const spirv_id *with[3] = {NULL};
  for (uint32_t i = 0; i < 3 && i < operands; i++) {
    with[i] = spirv_find(reader, spirv_operand(reader, op, 4 + i));
    if ((with[i]->flags & SPIRV_HAS_VALUE) == 0) return;
  }
  bool known = false;
  if (code == OP_SELECT && operands == 3) {
    constant->value = with[0]->value != 0 ? with[1]->value : with[2]->value;
    known = true;
  } else if (operands == 1 || operands == 2) {
    spirv_op first = weir__spirv_definition(reader, spirv_operand(reader, op, 4));
    uint64_t width = spirv_find(reader, spirv_operand(reader, &first, 1))->bytes;
    known = evaluate(code, with[0]->value, operands == 2 ? with[1]->value : 0, width, &constant->value);
  }
  constant->value = cut(constant->value, bytes);
  if (known) constant->flags |= SPIRV_HAS_VALUE;
}

// Adds a specialization constant to the module's list, and takes the caller's value for it, if there is one.
static bool specialize(spirv_reader *reader, const spirv_op *op, spirv_id *constant, uint32_t bytes) {
  if ((constant->flags & SPIRV_HAS_SPEC_ID) == 0) return true;
  weir__spirv *module = reader->module;
  for (uint32_t i = 0; i < reader->constant_count; i++) {
    if (reader->constants[i].id != constant->spec_id) continue;
    uint64_t given = reader->constants[i].bytes == 8 ? reader->constants[i].u64 : reader->constants[i].u32;
    constant->value = op->code == SPIRV_SPEC_CONSTANT ? cut(given, bytes) : given != 0;
  }
  for (uint32_t i = 0; i < module->constant_count; i++)
    if (module->constants[i].id == constant->spec_id) return true;
  if (module->constant_count == WEIR__SPIRV_MOST_CONSTANTS)
    return weir__spirv_fail(reader, op->at, "more than %d specialization constants", WEIR__SPIRV_MOST_CONSTANTS);
  module->constants[module->constant_count++] = (weir__spirv_constant){constant->spec_id, bytes};
  return true;
}

bool weir__spirv_read_constant(spirv_reader *reader, const spirv_op *op) {
  spirv_id *constant = define(reader, op, 2);
  if (constant == NULL) return false;
  uint64_t bytes = spirv_find(reader, spirv_operand(reader, op, 1))->bytes;
  switch (op->code) {
  case SPIRV_CONSTANT_TRUE:
  case SPIRV_CONSTANT_FALSE:
  case SPIRV_SPEC_CONSTANT_TRUE:
  case SPIRV_SPEC_CONSTANT_FALSE:
    constant->value = op->code == SPIRV_CONSTANT_TRUE || op->code == SPIRV_SPEC_CONSTANT_TRUE;
    constant->flags |= SPIRV_HAS_VALUE;
    break;
  case SPIRV_CONSTANT:
  case SPIRV_SPEC_CONSTANT:
    if (bytes > 4 && op->count < 5) return weir__spirv_fail(reader, op->at, "a constant lacks its second word");
    constant->value = spirv_operand(reader, op, 3);
    if (bytes > 4) constant->value |= (uint64_t)spirv_operand(reader, op, 4) << 32;
    constant->value = cut(constant->value, bytes);
    constant->flags |= SPIRV_HAS_VALUE;
    break;
  case SPIRV_SPEC_CONSTANT_OP:
    read_operation(reader, op, constant, bytes);
    break;
  default:
    break;
  }
  bool special =
      op->code == SPIRV_SPEC_CONSTANT || op->code == SPIRV_SPEC_CONSTANT_TRUE || op->code == SPIRV_SPEC_CONSTANT_FALSE;
  return !special || specialize(reader, op, constant, bytes > 8 ? 8 : (uint32_t)bytes);
}
