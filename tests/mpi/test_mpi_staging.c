// SPDX-License-Identifier: Apache-2.0
//
// Memory of large contents while submission runs far ahead: how much receives have at a time, when sends take theirs, and
// that receives without memory end with a job that fails.
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "random.h"
#include "rank_threads.h"
#include "weir/external.h"

enum { BYTES = 5000, ROUNDED = 5056, HEADER = 320, AT_ONCE = 3, STEPS = 150, BUFFERS = 4, SEEDS = 12, HOPS = 20 };

static _Atomic uint32_t taken; // memory for so many bytes, a multiple of its alignment

void *__real_aligned_alloc(size_t alignment, size_t bytes);
void *__wrap_aligned_alloc(size_t alignment, size_t bytes);
void *__wrap_aligned_alloc(size_t alignment, size_t bytes) {
  if (bytes == ROUNDED) atomic_fetch_add(&taken, 1);
  return __real_aligned_alloc(alignment, bytes);
}

// Of one buffer, from what it and another one have.
static void mix(unsigned char *bytes, const unsigned char *others, uint64_t value) {
  for (uint32_t i = 0; i < BYTES; i++) bytes[i] = (unsigned char)(bytes[i] * 3u + others[BYTES - 1 - i] + value + i);
}

static void mix_function(const weir_work *work) {
  mix(work->args[0], work->args[1], *(const uint64_t *)work->args[2]);
}

static void clear_function(const weir_work *work) {
  memset(work->args[0], 0, BYTES);
}

typedef struct step_of {
  uint32_t rank, updates, reads;
  uint64_t value;
} step_of;

static step_of make_step(random_state *random, uint32_t size) {
  uint32_t rank = random_below(random, size), updates = random_below(random, BUFFERS);
  uint32_t reads = (updates + 1 + random_below(random, BUFFERS - 1)) % BUFFERS;
  return (step_of){rank, updates, reads, random_below(random, 256)};
}

static void serial(uint64_t seed, uint32_t size, unsigned char (*out)[BYTES]) {
  random_state random = {seed};
  memset(out, 0, (size_t)BUFFERS * BYTES);
  for (uint32_t i = 0; i < STEPS; i++) {
    step_of step = make_step(&random, size);
    mix(out[step.updates], out[step.reads], step.value);
  }
}

static void note(rank_run *run, weir_status status, const char *what) {
  if (status != WEIR_OK && run->text[0] == '\0')
    snprintf(run->text, sizeof run->text, "%s: %.300s", what, weir_last_error());
}

static void create_buffers(rank_run *run, weir_buffer **buffers) {
  for (uint32_t i = 0; i < BUFFERS; i++) {
    note(run, weir_mpi_buffer_create(run->mpi, BYTES, i % run->size, &buffers[i]), "buffer");
    const weir_arg arg = weir_writes(buffers[i]);
    const weir_task task = {.host = clear_function, .args = &arg, .arg_count = 1, .label = "clear"};
    note(run, weir_mpi_submit(run->mpi, &task, WEIR_MPI_OWNER, NULL), "clear");
  }
}

static void submit_step(rank_run *run, weir_buffer *const *buffers, const step_of *step) {
  const weir_arg args[] = {weir_updates(buffers[step->updates]), weir_reads(buffers[step->reads]),
                           weir_value(&step->value, sizeof step->value)};
  const weir_task task = {.host = mix_function, .args = args, .arg_count = 3, .label = "mix"};
  note(run, weir_mpi_submit(run->mpi, &task, (int32_t)step->rank, NULL), "submit");
}

static void compare(rank_run *run, weir_buffer *const *buffers) {
  static _Thread_local unsigned char expected[BUFFERS][BYTES], got[BYTES];
  serial(run->seed, run->size, expected);
  for (uint32_t i = 0; i < BUFFERS && run->text[0] == '\0'; i++) {
    note(run, weir_mpi_fetch(run->mpi, buffers[i], 0, WEIR_WHOLE, WEIR_MPI_ALL), "fetch");
    note(run, weir_read(buffers[i], 0, BYTES, got), "read");
    if (run->text[0] == '\0' && memcmp(got, expected[i], BYTES) != 0)
      snprintf(run->text, sizeof run->text, "buffer %u differs", i);
  }
}

static void ahead_body(rank_run *run) {
  random_state random = {run->seed};
  weir_buffer *buffers[BUFFERS];
  create_buffers(run, buffers);
  for (uint32_t i = 0; i < STEPS && run->text[0] == '\0'; i++) {
    step_of step = make_step(&random, run->size);
    submit_step(run, buffers, &step);
  }
  compare(run, buffers);
  note(run, weir_mpi_finish(run->mpi), "finish");
  if (threads_most_posted(run->job, run->rank) > AT_ONCE * (BYTES + HEADER))
    snprintf(run->text, sizeof run->text, "%llu bytes of receives at a time",
             (unsigned long long)threads_most_posted(run->job, run->rank));
}

