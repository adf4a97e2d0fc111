// SPDX-License-Identifier: Apache-2.0
//
// Contents of devices of the stub driver between ranks that are threads, directly and through pinned memory of the host: where
// they go, what is cancelled, ranks that are lost.
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "mpi_devices.h"
#include "part.h"
#include "random.h"
#include "rank_threads.h"
#include "weir/cuda.h"
#include "weir/external.h"

enum { BYTES = 300000, STEPS = 14, OTHERS = 20, VERSIONS = 12 };

// ---------------------------------------------------------------------------------------------------------------
// Large contents

static uint8_t expected[BYTES];

typedef struct step_of {
  mpi_work work;
  uint32_t rank;
  bool on_host;
} step_of;

// The whole buffer, or a part of it, at a random rank on its card or its worker.
static step_of make_step(random_state *random, uint32_t size, bool first) {
  step_of made = {.rank = random_below(random, size), .on_host = !first && random_chance(random, 20)};
  bool whole = first || random_chance(random, 60);
  uint32_t offset = whole ? 0 : random_below(random, BYTES / 4), bytes = whole ? BYTES : BYTES / 2;
  made.work = (mpi_work){.seed = random_next(random), .count = 1};
  made.work.accesses[0] =
      (mpi_use){.mode = first ? WEIR_WRITE : WEIR_READ_WRITE, .buffer = 0, .offset = offset, .bytes = bytes};
  return made;
}

static void note(rank_run *run, weir_status status, const char *what) {
  if (status != WEIR_OK && run->text[0] == '\0')
    snprintf(run->text, sizeof run->text, "%s: %.300s", what, weir_last_error());
}

static weir_status submit_step(rank_run *run, const mpi_devices *devices, weir_buffer *buffer, const step_of *step) {
  const mpi_use *use = &step->work.accesses[0];
  const weir_arg args[] = {
      weir_value(&step->work, sizeof step->work),
      {.mode = use->mode, .buffer = buffer, .offset = use->offset, .bytes = use->bytes},
  };
  weir_task task = {.args = args, .arg_count = 2, .label = "step"};
  if (step->on_host)
    task.host = mpi_work_function;
  else
    task.kernel = devices->kernels[0][0];
  return weir_mpi_submit(run->mpi, &task, (int32_t)step->rank, NULL);
}

static void large_body(rank_run *run) {
  random_state random = {run->seed};
  mpi_devices devices;
  weir_buffer *buffer;
  static _Thread_local uint8_t got[BYTES];
  note(run, mpi_devices_open(run->context, &devices), "devices");
  note(run, weir_mpi_buffer_create(run->mpi, BYTES, 0, &buffer), "buffer");
  for (uint32_t i = 0; i < STEPS && run->text[0] == '\0'; i++) {
    step_of step = make_step(&random, run->size, i == 0);
    note(run, submit_step(run, &devices, buffer, &step), "submit");
  }
  note(run, weir_mpi_fetch(run->mpi, buffer, 0, WEIR_WHOLE, WEIR_MPI_ALL), "fetch");
  note(run, weir_read(buffer, 0, BYTES, got), "read");
  if (run->text[0] == '\0' && memcmp(got, expected, BYTES) != 0)
    snprintf(run->text, sizeof run->text, "contents differ");
  note(run, weir_mpi_finish(run->mpi), "finish");
  weir_mpi_statistics counts;
  weir_mpi_get_statistics(run->mpi, &counts);
  run->direct_sent = counts.direct_sent;
  run->direct_received = counts.direct_received;
  note(run, mpi_devices_close(&devices), "close");
}

static void expect_steps(uint64_t seed, uint32_t size) {
  random_state random = {seed};
  for (uint32_t i = 0; i < STEPS; i++) {
    step_of step = make_step(&random, size, i == 0);
    uint8_t *at = expected + step.work.accesses[0].offset;
    mpi_work_perform(&step.work, &at);
  }
}

