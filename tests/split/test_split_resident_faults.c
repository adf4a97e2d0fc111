// SPDX-License-Identifier: Apache-2.0
//
// Launches with resident contents whose devices fail. In one memory others make up for them; where devices have memory of their own
// the launch fails and says what is gone, and later launches do without the device. And out of memory at every allocation.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "allocation_ledger.h"
#include "base/allocate.h"
#include "far.h"
#include "scene.h"
#include "stub.h"
#include "sweep.h"

static weir_status wait_and_release(weir_event *event, char *out_message) {
  weir_status status = weir_event_wait(event, WEIR_FOREVER);
  strcpy(out_message, weir_event_message(event));
  weir_event_release(event);
  return status;
}

static void lost_devices_are_made_up_for_and_named(void **state) {
  (void)state;
  const char *const names[] = {"static", "history", "auto"};
  for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
    for (uint32_t tasks = 0; tasks < 3; tasks++) {
      for (uint32_t window = 0; window <= 8; window += 8) {
        scene s;
        char message[1024];
        open_scene_with(&s, names[i], tasks, UINT32_MAX, window, true);
        weir_split_round round;
        bool said = false;
        for (int launch = 0; launch < 6 || round.redone > 0; launch++) { // one after that which lost it
          weir_event *event = NULL;
          rig_ok(weir_split_submit(s.split, &s.launch, &event));
          assert_int_equal(wait_and_release(event, message), WEIR_OK);
          rig_ok(weir_split_last_round(s.split, &round));
          bool says = strstr(message, "fake:1 was lost: it fell off") != NULL;
          assert_int_equal(says, round.redone > 0);
          said |= says;
          check_output(&s);
        }
        // At first all devices get a part; later, policies that look at times may leave a slow one out.
        if (!said && (tasks == 0 || strcmp(names[i], "static") == 0)) fail_msg("%s: %u tasks", names[i], tasks);
        assert_int_equal(round.devices[1].failed, said);
        if (said) assert_int_equal(round.devices[1].parts, 0);
        if (said) assert_int_equal(round.devices[0].groups + round.devices[2].groups, ROWS);
        close_scene(&s);
      }
    }
  }
}

static void a_kernel_that_fails_everywhere_fails_the_launch(void **state) {
  (void)state;
  scene s;
  char message[1024];
  open_scene_with(&s, "static", 1, 1, 0, true);
  rig_failure failure = {.device = 0};
  s.launch.user = &failure;
  rig_ok(weir_fill(s.out, 0, sizeof s.cells, 0, NULL));
  rig_ok(weir_split_submit(s.split, &s.launch, NULL)); // both others are lost after it
  weir_event *event = NULL;
  rig_ok(weir_split_submit(s.split, &s.launch, &event));
  weir_status status = wait_and_release(event, message);
  assert_true(status == WEIR_ERROR_TASK_FAILED || status == WEIR_ERROR_DEVICE_LOST);
  assert_non_null(strstr(message, " was lost: "));
  rig_ok(weir_copy_out(s.out, 0, sizeof s.found, s.found, &event));
  assert_int_equal(wait_and_release(event, message), WEIR_ERROR_UPSTREAM_FAILED);
  assert_int_not_equal(weir_finish(s.context), WEIR_OK);
  s.launch.user = NULL;
  rig_ok(weir_split_submit(s.split, &s.launch, NULL)); // the first device is left
  check_output(&s);
  close_scene(&s);
}

static void updates_are_not_run_again(void **state) {
  (void)state;
  scene s;
  char message[1024];
  open_scene_with(&s, "static", UINT32_MAX, UINT32_MAX, 0, true);
  weir_split_arg args[3] = {weir_split_block(weir_updates(s.in), WIDTH * sizeof(uint32_t)),
                            weir_split_whole(weir_value(&s.field, sizeof s.field)), weir_split_part_of(0)};
  weir_split_launch launch = {
      .kernel = s.add, .args = args, .arg_count = 3, .groups = {WIDTH, ROWS, 1}, .dimension = 1};
  for (int i = 0; i < 3; i++) rig_ok(weir_split_submit(s.split, &launch, NULL));
  rig_ok(weir_copy_out(s.in, 0, sizeof s.found, s.found, NULL));
  rig_ok(weir_finish(s.context));
  for (uint32_t i = 0; i < CELLS; i++) assert_int_equal(s.found[i], s.cells[i] + 3 * (i / WIDTH + 1));
  rig_failure failure = {.device = 1};
  launch.user = &failure;
  weir_event *event = NULL;
  rig_ok(weir_split_submit(s.split, &launch, &event));
  assert_int_equal(wait_and_release(event, message), WEIR_ERROR_TASK_FAILED);
  assert_non_null(strstr(message, "on split: bytes [320, 640) of buffer "));
  assert_non_null(strstr(message, "(argument 0) were not written; fake:1 failed: told to"));
  // What the other parts wrote is there.
  rig_ok(weir_copy_out(s.in, 0, 320, s.found, &event));
  assert_int_equal(wait_and_release(event, message), WEIR_OK);
  rig_ok(weir_copy_out(s.in, 320, 16, s.found, &event));
  assert_int_equal(wait_and_release(event, message), WEIR_ERROR_UPSTREAM_FAILED);
  weir_finish(s.context);
  close_scene(&s);
}

