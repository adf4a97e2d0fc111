// SPDX-License-Identifier: Apache-2.0
//
// Collectives over ranks that are threads of this process, each with a context on a card of its own.
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "nccl_case.h"
#include "random.h"
#include "rank_threads.h"

enum { RANKS = 2, COUNT = 16, BYTES = COUNT * 4 };

static void set_numbers(const weir_work *work) {
  uint32_t *numbers = work->args[0], value;
  memcpy(&value, work->args[1], sizeof value);
  for (uint32_t i = 0; i < COUNT; i++) numbers[i] = value + i;
}

static void step_numbers(const weir_work *work) {
  uint32_t *numbers = work->args[0], value;
  memcpy(&value, work->args[1], sizeof value);
  for (uint32_t i = 0; i < COUNT; i++) numbers[i] = stepped(numbers[i], value);
}

static void fail_task(const weir_work *work) {
  weir_work_fail(work, "on purpose");
}

// In a thread of a rank, where an assertion says nothing.
static void refused_on_a_rank(const rank_run *run, weir_status status, weir_status wanted, const char *text) {
  if (status == wanted && strstr(weir_last_error(), text) != NULL) return;
  fprintf(stderr, "rank %u: not '%s': %s: %s\n", run->rank, text, weir_status_name(status), weir_last_error());
  abort();
}

static void submit(rank_run *run, weir_function function, weir_buffer *buffer, uint32_t value, int32_t rank) {
  weir_arg args[] = {function == step_numbers ? weir_updates(buffer) : weir_writes(buffer),
                     weir_value(&value, sizeof value)};
  const weir_task task = {.host = function, .args = args, .arg_count = 2, .label = "numbers"};
  weir_mpi_submit(run->mpi, &task, rank, NULL);
}

static void make_buffers(rank_run *run, weir_buffer **buffers, uint32_t count) {
  for (uint32_t i = 0; i < count; i++) share_ok(weir_mpi_buffer_create(run->mpi, BYTES, i % run->size, &buffers[i]));
}

// Everywhere, by a fetch.
static void expect(rank_run *run, weir_buffer *buffer, const uint32_t *wanted) {
  uint32_t numbers[COUNT];
  share_ok(weir_mpi_fetch(run->mpi, buffer, 0, WEIR_WHOLE, WEIR_MPI_ALL));
  share_ok(weir_read(buffer, 0, BYTES, numbers));
  if (memcmp(numbers, wanted, BYTES) != 0) {
    fprintf(stderr, "rank %u: %u, not %u\n", run->rank, numbers[0], wanted[0]);
    abort();
  }
}

static void run_ranks(const weir_mpi_options *options, void (*body)(rank_run *run)) {
  rank_run runs[RANKS];
  setenv("WEIR_CUDA_DRIVER", CUDA_STUB, 1);
  setenv("WEIR_NCCL", NCCL_STUB, 1);
  setenv("WEIR_CACHE", "", 1);
  assert_true(stub_configure(&(stub_options){.devices = RANKS, .seed = 7, .executors = 4}));
  nccl_stub_reset();
  rank_threads_devices[0] = "cpu:1,cuda:0";
  rank_threads_devices[1] = "cpu:1,cuda:1";
  rank_threads_run(runs, RANKS, 1, options, body);
  assert_int_equal(nccl_stub_live(), 0);
  assert_int_equal(nccl_stub_violations(), 0);
  if (stub_violations() != 0) fail_msg("%s", stub_violation_text());
}

