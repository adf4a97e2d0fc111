// SPDX-License-Identifier: Apache-2.0
#include "device/cuda/ptx_code.h"

#include "base/allocate.h"
#include "base/hash.h"
#include "device/use.h"

enum { MOST_OPERANDS = 24, MOST_WORDS = 16, FIRST_ROOM = 256, MOST_ITEMS = 1 << 28 };
enum { READS = WEIR__USE_READS, WRITES = WEIR__USE_WRITES, BOTH = WEIR__USE_READS | WEIR__USE_WRITES };

typedef struct reader {
  ptx_module *module;
  const ptx_function *function;
  ptx_text text;
  ptx_code *code;
} reader;

// ---------------------------------------------------------------------------------------------------------------
// Arrays

// Makes room for one more item. False: no memory, which the module notes.
static bool make_room(reader *in, void **array, uint32_t count, uint32_t *room, size_t item_bytes) {
  if (count < *room) return true;
  uint32_t larger_room = *room == 0 ? FIRST_ROOM : *room * 2;
  void *larger = larger_room > MOST_ITEMS ? NULL : weir__allocate(larger_room * item_bytes);
  if (larger == NULL) {
    in->module->no_memory = true;
    return false;
  }
  if (count > 0) memcpy(larger, *array, count * item_bytes);
  weir__free(*array);
  *array = larger;
  *room = larger_room;
  return true;
}

#define MAKE_ROOM(in, array, count, room)                                                                              \
  make_room(in, (void **)&(in)->code->array, (in)->code->count, &(in)->code->room, sizeof *(in)->code->array)

// ---------------------------------------------------------------------------------------------------------------
// Names

static uint32_t place_of(const ptx_code *code, ptx_word name) {
  uint32_t place = (uint32_t)weir__hash_of(name.at, name.length).low & (code->place_room - 1);
  while (code->places[place] != PTX_NOT_A_NAME && !ptx_same(code->names[code->places[place]].text, name))
    place = (place + 1) & (code->place_room - 1);
  return place;
}

static bool grow_places(reader *in) {
  ptx_code *code = in->code;
  uint32_t room = code->place_room == 0 ? 2 * FIRST_ROOM : 2 * code->place_room;
  uint32_t *places = weir__allocate_zeroed(room * sizeof *places);
  if (places == NULL) {
    in->module->no_memory = true;
    return false;
  }
  weir__free(code->places);
  code->places = places;
  code->place_room = room;
  for (uint32_t i = 1; i < code->name_count; i++) code->places[place_of(code, code->names[i].text)] = i;
  return true;
}

// The number of a name, and of whatever is none. False: no memory.
static bool number_of_word(reader *in, ptx_word word, uint32_t *out_number) {
  ptx_code *code = in->code;
  *out_number = PTX_NOT_A_NAME;
  if (code->name_count * 2 >= code->place_room && !grow_places(in)) return false;
  if (!MAKE_ROOM(in, names, name_count, name_room)) return false;
  if (code->name_count == 0) code->names[code->name_count++] = (ptx_name){.kind = PTX_OTHER}; // PTX_NOT_A_NAME
  if (!ptx_is_name(word)) return true;
  uint32_t place = place_of(code, word);
  if (code->places[place] == PTX_NOT_A_NAME) {
    code->places[place] = code->name_count;
    code->names[code->name_count++] = (ptx_name){word, weir__ptx_is_own(in->module, word) ? PTX_VARIABLE : PTX_OTHER};
  }
  *out_number = code->places[place];
  return true;
}

// ---------------------------------------------------------------------------------------------------------------
// What an instruction does

static const ptx_operand *operand_of(const reader *in, const ptx_instruction *of, uint32_t index) {
  return &in->code->operands[of->first + index];
}

static bool has_list(const reader *in, const ptx_instruction *at) {
  for (uint32_t i = 0; i < at->count; i++)
    if (operand_of(in, at, i)->is_list) return true;
  return false;
}

// What is loaded: a parameter's value, or a number. `offset` is what follows the name in the address.
static void set_loaded(const reader *in, ptx_word opcode, bool has_offset, ptx_instruction *to) {
  to->result = PTX_NUMBER;
  if (!weir__ptx_has_part(opcode, "param")) return;
  to->result = PTX_UNKNOWN; // what a function returned, or a parameter at an address
  const ptx_operand *from = to->count > 1 ? operand_of(in, to, 1) : NULL;
  const ptx_function *function = in->function;
  uint32_t name = from != NULL && from->count > 0 ? in->code->words[from->first] : PTX_NOT_A_NAME;
  if (name == PTX_NOT_A_NAME) return;
  for (uint32_t i = 0; i < function->param_count; i++) {
    if (!ptx_same(function->params[i].name, in->code->names[name].text)) continue;
    if (function->params[i].bytes != 8 || !function->params[i].is_scalar) {
      to->result = PTX_NUMBER;
    } else if (!has_offset && i < PTX_MOST_PARAMS && !operand_of(in, to, 0)->is_list) {
      to->result = PTX_PARAM;
      to->param = (uint8_t)i;
    }
    return;
  }
}

