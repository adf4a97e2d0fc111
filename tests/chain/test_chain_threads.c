// SPDX-License-Identifier: Apache-2.0
//
// Several threads submit to one chain, in small windows and with little memory, while callbacks submit, too: items are whole, each
// thread gets its own results, and nothing waits for ever.
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#include "rig.h"

enum { THREADS = 4, ITEMS = 60, STAGES = 3 };

typedef struct worker {
  weir_context *context;
  weir_chain *chain; // shared
  uint32_t number, wrong;
  char message[200];
  uint32_t inputs[ITEMS][RIG_WORDS], found[ITEMS][2][RIG_WORDS];
} worker;

static void note(worker *w, weir_status status) {
  if (status == WEIR_OK) return;
  w->wrong++;
  strncpy(w->message, weir_last_error(), sizeof w->message - 1);
}

static void check(worker *w, uint32_t item) {
  uint32_t a[RIG_WORDS], b[RIG_WORDS], c[RIG_WORDS], d[RIG_WORDS];
  rig_reference(a, b, w->inputs[item], w->inputs[item], 1);
  rig_reference(c, d, a, b, 2);
  rig_reference(a, b, c, d, w->number + item);
  if (memcmp(w->found[item][0], a, sizeof a) == 0 && memcmp(w->found[item][1], b, sizeof b) == 0) return;
  w->wrong++;
  strcpy(w->message, "a result is wrong");
}

static void *work(void *user) {
  worker *w = user;
  weir_buffer *buffers[3] = {NULL};
  for (int i = 0; i < 3; i++) note(w, weir_buffer_create(w->context, RIG_BYTES, &buffers[i]));
  for (uint32_t i = 0; i < ITEMS; i++) {
    rig_value value = {.seed = w->number + i};
    for (uint32_t k = 0; k < RIG_WORDS; k++) w->inputs[i][k] = w->number * 1000 + i * 17 + k;
    note(w, weir_copy_in(buffers[0], 0, RIG_BYTES, w->inputs[i], NULL));
    weir_arg args[4] = {weir_reads(buffers[0]), weir_writes(buffers[1]), weir_writes(buffers[2]),
                        weir_value(&value, sizeof value)};
    weir_event *event = NULL;
    note(w, weir_chain_submit(w->chain, &(weir_chain_item){.args = args, .arg_count = 4}, &event));
    for (int k = 0; k < 2; k++) note(w, weir_copy_out(buffers[1 + k], 0, RIG_BYTES, w->found[i][k], NULL));
    if (i % 8 == w->number) note(w, weir_event_wait(event, WEIR_FOREVER));
    weir_event_release(event);
  }
  note(w, weir_finish(w->context));
  for (uint32_t i = 0; i < ITEMS; i++) check(w, i);
  for (int i = 0; i < 3; i++) weir_buffer_release(buffers[i]);
  return NULL;
}

static weir_chain *make_chain(weir_context *context, weir_kernel *kernel, uint32_t in_flight) {
  static const rig_value values[2] = {{.seed = 1}, {.seed = 2}};
  const uint64_t bytes[4] = {RIG_BYTES, RIG_BYTES, RIG_BYTES, RIG_BYTES};
  const weir_chain_arg args[STAGES][RIG_ARGS] = {
      {weir_chain_writes(0), weir_chain_writes(1), weir_chain_item_arg(0), weir_chain_item_arg(0),
       weir_chain_fixed(weir_value(&values[0], sizeof values[0]))},
      {weir_chain_writes(2), weir_chain_writes(3), weir_chain_reads(0), weir_chain_reads(1),
       weir_chain_fixed(weir_value(&values[1], sizeof values[1]))},
      {weir_chain_item_arg(1), weir_chain_item_arg(2), weir_chain_reads(2), weir_chain_reads(3),
       weir_chain_item_arg(3)}};
  weir_chain_stage stages[STAGES];
  for (uint32_t i = 0; i < STAGES; i++)
    stages[i] = (weir_chain_stage){.kernel = kernel,
                                   .device = weir_context_device(context, i % weir_context_device_count(context)),
                                   .groups = {RIG_WORDS, 1, 1},
                                   .args = args[i],
                                   .arg_count = RIG_ARGS};
  weir_chain_options options = {
      .stages = stages, .stage_count = STAGES, .link_bytes = bytes, .link_count = 4, .in_flight = in_flight};
  weir_chain *chain = NULL;
  rig_ok(weir_chain_create(context, &options, &chain));
  return chain;
}

