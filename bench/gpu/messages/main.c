// SPDX-License-Identifier: Apache-2.0
//
// What a message between the cards of two ranks takes, through the host and directly, by Weir and by MPI alone. Started by
// bench/gpu/messages.sh.
#include <dlfcn.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "messages.h"
#include "weir/enqueue.h"

typedef struct arguments {
  uint64_t smallest, largest;
  uint32_t rounds;
  const char *devices[2], *json, *trace;
  bool plain, host_only, direct_only;
} arguments;

double now_us(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec * 1e6 + (double)time.tv_nsec / 1e3;
}

void must(bool good, const char *what) {
  if (good) return;
  fprintf(stderr, "weir-gpu-messages: %s: %s\n", what, weir_last_error());
  MPI_Abort(MPI_COMM_WORLD, EXIT_WRONG);
}

static weir_status touch(const weir_enqueue *call) {
  bench_world *world = call->data;
  world->native_context = call->native_context;
  bool reads = call->args[0].mode == WEIR_READ;
  unsigned value = *(const unsigned *)call->args[1].value;
  int result = reads ? 0 : world->driver.set_async(call->args[0].pointer, value, TOUCHED, call->queue);
  return result == 0 ? WEIR_OK : WEIR_ERROR_TASK_FAILED;
}

static weir_status fill(const weir_enqueue *call) {
  bench_world *world = call->data;
  const weir_enqueue_arg *to = &call->args[0];
  world->native_context = call->native_context;
  int result =
      world->driver.copy_async(to->pointer, (uint64_t)(uintptr_t)world->pattern, (size_t)to->bytes, call->queue);
  return result == 0 ? WEIR_OK : WEIR_ERROR_TASK_FAILED;
}

static weir_kernel *make_kernel(bench_world *world, const char *name, weir_enqueue_function function) {
  weir_kernel *kernel;
  must(weir_kernel_create(world->context, name, &kernel) == WEIR_OK, "kernel");
  const weir_enqueue_code code = {.function = function, .data = world};
  must(weir_kernel_set_enqueue(kernel, "cuda", &code) == WEIR_OK, "kernel");
  return kernel;
}

