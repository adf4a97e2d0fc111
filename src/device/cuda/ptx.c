// SPDX-License-Identifier: Apache-2.0
#include "device/cuda/ptx.h"

#include <stdlib.h>

#include "base/allocate.h"
#include "device/cuda/ptx_reader.h"
#include "device/use.h"

enum { MOST_BYTES = 64 << 20, WORDS_PER_BYTE = 16, MOST_PARAMS = WEIR_MAX_ARGS, MOST_OWN_NAMES = 4096 };

// ---------------------------------------------------------------------------------------------------------------
// Variables

bool weir__ptx_declares_own(ptx_word directive) {
  return ptx_is(directive, ".shared") || ptx_is(directive, ".local");
}

static void add_name(ptx_module *module, ptx_word name) {
  ptx_names *own = &module->own;
  if (own->count == own->capacity) {
    uint32_t capacity = own->capacity == 0 ? 16 : own->capacity * 2;
    ptx_word *larger = capacity > MOST_OWN_NAMES ? NULL : weir__allocate(capacity * sizeof *larger);
    if (larger == NULL) {
      module->no_memory = true;
      return;
    }
    if (own->count > 0) memcpy(larger, own->list, own->count * sizeof *larger);
    weir__free(own->list);
    own->list = larger;
    own->capacity = capacity;
  }
  own->list[own->count++] = name;
}

// The names of a declaration, up to its end.
void weir__ptx_note_own(ptx_module *module, ptx_text *text) {
  bool is_value = false;
  for (ptx_word word = weir__ptx_next(text); word.length > 0 && !ptx_is(word, ";"); word = weir__ptx_next(text)) {
    if (ptx_is(word, "=")) is_value = true;
    if (!is_value && ptx_is_name(word)) add_name(module, word);
  }
}

bool weir__ptx_is_own(const ptx_module *module, ptx_word name) {
  for (uint32_t i = 0; i < module->own.count; i++)
    if (ptx_same(module->own.list[i], name)) return true;
  return false;
}

// ---------------------------------------------------------------------------------------------------------------
// Functions

static uint32_t bytes_of_type(ptx_word type) {
  uint32_t bits = 0, digits = 0;
  for (size_t i = 1; i < type.length; i++) {
    char c = type.at[i];
    if (c >= '0' && c <= '9' && digits < 4) {
      bits = bits * 10 + (uint32_t)(c - '0');
      digits++;
    } else if (digits > 0 || c < 'a' || c > 'z') {
      return 0;
    }
  }
  return bits % 8 == 0 ? bits / 8 : 0;
}

static uint32_t number_of(ptx_word word) {
  char digits[12] = "";
  if (word.length >= sizeof digits) return 0;
  memcpy(digits, word.at, word.length);
  unsigned long value = strtoul(digits, NULL, 0);
  return value > UINT32_MAX / 16 ? 0 : (uint32_t)value;
}

// One parameter, up to the comma or parenthesis behind it, which is returned.
static ptx_word read_param(ptx_text *text, ptx_parameter *param) {
  *param = (ptx_parameter){.is_scalar = true};
  ptx_word word = weir__ptx_next(text);
  for (; word.length > 0 && !ptx_is(word, ",") && !ptx_is(word, ")"); word = weir__ptx_next(text)) {
    if (ptx_is(word, ".align")) {
      weir__ptx_next(text);
    } else if (ptx_is(word, "[")) {
      param->is_scalar = false;
      word = weir__ptx_next(text);
      param->bytes *= number_of(word);
    } else if (word.at[0] == '.') {
      if (param->bytes == 0) param->bytes = bytes_of_type(word);
    } else if (ptx_is_name(word)) {
      param->name = word;
    }
  }
  return word;
}

// The parameters behind a name, if it has some. False: no memory, or too many.
static bool read_params(ptx_text *text, ptx_function *function) {
  uint32_t capacity = 0;
  if (!ptx_is(weir__ptx_peek(text), "(")) return true;
  ptx_word word = weir__ptx_next(text);
  if (ptx_is(weir__ptx_peek(text), ")")) {
    weir__ptx_next(text);
    return true;
  }
  while (word.length > 0 && !ptx_is(word, ")")) {
    if (function->param_count == capacity) {
      capacity = capacity == 0 ? 8 : capacity * 2;
      ptx_parameter *larger = capacity > 2 * MOST_PARAMS ? NULL : weir__allocate(capacity * sizeof *larger);
      if (larger == NULL) return false;
      if (function->param_count > 0) memcpy(larger, function->params, function->param_count * sizeof *larger);
      weir__free(function->params);
      function->params = larger;
    }
    word = read_param(text, &function->params[function->param_count++]);
  }
  return true;
}

