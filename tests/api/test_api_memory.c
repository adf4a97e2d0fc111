// SPDX-License-Identifier: Apache-2.0
//
// A memory limit makes submissions wait: what fits when all else is idle is never refused.
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "api.h"
#include "weir/graph.h"

enum { BYTES = 4096, BUFFERS = 3, THREADS = 3, TASKS = 1000, LAUNCHES = 400 };

// How long a submission waits for other threads to release buffers (weir.h).
enum { PATIENCE_NS = 20000000 };

// What a thread found.
typedef struct submitter {
  weir_context *context;
  uint32_t refused;
  uint64_t longest_hold; // in ns: from before a submission until its buffers were released
  atomic_uint *foreign;  // tasks that saw bytes of another one
} submitter;

static weir_context *limited(const char *devices, uint64_t limit) {
  weir_context *context = NULL;
  assert_int_equal(weir_context_create(&(weir_context_options){.devices = devices, .memory_limit = limit}, &context),
                   WEIR_OK);
  return context;
}

static uint64_t now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
}

static void note_hold(submitter *self, uint64_t since) {
  uint64_t hold = now() - since;
  if (hold > self->longest_hold) self->longest_hold = hold;
}

static void fill_and_look(const weir_work *work) {
  atomic_uint *foreign = work->user;
  int value = *(const unsigned char *)work->args[BUFFERS];
  for (int i = 0; i < BUFFERS; i++) memset(work->args[i], value + i, BYTES);
  for (int i = 0; i < BUFFERS; i++) {
    const unsigned char *bytes = work->args[i];
    for (int j = 0; j < BYTES; j++) {
      if (bytes[j] != (unsigned char)(value + i)) atomic_fetch_add(foreign, 1);
    }
  }
}

static void *submit_fresh(void *user) {
  submitter *self = user;
  for (int i = 0; i < TASKS; i++) {
    weir_buffer *buffers[BUFFERS];
    weir_arg args[BUFFERS + 1];
    unsigned char value = (unsigned char)(3 * i);
    for (int j = 0; j < BUFFERS; j++) {
      if (weir_buffer_create(self->context, BYTES, &buffers[j]) != WEIR_OK) abort();
      args[j] = weir_writes(buffers[j]);
    }
    args[BUFFERS] = weir_value(&value, 1);
    weir_task task = {.host = fill_and_look, .user = self->foreign, .args = args, .arg_count = BUFFERS + 1};
    uint64_t since = now();
    self->refused += weir_submit(self->context, &task, NULL) != WEIR_OK;
    for (int j = 0; j < BUFFERS; j++) weir_buffer_release(buffers[j]);
    note_hold(self, since);
  }
  return NULL;
}

static void *launch_fresh(void *user) {
  submitter *self = user;
  for (int i = 0; i < LAUNCHES; i++) {
    weir_buffer *buffers[2];
    weir_graph *graph;
    if (weir_graph_create(self->context, NULL, &graph) != WEIR_OK) abort();
    for (int j = 0; j < 2; j++) {
      if (weir_buffer_create(self->context, BYTES, &buffers[j]) != WEIR_OK) abort();
      if (weir_graph_fill(graph, buffers[j], 0, BYTES, 1, NULL) != WEIR_OK) abort();
    }
    uint64_t since = now();
    self->refused += weir_graph_launch(graph, NULL) != WEIR_OK;
    weir_graph_release(graph);
    for (int j = 0; j < 2; j++) weir_buffer_release(buffers[j]);
    note_hold(self, since);
  }
  return NULL;
}

static void run_threads(uint64_t limit, void *(*function)(void *user)) {
  weir_context *context = limited("cpu:2", limit);
  atomic_uint foreign = 0;
  pthread_t threads[THREADS];
  submitter submitters[THREADS];
  for (int i = 0; i < THREADS; i++) {
    submitters[i] = (submitter){.context = context, .foreign = &foreign};
    assert_int_equal(pthread_create(&threads[i], NULL, function, &submitters[i]), 0);
  }
  // On a busy machine a thread may not run for so long between its submission and its releases that another one is refused.
  uint32_t refused = 0;
  uint64_t longest_hold = 0;
  for (int i = 0; i < THREADS; i++) {
    pthread_join(threads[i], NULL);
    refused += submitters[i].refused;
    if (submitters[i].longest_hold > longest_hold) longest_hold = submitters[i].longest_hold;
  }
  if (longest_hold < PATIENCE_NS) assert_int_equal(refused, 0);
  assert_int_equal(weir_finish(context), WEIR_OK);
  assert_int_equal(atomic_load(&foreign), 0);
  weir_statistics statistics;
  weir_context_statistics(context, &statistics);
  assert_true(statistics.peak_bytes <= limit);
  weir_context_release(context);
}

