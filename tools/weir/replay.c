// SPDX-License-Identifier: Apache-2.0
//
// `weir replay`: runs recorded streams out of order and says what it took.
#include "replay.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "check/check.h"
#include "stream_pattern.h"
#include "timeline/page.h"
#include "weir/pipeline.h"

typedef struct progress {
  const char *name;
  uint64_t start_ns, repeat;
  bool shown;
} progress;

static void show_progress(void *user, uint64_t passes_done) {
  progress *now = user;
  if (!isatty(STDERR_FILENO) || weir__clock_ns() - now->start_ns < 1000000000u) return;
  fprintf(stderr, "\r");
  weir__cli_put(now->name, stderr);
  fprintf(stderr, ": pass %" PRIu64 " of %" PRIu64 "\033[K", passes_done, now->repeat);
  now->shown = true;
}

static void clear_progress(const progress *now) {
  if (now->shown) fprintf(stderr, "\r\033[K");
}

// The file of a stream's timeline: as given or, with several streams, with "-NAME" before the ending.
static char *timeline_path(const weir__replay_options *options, const char *name, bool several) {
  const char *ending = strrchr(options->timeline, '.');
  size_t size = strlen(options->timeline) + strlen(name) + 2, stem = (size_t)(ending - options->timeline);
  char *path = malloc(size);
  if (!path) return NULL;
  if (several) {
    snprintf(path, size, "%.*s-%s%s", (int)stem, options->timeline, name, ending);
  } else {
    snprintf(path, size, "%s", options->timeline);
  }
  // A stream may have any name.
  for (char *byte = path + stem; *byte; byte++) {
    if (*byte == '/') *byte = '_';
  }
  return path;
}

static int check_timeline(const weir__replay_options *options, const char *path, weir__replayed *result) {
  bool pipeline = options->lines > 0, kept = options->storage == WEIR__REPLAY_KEPT && !pipeline;
  weir__check_options check_options = {
      .storage = kept ? WEIR__CHECK_STORAGE_KEPT : WEIR__CHECK_STORAGE_FRESH,
      .passes = (uint32_t)options->repeat,
      .ignore_host_waits = options->no_host_waits || (weir__replay_by_graph(options) && !pipeline),
      .pipeline = pipeline,
      .lines_apart = pipeline && !result->pipelined.ordered,
  };
  weir__check_report *report = calloc(1, sizeof *report);
  if (!report) {
    weir__cli_error("replay", "%s: no memory for the checker", result->stream->name);
    return WEIR__EXIT_FAILED;
  }
  result->checked = weir__check_file(path, result->stream, &check_options, report) == WEIR__CHECK_PROVED;
  if (!result->checked) weir__cli_error("replay", "%s: the check failed:\n%s", result->stream->name, report->text);
  free(report);
  return result->checked ? WEIR__EXIT_OK : WEIR__EXIT_FAILED;
}

static int run_stream(const weir__replay_options *options, const char *trace_path, weir__replayed *result,
                      progress *now) {
  if (options->lines > 0)
    return weir__replay_run_pipeline(result->stream, options, trace_path, show_progress, now, &result->pipelined);
  if (options->ranks > 0)
    return weir__replay_run_ranks(result->path, result->stream, options, trace_path, &result->run);
  if (weir__replay_by_acs(options)) return weir__replay_run_acs(result->stream, options, trace_path, &result->run);
  return weir__replay_run_stream(result->stream, options, trace_path, show_progress, now, &result->run);
}

static int write_page(const char *json_path, const char *page_path, const weir__replayed *result) {
  char message[512];
  weir_status status = weir__timeline_page(json_path, page_path, message, sizeof message);
  if (status != WEIR_OK) weir__cli_error("replay", "%s: %s", result->stream->name, message);
  return weir__cli_exit_code(status);
}

