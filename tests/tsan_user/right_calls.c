// SPDX-License-Identifier: Apache-2.0
//
// Programs without a race, whose every order is one that Weir promises. ThreadSanitizer must say nothing. Here: what
// tasks, callbacks and threads of the caller's submit.
#include <pthread.h>

#include "user.h"

// ---------------------------------------------------------------------------------------------------------------
// Children, groups, callbacks, data that is freed

typedef struct family {
  weir_context *context;
  weir_group *group;
  uint32_t *counts; // of leaves; one each
  uint32_t first, count;
} family;

static void free_family(void *user) {
  family *self = user;
  self->first = self->count = 0;
  free(self);
}

static void divide(const weir_work *work) {
  family *self = work->user;
  if (self->count <= 2) {
    for (uint32_t i = 0; i < self->count; i++) self->counts[self->first + i]++;
    return;
  }
  for (uint32_t half = 0; half < 2; half++) {
    family *child = malloc(sizeof *child);
    *child = *self;
    child->count = half == 0 ? self->count / 2 : self->count - self->count / 2;
    child->first = self->first + half * (self->count / 2);
    must(weir_submit(self->context, &(weir_task){.host = divide, .user = child, .destroy = free_family}, NULL));
  }
  self->first++; // nobody else has it
}

static void families(weir_context *context) {
  uint32_t counts[100] = {0};
  for (int round = 0; round < 4; round++) {
    weir_group *group;
    must(weir_group_create(context, &group));
    family *root = malloc(sizeof *root);
    *root = (family){.context = context, .group = group, .counts = counts, .count = 100};
    must(
        weir_submit(context, &(weir_task){.host = divide, .user = root, .destroy = free_family, .group = group}, NULL));
    must(round % 2 == 0 ? weir_group_wait(group, WEIR_FOREVER) : weir_finish(context));
    for (int i = 0; i < 100; i++) counts[i] += (uint32_t)round;
    must(weir_group_release(group));
  }
}

typedef struct called {
  weir_context *context;
  uint32_t value, seen;
} called;

static void set_value(const weir_work *work) {
  called *self = work->user;
  self->value += 7;
}

static void next_call(void *user, weir_status status) {
  called *self = user;
  self->seen += self->value + (uint32_t)status;
}

static void last_call(void *user, weir_status status) {
  called *self = user;
  next_call(user, status);
  submit(self->context, set_value, self, NULL, 0, NULL);
}

static void callbacks(weir_context *context) {
  called calls[20] = {{0}};
  for (int i = 0; i < 20; i++) {
    called *own = &calls[i];
    weir_event *event;
    own->context = context;
    submit(context, set_value, own, NULL, 0, &event);
    must(weir_event_on_done(event, next_call, own));
    if (i % 3 == 0) must(weir_event_wait(event, WEIR_FOREVER));
    must(weir_event_on_done(event, last_call, own));
    while (i % 4 == 1 && weir_event_poll(event) == WEIR_PENDING) continue;
    weir_event_release(event);
  }
  must(weir_finish(context));
  for (int i = 0; i < 20; i++) calls[i].seen++;
}

// ---------------------------------------------------------------------------------------------------------------
// Failures: what is skipped keeps its place

static void maybe_fail(const weir_work *work) {
  uint32_t *value = work->user;
  if (draw(1) == 0 && *(uint32_t *)work->args[1] % 5 == 0) {
    weir_work_fail(work, "as planned");
    return;
  }
  ++*value;
  ++*(uint32_t *)work->args[0];
}

static void failures(weir_context *context) {
  uint32_t value = 0, memory[4] = {0}, *freed[40];
  weir_buffer *buffer;
  weir_event *events[40];
  must(weir_buffer_wrap(context, memory, sizeof memory, &buffer));
  for (uint32_t i = 0; i < 40; i++) {
    freed[i] = malloc(sizeof *freed[i]);
    *freed[i] = i;
    weir_arg args[] = {weir_updates(buffer), weir_value(&i, sizeof i)};
    must(weir_submit(context, &(weir_task){.host = maybe_fail, .user = &value, .args = args, .arg_count = 2},
                     &events[i]));
    must(weir_submit(context,
                     &(weir_task){.host = maybe_fail, .user = freed[i], .args = args, .arg_count = 2, .destroy = free},
                     NULL));
    if (i % 8 == 7) must(weir_fill(buffer, 0, WEIR_WHOLE, 0, NULL));
    if (i == 20) weir_context_cancel(context);
  }
  for (int i = 0; i < 40; i++) {
    (void)weir_event_wait(events[i], WEIR_FOREVER);
    (void)weir_event_message(events[i]);
    weir_event_release(events[i]);
  }
  value++; // all that adds to it is done
  (void)weir_finish(context);
  memory[0]++;
}