static void run_large(uint32_t direct, uint64_t piece_bytes, bool expects_direct) {
  uint64_t sent = 0, received = 0;
  const test_part seeds = part_of(4);
  for (uint64_t seed = seeds.first + 1; seed <= seeds.end; seed++) {
    rank_run runs[3];
    const weir_mpi_options options = {
        .direct = direct, .direct_bytes = 100000, .piece_bytes = piece_bytes, .send_limit = seed % 2 == 0 ? BYTES : 0};
    expect_steps(seed, 3);
    rank_threads_run(runs, 3, seed, &options, large_body);
    for (uint32_t r = 0; r < 3; r++) {
      if (runs[r].text[0] != '\0') fail_msg("seed %d, rank %u: %s", (int)seed, r, runs[r].text);
      assert_int_equal(runs[r].released, WEIR_OK);
      sent += runs[r].direct_sent;
      received += runs[r].direct_received;
    }
  }
  assert_int_equal(sent > 0, expects_direct);
  assert_int_equal(received > 0, expects_direct);
  assert_int_equal(mpi_devices_violations(), 0);
}

static void test_large(void **state) {
  (void)state;
  run_large(WEIR_MPI_DIRECT_ALWAYS, 0, true);
  run_large(WEIR_MPI_DIRECT_ALWAYS, 65536, true);
  run_large(WEIR_MPI_DIRECT_NEVER, 0, false);
  run_large(WEIR_MPI_DIRECT_NEVER, 65536, false);
}

// Tasks that run one after another: what keeps the contents until the message ends stood before what hands it on.
static void test_in_order(void **state) {
  (void)state;
  rank_threads_flags = WEIR_CONTEXT_IN_ORDER;
  run_large(WEIR_MPI_DIRECT_ALWAYS, 0, true);
  rank_threads_flags = 0;
}

// ---------------------------------------------------------------------------------------------------------------
// What is known of the transport decides

static void reason_body(rank_run *run) {
  run->direct_sent = weir_mpi_is_direct(run->mpi, run->text, sizeof run->text);
  run->status = weir_mpi_finish(run->mpi);
}

static void test_reasons(void **state) {
  (void)state;
  static const struct {
    uint32_t direct;
    const char *reason;
    bool is_direct;
  } cases[] = {{WEIR_MPI_DIRECT_AUTO, "the transport does not tell", false},
               {WEIR_MPI_DIRECT_NEVER, "weir_mpi_options.direct says never", false},
               {WEIR_MPI_DIRECT_ALWAYS, "weir_mpi_options.direct says always", true}};
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    rank_run runs[1];
    const weir_mpi_options options = {.direct = cases[i].direct};
    rank_threads_run(runs, 1, 0, &options, reason_body);
    assert_string_equal(runs[0].text, cases[i].reason);
    assert_int_equal(runs[0].direct_sent, cases[i].is_direct);
  }
}

// ---------------------------------------------------------------------------------------------------------------
// Versions

static mpi_work write_all(uint64_t seed) {
  return (mpi_work){.seed = seed, .count = 1, .accesses = {{.mode = WEIR_WRITE, .bytes = BYTES}}};
}

static mpi_work read_all(void) {
  return (mpi_work){.count = 1, .accesses = {{.mode = WEIR_READ, .bytes = BYTES}}};
}

static weir_status submit_work(rank_run *run, const mpi_devices *devices, weir_buffer *buffer, mpi_work work,
                               uint32_t rank) {
  const step_of step = {.work = work, .rank = rank};
  return submit_step(run, devices, buffer, &step);
}

static void sleep_ms(uint64_t ms) {
  nanosleep(&(struct timespec){.tv_nsec = (long)ms * 1000000}, NULL);
}

