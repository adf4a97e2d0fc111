// SPDX-License-Identifier: Apache-2.0
//
// Programs on ranks of MPI, for those subcommands that start them.
#ifndef WEIR_TOOLS_WEIR_RUN_H
#define WEIR_TOOLS_WEIR_RUN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { WEIR__RUN_CORES_UNSET = 1000000 };

typedef struct weir__run_options {
  const char *command;   // the subcommand that errors are said for
  uint64_t ranks, cores; // of a rank; 0: left to the launcher; CORES_UNSET: its share
  const char *launcher;
  const char *timeline; // NULL: none. The launcher passes WEIR_TRACE on
  bool print;           // of `weir run`
} weir__run_options;

// The command line of the launcher; numbers have room of their own.
typedef struct weir__run_line {
  const char *words[32];
  size_t count;
  char numbers[3][48];
} weir__run_line;

// Makes the launcher's command line. Returns an exit code; errors were said on stderr.
int weir__run_make_line(const weir__run_options *options, weir__run_line *out_line);

// Starts the launcher with a program, ended by NULL, and waits. *out_output: what they print, the caller's to free;
// NULL: it goes where this command's goes. Returns the launcher's exit code.
int weir__run_and_wait(const weir__run_options *options, const weir__run_line *line, char *const *program,
                       char **out_output);

#endif // WEIR_TOOLS_WEIR_RUN_H
