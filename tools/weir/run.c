// SPDX-License-Identifier: Apache-2.0
//
// `weir run`: starts a program on ranks of MPI by mpirun, with a share of the cores for each.
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/machine.h"
#include "cli.h"
#include "run.h"
#include "run_timeline.h"

static const char summary[] =
    "Starts PROGRAM on N ranks of MPI by mpirun, Open MPI's or MPICH's. Each rank gets its share of the cores, so "
    "that\n"
    "Weir's CPU device has as many workers; where there are more ranks than cores, they share one, and waiting ranks\n"
    "give it up. In a job of several nodes the binding is left to mpirun. CUDA_DEVICE_MAX_CONNECTIONS, if it is not "
    "set,\n"
    "is 32 for several ranks, so that collectives of NCCL do not stand behind other work of their cards.";

static const char details[] =
    "PROGRAM must be built with the MPI that the launcher belongs to: else each rank is alone.\n"
    "Exit codes: those of the launcher; 2 bad usage, 3 there is no launcher.";

typedef enum launcher_kind { UNKNOWN, OPEN_MPI, HYDRA } launcher_kind;

static void add(weir__run_line *line, const char *word) {
  line->words[line->count++] = word;
}

static bool has_several_nodes(void) {
  const char *nodes = getenv("SLURM_JOB_NUM_NODES");
  return (nodes != NULL && strtoul(nodes, NULL, 10) > 1) || getenv("PBS_NODEFILE") != NULL;
}

// What the launcher says of itself. UNKNOWN with *out_found false: it cannot be run.
static launcher_kind ask_launcher(const char *launcher, bool *out_found) {
  char command[4200], text[4096];
  *out_found = false;
  if (strchr(launcher, '\'') != NULL || strlen(launcher) > 4096) return UNKNOWN;
  snprintf(command, sizeof command, "'%s' --version 2>/dev/null", launcher);
  FILE *pipe = popen(command, "r");
  if (pipe == NULL) return UNKNOWN;
  size_t length = fread(text, 1, sizeof text - 1, pipe);
  text[length] = '\0';
  *out_found = pclose(pipe) == 0 && length > 0;
  if (strstr(text, "Open MPI") || strstr(text, "OpenRTE")) return OPEN_MPI;
  return strstr(text, "HYDRA") || strstr(text, "Hydra") ? HYDRA : UNKNOWN;
}

static void add_open_mpi(weir__run_line *line, uint64_t cores, bool shares) {
  if (shares) {
    const char *const words[] = {"--oversubscribe", "--use-hwthread-cpus", "--map-by",
                                 "hwthread",        "--bind-to",           "hwthread:overload-allowed",
                                 "--mca",           "mpi_yield_when_idle", "1"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) add(line, words[i]);
  } else if (cores > 0) {
    snprintf(line->numbers[1], sizeof line->numbers[1], "slot:PE=%llu", (unsigned long long)cores);
    const char *const words[] = {"--use-hwthread-cpus", "--map-by", line->numbers[1], "--bind-to", "hwthread"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) add(line, words[i]);
  }
}

static void add_hydra(weir__run_line *line, uint64_t cores) {
  if (cores == 0) return;
  snprintf(line->numbers[1], sizeof line->numbers[1], "hwthread:%llu", (unsigned long long)cores);
  add(line, "-bind-to");
  add(line, line->numbers[1]);
}

// A card has 8 connections to the host, in which work goes in the order in which it was put there. Weir puts kernels there ahead of time,
// and a collective of NCCL when all ranks are ready for it, which then stands behind kernels that it has nothing to do with.
static void add_connections(weir__run_line *line, launcher_kind kind) {
  static const char name[] = "CUDA_DEVICE_MAX_CONNECTIONS", usual[] = "32";
  if (kind == UNKNOWN || getenv(name) != NULL) return;
  add(line, kind == OPEN_MPI ? "-x" : "-genv");
  add(line, kind == OPEN_MPI ? "CUDA_DEVICE_MAX_CONNECTIONS=32" : name);
  if (kind == HYDRA) add(line, usual);
}

