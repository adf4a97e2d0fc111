// SPDX-License-Identifier: Apache-2.0
//
// Allocation fails at the Nth call, for every N until a chain and its items go well: what was accepted and is reported as done is
// right, nothing hangs, nothing is leaked, and the next items go well. Usage: PROGRAM [DEVICES].
#include <stdio.h>
#include <string.h>

#include "allocation_ledger.h"
#include "base/allocate.h"
#include "rig.h"
#include "sweep.h"
#include "weir/sim.h"

enum { STAGES = 3, ITEMS = 8, MANY = 20, MOST_CALLS = 5000 };

static const char *devices = "cpu:1,sim:ideal";

static bool accepted(weir_status status) {
  if (status == WEIR_OK) return true;
  if (status != WEIR_ERROR_OUT_OF_MEMORY) fail_msg("%s: %s", weir_status_name(status), weir_last_error());
  assert_true(strlen(weir_last_error()) > 0);
  return false;
}

typedef struct scene {
  weir_context *context;
  weir_chain *chain;
  weir_kernel *kernel;
  weir_buffer *in, *out;
  weir_event *many[MANY]; // so that lists are made for them
} scene;

static weir_status make_chain(scene *s) {
  static const rig_value values[STAGES] = {{.seed = 1}, {.seed = 2}, {.seed = 3}};
  const uint64_t bytes[4] = {RIG_BYTES, RIG_BYTES, RIG_BYTES, RIG_BYTES};
  weir_chain_arg args[STAGES][RIG_ARGS] = {
      {weir_chain_writes(0), weir_chain_writes(1), weir_chain_item_arg(0), weir_chain_item_arg(0)},
      {weir_chain_writes(2), weir_chain_writes(3), weir_chain_reads(0), weir_chain_reads(0)},
      {weir_chain_item_arg(1), weir_chain_item_arg(2), weir_chain_reads(2), weir_chain_reads(1)}};
  weir_chain_stage stages[STAGES];
  args[2][3] = weir_chain_reads(3);
  args[1][3] = weir_chain_reads(1);
  for (uint32_t i = 0; i < STAGES; i++) {
    args[i][4] = weir_chain_fixed(weir_value(&values[i], sizeof values[i]));
    stages[i] = (weir_chain_stage){.kernel = s->kernel,
                                   .device = weir_context_device(s->context, i % 2),
                                   .groups = {RIG_WORDS, 1, 1},
                                   .args = args[i],
                                   .arg_count = RIG_ARGS};
  }
  weir_chain_options options = {
      .stages = stages, .stage_count = STAGES, .link_bytes = bytes, .link_count = 4, .in_flight = 3};
  return weir_chain_create(s->context, &options, &s->chain);
}

static bool make_kernel(scene *s) {
  const weir_sim_launch sim = {.threads = 64, .us = 5};
  return accepted(weir_kernel_create(s->context, "mix", &s->kernel)) &&
         accepted(weir_kernel_set_cpu(s->kernel, rig_function())) && accepted(weir_kernel_set_sim(s->kernel, &sim, 1));
}

static void do_nothing(const weir_work *work) {
  (void)work;
}

static bool open_scene(scene *s) {
  memset(s, 0, sizeof *s);
  if (!accepted(weir_context_create(&(weir_context_options){.devices = devices}, &s->context))) return false;
  bool good = make_kernel(s) && accepted(weir_buffer_create(s->context, RIG_BYTES, &s->in)) &&
              accepted(weir_buffer_create(s->context, RIG_BYTES, &s->out));
  for (int i = 0; i < MANY && good; i++)
    good = accepted(weir_submit(s->context, &(weir_task){.host = do_nothing}, &s->many[i]));
  if (!good) return false;
  weir_status status = make_chain(s);
  return accepted(status) || accepted(make_chain(s)); // there is memory again
}

