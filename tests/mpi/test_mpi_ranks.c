// SPDX-License-Identifier: Apache-2.0
//
// A rank of MPI, started by mpirun (run_ranks.py): "random N [DEVICES;...]" runs random programs, on each rank with the
// next of these devices; "cards N" does with "cpu:1,cuda", where each rank gets another card; "large" sends more than
// 2 GiB at once; "stop" stops rank 1 with a signal in the middle, and "stuck" does when it has begun to send a large
// message; "differ" submits another program there; "kill N" ends rank 1 by SIGKILL before its message N; "serialized N"
// is "random N" with MPI_THREAD_SERIALIZED; "threads" initialises MPI without threads.
#include <mpi.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "mpi_devices.h"
#include "mpi_program.h"

enum { LARGE_MESSAGE = 16 << 20 };

static int fail(const char *what, const char *text) {
  fprintf(stderr, "%s: %s\n", what, text);
  MPI_Abort(MPI_COMM_WORLD, 1);
  return 1;
}

static void add_one(const weir_work *work) {
  unsigned char *bytes = work->args[0];
  bytes[0]++;
}

// Says how it ended, and leaves without the lost rank.
static int report(weir_mpi *mpi, weir_context *context, weir_status status) {
  fprintf(stderr, "rank %u: %s: %s\n", weir_mpi_rank(mpi), weir_status_name(status), weir_last_error());
  weir_mpi_release(mpi);
  weir_context_release(context);
  _exit(status == WEIR_OK ? 0 : 3);
}

static bool stops_in_message;

// What the library calls: this MPI takes memory of the stub driver's devices. Rank 1 is stopped when its large message has begun,
// and the other rank may have matched it.
int MPI_Isend(const void *memory, int count, MPI_Datatype type, int to, int tag, MPI_Comm communicator,
              MPI_Request *out_request) {
  const void *from = mpi_devices_memory(memory, (uint64_t)count);
  int result = PMPI_Isend(from, count, type, to, tag, communicator, out_request);
  if (stops_in_message && count >= LARGE_MESSAGE) raise(SIGSTOP);
  return result;
}

int MPI_Irecv(void *memory, int count, MPI_Datatype type, int from, int tag, MPI_Comm communicator,
              MPI_Request *out_request) {
  void *to = mpi_devices_memory(memory, (uint64_t)count);
  return PMPI_Irecv(to, count, type, from, tag, communicator, out_request);
}

// What this MPI says of itself.
int MPIX_Query_cuda_support(void);
__attribute__((visibility("default"))) int MPIX_Query_cuda_support(void) {
  const char *answer = getenv("TEST_CUDA_SUPPORT");
  return answer != NULL && strcmp(answer, "1") == 0;
}

static int run_stuck(weir_mpi *mpi, weir_context *context) {
  weir_buffer *a;
  weir_mpi_buffer_create(mpi, LARGE_MESSAGE, 1, &a);
  const weir_arg arg = weir_writes(a);
  const weir_task task = {.host = add_one, .args = &arg, .arg_count = 1, .label = "large"};
  fprintf(stderr, "pid %d\n", (int)getpid());
  stops_in_message = true;
  weir_mpi_submit(mpi, &task, WEIR_MPI_OWNER, NULL);
  weir_mpi_fetch(mpi, a, 0, WEIR_WHOLE, 0);
  return report(mpi, context, weir_mpi_finish(mpi));
}

static int run_faulty(weir_mpi *mpi, weir_context *context, const char *how) {
  weir_buffer *a;
  bool first = weir_mpi_rank(mpi) == 1;
  weir_mpi_buffer_create(mpi, 64, 1, &a);
  const weir_arg arg = weir_updates(a);
  const weir_task task = {.host = add_one, .args = &arg, .arg_count = 1, .label = "update"};
  weir_mpi_submit(mpi, &task, WEIR_MPI_OWNER, NULL);
  weir_mpi_finish(mpi);
  if (first && strcmp(how, "stop") == 0) {
    fprintf(stderr, "pid %d\n", (int)getpid());
    raise(SIGSTOP);
    _exit(4);
  }
  if (first && strcmp(how, "differ") == 0) weir_mpi_submit(mpi, &task, WEIR_MPI_OWNER, NULL);
  weir_mpi_submit(mpi, &task, WEIR_MPI_OWNER, NULL);
  weir_mpi_fetch(mpi, a, 0, WEIR_WHOLE, 0);
  return report(mpi, context, weir_mpi_finish(mpi));
}

