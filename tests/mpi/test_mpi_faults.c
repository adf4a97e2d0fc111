// SPDX-License-Identifier: Apache-2.0
//
// One of three ranks dies at each of its messages, or has no memory at each of its allocations: nobody waits longer than the
// time-out, and who is lost is named; who is busy is not lost. An owner that ends early is named with the call. Arguments of
// no bytes are no messages.
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "part.h"
#include "rank_threads.h"
#include "sweep.h"

enum { RANKS = 3, VICTIM = 1, ROUNDS = 3, MESSAGES = 12, PIECES = 24, PIECE_BYTES = 320 };

static uint64_t buffer_bytes = 64; // in pass_on

// Allocations of the victim's own thread until one fails; 0: none does.
static _Thread_local uint64_t allocations_left;
static _Thread_local bool has_failed;

static bool permits(void) {
  if (allocations_left == 0 || --allocations_left != 0) return true;
  has_failed = true;
  return false;
}

void *__real_malloc(size_t bytes);
void *__real_calloc(size_t count, size_t bytes);
void *__real_realloc(void *memory, size_t bytes);
void *__real_aligned_alloc(size_t alignment, size_t bytes);
void *__wrap_malloc(size_t bytes);
void *__wrap_calloc(size_t count, size_t bytes);
void *__wrap_realloc(void *memory, size_t bytes);
void *__wrap_aligned_alloc(size_t alignment, size_t bytes);

void *__wrap_malloc(size_t bytes) {
  return permits() ? __real_malloc(bytes) : NULL;
}

void *__wrap_calloc(size_t count, size_t bytes) {
  return permits() ? __real_calloc(count, bytes) : NULL;
}

void *__wrap_realloc(void *memory, size_t bytes) {
  return permits() ? __real_realloc(memory, bytes) : NULL;
}

void *__wrap_aligned_alloc(size_t alignment, size_t bytes) {
  return permits() ? __real_aligned_alloc(alignment, bytes) : NULL;
}

static void add(const weir_work *work) {
  unsigned char *to = work->args[0];
  const unsigned char *from = work->args[1];
  to[0] = (unsigned char)(to[0] + from[0] + 1);
}

static void set(const weir_work *work) {
  memset(work->args[0], 1, 64);
}

static weir_status submit(rank_run *run, weir_buffer *to, weir_buffer *from) {
  const weir_arg args[] = {from == NULL ? weir_writes(to) : weir_updates(to), weir_reads(from)};
  const weir_task task = {
      .host = from == NULL ? set : add, .args = args, .arg_count = from == NULL ? 1 : 2, .label = "pass on"};
  return weir_mpi_submit(run->mpi, &task, WEIR_MPI_OWNER, NULL);
}

// Three buffers, one at each rank; each is added to the next one, so that all ranks send and receive. Ends at an error, as a
// program would.
static weir_status pass_on(rank_run *run) {
  weir_buffer *all[RANKS];
  weir_status status = WEIR_OK;
  for (uint32_t i = 0; i < RANKS && status == WEIR_OK; i++)
    status = weir_mpi_buffer_create(run->mpi, buffer_bytes, i, &all[i]);
  for (uint32_t i = 0; i < RANKS && status == WEIR_OK; i++) status = submit(run, all[i], NULL);
  for (uint32_t i = 0; i < ROUNDS * RANKS && status == WEIR_OK; i++)
    status = submit(run, all[(i + 1) % RANKS], all[i % RANKS]);
  return status == WEIR_OK ? weir_mpi_finish(run->mpi) : status;
}

static void lost_body(rank_run *run) {
  if (run->rank == VICTIM) threads_kill_at(run->job, VICTIM, run->seed);
  run->status = pass_on(run);
  if (run->status != WEIR_OK) snprintf(run->text, sizeof run->text, "%s", weir_last_error());
  run->dead = threads_is_dead(run->job, VICTIM);
}

