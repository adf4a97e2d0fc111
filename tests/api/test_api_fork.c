// SPDX-License-Identifier: Apache-2.0
//
// A process that is forked: the contexts of its parent are refused there, and do not hang it; its own ones work; and the
// parent goes on. A child waited for tasks that no thread of it ran.
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "api.h"
#include "engine/context.h"
#include "weir/batch.h"
#include "weir/enqueue.h"
#include "weir/external.h"
#include "weir/graph.h"
#include "weir/group.h"
#include "weir/pipeline.h"
#include "weir/split.h"

enum { HANGS_AFTER_S = 60, FORKS = 20, SEQUENCE = 40, PASSES = 100000 };

typedef struct family {
  weir_context *context;
  weir_buffer *buffer;
  weir_event *event;
  weir_graph *graph;
  weir_group *group;
  weir_prepared *prepared;
  weir_pipeline *pipeline;
  weir_kernel *kernel;
  weir_split *split;
} family;

static weir_status no_token(weir_token *token) {
  return weir_token_end_input(token);
}

static void open_family(family *self, const char *devices) {
  self->context = api_context(devices, 0, WEIR_CONTEXT_TRACE);
  self->buffer = api_buffer(self->context, 64, "shared");
  const weir_task task = {.host = api_nothing};
  assert_int_equal(weir_graph_create(self->context, NULL, &self->graph), WEIR_OK);
  assert_int_equal(weir_graph_add(self->graph, &task, NULL), WEIR_OK);
  assert_int_equal(weir_group_create(self->context, &self->group), WEIR_OK);
  assert_int_equal(weir_prepare(self->context, &task, &self->prepared), WEIR_OK);
  const weir_stage stage = {.function = no_token};
  const weir_pipeline_options options = {.stages = &stage, .stage_count = 1, .lines = 1};
  assert_int_equal(weir_pipeline_create(self->context, &options, &self->pipeline), WEIR_OK);
  weir_device *first = weir_context_device(self->context, 0);
  const weir_split_options whole = {.devices = &first, .device_count = 1};
  assert_int_equal(weir_kernel_create(self->context, "nothing", &self->kernel), WEIR_OK);
  assert_int_equal(weir_kernel_set_cpu(self->kernel, api_nothing), WEIR_OK);
  assert_int_equal(weir_split_create(self->context, &whole, &self->split), WEIR_OK);
}

// In the child. An exit code: 0, or the line of a call that was not refused.
#define REFUSED(call)                                                                                                  \
  do {                                                                                                                 \
    if ((call) != WEIR_ERROR_INVALID_ARGUMENT || strstr(weir_last_error(), "forked") == NULL) return __LINE__;         \
  } while (0)

static int refused(family *self) {
  uint32_t word = 0;
  char path[] = "/dev/null/run.json";
  const weir_task task = {.host = api_nothing};
  REFUSED(weir_submit(self->context, &task, NULL));
  REFUSED(weir_submit_many(self->context, &task, 1, NULL, NULL));
  REFUSED(weir_prepared_submit(self->prepared, NULL, NULL, NULL));
  REFUSED(weir_copy_in(self->buffer, 0, 4, &word, NULL));
  REFUSED(weir_copy_out(self->buffer, 0, 4, &word, NULL));
  REFUSED(weir_fill(self->buffer, 0, 4, 1, NULL));
  REFUSED(weir_read(self->buffer, 0, 4, &word));
  REFUSED(weir_graph_launch(self->graph, NULL));
  REFUSED(weir_graph_evaluate(self->graph, WEIR_FOREVER));
  REFUSED(weir_graph_wait(self->graph, WEIR_FOREVER));
  REFUSED(weir_group_wait(self->group, WEIR_FOREVER));
  REFUSED(weir_pipeline_start(self->pipeline));
  REFUSED(weir_pipeline_wait(self->pipeline, WEIR_FOREVER));
  REFUSED(weir_pipeline_release(self->pipeline));
  const weir_split_launch launch = {.kernel = self->kernel, .groups = {4, 1, 1}};
  REFUSED(weir_split_submit(self->split, &launch, NULL));
  const weir_task begun = {.device = weir_context_device(self->context, 0)};
  weir_open_task *open;
  const weir_enqueue *call;
  REFUSED(weir_task_begin(self->context, &begun, &open, &call));
  weir_event *event;
  REFUSED(weir_buffer_event(self->buffer, WEIR_READ, &event));
  REFUSED(weir_context_set_progress(self->context, NULL, NULL));
  REFUSED(weir_trace_save(self->context, path, NULL));
  REFUSED(weir_finish(self->context));
  if (weir_event_poll(self->event) == WEIR_PENDING) REFUSED(weir_event_wait(self->event, WEIR_FOREVER));
  REFUSED(weir_context_release(self->context));
  return 0;
}

static int works(void) {
#ifdef __SANITIZE_THREAD__ // which has no threads in a child
  return 0;
#else
  weir_context *context;
  weir_buffer *buffer;
  uint32_t word = 0;
  if (weir_context_create(NULL, &context) != WEIR_OK) return 1;
  if (weir_buffer_create(context, 4, &buffer) != WEIR_OK) return 2;
  if (weir_fill(buffer, 0, 4, 7, NULL) != WEIR_OK || weir_read(buffer, 0, 4, &word) != WEIR_OK) return 3;
  return weir_context_release(context) == WEIR_OK && word == 7 ? 0 : 4;
#endif
}

