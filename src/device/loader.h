// SPDX-License-Identifier: Apache-2.0
//
// Libraries that are loaded at run time: drivers, their loaders, compilers. A table of functions says what is looked up.
#ifndef WEIR_DEVICE_LOADER_H
#define WEIR_DEVICE_LOADER_H

#include <stdbool.h>
#include <stddef.h>

#include "base/lock.h"

// A function, and the member of a table that points to it.
typedef struct weir__symbol {
  const char *name;
  size_t offset;
  enum { WEIR__OPTIONAL, WEIR__REQUIRED } need; // OPTIONAL: the member is NULL where there is none
} weir__symbol;

#define WEIR__SYMBOL(table, member, symbol, need)                                                                      \
  { #symbol, offsetof(table, member), WEIR__##need }

typedef struct weir__symbols {
  const weir__symbol *list;
  size_t count;
} weir__symbols;

#define WEIR__SYMBOLS_OF(symbols)                                                                                      \
  { (symbols), sizeof(symbols) / sizeof(symbols)[0] }

// A pointer to any function.
typedef void (*weir__function)(void);

// Fills a table by `find`, which returns NULL for what there is none of. Returns the name of the first function that is
// missing and required; NULL: there is none.
const char *weir__symbols_find(weir__symbols symbols, void *table, weir__function (*find)(void *user, const char *name),
                               void *user);

// A library of the process, loaded at most once.
typedef struct weir__library {
  const char *name;         // "CUDA driver", for "no CUDA driver: ..."
  const char *lacks;        // "the driver lacks", for "FILE: the driver lacks cuInit"
  const char *variable;     // the environment variable that names the only file to try
  const char *const *files; // else these, in this order; NULL ends the list
  // Optional: then the files in lib64 of the folder that the environment variable names, and of the usual folder.
  const char *home_variable, *home;
  weir__symbols symbols;
  void *table;
  // Optional: the table is filled. False: the library is of no use, and `reason` says why; it stays loaded all the same, for
  // it may have threads and exit handlers by now.
  bool (*start)(void *table, char *reason, size_t size);
  weir__lock lock; // guards the following, and the table until it is true
  bool loaded;
} weir__library;

// Loads the library by the first call that succeeds; it stays loaded. NULL: `reason` says why not, and a later call tries
// again. Else its table. Any thread.
const void *weir__library_load(weir__library *library, char *reason, size_t size);

#endif // WEIR_DEVICE_LOADER_H
