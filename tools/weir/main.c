// SPDX-License-Identifier: Apache-2.0
//
// The `weir` command: finds the subcommand and hands over.
#include <string.h>

#include "cli.h"

typedef struct subcommand {
  const char *name;
  int (*main)(int argc, char **argv);
  const char *summary;
} subcommand;

static const subcommand subcommands[] = {
    {"info", weir__info_main, "what this machine has, and why a device is missing"},
    {"replay", weir__replay_main, "run recorded kernel streams out of order"},
    {"plan", weir__plan_main, "dependences of a stream: edges, levels, critical path, and why a task waits"},
    {"check", weir__check_main, "prove that a timeline honoured every hazard of its stream"},
    {"timeline", weir__timeline_main, "make a page for a browser of a timeline"},
    {"split", weir__split_main, "cut launches over several devices, round by round"},
    {"run", weir__run_main, "start a program on ranks of MPI, each with its share of the cores"},
    {"bench", weir__bench_main, "benchmarks of submission, overhead and granularity"},
};

enum { SUBCOMMAND_COUNT = sizeof(subcommands) / sizeof(*subcommands) };

static void print_usage(FILE *file) {
  fprintf(file, "Usage: weir COMMAND [OPTION...] [ARGUMENT...]\n"
                "       weir help [COMMAND]\n"
                "       weir --version\n\n"
                "Weir runs compute kernels out of order, with the result of running them in order.\n\n"
                "Commands:\n");
  for (size_t i = 0; i < SUBCOMMAND_COUNT; i++) {
    fprintf(file, "  %-9s %s\n", subcommands[i].name, subcommands[i].summary);
  }
  fprintf(file,
          "\nExit codes: 0 done, 1 a run or check failed, 2 bad input or usage, 3 a device or library is missing\n");
}

static const subcommand *find_subcommand(const char *name) {
  for (size_t i = 0; i < SUBCOMMAND_COUNT; i++) {
    if (strcmp(subcommands[i].name, name) == 0) return &subcommands[i];
  }
  fprintf(stderr, "weir: unknown command \"%s\"; `weir --help` lists them\n", name);
  return NULL;
}

static int help(int argc, char **argv) {
  if (argc < 2) {
    print_usage(stdout);
    return WEIR__EXIT_OK;
  }
  const subcommand *found = find_subcommand(argv[1]);
  if (!found) return WEIR__EXIT_USAGE;
  char name[16], option[] = "--help";
  snprintf(name, sizeof(name), "%s", found->name);
  char *help_argv[] = {name, option, NULL};
  return found->main(2, help_argv);
}

static int run(int argc, char **argv) {
  const char *name = argv[1];
  if (strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0) {
    print_usage(stdout);
    return WEIR__EXIT_OK;
  }
  if (strcmp(name, "--version") == 0) {
    printf("weir %s\n", weir_version());
    return WEIR__EXIT_OK;
  }
  if (strcmp(name, "help") == 0) return help(argc - 1, argv + 1);
  const subcommand *found = find_subcommand(name);
  return found ? found->main(argc - 1, argv + 1) : WEIR__EXIT_USAGE;
}

// What was printed must have got there, too.
int main(int argc, char **argv) {
  if (argc < 2) {
    print_usage(stderr);
    return WEIR__EXIT_USAGE;
  }
  const char *name = argv[1]; // the subcommand reorders the rest of argv, from here on
  int code = run(argc, argv);
  if (code != WEIR__EXIT_OK || (fflush(stdout) == 0 && !ferror(stdout))) return code;
  weir__cli_error(name, "cannot write to standard output");
  return WEIR__EXIT_FAILED;
}