// The text between braces, of which the first was read. Notes the names of variables.
static ptx_text read_block(ptx_module *module, ptx_text *text) {
  ptx_text block = {text->at, text->at};
  uint32_t depth = 1;
  for (ptx_word word = weir__ptx_next(text); word.length > 0; word = weir__ptx_next(text)) {
    if (weir__ptx_declares_own(word)) weir__ptx_note_own(module, text);
    if (ptx_is(word, "{")) depth++;
    if (ptx_is(word, "}") && --depth == 0) {
      block.end = word.at;
      return block;
    }
  }
  return block; // it does not end, so nothing of it counts
}

static void skip_parentheses(ptx_text *text) {
  ptx_word word = weir__ptx_next(text);
  while (word.length > 0 && !ptx_is(word, ")")) word = weir__ptx_next(text);
}

// A function behind .entry or .func. False: no memory.
static bool read_function(ptx_module *module, ptx_text *text, bool is_entry) {
  ptx_function *function = weir__allocate_zeroed(sizeof *function);
  if (function == NULL) return false;
  function->is_entry = is_entry;
  if (ptx_is(weir__ptx_peek(text), "(")) skip_parentheses(text); // what it returns
  function->name = weir__ptx_next(text);
  function->next = module->functions;
  module->functions = function;
  if (!read_params(text, function)) return false;
  ptx_word word = weir__ptx_next(text);
  while (word.length > 0 && !ptx_is(word, "{") && !ptx_is(word, ";")) word = weir__ptx_next(text);
  if (ptx_is(word, "{")) function->body = read_block(module, text);
  return true;
}

static bool read_module(ptx_module *module, ptx_text text) {
  for (ptx_word word = weir__ptx_next(&text); word.length > 0; word = weir__ptx_next(&text)) {
    bool is_entry = ptx_is(word, ".entry");
    if (weir__ptx_declares_own(word)) weir__ptx_note_own(module, &text);
    if ((is_entry || ptx_is(word, ".func")) && !read_function(module, &text, is_entry)) return false;
    if (module->no_memory) return false;
  }
  return true;
}

static void free_module(ptx_module *module) {
  while (module->functions != NULL) {
    ptx_function *function = module->functions;
    module->functions = function->next;
    weir__free(function->params);
    weir__free(function);
  }
  weir__free(module->own.list);
}

// ---------------------------------------------------------------------------------------------------------------
// Entries

static weir__ptx_entry *make_entry(ptx_module *module, const ptx_function *function) {
  uint32_t count = function->param_count;
  weir__ptx_entry *entry = weir__allocate_zeroed(sizeof *entry + count * sizeof entry->params[0]);
  uint8_t *uses = weir__allocate_zeroed(count + 1);
  char *name = weir__allocate(function->name.length + 1);
  if (entry != NULL && uses != NULL && name != NULL) {
    memcpy(name, function->name.at, function->name.length);
    name[function->name.length] = '\0';
    entry->name = name;
    entry->param_count = count;
    weir__ptx_read_uses(module, function, 0, uses, &entry->anywhere);
    for (uint32_t i = 0; i < count; i++)
      entry->params[i] = (weir__ptx_param){function->params[i].bytes, (uint8_t)(uses[i] | WEIR__USE_KNOWN)};
    weir__free(uses);
    return entry;
  }
  module->no_memory = true;
  weir__free(entry);
  weir__free(uses);
  weir__free(name);
  return NULL;
}

weir__ptx_entry *weir__ptx_read(const char *text, size_t bytes) {
  ptx_module module = {.budget = (uint64_t)bytes * WORDS_PER_BYTE};
  weir__ptx_entry *entries = NULL;
  bool complete = bytes <= MOST_BYTES && read_module(&module, (ptx_text){text, text + bytes});
  for (const ptx_function *at = module.functions; complete && at != NULL; at = at->next) {
    if (!at->is_entry || at->body.at == at->body.end) continue;
    weir__ptx_entry *entry = make_entry(&module, at);
    if (entry == NULL) break;
    entry->next = entries;
    entries = entry;
  }
  free_module(&module);
  if (!module.no_memory) return entries;
  weir__ptx_free(entries); // they may say less than the text
  return NULL;
}

void weir__ptx_free(weir__ptx_entry *entries) {
  while (entries != NULL) {
    weir__ptx_entry *next = entries->next;
    weir__free(entries->name);
    weir__free(entries);
    entries = next;
  }
}

const weir__ptx_entry *weir__ptx_find(const weir__ptx_entry *entries, const char *name) {
  while (entries != NULL && strcmp(entries->name, name) != 0) entries = entries->next;
  return entries;
}
