// SPDX-License-Identifier: Apache-2.0
//
// Allocation fails at the Nth call, for every N until launches over two devices go well: what was accepted and is reported as
// done is right, nothing hangs, nothing is leaked, and the next launch goes well.
#include <string.h>

#include "allocation_ledger.h"
#include "base/allocate.h"
#include "rig.h"
#include "sweep.h"
#include "weir/sim.h"

enum { ROWS = 30, WIDTH = 3, CELLS = ROWS * WIDTH, LAUNCHES = 3, MOST_CALLS = 5000 };

static bool accepted(weir_status status) {
  if (status == WEIR_OK) return true;
  if (status != WEIR_ERROR_OUT_OF_MEMORY) fail_msg("%s: %s", weir_status_name(status), weir_last_error());
  assert_true(strlen(weir_last_error()) > 0);
  return false;
}

typedef struct scene {
  weir_context *context;
  weir_split *split;
  weir_kernel *kernel;
  weir_buffer *in, *out, *table;
  rig_field field;
  uint32_t cells[CELLS], table_words[16], expected[CELLS], found[CELLS];
} scene;

// One launch and a copy of what it wrote; whether both are reported as done.
static bool play_launch(scene *s) {
  weir_event *events[2] = {NULL};
  weir_split_arg args[RIG_ARGS];
  rig_args(args, &s->field, weir_reads(s->in), weir_writes(s->out), s->table);
  weir_split_launch launch = {
      .kernel = s->kernel, .args = args, .arg_count = RIG_ARGS, .groups = {WIDTH, ROWS, 1}, .dimension = 1};
  memset(s->found, 0, sizeof s->found);
  bool good = accepted(weir_split_submit(s->split, &launch, &events[0])) &&
              accepted(weir_copy_out(s->out, 0, sizeof s->found, s->found, &events[1]));
  bool done = good;
  for (int i = 0; i < 2; i++) {
    if (events[i] == NULL) continue;
    weir_status status = weir_event_wait(events[i], WEIR_FOREVER);
    if (status != WEIR_OK && status != WEIR_ERROR_OUT_OF_MEMORY && status != WEIR_ERROR_UPSTREAM_FAILED)
      fail_msg("%s: %s", weir_status_name(status), weir_event_message(events[i]));
    done &= status == WEIR_OK;
    weir_event_release(events[i]);
  }
  if (done) assert_memory_equal(s->found, s->expected, sizeof s->found);
  return done;
}

static weir_kernel *make_kernel(weir_context *context) {
  weir_kernel *donor = NULL;
  weir_sim_launch sim = {.threads = 64, .us = 5};
  if (!accepted(weir_kernel_create(context, "field", &donor))) return NULL;
  return accepted(weir_kernel_set_cpu(donor, rig_function())) && accepted(weir_kernel_set_sim(donor, &sim, 1)) ? donor
                                                                                                               : NULL;
}

static bool open_scene(scene *s, const char *policy, bool resident) {
  memset(s, 0, sizeof *s);
  s->field = (rig_field){.rows = ROWS, .width = WIDTH, .reach = 1, .value = 5};
  for (uint32_t i = 0; i < CELLS; i++) s->cells[i] = i * 31;
  rig_reference(&s->field, s->table_words, s->cells, s->expected);
  if (!accepted(weir_context_create(&(weir_context_options){.devices = "cpu:1,sim:ideal"}, &s->context))) return false;
  weir_split_options options = {
      .policy = policy, .overhead = 1, .history = "/nonexistent/weir/history", .resident = resident};
  if (!accepted(weir_split_create(s->context, &options, &s->split))) return false;
  s->kernel = make_kernel(s->context);
  return s->kernel != NULL && accepted(weir_buffer_create(s->context, sizeof s->cells, &s->in)) &&
         accepted(weir_buffer_create(s->context, sizeof s->cells, &s->out)) &&
         accepted(weir_buffer_create(s->context, sizeof s->table_words, &s->table)) &&
         accepted(weir_copy_in(s->in, 0, sizeof s->cells, s->cells, NULL)) &&
         accepted(weir_copy_in(s->table, 0, sizeof s->table_words, s->table_words, NULL));
}

// Whether all went well.
static bool play(const char *policy, bool resident) {
  scene s;
  bool opened = open_scene(&s, policy, resident), good = opened;
  for (int i = 0; opened && i < LAUNCHES; i++) good &= play_launch(&s);
  if (opened && !good) { // the memory is there again
    weir_status status = weir_finish(s.context);
    assert_true(status == WEIR_OK || status == WEIR_ERROR_OUT_OF_MEMORY || status == WEIR_ERROR_UPSTREAM_FAILED);
    rig_ok(weir_copy_in(s.in, 0, sizeof s.cells, s.cells, NULL));
    rig_ok(weir_copy_in(s.table, 0, sizeof s.table_words, s.table_words, NULL));
    assert_true(play_launch(&s));
  }
  if (s.split != NULL) {
    weir_status status = weir_split_release(s.split); // its file cannot be written
    assert_true(status == WEIR_ERROR_IO || status == WEIR_ERROR_OUT_OF_MEMORY);
  }
  weir_context_release(s.context);
  return good;
}

static void every_allocation_may_fail(void **state) {
  (void)state;
  const struct {
    const char *policy;
    bool resident;
  } ways[] = {{"history", false}, {"queue", false}, {"guided", false}, {"history", true}};
  for (size_t i = 0; i < sizeof ways / sizeof ways[0]; i++) {
    int64_t live = ledger_live();
    for (uint64_t n = 1;; n = sweep_after(n)) {
      assert_true(n < MOST_CALLS);
      uint64_t before = weir__allocate_count();
      weir__allocate_fail_at(n);
      play(ways[i].policy, ways[i].resident);
      uint64_t calls = weir__allocate_count() - before;
      weir__allocate_fail_at(0);
      assert_int_equal(ledger_live(), live);
      if (calls >= n) continue;
      assert_true(n > 30); // none failed, of how many there are
      break;
    }
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(every_allocation_may_fail)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
