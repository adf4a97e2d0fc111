// SPDX-License-Identifier: Apache-2.0
//
// What the entry functions of a PTX text take, and what they do with pointers that they are given. Nothing is trusted, and
// nothing beyond the text is read.
// Source: the PTX ISA 9.0, chapters 4 (syntax), 5 (state spaces) and 9 (instructions). docs/inside/modes-from-code.md.
#ifndef WEIR_DEVICE_CUDA_PTX_H
#define WEIR_DEVICE_CUDA_PTX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// A parameter: its size, and as bits of device/use.h what the code does through addresses that come from it.
typedef struct weir__ptx_param {
  uint32_t bytes;
  uint8_t use;
} weir__ptx_param;

// An entry function. What it does through addresses that come from nowhere in particular it may do to every buffer.
typedef struct weir__ptx_entry {
  struct weir__ptx_entry *next;
  char *name;
  uint8_t anywhere; // WEIR__USE_READS, WEIR__USE_WRITES
  uint32_t param_count;
  weir__ptx_param params[];
} weir__ptx_entry;

// Reads a text; the caller frees the list. NULL: no entry functions, or no memory. Any thread.
weir__ptx_entry *weir__ptx_read(const char *text, size_t bytes);
void weir__ptx_free(weir__ptx_entry *entries);

// The entry of this name; NULL: none.
const weir__ptx_entry *weir__ptx_find(const weir__ptx_entry *entries, const char *name);

#endif // WEIR_DEVICE_CUDA_PTX_H
