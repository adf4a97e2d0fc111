// SPDX-License-Identifier: Apache-2.0
//
// Ranks that are threads: random programs, with and without failures, on 1 to 4 of them; ranks that differ; a rank
// that dies; counts that a task reads.
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "mpi_program.h"
#include "random.h"
#include "rank_threads.h"

static void add_one(const weir_work *work) {
  unsigned char *bytes = work->args[0];
  bytes[0]++;
}

static weir_status submit_update(rank_run *run, weir_buffer *buffer, uint64_t bytes, const char *label) {
  const weir_arg arg = weir_updates_range(buffer, 0, bytes);
  const weir_task task = {.host = add_one, .args = &arg, .arg_count = 1, .label = label};
  return weir_mpi_submit(run->mpi, &task, WEIR_MPI_OWNER, NULL);
}

// The fourth way: the same call with another kernel.
static void submit_kernel(rank_run *run, weir_buffer *buffer, const char *name) {
  weir_kernel *kernel;
  weir_kernel_create(run->context, name, &kernel);
  weir_kernel_set_cpu(kernel, add_one);
  const weir_arg arg = weir_updates(buffer);
  const weir_task task = {.kernel = kernel, .args = &arg, .arg_count = 1, .label = "this one"};
  weir_mpi_submit(run->mpi, &task, WEIR_MPI_OWNER, NULL);
  weir_kernel_release(kernel);
}

// The seed says in which way rank 1 differs at the fourth call.
static void differ_body(rank_run *run) {
  weir_buffer *a, *b;
  weir_mpi_buffer_create(run->mpi, 64, 0, &a);
  weir_mpi_buffer_create(run->mpi, 64, 1, &b);
  submit_update(run, a, 64, "same");
  bool differs = run->rank == 1;
  if (run->seed == 4)
    submit_kernel(run, a, differs ? "second" : "first");
  else if (!differs || run->seed != 0)
    submit_update(run, differs && run->seed == 1 ? b : a, differs && run->seed == 2 ? 32 : 64, "this one");
  if (differs && run->seed == 3) submit_update(run, a, 64, "one more");
  weir_mpi_fetch(run->mpi, a, 0, WEIR_WHOLE, 1);
  run->status = weir_mpi_finish(run->mpi);
  snprintf(run->text, sizeof run->text, "%s", weir_last_error());
}

static void test_differ(void **state) {
  (void)state;
  for (uint64_t way = 0; way < 5; way++) {
    rank_run runs[2];
    const weir_mpi_options options = {.timeout_ns = UINT64_C(20000000000)};
    rank_threads_run(runs, 2, way, &options, differ_body);
    for (uint32_t r = 0; r < 2; r++) {
      assert_int_equal(runs[r].status, WEIR_ERROR_INVALID_ARGUMENT);
      assert_non_null(strstr(runs[r].text, "ranks submit different programs"));
      if (strstr(runs[r].text, way == 3 ? "call 5" : "call 4") == NULL) fail_msg("way %d: %s", (int)way, runs[r].text);
      if (way == 4) {
        assert_non_null(strstr(runs[r].text, "rank 0 is task 'this one' (kernel 'first', 1 arguments"));
        assert_non_null(strstr(runs[r].text, "rank 1 is task 'this one' (kernel 'second', 1 arguments"));
      }
    }
  }
}

// Contents come before calls are compared: rank 1 leaves out a task, and the next message is for another call. The seed says
// which rank receives it, and whether the answers of the other one are late.
static void left_out_body(rank_run *run) {
  weir_buffer *a, *b;
  bool to_second = run->seed % 2 == 0;
  if (run->seed >= 2) threads_delay_control(run->job, 1300);
  weir_mpi_buffer_create(run->mpi, 64, 0, &a);
  weir_mpi_buffer_create(run->mpi, 64, 1, &b);
  submit_update(run, a, 64, "first");
  if (run->rank == 0) submit_update(run, a, 64, "second");
  submit_update(run, b, 64, "third");
  run->status = weir_mpi_fetch(run->mpi, to_second ? a : b, 0, WEIR_WHOLE, to_second ? 1 : 0);
  uint64_t word;
  weir_buffer *read = to_second == (run->rank == 1) ? (to_second ? a : b) : NULL;
  // The fetch fails where the difference is found before it.
  if (run->status == WEIR_OK) run->status = read == NULL ? weir_mpi_finish(run->mpi) : weir_read(read, 0, 8, &word);
  snprintf(run->text, sizeof run->text, "%s", weir_last_error());
}

// What a failed receive says was which two calls did not fit, and not which was the first one that differs: always, and then
// still where the comparison of calls took more than a second.
static void test_left_out(void **state) {
  (void)state;
  for (uint64_t way = 0; way < 4; way++) {
    rank_run runs[2];
    rank_threads_run(runs, 2, way, &(weir_mpi_options){0}, left_out_body);
    for (uint32_t r = 0; r < 2; r++) {
      bool failed = runs[r].status == WEIR_ERROR_INVALID_ARGUMENT || runs[r].status == WEIR_ERROR_UPSTREAM_FAILED;
      if (!failed || strstr(runs[r].text, "ranks submit different programs: call 4 of rank 0 is task 'second'") == NULL)
        fail_msg("way %d, rank %u: %d, %s", (int)way, r, (int)runs[r].status, runs[r].text);
    }
  }
}