// All receives had memory from their submission on.
static void test_bound(void **state) {
  (void)state;
  for (uint64_t seed = 1; seed <= SEEDS; seed++) {
    rank_run runs[RANK_THREADS_MOST];
    uint32_t size = 2 + (uint32_t)(seed % 3);
    const weir_mpi_options options = {
        .direct_bytes = 512, .send_limit = AT_ONCE * BYTES, .piece_bytes = seed % 2 == 0 ? 1024 : 0};
    rank_threads_run(runs, size, seed, &options, ahead_body);
    for (uint32_t r = 0; r < size; r++) {
      if (runs[r].text[0] != '\0') fail_msg("seed %d: rank %u of %u: %s", (int)seed, r, size, runs[r].text);
      assert_int_equal(runs[r].released, WEIR_OK);
    }
  }
}

static weir_event *gate;        // before what rank 0 writes
static _Atomic uint32_t before; // memory that was taken before that is signalled
static atomic_bool is_behind;   // rank 1 has submitted all

static void gated_body(rank_run *run) {
  weir_buffer *buffers[HOPS];
  if (run->rank == 0) note(run, weir_host_event_create(run->context, "gate", &gate), "gate");
  for (uint32_t i = 0; i < HOPS; i++) {
    note(run, weir_mpi_buffer_create(run->mpi, BYTES, 0, &buffers[i]), "buffer");
    const weir_arg writes = weir_writes(buffers[i]);
    weir_event *after = run->rank == 0 ? gate : NULL;
    const weir_task task = {.host = clear_function, .args = &writes, .arg_count = 1, .after = &after, .after_count = 1};
    note(run, weir_mpi_submit(run->mpi, &task, 0, NULL), "clear");
    note(run, weir_mpi_fetch(run->mpi, buffers[i], 0, WEIR_WHOLE, 1), "fetch");
  }
  if (run->rank == 1) atomic_store(&is_behind, true);
  while (!atomic_load(&is_behind)) sched_yield();
  if (run->rank == 0) {
    atomic_store(&before, atomic_load(&taken));
    weir_host_event_signal(gate, WEIR_OK);
    weir_event_release(gate);
  }
  note(run, weir_mpi_finish(run->mpi), "finish");
}

// Sends of 20 versions that were not there yet had memory, too; the receives of rank 1 have it.
static void test_sends(void **state) {
  (void)state;
  rank_run runs[2];
  atomic_store(&taken, 0);
  rank_threads_run(runs, 2, 1, &(weir_mpi_options){.direct_bytes = 512, .send_limit = HOPS * BYTES}, gated_body);
  for (uint32_t r = 0; r < 2; r++) {
    if (runs[r].text[0] != '\0') fail_msg("rank %u: %s", r, runs[r].text);
    assert_int_equal(runs[r].released, WEIR_OK);
  }
  assert_int_equal(atomic_load(&before), HOPS);
  assert_int_equal(atomic_load(&taken), 2 * HOPS);
}

static void lost_body(rank_run *run) {
  random_state random = {run->seed};
  weir_buffer *buffers[BUFFERS];
  if (run->rank == 1) threads_kill_at(run->job, 1, 10 + run->seed % 40);
  create_buffers(run, buffers);
  for (uint32_t i = 0; i < STEPS && run->text[0] == '\0'; i++) {
    step_of step = make_step(&random, run->size);
    submit_step(run, buffers, &step);
  }
  run->status = weir_mpi_finish(run->mpi);
}

// What comes to rank 0 cannot be cancelled, and never gives its memory back.
static void stuck_body(rank_run *run) {
  weir_buffer *buffers[HOPS];
  if (run->rank == 0) threads_stick(run->job, 0, THREADS_STICK);
  for (uint32_t i = 0; i < HOPS; i++) {
    note(run, weir_mpi_buffer_create(run->mpi, BYTES, 1, &buffers[i]), "buffer");
    const weir_arg writes = weir_writes(buffers[i]);
    const weir_task task = {.host = clear_function, .args = &writes, .arg_count = 1};
    note(run, weir_mpi_submit(run->mpi, &task, 1, NULL), "clear");
    note(run, weir_mpi_fetch(run->mpi, buffers[i], 0, WEIR_WHOLE, 0), "fetch");
  }
  if (run->rank == 1) threads_kill(run->job, 1);
  run->status = weir_mpi_finish(run->mpi);
}

static void run_lost(uint32_t size, uint64_t seed, void (*body)(rank_run *)) {
  rank_run runs[3];
  const weir_mpi_options options = {
      .direct_bytes = 512, .send_limit = AT_ONCE * BYTES, .timeout_ns = UINT64_C(1000000000)};
  rank_threads_run(runs, size, seed, &options, body);
  for (uint32_t r = 0; r < size; r++) assert_int_equal(runs[r].released, WEIR_ERROR_DEVICE_LOST);
}

// Receives that had no memory when a rank was lost end, too, and with them their tasks.
static void test_lost(void **state) {
  (void)state;
  for (uint64_t seed = 1; seed <= 4; seed++) run_lost(3, seed, lost_body);
  run_lost(2, 0, stuck_body);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_bound), cmocka_unit_test(test_sends),
                                     cmocka_unit_test(test_lost)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