static void set_result(const reader *in, ptx_word opcode, uint8_t kind, bool has_offset, ptx_instruction *to) {
  to->result = kind;
  if (to->count == 0 || operand_of(in, to, 0)->is_address) {
    bool is_given = to->count >= 2 && ptx_is(weir__ptx_part(opcode, 0), "st") && weir__ptx_has_part(opcode, "param") &&
                    operand_of(in, to, 0)->count > 0;
    to->result = is_given ? PTX_TO_CALL : PTX_NONE;
    return;
  }
  if (kind == PTX_NONE || kind == PTX_ANY) return;
  to->is_conversion = kind == PTX_CONVERT_ADDRESS && to->count > 1;
  if (kind == PTX_LOAD)
    set_loaded(in, opcode, has_offset, to);
  else if (has_list(in, to))
    to->result = PTX_MANGLE;
  else if (kind == PTX_CONVERT)
    to->result = to->count == 2 ? PTX_COPY : PTX_MANGLE;
  else if (kind == PTX_CONVERT_ADDRESS)
    to->result = weir__ptx_has_part(opcode, "shared") || weir__ptx_has_part(opcode, "local") ? PTX_OWN : PTX_COPY;
}

static void set_access(ptx_instruction *to, uint8_t address, uint8_t use) {
  to->memory = address < to->count ? PTX_USE_OPERAND : PTX_USE_ALL;
  to->address = address;
  to->use = use;
}

// Of instructions that name the state space of their address.
static void set_access_in_space(ptx_word opcode, ptx_instruction *to, uint8_t address, uint8_t use) {
  static const char *const ELSEWHERE[] = {"shared", "local", "param", "const", NULL};
  to->memory = PTX_USE_NONE;
  for (const char *const *space = ELSEWHERE; *space != NULL; space++)
    if (weir__ptx_has_part(opcode, *space)) return;
  set_access(to, address, use);
}

static void set_copy(ptx_word opcode, ptx_instruction *to) {
  static const char *const NO_COPY[] = {"commit_group", "wait_group", "wait_all", "mbarrier", NULL};
  to->memory = PTX_USE_NONE;
  for (const char *const *part = NO_COPY; *part != NULL; part++)
    if (weir__ptx_has_part(opcode, *part)) return;
  if (weir__ptx_has_part(opcode, "bulk"))
    set_access(to, UINT8_MAX, BOTH);
  else
    set_access(to, 1, READS); // the first is in shared memory
}

static void set_matrix(ptx_word opcode, ptx_instruction *to) {
  ptx_word what = weir__ptx_part(opcode, 1);
  to->memory = PTX_USE_NONE;
  if (ptx_is(what, "load")) set_access_in_space(opcode, to, 1, READS);
  if (ptx_is(what, "store")) set_access_in_space(opcode, to, 0, WRITES);
}

static void set_memory(ptx_word opcode, uint8_t kind, ptx_instruction *to) {
  to->memory = kind;
  to->use = BOTH;
  if (kind == PTX_USE_READ_1) set_access_in_space(opcode, to, 1, READS);
  if (kind == PTX_USE_WRITE_0) set_access_in_space(opcode, to, 0, WRITES);
  if (kind == PTX_USE_UPDATE_0) set_access_in_space(opcode, to, 0, BOTH);
  if (kind == PTX_USE_UPDATE_1) set_access_in_space(opcode, to, 1, BOTH);
  if (kind == PTX_USE_COPY) set_copy(opcode, to);
  if (kind == PTX_USE_MATRIX) set_matrix(opcode, to);
}

// Its first operand is what it defines, also where that is the parameter of a call. A function that is called counts, too.
static void note_defined(reader *in, ptx_word opcode, bool is_control, const ptx_instruction *at) {
  if (at->count == 0 || is_control) return;
  const ptx_operand *to = operand_of(in, at, 0);
  if (to->is_address && !weir__ptx_has_part(opcode, "param")) return;
  for (uint32_t i = 0; i < to->count; i++) {
    uint32_t name = in->code->words[to->first + i];
    if (name != PTX_NOT_A_NAME) in->code->names[name].kind = PTX_DEFINED;
  }
}

// ---------------------------------------------------------------------------------------------------------------
// Statements