// Rank 1 says that it leaves out the task and does not, so that calls are alike where both made them, and contents do not fit.
static void left_out_wrongly_body(rank_run *run) {
  weir_buffer *a, *b;
  weir_mpi_buffer_create(run->mpi, 64, 0, &a);
  weir_mpi_buffer_create(run->mpi, 32, 0, &b);
  submit_update(run, a, 64, "first");
  submit_update(run, b, 32, "second");
  if (run->rank == 1)
    weir_mpi_skip(run->mpi, 1);
  else
    weir_mpi_fetch(run->mpi, a, 0, WEIR_WHOLE, 1);
  weir_mpi_fetch(run->mpi, b, 0, WEIR_WHOLE, 1);
  run->status = weir_mpi_finish(run->mpi);
  snprintf(run->text, sizeof run->text, "%s", weir_last_error());
}

// Nobody waits for a difference that there is not: all ranks have compared what they submitted.
static void test_left_out_wrongly(void **state) {
  (void)state;
  rank_run runs[2];
  rank_threads_run(runs, 2, 0, &(weir_mpi_options){.timeout_ns = WEIR_FOREVER}, left_out_wrongly_body);
  for (uint32_t r = 0; r < 2; r++) {
    weir_status status =
        runs[r].status != WEIR_OK ? runs[r].status : runs[r].released; // rank 0 may have come to its end before
    const char *text = runs[r].status != WEIR_OK ? runs[r].text : runs[r].end;
    if (status != WEIR_ERROR_INVALID_ARGUMENT || strstr(text, "rank 0 sends") == NULL) fail_msg("rank %u: %s", r, text);
  }
}

static void no_error_body(rank_run *run) {
  snprintf(run->text, sizeof run->text, "%s", weir_last_error());
  run->status = weir_mpi_finish(run->mpi);
}

// After weir_mpi_create had succeeded the last error was that the context does not trace.
static void test_no_error(void **state) {
  (void)state;
  rank_run runs[2];
  rank_threads_run(runs, 2, 0, &(weir_mpi_options){0}, no_error_body);
  for (uint32_t r = 0; r < 2; r++) {
    assert_string_equal(runs[r].text, "");
    assert_int_equal(runs[r].status, WEIR_OK);
  }
}

static void released_early_body(rank_run *run) {
  weir_buffer *a;
  weir_mpi_buffer_create(run->mpi, 64, 0, &a);
  submit_update(run, a, 64, "first");
  run->status = weir_context_release(run->context);
  snprintf(run->text, sizeof run->text, "%s", weir_last_error());
  weir_mpi_fetch(run->mpi, a, 0, WEIR_WHOLE, WEIR_MPI_ALL); // all goes on
  if (weir_mpi_finish(run->mpi) != WEIR_OK) run->dead = true;
}

// A context was released under its job, and all ranks hung.
static void test_context_released_early(void **state) {
  (void)state;
  rank_run runs[2];
  rank_threads_run(runs, 2, 0, &(weir_mpi_options){0}, released_early_body);
  for (uint32_t r = 0; r < 2; r++) {
    assert_int_equal(runs[r].status, WEIR_ERROR_INVALID_ARGUMENT);
    assert_non_null(strstr(runs[r].text, "weir_mpi_release"));
    assert_true(!runs[r].dead && runs[r].released == WEIR_OK);
  }
}

static void differ_late_body(rank_run *run) {
  weir_buffer *a;
  weir_mpi_buffer_create(run->mpi, 64, 0, &a);
  for (int i = 0; i < 20; i++) submit_update(run, a, 64, "same");
  submit_update(run, a, 64, run->rank == 0 ? "this" : "that");
  run->status = weir_mpi_finish(run->mpi);
  snprintf(run->text, sizeof run->text, "%s", weir_last_error());
}

// What ranks compare was cut where contents travel in small pieces, so that calls behind the tenth were not compared.
static void test_differ_late(void **state) {
  (void)state;
  rank_run runs[2];
  rank_threads_run(runs, 2, 0, &(weir_mpi_options){.piece_bytes = 256}, differ_late_body);
  for (uint32_t r = 0; r < 2; r++) {
    assert_int_equal(runs[r].status, WEIR_ERROR_INVALID_ARGUMENT);
    assert_non_null(strstr(runs[r].text, "call 22 of rank 0 is task 'this'"));
  }
}