static void lose_at_each(uint32_t messages) {
  test_part part = part_of(messages);
  for (uint32_t message = part.first; message < part.end; message++) {
    rank_run runs[RANKS];
    const weir_mpi_options options = {.timeout_ns = UINT64_C(500000000), .piece_bytes = PIECE_BYTES};
    rank_threads_run(runs, RANKS, message, &options, lost_body);
    // That it died is seen in the body, or else by the others at the end, or it had sent all before.
    for (uint32_t r = 0; r < RANKS; r++) {
      if (r == VICTIM) continue;
      weir_status status = runs[r].status != WEIR_OK ? runs[r].status : runs[r].released;
      const char *text = runs[r].status != WEIR_OK ? runs[r].text : runs[r].end;
      if (status == WEIR_OK && !runs[VICTIM].dead) continue;
      if (status != WEIR_ERROR_DEVICE_LOST || strstr(text, "rank 1 is lost: nothing was heard of it for 0.5 s") == NULL)
        fail_msg("message %u: rank %u: %s: %s", message, r, weir_status_name(status), text);
    }
  }
}

static void test_lost_at_each_message(void **state) {
  (void)state;
  lose_at_each(MESSAGES);
}

// Some pieces of a message have come, and the others do not.
static void test_lost_at_each_piece(void **state) {
  (void)state;
  buffer_bytes = 4 * PIECE_BYTES - 100;
  lose_at_each(PIECES);
  buffer_bytes = 64;
}

static void poor_body(rank_run *run) {
  if (run->rank == VICTIM) allocations_left = run->seed;
  has_failed = false;
  run->status = pass_on(run);
  allocations_left = 0;
  run->dead = has_failed;
  if (run->status != WEIR_OK) snprintf(run->text, sizeof run->text, "%s", weir_last_error());
}

// The others go on if the rank itself could do without the memory, and fail with it if not.
static void test_no_memory_at_one_rank(void **state) {
  (void)state;
  bool failed = true;
  uint64_t n = 1;
  for (; failed; n = sweep_after(n)) {
    rank_run runs[RANKS];
    const weir_mpi_options options = {.timeout_ns = UINT64_C(2000000000)};
    rank_threads_run(runs, RANKS, n, &options, poor_body);
    failed = runs[VICTIM].dead;
    weir_status victim = runs[VICTIM].status;
    // Or another rank's text came back, cut before it names the memory: what was poisoned here was skipped there.
    bool told = strstr(runs[VICTIM].text, "memory") != NULL || strstr(runs[VICTIM].text, "no storage") != NULL ||
                strstr(runs[VICTIM].text, "are missing") != NULL;
    if (victim != WEIR_OK && !told && victim != WEIR_ERROR_UPSTREAM_FAILED)
      fail_msg("allocation %d: %s: %s", (int)n, weir_status_name(victim), runs[VICTIM].text);
    for (uint32_t r = 0; r < RANKS; r++) {
      weir_status status = runs[r].status != WEIR_OK ? runs[r].status : runs[r].released;
      if ((status == WEIR_OK) != (victim == WEIR_OK))
        fail_msg("allocation %d: rank 1 says %s, and rank %u %s: %s", (int)n, weir_status_name(victim), r,
                 weir_status_name(status), runs[r].text);
    }
  }
  assert_true(n > 20); // so many allocations have failed, or were left out
}

static void empty_body(rank_run *run) {
  weir_buffer *a, *none = NULL;
  run->status = weir_mpi_buffer_create(run->mpi, 0, 0, &none);
  weir_mpi_buffer_create(run->mpi, 64, 0, &a);
  submit(run, a, NULL);
  weir_mpi_fetch(run->mpi, a, 64, 0, 1);
  weir_mpi_fetch(run->mpi, a, 3, 0, WEIR_MPI_ALL);
  weir_mpi_written(run->mpi, a, 3, 0, 2);
  run->released = weir_mpi_finish(run->mpi);
  weir_mpi_statistics counts;
  weir_mpi_get_statistics(run->mpi, &counts);
  snprintf(run->text, sizeof run->text, "%s, %llu", weir_status_name(run->released),
           (unsigned long long)(counts.messages_sent + counts.messages_received));
}

static void test_no_bytes(void **state) {
  (void)state;
  rank_run runs[RANKS];
  rank_threads_run(runs, RANKS, 0, &(weir_mpi_options){0}, empty_body);
  for (uint32_t r = 0; r < RANKS; r++) {
    assert_int_equal(runs[r].status, WEIR_ERROR_INVALID_ARGUMENT);
    assert_string_equal(runs[r].text, "WEIR_OK, 0");
    assert_int_equal(runs[r].released, WEIR_OK);
  }
}