static void compute(rank_run *run) {
  weir_mpi_nccl *nccl;
  weir_buffer *buffers[RANKS];
  uint32_t wanted[COUNT];
  share_ok(weir_mpi_nccl_create(run->mpi, NULL, &nccl));
  make_buffers(run, buffers, RANKS);
  for (uint32_t rank = 0; rank < RANKS; rank++) submit(run, set_numbers, buffers[rank], rank * 100, (int32_t)rank);
  share_ok(weir_mpi_nccl_all_reduce(nccl, buffers, 0, WEIR_WHOLE, WEIR_REDUCE_SUM, WEIR_REDUCE_U32));
  for (uint32_t i = 0; i < COUNT; i++) wanted[i] = 100 + 2 * i;
  for (uint32_t rank = 0; rank < RANKS; rank++) expect(run, buffers[rank], wanted);
  // Contents that are on the other rank come there first.
  submit(run, set_numbers, buffers[0], 7, 1);
  share_ok(weir_mpi_nccl_reduce(nccl, buffers, 0, WEIR_WHOLE, WEIR_REDUCE_MIN, WEIR_REDUCE_U32, 1));
  for (uint32_t i = 0; i < COUNT; i++) wanted[i] = 7 + i;
  for (uint32_t rank = 0; rank < RANKS; rank++) expect(run, buffers[rank], wanted);
  submit(run, step_numbers, buffers[1], 3, 1);
  share_ok(weir_mpi_nccl_broadcast(nccl, buffers, 4, BYTES - 4, 1));
  for (uint32_t i = 1; i < COUNT; i++) wanted[i] = stepped(7 + i, 3);
  expect(run, buffers[0], wanted);
  share_ok(weir_mpi_nccl_release(nccl));
}

static void test_results(void **state) {
  (void)state;
  run_ranks(&(weir_mpi_options){0}, compute);
  assert_int_equal(nccl_stub_done(), 3);
}

static void refuse(rank_run *run) {
  weir_mpi_nccl *nccl;
  weir_buffer *buffers[RANKS], *same[RANKS];
  share_ok(weir_mpi_nccl_create(run->mpi, NULL, &nccl));
  make_buffers(run, buffers, RANKS);
  same[0] = same[1] = buffers[0];
  if (weir_mpi_nccl_all_reduce(nccl, NULL, 0, 4, WEIR_REDUCE_SUM, WEIR_REDUCE_U32) != WEIR_ERROR_INVALID_ARGUMENT ||
      weir_mpi_nccl_all_reduce(nccl, same, 0, 4, WEIR_REDUCE_SUM, WEIR_REDUCE_U32) != WEIR_ERROR_INVALID_ARGUMENT ||
      weir_mpi_nccl_all_reduce(nccl, buffers, 0, 6, WEIR_REDUCE_SUM, WEIR_REDUCE_U32) != WEIR_ERROR_INVALID_ARGUMENT ||
      weir_mpi_nccl_all_reduce(nccl, buffers, 0, 4, WEIR_REDUCE_KERNEL, WEIR_REDUCE_U32) !=
          WEIR_ERROR_INVALID_ARGUMENT ||
      weir_mpi_nccl_all_reduce(nccl, buffers, 0, 4, WEIR_REDUCE_SUM, (weir_reduce_type)6) !=
          WEIR_ERROR_INVALID_ARGUMENT ||
      weir_mpi_nccl_all_reduce(nccl, buffers, 0, 4, WEIR_REDUCE_SUM, WEIR_REDUCE_F64) != WEIR_ERROR_INVALID_ARGUMENT ||
      weir_mpi_nccl_reduce(nccl, buffers, 4, 8, WEIR_REDUCE_SUM, WEIR_REDUCE_I64, 0) != WEIR_ERROR_INVALID_ARGUMENT ||
      weir_mpi_nccl_all_reduce(nccl, buffers, BYTES, 4, WEIR_REDUCE_SUM, WEIR_REDUCE_U32) != WEIR_ERROR_OUT_OF_RANGE ||
      weir_mpi_nccl_broadcast(nccl, buffers, 0, 4, RANKS) != WEIR_ERROR_INVALID_ARGUMENT ||
      weir_mpi_nccl_broadcast(nccl, buffers, 0, 0, 0) != WEIR_ERROR_INVALID_ARGUMENT)
    abort();
  share_ok(weir_mpi_finish(run->mpi));
  share_ok(weir_mpi_nccl_release(nccl));
}

static bool lacks_behind_a_failure;