// Rank 1 ends by a signal before its message number `message` would leave: each round is one from each rank to the
// other.
static int run_killed(weir_mpi *mpi, weir_context *context, uint64_t message) {
  weir_buffer *a;
  weir_mpi_buffer_create(mpi, 64, 0, &a);
  const weir_arg arg = weir_updates(a);
  const weir_task task = {.host = add_one, .args = &arg, .arg_count = 1, .label = "update"};
  for (uint64_t round = 0; round < 8; round++) {
    weir_mpi_submit(mpi, &task, 0, NULL);
    if (weir_mpi_rank(mpi) == 1 && round == message) {
      weir_finish(context);
      raise(SIGKILL);
    }
    weir_mpi_submit(mpi, &task, 1, NULL);
  }
  weir_mpi_fetch(mpi, a, 0, WEIR_WHOLE, 0);
  return report(mpi, context, weir_mpi_finish(mpi));
}

static uint8_t large_byte(uint64_t at) {
  return (uint8_t)(at * 0x9e3779b97f4a7c15u >> 56);
}

static void write_large(const weir_work *work) {
  uint8_t *bytes = work->args[0];
  uint64_t count = (uint64_t)(uintptr_t)work->user;
  for (uint64_t i = 0; i < count; i++) bytes[i] = large_byte(i);
}

static void read_large(const weir_work *work) {
  const uint8_t *bytes = work->args[0];
  uint64_t count = (uint64_t)(uintptr_t)work->user, i = 0;
  while (i < count && bytes[i] == large_byte(i)) i++;
  if (i < count) weir_work_fail(work, "a byte of a large message is wrong");
}

// What one rank writes the other one reads.
static int run_large(weir_mpi *mpi, weir_context *context) {
  const uint64_t count = (UINT64_C(1) << 31) + 4099;
  weir_buffer *a;
  if (weir_mpi_buffer_create(mpi, count, 1, &a) != WEIR_OK) return fail("create", weir_last_error());
  const weir_arg writes = weir_writes(a), reads = weir_reads(a);
  weir_task task = {.host = write_large, .user = (void *)(uintptr_t)count, .args = &writes, .arg_count = 1};
  weir_mpi_submit(mpi, &task, WEIR_MPI_OWNER, NULL);
  task.host = read_large;
  task.args = &reads;
  weir_mpi_submit(mpi, &task, 0, NULL);
  if (weir_mpi_finish(mpi) != WEIR_OK) return fail("finish", weir_last_error());
  weir_mpi_statistics counts;
  weir_mpi_get_statistics(mpi, &counts);
  if (weir_mpi_rank(mpi) == 0 && counts.bytes_received != count) return fail("large", "another number of bytes came");
  if (weir_mpi_release(mpi) != WEIR_OK) return fail("release", weir_last_error());
  weir_context_release(context);
  MPI_Finalize();
  return 0;
}

// The devices of this rank: one of a list, in turn.
static const char *devices_of(const char *list, int rank) {
  static char chosen[100];
  size_t count = 1;
  for (const char *at = list; (at = strchr(at, ';')) != NULL; at++) count++;
  for (size_t i = (size_t)rank % count; i > 0; i--) list = strchr(list, ';') + 1;
  snprintf(chosen, sizeof chosen, "%.*s", (int)strcspn(list, ";"), list);
  return chosen;
}

// Ranks of a host have different cards, though all of them asked for the same.
static bool have_cards_of_their_own(const weir_context *context) {
  int cards[MPI_RANKS], card = -1, rank, size;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (sscanf(weir_device_information(weir_context_device(context, 1))->name, "cuda:%d", &card) != 1) return false;
  MPI_Allgather(&card, 1, MPI_INT, cards, 1, MPI_INT, MPI_COMM_WORLD);
  for (int i = 0; i < size; i++) {
    if (i != rank && cards[i] == card) return false;
  }
  return true;
}

