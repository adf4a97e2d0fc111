// SPDX-License-Identifier: Apache-2.0
//
// DESIGN. For each register: where the addresses come from that it may hold. All definitions of a register count together,
// whatever their order, and are swept until nothing changes; then each access is charged to where its address comes from. An
// address whose origin is not a parameter alone (it was loaded from memory, made from halves, or a difference of two) is charged
// to everything. An instruction that is not known here may access everything. So what is found is never too little, as long as
// an address that is made from a pointer by adding offsets stays in that pointer's buffer, which C++ asks for.
//
// Not every parameter of 8 bytes is an address, and one that is a number must not spoil the address that it is added to. So all
// is done twice: first each may be an address, and it is noted which are used as one; then the others count as numbers. That is
// never too little either, for what is accessed through a number is charged to everything.
#include <stdlib.h>

#include "base/allocate.h"
#include "base/hash.h"
#include "device/cuda/ptx_reader.h"
#include "device/use.h"

enum { MOST_PARAMS = 60, MOST_SWEEPS = 64, MOST_DEPTH = 4, MOST_OPERANDS = 24, FIRST_REGISTERS = 256 };
enum { READS = WEIR__USE_READS, WRITES = WEIR__USE_WRITES, BOTH = WEIR__USE_READS | WEIR__USE_WRITES };

// Where a value comes from: a bit for each parameter, and these. Alternatives are joined.
typedef uint64_t origins;
#define OWN ((origins)1 << 61)     // a variable in shared or local memory: no buffer
#define NO_BASE ((origins)1 << 62) // a number, which is an offset at most
#define UNKNOWN ((origins)1 << 63) // made of an address in another way
#define PARAMS (((origins)1 << MOST_PARAMS) - 1)

typedef struct ptx_register {
  ptx_word name;
  origins set;
} ptx_register;

typedef struct operand {
  ptx_word words[16]; // names and numbers, without punctuation
  uint32_t count;
  bool is_address, is_list;
} operand;

typedef struct statement {
  ptx_word opcode;
  operand operands[MOST_OPERANDS];
  uint32_t count;
} statement;

typedef struct analysis {
  ptx_module *module;
  const ptx_function *function;
  uint32_t depth;
  ptx_register *registers; // a hash table
  uint32_t register_count, capacity;
  bool changed, failed;
  origins pointers; // parameters that may be addresses
  origins seen;     // those that are used as such
  uint8_t *uses;
  uint8_t anywhere;
} analysis;

// ---------------------------------------------------------------------------------------------------------------
// Registers

static uint32_t place_of(const ptx_register *registers, uint32_t capacity, ptx_word name) {
  uint32_t place = (uint32_t)weir__hash_of(name.at, name.length).low & (capacity - 1);
  while (registers[place].name.length > 0 && !ptx_same(registers[place].name, name))
    place = (place + 1) & (capacity - 1);
  return place;
}

static bool grow(analysis *to) {
  uint32_t capacity = to->capacity == 0 ? FIRST_REGISTERS : to->capacity * 2;
  ptx_register *larger = weir__allocate_zeroed(capacity * sizeof *larger);
  if (larger == NULL) return false;
  for (uint32_t i = 0; i < to->capacity; i++)
    if (to->registers[i].name.length > 0) larger[place_of(larger, capacity, to->registers[i].name)] = to->registers[i];
  weir__free(to->registers);
  to->registers = larger;
  to->capacity = capacity;
  return true;
}

static void define(analysis *to, ptx_word name, origins set) {
  if (!ptx_is_name(name)) return;
  if (to->register_count * 2 >= to->capacity && !grow(to)) {
    to->failed = true;
    return;
  }
  ptx_register *found = &to->registers[place_of(to->registers, to->capacity, name)];
  if (found->name.length == 0) {
    found->name = name;
    to->register_count++;
    to->changed = true;
  }
  if ((found->set | set) != found->set) to->changed = true;
  found->set |= set;
}

