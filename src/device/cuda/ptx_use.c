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
#include "base/allocate.h"
#include "device/cuda/ptx_code.h"
#include "device/use.h"

enum { MOST_SWEEPS = 64, READS = WEIR__USE_READS, WRITES = WEIR__USE_WRITES, BOTH = READS | WRITES };

// Where a value comes from: a bit for each parameter, and these. Alternatives are joined.
typedef uint64_t origins;
#define OWN ((origins)1 << 61)     // a variable in shared or local memory: no buffer
#define NO_BASE ((origins)1 << 62) // a number, which is an offset at most
#define UNKNOWN ((origins)1 << 63) // made of an address in another way
#define PARAMS (((origins)1 << PTX_MOST_PARAMS) - 1)

typedef struct analysis {
  ptx_module *module;
  const ptx_function *function;
  uint32_t depth;
  const ptx_code *code;
  origins *sets; // for each name of the code
  bool changed;
  origins pointers; // parameters that may be addresses
  origins seen;     // those that are used as such
  uint8_t *uses;
  uint8_t anywhere;
} analysis;

// ---------------------------------------------------------------------------------------------------------------
// What instructions make of addresses

static origins added(origins a, origins b) {
  origins set = ((a | b) & ~NO_BASE) | (a & b & NO_BASE);
  if ((a & PARAMS) != 0 && (b & PARAMS) != 0) set |= UNKNOWN;
  return set;
}

// Of a list any of its words; else the sum: an address and an offset.
static origins of_operand(const analysis *in, const ptx_operand *from) {
  const uint32_t *words = &in->code->words[from->first];
  origins set = from->count == 0 ? NO_BASE : in->sets[words[0]];
  for (uint32_t i = 1; i < from->count; i++) {
    origins next = in->sets[words[i]];
    set = from->is_list ? set | next : added(set, next);
  }
  return set;
}