static void make_line(weir__run_line *line, const weir__run_options *options, launcher_kind kind) {
  uint64_t usable = weir__machine_cores(), cores = options->cores;
  if (cores == WEIR__RUN_CORES_UNSET) cores = has_several_nodes() ? 0 : usable / options->ranks;
  bool shares = options->cores == WEIR__RUN_CORES_UNSET && !has_several_nodes() && options->ranks > usable;
  add(line, options->launcher);
  if (kind == OPEN_MPI) add_open_mpi(line, cores, shares);
  if (kind == OPEN_MPI && options->timeline) { // the other launcher's ranks get the whole environment
    add(line, "-x");
    add(line, "WEIR_TRACE");
  }
  if (kind == HYDRA) add_hydra(line, shares ? 1 : cores);
  if (options->ranks > 1) add_connections(line, kind);
  snprintf(line->numbers[0], sizeof line->numbers[0], "%llu", (unsigned long long)options->ranks);
  add(line, "-n");
  add(line, line->numbers[0]);
}

static int print_line(const weir__run_line *line, char **program) {
  for (size_t i = 0; i < line->count; i++) printf("%s ", line->words[i]);
  for (; *program != NULL; program++) printf("%s%s", *program, program[1] == NULL ? "\n" : " ");
  return WEIR__EXIT_OK;
}

// Becomes the launcher; returns if that fails.
static int start(const weir__run_options *options, const weir__run_line *line, char *const *program) {
  size_t count = 0;
  while (program[count] != NULL) count++;
  const char **all = calloc(line->count + count + 1, sizeof *all);
  if (all == NULL) {
    weir__cli_error(options->command, "no memory");
    return WEIR__EXIT_FAILED;
  }
  memcpy(all, line->words, line->count * sizeof *all);
  memcpy(all + line->count, program, count * sizeof *all);
  execvp(all[0], (char *const *)all);
  weir__cli_error(options->command, "%s: %s", all[0], strerror(errno));
  free(all);
  return WEIR__EXIT_UNAVAILABLE;
}

// All that comes out of a pipe; NULL: no memory.
static char *read_all(int pipe) {
  char *text = NULL, part[4096];
  size_t bytes = 0;
  FILE *all = open_memstream(&text, &bytes);
  ssize_t got;
  while ((got = read(pipe, part, sizeof part)) > 0 || (got < 0 && errno == EINTR)) {
    if (got > 0 && all != NULL) fwrite(part, 1, (size_t)got, all);
  }
  close(pipe);
  if (all == NULL || fclose(all) != 0) return NULL;
  return text;
}