// An item and a copy of what it wrote; whether both are reported as done.
static bool play_item(scene *s, uint32_t number) {
  uint32_t in[RIG_WORDS], links[4][RIG_WORDS], expected[2][RIG_WORDS], found[RIG_WORDS] = {0};
  for (uint32_t i = 0; i < RIG_WORDS; i++) in[i] = number * 100 + i;
  rig_reference(links[0], links[1], in, in, 1);
  rig_reference(links[2], links[3], links[0], links[1], 2);
  rig_reference(expected[0], expected[1], links[2], links[3], 3);
  weir_buffer *second = NULL;
  weir_event *events[2] = {NULL};
  weir_chain_item item = {.arg_count = 3, .after = s->many, .after_count = number % 2 ? MANY : 2};
  bool good = accepted(weir_copy_in(s->in, 0, RIG_BYTES, in, NULL)) &&
              accepted(weir_buffer_create(s->context, RIG_BYTES, &second));
  weir_arg args[3] = {weir_reads(s->in), weir_writes(s->out), weir_writes(second)};
  item.args = args;
  good = good && accepted(weir_chain_submit(s->chain, &item, &events[0])) &&
         accepted(weir_copy_out(s->out, 0, RIG_BYTES, found, &events[1]));
  bool done = good;
  for (int i = 0; i < 2; i++) {
    if (events[i] == NULL) continue;
    weir_status status = weir_event_wait(events[i], WEIR_FOREVER);
    if (status != WEIR_OK && status != WEIR_ERROR_OUT_OF_MEMORY && status != WEIR_ERROR_UPSTREAM_FAILED)
      fail_msg("%s: %s", weir_status_name(status), weir_event_message(events[i]));
    done &= status == WEIR_OK;
    weir_event_release(events[i]);
  }
  if (!good) (void)weir_finish(s->context); // what was submitted uses memory of this function
  if (done) assert_memory_equal(found, expected[0], RIG_BYTES);
  rig_ok(weir_buffer_release(second));
  return done;
}

// Whether all went well.
static bool play(void) {
  scene s;
  bool opened = open_scene(&s), good = opened;
  for (uint32_t i = 0; opened && i < ITEMS; i++) good &= play_item(&s, i);
  if (opened) {
    weir_status status = weir_finish(s.context);
    assert_true(status == WEIR_OK || status == WEIR_ERROR_OUT_OF_MEMORY || status == WEIR_ERROR_UPSTREAM_FAILED);
    if (!good) assert_true(play_item(&s, ITEMS)); // the memory is there again
    weir_chain_statistics statistics;
    rig_ok(weir_chain_get_statistics(s.chain, &statistics));
    assert_int_equal(statistics.in_flight, 0);
    assert_int_equal(statistics.submitted, statistics.done);
    rig_ok(weir_chain_release(s.chain));
  }
  weir_context_release(s.context);
  return good;
}

static void every_allocation_may_fail(void **state) {
  (void)state;
  play();
  int64_t live = ledger_live();
  for (uint64_t n = 1;; n = sweep_after(n)) {
    assert_true(n < MOST_CALLS);
    uint64_t before = weir__allocate_count();
    weir__allocate_fail_at(n);
    play();
    uint64_t calls = weir__allocate_count() - before;
    weir__allocate_fail_at(0);
    assert_int_equal(ledger_live(), live);
    if (calls >= n) continue;
    assert_true(n > 30); // none failed, of how many there are
    break;
  }
}

static void nothing_is_allocated_in_steady_state(void **state) {
  (void)state;
  scene s;
  assert_true(open_scene(&s));
  for (uint32_t i = 0; i < 200; i++) assert_true(play_item(&s, 2 * i));
  uint64_t before = weir__allocate_count();
  for (uint32_t i = 0; i < 200; i++) assert_true(play_item(&s, 2 * i));
  assert_true(weir__allocate_count() - before < 20); // objects that are kept a while
  rig_ok(weir_chain_release(s.chain));
  weir_context_release(s.context);
}

int main(int argc, char **argv) {
  if (argc > 1) devices = argv[1];
  const struct CMUnitTest tests[] = {cmocka_unit_test(every_allocation_may_fail),
                                     cmocka_unit_test(nothing_is_allocated_in_steady_state)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
