// SPDX-License-Identifier: Apache-2.0
//
// What the subcommands of `weir` share: options and usage, error text, tables and JSON.
//
// A subcommand is `int weir__NAME_main(int argc, char **argv)`; argv[0] is its name, and it returns an exit code.
// Results go to stdout; errors and progress go to stderr.
#ifndef WEIR_TOOLS_WEIR_CLI_H
#define WEIR_TOOLS_WEIR_CLI_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "weir/weir.h"

enum {
  WEIR__EXIT_OK = 0,
  WEIR__EXIT_FAILED = 1,      // a run failed, or a check found a broken hazard
  WEIR__EXIT_USAGE = 2,       // bad options or bad input
  WEIR__EXIT_UNAVAILABLE = 3, // a device or library that this machine lacks
};

int weir__info_main(int argc, char **argv);
int weir__replay_main(int argc, char **argv);
int weir__plan_main(int argc, char **argv);
int weir__check_main(int argc, char **argv);
int weir__timeline_main(int argc, char **argv);
int weir__split_main(int argc, char **argv);
int weir__bench_main(int argc, char **argv);
int weir__run_main(int argc, char **argv);

// ---------------------------------------------------------------------------------------------------------------
// Options

typedef enum weir__cli_kind {
  WEIR__CLI_FLAG,   // bool: set to true
  WEIR__CLI_TEXT,   // const char *: points into argv
  WEIR__CLI_COUNT,  // uint64_t: decimal
  WEIR__CLI_BYTES,  // uint64_t: decimal, with an optional K, M, G or T (powers of 1024)
  WEIR__CLI_REAL,   // double: finite
  WEIR__CLI_CHOICE, // int: index into the words of `value`, which are separated by '|'
} weir__cli_kind;

typedef struct weir__cli_option {
  const char *name; // without dashes; "o|output": also as a letter, with one dash
  weir__cli_kind kind;
  void *out;          // what is set, of the kind's type; the caller puts the default there first
  const char *value;  // the placeholder in the usage ("N"), or the words of a choice ("on|off"); NULL for flags
  const char *help;   // one line; may hold '\n', continuation lines are indented
  double least, most; // COUNT, BYTES and REAL: the range that is allowed; both 0: any
} weir__cli_option;

typedef struct weir__cli_command {
  const char *name;      // "replay"
  const char *arguments; // for the usage: "STREAM..."; "" for none
  const char *summary;   // what it does, one or more lines
  const char *details;   // printed after the options (exit codes, examples); may be NULL
  const weir__cli_option *options;
  size_t option_count;
  size_t least_arguments, most_arguments; // positional arguments; most 0 with least 0: none; SIZE_MAX: any number
} weir__cli_command;

// Reads "--name value", "--name=value", "-o value" and flags; "--" ends options. Positional arguments are moved to
// the front of argv, *out_arguments points at the first. Returns true to go on; false to leave with *out_exit, after
// --help (printed) or a mistake (said on stderr).
bool weir__cli_parse(const weir__cli_command *command, int argc, char **argv, char ***out_arguments, size_t *out_count,
                     int *out_exit);

void weir__cli_usage(const weir__cli_command *command, FILE *file);

// ---------------------------------------------------------------------------------------------------------------
// Errors

// Prints "weir COMMAND: text" to stderr. Control characters, but for ends of lines and tabs, become question marks: they may be of
// names in files.
__attribute__((format(printf, 2, 3))) void weir__cli_error(const char *command, const char *format, ...);

// Whether a file that is written at the end of a run can be: its folder is there, and so on. Touches nothing; what is wrong is said
// on stderr, as of --OPTION.
bool weir__cli_can_write(const char *command, const char *option, const char *path);

// Whether two names are those of one file that is there.
bool weir__cli_is_same_file(const char *one, const char *other);

// The exit code for a failed call: 3 for what the machine lacks, 2 for bad arguments and files, else 1.
int weir__cli_exit_code(weir_status status);

// Prints a name of a file's with question marks in place of control characters.
void weir__cli_put(const char *name, FILE *file);

// ---------------------------------------------------------------------------------------------------------------
// Tables: text columns to the left, numbers to the right

typedef struct weir__table weir__table;

weir__table *weir__table_create(void); // NULL: no memory
void weir__table_destroy(weir__table *table);

// Adds a column; all columns are added before the first cell. `unit` ("us") is shown under the name; "" for none.
void weir__table_column(weir__table *table, const char *name, const char *unit, bool number);

// Adds a cell to the current row; a row is full when all columns have one. Control characters become question marks.
__attribute__((format(printf, 2, 3))) void weir__table_cell(weir__table *table, const char *format, ...);

// Prints the table; false if memory ran out while it was filled.
bool weir__table_print(const weir__table *table, FILE *file);

// ---------------------------------------------------------------------------------------------------------------
// JSON

// Prints `value` to stdout, indented, in the order of insertion, and gives up the reference. Returns an exit code:
// OK, or FAILED (said on stderr) when there was no memory (`value` NULL) or stdout could not be written.
int weir__cli_print_json(const char *command, json_t *value);

// A text that may not be UTF-8, such as the name of a file or a driver: each byte that is none becomes U+FFFD. NULL: no memory.
json_t *weir__json_text(const char *text);

// A number of microseconds, rounded to 3 decimals; null when it is not finite.
json_t *weir__json_us(double us);

#endif // WEIR_TOOLS_WEIR_CLI_H