// What is sent is overwritten as soon as it may be, and so is what is received: each version is copied at the other rank.
static void versions_body(rank_run *run) {
  mpi_devices devices;
  weir_buffer *buffer, *copies[VERSIONS];
  note(run, mpi_devices_open(run->context, &devices), "devices");
  note(run, weir_mpi_buffer_create(run->mpi, BYTES, 0, &buffer), "buffer");
  threads_slow(run->job, 10);
  for (uint32_t i = 0; i < VERSIONS; i++) {
    if (run->rank == 0) sleep_ms(3); // what is sent is on its way, and the tasks before it are done
    const mpi_work work = {.count = 2,
                           .accesses = {{.mode = WEIR_READ, .bytes = BYTES}, {.mode = WEIR_WRITE, .bytes = BYTES}}};
    note(run, weir_mpi_buffer_create(run->mpi, BYTES, 1, &copies[i]), "buffer");
    note(run, submit_work(run, &devices, buffer, write_all(i), 0), "write");
    const weir_arg args[] = {weir_value(&work, sizeof work), weir_reads(buffer), weir_writes(copies[i])};
    const weir_task task = {.kernel = devices.kernels[1][0], .args = args, .arg_count = 3, .label = "copy"};
    note(run, weir_mpi_submit(run->mpi, &task, 1, NULL), "copy");
  }
  note(run, weir_mpi_finish(run->mpi), "finish");
  for (uint32_t i = 0; i < VERSIONS && run->rank == 1; i++) {
    static _Thread_local uint8_t got[BYTES], from[BYTES], wanted[BYTES];
    uint8_t *at = from, *both[] = {from, wanted};
    const mpi_work write = write_all(i),
                   copy = {.count = 2,
                           .accesses = {{.mode = WEIR_READ, .bytes = BYTES}, {.mode = WEIR_WRITE, .bytes = BYTES}}};
    mpi_work_perform(&write, &at);
    mpi_work_perform(&copy, both);
    note(run, weir_read(copies[i], 0, BYTES, got), "read");
    if (memcmp(got, wanted, BYTES) != 0) snprintf(run->text, sizeof run->text, "version %u is wrong", i);
  }
  note(run, mpi_devices_close(&devices), "close");
}

static void test_versions(void **state) {
  (void)state;
  for (uint32_t direct = WEIR_MPI_DIRECT_NEVER; direct <= WEIR_MPI_DIRECT_ALWAYS; direct++) {
    rank_run runs[2];
    const weir_mpi_options options = {.direct = direct, .direct_bytes = 1000};
    rank_threads_run(runs, 2, 0, &options, versions_body);
    for (uint32_t r = 0; r < 2; r++) {
      if (runs[r].text[0] != '\0') fail_msg("rank %u: %s", r, runs[r].text);
      assert_int_equal(runs[r].released, WEIR_OK);
    }
  }
  assert_int_equal(mpi_devices_violations(), 0);
}

static bool is_as_written(weir_buffer *buffer, uint64_t seed) {
  static _Thread_local uint8_t got[BYTES], wanted[BYTES];
  uint8_t *at = wanted;
  const mpi_work work = write_all(seed);
  mpi_work_perform(&work, &at);
  return weir_read(buffer, 0, BYTES, got) == WEIR_OK && memcmp(got, wanted, BYTES) == 0;
}

// A task of rank 1 names a device of another context.
static void foreign_body(rank_run *run) {
  mpi_devices devices;
  weir_buffer *buffer;
  weir_context *other;
  const mpi_work work = read_all();
  note(run, mpi_devices_open(run->context, &devices), "devices");
  note(run, weir_context_create(&(weir_context_options){.devices = rank_threads_devices[run->rank]}, &other),
       "context");
  note(run, weir_mpi_buffer_create(run->mpi, BYTES, 0, &buffer), "buffer");
  note(run, submit_work(run, &devices, buffer, write_all(1), 0), "write");
  const weir_arg args[] = {weir_value(&work, sizeof work), weir_reads(buffer)};
  const weir_task task = {.kernel = devices.kernels[0][0],
                          .device = weir_context_device(other, weir_context_device_count(other) - 1),
                          .args = args,
                          .arg_count = 2};
  run->status = weir_mpi_submit(run->mpi, &task, 1, NULL);
  (void)weir_mpi_finish(run->mpi); // if it was refused
  note(run, submit_work(run, &devices, buffer, write_all(2), 0), "write");
  note(run, weir_mpi_fetch(run->mpi, buffer, 0, WEIR_WHOLE, 1), "fetch");
  note(run, weir_mpi_finish(run->mpi), "finish");
  if (run->text[0] == '\0' && !is_as_written(buffer, 2)) snprintf(run->text, sizeof run->text, "contents differ");
  note(run, weir_context_release(other), "context");
  note(run, mpi_devices_close(&devices), "close");
}

