// SPDX-License-Identifier: Apache-2.0
//
// Several threads launch over the same devices, in a small window that others fill, from their own code and from callbacks: each
// thread's results are those of its own order, and nothing waits for ever.
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "engine/submit.h"
#include "rig.h"
#include "weir/sim.h"

enum { THREADS = 4, LAUNCHES = 25, SAVES = 300, ROWS = 40, WIDTH = 3, CELLS = ROWS * WIDTH };

typedef struct worker {
  weir_context *context;
  weir_split *split; // shared
  weir_kernel *kernel;
  uint32_t number;
  uint32_t wrong;
  char message[200];
} worker;

static void note(worker *w, weir_status status) {
  if (status == WEIR_OK) return;
  w->wrong++;
  strncpy(w->message, weir_last_error(), sizeof w->message - 1);
}

static void *work(void *user) {
  worker *w = user;
  static const uint32_t table_words[16] = {3, 1, 4, 1, 5};
  uint32_t cells[2][CELLS], start[CELLS], found[CELLS];
  rig_field field = {.rows = ROWS, .width = WIDTH, .reach = 1};
  weir_buffer *buffers[2] = {NULL}, *table = NULL;
  for (uint32_t i = 0; i < CELLS; i++) cells[0][i] = start[i] = i * w->number;
  for (int i = 0; i < 2; i++) note(w, weir_buffer_create(w->context, sizeof start, &buffers[i]));
  note(w, weir_buffer_create(w->context, sizeof table_words, &table));
  note(w, weir_copy_in(buffers[0], 0, sizeof start, start, NULL));
  note(w, weir_copy_in(table, 0, sizeof table_words, table_words, NULL));
  for (uint32_t i = 0; i < LAUNCHES; i++) {
    weir_split_arg args[RIG_ARGS];
    field.value = i;
    rig_args(args, &field, weir_reads(buffers[i % 2]), weir_writes(buffers[1 - i % 2]), table);
    weir_split_launch launch = {
        .kernel = w->kernel, .args = args, .arg_count = RIG_ARGS, .groups = {WIDTH, ROWS, 1}, .dimension = 1};
    note(w, weir_split_submit(w->split, &launch, NULL));
    rig_reference(&field, table_words, cells[i % 2], cells[1 - i % 2]);
    for (uint32_t reader = 0; reader < i % 5; reader++) // tasks behind it, which fill the window
      note(w, rig_read(w->context, buffers[1 - i % 2]));
  }
  weir_event *event = NULL;
  note(w, weir_copy_out(buffers[LAUNCHES % 2], 0, sizeof found, found, &event));
  note(w, weir_event_wait(event, WEIR_FOREVER));
  weir_event_release(event);
  if (memcmp(found, cells[LAUNCHES % 2], sizeof found) != 0) {
    w->wrong++;
    strcpy(w->message, "the result is wrong");
  }
  note(w, weir_finish(w->context));
  for (int i = 0; i < 2; i++) weir_buffer_release(buffers[i]);
  weir_buffer_release(table);
  return NULL;
}