// Of a register, a symbol or a number. What no instruction defines is a number: special registers are.
static origins look_up(const analysis *in, ptx_word name) {
  if (!ptx_is_name(name)) return NO_BASE;
  const ptx_register *found = &in->registers[place_of(in->registers, in->capacity, name)];
  if (found->name.length > 0) return found->set;
  return weir__ptx_is_own(in->module, name) ? OWN : NO_BASE;
}

// ---------------------------------------------------------------------------------------------------------------
// What instructions make of addresses

static origins added(origins a, origins b) {
  origins set = ((a | b) & ~NO_BASE) | (a & b & NO_BASE);
  if ((a & PARAMS) != 0 && (b & PARAMS) != 0) set |= UNKNOWN;
  return set;
}

// Of a list any of its words; else the sum: an address and an offset.
static origins of_operand(const analysis *in, const operand *from) {
  origins set = from->count == 0 ? NO_BASE : look_up(in, from->words[0]);
  for (uint32_t i = 1; i < from->count; i++) {
    origins next = look_up(in, from->words[i]);
    set = from->is_list ? set | next : added(set, next);
  }
  return set;
}

static origins subtracted(origins a, origins b) {
  return (b & (PARAMS | OWN)) != 0 ? a | UNKNOWN : added(a, b);
}

// No pointer is a product.
static origins multiplied(origins a, origins b) {
  return NO_BASE | ((a | b) & UNKNOWN);
}

static origins mangled(origins a) {
  return NO_BASE | ((a & (PARAMS | UNKNOWN)) != 0 ? UNKNOWN : 0);
}

// The part of an opcode: 0 is the instruction's name.
static ptx_word part_of(ptx_word opcode, uint32_t index) {
  const char *at = opcode.at, *end = opcode.at + opcode.length;
  for (; index > 0 && at < end; index--) {
    while (at < end && *at != '.') at++;
    if (at < end) at++;
  }
  ptx_word part = {at, 0};
  while (at + part.length < end && at[part.length] != '.') part.length++;
  return part;
}

static bool has_part(ptx_word opcode, const char *text) {
  for (uint32_t i = 1;; i++) {
    ptx_word part = part_of(opcode, i);
    if (part.length == 0) return false;
    size_t length = strlen(text); // "shared" stands for "shared::cta" as well
    if (part.length >= length && memcmp(part.at, text, length) == 0 &&
        (part.length == length || part.at[length] == ':'))
      return true;
  }
}

static bool is_one_of(ptx_word word, const char *const *list) {
  for (; *list != NULL; list++)
    if (ptx_is(word, *list)) return true;
  return false;
}

// Instructions that touch no memory, whose result is no address unless the switch in result_of says so.
static const char *const PURE[] = {
    "abs",   "add",        "addc",         "and",       "bfe",   "bfi",   "bfind", "bmsk",  "brev",  "clz",
    "cnot",  "copysign",   "cos",          "cvt",       "cvta",  "div",   "dp2a",  "dp4a",  "ex2",   "fma",
    "fns",   "isspacep",   "lg2",          "lop3",      "mad",   "mad24", "madc",  "match", "max",   "min",
    "mma",   "mov",        "mul",          "mul24",     "neg",   "not",   "or",    "popc",  "prmt",  "rcp",
    "redux", "rem",        "rsqrt",        "sad",       "selp",  "set",   "setp",  "shf",   "shfl",  "shl",
    "shr",   "sin",        "slct",         "sqrt",      "sub",   "subc",  "szext", "tanh",  "testp", "vote",
    "xor",   "activemask", "createpolicy", "movmatrix", "elect", NULL};

// Instructions without a result that touch no memory of buffers.
static const char *const CONTROL[] = {
    "bar",      "barrier",   "bra",           "brkpt",    "brx",  "exit",           "fence",
    "membar",   "nanosleep", "pmevent",       "ret",      "trap", "griddepcontrol", "setmaxnreg",
    "prefetch", "prefetchu", "applypriority", "stmatrix", NULL};