// A rank without a card: all ranks hear of it. That is no failure of a task, and hides none: the call took back with its
// own those of before.
static void lack_a_card(rank_run *run) {
  weir_mpi_nccl *nccl;
  weir_buffer *buffer;
  share_ok(weir_mpi_buffer_create(run->mpi, BYTES, 0, &buffer));
  if (lacks_behind_a_failure) submit(run, fail_task, buffer, 0, 0);
  refused_on_a_rank(run, weir_mpi_nccl_create(run->mpi, NULL, &nccl), WEIR_ERROR_UNAVAILABLE,
                    "no communicator over ranks: rank 1: the context has no CUDA device");
  weir_status status = weir_mpi_finish(run->mpi);
  if (lacks_behind_a_failure && run->rank == 0)
    refused_on_a_rank(run, status, WEIR_ERROR_TASK_FAILED, "on purpose");
  else
    share_ok(status);
}

// Rank 1 names its worker, or a card of another context. The job goes on.
static void name_no_card(rank_run *run) {
  weir_mpi_nccl *nccl;
  weir_context *other;
  share_ok(weir_context_create(&(weir_context_options){.devices = "cpu:1,cuda:1"}, &other));
  for (uint32_t i = 0; i < 2; i++) {
    weir_device *device = weir_context_device(i == 0 ? run->context : other, i);
    refused_on_a_rank(run, weir_mpi_nccl_create(run->mpi, run->rank == 1 ? device : NULL, &nccl),
                      WEIR_ERROR_UNAVAILABLE,
                      "no communicator over ranks: rank 1: the device is no CUDA device of the context");
  }
  share_ok(weir_mpi_finish(run->mpi));
  share_ok(weir_context_release(other));
}

static void test_refusals(void **state) {
  (void)state;
  run_ranks(&(weir_mpi_options){0}, refuse);
  run_ranks(&(weir_mpi_options){0}, name_no_card);
  rank_run runs[RANKS];
  rank_threads_devices[1] = "cpu:1";
  for (int behind = 0; behind < 2; behind++) {
    lacks_behind_a_failure = behind == 1;
    rank_threads_run(runs, RANKS, 1, &(weir_mpi_options){0}, lack_a_card);
    for (int i = 0; i < RANKS; i++) assert_int_equal(runs[i].released, WEIR_OK);
  }
}

// ---------------------------------------------------------------------------------------------------------------
// Collectives whose parts wait for those of an earlier one alone: all are submitted before the first one is ready.

enum { CHAIN = 20 };

static atomic_bool let_go[RANKS];
static bool first_fails;

static void set_when_let(const weir_work *work) {
  uint32_t *numbers = work->args[0], rank;
  memcpy(&rank, work->args[1], sizeof rank);
  while (!atomic_load(&let_go[rank])) usleep(100);
  for (uint32_t i = 0; i < COUNT; i++) numbers[i] = rank + i;
  if (first_fails && rank == 1) weir_work_fail(work, "on purpose");
}

static uint64_t tasks_of(const rank_run *run) {
  weir_statistics counts;
  weir_context_statistics(run->context, &counts);
  return counts.tasks;
}

static void add_up(weir_mpi_nccl *nccl, weir_buffer *const *buffers) {
  share_ok(weir_mpi_nccl_all_reduce(nccl, buffers, 0, WEIR_WHOLE, WEIR_REDUCE_SUM, WEIR_REDUCE_U32));
}