static void poisoned_input_and_cancelling_skip_parts(void **state) {
  (void)state;
  scene s;
  char message[1024];
  open_scene_with(&s, "static", UINT32_MAX, UINT32_MAX, 0, true);
  rig_failure failure = {.device = 1};
  weir_split_arg args[3] = {weir_split_block(weir_updates(s.in), WIDTH * sizeof(uint32_t)),
                            weir_split_whole(weir_value(&s.field, sizeof s.field)), weir_split_part_of(0)};
  weir_split_launch launch = {
      .kernel = s.add, .user = &failure, .args = args, .arg_count = 3, .groups = {WIDTH, ROWS, 1}, .dimension = 1};
  weir_event *events[2] = {NULL};
  rig_ok(weir_split_submit(s.split, &launch, NULL));
  rig_ok(weir_split_submit(s.split, &s.launch, &events[0]));
  assert_int_equal(wait_and_release(events[0], message), WEIR_ERROR_UPSTREAM_FAILED);
  weir_finish(s.context);
  rig_ok(weir_copy_in(s.in, 0, sizeof s.cells, s.cells, NULL));
  rig_ok(weir_split_submit(s.split, &s.launch, NULL));
  launch.user = NULL;
  rig_ok(weir_split_submit(s.split, &launch, &events[1]));
  weir_context_cancel(s.context);
  assert_int_not_equal(wait_and_release(events[1], message), WEIR_OK);
  weir_finish(s.context);
  close_scene(&s);
}

// A device with memory of its own, on the stub driver, faults in its second launch.
static void what_a_lost_device_had_is_named(void **state) {
  (void)state;
  static uint32_t cells[CELLS], expected[CELLS], found[CELLS], table_words[16];
  char message[1024];
  assert_true(stub_configure(NULL));
  weir_context *context = NULL;
  rig_ok(weir_context_create(&(weir_context_options){.devices = "cpu:1,cuda"}, &context));
  weir_kernel *kernel = far_kernel(context);
  weir_split *split = NULL;
  const double shares[2] = {1, 1};
  weir_split_options options = {.policy = "static", .shares = shares, .resident = true};
  rig_ok(weir_split_create(context, &options, &split));
  weir_buffer *buffers[3] = {NULL}, *table = NULL;
  for (int i = 0; i < 3; i++) rig_ok(weir_buffer_create(context, sizeof cells, &buffers[i]));
  rig_ok(weir_buffer_create(context, sizeof table_words, &table));
  rig_ok(weir_copy_in(buffers[0], 0, sizeof cells, cells, NULL));
  rig_ok(weir_copy_in(table, 0, sizeof table_words, table_words, NULL));
  rig_field field = {.rows = ROWS, .width = WIDTH};
  weir_split_arg args[RIG_ARGS];
  weir_split_launch launch = {
      .kernel = kernel, .args = args, .arg_count = RIG_ARGS, .groups = {WIDTH, ROWS, 1}, .dimension = 1};
  rig_args(args, &field, weir_reads(buffers[0]), weir_writes(buffers[1]), table);
  rig_ok(weir_split_submit(split, &launch, NULL));
  rig_ok(weir_finish(context));
  far_fault_after(0);
  rig_args(args, &field, weir_reads(buffers[1]), weir_writes(buffers[2]), table);
  weir_event *event = NULL;
  rig_ok(weir_split_submit(split, &launch, &event));
  assert_int_equal(wait_and_release(event, message), WEIR_ERROR_DEVICE_LOST);
  if (strstr(message, "cuda:0 was lost") == NULL || strstr(message, "bytes [480, 960) of buffer") == NULL ||
      strstr(message, "(argument 1) were not written") == NULL || strstr(message, "(argument 0) are gone") == NULL)
    fail_msg("%s", message);
  weir_finish(context);
  // The other device's half is there; this one's is gone, for launches too.
  rig_ok(weir_copy_out(buffers[2], 0, 400, found, &event));
  assert_int_equal(wait_and_release(event, message), WEIR_OK);
  rig_ok(weir_copy_out(buffers[2], 480, 4, found, &event));
  assert_int_not_equal(wait_and_release(event, message), WEIR_OK);
  weir_status status = weir_split_submit(split, &launch, &event);
  if (status == WEIR_ERROR_DEVICE_LOST) {
    assert_non_null(strstr(weir_last_error(), "argument 0: bytes [480, 960) of buffer"));
    assert_non_null(strstr(weir_last_error(), "were only on cuda:0, which is lost"));
  } else {
    assert_int_equal(wait_and_release(event, message), WEIR_ERROR_UPSTREAM_FAILED);
  }
  weir_finish(context);
  // From what the host has the other device does all of it.
  rig_reference(&field, table_words, cells, expected);
  rig_args(args, &field, weir_reads(buffers[0]), weir_writes(buffers[2]), table);
  rig_ok(weir_split_submit(split, &launch, NULL));
  rig_ok(weir_copy_out(buffers[2], 0, sizeof found, found, NULL));
  rig_ok(weir_finish(context));
  assert_memory_equal(found, expected, sizeof found);
  far_fault_after(UINT32_MAX);
  rig_ok(weir_split_release(split));
  weir_context_release(context);
  assert_int_equal(stub_violations(), 0);
}