static origins result_of(const analysis *in, const statement *at) {
  static const char *const PASS[] = {"selp", "slct", "min", "max", NULL};
  static const char *const ADD[] = {"add", "addc", "and", "or", NULL};
  static const char *const MULTIPLY[] = {"mul", "mul24", "shl", NULL};
  static const char *const MULTIPLY_ADD[] = {"mad", "mad24", "madc", NULL};
  ptx_word name = part_of(at->opcode, 0);
  origins of[4] = {NO_BASE, NO_BASE, NO_BASE, NO_BASE}, all = 0;
  bool is_list = at->operands[0].is_list;
  for (uint32_t i = 1; i < at->count; i++) {
    origins set = of_operand(in, &at->operands[i]);
    if (i < 4) of[i] = set;
    all |= set;
    is_list = is_list || at->operands[i].is_list;
  }
  if (is_list) return mangled(all);
  if (ptx_is(name, "cvta")) return has_part(at->opcode, "shared") || has_part(at->opcode, "local") ? OWN : of[1];
  if (ptx_is(name, "mov")) return of[1];
  if (ptx_is(name, "cvt")) return at->count == 2 ? of[1] : mangled(all);
  if (is_one_of(name, PASS)) return of[1] | of[2];
  if (is_one_of(name, ADD)) return added(of[1], of[2]);
  if (ptx_is(name, "sub") || ptx_is(name, "subc")) return subtracted(of[1], of[2]);
  if (is_one_of(name, MULTIPLY)) return multiplied(of[1], of[2]);
  if (is_one_of(name, MULTIPLY_ADD)) return added(multiplied(of[1], of[2]), of[3]);
  return mangled(all);
}

// What is loaded: a parameter's value, or a number.
static origins loaded(const analysis *in, const statement *at) {
  if (!has_part(at->opcode, "param")) return NO_BASE;
  const operand *from = &at->operands[1];
  const ptx_function *function = in->function;
  for (uint32_t i = 0; i < function->param_count; i++) {
    if (from->count == 0 || !ptx_same(function->params[i].name, from->words[0])) continue;
    bool whole = from->count == 1 || (from->count == 2 && ptx_is(from->words[1], "0"));
    bool is_address = function->params[i].bytes == 8 && function->params[i].is_scalar;
    if (!is_address) return NO_BASE;
    if (!whole || i >= MOST_PARAMS || at->operands[0].is_list) return UNKNOWN;
    return (in->pointers >> i & 1) != 0 ? (origins)1 << i : NO_BASE;
  }
  return UNKNOWN; // what a function returned, or a parameter at an address
}

// Makes the registers known that the statement defines.
static void declare_results(analysis *to, const statement *at) {
  for (uint32_t i = 0; at->count > 0 && i < at->operands[0].count; i++) {
    if (!is_one_of(part_of(at->opcode, 0), CONTROL) && (!at->operands[0].is_address || has_part(at->opcode, "param")))
      define(to, at->operands[0].words[i], 0);
  }
}

static void define_results(analysis *to, const statement *at) {
  static const char *const LOAD[] = {"ld", "ldu", NULL};
  ptx_word name = part_of(at->opcode, 0);
  if (at->count == 0 || at->operands[0].is_address) {
    if (at->count < 2 || !ptx_is(name, "st") || !has_part(at->opcode, "param") || at->operands[0].count == 0) return;
    // A parameter of a call, for which its variable stands.
    define(to, at->operands[0].words[0], of_operand(to, &at->operands[1]));
    return;
  }
  if (is_one_of(name, CONTROL) || ptx_is(name, "call")) return;
  if (ptx_is(name, "cvta") && at->count > 1) to->seen |= of_operand(to, &at->operands[1]) & PARAMS;
  origins set = is_one_of(name, PURE) ? result_of(to, at) : is_one_of(name, LOAD) ? loaded(to, at) : NO_BASE | UNKNOWN;
  for (uint32_t i = 0; i < at->operands[0].count; i++) define(to, at->operands[0].words[i], set);
}

// ---------------------------------------------------------------------------------------------------------------
// What instructions do with memory