// The owner of what others read ends its part of the program before they have read it.
static void leave_body(rank_run *run) {
  weir_buffer *all[RANKS];
  for (uint32_t i = 0; i < RANKS; i++) weir_mpi_buffer_create(run->mpi, 64, i, &all[i]);
  submit(run, all[VICTIM], NULL);
  if (run->rank == VICTIM) return;
  submit(run, all[0], all[VICTIM]);
  run->status = weir_mpi_finish(run->mpi);
  snprintf(run->text, sizeof run->text, "%s", weir_last_error());
}

static void test_owner_leaves(void **state) {
  (void)state;
  rank_run runs[RANKS];
  const weir_mpi_options options = {.timeout_ns = UINT64_C(20000000000)};
  rank_threads_run(runs, RANKS, 0, &options, leave_body);
  assert_int_equal(runs[VICTIM].released, WEIR_ERROR_INVALID_ARGUMENT);
  for (uint32_t r = 0; r < RANKS; r++) {
    const char *text = r == VICTIM ? runs[r].end : runs[r].text;
    if (r != VICTIM) assert_int_equal(runs[r].status, WEIR_ERROR_INVALID_ARGUMENT);
    if (strstr(text, "call 5 of rank") == NULL || strstr(text, "of rank 1 is weir_mpi_release") == NULL ||
        strstr(text, "is task 'pass on'") == NULL)
      fail_msg("rank %u: %s", r, text);
  }
}

// Buffers are released behind the calls that use them, while tasks and messages are still to come.
static void release_body(rank_run *run) {
  weir_buffer *sum;
  weir_mpi_buffer_create(run->mpi, 64, 0, &sum);
  submit(run, sum, NULL);
  for (uint32_t i = 0; i < 50; i++) {
    weir_buffer *once;
    weir_mpi_buffer_create(run->mpi, 64, i % run->size, &once);
    submit(run, once, NULL);
    submit(run, sum, once);
    weir_mpi_fetch(run->mpi, once, 0, WEIR_WHOLE, WEIR_MPI_ALL);
    weir_mpi_buffer_release(run->mpi, once);
  }
  run->status = weir_mpi_finish(run->mpi);
  uint8_t bytes[64] = {0};
  if (run->rank == 0) weir_read(sum, 0, 64, bytes);
  snprintf(run->text, sizeof run->text, "%u", bytes[0]);
}

static void test_released_in_flight(void **state) {
  (void)state;
  rank_run runs[RANKS];
  rank_threads_run(runs, RANKS, 0, &(weir_mpi_options){0}, release_body);
  for (uint32_t r = 0; r < RANKS; r++) assert_int_equal(runs[r].status, WEIR_OK);
  assert_string_equal(runs[0].text, "101"); // each adds 1 + 1 to the first 1
}

static void sleep_long(const weir_work *work) {
  (void)work;
  const struct timespec time = {.tv_sec = 1, .tv_nsec = 200000000};
  nanosleep(&time, NULL);
}

// All workers of a rank are in tasks that take longer than the time-out: it still answers.
static void busy_body(rank_run *run) {
  weir_buffer *a;
  weir_mpi_buffer_create(run->mpi, 64, VICTIM, &a);
  const weir_arg arg = weir_writes(a);
  const weir_task task = {.host = sleep_long, .args = &arg, .arg_count = 1, .label = "long"};
  weir_mpi_submit(run->mpi, &task, WEIR_MPI_OWNER, NULL);
  weir_mpi_fetch(run->mpi, a, 0, WEIR_WHOLE, 0);
  run->status = weir_mpi_finish(run->mpi);
  if (run->status != WEIR_OK) snprintf(run->text, sizeof run->text, "%s", weir_last_error());
}

static void test_busy_is_not_lost(void **state) {
  (void)state;
  rank_run runs[RANKS];
  const weir_mpi_options options = {.timeout_ns = UINT64_C(500000000)};
  rank_threads_run(runs, RANKS, 0, &options, busy_body);
  for (uint32_t r = 0; r < RANKS; r++) assert_string_equal(runs[r].text, "");
}

// A rank leaves out what does concern it: another one waits for a message that it does not send.
static void wrong_skip_body(rank_run *run) {
  weir_buffer *a;
  weir_mpi_buffer_create(run->mpi, 64, VICTIM, &a);
  submit(run, a, NULL);
  if (run->rank == VICTIM)
    weir_mpi_skip(run->mpi, 1);
  else
    weir_mpi_fetch(run->mpi, a, 0, WEIR_WHOLE, 0);
  run->status = weir_mpi_finish(run->mpi);
  snprintf(run->text, sizeof run->text, "%s", weir_last_error());
}