static void tasks_of_several_threads_wait(void **state) {
  (void)state;
  run_threads(BUFFERS * BYTES * 3 / 2, submit_fresh);
}

static void graphs_of_several_threads_wait(void **state) {
  (void)state;
  run_threads(3 * BYTES, launch_fresh);
}

static void what_cannot_fit_is_refused(void **state) {
  (void)state;
  weir_context *context = limited("cpu:1", 2 * BYTES);
  weir_buffer *buffers[BUFFERS];
  weir_arg args[BUFFERS];
  for (int i = 0; i < BUFFERS; i++) {
    buffers[i] = api_buffer(context, BYTES, "large");
    args[i] = weir_writes(buffers[i]);
  }
  weir_task task = {.host = api_nothing, .args = args, .arg_count = BUFFERS};
  api_expect(weir_submit(context, &task, NULL), WEIR_ERROR_OUT_OF_MEMORY, "4096 bytes of buffer", "limit", NULL);
  // Contents of buffers that the caller keeps stay.
  task.arg_count = 2;
  assert_int_equal(weir_submit(context, &task, NULL), WEIR_OK);
  task.args = &args[2];
  task.arg_count = 1;
  api_expect(weir_submit(context, &task, NULL), WEIR_ERROR_OUT_OF_MEMORY, "8192 bytes are held", NULL);
  assert_int_equal(weir_buffer_release(buffers[0]), WEIR_OK);
  assert_int_equal(weir_submit(context, &task, NULL), WEIR_OK);
  assert_int_equal(weir_context_release(context), WEIR_OK);
}

// Counts tasks that begin while another one is at its gate.
typedef struct tenant {
  gate gate;
  atomic_uint early;
} tenant;

static void move_in(const weir_work *work) {
  tenant *self = work->user;
  if (atomic_load(&self->gate.passed) == 0) atomic_fetch_add(&self->early, 1);
}

static void *open_later(void *user) {
  nanosleep(&(struct timespec){.tv_nsec = 20000000}, NULL);
  gate_open(user);
  return NULL;
}

// Where memory is short, a buffer gets storage that tasks still use, if all of its own tasks come after them: not if the first one
// reads or commutes, for then the second one does not wait for the first.
static void storage_is_used_by_one_buffer_at_a_time(void **state) {
  (void)state;
  static const weir_mode modes[] = {WEIR_READ, WEIR_COMMUTE, WEIR_READ_WRITE, WEIR_WRITE};
  for (size_t i = 0; i < sizeof modes / sizeof modes[0]; i++) {
    tenant self = {.early = 0};
    pthread_t opener;
    weir_context *context = limited("cpu:3", BYTES);
    weir_buffer *before = api_buffer(context, BYTES, "before"), *after = api_buffer(context, BYTES, "after");
    const weir_arg updates = weir_updates(before);
    const weir_arg arg = {.mode = modes[i], .buffer = after, .bytes = WEIR_WHOLE};
    const weir_task other = {.host = move_in, .user = &self, .args = &arg, .arg_count = 1};
    assert_int_equal(gate_submit(context, &self.gate, &updates, 1, NULL), WEIR_OK);
    assert_int_equal(weir_buffer_release(before), WEIR_OK);
    assert_int_equal(pthread_create(&opener, NULL, open_later, &self.gate), 0);
    for (int j = 0; j < 3; j++) assert_int_equal(weir_submit(context, &other, NULL), WEIR_OK);
    assert_int_equal(weir_finish(context), WEIR_OK);
    assert_int_equal(pthread_join(opener, NULL), 0);
    if (atomic_load(&self.early) > 0) fail_msg("mode %d: %u tasks were early", (int)modes[i], atomic_load(&self.early));
    assert_int_equal(weir_context_release(context), WEIR_OK);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(tasks_of_several_threads_wait),
      cmocka_unit_test(graphs_of_several_threads_wait),
      cmocka_unit_test(what_cannot_fit_is_refused),
      cmocka_unit_test(storage_is_used_by_one_buffer_at_a_time),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