static void charge(analysis *to, origins set, uint8_t use) {
  if ((set & (NO_BASE | UNKNOWN)) != 0 || set == 0) to->anywhere |= use & BOTH;
  for (uint32_t i = 0; i < MOST_PARAMS && i < to->function->param_count; i++)
    if ((set >> i & 1) != 0) to->uses[i] |= use & BOTH;
  bool sure = (use & WRITES) != 0 && set != 0 && (set & (set - 1)) == 0 && (set & PARAMS) != 0;
  if (sure) to->uses[__builtin_ctzll(set)] |= WEIR__USE_STORES;
  if ((set & (set - 1)) == 0) to->seen |= set & PARAMS;
}

static void access(analysis *to, const statement *at, uint32_t index, uint8_t use) {
  static const char *const ELSEWHERE[] = {"shared", "local", "param", "const", NULL};
  for (const char *const *space = ELSEWHERE; *space != NULL; space++)
    if (has_part(at->opcode, *space)) return;
  charge(to, index < at->count ? of_operand(to, &at->operands[index]) : UNKNOWN, use);
}

static const ptx_function *find_function(const ptx_module *module, ptx_word name) {
  const ptx_function *at = module->functions;
  while (at != NULL && (at->is_entry || !ptx_same(at->name, name) || at->body.at == at->body.end)) at = at->next;
  return at;
}

// The operands of a call that are in parentheses are lists: what it returns, the function, what it gets.
static void call(analysis *to, const statement *at) {
  uint32_t callee = at->count > 0 && at->operands[0].is_list ? 1 : 0, given = callee + 1;
  const operand *name = callee < at->count ? &at->operands[callee] : NULL;
  bool only_reads =
      name != NULL && name->count == 1 && (ptx_is(name->words[0], "vprintf") || ptx_is(name->words[0], "__assertfail"));
  const ptx_function *function = name != NULL && name->count == 1 ? find_function(to->module, name->words[0]) : NULL;
  uint8_t *uses = function == NULL || to->depth >= MOST_DEPTH || function->param_count > 8
                      ? NULL
                      : weir__allocate_zeroed(function->param_count + 1);
  if (uses == NULL) {
    if (!only_reads) to->anywhere |= BOTH;
    for (uint32_t i = given; i < at->count; i++)
      charge(to, of_operand(to, &at->operands[i]), only_reads ? READS : BOTH);
    return;
  }
  uint8_t anywhere = 0;
  weir__ptx_read_uses(to->module, function, to->depth + 1, uses, &anywhere);
  to->anywhere |= anywhere;
  for (uint32_t i = 0; i < function->param_count; i++) {
    if ((uses[i] & BOTH) == 0) continue;
    bool is_given = given < at->count && i < at->operands[given].count;
    charge(to, is_given ? look_up(to, at->operands[given].words[i]) | OWN : UNKNOWN, uses[i]);
  }
  weir__free(uses);
}

static void use_matrix(analysis *to, const statement *at) {
  if (ptx_is(part_of(at->opcode, 1), "load"))
    access(to, at, 1, READS);
  else if (ptx_is(part_of(at->opcode, 1), "store"))
    access(to, at, 0, WRITES);
}

static void use_copy(analysis *to, const statement *at) {
  if (has_part(at->opcode, "commit_group") || has_part(at->opcode, "wait_group") || has_part(at->opcode, "wait_all") ||
      has_part(at->opcode, "mbarrier"))
    return;
  if (has_part(at->opcode, "bulk"))
    to->anywhere |= BOTH;
  else
    charge(to, at->count > 1 ? of_operand(to, &at->operands[1]) : UNKNOWN, READS); // the first is in shared memory
}

static void use_memory(analysis *to, const statement *at) {
  ptx_word name = part_of(at->opcode, 0);
  if (is_one_of(name, PURE) || is_one_of(name, CONTROL) || ptx_is(name, "ldmatrix")) return;
  if (ptx_is(name, "ld") || ptx_is(name, "ldu")) {
    access(to, at, 1, READS);
  } else if (ptx_is(name, "st")) {
    access(to, at, 0, WRITES);
  } else if (ptx_is(name, "atom")) {
    access(to, at, 1, BOTH);
  } else if (ptx_is(name, "red")) {
    access(to, at, 0, BOTH);
  } else if (ptx_is(name, "discard")) {
    access(to, at, 0, WRITES);
  } else if (ptx_is(name, "cp")) {
    use_copy(to, at);
  } else if (ptx_is(name, "wmma")) {
    use_matrix(to, at);
  } else if (ptx_is(name, "call")) {
    call(to, at);
  } else {
    to->anywhere |= BOTH; // not known here
  }
}

