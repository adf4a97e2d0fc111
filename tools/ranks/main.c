// SPDX-License-Identifier: Apache-2.0
//
// weir-replay-ranks: what `weir replay --ranks` starts on each rank. Rank 0 prints a line of JSON. With WEIR_TRACE in
// the environment each rank also writes its timeline.
#include <mpi.h>
#include <stdlib.h>

#include "cli.h"
#include "play.h"
#include "stream_pattern.h"

typedef struct rank_options {
  const char *device;
  uint64_t window, memory;
  int rename; // 0: on
  weir__play_options play;
} rank_options;

// Rank 0 gets the sums, and the greatest times.
static void print(weir_context *context, weir_mpi *mpi, double makespan_us, double submit_ns) {
  weir_statistics own;
  weir_mpi_statistics sent;
  weir_context_statistics(context, &own);
  weir_mpi_get_statistics(mpi, &sent);
  double times[2] = {makespan_us, submit_ns}, all_times[2];
  uint64_t counts[] = {own.edges, own.renamed, own.window_waits, own.peak_bytes, sent.bytes_sent, sent.messages_sent},
           all[sizeof counts / sizeof *counts];
  MPI_Reduce(times, all_times, 2, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
  MPI_Reduce(counts, all, sizeof counts / sizeof *counts, MPI_UINT64_T, MPI_SUM, 0, MPI_COMM_WORLD);
  if (weir_mpi_rank(mpi) != 0) return;
  json_t *object =
      json_pack("{s:s, s:f, s:f, s:I, s:I, s:I, s:I, s:I, s:I, s:I}", "device",
                weir_device_information(weir_context_device(context, 0))->name, "makespan_us", all_times[0],
                "submit_ns", all_times[1], "edges", (json_int_t)all[0], "renamed", (json_int_t)all[1], "window_waits",
                (json_int_t)all[2], "peak_bytes", (json_int_t)all[3], "bytes_sent", (json_int_t)all[4], "messages",
                (json_int_t)all[5], "window", (json_int_t)own.window);
  if (object != NULL) json_dumpf(object, stdout, JSON_COMPACT);
  putchar('\n');
  fflush(stdout);
  json_decref(object);
}

static int fail(const char *what) {
  weir__cli_error("replay", "%s: %s", what, weir_last_error());
  MPI_Abort(MPI_COMM_WORLD, WEIR__EXIT_FAILED);
  return WEIR__EXIT_FAILED;
}

static double begun; // seconds

static void begin(void) {
  MPI_Barrier(MPI_COMM_WORLD);
  begun = MPI_Wtime();
}

static int play(const weir__stream *stream, const rank_options *options) {
  const weir_context_options context_options = {.devices = options->device,
                                                .window = (uint32_t)options->window,
                                                .memory_limit = options->memory,
                                                .flags = options->rename == 0 ? 0 : WEIR_CONTEXT_NO_RENAME};
  weir_context *context;
  weir_mpi *mpi;
  if (weir_context_create(&context_options, &context) != WEIR_OK) return fail("the context");
  if (weir_mpi_create(context, NULL, &mpi) != WEIR_OK) return fail("the job");
  double submit_ns = 0;
  if (weir__play(context, mpi, stream, &options->play, begin, &submit_ns) != WEIR_OK) return fail(stream->name);
  print(context, mpi, (MPI_Wtime() - begun) * 1e6, submit_ns);
  if (weir_mpi_release(mpi) != WEIR_OK) return fail("the job");
  if (weir_context_release(context) != WEIR_OK) return fail("the context");
  return WEIR__EXIT_OK;
}

static bool parse(int argc, char **argv, rank_options *options, const char **out_path, int *out_exit) {
  const weir__cli_option list[] = {
      {"device", WEIR__CLI_TEXT, &options->device, "NAME", "cpu or cpu:N", 0, 0},
      {"window", WEIR__CLI_COUNT, &options->window, "N", "tasks in flight", 0, 0},
      {"memory", WEIR__CLI_COUNT, &options->memory, "N", "limit of storage", 0, 0},
      {"rename", WEIR__CLI_CHOICE, &options->rename, "on|off", "rename buffers", 0, 0},
      {"repeat", WEIR__CLI_COUNT, &options->play.repeat, "N", "passes", 0, 0},
      {"deal", WEIR__CLI_COUNT, &options->play.round, "N", "buffers of a round", 0, 0},
      {"time-scale", WEIR__CLI_REAL, &options->play.time_scale, "X", "of the recorded times", 0, 0},
      {"kept", WEIR__CLI_FLAG, &options->play.kept, NULL, "buffers are kept", 0, 0},
      {"no-host-waits", WEIR__CLI_FLAG, &options->play.no_host_waits, NULL, "no waits of the program", 0, 0},
  };
  const weir__cli_command command = {.name = "replay-ranks",
                                     .arguments = "STREAM",
                                     .summary = "Plays a stream on one of several ranks, for `weir replay --ranks`.",
                                     .options = list,
                                     .option_count = sizeof list / sizeof *list,
                                     .least_arguments = 1,
                                     .most_arguments = 1};
  char **arguments;
  size_t count;
  if (!weir__cli_parse(&command, argc, argv, &arguments, &count, out_exit)) return false;
  *out_path = arguments[0];
  return true;
}

int main(int argc, char **argv) {
  rank_options options = {.device = "cpu", .play = {.repeat = 1, .round = 16, .time_scale = 1}};
  const char *path;
  char message[512];
  int exit_code = WEIR__EXIT_USAGE, threads;
  if (!parse(argc, argv, &options, &path, &exit_code)) return exit_code;
  weir__stream *stream = NULL;
  if (weir__stream_read_any(path, message, sizeof message, &stream) != WEIR_OK) {
    weir__cli_error("replay", "%s", message);
    return WEIR__EXIT_USAGE;
  }
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &threads);
  if (threads < MPI_THREAD_MULTIPLE) { // this thread calls MPI beside the library
    weir__cli_error("replay", "MPI does not support MPI_THREAD_MULTIPLE");
    MPI_Abort(MPI_COMM_WORLD, WEIR__EXIT_UNAVAILABLE);
  }
  exit_code = play(stream, &options);
  MPI_Finalize();
  weir__stream_destroy(stream);
  return exit_code;
}