static void run(weir_context_options options, uint32_t in_flight) {
  static worker workers[THREADS];
  pthread_t threads[THREADS];
  weir_context *context = NULL;
  rig_ok(weir_context_create(&options, &context));
  weir_kernel *kernel = rig_kernel(context, "mix");
  weir_chain *chain = make_chain(context, kernel, in_flight);
  for (uint32_t i = 0; i < THREADS; i++) {
    workers[i] = (worker){.context = context, .chain = chain, .number = i + 1};
    assert_int_equal(pthread_create(&threads[i], NULL, work, &workers[i]), 0);
  }
  for (uint32_t i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
  for (uint32_t i = 0; i < THREADS; i++) {
    if (workers[i].wrong > 0) fail_msg("thread %u: %s", i, workers[i].message);
  }
  weir_chain_statistics statistics;
  rig_ok(weir_chain_get_statistics(chain, &statistics));
  assert_int_equal(statistics.done, THREADS * ITEMS);
  assert_int_equal(statistics.in_flight, 0);
  assert_true(in_flight == 0 || statistics.most_in_flight <= in_flight);
  rig_ok(weir_chain_release(chain));
  weir_context_release(context);
}

static void threads_share_a_chain(void **state) {
  (void)state;
  run((weir_context_options){.devices = "cpu:1,cpu:1"}, 0);
  run((weir_context_options){.devices = "cpu:2,sim:ideal", .window = 8, .seed = 1}, 0);
  run((weir_context_options){.devices = "cpu:2,cpu:1", .window = 16, .seed = 2}, 2);
  run((weir_context_options){.devices = "cpu:1,cpu:1", .memory_limit = 4096, .seed = 3}, UINT32_MAX);
}

// Main submits while what is done submits more: refused only where it would have to wait.
typedef struct mixed {
  weir_chain *chain;
  weir_arg args[4];
  atomic_uint submitted, refused;
} mixed;

static void submit_more(void *user, weir_status status) {
  mixed *m = user;
  (void)status;
  weir_chain_item item = {.args = m->args, .arg_count = 4};
  status = weir_chain_submit(m->chain, &item, NULL);
  if (status == WEIR_OK) atomic_fetch_add(&m->submitted, 1);
  if (status == WEIR_ERROR_OUT_OF_MEMORY) atomic_fetch_add(&m->refused, 1);
}

static void callbacks_submit_beside_threads(void **state) {
  (void)state;
  static const rig_value value = {.seed = 3};
  weir_context *context = rig_open("cpu:1,cpu:1", 16, 0);
  mixed m = {.chain = make_chain(context, rig_kernel(context, "mix"), 3)};
  weir_buffer *buffers[3];
  for (int i = 0; i < 3; i++) rig_ok(weir_buffer_create(context, RIG_BYTES, &buffers[i]));
  rig_ok(weir_fill(buffers[0], 0, RIG_BYTES, 1, NULL));
  const weir_arg args[4] = {weir_reads(buffers[0]), weir_writes(buffers[1]), weir_writes(buffers[2]),
                            weir_value(&value, sizeof value)};
  memcpy(m.args, args, sizeof args);
  for (uint32_t i = 0; i < ITEMS; i++) {
    weir_event *event = NULL;
    rig_ok(weir_chain_submit(m.chain, &(weir_chain_item){.args = args, .arg_count = 4}, &event));
    rig_ok(weir_event_on_done(event, submit_more, &m));
    weir_event_release(event);
  }
  do rig_ok(weir_finish(context));
  while (atomic_load(&m.submitted) + atomic_load(&m.refused) < ITEMS);
  rig_ok(weir_finish(context));
  weir_chain_statistics statistics;
  rig_ok(weir_chain_get_statistics(m.chain, &statistics));
  assert_int_equal(statistics.done, ITEMS + atomic_load(&m.submitted));
  assert_int_equal(statistics.failed, 0);
  weir_context_release(context);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(threads_share_a_chain),
                                     cmocka_unit_test(callbacks_submit_beside_threads)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