// ---------------------------------------------------------------------------------------------------------------
// Statements

static void add_word(operand *to, ptx_word word, bool *out_fits) {
  if (to->count == sizeof to->words / sizeof to->words[0])
    *out_fits = false;
  else
    to->words[to->count++] = word;
}

// An instruction, whose opcode was read, up to its semicolon. False: it does not end, or is larger than any.
static bool read_statement(ptx_text *text, statement *to, uint64_t *words) {
  uint32_t depth = 0;
  bool fits = true;
  to->count = 0;
  operand *at = &to->operands[0];
  *at = (operand){.count = 0};
  for (ptx_word word = weir__ptx_next(text); word.length > 0; word = weir__ptx_next(text)) {
    ++*words;
    char first = word.at[0];
    if (first == ';') return fits;
    if (to->count == 0) to->count = 1;
    if (first == '[' || first == '{' || first == '(') {
      if (depth++ == 0 && first == '[')
        at->is_address = true;
      else
        at->is_list = true;
    } else if (first == ']' || first == '}' || first == ')') {
      if (depth > 0) depth--;
    } else if (first == ',' && depth == 0) {
      if (to->count == MOST_OPERANDS) return false;
      at = &to->operands[to->count++];
      *at = (operand){.count = 0};
    } else if (ptx_is_name(word) || (first >= '0' && first <= '9')) {
      add_word(at, word, &fits);
    }
  }
  return false;
}

// Calls `each` for the function's instructions. False: some are not understood.
static bool for_statements(analysis *with, void (*each)(analysis *with, const statement *at)) {
  ptx_text text = with->function->body;
  statement at;
  for (ptx_word word = weir__ptx_next(&text); word.length > 0; word = weir__ptx_next(&text)) {
    uint64_t words = 1;
    if (ptx_is(word, ".loc") || ptx_is(word, ".file")) {
      weir__ptx_skip_line(&text);
    } else if (ptx_is(word, "@")) {
      word = weir__ptx_next(&text);
      if (ptx_is(word, "!")) weir__ptx_next(&text);
    } else if (word.at[0] == '.') {
      if (!read_statement(&text, &at, &words) && text.at == text.end) return false;
    } else if (ptx_is_name(word) && ptx_is(weir__ptx_peek(&text), ":")) {
      weir__ptx_next(&text);
    } else if (ptx_is_name(word)) {
      at.opcode = word;
      if (!read_statement(&text, &at, &words)) return false;
      each(with, &at);
    } else if (!ptx_is(word, "{") && !ptx_is(word, "}") && !ptx_is(word, ";")) {
      return false;
    }
    if (with->module->budget < words || with->failed) return false;
    with->module->budget -= words;
  }
  return true;
}

static bool sweep(analysis *with) {
  with->changed = true;
  for (uint32_t i = 0; i < MOST_SWEEPS && with->changed; i++) {
    with->changed = false;
    if (!for_statements(with, define_results)) return false;
  }
  return !with->changed && for_statements(with, use_memory);
}

// With these parameters as addresses.
static bool analyse(analysis *with, origins pointers) {
  with->pointers = pointers;
  with->anywhere = 0;
  memset(with->uses, 0, with->function->param_count);
  for (uint32_t i = 0; i < with->capacity; i++) with->registers[i].set = 0;
  return sweep(with);
}

void weir__ptx_read_uses(ptx_module *module, const ptx_function *function, uint32_t depth, uint8_t *uses,
                         uint8_t *out_anywhere) {
  analysis with = {.module = module, .function = function, .depth = depth, .uses = uses};
  bool understood =
      grow(&with) && for_statements(&with, declare_results) && analyse(&with, PARAMS) && analyse(&with, with.seen);
  if (!understood) with.anywhere = BOTH;
  *out_anywhere = with.anywhere;
  weir__free(with.registers);
}