// ---------------------------------------------------------------------------------------------------------------
// Several threads that submit, with a lock of their own

typedef struct submitter {
  weir_context *context;
  pthread_mutex_t *lock;
  weir_buffer *shared;
  uint32_t *order; // goes with the lock
} submitter;

static void *submit_many(void *argument) {
  submitter *self = argument;
  weir_buffer *own;
  uint32_t out[WORDS];
  must(weir_buffer_create(self->context, BYTES, &own));
  for (int i = 0; i < 30; i++) {
    weir_event *event;
    must(weir_fill(own, 0, WEIR_WHOLE, 1, NULL));
    submit(self->context, add_to, NULL, (weir_arg[]){weir_updates(own)}, 1, NULL);
    pthread_mutex_lock(self->lock);
    ++*self->order;
    submit(self->context, add_to, NULL, (weir_arg[]){weir_updates(self->shared)}, 1, &event);
    pthread_mutex_unlock(self->lock);
    must(weir_event_wait(event, WEIR_FOREVER));
    weir_event_release(event);
    must(weir_read(own, 0, BYTES, out));
    out[0]++;
  }
  weir_buffer_release(own);
  return NULL;
}

static void threads(weir_context *context) {
  pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
  uint32_t order = 0, *memory = calloc(WORDS, 4);
  submitter all = {.context = context, .lock = &lock, .order = &order};
  must(weir_buffer_wrap(context, memory, BYTES, &all.shared));
  pthread_t others[3];
  for (int i = 0; i < 3; i++) pthread_create(&others[i], NULL, submit_many, &all);
  for (int i = 0; i < 3; i++) pthread_join(others[i], NULL);
  if (memory[4] != 90) exit(3);
  must(weir_finish(context));
  weir_buffer_release(all.shared);
  free(memory);
}

static void *make_objects(void *argument) {
  weir_context *context = argument;
  for (uint32_t i = 0; i < 1300; i++) {
    weir_kernel *made = kernel(context, "made", add_to);
    weir_buffer *buffer;
    must(weir_buffer_create(context, BYTES, &buffer));
    must(weir_buffer_set_label(buffer, "labelled"));
    if (i % 10 == 0) {
      weir_graph *graph;
      weir_group *group;
      weir_arg arg = weir_writes(buffer);
      must(weir_graph_create(context, NULL, &graph));
      must(weir_group_create(context, &group));
      must(weir_fill(buffer, 0, WEIR_WHOLE, 1, NULL));
      must(weir_graph_add(graph, &(weir_task){.kernel = made, .args = &arg, .arg_count = 1, .label = "node"}, NULL));
      must(weir_graph_evaluate(graph, WEIR_FOREVER));
      must(weir_submit(
          context, &(weir_task){.kernel = made, .args = &arg, .arg_count = 1, .group = group, .label = "task"}, NULL));
      must(weir_group_wait(group, WEIR_FOREVER));
      must(weir_group_release(group));
      must(weir_graph_release(graph));
    }
    must(weir_buffer_release(buffer));
    must(weir_kernel_release(made));
    (void)weir_submit(context, &(weir_task){.label = "neither kernel nor function"}, NULL);
    (void)weir_last_error();
  }
  return NULL;
}

static void objects(weir_context *context) {
  pthread_t others[2];
  for (int i = 0; i < 2; i++) pthread_create(&others[i], NULL, make_objects, context);
  for (int i = 0; i < 2; i++) pthread_join(others[i], NULL);
}

// ---------------------------------------------------------------------------------------------------------------

static const program programs[] = {{"families", families, 0}, {"callbacks", callbacks, 0}, {"failures", failures, 0},
                                   {"threads", threads, 0},   {"objects", objects, 0},     {NULL, NULL, 0}};

int main(int argc, char **argv) {
  return run_programs(programs, argc, argv);
}