// That is refused there, and no more: the message was to go to that device, which made the job fail for want of memory.
static void test_foreign_device(void **state) {
  (void)state;
  for (uint32_t direct = WEIR_MPI_DIRECT_NEVER; direct <= WEIR_MPI_DIRECT_ALWAYS; direct++) {
    rank_run runs[2];
    const weir_mpi_options options = {.direct = direct, .direct_bytes = 1000};
    rank_threads_run(runs, 2, 0, &options, foreign_body);
    assert_int_equal(runs[0].status, WEIR_OK);
    assert_int_equal(runs[1].status, WEIR_ERROR_INVALID_ARGUMENT);
    for (uint32_t r = 0; r < 2; r++) {
      if (runs[r].text[0] != '\0') fail_msg("rank %u: %s", r, runs[r].text);
      assert_int_equal(runs[r].released, WEIR_OK);
    }
  }
}

// ---------------------------------------------------------------------------------------------------------------
// Cancelled and lost

// Buffers of a rank's own, which would take storage that is free and still in use.
static void fill_others(const rank_run *run, const mpi_devices *devices, weir_buffer **others) {
  for (uint32_t i = 0; i < OTHERS; i++) {
    const mpi_work work = write_all(1000 + i);
    if (weir_buffer_create(run->context, BYTES, &others[i]) != WEIR_OK) abort();
    const weir_arg args[] = {weir_value(&work, sizeof work), weir_writes(others[i])};
    weir_submit(run->context, &(weir_task){.kernel = devices->kernels[0][0], .args = args, .arg_count = 2}, NULL);
  }
}

static void check_others(rank_run *run, weir_buffer *const *others) {
  weir_finish(run->context);
  for (uint32_t i = 0; i < OTHERS; i++) {
    run->dead |= !is_as_written(others[i], 1000 + i);
    weir_buffer_release(others[i]);
  }
}

// Rank 0 sends what its card has; rank 1, which is to have it on its card, cancels at some time. What it then holds is either the
// contents, whole, or poisoned; what comes later is right in any case.
static void cancel_body(rank_run *run) {
  mpi_devices devices;
  weir_buffer *buffers[2], *others[OTHERS];
  note(run, mpi_devices_open(run->context, &devices), "devices");
  for (uint32_t i = 0; i < 2; i++) note(run, weir_mpi_buffer_create(run->mpi, BYTES, 0, &buffers[i]), "buffer");
  threads_slow(run->job, 10);
  for (uint32_t i = 0; i < 6; i++) {
    note(run, submit_work(run, &devices, buffers[i % 2], write_all(i), 0), "write");
    note(run, submit_work(run, &devices, buffers[i % 2], read_all(), 1), "read");
    if (i != run->seed % 6 || run->rank != run->seed % 2) continue;
    sleep_ms(run->seed % 3 * 3);
    weir_context_cancel(run->context);
    (void)weir_finish(run->context); // from here on storage is free that no message uses
  }
  fill_others(run, &devices, others);
  (void)weir_mpi_finish(run->mpi); // tasks were cancelled, at least on one rank
  note(run, submit_work(run, &devices, buffers[0], write_all(99), 0), "write");
  note(run, weir_mpi_fetch(run->mpi, buffers[0], 0, WEIR_WHOLE, 1), "fetch");
  (void)weir_mpi_finish(run->mpi);
  check_others(run, others);
  if (!is_as_written(buffers[0], 99)) snprintf(run->text, sizeof run->text, "contents differ");
  note(run, mpi_devices_close(&devices), "close");
}

static void test_cancelled(void **state) {
  (void)state;
  const test_part seeds = part_of(18);
  for (uint64_t seed = seeds.first + 1; seed <= seeds.end; seed++) {
    rank_run runs[2];
    const weir_mpi_options options = {.direct = WEIR_MPI_DIRECT_ALWAYS, .direct_bytes = 1000};
    rank_threads_run(runs, 2, seed, &options, cancel_body);
    for (uint32_t r = 0; r < 2; r++) {
      if (runs[r].text[0] != '\0') fail_msg("seed %d, rank %u: %s", (int)seed, r, runs[r].text);
      if (runs[r].dead) fail_msg("seed %d, rank %u: storage of others was written to", (int)seed, r);
    }
    assert_int_equal(mpi_devices_violations(), 0);
  }
}