static void follow(rank_run *run) {
  weir_mpi_nccl *nccl;
  weir_buffer *buffers[RANKS];
  uint32_t numbers[COUNT];
  share_ok(weir_mpi_nccl_create(run->mpi, NULL, &nccl));
  make_buffers(run, buffers, RANKS);
  for (uint32_t rank = 0; rank < RANKS; rank++) submit(run, set_when_let, buffers[rank], rank, (int32_t)rank);
  add_up(nccl, buffers);
  uint64_t before = tasks_of(run);
  for (uint32_t i = 1; i < CHAIN; i++) add_up(nccl, buffers);
  if (tasks_of(run) - before != CHAIN - 1) { // no tasks that say when a rank is ready
    fprintf(stderr, "rank %u: %u tasks\n", run->rank, (unsigned)(tasks_of(run) - before));
    abort();
  }
  atomic_store(&let_go[run->rank], true);
  weir_mpi_finish(run->mpi);
  before = tasks_of(run);
  add_up(nccl, buffers); // behind one that is over: another failure, or its part alone
  weir_mpi_finish(run->mpi);
  if (!first_fails && tasks_of(run) - before != 1) abort();
  weir_status status = weir_read(buffers[run->rank], 0, BYTES, numbers);
  for (uint32_t i = 0; i < COUNT; i++) {
    if (first_fails ? status == WEIR_OK : status != WEIR_OK || numbers[i] != (1 + 2 * i) << CHAIN) abort();
  }
  for (uint32_t rank = 0; rank < RANKS; rank++) submit(run, set_numbers, buffers[rank], 1, (int32_t)rank);
  add_up(nccl, buffers); // the job goes on
  for (uint32_t i = 0; i < COUNT; i++) numbers[i] = 2 * (1 + i);
  expect(run, buffers[1], numbers);
  weir_mpi_finish(run->mpi);
  share_ok(weir_mpi_nccl_release(nccl));
}

static void test_follow(void **state) {
  (void)state;
  for (int way = 0; way < 2; way++) {
    first_fails = way == 1;
    for (int i = 0; i < RANKS; i++) atomic_store(&let_go[i], false);
    run_ranks(&(weir_mpi_options){0}, follow);
    assert_int_equal(nccl_stub_done(), first_fails ? 1 : CHAIN + 2);
    assert_int_equal(nccl_stub_aborts(), 0);
  }
}

// ---------------------------------------------------------------------------------------------------------------
// Random programs

enum { BUFFERS = 5, TASKS = 60 };

static void run_program(rank_run *run, random_state random) {
  weir_mpi_nccl *nccl;
  weir_buffer *buffers[BUFFERS];
  uint32_t model[BUFFERS][COUNT];
  share_ok(weir_mpi_nccl_create(run->mpi, NULL, &nccl));
  make_buffers(run, buffers, BUFFERS);
  for (uint32_t i = 0; i < BUFFERS; i++) {
    submit(run, set_numbers, buffers[i], i, WEIR_MPI_OWNER);
    for (uint32_t k = 0; k < COUNT; k++) model[i][k] = i + k;
  }
  for (uint32_t i = 0; i < TASKS; i++) {
    uint32_t a = random_below(&random, BUFFERS), b = (a + 1 + random_below(&random, BUFFERS - 1)) % BUFFERS;
    uint32_t value = random_below(&random, 50), root = random_below(&random, RANKS), kind = random_below(&random, 5);
    weir_buffer *pair[] = {buffers[a], buffers[b]};
    uint32_t *at[] = {model[a], model[b]};
    if (kind == 0) share_ok(weir_mpi_nccl_broadcast(nccl, pair, 0, BYTES, root));
    if (kind == 1) share_ok(weir_mpi_nccl_reduce(nccl, pair, 0, BYTES, WEIR_REDUCE_SUM, WEIR_REDUCE_U32, root));
    if (kind == 2) share_ok(weir_mpi_nccl_all_reduce(nccl, pair, 0, BYTES, WEIR_REDUCE_SUM, WEIR_REDUCE_U32));
    if (kind > 2) submit(run, step_numbers, buffers[a], value, (int32_t)root);
    for (uint32_t k = 0; k < COUNT; k++) {
      uint32_t sum = at[0][k] + at[1][k];
      if (kind == 0) at[1 - root][k] = at[root][k];
      if (kind == 1) at[root][k] = sum;
      if (kind == 2) at[0][k] = at[1][k] = sum;
      if (kind > 2) at[0][k] = stepped(at[0][k], value);
    }
  }
  for (uint32_t i = 0; i < BUFFERS; i++) expect(run, buffers[i], model[i]);
  share_ok(weir_mpi_finish(run->mpi));
  share_ok(weir_mpi_nccl_release(nccl));
}

static uint64_t seed;

static void run_random(rank_run *run) {
  run_program(run, (random_state){seed});
}