typedef struct far_scene {
  weir_context *context;
  weir_split *split;
  weir_kernel *kernel;
  weir_buffer *buffers[2], *table;
  weir_event *event;
  rig_field field;
} far_scene;

static bool accepted(weir_status status) {
  if (status != WEIR_OK && status != WEIR_ERROR_OUT_OF_MEMORY)
    fail_msg("%s: %s", weir_status_name(status), weir_last_error());
  return status == WEIR_OK;
}

// Three launches and a copy of what they left; whether all are reported as done.
static bool play(far_scene *s) {
  static const uint32_t cells[CELLS] = {5, 6, 7}, table_words[16] = {1, 2};
  static uint32_t expected[2][CELLS], found[CELLS];
  memcpy(expected[0], cells, sizeof cells);
  memset(found, 0, sizeof found);
  if (!accepted(weir_copy_in(s->buffers[0], 0, sizeof cells, cells, NULL)) ||
      !accepted(weir_copy_in(s->table, 0, sizeof table_words, table_words, NULL)))
    return false;
  for (uint32_t i = 0; i < 3; i++) {
    weir_split_arg args[RIG_ARGS];
    rig_args(args, &s->field, weir_reads(s->buffers[i % 2]), weir_writes(s->buffers[1 - i % 2]), s->table);
    weir_split_launch launch = {
        .kernel = s->kernel, .args = args, .arg_count = RIG_ARGS, .groups = {WIDTH, ROWS, 1}, .dimension = 1};
    if (!accepted(weir_split_submit(s->split, &launch, NULL))) return false;
    rig_reference(&s->field, table_words, expected[i % 2], expected[1 - i % 2]);
  }
  if (!accepted(weir_copy_out(s->buffers[1], 0, sizeof found, found, &s->event))) return false;
  weir_status status = weir_event_wait(s->event, WEIR_FOREVER);
  if (status != WEIR_OK && status != WEIR_ERROR_OUT_OF_MEMORY && status != WEIR_ERROR_UPSTREAM_FAILED)
    fail_msg("%s: %s", weir_status_name(status), weir_event_message(s->event));
  weir_event_release(s->event);
  if (status == WEIR_OK) assert_memory_equal(found, expected[1], sizeof found);
  return status == WEIR_OK;
}

static bool open_far_scene(far_scene *s) {
  *s = (far_scene){.field = {.rows = ROWS, .width = WIDTH, .reach = 1}};
  rig_ok(weir_context_create(&(weir_context_options){.devices = "cpu:1,cuda", .window = 32}, &s->context));
  s->kernel = far_kernel(s->context);
  weir_split_options options = {.policy = "history", .resident = true};
  rig_ok(weir_split_create(s->context, &options, &s->split));
  for (int i = 0; i < 2; i++) rig_ok(weir_buffer_create(s->context, CELLS * sizeof(uint32_t), &s->buffers[i]));
  rig_ok(weir_buffer_create(s->context, 64, &s->table));
  return true;
}

// In two memories, from the first copy on.
static void every_allocation_may_fail(void **state) {
  (void)state;
  int64_t live = ledger_live();
  for (uint64_t n = 1;; n = sweep_after(n)) {
    far_scene s;
    open_far_scene(&s);
    uint64_t before = weir__allocate_count();
    weir__allocate_fail_at(n);
    bool good = play(&s);
    uint64_t calls = weir__allocate_count() - before;
    weir__allocate_fail_at(0);
    weir_finish(s.context);
    if (!good) assert_true(play(&s)); // the memory is there again
    rig_ok(weir_split_release(s.split));
    weir_context_release(s.context);
    assert_int_equal(ledger_live(), live);
    if (calls >= n) continue;
    assert_true(n > 10);
    break;
  }
}

int main(void) {
  setenv("WEIR_CUDA_DRIVER", CUDA_STUB, 1);
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(lost_devices_are_made_up_for_and_named),
      cmocka_unit_test(a_kernel_that_fails_everywhere_fails_the_launch),
      cmocka_unit_test(updates_are_not_run_again),
      cmocka_unit_test(poisoned_input_and_cancelling_skip_parts),
      cmocka_unit_test(what_a_lost_device_had_is_named),
      cmocka_unit_test(every_allocation_may_fail),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