// Until what was stuck has been written to late.
static void await_late_end(rank_run *run) {
  for (int i = 0; i < 5000 && !(run->late = threads_has_ended_late(run->job, run->rank)); i++) sleep_ms(1);
}

// Rank 1 dies, or receives that are matched stick; they may still be written to when the context is gone.
static void lost_body(rank_run *run) {
  mpi_devices devices;
  weir_buffer *buffers[2], *others[OTHERS];
  note(run, mpi_devices_open(run->context, &devices), "devices");
  for (uint32_t i = 0; i < 2; i++) note(run, weir_mpi_buffer_create(run->mpi, BYTES, i, &buffers[i]), "buffer");
  if (run->rank == 0) threads_stick(run->job, 0, THREADS_STICK_FOR_LONG);
  for (uint32_t i = 0; i < 2; i++) {
    note(run, submit_work(run, &devices, buffers[i], write_all(i), i), "write");
    note(run, submit_work(run, &devices, buffers[i], read_all(), 1 - i), "read");
  }
  if (run->rank == 1) {
    weir_finish(run->context); // it has sent, and what it sent has come, and does not end
    threads_kill(run->job, 1);
  }
  run->status = weir_mpi_finish(run->mpi);
  snprintf(run->text, sizeof run->text, "%s", weir_last_error());
  for (uint32_t i = 0; i < 2; i++) weir_buffer_release(buffers[i]); // the job has failed
  fill_others(run, &devices, others);
  if (run->rank == 0) await_late_end(run);
  check_others(run, others);
  mpi_devices_close(&devices);
}

static void test_lost(void **state) {
  (void)state;
  rank_run runs[2];
  const weir_mpi_options options = {
      .direct = WEIR_MPI_DIRECT_ALWAYS, .direct_bytes = 1000, .timeout_ns = UINT64_C(500000000)};
  rank_threads_run(runs, 2, 5, &options, lost_body);
  assert_int_equal(runs[0].status, WEIR_ERROR_DEVICE_LOST);
  if (strstr(runs[0].text, "rank 1 is lost") == NULL) fail_msg("%s", runs[0].text);
  assert_true(runs[0].late);
  assert_false(runs[0].dead);
  assert_false(runs[1].dead);
  assert_int_equal(mpi_devices_violations(), 0); // what was written to late was not freed
}

// ---------------------------------------------------------------------------------------------------------------
// Pinned memory of messages is bounded

static void *take_pinned(weir__mpi_pool *pool, size_t bytes, bool pinned) {
  size_t has;
  void *memory = weir__mpi_pool_take(pool, bytes, &has);
  assert_non_null(memory);
  assert_int_equal(has, bytes);
  assert_int_equal(weir__mpi_pool_is_pinned(pool, memory, has), pinned);
  return memory;
}

static void test_pinned(void **state) {
  (void)state;
  const size_t whole = WEIR__MPI_POOL_PINNED, little = WEIR__MPI_POOL_CARD;
  weir_context *context;
  weir__mpi_pool pool = {0};
  assert_int_equal(weir_context_create(&(weir_context_options){.devices = rank_threads_devices[0]}, &context), WEIR_OK);
  weir__mpi_pool_initialize(&pool);
  pool.device = weir_context_device(context, 1);
  void *small = take_pinned(&pool, little - 64, false), *first = take_pinned(&pool, little, true);
  void *most = take_pinned(&pool, whole / 2, true), *more = take_pinned(&pool, whole / 2, false);
  weir__mpi_pool_give(&pool, more, whole / 2);
  weir__mpi_pool_give(&pool, most, whole / 2);
  assert_ptr_equal(take_pinned(&pool, whole / 2, true), most); // what is pinned is not dropped
  weir__mpi_pool_give(&pool, most, whole / 2);
  void *other = take_pinned(&pool, whole / 4 * 3, true); // but for other memory that is
  assert_in_range(pool.pinned_bytes, whole / 4 * 3 + little, whole / 4 * 3 + 2 * WEIR__MPI_POOL_SLAB);
  weir__mpi_pool_give(&pool, other, whole / 4 * 3);
  weir__mpi_pool_give(&pool, first, little);
  weir__mpi_pool_give(&pool, small, little - 64);
  weir__mpi_pool_deinitialize(&pool);
  assert_int_equal(weir_context_release(context), WEIR_OK);
  assert_int_equal(mpi_devices_violations(), 0);
}