static void refused_body(rank_run *run) {
  weir_buffer *a, *local;
  weir_mpi_buffer_create(run->mpi, 64, 0, &a);
  weir_buffer_create(run->context, 64, &local);
  weir_arg box = weir_reads(a);
  box.shape = WEIR_BOX;
  const struct {
    weir_arg arg;
    int32_t rank;
    weir_status status;
    const char *text;
  } cases[] = {
      {weir_reads(local), WEIR_MPI_OWNER, WEIR_ERROR_INVALID_ARGUMENT,
       "task 'tail' (tag 7), argument 1: the buffer is"},
      {weir_reads_range(a, 60, 8), WEIR_MPI_OWNER, WEIR_ERROR_OUT_OF_RANGE,
       "task 'tail' (tag 7), argument 1: bytes 60 to 68 leave buffer 1, which has 64"},
      {box, WEIR_MPI_OWNER, WEIR_ERROR_INVALID_ARGUMENT,
       "task 'tail' (tag 7), argument 1: it is a box, from byte 0 of buffer 1 on, which"},
      {weir_auto(a), WEIR_MPI_OWNER, WEIR_ERROR_INVALID_ARGUMENT, "task 'tail' (tag 7), argument 1: its mode, "},
      {weir_reads(a), 5, WEIR_ERROR_INVALID_ARGUMENT, "task 'tail' (tag 7): there is no rank 5"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    const weir_arg args[] = {weir_value("x", 1), cases[i].arg};
    const weir_task task = {.host = add_one, .args = args, .arg_count = 2, .label = "tail", .tag = 7};
    run->status = weir_mpi_submit(run->mpi, &task, cases[i].rank, NULL);
    snprintf(run->text, sizeof run->text, "%s", weir_last_error());
    run->dead = run->status != cases[i].status || strstr(run->text, cases[i].text) != run->text;
    if (run->dead) return;
  }
  run->status = weir_mpi_finish(run->mpi);
  weir_buffer_release(local);
}

// What calls that are no tasks say of what can never be right. They are no part of the sequence.
static void refused_calls_body(rank_run *run) {
  weir_mpi *mpi = run->mpi;
  weir_buffer *a, *b, *released, *small, *local, *out;
  weir_mpi_buffer_create(mpi, 64, 0, &a);
  weir_mpi_buffer_create(mpi, 64, 0, &released);
  weir_mpi_buffer_create(mpi, 32, 0, &small);
  weir_mpi_buffer_create(mpi, 64, 1, &b);
  weir_mpi_buffer_release(mpi, released);
  weir_buffer_create(run->context, 64, &local);
  weir_buffer *const sizes[] = {a, small}, *const none[] = {a, NULL}, *const strange[] = {a, b, local};
  const weir_task combine = {.host = add_one, .label = "combine"}, destroys = {.host = add_one, .destroy = free};
#define REFUSED(call, wanted, begins)                                                                                  \
  if (run->text[0] == '\0' && ((run->status = (call)) != (wanted) || strstr(weir_last_error(), begins) == NULL))       \
  snprintf(run->text, sizeof run->text, "%s: %s: %s", #call, weir_status_name(run->status), weir_last_error())
  REFUSED(weir_mpi_buffer_create(mpi, 0, 0, &out), WEIR_ERROR_INVALID_ARGUMENT,
          "weir_mpi_buffer_create: a buffer of 0");
  REFUSED(weir_mpi_buffer_create(mpi, UINT64_MAX, 0, &out), WEIR_ERROR_INVALID_ARGUMENT,
          "weir_mpi_buffer_create: a buffer of too many"); // made the job fail
  REFUSED(weir_mpi_buffer_create(mpi, 8, 2, &out), WEIR_ERROR_INVALID_ARGUMENT,
          "weir_mpi_buffer_create: there is no rank 2; the job has ranks 0 to 1");
  REFUSED(weir_mpi_buffer_create(mpi, 8, 0, NULL), WEIR_ERROR_INVALID_ARGUMENT, "weir_mpi_buffer_create: out_buffer");
  REFUSED(weir_mpi_buffer_release(mpi, local), WEIR_ERROR_INVALID_ARGUMENT,
          "weir_mpi_buffer_release: the buffer is none");
  REFUSED(weir_mpi_buffer_release(mpi, released), WEIR_ERROR_INVALID_ARGUMENT, "or was released");
  REFUSED(weir_mpi_buffer_release(mpi, NULL), WEIR_ERROR_INVALID_ARGUMENT,
          "weir_mpi_buffer_release: the buffer is NULL");
  REFUSED(weir_buffer_release(a), WEIR_ERROR_INVALID_ARGUMENT, "weir_mpi_buffer_release");
  REFUSED(weir_mpi_buffer_move(mpi, a, 2), WEIR_ERROR_INVALID_ARGUMENT, "weir_mpi_buffer_move: there is no rank 2");
  REFUSED(weir_mpi_buffer_move(mpi, released, 1), WEIR_ERROR_INVALID_ARGUMENT,
          "weir_mpi_buffer_move: the buffer is none");
  REFUSED(weir_mpi_fetch(mpi, a, 0, 8, -1), WEIR_ERROR_INVALID_ARGUMENT, "weir_mpi_fetch: there is no rank -1");
  REFUSED(weir_mpi_fetch(mpi, a, 60, 8, 1), WEIR_ERROR_OUT_OF_RANGE,
          "weir_mpi_fetch: bytes 60 to 68 leave buffer 1, which has 64");
  REFUSED(weir_mpi_fetch(mpi, a, 70, WEIR_WHOLE, 1), WEIR_ERROR_OUT_OF_RANGE,
          "weir_mpi_fetch: all bytes from byte 70 on leave buffer 1, which has 64");
  REFUSED(weir_mpi_fetch(mpi, a, 8, UINT64_MAX - 4, 1), WEIR_ERROR_OUT_OF_RANGE, "so many bytes from byte 8 on leave");
  REFUSED(weir_mpi_fetch(mpi, a, 8, 0, 1), WEIR_ERROR_INVALID_ARGUMENT,
          "weir_mpi_fetch: a range of buffer 1, from byte 8 on, has no bytes");
  REFUSED(weir_mpi_written(mpi, a, 0, 8, WEIR_MPI_ALL), WEIR_ERROR_INVALID_ARGUMENT,
          "weir_mpi_written: there is no rank -2");
  REFUSED(weir_mpi_written(mpi, released, 0, 8, 0), WEIR_ERROR_INVALID_ARGUMENT,
          "weir_mpi_written: the buffer is none");
  REFUSED(weir_mpi_reduce(mpi, &combine, sizes, 2), WEIR_ERROR_INVALID_ARGUMENT,
          "buffer 1 has 32 bytes, and the first one 64");
  REFUSED(weir_mpi_reduce(mpi, &combine, none, 2), WEIR_ERROR_INVALID_ARGUMENT,
          "weir_mpi_reduce: buffer 1: the buffer is NULL");
  REFUSED(weir_mpi_reduce(mpi, &combine, strange, 3), WEIR_ERROR_INVALID_ARGUMENT,
          "weir_mpi_reduce: buffer 2: the buffer is none"); // the others were combined
  REFUSED(weir_mpi_skip(mpi, UINT64_MAX), WEIR_ERROR_INVALID_ARGUMENT, "weir_mpi_skip: 18446744073709551615 calls");
  REFUSED(weir_mpi_reduce(mpi, &combine, none, 0), WEIR_ERROR_INVALID_ARGUMENT, "weir_mpi_reduce: no buffers");
  REFUSED(weir_mpi_reduce(mpi, &destroys, sizes, 1), WEIR_ERROR_INVALID_ARGUMENT,
          "weir_mpi_reduce: a task that runs many");
  REFUSED(weir_mpi_reduce(mpi, NULL, sizes, 1), WEIR_ERROR_INVALID_ARGUMENT, "weir_mpi_reduce: the task is NULL");
  const weir_task unsaid = {.host = add_one, .label = "unsaid", .tag = 3, .arg_count = 2};
  REFUSED(weir_mpi_submit(mpi, &unsaid, 0, NULL), WEIR_ERROR_INVALID_ARGUMENT,
          "task 'unsaid' (tag 3): it has 2 arguments, and `args` is NULL");
  REFUSED(weir_mpi_submit(mpi, NULL, 0, NULL), WEIR_ERROR_INVALID_ARGUMENT, "weir_mpi_submit: the task is NULL");
  const struct {
    weir_task task;
    uint64_t more;
  } later = {.task = combine, .more = 1};
  REFUSED(weir_mpi_submit_sized(mpi, &later.task, sizeof later, 0, NULL), WEIR_ERROR_INVALID_ARGUMENT,
          "weir_mpi_submit: a member");
  REFUSED(weir_mpi_reduce_sized(mpi, &later.task, sizeof later, sizes, 1), WEIR_ERROR_INVALID_ARGUMENT,
          "weir_mpi_reduce: a member");
#undef REFUSED
  run->status = weir_mpi_finish(mpi);
  weir_mpi_statistics counts;
  weir_mpi_get_statistics(mpi, &counts);
  run->dead = counts.submitted != 6 || counts.skipped != 0; // the end among them
  weir_buffer_release(local);
}

static void test_refused_calls(void **state) {
  (void)state;
  rank_run runs[2];
  rank_threads_run(runs, 2, 0, &(weir_mpi_options){0}, refused_calls_body);
  for (uint32_t r = 0; r < 2; r++) {
    if (runs[r].text[0] != '\0') fail_msg("rank %u: %s", r, runs[r].text);
    assert_int_equal(runs[r].status, WEIR_OK);
    assert_false(runs[r].dead);
  }
}

static void no_events_body(rank_run *run) {
  weir_buffer *a;
  weir_event *event = (weir_event *)run;
  weir_mpi_buffer_create(run->mpi, 64, 1, &a);
  const weir_arg arg = weir_writes(a);
  const weir_task task = {.host = add_one, .args = &arg, .arg_count = 1, .label = "behind none", .after_count = 2};
  run->status = weir_mpi_submit(run->mpi, &task, WEIR_MPI_OWNER, &event);
  snprintf(run->text, sizeof run->text, "%s", run->status == WEIR_OK ? "" : weir_last_error());
  weir_mpi_fetch(run->mpi, a, 0, WEIR_WHOLE, 0);
  run->dead = event != NULL || weir_mpi_finish(run->mpi) == WEIR_OK; // what it was to write is poisoned
}

// A number of events at NULL, which only the rank that runs the task looks at: that one crashed.
static void test_no_events(void **state) {
  (void)state;
  rank_run runs[2];
  rank_threads_run(runs, 2, 0, &(weir_mpi_options){0}, no_events_body);
  assert_int_equal(runs[0].status, WEIR_OK);
  assert_int_equal(runs[1].status, WEIR_ERROR_INVALID_ARGUMENT);
  assert_non_null(strstr(runs[1].text, "task 'behind none' (tag 0): after is NULL"));
  for (uint32_t r = 0; r < 2; r++) assert_false(runs[r].dead);
}

// Refusals did not name the task, and said of a rank that there is not that the task has no buffer.
static void test_refusals_name_the_task(void **state) {
  (void)state;
  rank_run runs[2];
  rank_threads_run(runs, 2, 0, &(weir_mpi_options){0}, refused_body);
  for (uint32_t r = 0; r < 2; r++) {
    if (runs[r].dead) fail_msg("rank %u: %s: %s", r, weir_status_name(runs[r].status), runs[r].text);
    assert_int_equal(runs[r].status, WEIR_OK);
  }
}

// What a read of another rank's bytes says, or "" if it is not refused.
static const char *read_text(weir_buffer *buffer, uint64_t offset, uint64_t bytes) {
  unsigned char values[64];
  return weir_read(buffer, offset, bytes, values) == WEIR_OK ? "" : weir_last_error();
}

static weir_buffer *kept[RANK_THREADS_MOST];

// Rank 1 has a copy for a while, rank 2 never, and each of them reads. What is not as it should be is the text.
static void elsewhere_body(rank_run *run) {
  weir_buffer *a, *b;
  unsigned char values[64];
  char expected[64];
  const char *said = "";
#define EXPECT(what, good)                                                                                             \
  if (!(good) && run->text[0] == '\0') snprintf(run->text, sizeof run->text, "%s: %s", what, weir_last_error())
  weir_mpi_buffer_create(run->mpi, 64, 0, &a);
  weir_mpi_buffer_create(run->mpi, 64, 1, &b);
  EXPECT("written by nobody", read_text(a, 0, 64)[0] == '\0');
  submit_update(run, a, 48, "first"); // all bytes but the last ones
  snprintf(expected, sizeof expected, "read: rank %u lacks bytes 8 to 48 of buffer 1, which", run->rank);
  said = read_text(a, 8, 56);
  EXPECT("before", run->rank == 0 ? said[0] == '\0' : strncmp(said, expected, strlen(expected)) == 0);
  EXPECT("before", run->rank == 0 || (strstr(said, "rank 0 has since call 3, task 'first' (") != NULL &&
                                      strstr(said, "weir_mpi_fetch") != NULL));
  EXPECT("the rest", read_text(a, 48, 16)[0] == '\0');
  EXPECT("out of range", run->rank == 0 || strstr(read_text(a, 60, 8), "leave buffer") != NULL);
  weir_status copied = weir_copy_out(a, 0, WEIR_WHOLE, values, NULL);
  EXPECT("copy out", run->rank == 0 ? copied == WEIR_OK : strncmp(weir_last_error(), "copy out: rank", 14) == 0);
  copied = weir_copy(b, 0, a, 0, 8, NULL);
  EXPECT("copy", run->rank == 0 ? copied == WEIR_OK : strncmp(weir_last_error(), "copy: rank", 10) == 0);
  weir_mpi_fetch(run->mpi, a, 0, WEIR_WHOLE, 1);
  said = read_text(a, 0, 64);
  EXPECT("after the fetch", (said[0] == '\0') == (run->rank < 2));
  submit_update(run, a, 4, "second");
  said = read_text(a, 0, 64);
  EXPECT("stale", (said[0] == '\0') == (run->rank == 0) && (run->rank != 1 || strstr(said, "bytes 0 to 4 of") != NULL));
  EXPECT("not stale", run->rank == 2 || read_text(a, 4, 60)[0] == '\0');
#undef EXPECT
  run->status = weir_mpi_finish(run->mpi);
  kept[run->rank] = a;
}

// Without the job a buffer is one of this rank's alone.
static void read_afterwards(rank_run *run) {
  run->late = read_text(kept[run->rank], 0, 64)[0] != '\0';
}

// It gave what was there before, or zeros, without a word.
static void test_read_elsewhere(void **state) {
  (void)state;
  rank_run runs[3];
  rank_threads_after = read_afterwards;
  rank_threads_run(runs, 3, 0, &(weir_mpi_options){0}, elsewhere_body);
  rank_threads_after = NULL;
  for (uint32_t r = 0; r < 3; r++) {
    if (runs[r].text[0] != '\0') fail_msg("rank %u: %s", r, runs[r].text);
    assert_int_equal(runs[r].status, WEIR_OK);
    assert_false(runs[r].late);
  }
}

typedef struct reader {
  weir_buffer *buffer;
  atomic_bool stops;
  bool wrong;
} reader;

static void *read_on(void *argument) {
  reader *self = argument;
  do {
    const char *said = read_text(self->buffer, 0, 32);
    self->wrong = self->wrong || said[0] != '\0';
    said = read_text(self->buffer, 32, 32);
    self->wrong = self->wrong || (said[0] != '\0' && strstr(said, "weir_mpi_fetch") == NULL);
  } while (!atomic_load_explicit(&self->stops, memory_order_relaxed));
  return NULL;
}

// Another thread reads, while the table of the buffer changes.
static void read_beside_body(rank_run *run) {
  reader own = {0};
  pthread_t thread;
  random_state random = {7};
  weir_mpi_buffer_create(run->mpi, 64, 0, &own.buffer);
  submit_update(run, own.buffer, 64, "first");
  weir_mpi_fetch(run->mpi, own.buffer, 0, WEIR_WHOLE, WEIR_MPI_ALL);
  run->dead = pthread_create(&thread, NULL, read_on, &own) != 0;
  for (uint32_t i = 0; i < 200 && !run->dead; i++) {
    uint32_t first = random_between(&random, 32, 63), bytes = random_between(&random, 1, 64 - first);
    const weir_arg arg = weir_updates_range(own.buffer, first, bytes);
    const weir_task task = {.host = add_one, .args = &arg, .arg_count = 1, .label = "behind"};
    weir_mpi_submit(run->mpi, &task, (int32_t)random_below(&random, run->size), NULL);
    if (random_chance(&random, 20)) weir_mpi_fetch(run->mpi, own.buffer, 32, 32, WEIR_MPI_ALL);
  }
  atomic_store_explicit(&own.stops, true, memory_order_relaxed);
  if (!run->dead) pthread_join(thread, NULL);
  run->status = weir_mpi_finish(run->mpi);
  run->dead = run->dead || own.wrong;
}

static void test_read_beside(void **state) {
  (void)state;
  rank_run runs[3];
  rank_threads_run(runs, 3, 0, &(weir_mpi_options){0}, read_beside_body);
  for (uint32_t r = 0; r < 3; r++) assert_true(!runs[r].dead && runs[r].status == WEIR_OK);
}

static void break_down(const weir_work *work) {
  weir_work_fail(work, "it is broken");
}

static void break_down_at_length(const weir_work *work) {
  char text[120];
  memset(text, 'x', sizeof text);
  memcpy(text + sizeof text - 8, "the end", 8);
  weir_work_fail(work, text);
}

// The function that fails is the seed's. A task of rank 0 fails, and each rank reads what the one before it writes.
static void cause_body(rank_run *run) {
  weir_buffer *buffers[3];
  for (uint32_t i = 0; i < 3; i++) {
    weir_mpi_buffer_create(run->mpi, 64, i, &buffers[i]);
    const weir_arg args[] = {weir_writes(buffers[i]), weir_reads(buffers[i > 0 ? i - 1 : 0])};
    const weir_task task = {.host = i > 0            ? add_one
                                    : run->seed == 0 ? break_down
                                                     : break_down_at_length,
                            .args = args,
                            .arg_count = i == 0 ? 1 : 2,
                            .label = "breaks"};
    weir_mpi_submit(run->mpi, &task, WEIR_MPI_OWNER, NULL);
  }
  run->status = weir_mpi_finish(run->mpi);
  snprintf(run->text, sizeof run->text, "%s", weir_last_error());
}

// All ranks have the text of the task that failed first, and not of the messages that were not sent for it.
static void test_cause(void **state) {
  (void)state;
  rank_run runs[3];
  const weir_mpi_options options = {0};
  rank_threads_run(runs, 3, 0, &options, cause_body);
  for (uint32_t r = 0; r < 3; r++) {
    assert_int_not_equal(runs[r].status, WEIR_OK);
    if (strstr(runs[r].text, "task 1 'breaks' (tag 0) on cpu:1: it is broken") == NULL) fail_msg("%s", runs[r].text);
    assert_int_equal(runs[r].released, WEIR_OK);
  }
  assert_non_null(strstr(runs[1].text, "'from rank 0: breaks'"));
}

// It was cut at 119 bytes on its way, those included that say which task it was.
static void test_long_cause(void **state) {
  (void)state;
  rank_run runs[3];
  rank_threads_run(runs, 3, 1, &(weir_mpi_options){0}, cause_body);
  for (uint32_t r = 0; r < 3; r++) {
    if (strstr(runs[r].text, "on cpu:1: xxx") == NULL || strstr(runs[r].text, "xxxthe end") == NULL)
      fail_msg("rank %u: %s", r, runs[r].text);
  }
}

// Rank 1 dies before it sends; the other ranks read of it.
static void lost_body(rank_run *run) {
  weir_buffer *a;
  weir_mpi_buffer_create(run->mpi, 64, 1, &a);
  if (run->rank == 1) threads_kill(run->job, 1);
  submit_update(run, a, 64, "at rank 1");
  weir_mpi_fetch(run->mpi, a, 0, WEIR_WHOLE, 0);
  run->status = weir_mpi_finish(run->mpi);
  snprintf(run->text, sizeof run->text, "%s", weir_last_error());
}

static void test_lost(void **state) {
  (void)state;
  rank_run runs[3];
  const weir_mpi_options options = {.timeout_ns = UINT64_C(1000000000)};
  rank_threads_run(runs, 3, 0, &options, lost_body);
  // Rank 1 itself may have got all that it waits for. Which of the others finds it lost first is open.
  for (uint32_t r = 0; r < 3; r += 2) {
    assert_int_equal(runs[r].status, WEIR_ERROR_DEVICE_LOST);
    if (strstr(runs[r].text, "rank 1 is lost: nothing was heard of it for 1 s; ") == NULL) fail_msg("%s", runs[r].text);
    assert_non_null(strstr(runs[r].text, "call "));
  }
}

static void sum(const weir_work *work) {
  uint64_t *to = work->args[0];
  const uint64_t *from = work->args[1];
  *to = *to * 3 + *from;
}

static void set(const weir_work *work) {
  uint64_t *number = work->args[0];
  *number = (uint64_t)(uintptr_t)work->user;
}

static void reduce_body(rank_run *run) {
  weir_buffer *parts[5];
  for (uint32_t i = 0; i < 5; i++) {
    weir_mpi_buffer_create(run->mpi, 8, i % run->size, &parts[i]);
    const weir_arg arg = weir_writes(parts[i]);
    const weir_task task = {
        .host = set, .args = &arg, .arg_count = 1, .user = (void *)(uintptr_t)(i + 1), .label = "set"};
    weir_mpi_submit(run->mpi, &task, WEIR_MPI_OWNER, NULL);
  }
  const weir_task combine = {.host = sum, .label = "sum"};
  weir_mpi_reduce(run->mpi, &combine, parts, 5);
  weir_mpi_fetch(run->mpi, parts[0], 0, WEIR_WHOLE, WEIR_MPI_ALL);
  run->status = weir_mpi_finish(run->mpi);
  uint64_t result = 0;
  weir_read(parts[0], 0, 8, &result);
  snprintf(run->text, sizeof run->text, "%llu", (unsigned long long)result);
}

static void test_reduce(void **state) {
  (void)state;
  for (uint32_t size = 1; size <= MPI_RANKS; size++) {
    rank_run runs[MPI_RANKS];
    rank_threads_run(runs, size, 0, &(weir_mpi_options){0}, reduce_body);
    // ((1 * 3 + 2) * 3 + (3 * 3 + 4)) * 3 + 5
    for (uint32_t r = 0; r < size; r++) assert_string_equal(runs[r].text, "89");
  }
}

// Rank 2 has no part in what ranks 0 and 1 do, and leaves it out.
static void skip_body(rank_run *run) {
  weir_buffer *a, *b;
  weir_mpi_buffer_create(run->mpi, 8, 0, &a);
  weir_mpi_buffer_create(run->mpi, 8, 2, &b);
  const weir_arg args[] = {weir_writes(a), weir_writes(b)};
  for (uint32_t i = 0; i < 2; i++) {
    const weir_task task = {
        .host = set, .args = &args[i], .arg_count = 1, .user = (void *)(uintptr_t)(i + 1), .label = "set"};
    weir_mpi_submit(run->mpi, &task, WEIR_MPI_OWNER, NULL);
  }
  if (run->rank == 2)
    weir_mpi_skip(run->mpi, 200);
  else
    for (uint32_t i = 0; i < 100; i++) {
      submit_update(run, a, 8, "left out");
      weir_mpi_buffer_move(run->mpi, a, i % 2);
    }
  weir_mpi_fetch(run->mpi, b, 0, WEIR_WHOLE, 0);
  run->status = weir_mpi_finish(run->mpi);
  weir_mpi_statistics counts;
  weir_mpi_get_statistics(run->mpi, &counts);
  uint64_t value = 0;
  weir_read(run->rank == 0 ? b : a, 0, 8, &value);
  snprintf(run->text, sizeof run->text, "%llu of %llu, %llu", (unsigned long long)counts.skipped,
           (unsigned long long)counts.submitted, (unsigned long long)(run->rank == 2 ? 0 : value));
}

static void test_skip(void **state) {
  (void)state;
  rank_run runs[3];
  rank_threads_run(runs, 3, 0, &(weir_mpi_options){0}, skip_body);
  for (uint32_t r = 0; r < 3; r++) assert_int_equal(runs[r].status, WEIR_OK);
  assert_string_equal(runs[0].text, "0 of 206, 2");
  assert_string_equal(runs[2].text, "200 of 206, 0");
}

// Reads the counts when the submission behind it has come to wait.
static void count(const weir_work *work) {
  rank_run *run = work->user;
  nanosleep(&(struct timespec){.tv_nsec = 100000000}, NULL);
  weir_mpi_statistics counts;
  run->status = weir_mpi_get_statistics(run->mpi, &counts);
  run->seed = counts.tasks;
}

// One message may wait to be sent, and the second one waits for the task that writes what the first one has.
static void count_body(rank_run *run) {
  weir_buffer *buffers[2];
  for (uint32_t i = 0; i < 2; i++) {
    weir_mpi_buffer_create(run->mpi, 8, 0, &buffers[i]);
    const weir_arg arg = weir_writes(buffers[i]);
    const weir_task task = {.host = i == 0 ? count : set, .user = run, .args = &arg, .arg_count = 1, .label = "count"};
    weir_mpi_submit(run->mpi, &task, WEIR_MPI_OWNER, NULL);
    weir_mpi_fetch(run->mpi, buffers[i], 0, WEIR_WHOLE, 1);
  }
  run->dead = weir_mpi_finish(run->mpi) != WEIR_OK;
}

static void test_counts_in_a_task(void **state) {
  (void)state;
  rank_run runs[2];
  rank_threads_run(runs, 2, 0, &(weir_mpi_options){.send_limit = 1}, count_body);
  assert_int_equal(runs[0].status, WEIR_OK);
  assert_true(runs[0].seed >= 1 && runs[0].seed <= 2); // itself, and perhaps the one behind it
  for (uint32_t r = 0; r < 2; r++) assert_true(!runs[r].dead && runs[r].released == WEIR_OK);
}

// Each call names itself.
static void test_null(void **state) {
  (void)state;
  weir_buffer *buffer;
  weir_mpi_nccl *nccl;
  weir_mpi_statistics counts;
  const weir_task task = {0};
  char reason[32];
#define NO_JOB(name, ...)                                                                                              \
  assert_int_equal(name(NULL, __VA_ARGS__), WEIR_ERROR_INVALID_ARGUMENT);                                              \
  assert_string_equal(weir_last_error(), #name ": the job (weir_mpi) is NULL")
  NO_JOB(weir_mpi_buffer_create, 8, 0, &buffer);
  NO_JOB(weir_mpi_buffer_release, NULL);
  NO_JOB(weir_mpi_buffer_move, NULL, 0);
  NO_JOB(weir_mpi_submit, &task, 0, NULL);
  NO_JOB(weir_mpi_fetch, NULL, 0, 8, 0);
  NO_JOB(weir_mpi_written, NULL, 0, 8, 0);
  NO_JOB(weir_mpi_reduce, &task, &buffer, 1);
  NO_JOB(weir_mpi_skip, 1);
  NO_JOB(weir_mpi_nccl_create, NULL, &nccl);
  NO_JOB(weir_mpi_get_statistics, &counts);
#undef NO_JOB
  assert_int_equal(weir_mpi_finish(NULL), WEIR_ERROR_INVALID_ARGUMENT);
  assert_string_equal(weir_last_error(), "weir_mpi_finish: the job (weir_mpi) is NULL");
  assert_int_equal(weir_mpi_nccl_all_reduce(NULL, NULL, 0, 8, WEIR_REDUCE_SUM, WEIR_REDUCE_F32),
                   WEIR_ERROR_INVALID_ARGUMENT);
  assert_string_equal(weir_last_error(), "all-reduce: the communicator is NULL");
  assert_int_equal(weir_mpi_release(NULL), WEIR_OK);
  assert_int_equal(weir_mpi_nccl_release(NULL), WEIR_OK);
  assert_int_equal(weir_mpi_rank(NULL), 0);
  assert_int_equal(weir_mpi_size(NULL), 0);
  assert_false(weir_mpi_is_direct(NULL, reason, sizeof reason));
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_reduce),
                                     cmocka_unit_test(test_differ),
                                     cmocka_unit_test(test_left_out),
                                     cmocka_unit_test(test_refusals_name_the_task),
                                     cmocka_unit_test(test_lost),
                                     cmocka_unit_test(test_skip),
                                     cmocka_unit_test(test_cause),
                                     cmocka_unit_test(test_counts_in_a_task),
                                     cmocka_unit_test(test_left_out_wrongly),
                                     cmocka_unit_test(test_no_error),
                                     cmocka_unit_test(test_context_released_early),
                                     cmocka_unit_test(test_long_cause),
                                     cmocka_unit_test(test_read_elsewhere),
                                     cmocka_unit_test(test_read_beside),
                                     cmocka_unit_test(test_differ_late),
                                     cmocka_unit_test(test_refused_calls),
                                     cmocka_unit_test(test_no_events),
                                     cmocka_unit_test(test_null)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