static void test_random(void **state) {
  (void)state;
  const char *text = getenv("WEIR_TEST_SEED");
  seed = (text != NULL ? strtoull(text, NULL, 0) : 1) * 1000;
#ifdef WEIR_SMALL_TESTS
  enum { PROGRAMS = 5 };
#else
  enum { PROGRAMS = 50 };
#endif
  for (int i = 0; i < PROGRAMS; i++, seed++) run_ranks(&(weir_mpi_options){0}, run_random);
}

// ---------------------------------------------------------------------------------------------------------------
// Failures

// What one rank should bring is missing: the collective fails on both, and the job goes on.
static void miss_an_input(rank_run *run) {
  weir_mpi_nccl *nccl;
  weir_buffer *buffers[RANKS];
  uint32_t numbers[COUNT];
  share_ok(weir_mpi_nccl_create(run->mpi, NULL, &nccl));
  make_buffers(run, buffers, RANKS);
  submit(run, set_numbers, buffers[0], 1, 0);
  submit(run, fail_task, buffers[1], 1, 1);
  share_ok(weir_mpi_nccl_all_reduce(nccl, buffers, 0, WEIR_WHOLE, WEIR_REDUCE_SUM, WEIR_REDUCE_U32));
  weir_mpi_fetch(run->mpi, buffers[0], 0, WEIR_WHOLE, WEIR_MPI_ALL);
  weir_status status = weir_read(buffers[0], 0, BYTES, numbers);
  if (status == WEIR_OK) abort();
  weir_mpi_finish(run->mpi);
  for (uint32_t rank = 0; rank < RANKS; rank++) submit(run, set_numbers, buffers[rank], 1, (int32_t)rank);
  share_ok(weir_mpi_nccl_all_reduce(nccl, buffers, 0, WEIR_WHOLE, WEIR_REDUCE_MAX, WEIR_REDUCE_U32));
  for (uint32_t i = 0; i < COUNT; i++) numbers[i] = 1 + i;
  expect(run, buffers[1], numbers);
  weir_mpi_finish(run->mpi);
  share_ok(weir_mpi_nccl_release(nccl));
}

// What one rank should bring to a second collective was to come of the first one, which fails. The other rank has all
// that it needs.
static void follow_what_fails(rank_run *run) {
  weir_mpi_nccl *nccl;
  weir_buffer *buffers[RANKS + 1];
  uint32_t wanted[COUNT];
  share_ok(weir_mpi_nccl_create(run->mpi, NULL, &nccl));
  make_buffers(run, buffers, RANKS + 1);
  submit(run, set_numbers, buffers[0], 1, 0);
  submit(run, fail_task, buffers[1], 1, 1);
  submit(run, set_numbers, buffers[2], 1, 1);
  share_ok(weir_mpi_nccl_all_reduce(nccl, buffers, 0, WEIR_WHOLE, WEIR_REDUCE_SUM, WEIR_REDUCE_U32));
  weir_buffer *next[] = {buffers[0], buffers[2]};
  share_ok(weir_mpi_nccl_all_reduce(nccl, next, 0, WEIR_WHOLE, WEIR_REDUCE_SUM, WEIR_REDUCE_U32));
  weir_mpi_finish(run->mpi);
  for (uint32_t rank = 0; rank < RANKS; rank++) submit(run, set_numbers, buffers[rank], 1, (int32_t)rank);
  share_ok(weir_mpi_nccl_all_reduce(nccl, buffers, 0, WEIR_WHOLE, WEIR_REDUCE_MAX, WEIR_REDUCE_U32));
  for (uint32_t i = 0; i < COUNT; i++) wanted[i] = 1 + i;
  expect(run, buffers[1], wanted);
  weir_mpi_finish(run->mpi);
  share_ok(weir_mpi_nccl_release(nccl));
}