// As many as are in use at once, of random sizes; some are cut from larger ones.
enum { MOST_TAKEN = 3000, TURNS = 30000 };

typedef struct taken {
  unsigned char *memory;
  size_t has;
  uint64_t mark;
} taken;

static void mark(const taken *one) {
  memcpy(one->memory, &one->mark, sizeof one->mark);
  memcpy(one->memory + one->has - sizeof one->mark, &one->mark, sizeof one->mark);
}

static void expect_mark(const taken *one) {
  assert_memory_equal(one->memory, &one->mark, sizeof one->mark);
  assert_memory_equal(one->memory + one->has - sizeof one->mark, &one->mark, sizeof one->mark);
}

static taken take_random(weir__mpi_pool *pool, random_state *random) {
  size_t wanted = WEIR__MPI_POOL_ALIGNMENT * (size_t)random_between(random, 1, 1u << random_between(random, 4, 10));
  taken one = {.mark = random_next(random)};
  one.memory = weir__mpi_pool_take(pool, wanted, &one.has);
  assert_non_null(one.memory);
  assert_int_equal((uintptr_t)one.memory % WEIR__MPI_POOL_ALIGNMENT, 0);
  assert_in_range(one.has, wanted, wanted + WEIR__MPI_POOL_BYTES + wanted / 4);
  assert_int_equal(weir__mpi_pool_is_pinned(pool, one.memory, one.has), wanted >= WEIR__MPI_POOL_CARD);
  mark(&one);
  return one;
}

// Each has its bytes to itself, and the driver pins much at once. It pinned each, and knows 16,384 ranges without being
// asked; and all that were kept were looked at for each that was taken.
static void test_pinned_random(void **state) {
  (void)state;
  static taken all[MOST_TAKEN];
  weir_context *context;
  weir__mpi_pool pool = {0};
  random_state random = {11};
  uint32_t count = 0;
  assert_int_equal(weir_context_create(&(weir_context_options){.devices = rank_threads_devices[0]}, &context), WEIR_OK);
  weir__mpi_pool_initialize(&pool);
  pool.device = weir_context_device(context, 1);
  for (uint32_t i = 0; i < TURNS; i++) {
    bool takes = count == 0 || (count < MOST_TAKEN && random_chance(&random, i < TURNS / 2 ? 80 : 30));
    if (takes) {
      all[count++] = take_random(&pool, &random);
      continue;
    }
    taken *one = &all[random_below(&random, count)];
    expect_mark(one);
    weir__mpi_pool_give(&pool, one->memory, one->has);
    *one = all[--count];
  }
  while (count > 0) {
    expect_mark(&all[--count]);
    weir__mpi_pool_give(&pool, all[count].memory, all[count].has);
  }
  assert_true(pool.pinned_bytes > 0 && pool.idle <= 2 * pool.pinned_bytes / WEIR__MPI_POOL_SLAB + 1); // all slabs
  weir__mpi_pool_deinitialize(&pool);
  assert_int_equal(weir_context_release(context), WEIR_OK);
  assert_int_equal(mpi_devices_violations(), 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_large),          cmocka_unit_test(test_in_order), cmocka_unit_test(test_versions),
      cmocka_unit_test(test_foreign_device), cmocka_unit_test(test_reasons),  cmocka_unit_test(test_cancelled),
      cmocka_unit_test(test_lost),           cmocka_unit_test(test_pinned),   cmocka_unit_test(test_pinned_random)};
  for (uint32_t i = 0; i < RANK_THREADS_MOST; i++)
    rank_threads_devices[i] = i % 2 == 0 ? "cpu:1,cuda:0" : "cpu:2,cuda:1";
  if (getenv("WEIR_CUDA_DRIVER") == NULL) {
    printf("WEIR_CUDA_DRIVER names no stub driver\n");
    return 77;
  }
  return cmocka_run_group_tests(tests, NULL, NULL);
}