// What only measure_plain needs may be missing.
static void find_driver(card_driver *driver) {
  const char *file = getenv("WEIR_CUDA_DRIVER");
  void *library = dlopen(file != NULL && file[0] != '\0' ? file : "libcuda.so.1", RTLD_NOW), *symbol;
#define FIND(name, member, parameters)                                                                                 \
  symbol = library == NULL ? NULL : dlsym(library, #name);                                                             \
  memcpy(&driver->member, &symbol, sizeof symbol);
  CARD_SYMBOLS(FIND)
#undef FIND
  must(driver->set_async != NULL && driver->copy_async != NULL, "the driver lacks functions");
}

static void open_world(bench_world *world, const arguments *given) {
  char devices[64];
  void *pinned;
  snprintf(devices, sizeof devices, "cpu:2,%s", given->devices[world->rank]);
  if (weir_context_create(
          &(weir_context_options){.devices = devices, .flags = given->trace != NULL ? WEIR_CONTEXT_TRACE : 0},
          &world->context) != WEIR_OK) {
    fprintf(stderr, "weir-gpu-messages: rank %d: %s\n", world->rank, weir_last_error());
    MPI_Abort(MPI_COMM_WORLD, EXIT_LACKS);
  }
  world->card = weir_context_device(world->context, 1);
  find_driver(&world->driver);
  world->touch = make_kernel(world, "touch", touch);
  world->fill = make_kernel(world, "fill", fill);
  must(weir_host_allocate(world->card, given->largest, &pinned) == WEIR_OK, "pinned memory");
  world->pattern = pinned;
  for (uint64_t i = 0; i < given->largest / 4; i++)
    world->pattern[i] = (uint32_t)(i * 2654435761u) ^ (uint32_t)(i >> 20);
}

static void close_world(bench_world *world, const char *trace) {
  char path[300];
  snprintf(path, sizeof path, "%s.%d.json", trace == NULL ? "" : trace, world->rank);
  if (trace != NULL) must(weir_trace_save(world->context, path, "messages") == WEIR_OK, "trace");
  weir_host_free(world->card, world->pattern);
  must(weir_context_release(world->context) == WEIR_OK, "release");
}

static weir_mpi *join(const bench_world *world, uint32_t direct, char *reason, size_t size) {
  weir_mpi *mpi;
  const weir_mpi_options options = {.direct = direct, .direct_bytes = 1 << 10};
  must(weir_mpi_create(world->context, &options, &mpi) == WEIR_OK, "weir_mpi_create");
  bool is_direct = weir_mpi_is_direct(mpi, reason, size);
  if (world->rank == 0) printf("# %s: %s\n", is_direct ? "direct" : "through the host", reason);
  return mpi;
}

static void print_row(const arguments *given, FILE *json, uint64_t bytes, const char *way, const measured *row,
                      double plain_us) {
  double gbs = (double)bytes / row->hop_us / 1e3;
  printf("%-7s %10llu %11.1f %9.2f %11.2f", way, (unsigned long long)bytes, row->hop_us, gbs, row->stream_gbs);
  if (given->plain) printf(" %11.1f %9.2f", plain_us, (double)bytes / plain_us / 1e3);
  printf(" %8llu\n", (unsigned long long)row->direct_sent);
  fflush(stdout);
  if (json == NULL) return;
  fprintf(json,
          "{\"way\": \"%s\", \"bytes\": %llu, \"hop_us\": %.3f, \"hop_gbs\": %.3f, \"stream_gbs\": %.3f, "
          "\"plain_hop_us\": %.3f, \"direct_sent\": %llu}\n",
          way, (unsigned long long)bytes, row->hop_us, gbs, row->stream_gbs, plain_us,
          (unsigned long long)row->direct_sent);
  fflush(json);
}

static void run_way(bench_world *world, const arguments *given, FILE *json, bool direct) {
  char reason[200];
  weir_mpi *mpi = join(world, direct ? WEIR_MPI_DIRECT_AUTO : WEIR_MPI_DIRECT_NEVER, reason, sizeof reason);
  bool is_direct = weir_mpi_is_direct(mpi, NULL, 0);
  for (uint64_t bytes = given->smallest; bytes <= given->largest && is_direct == direct; bytes *= 4) {
    measured row = measure_size(world, mpi, bytes);
    double plain_us = given->plain ? measure_plain(world, bytes, direct) : 0;
    if (world->rank == 0) print_row(given, json, bytes, direct ? "direct" : "host", &row, plain_us);
  }
  must(weir_mpi_release(mpi) == WEIR_OK, "weir_mpi_release");
}

static void read_arguments(int argc, char **argv, arguments *out) {
  *out = (arguments){.smallest = 64 << 10, .largest = 256 << 20, .rounds = 10, .devices = {"cuda:0", "cuda:1"}};
  for (int i = 1; i < argc; i++) {
    const char *value = i + 1 < argc ? argv[i + 1] : NULL;
    if (strcmp(argv[i], "--plain") == 0)
      out->plain = true;
    else if (strcmp(argv[i], "--host") == 0)
      out->host_only = true;
    else if (strcmp(argv[i], "--direct") == 0)
      out->direct_only = true;
    else if (value == NULL)
      exit(EXIT_USAGE);
    else if (strcmp(argv[i++], "--rounds") == 0)
      out->rounds = (uint32_t)atoi(value);
    else if (strcmp(argv[i - 1], "--smallest") == 0)
      out->smallest = strtoull(value, NULL, 10);
    else if (strcmp(argv[i - 1], "--largest") == 0)
      out->largest = strtoull(value, NULL, 10);
    else if (strcmp(argv[i - 1], "--json") == 0)
      out->json = value;
    else if (strcmp(argv[i - 1], "--trace") == 0)
      out->trace = value;
    else if (strcmp(argv[i - 1], "--devices") == 0)
      out->devices[0] = strtok(argv[i], ","), out->devices[1] = strtok(NULL, ",");
    else
      exit(EXIT_USAGE);
  }
  if (out->rounds == 0 || out->smallest < 4 * TOUCHED || out->largest < out->smallest || out->devices[1] == NULL)
    exit(EXIT_USAGE);
}

int main(int argc, char **argv) {
  arguments given;
  bench_world world = {0};
  int level, size;
  read_arguments(argc, argv, &given);
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
  MPI_Comm_rank(MPI_COMM_WORLD, &world.rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  must(size == 2, "two ranks are needed");
  world.rounds = given.rounds;
  open_world(&world, &given);
  FILE *json = world.rank == 0 && given.json != NULL ? fopen(given.json, "w") : NULL;
  must(world.rank != 0 || given.json == NULL || json != NULL, "the file for JSON cannot be written");
  if (world.rank == 0)
    printf("%-7s %10s %11s %9s %11s%s %8s\n", "way", "bytes", "hop us", "GB/s", "stream GB/s",
           given.plain ? "  MPI hop us      GB/s" : "", "direct");
  if (!given.direct_only) run_way(&world, &given, json, false);
  if (!given.host_only) run_way(&world, &given, json, true);
  if (json != NULL) fclose(json);
  close_world(&world, given.trace);
  int wrong = world.wrong, any = 0;
  MPI_Allreduce(&wrong, &any, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
  if (world.rank == 0) printf("# contents: %s\n", any ? "wrong" : "right");
  MPI_Finalize();
  return any ? EXIT_WRONG : 0;
}