static bool add_operand(reader *in, ptx_instruction *to) {
  if (to->count == MOST_OPERANDS || !MAKE_ROOM(in, operands, operand_count, operand_room)) return false;
  in->code->operands[in->code->operand_count++] = (ptx_operand){.first = in->code->word_count};
  to->count++;
  return true;
}

static bool add_word(reader *in, ptx_word word) {
  ptx_code *code = in->code;
  ptx_operand *to = &code->operands[code->operand_count - 1];
  uint32_t number;
  if (to->count == MOST_WORDS || !number_of_word(in, word, &number)) return false;
  if (!MAKE_ROOM(in, words, word_count, word_room)) return false;
  code->words[code->word_count++] = number;
  to->count++;
  return true;
}

// The operands of an instruction, up to its semicolon. False: it does not end, or is larger than any, or there is no memory.
static bool read_operands(reader *in, ptx_instruction *to, bool *out_has_offset) {
  uint32_t depth = 0;
  *out_has_offset = false;
  for (ptx_word word = weir__ptx_next(&in->text); word.length > 0; word = weir__ptx_next(&in->text)) {
    char first = word.at[0];
    if (first == ';') return true;
    if (to->count == 0 && !add_operand(in, to)) return false;
    ptx_operand *at = &in->code->operands[in->code->operand_count - 1];
    if (first == '[' || first == '{' || first == '(') {
      if (depth++ == 0 && first == '[')
        at->is_address = true;
      else
        at->is_list = true;
    } else if (first == ']' || first == '}' || first == ')') {
      if (depth > 0) depth--;
    } else if (first == ',' && depth == 0) {
      if (!add_operand(in, to)) return false;
    } else if (ptx_is_name(word) || (first >= '0' && first <= '9')) {
      if (to->count == 2 && at->count > 0) *out_has_offset = *out_has_offset || at->count > 1 || !ptx_is(word, "0");
      if (!add_word(in, word)) return false;
    }
  }
  return false;
}

static bool read_instruction(reader *in, ptx_word opcode) {
  ptx_code *code = in->code;
  if (!MAKE_ROOM(in, instructions, instruction_count, instruction_room)) return false;
  ptx_instruction *to = &code->instructions[code->instruction_count++];
  *to = (ptx_instruction){.first = code->operand_count};
  bool has_offset;
  if (!read_operands(in, to, &has_offset)) return false;
  const ptx_opcode *known = weir__ptx_opcode(weir__ptx_part(opcode, 0));
  bool is_control = known->result == PTX_NONE && known->memory == PTX_USE_NONE;
  note_defined(in, opcode, is_control, to);
  set_result(in, opcode, known->result, has_offset, to);
  set_memory(opcode, known->memory, to);
  return true;
}

static bool skip_directive(ptx_text *text) {
  ptx_word word = weir__ptx_next(text);
  while (word.length > 0 && word.at[0] != ';') word = weir__ptx_next(text);
  return word.length > 0;
}

// A label, or an instruction.
static bool read_named(reader *in, ptx_word name) {
  ptx_text behind = in->text;
  if (!ptx_is(weir__ptx_next(&behind), ":")) return read_instruction(in, name);
  in->text = behind;
  return true;
}

static bool read_statement(reader *in, ptx_word word) {
  if (ptx_is(word, ".loc") || ptx_is(word, ".file")) {
    weir__ptx_skip_line(&in->text);
    return true;
  }
  if (ptx_is(word, "@")) {
    word = weir__ptx_next(&in->text);
    if (ptx_is(word, "!")) weir__ptx_next(&in->text);
    return true;
  }
  if (word.at[0] == '.') return skip_directive(&in->text);
  if (ptx_is_name(word)) return read_named(in, word);
  return ptx_is(word, "{") || ptx_is(word, "}") || ptx_is(word, ";");
}

bool weir__ptx_code_read(ptx_module *module, const ptx_function *function, ptx_code *out_code) {
  reader in = {.module = module, .function = function, .text = function->body, .code = out_code};
  *out_code = (ptx_code){.instructions = NULL};
  uint64_t words = (uint64_t)(function->body.end - function->body.at) / 4 + 1; // as many as texts have
  if (module->budget < words) return false;
  module->budget -= words;
  for (ptx_word word = weir__ptx_next(&in.text); word.length > 0; word = weir__ptx_next(&in.text))
    if (!read_statement(&in, word)) return false;
  return true;
}

void weir__ptx_code_free(ptx_code *code) {
  weir__free(code->instructions);
  weir__free(code->operands);
  weir__free(code->words);
  weir__free(code->names);
  weir__free(code->places);
}
