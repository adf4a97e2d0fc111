// SPDX-License-Identifier: Apache-2.0
//
// Reading PTX: words, functions, and the instructions of a function. Parts of ptx.c only.
#ifndef WEIR_DEVICE_CUDA_PTX_READER_H
#define WEIR_DEVICE_CUDA_PTX_READER_H

#include <string.h>

#include "device/cuda/ptx.h"

// A word of the text: letters, digits and . _ $ % and pairs of colons; or another character by itself; or a string, as '"'.
// length 0: the end.
typedef struct ptx_word {
  const char *at;
  size_t length;
} ptx_word;

typedef struct ptx_text {
  const char *at, *end;
} ptx_text;

ptx_word weir__ptx_next(ptx_text *text);
ptx_word weir__ptx_peek(const ptx_text *text);

// Goes to the end of the line, where directives end that have no semicolon.
void weir__ptx_skip_line(ptx_text *text);

static inline bool ptx_is(ptx_word word, const char *text) {
  return word.length == strlen(text) && memcmp(word.at, text, word.length) == 0;
}

static inline bool ptx_same(ptx_word a, ptx_word b) {
  return a.length == b.length && memcmp(a.at, b.at, a.length) == 0;
}

// Whether it names something: a register, variable, function or label.
static inline bool ptx_is_name(ptx_word word) {
  char first = word.length > 0 ? word.at[0] : '0';
  return first == '_' || first == '$' || first == '%' || (first >= 'a' && first <= 'z') ||
         (first >= 'A' && first <= 'Z');
}

// A parameter as it is declared.
typedef struct ptx_parameter {
  ptx_word name;
  uint32_t bytes;
  bool is_scalar; // no array
} ptx_parameter;

enum {
  PTX_MOST_PARAMS = 60,  // what comes by way of others may be anything
  PTX_MOST_DEPTH = 4,    // of calls that are followed
  PTX_CALLED_PARAMS = 8, // most of a function whose calls are followed
};

// What a function does that is called.
typedef struct ptx_uses {
  bool is_known;
  uint8_t anywhere, params[PTX_CALLED_PARAMS];
} ptx_uses;

typedef struct ptx_function {
  struct ptx_function *next;
  ptx_word name;
  bool is_entry;
  ptx_text body; // behind its first brace; empty: declared only
  uint32_t param_count;
  ptx_parameter *params;
  ptx_uses called[PTX_MOST_DEPTH]; // by the depth of the call
} ptx_function;

// Names of variables in shared and local memory; what they lead to is no buffer.
typedef struct ptx_names {
  ptx_word *list;
  uint32_t count, capacity;
} ptx_names;

typedef struct ptx_module {
  ptx_function *functions;
  ptx_names own;   // variables in shared and local memory
  uint64_t budget; // words that may still be read: time is bounded, whatever the text
  bool no_memory;
} ptx_module;

// Whether a directive declares variables in shared or local memory; whether a name is among those noted.
bool weir__ptx_declares_own(ptx_word directive);
void weir__ptx_note_own(ptx_module *module, ptx_text *text);
bool weir__ptx_is_own(const ptx_module *module, ptx_word name);

// What the function does through its parameters (by number, `uses` has room for all of them), and elsewhere, calls included.
// Without memory or budget: anything, which is true of every function.
void weir__ptx_read_uses(ptx_module *module, const ptx_function *function, uint32_t depth, uint8_t *uses,
                         uint8_t *out_anywhere);

// The same of a function with at most PTX_CALLED_PARAMS parameters, called at a depth from 1 to PTX_MOST_DEPTH. It is read once.
void weir__ptx_uses_of_called(ptx_module *module, ptx_function *function, uint32_t depth, ptx_uses *out_uses);

#endif // WEIR_DEVICE_CUDA_PTX_READER_H