static void test_wrong_skip(void **state) {
  (void)state;
  rank_run runs[RANKS];
  const weir_mpi_options options = {.timeout_ns = UINT64_C(500000000)};
  rank_threads_run(runs, RANKS, 0, &options, wrong_skip_body);
  for (uint32_t r = 0; r < RANKS; r++) {
    weir_status status = runs[r].status != WEIR_OK ? runs[r].status : runs[r].released;
    const char *text = runs[r].status != WEIR_OK ? runs[r].text : runs[r].end;
    if (status != WEIR_ERROR_INVALID_ARGUMENT ||
        strstr(text, "call 3 'weir_mpi_fetch' of rank 0 waits for bytes 0 to 64") == NULL)
      fail_msg("rank %u: %s: %s", r, weir_status_name(status), text);
  }
}

// A collective of tasks to which the victim never comes: it makes no call any more. The seed says which, and whether it says
// that it leaves the call out.
typedef enum absence { NO_FETCH, NO_REDUCE, LEFT_OUT, ABSENCES } absence;

static void absent_body(rank_run *run) {
  weir_buffer *all[RANKS];
  absence how = (absence)run->seed;
  for (uint32_t i = 0; i < RANKS; i++) weir_mpi_buffer_create(run->mpi, 64, i, &all[i]);
  for (uint32_t i = 0; i < RANKS; i++) submit(run, all[i], NULL);
  const weir_task combine = {.host = add, .label = "combine"};
  if (run->rank == VICTIM) {
    if (how == LEFT_OUT) weir_mpi_skip(run->mpi, 1);
    while (weir__mpi_is_fine(run->mpi)) sched_yield();
  } else if (how == NO_REDUCE) {
    weir_mpi_reduce(run->mpi, &combine, all, RANKS);
  } else {
    weir_mpi_fetch(run->mpi, all[VICTIM], 0, WEIR_WHOLE, WEIR_MPI_ALL);
  }
  uint8_t bytes[64];
  if (how == NO_REDUCE && run->rank == 2) // whose end would wait for rank 1, too
    while (weir__mpi_is_fine(run->mpi)) sched_yield();
  weir_read(all[how == NO_REDUCE ? 0 : VICTIM], 0, 64, bytes); // ends
  run->status = weir_mpi_finish(run->mpi);
  snprintf(run->text, sizeof run->text, "%s", weir_last_error());
}

static void test_absent(void **state) {
  (void)state;
  static const char *const texts[] = {
      "rank 1 has stayed at call 6 for 1 s; call 7 'weir_mpi_fetch' of rank ",
      "rank 1 has stayed at call 6 for 1 s; call 7 'combine' of rank 0 waits for bytes ",
      "rank 1 has submitted call 7, and has no part in what rank "};
  for (uint64_t how = 0; how < ABSENCES; how++) {
    rank_run runs[RANKS];
    const weir_mpi_options options = {.timeout_ns = UINT64_C(1000000000)};
    rank_threads_run(runs, RANKS, how, &options, absent_body);
    for (uint32_t r = 0; r < RANKS; r++) {
      if (runs[r].status != (how == LEFT_OUT ? WEIR_ERROR_INVALID_ARGUMENT : WEIR_ERROR_DEVICE_LOST) ||
          strstr(runs[r].text, texts[how]) == NULL)
        fail_msg("way %d: rank %u: %s: %s", (int)how, r, weir_status_name(runs[r].status), runs[r].text);
    }
  }
}

// A rank dies while its message is on the way, so that the receive has been matched, and is not cancelled.
static void stuck_body(rank_run *run) {
  weir_buffer *a;
  if (run->rank == 0) threads_stick(run->job, 0, (threads_sticking)run->seed);
  weir_mpi_buffer_create(run->mpi, 64, VICTIM, &a);
  submit(run, a, NULL);
  weir_mpi_fetch(run->mpi, a, 0, WEIR_WHOLE, 0);
  if (run->rank == VICTIM) {
    for (uint64_t sent = 0; sent == 0; sched_yield()) threads_sent(run->job, VICTIM, &sent);
    threads_kill(run->job, VICTIM);
  }
  run->status = weir_mpi_finish(run->mpi);
  snprintf(run->text, sizeof run->text, "%s", weir_last_error());
}