// Says how contents in the memory of devices went.
static void print_direct(weir_mpi *mpi) {
  char reason[200];
  weir_mpi_statistics counts;
  weir_mpi_is_direct(mpi, reason, sizeof reason);
  weir_mpi_get_statistics(mpi, &counts);
  printf("rank %u: %s: %llu messages sent from devices, %llu received there\n", weir_mpi_rank(mpi), reason,
         (unsigned long long)counts.direct_sent, (unsigned long long)counts.direct_received);
  fflush(stdout);
}

static int run_random(weir_mpi *mpi, weir_context *context, uint64_t count, uint64_t seed) {
  for (uint64_t i = 0; i < count; i++) {
    const char *text = mpi_program_run(context, mpi, seed + i, (seed + i) % 2 == 1);
    if (text[0] == '\0') continue;
    fprintf(stderr, "seed %llu\n", (unsigned long long)(seed + i));
    return fail("random", text);
  }
  print_direct(mpi);
  if (weir_mpi_release(mpi) != WEIR_OK) return fail("release", weir_last_error());
  weir_context_release(context);
  MPI_Finalize();
  return 0;
}

int main(int argc, char **argv) {
  if (argc < 2) return 2;
  int given;
  bool alone = strcmp(argv[1], "threads") == 0;
  bool serialized = strcmp(argv[1], "serialized") == 0;
  int wanted = alone ? MPI_THREAD_SINGLE : serialized ? MPI_THREAD_SERIALIZED : MPI_THREAD_MULTIPLE;
  MPI_Init_thread(&argc, &argv, wanted, &given);
  weir_context *context;
  weir_mpi *mpi;
  int rank;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  bool cards = strcmp(argv[1], "cards") == 0;
  const weir_context_options options = {.devices = cards      ? "cpu:1,cuda"
                                                   : argc > 3 ? devices_of(argv[3], rank)
                                                              : "cpu:1"};
  if (weir_context_create(&options, &context) != WEIR_OK) return fail("context", weir_last_error());
  if (cards && !have_cards_of_their_own(context)) return fail("cards", "two ranks have the same one");
  bool stuck = strcmp(argv[1], "stuck") == 0, stops = stuck || strcmp(argv[1], "stop") == 0;
  const weir_mpi_options mpi_options = {.timeout_ns = stops ? UINT64_C(2000000000) : 0,
                                        .piece_bytes = stuck || strcmp(argv[1], "large") == 0 ? 0 : 256,
                                        .direct_bytes = 64};
  const struct {
    weir_mpi_options known;
    uint64_t more;
  } later = {.known = mpi_options, .more = 1};
  weir_status status = weir_mpi_create_sized(context, &later.known, sizeof later, &mpi);
  if (status != WEIR_ERROR_INVALID_ARGUMENT || strstr(weir_last_error(), "weir_mpi_create: a member is set") == NULL)
    return fail("a member of a later version", weir_last_error());
  status = weir_mpi_create(context, &mpi_options, &mpi);
  if (alone) {
    bool right = status == WEIR_ERROR_INVALID_ARGUMENT && strstr(weir_last_error(), "without support for threads");
    weir_context_release(context);
    MPI_Finalize();
    return right || given >= MPI_THREAD_SERIALIZED ? 0 : 1;
  }
  if (status != WEIR_OK) return fail("create", weir_last_error());
  if (strcmp(argv[1], "stuck") == 0) return run_stuck(mpi, context);
  if (strcmp(argv[1], "kill") == 0) return run_killed(mpi, context, strtoull(argv[2], NULL, 10));
  if (strcmp(argv[1], "large") == 0) return run_large(mpi, context);
  if (strcmp(argv[1], "random") != 0 && !cards && !serialized) return run_faulty(mpi, context, argv[1]);
  const char *seed = getenv("WEIR_TEST_SEED");
  return run_random(mpi, context, strtoull(argv[2], NULL, 10), seed == NULL ? 1 : strtoull(seed, NULL, 10));
}