int weir__run_and_wait(const weir__run_options *options, const weir__run_line *line, char *const *program,
                       char **out_output) {
  int status = 0, ends[2] = {-1, -1};
  if (out_output != NULL) *out_output = NULL;
  fflush(stdout);
  pid_t launcher = out_output == NULL || pipe(ends) == 0 ? fork() : -1;
  if (launcher == 0) {
    if (out_output != NULL) {
      dup2(ends[1], STDOUT_FILENO);
      close(ends[0]);
      close(ends[1]);
    }
    _exit(start(options, line, program));
  }
  if (launcher > 0 && out_output != NULL) {
    close(ends[1]);
    *out_output = read_all(ends[0]);
  }
  if (launcher < 0 || waitpid(launcher, &status, 0) != launcher) {
    weir__cli_error(options->command, "%s: %s", options->launcher, strerror(errno));
    return WEIR__EXIT_FAILED;
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

// Joins the timelines of the ranks behind the run.
static int run_traced(const weir__run_options *options, const weir__run_line *line, char *const *program) {
  if (!weir__run_timeline_prepare(options->command, options->timeline, options->ranks)) return WEIR__EXIT_FAILED;
  int exit_code = weir__run_and_wait(options, line, program, NULL);
  return exit_code == 0 ? weir__run_timeline_join(options->command, options->timeline, options->ranks) : exit_code;
}

int weir__run_make_line(const weir__run_options *options, weir__run_line *out_line) {
  bool found;
  launcher_kind kind = ask_launcher(options->launcher, &found);
  *out_line = (weir__run_line){.count = 0};
  if (!found) {
    weir__cli_error(options->command,
                    "%s cannot be run: Debian's packages openmpi-bin and mpich have an mpirun, and --launcher names "
                    "one",
                    options->launcher);
    return WEIR__EXIT_UNAVAILABLE;
  }
  make_line(out_line, options, kind);
  if (kind == UNKNOWN && !options->print)
    weir__cli_error(options->command, "%s is neither of Open MPI nor of MPICH: ranks are not bound", options->launcher);
  return WEIR__EXIT_OK;
}

static int run(const weir__run_options *options, char **program) {
  weir__run_line line;
  int exit_code = weir__run_make_line(options, &line);
  if (exit_code != WEIR__EXIT_OK) return exit_code;
  if (options->print) return print_line(&line, program);
  return options->timeline ? run_traced(options, &line, program) : start(options, &line, program);
}

// Where the program's name is in argv: what is behind it is the program's.
static int find_program(const weir__cli_command *command, int argc, char **argv) {
  for (int i = 1; i < argc; i++) {
    if (strcmp(argv[i], "--") == 0 || argv[i][0] != '-') return i;
    for (size_t k = 0; k < command->option_count; k++) {
      const char *name = command->options[k].name, *full = name[1] == '|' ? name + 2 : name;
      bool is_long = strncmp(argv[i], "--", 2) == 0 && strcmp(argv[i] + 2, full) == 0;
      bool is_letter = name[1] == '|' && argv[i][1] == name[0] && argv[i][2] == '\0';
      if ((is_long || is_letter) && command->options[k].value != NULL) {
        i++;
        break;
      }
    }
  }
  return argc;
}

int weir__run_main(int argc, char **argv) {
  weir__run_options options = {.command = "run", .cores = WEIR__RUN_CORES_UNSET, .launcher = "mpirun"};
  const weir__cli_option list[] = {
      {"n|ranks", WEIR__CLI_COUNT, &options.ranks, "N", "ranks; must be given", 1, 100000},
      {"cores", WEIR__CLI_COUNT, &options.cores, "N",
       "cores of a rank; 0: the launcher's choice.\nDefault: its share of "
       "the cores that this process may use",
       0, 100000},
      {"launcher", WEIR__CLI_TEXT, &options.launcher, "PROGRAM", "the launcher (mpirun)", 0, 0},
      {"timeline", WEIR__CLI_TEXT, &options.timeline, "FILE",
       "write a timeline of all ranks, a page (.html) or for Perfetto and `weir check` (.json).\nThose of single "
       "ranks stay beside it, as FILE with .rank0.json and so on. At most 900 ranks",
       0, 0},
      {"print", WEIR__CLI_FLAG, &options.print, NULL, "print the command, and do not run it", 0, 0},
  };
  const weir__cli_command command = {.name = "run",
                                     .arguments = "PROGRAM [ARGUMENT...]",
                                     .summary = summary,
                                     .details = details,
                                     .options = list,
                                     .option_count = sizeof list / sizeof *list};
  int at = find_program(&command, argc, argv), exit_code;
  char **arguments;
  size_t count;
  if (!weir__cli_parse(&command, at, argv, &arguments, &count, &exit_code)) return exit_code;
  if (at < argc && strcmp(argv[at], "--") == 0) at++;
  if (at >= argc || options.ranks == 0) {
    weir__cli_error("run", at >= argc ? "no program is named" : "-n says how many ranks, and must be given");
    return WEIR__EXIT_USAGE;
  }
  if (options.timeline && (!weir__run_timeline_valid("run", options.timeline, options.ranks) ||
                           (!options.print && !weir__cli_can_write("run", "timeline", options.timeline))))
    return WEIR__EXIT_USAGE;
  return run(&options, argv + at);
}