// NCCL refuses one rank's call, and the other one waits on its card: the job fails, and that ends.
static void be_refused(rank_run *run) {
  weir_mpi_nccl *nccl;
  weir_buffer *buffers[RANKS];
  share_ok(weir_mpi_nccl_create(run->mpi, NULL, &nccl));
  make_buffers(run, buffers, RANKS);
  for (uint32_t rank = 0; rank < RANKS; rank++) submit(run, set_numbers, buffers[rank], 1, (int32_t)rank);
  weir_mpi_nccl_all_reduce(nccl, buffers, 0, WEIR_WHOLE, WEIR_REDUCE_SUM, WEIR_REDUCE_U32);
  refused_on_a_rank(run, weir_mpi_finish(run->mpi), WEIR_ERROR_TASK_FAILED, "its part of a collective of NCCL failed");
  weir_mpi_nccl_release(nccl);
}

// A rank does not come to the collective.
static void stay_away(rank_run *run) {
  weir_mpi_nccl *nccl;
  weir_buffer *buffers[RANKS];
  share_ok(weir_mpi_nccl_create(run->mpi, NULL, &nccl));
  make_buffers(run, buffers, RANKS);
  for (uint32_t rank = 0; rank < RANKS; rank++) submit(run, set_numbers, buffers[rank], 1, (int32_t)rank);
  if (run->rank == 0) weir_mpi_nccl_all_reduce(nccl, buffers, 0, WEIR_WHOLE, WEIR_REDUCE_SUM, WEIR_REDUCE_U32);
  refused_on_a_rank(run, weir_mpi_finish(run->mpi), WEIR_ERROR_INVALID_ARGUMENT, "a collective of NCCL");
  weir_mpi_nccl_release(nccl);
}

// How rank 1 has no part in what rank 0 waits for.
typedef enum absence { STAYS, DIES, LEAVES_OUT } absence;
static absence how_absent;
static bool broadcasts;

// Rank 1 makes no call any more.
static void be_absent(rank_run *run) {
  if (how_absent == DIES) threads_kill(run->job, 1);
  if (how_absent == LEAVES_OUT) weir_mpi_skip(run->mpi, 1);
  while (how_absent != DIES && weir__mpi_is_fine(run->mpi)) usleep(1000);
}

static void expect_absence(const rank_run *run, weir_status status) {
  static const weir_status statuses[] = {WEIR_ERROR_DEVICE_LOST, WEIR_ERROR_DEVICE_LOST, WEIR_ERROR_INVALID_ARGUMENT};
  static const char *const texts[] = {
      "rank 1 has stayed at call 12 for 1 s; rank 0 waits for it to be ready for call 13",
      "rank 1 is lost: nothing was heard of it for 1 s; rank 0 waits for it to be ready",
      "rank 1 has submitted call 13, and has no part in what rank 0 waits for"};
  refused_on_a_rank(run, status, statuses[how_absent], texts[how_absent]);
  refused_on_a_rank(run, status, statuses[how_absent],
                    broadcasts ? "the collective broadcast of NCCL" : "the collective all-reduce of NCCL");
}

static void wait_for_the_absent(rank_run *run) {
  weir_mpi_nccl *nccl;
  weir_buffer *buffers[RANKS];
  uint32_t numbers[COUNT];
  share_ok(weir_mpi_nccl_create(run->mpi, NULL, &nccl));
  make_buffers(run, buffers, RANKS);
  for (uint32_t rank = 0; rank < RANKS; rank++) submit(run, set_numbers, buffers[rank], 1, (int32_t)rank);
  if (run->rank == 1) {
    be_absent(run);
  } else {
    if (broadcasts)
      share_ok(weir_mpi_nccl_broadcast(nccl, buffers, 0, WEIR_WHOLE, 1));
    else
      share_ok(weir_mpi_nccl_all_reduce(nccl, buffers, 0, WEIR_WHOLE, WEIR_REDUCE_SUM, WEIR_REDUCE_U32));
    submit(run, step_numbers, buffers[0], 1, 0);
    if (weir_read(buffers[0], 0, BYTES, numbers) == WEIR_OK) abort();
    expect_absence(run, weir_mpi_finish(run->mpi));
  }
  weir_mpi_nccl_release(nccl);
}