// Of an operand that is not there: a number.
static origins of_source(const analysis *in, const ptx_instruction *at, uint32_t index) {
  return index < at->count ? of_operand(in, &in->code->operands[at->first + index]) : NO_BASE;
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

static origins all_mangled(const analysis *in, const ptx_instruction *at) {
  origins all = 0;
  for (uint32_t i = 1; i < at->count; i++) all |= of_source(in, at, i);
  return mangled(all);
}

static origins result_of(const analysis *in, const ptx_instruction *at) {
  switch ((ptx_result)at->result) {
  case PTX_COPY:
  case PTX_TO_CALL:
    return of_source(in, at, 1);
  case PTX_JOIN:
    return of_source(in, at, 1) | of_source(in, at, 2);
  case PTX_ADD:
    return added(of_source(in, at, 1), of_source(in, at, 2));
  case PTX_SUBTRACT:
    return subtracted(of_source(in, at, 1), of_source(in, at, 2));
  case PTX_MULTIPLY:
    return multiplied(of_source(in, at, 1), of_source(in, at, 2));
  case PTX_MULTIPLY_ADD:
    return added(multiplied(of_source(in, at, 1), of_source(in, at, 2)), of_source(in, at, 3));
  case PTX_MANGLE:
    return all_mangled(in, at);
  case PTX_OWN:
    return OWN;
  case PTX_NUMBER:
    return NO_BASE;
  case PTX_UNKNOWN:
    return UNKNOWN;
  case PTX_PARAM:
    return (in->pointers >> at->param & 1) != 0 ? (origins)1 << at->param : NO_BASE;
  default:
    return NO_BASE | UNKNOWN;
  }
}

static void define_results(analysis *to, const ptx_instruction *at) {
  if (at->result == PTX_NONE) return;
  origins set = result_of(to, at);
  const ptx_operand *target = &to->code->operands[at->first];
  uint32_t count = at->result == PTX_TO_CALL ? 1 : target->count;
  for (uint32_t i = 0; i < count; i++) {
    uint32_t name = to->code->words[target->first + i];
    if (name == PTX_NOT_A_NAME || (to->sets[name] | set) == to->sets[name]) continue;
    to->sets[name] |= set;
    to->changed = true;
  }
}

// ---------------------------------------------------------------------------------------------------------------
// What instructions do with memory

static void charge(analysis *to, origins set, uint8_t use) {
  if ((set & (NO_BASE | UNKNOWN)) != 0 || set == 0) to->anywhere |= use & BOTH;
  for (uint32_t i = 0; i < PTX_MOST_PARAMS && i < to->function->param_count; i++)
    if ((set >> i & 1) != 0) to->uses[i] |= use & BOTH;
  bool sure = (use & WRITES) != 0 && set != 0 && (set & (set - 1)) == 0 && (set & PARAMS) != 0;
  if (sure) to->uses[__builtin_ctzll(set)] |= WEIR__USE_STORES;
  if ((set & (set - 1)) == 0) to->seen |= set & PARAMS;
}

static ptx_function *find_function(const ptx_module *module, ptx_word name) {
  ptx_function *at = module->functions;
  while (at != NULL && (at->is_entry || !ptx_same(at->name, name) || at->body.at == at->body.end)) at = at->next;
  return at;
}

// A function that is called. What it returns and where it is in a list says the instruction.
typedef struct callee {
  ptx_function *function; // NULL: not in this text
  bool only_reads;
  uint32_t given; // the operand with what it gets
} callee;

// The operands of a call that are in parentheses are lists: what it returns, the function, what it gets.
static callee find_callee(const analysis *in, const ptx_instruction *at) {
  uint32_t index = at->count > 0 && in->code->operands[at->first].is_list ? 1 : 0;
  callee found = {.given = index + 1};
  const ptx_operand *name = index < at->count ? &in->code->operands[at->first + index] : NULL;
  if (name == NULL || name->count != 1 || in->code->words[name->first] == PTX_NOT_A_NAME) return found;
  ptx_word text = in->code->names[in->code->words[name->first]].text;
  found.only_reads = ptx_is(text, "vprintf") || ptx_is(text, "__assertfail");
  found.function = find_function(in->module, text);
  return found;
}

static void charge_call_of_other(analysis *to, const ptx_instruction *at, const callee *called) {
  uint8_t use = called->only_reads ? READS : BOTH;
  if (!called->only_reads) to->anywhere |= BOTH;
  for (uint32_t i = called->given; i < at->count; i++) charge(to, of_source(to, at, i), use);
}

static void charge_call(analysis *to, const ptx_instruction *at) {
  callee called = find_callee(to, at);
  if (called.function == NULL || to->depth >= PTX_MOST_DEPTH || called.function->param_count > PTX_CALLED_PARAMS) {
    charge_call_of_other(to, at, &called);
    return;
  }
  ptx_uses uses;
  weir__ptx_uses_of_called(to->module, called.function, to->depth + 1, &uses);
  to->anywhere |= uses.anywhere;
  const ptx_operand *given = called.given < at->count ? &to->code->operands[at->first + called.given] : NULL;
  for (uint32_t i = 0; i < called.function->param_count; i++) {
    if ((uses.params[i] & BOTH) == 0) continue;
    bool is_given = given != NULL && i < given->count;
    charge(to, is_given ? to->sets[to->code->words[given->first + i]] | OWN : UNKNOWN, uses.params[i]);
  }
}

static void use_memory(analysis *to, const ptx_instruction *at) {
  if (at->is_conversion) to->seen |= of_source(to, at, 1) & PARAMS;
  if (at->memory == PTX_USE_OPERAND) charge(to, of_source(to, at, at->address), at->use);
  if (at->memory == PTX_USE_ALL) to->anywhere |= at->use;
  if (at->memory == PTX_USE_CALL) charge_call(to, at);
}

// ---------------------------------------------------------------------------------------------------------------
// Functions

// Calls `each` for the function's instructions. False: the module's budget is spent.
static bool for_instructions(analysis *with, void (*each)(analysis *with, const ptx_instruction *at)) {
  const ptx_code *code = with->code;
  if (with->module->budget < code->word_count) return false;
  with->module->budget -= code->word_count;
  for (uint32_t i = 0; i < code->instruction_count; i++) each(with, &code->instructions[i]);
  return true;
}

// With these parameters as addresses. False: that is not known.
static bool analyse(analysis *with, origins pointers) {
  with->pointers = pointers;
  with->anywhere = 0;
  memset(with->uses, 0, with->function->param_count);
  for (uint32_t i = 0; i < with->code->name_count; i++) {
    ptx_name_kind kind = with->code->names[i].kind;
    with->sets[i] = kind == PTX_DEFINED ? 0 : kind == PTX_VARIABLE ? OWN : NO_BASE;
  }
  with->changed = true;
  for (uint32_t i = 0; i < MOST_SWEEPS && with->changed; i++) {
    with->changed = false;
    if (!for_instructions(with, define_results)) return false;
  }
  return !with->changed && for_instructions(with, use_memory);
}

static bool analyse_code(analysis *with) {
  with->sets = weir__allocate((with->code->name_count + 1) * sizeof *with->sets);
  if (with->sets == NULL) with->module->no_memory = true;
  bool understood = with->sets != NULL && analyse(with, PARAMS) && analyse(with, with->seen);
  weir__free(with->sets);
  return understood;
}

void weir__ptx_read_uses(ptx_module *module, const ptx_function *function, uint32_t depth, uint8_t *uses,
                         uint8_t *out_anywhere) {
  ptx_code code;
  analysis with = {.module = module, .function = function, .depth = depth, .code = &code, .uses = uses};
  bool understood = weir__ptx_code_read(module, function, &code) && analyse_code(&with);
  weir__ptx_code_free(&code);
  *out_anywhere = understood ? with.anywhere : BOTH;
}

void weir__ptx_uses_of_called(ptx_module *module, ptx_function *function, uint32_t depth, ptx_uses *out_uses) {
  ptx_uses *known = &function->called[depth - 1];
  if (!known->is_known) {
    weir__ptx_read_uses(module, function, depth, known->params, &known->anywhere);
    known->is_known = true;
  }
  *out_uses = *known;
}