// The run itself, with its timeline and the check of it. Both a page and the check come from JSON.
static int run_and_check(const weir__replay_options *options, const char *timeline, weir__replayed *result,
                         progress *now) {
  char temporary[] = "/tmp/weir-replay-XXXXXX.json";
  bool is_json = timeline && strcmp(timeline + strlen(timeline) - 5, ".json") == 0;
  bool is_page = timeline && !is_json, is_temporary = is_page || (options->check && !is_json);
  const char *json_path = is_temporary ? temporary : timeline;
  if (is_temporary) {
    int file = mkstemps(temporary, 5);
    if (file < 0) {
      weir__cli_error("replay", "%s: %s; the timeline goes there first", temporary, strerror(errno));
      return WEIR__EXIT_FAILED;
    }
    close(file);
  }
  int exit_code = run_stream(options, json_path, result, now);
  if (exit_code == WEIR__EXIT_OK && is_page) exit_code = write_page(json_path, timeline, result);
  if (exit_code == WEIR__EXIT_OK && options->check) exit_code = check_timeline(options, json_path, result);
  if (is_temporary) unlink(temporary);
  return exit_code;
}

// The same tasks one after another on the same device, for comparison.
static int run_serially(const weir__replay_options *options, weir__replayed *result, progress *now) {
  if (options->issue == WEIR__REPLAY_SERIAL) {
    result->serial_us = result->run.makespan_us;
    return WEIR__EXIT_OK;
  }
  weir__replay_options serial = *options;
  serial.hazards = WEIR__PLAN_SERIAL;
  serial.issue = WEIR__REPLAY_SERIAL;
  serial.met = WEIR__REPLAY_MET_NOTHING;
  if (options->ranks > 0) serial.device = "cpu:1";
  serial.ranks = 0;
  if (weir__replay_by_acs(options)) serial.window = 0; // that one is not Weir's
  weir__replay_run run;
  int exit_code = weir__replay_run_stream(result->stream, &serial, NULL, show_progress, now, &run);
  result->serial_us = run.makespan_us;
  return exit_code;
}

static int replay_stream(const weir__replay_options *options, bool several, weir__replayed *result) {
  if (options->cluster) return weir__replay_run_cluster(result->path, result->stream, options, &result->cluster);
  progress now = {.name = result->stream->name, .start_ns = weir__clock_ns(), .repeat = options->repeat};
  char *timeline = options->timeline ? timeline_path(options, result->stream->name, several) : NULL;
  int exit_code = WEIR__EXIT_OK;
  if (options->timeline && !timeline) {
    weir__cli_error("replay", "%s: no memory", result->stream->name);
    exit_code = WEIR__EXIT_FAILED;
  }
  if (exit_code == WEIR__EXIT_OK) exit_code = run_and_check(options, timeline, result, &now);
  bool ran = (exit_code == WEIR__EXIT_OK || result->checked == 0) && options->lines == 0;
  if (ran) {
    int serial_exit = run_serially(options, result, &now);
    if (serial_exit != WEIR__EXIT_OK) exit_code = serial_exit;
  }
  if (ran && !weir__replay_limits(result->stream, options, &result->critical_us, &result->bound_us)) {
    weir__cli_error("replay", "%s: no memory to plan %" PRIu64 " passes", result->stream->name, options->repeat);
    exit_code = WEIR__EXIT_FAILED;
  }
  clear_progress(&now);
  free(timeline);
  return exit_code;
}

// ---------------------------------------------------------------------------------------------------------------
// The command

static const char summary[] =
    "Submits the tasks of recorded streams, with what each reads and writes, and runs them as early as their hazards\n"
    "allow. On the CPU a task spins for its recorded time on one worker; on a simulated device its kernels are\n"
    "launches of the recorded shape; on a CUDA device they are launches that occupy what the recorded ones did and\n"
    "spin for their time. Prints a table, or JSON.";

static const char details[] =
    "serial    the same tasks one after another on the same device, measured in a run of its own\n"
    "makespan  from the first submission to the end of the last task, without the time to build graphs\n"
    "critical  the longest chain of hazards; bound: the limit by buffer of the recorded device\n"
    "first     with --apart: the first pass; pass, least, most: median and extremes of the others\n"
    "submit    real time of the submitting thread per task, buffers included, host waits excluded; of graphs: to\n"
    "          launch them\n"
    "checked   whether the checker proved the timeline\n\n"
    "With --pipeline:\n"
    "job       time of a round by its jobs, the median of the rounds; least, most: the extremes; jobs: how many a "
    "second\n"
    "latency   from a job's start to its delivery: median and 99th percentile\n"
    "alone     one job at a time, a graph that is launched and awaited; back: graphs that are launched one behind the\n"
    "          other, not awaited; faster: that by job\n"
    "critical  the longest chain of a job; work: what all its kernels need of the recorded device\n"
    "submit    real time of the pipeline's threads per task, in stages and to launch what they submitted\n\n"
    "With --ranks:\n"
    "makespan  to the end of the last rank\n"
    "submit    of the rank that took longest; each rank submits all tasks\n"
    "messages  between ranks; sent: the bytes of buffers in them; fewest: the bytes that tasks need at their owners\n\n"
    "With --cluster, in virtual time:\n"
    "work      of all tasks; efficiency: work by makespan and workers\n"
    "workers   tasks and messages that the workers of one rank run; submission: calls of one rank; cores: both, of\n"
    "          ranks that share cores; links: the busiest; chain: tasks and messages that follow each other. No "
    "run\n"
    "          is quicker than any of these; limit: the greatest\n\n"
    "STREAM is a file, or a task graph of Task Bench: " WEIR__STREAM_PATTERN ".\n"
    "Exit codes: 0 done, 1 a run or check failed, 2 bad input or usage, 3 the device, or what ranks need, is missing.";