static void fork_and_wait(family *self) {
  pid_t child = fork();
  if (child == 0) {
    alarm(HANGS_AFTER_S);
    int line = refused(self);
    if (line == 0) line = works();
    if (line != 0) (void)!write(2, weir_last_error(), strlen(weir_last_error()));
    _exit(line == 0 ? 0 : 1);
  }
  int status = -1;
  assert_int_equal(waitpid(child, &status, 0), child);
  assert_int_equal(status, 0);
}

static void contexts_of_the_parent_are_refused(void **state) {
  (void)state;
  const char *const devices[] = {"cpu:1", "cpu:3", "cpu:2,sim:ideal"};
  for (size_t i = 0; i < sizeof devices / sizeof *devices; i++) {
    family self;
    gate door = {0};
    open_family(&self, devices[i]);
    const weir_task waits = {.host = gate_function, .user = &door};
    assert_int_equal(weir_submit(self.context, &waits, &self.event), WEIR_OK);
    fork_and_wait(&self);
    gate_open(&door);
    assert_int_equal(weir_event_wait(self.event, WEIR_FOREVER), WEIR_OK);
    fork_and_wait(&self);
    assert_int_equal(weir_finish(self.context), WEIR_OK);
    weir_event_release(self.event);
    weir_context_release(self.context);
  }
}

static atomic_bool ends;

static void *submit_all_the_time(void *context) {
  const weir_task task = {.host = api_nothing};
  while (!atomic_load(&ends))
    if (weir_submit(context, &task, NULL) != WEIR_OK) abort();
  return NULL;
}

// A thread that has the context's lock is not in the child.
static void a_fork_beside_submissions(void **state) {
  (void)state;
  family self;
  open_family(&self, "cpu:2");
  const weir_task task = {.host = api_nothing};
  assert_int_equal(weir_submit(self.context, &task, &self.event), WEIR_OK);
  pthread_t thread;
  atomic_store(&ends, false);
  assert_int_equal(pthread_create(&thread, NULL, submit_all_the_time, self.context), 0);
  for (int i = 0; i < FORKS; i++) fork_and_wait(&self);
  atomic_store(&ends, true);
  assert_int_equal(pthread_join(thread, NULL), 0);
  assert_int_equal(weir_finish(self.context), WEIR_OK);
  weir_event_release(self.event);
  weir_context_release(self.context);
}

typedef struct sequence {
  weir_context *context;
  weir_kernel *kernel;
} sequence;

static void submit_some(const sequence *self, uint32_t count, const char *label) {
  const weir_task task = {.kernel = self->kernel, .label = label};
  for (uint32_t i = 0; i < count; i++) assert_int_equal(weir_submit(self->context, &task, NULL), WEIR_OK);
}

// Ends in another way than the sequence that is known, so that what was held back is submitted.
static void *turn_away(void *argument) {
  submit_some(argument, SEQUENCE / 2, NULL);
  submit_some(argument, 1, "other");
  return NULL;
}

static weir_statistics counts(const sequence *self) {
  weir_statistics now;
  weir_context_statistics(self->context, &now);
  return now;
}

// Not by weir_context_statistics, which might submit what the thread has held back, and wait for room itself.
static uint64_t window_waits(const sequence *self) {
  weir__context_lock_to_submit(self->context);
  uint64_t waits = self->context->host.statistics.window_waits;
  weir__context_unlock(self->context);
  return waits;
}

// A thread that submits what was held back, and waits for room, is not in the child, which waited for it.
static void a_fork_beside_a_thread_that_waits_for_room(void **state) {
  (void)state;
  sequence self = {.context = api_context("cpu:1", 8, WEIR_CONTEXT_REPEATS)};
  assert_int_equal(weir_kernel_create(self.context, "nothing", &self.kernel), WEIR_OK);
  assert_int_equal(weir_kernel_set_cpu(self.kernel, api_nothing), WEIR_OK);
  for (int i = 0; counts(&self).repeated < SEQUENCE; i++) {
    assert_true(i < PASSES);
    submit_some(&self, SEQUENCE, NULL);
    assert_int_equal(weir_finish(self.context), WEIR_OK);
  }
  gate door = {0};
  const weir_task waits = {.host = gate_function, .user = &door};
  assert_int_equal(weir_submit(self.context, &waits, NULL), WEIR_OK);
  uint64_t before = window_waits(&self);
  pthread_t thread;
  assert_int_equal(pthread_create(&thread, NULL, turn_away, &self), 0);
  while (window_waits(&self) == before) usleep(100);
  pid_t child = fork();
  if (child == 0) {
    alarm(HANGS_AFTER_S);
    weir_kernel *kernel;
    weir_context_cancel(self.context);
    _exit(weir_kernel_create(self.context, "another", &kernel) == WEIR_OK ? 0 : 1);
  }
  int status = -1;
  assert_int_equal(waitpid(child, &status, 0), child);
  gate_open(&door);
  assert_int_equal(pthread_join(thread, NULL), 0);
  assert_int_equal(status, 0);
  assert_int_equal(weir_finish(self.context), WEIR_OK);
  weir_context_release(self.context);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(contexts_of_the_parent_are_refused),
      cmocka_unit_test(a_fork_beside_submissions),
      cmocka_unit_test(a_fork_beside_a_thread_that_waits_for_room),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