static void threads_share_a_split(void **state) {
  (void)state;
  const char *const policies[] = {"history", "queue", "guided", "auto", "history", "auto"};
  for (size_t p = 0; p < sizeof policies / sizeof policies[0]; p++) {
    weir_context *context = NULL;
    weir_context_options options = {.devices = "cpu:2,sim:ideal,cpu:1", .window = p % 2 == 0 ? 16 : 64, .seed = p + 1};
    rig_ok(weir_context_create(&options, &context));
    weir_split *split = NULL;
    weir_split_options split_options = {.policy = policies[p], .overhead = 1, .resident = p >= 4};
    rig_ok(weir_split_create(context, &split_options, &split));
    weir_kernel *kernel = rig_kernel(context);
    worker workers[THREADS];
    pthread_t threads[THREADS];
    for (uint32_t i = 0; i < THREADS; i++) {
      workers[i] = (worker){.context = context, .split = split, .kernel = kernel, .number = i + 1};
      assert_int_equal(pthread_create(&threads[i], NULL, work, &workers[i]), 0);
    }
    for (uint32_t i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
    for (uint32_t i = 0; i < THREADS; i++) {
      if (workers[i].wrong > 0) fail_msg("%s, thread %u: %s", policies[p], i, workers[i].message);
    }
    rig_ok(weir_split_release(split));
    weir_context_release(context);
  }
}

// A chain of launches, each submitted by the callback of the one before.
typedef struct chain {
  weir_split *split;
  weir_split_launch launch;
  atomic_uint left, refused;
} chain;

static void next_link(void *user, weir_status status) {
  chain *c = user;
  if (status != WEIR_OK || atomic_fetch_sub(&c->left, 1) == 1) return;
  weir_event *event = NULL;
  if (weir_split_submit(c->split, &c->launch, &event) != WEIR_OK || weir_event_on_done(event, next_link, c) != WEIR_OK)
    atomic_fetch_add(&c->refused, 1);
  weir_event_release(event);
}

static void launch_from_callbacks(bool resident) {
  weir_context *context = NULL;
  rig_ok(weir_context_create(&(weir_context_options){.devices = "cpu:2,cpu:1"}, &context));
  weir_kernel *kernel = rig_add_kernel(context);
  rig_field field = {.rows = ROWS, .width = WIDTH};
  weir_buffer *rows = NULL;
  rig_ok(weir_buffer_create(context, CELLS * sizeof(uint32_t), &rows));
  rig_ok(weir_fill(rows, 0, CELLS * sizeof(uint32_t), 0, NULL));
  weir_split_arg args[3] = {weir_split_block(weir_updates(rows), WIDTH * sizeof(uint32_t)),
                            weir_split_whole(weir_value(&field, sizeof field)), weir_split_part_of(0)};
  chain c = {.launch = {.kernel = kernel, .args = args, .arg_count = 3, .groups = {WIDTH, ROWS, 1}, .dimension = 1}};
  atomic_init(&c.left, LAUNCHES + 1);
  rig_ok(weir_split_create(context, &(weir_split_options){.resident = resident}, &c.split));
  next_link(&c, WEIR_OK);
  while (atomic_load(&c.left) > 0) rig_ok(weir_finish(context));
  assert_int_equal(atomic_load(&c.refused), 0);
  uint32_t found[CELLS];
  rig_ok(weir_copy_out(rows, 0, sizeof found, found, NULL));
  rig_ok(weir_finish(context));
  for (uint32_t i = 0; i < CELLS; i++) assert_int_equal(found[i], LAUNCHES * (i / WIDTH + 1));
  weir_context_release(context); // takes the split
}

static void callbacks_may_launch(void **state) {
  (void)state;
  launch_from_callbacks(false);
  launch_from_callbacks(true);
}

// Two threads write one buffer and read it: a launch is one task, so each sees it as one launch left it.
typedef struct writer {
  weir_context *context;
  weir_split *split;
  weir_kernel *kernel;
  weir_buffer *rows;
  uint32_t number, torn;
} writer;

static void set_rows(const weir_work *work) {
  uint32_t *rows = work->args[0];
  const uint32_t *value = work->args[1];
  for (uint64_t i = work->first; i < work->end; i++) rows[i] = *value;
}

static void *write_and_read(void *user) {
  writer *w = user;
  for (uint32_t i = 0; i < 2 * LAUNCHES; i++) {
    uint32_t value = w->number * 1000 + i, found[ROWS];
    weir_split_arg args[2] = {weir_split_block(weir_writes(w->rows), sizeof value),
                              weir_split_whole(weir_value(&value, sizeof value))};
    weir_split_launch launch = {.kernel = w->kernel, .args = args, .arg_count = 2, .groups = {ROWS, 1, 1}};
    weir_event *event = NULL;
    if (weir_split_submit(w->split, &launch, NULL) != WEIR_OK ||
        weir_copy_out(w->rows, 0, sizeof found, found, &event) != WEIR_OK ||
        weir_event_wait(event, WEIR_FOREVER) != WEIR_OK)
      w->torn++;
    weir_event_release(event);
    for (uint32_t row = 1; row < ROWS; row++) w->torn += found[row] != found[0];
  }
  return NULL;
}

static void parts_of_resident_launches_enter_together(void **state) {
  (void)state;
  for (uint32_t window = 8; window <= 64; window *= 2) {
    weir_context *context = NULL;
    weir_context_options options = {.devices = "cpu:1,sim:ideal,cpu:2", .window = window, .seed = window};
    rig_ok(weir_context_create(&options, &context));
    writer writers[2];
    pthread_t threads[2];
    weir_split *split = NULL;
    weir_buffer *rows = NULL;
    weir_kernel *kernel = NULL;
    weir_sim_launch sim = {.threads = 64, .us = 5};
    const double shares[3] = {1, 1, 1};
    rig_ok(weir_split_create(context, &(weir_split_options){.policy = "static", .shares = shares, .resident = true},
                             &split));
    rig_ok(weir_buffer_create(context, ROWS * sizeof(uint32_t), &rows));
    rig_ok(weir_kernel_create(context, "set", &kernel));
    rig_ok(weir_kernel_set_cpu(kernel, set_rows));
    rig_ok(weir_kernel_set_sim(kernel, &sim, 1));
    for (uint32_t i = 0; i < 2; i++) {
      writers[i] = (writer){.context = context, .split = split, .kernel = kernel, .rows = rows, .number = i + 1};
      assert_int_equal(pthread_create(&threads[i], NULL, write_and_read, &writers[i]), 0);
    }
    for (uint32_t i = 0; i < 2; i++) pthread_join(threads[i], NULL);
    for (uint32_t i = 0; i < 2; i++) assert_int_equal(writers[i].torn, 0);
    rig_ok(weir_split_release(split));
    weir_context_release(context);
  }
}

// What keeps others out while a launch's parts enter and wait for room or memory.
typedef struct visitor {
  weir_context *context;
  weir_event *event;
  weir_status status;
} visitor;

static void do_nothing(const weir_work *work) {
  (void)work;
}

static void *visit(void *user) {
  visitor *v = user;
  v->status = weir_submit(v->context, &(weir_task){.host = do_nothing}, &v->event);
  return NULL;
}

// As a submission for which a slot was reserved.
static void visit_inside(visitor *v) {
  const weir_task task = {.host = do_nothing};
  const weir__submission submission = {.task = &task, .reserved = 1};
  weir__context_lock(v->context);
  v->status = weir__submit(v->context, &submission, &v->event);
  weir__context_unlock(v->context);
}

static void visit_from_callback(void *user, weir_status status) {
  (void)status;
  visit(user);
}

static void a_closed_window_keeps_others_out(void **state) {
  (void)state;
  weir_context *context = NULL;
  rig_ok(weir_context_create(&(weir_context_options){.devices = "cpu:1", .window = 8}, &context));
  weir__context_lock(context);
  context->host.window.closed = true;
  context->host.window.reserved = 1;
  weir__context_unlock(context);
  visitor outside = {.context = context}, called = {.context = context}, inside = {.context = context};
  pthread_t thread;
  assert_int_equal(pthread_create(&thread, NULL, visit, &outside), 0);
  for (int i = 0; i < 50; i++) {
    if (inside.event != NULL) weir_event_release(inside.event);
    visit_inside(&inside);
    rig_ok(inside.status);
    rig_ok(weir_event_wait(inside.event, WEIR_FOREVER));
  }
  rig_ok(weir_event_on_done(inside.event, visit_from_callback, &called)); // called at once, and must not wait
  rig_ok(called.status);
  assert_int_equal(weir_event_poll(called.event), WEIR_PENDING);
  weir__context_lock(context);
  context->host.window.closed = false;
  context->host.window.reserved = 0;
  weir__context_unlock(context);
  pthread_join(thread, NULL);
  rig_ok(outside.status);
  assert_true(outside.event->task > inside.event->task);
  rig_ok(weir_event_wait(called.event, WEIR_FOREVER));
  assert_true(called.event->task > inside.event->task);
  weir_event_release(called.event);
  weir_event_release(outside.event);
  weir_event_release(inside.event);
  weir_context_release(context);
}

// Two splits that keep their history in one file, and save it at the same time.
typedef struct saver {
  weir_split *split;
  uint32_t failed;
} saver;

static void *save_often(void *user) {
  saver *s = user;
  for (int i = 0; i < SAVES; i++) s->failed += weir_split_save(s->split) != WEIR_OK;
  return NULL;
}

static void splits_may_share_a_file(void **state) {
  (void)state;
  char path[] = "/tmp/weir-split-XXXXXX";
  int made = mkstemp(path);
  assert_true(made >= 0);
  close(made);
  unlink(path);
  weir_context *context = NULL;
  rig_ok(weir_context_create(&(weir_context_options){.devices = "cpu:1,cpu:1"}, &context));
  const weir_split_options options = {.history = path};
  saver savers[2] = {0};
  pthread_t threads[2];
  for (int i = 0; i < 2; i++) rig_ok(weir_split_create(context, &options, &savers[i].split));
  for (int i = 0; i < 2; i++) assert_int_equal(pthread_create(&threads[i], NULL, save_often, &savers[i]), 0);
  for (int i = 0; i < 2; i++) pthread_join(threads[i], NULL);
  for (int i = 0; i < 2; i++) assert_int_equal(savers[i].failed, 0);
  for (int i = 0; i < 2; i++) rig_ok(weir_split_release(savers[i].split));
  weir_split *read = NULL;
  rig_ok(weir_split_create(context, &options, &read));
  assert_string_equal(weir_split_warning(read), "");
  rig_ok(weir_split_release(read));
  weir_context_release(context);
  unlink(path);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(threads_share_a_split), cmocka_unit_test(callbacks_may_launch),
                                     cmocka_unit_test(parts_of_resident_launches_enter_together),
                                     cmocka_unit_test(a_closed_window_keeps_others_out),
                                     cmocka_unit_test(splits_may_share_a_file)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