static bool valid(const weir__replay_options *options) {
  if (strchr(options->device, ',')) {
    weir__cli_error("replay", "--device: \"%s\" names several devices; a replay has one", options->device);
    return false;
  }
  const char *ending = options->timeline ? strrchr(options->timeline, '.') : ".html";
  if (ending && (strcmp(ending, ".html") == 0 || strcmp(ending, ".json") == 0)) return true;
  weir__cli_error("replay", "--timeline: %s does not end in .html or .json", options->timeline);
  return false;
}

// Reads all streams before the first runs. False: one is bad, as said on stderr.
static bool read_streams(char **paths, size_t count, weir__stream **streams) {
  for (size_t i = 0; i < count; i++) {
    char message[512];
    if (weir__stream_read_any(paths[i], message, sizeof message, &streams[i]) != WEIR_OK) {
      weir__cli_error("replay", "%s", message);
      return false;
    }
  }
  return true;
}

// Streams of one name would write their timelines to one file.
static bool have_own_timelines(char **paths, weir__stream **streams, size_t count) {
  for (size_t i = 1; i < count; i++) {
    for (size_t j = 0; j < i; j++) {
      if (strcmp(streams[i]->name, streams[j]->name) != 0) continue;
      weir__cli_error("replay",
                      "--timeline: the streams of %s and %s have the same name, %s, and so would their timelines",
                      paths[j], paths[i], streams[i]->name);
      return false;
    }
  }
  return true;
}

static bool replaces_stream(const char *timeline, char **paths, size_t count) {
  for (size_t i = 0; i < count; i++) {
    if (!weir__cli_is_same_file(timeline, paths[i])) continue;
    weir__cli_error("replay", "--timeline: %s: the timeline would replace the stream", timeline);
    return true;
  }
  return false;
}

// Before the first run, which may take long.
static bool can_write_timelines(const weir__replay_options *options, char **paths, weir__stream **streams,
                                size_t count) {
  bool can = true;
  for (size_t i = 0; i < count && can; i++) {
    char *path = timeline_path(options, streams[i]->name, count > 1);
    can = !path || (weir__cli_can_write("replay", "timeline", path) && // without memory the run says so
                    !replaces_stream(path, paths, count));
    free(path);
  }
  return can;
}

// On a CUDA device, a context that does nothing while others come and go: the driver's own context, which takes long to
// make, then stays. NULL elsewhere, and where there is no such device, as the first run will say.
static weir_context *keep_device(const weir__replay_options *options) {
  weir_context *keeper = NULL;
  if (strncmp(options->device, "cuda", 4) == 0) {
    weir_context_create(&(weir_context_options){.devices = options->device}, &keeper);
  }
  return keeper;
}

static int print(const weir__replayed *results, size_t count, const weir__replay_options *options, bool as_json) {
  if (options->cluster)
    return as_json ? weir__replay_print_cluster_json(results, count, options)
                   : weir__replay_print_cluster_table(results, count, options);
  if (options->lines > 0)
    return as_json ? weir__replay_print_pipeline_json(results, count, options)
                   : weir__replay_print_pipeline_table(results, count, options);
  return as_json ? weir__replay_print_json(results, count, options) : weir__replay_print_table(results, count, options);
}