static void test_matched_and_lost(void **state) {
  (void)state;
  for (uint64_t how = THREADS_STICK; how <= THREADS_STICK_FOR_LONG; how++) {
    rank_run runs[RANKS];
    const weir_mpi_options options = {.timeout_ns = UINT64_C(500000000)};
    rank_threads_run(runs, RANKS, how, &options, stuck_body);
    if (runs[0].status != WEIR_ERROR_DEVICE_LOST || strstr(runs[0].text, "rank 1 is lost") == NULL)
      fail_msg("%s: %s", weir_status_name(runs[0].status), runs[0].text);
  }
}

// A message of control cannot be received.
static void deaf_body(rank_run *run) {
  weir_buffer *a;
  if (run->rank == VICTIM) threads_spoil_control(run->job, VICTIM);
  weir_mpi_buffer_create(run->mpi, 64, 0, &a);
  run->status = weir_mpi_finish(run->mpi);
  snprintf(run->text, sizeof run->text, "%s", weir_last_error());
}

// The rank heard nothing from then on, and found the others lost after the time-out, if there was one.
static void test_deaf(void **state) {
  (void)state;
  rank_run runs[RANKS];
  rank_threads_run(runs, RANKS, 0, &(weir_mpi_options){.timeout_ns = UINT64_C(5000000000)}, deaf_body);
  weir_status status = runs[VICTIM].status != WEIR_OK ? runs[VICTIM].status : runs[VICTIM].released;
  const char *text = runs[VICTIM].status != WEIR_OK ? runs[VICTIM].text : runs[VICTIM].end;
  if (status != WEIR_ERROR_DEVICE_LOST || strstr(text, "rank 1 cannot hear other ranks: the network is gone") == NULL)
    fail_msg("%s: %s", weir_status_name(status), text);
}

// A task of the victim is refused, which the others do not see: it is as if the task had failed.
static void refused_body(rank_run *run) {
  weir_buffer *a;
  weir_event *none[9] = {NULL};
  weir_mpi_buffer_create(run->mpi, 64, VICTIM, &a);
  submit(run, a, NULL);
  const weir_arg arg = weir_updates(a);
  const weir_task task = {
      .host = set, .args = &arg, .arg_count = 1, .after = none, .after_count = 9, .label = "behind many"};
  has_failed = false;
  if (run->rank == VICTIM) allocations_left = run->seed;
  run->status = weir_mpi_submit(run->mpi, &task, WEIR_MPI_OWNER, NULL);
  allocations_left = 0;
  run->dead = has_failed;
  weir_mpi_fetch(run->mpi, a, 0, WEIR_WHOLE, 0);
  weir_status finished = weir_mpi_finish(run->mpi);
  snprintf(run->text, sizeof run->text, "%s%s%s", weir_status_name(finished), finished == WEIR_OK ? "" : ": ",
           finished == WEIR_OK ? "" : weir_last_error());
}

static void test_refused_at_one_rank(void **state) {
  (void)state;
  bool failed = true, refused = false;
  for (uint64_t n = 1; failed; n++) {
    rank_run runs[RANKS];
    rank_threads_run(runs, RANKS, n, &(weir_mpi_options){0}, refused_body);
    failed = runs[VICTIM].dead;
    if (runs[VICTIM].status == WEIR_OK) continue;
    refused = true;
    if (strcmp(runs[0].text, "WEIR_OK") == 0)
      fail_msg("allocation %d: %s at rank 1, and rank 0 reads on", (int)n, weir_status_name(runs[VICTIM].status));
    // The job goes on, and rank 1 is told why its task was refused.
    if (strstr(runs[VICTIM].text, "'behind many'") != NULL && strstr(runs[VICTIM].text, "rank 1 refused call ") == NULL)
      fail_msg("allocation %d: %s", (int)n, runs[VICTIM].text);
  }
  assert_true(refused);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_no_bytes),
                                     cmocka_unit_test(test_lost_at_each_message),
                                     cmocka_unit_test(test_lost_at_each_piece),
                                     cmocka_unit_test(test_owner_leaves),
                                     cmocka_unit_test(test_released_in_flight),
                                     cmocka_unit_test(test_busy_is_not_lost),
                                     cmocka_unit_test(test_wrong_skip),
                                     cmocka_unit_test(test_absent),
                                     cmocka_unit_test(test_matched_and_lost),
                                     cmocka_unit_test(test_refused_at_one_rank),
                                     cmocka_unit_test(test_deaf),
                                     cmocka_unit_test(test_no_memory_at_one_rank)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