// It waited for ever: only ends and messages were watched.
static void test_absent(void **state) {
  (void)state;
  for (int way = STAYS; way <= LEAVES_OUT + 1; way++) {
    broadcasts = way > LEAVES_OUT;
    how_absent = broadcasts ? STAYS : (absence)way;
    run_ranks(&(weir_mpi_options){.timeout_ns = 1000000000}, wait_for_the_absent);
    assert_int_equal(nccl_stub_done(), 0);
  }
}

// NCCL makes no communicator: it refuses at one rank, waits for a rank that dies, or waits for no reason.
typedef enum join_failure { REFUSES, LOST, WAITS } join_failure;
static join_failure how_joining;

static void *die_in_nccl(void *job) {
  while (nccl_stub_joining() < RANKS) usleep(1000);
  threads_kill(job, 1);
  return NULL;
}

static void join_in_vain(rank_run *run) {
  static const char *const texts[] = {
      " cannot join a communicator of NCCL: ", " is lost: nothing was heard of it for 1 s; rank ",
      "has waited for NCCL in weir_mpi_nccl_create for more than 1 s"};
  weir_mpi_nccl *nccl = (weir_mpi_nccl *)run;
  pthread_t thread;
  bool dies = how_joining == LOST && run->rank == 1;
  if (dies && pthread_create(&thread, NULL, die_in_nccl, run->job) != 0) abort();
  weir_status status = weir_mpi_nccl_create(run->mpi, NULL, &nccl);
  refused_on_a_rank(run, status, how_joining == REFUSES ? WEIR_ERROR_UNAVAILABLE : WEIR_ERROR_DEVICE_LOST,
                    texts[how_joining]);
  if (nccl != NULL) abort();
  if (dies) pthread_join(thread, NULL);
}

// All ranks waited for ever.
static void test_joining(void **state) {
  (void)state;
  for (how_joining = REFUSES; how_joining <= WAITS; how_joining++) {
    rank_run runs[RANKS];
    assert_true(stub_configure(&(stub_options){.devices = RANKS, .seed = 11, .executors = 4}));
    nccl_stub_reset();
    if (how_joining == REFUSES)
      nccl_stub_fail_nth("ncclCommInitRank", 2, 2);
    else
      nccl_stub_hold(true);
    rank_threads_run(runs, RANKS, 1, &(weir_mpi_options){.timeout_ns = 1000000000}, join_in_vain);
    // Threads that were left end after their contexts; they may begin as late.
    while (nccl_stub_joins() < (how_joining == REFUSES ? 1 : RANKS) || nccl_stub_live() > 0) {
      nccl_stub_hold(false);
      if (how_joining != WAITS) nccl_stub_end_joining();
      usleep(1000);
    }
  }
}

static void test_failures(void **state) {
  (void)state;
  run_ranks(&(weir_mpi_options){0}, miss_an_input);
  assert_int_equal(nccl_stub_done(), 1);
  assert_int_equal(nccl_stub_aborts(), 0);
  run_ranks(&(weir_mpi_options){0}, follow_what_fails);
  assert_int_equal(nccl_stub_done(), 1);
  assert_int_equal(nccl_stub_aborts(), 0);
  setenv("WEIR_NCCL", NCCL_STUB, 1);
  nccl_stub_reset();
  nccl_stub_fail_nth("ncclAllReduce", 2, 2);
  rank_run runs[RANKS];
  assert_true(stub_configure(&(stub_options){.devices = RANKS, .seed = 9, .executors = 4}));
  rank_threads_run(runs, RANKS, 1, &(weir_mpi_options){0}, be_refused);
  assert_int_equal(nccl_stub_aborts(), 2);
  assert_int_equal(nccl_stub_live(), 0);
  assert_int_equal(nccl_stub_done(), 0);
  run_ranks(&(weir_mpi_options){.timeout_ns = 2000000000}, stay_away);
  assert_int_equal(nccl_stub_done(), 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_results),  cmocka_unit_test(test_refusals),
                                     cmocka_unit_test(test_follow),   cmocka_unit_test(test_random),
                                     cmocka_unit_test(test_failures), cmocka_unit_test(test_absent),
                                     cmocka_unit_test(test_joining)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