static int replay_all(const weir__replay_options *options, char **paths, weir__stream **streams, size_t count,
                      bool as_json) {
  weir__replayed *results = calloc(count, sizeof *results);
  if (!results) {
    weir__cli_error("replay", "no memory");
    return WEIR__EXIT_FAILED;
  }
  int exit_code = WEIR__EXIT_OK;
  for (size_t i = 0; i < count; i++) {
    results[i] = (weir__replayed){.stream = streams[i], .path = paths[i], .checked = -1};
    int stream_exit = replay_stream(options, count > 1, &results[i]);
    if (stream_exit != WEIR__EXIT_OK) exit_code = stream_exit;
    // A broken hazard is a result; anything else ends it all.
    if (stream_exit != WEIR__EXIT_OK && results[i].checked != 0) {
      free(results);
      return exit_code;
    }
  }
  int printed = print(results, count, options, as_json);
  free(results);
  return exit_code != WEIR__EXIT_OK ? exit_code : printed;
}

int weir__replay_main(int argc, char **argv) {
  weir__replay_options options = {.device = "cpu",
                                  .hazards = WEIR__PLAN_BUFFER,
                                  .issue = WEIR__REPLAY_AUTO,
                                  .storage = -1,
                                  .repeat = 1,
                                  .time_scale = 1};
  bool as_json = false;
  const weir__cli_option list[] = {
      {"device", WEIR__CLI_TEXT, &options.device, "NAME",
       "cpu, cpu:N (N workers), cuda:N, vulkan:N, opencl:N (or opencl:N/P.K), sim:ideal (no host costs), sim:h200, or\n"
       "sim:FILE with a profile; default cpu",
       0, 0},
      {"hazards", WEIR__CLI_CHOICE, &options.hazards, WEIR__PLAN_MODES,
       "one after another; between raw addresses; between logical buffers, which may be renamed (default)", 0, 0},
      {"issue", WEIR__CLI_CHOICE, &options.issue, WEIR__REPLAY_ISSUES,
       "one after another (hazards serial) task by task, or with each pass recorded as a graph; task by task on\n"
       "queues; each pass recorded as a graph (host waits are ignored); or as Weir chooses (default). For comparison, "
       "on\n"
       "a simulated device: as ACS would, with its window on the host or in the device, hazards by address. Or "
       "(resident)\n"
       "task by task to a kernel that stays on a CUDA or simulated device. Or (repeats) as Weir chooses, with its "
       "trace cache\n"
       "for sequences of tasks that come again",
       0, 0},
      {"kernels", WEIR__CLI_CHOICE, &options.kernels, WEIR__REPLAY_KERNELS,
       "on a CUDA device: launches with the recorded grids and blocks (default), or as if the kernels were written "
       "with\n"
       "weir/kernel.h, so that they take as much of the device, as long, and may go to the resident kernel",
       0, 0},
      {"acs", WEIR__CLI_TEXT, &options.acs, "KEY=VALUE,...",
       "with --issue acs-sw or acs-hw: what things cost there. list=64: tasks that the host compares with (hw);\n"
       "check_ns=4.3: per range compared with; poll_us=0.1: until a thread has a ready task (sw); driver_us=1.4: of a\n"
       "launch, when no other thread can launch (sw); cycle_ns=0.71: of the window (hw)",
       0, 0},
      {"queues", WEIR__CLI_COUNT, &options.queues, "N", "in-order queues of the device; default: its own number", 1,
       4096},
      {"window", WEIR__CLI_COUNT, &options.window, "N", "tasks in flight at most; default 1024, of ACS 32", 8, 1 << 24},
      {"rename", WEIR__CLI_CHOICE, &options.rename, "on|off", "give overwritten buffers fresh storage; default on", 0,
       0},
      {"memory", WEIR__CLI_BYTES, &options.memory, "BYTES", "limit of storage, such as 64M; default: none", 1, 1e19},
      {"repeat", WEIR__CLI_COUNT, &options.repeat, "N", "submit the stream N times; default 1", 1, 1e6},
      {"pipeline", WEIR__CLI_COUNT, &options.lines, "LINES",
       "each pass is a job, and so many may be in flight: they go through a pipeline whose lines have buffers of "
       "their\n"
       "own. Beside it, one job at a time. Parts of a job up to a host wait are stages; each is a graph of the line's\n"
       "(--issue auto, graph) or tasks on queues (queues)",
       1, WEIR_PIPELINE_MOST_LINES},
      {"rounds", WEIR__CLI_COUNT, &options.rounds, "N", "with --pipeline: measure everything so often; default 5", 1,
       1000},
      {"ranks", WEIR__CLI_COUNT, &options.ranks, "N",
       "on N ranks of MPI, which the launcher starts as `weir run` does. A task runs on the owner of the first buffer\n"
       "that it writes",
       1, WEIR__CLUSTER_MOST_RANKS},
      {"deal", WEIR__CLI_COUNT, &options.deal, "N",
       "with --ranks: of each N buffers of the stream the first ones are rank 0's, as many next ones rank 1's, and so\n"
       "on; default 16, or the width of a pattern",
       1, 1e9},
      {"cluster", WEIR__CLI_TEXT, &options.cluster, "KEY=VALUE,...",
       "with --ranks: in virtual time, on a simulated cluster of up to 16384 ranks; \"default\", or settings: its "
       "shape\n"
       "(ranks_per_node=1, workers=1, cores=, oversubscribe=1) and costs of links (latency_us=, gbs=, switch_gbs=, "
       "local_latency_us=,\n"
       "local_gbs=), calls (submit_us=, pass_us=, buffer_us=, skip=1) and workers (task_us=, send_us=, receive_us=,\n"
       "copy_gbs=, jitter= of their times). Rates of 0 have no limit",
       0, 0},
      {"launcher", WEIR__CLI_TEXT, &options.launcher, "PROGRAM", "with --ranks: the launcher (mpirun)", 0, 0},
      {"apart", WEIR__CLI_FLAG, &options.apart, NULL, "wait for each pass before the next one starts", 0, 0},
      {"no-host-waits", WEIR__CLI_FLAG, &options.no_host_waits, NULL,
       "submit on where the program read results back, as graphs always do", 0, 0},
      {"met", WEIR__CLI_CHOICE, &options.met, WEIR__REPLAY_MET,
       "what runs once, untimed, before the first pass: nothing (default); the tasks as one chain; the tasks with\n"
       "other kernels' times and sizes, and other buffers; the stream itself",
       0, 0},
      {"storage", WEIR__CLI_CHOICE, &options.storage, "fresh|kept",
       "buffers are new in each pass, but for parameters (default), or made once and used by all", 0, 0},
      {"time-scale", WEIR__CLI_REAL, &options.time_scale, "X", "multiply the recorded times; default 1", 1e-6, 1e6},
      {"check", WEIR__CLI_FLAG, &options.check, NULL, "prove from the timeline that every hazard was honoured", 0, 0},
      {"timeline", WEIR__CLI_TEXT, &options.timeline, "FILE",
       "write the timeline, a page (.html) or for Perfetto (.json);\nwith several streams to FILE with -NAME before "
       "the ending",
       0, 0},
      {"json", WEIR__CLI_FLAG, &as_json, NULL, "print an array with one object per stream", 0, 0},
  };
  const weir__cli_command command = {
      .name = "replay",
      .arguments = "STREAM...",
      .summary = summary,
      .details = details,
      .options = list,
      .option_count = sizeof list / sizeof *list,
      .least_arguments = 1,
      .most_arguments = SIZE_MAX,
  };
  char **paths;
  size_t count;
  int exit_code;
  if (!weir__cli_parse(&command, argc, argv, &paths, &count, &exit_code)) return exit_code;
  if (!valid(&options) || !weir__replay_settle_acs(&options) || !weir__replay_settle_pipeline(&options) ||
      !weir__replay_settle_ranks(&options) || !weir__replay_settle_cluster(&options)) {
    return WEIR__EXIT_USAGE;
  }
  if (options.issue == WEIR__REPLAY_SERIAL || options.issue == WEIR__REPLAY_SERIAL_GRAPH) {
    options.hazards = WEIR__PLAN_SERIAL;
  }
  weir__stream **streams = calloc(count, sizeof(*streams));
  if (!streams) {
    weir__cli_error("replay", "no memory");
    return WEIR__EXIT_FAILED;
  }
  bool read = read_streams(paths, count, streams);
  if (read && options.timeline)
    read = have_own_timelines(paths, streams, count) && can_write_timelines(&options, paths, streams, count);
  weir_context *keeper = read ? keep_device(&options) : NULL;
  exit_code = read ? replay_all(&options, paths, streams, count, as_json) : WEIR__EXIT_USAGE;
  weir_context_release(keeper);
  for (size_t i = 0; i < count; i++) weir__stream_destroy(streams[i]);
  free(streams);
  return exit_code;
}
