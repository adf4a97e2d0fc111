// SPDX-License-Identifier: Apache-2.0
//
// What a launch promises: order with other tasks, one event, failures that others make up for, what is said of them afterwards,
// and history that is kept.
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "gate.h"
#include "scene.h"

static void what_follows_waits_and_what_precedes_is_awaited(void **state) {
  (void)state;
  const char *const names[] = {"static", "history", "queue", "guided", "frames", "auto"};
  for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
    scene s;
    open_scene(&s, names[i], UINT32_MAX, UINT32_MAX, 16); // few slots: readers fill the window
    rig_ok(weir_fill(s.out, 0, sizeof s.cells, 0, NULL));
    rig_ok(weir_split_submit(s.split, &s.launch, NULL));
    for (int reader = 0; reader < 40; reader++) rig_ok(rig_read(s.context, s.out));
    rig_ok(weir_fill(s.in, 0, sizeof s.cells, 0, NULL)); // overwrites what the launch reads
    check_output(&s);
    weir_split_round round;
    rig_ok(weir_split_last_round(s.split, &round));
    uint64_t groups = 0;
    double shares = 0;
    for (uint32_t d = 0; d < round.device_count; d++) {
      assert_ptr_equal(round.devices[d].device, s.devices[d]);
      assert_int_equal(round.devices[d].parts > 0, round.devices[d].groups > 0);
      assert_int_equal(round.devices[d].busy_ns > 0, round.devices[d].groups > 0);
      assert_false(round.devices[d].failed);
      groups += round.devices[d].groups;
      shares += round.devices[d].share;
    }
    assert_int_equal(groups, ROWS);
    assert_true(shares > 0.999 && shares < 1.001);
    assert_int_equal(round.status, WEIR_OK);
    assert_string_equal(round.kernel, "field");
    assert_int_equal(strncmp(round.policy, names[i], strlen(names[i])), 0);
    assert_true(strlen(round.why) > 0);
    close_scene(&s);
  }
}

static void lost_devices_are_made_up_for_and_named(void **state) {
  (void)state;
  const char *const names[] = {"static", "history", "queue", "guided", "auto"};
  for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
    for (uint32_t tasks = 0; tasks < 3; tasks++) {
      scene s;
      open_scene(&s, names[i], tasks, UINT32_MAX, 0);
      weir_split_round round;
      bool said = false;
      for (int launch = 0; launch < 6 || round.redone > 0; launch++) { // one after that which lost it
        weir_event *event = NULL;
        rig_ok(weir_split_submit(s.split, &s.launch, &event));
        assert_int_equal(weir_event_wait(event, WEIR_FOREVER), WEIR_OK);
        rig_ok(weir_split_last_round(s.split, &round));
        bool says = strstr(weir_event_message(event), "fake:1 was lost: ") != NULL;
        assert_int_equal(says, round.redone > 0);
        said |= says;
        weir_event_release(event);
        check_output(&s);
      }
      // At first all devices get a part; later, policies that look at times may leave a slow one out.
      if (!said && (tasks == 0 || strcmp(names[i], "static") == 0)) fail_msg("%s: %u tasks", names[i], tasks);
      assert_int_equal(round.devices[1].failed, said);
      assert_false(round.devices[2].failed);
      if (said) assert_int_equal(round.devices[1].groups, 0);
      close_scene(&s);
    }
  }
}

// In the smallest window there is room for little more than what the two that fail cost.
static void lost_devices_are_made_up_for_in_a_small_window(void **state) {
  (void)state;
  const char *const names[] = {"static", "history", "queue", "guided", "frames", "auto"};
  for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
    for (uint32_t tasks = 0; tasks < 4; tasks++) {
      scene s;
      open_scene(&s, names[i], tasks, 3 - tasks, 8);
      for (int launch = 0; launch < 4; launch++) {
        rig_ok(weir_split_submit(s.split, &s.launch, NULL));
        check_output(&s);
      }
      close_scene(&s);
    }
  }
}

static void a_kernel_that_fails_everywhere_fails_the_launch(void **state) {
  (void)state;
  scene s;
  open_scene(&s, "queue", 0, 0, 0);
  rig_failure failure = {.device = 0};
  s.launch.user = &failure;
  weir_event *event = NULL;
  rig_ok(weir_split_submit(s.split, &s.launch, &event));
  weir_status status = weir_event_wait(event, WEIR_FOREVER);
  assert_true(status == WEIR_ERROR_TASK_FAILED || status == WEIR_ERROR_DEVICE_LOST);
  assert_non_null(strstr(weir_event_message(event), "cpu:1 failed: "));
  assert_non_null(strstr(weir_event_message(event), "told to"));
  weir_event_release(event);
  // What it should have written is poisoned, what comes next is refused or makes do with what is left.
  rig_ok(weir_copy_out(s.out, 0, sizeof s.found, s.found, &event));
  assert_int_equal(weir_event_wait(event, WEIR_FOREVER), WEIR_ERROR_UPSTREAM_FAILED);
  weir_event_release(event);
  assert_int_equal(weir_finish(s.context), status);
  s.launch.user = NULL;
  rig_ok(weir_split_submit(s.split, &s.launch, NULL));
  check_output(&s);
  close_scene(&s);
}

static void without_devices_a_launch_is_refused(void **state) {
  (void)state;
  scene s;
  open_scene(&s, "static", 0, 0, 0);
  weir_split_options options = {.devices = s.devices + 1, .device_count = 2};
  weir_split *two = NULL;
  rig_ok(weir_split_create(s.context, &options, &two));
  weir_event *event = NULL;
  rig_ok(weir_split_submit(two, &s.launch, &event));
  assert_int_equal(weir_event_wait(event, WEIR_FOREVER), WEIR_ERROR_DEVICE_LOST);
  weir_event_release(event);
  assert_int_equal(weir_split_submit(two, &s.launch, &event), WEIR_ERROR_DEVICE_LOST);
  assert_non_null(strstr(weir_last_error(), "all devices of the split are lost"));
  rig_ok(weir_split_release(two));
  weir_finish(s.context);
  close_scene(&s);
}

static weir_split_launch add_launch(scene *s, weir_split_arg args[3]) {
  args[0] = weir_split_block(weir_updates(s->in), WIDTH * sizeof(uint32_t));
  args[1] = weir_split_whole(weir_value(&s->field, sizeof s->field));
  args[2] = weir_split_part_of(0);
  return (weir_split_launch){
      .kernel = s->add, .args = args, .arg_count = 3, .groups = {WIDTH, ROWS, 1}, .dimension = 1};
}

static void updates_are_split_but_not_run_again(void **state) {
  (void)state;
  scene s;
  open_scene(&s, "static", UINT32_MAX, UINT32_MAX, 0);
  weir_split_arg args[3];
  weir_split_launch launch = add_launch(&s, args);
  for (int i = 0; i < 3; i++) rig_ok(weir_split_submit(s.split, &launch, NULL));
  rig_ok(weir_copy_out(s.in, 0, sizeof s.found, s.found, NULL));
  rig_ok(weir_finish(s.context));
  for (uint32_t i = 0; i < CELLS; i++) assert_int_equal(s.found[i], s.cells[i] + 3 * (i / WIDTH + 1));
  rig_failure failure = {.device = 1};
  launch.user = &failure;
  weir_event *event = NULL;
  rig_ok(weir_split_submit(s.split, &launch, &event));
  assert_int_equal(weir_event_wait(event, WEIR_FOREVER), WEIR_ERROR_TASK_FAILED);
  assert_non_null(strstr(weir_event_message(event), "update a buffer in place and cannot be run again"));
  weir_event_release(event);
  weir_finish(s.context);
  close_scene(&s);
}

static void poisoned_input_and_cancelling_skip_a_launch(void **state) {
  (void)state;
  scene s;
  open_scene(&s, "static", UINT32_MAX, UINT32_MAX, 0);
  rig_failure failure = {.device = 1};
  weir_split_arg args[3];
  weir_split_launch launch = add_launch(&s, args);
  launch.user = &failure;
  weir_event *events[2] = {NULL};
  rig_ok(weir_split_submit(s.split, &launch, NULL));
  rig_ok(weir_split_submit(s.split, &s.launch, &events[0]));
  assert_int_equal(weir_event_wait(events[0], WEIR_FOREVER), WEIR_ERROR_UPSTREAM_FAILED);
  weir_finish(s.context);
  rig_ok(weir_copy_in(s.in, 0, sizeof s.cells, s.cells, NULL));
  rig_ok(weir_split_submit(s.split, &s.launch, NULL));
  rig_ok(weir_split_submit(s.split, &launch, &events[1]));
  weir_context_cancel(s.context);
  assert_int_not_equal(weir_event_wait(events[1], WEIR_FOREVER), WEIR_OK);
  for (int i = 0; i < 2; i++) weir_event_release(events[i]);
  weir_finish(s.context);
  close_scene(&s);
}

static void run_launches(weir_context *context, weir_device **devices, const char *path, uint32_t count,
                         weir_split_round *out_round, char *out_warning) {
  weir_split_options options = {.devices = devices, .device_count = 2, .policy = "history", .history = path};
  weir_split *split = NULL;
  rig_ok(weir_split_create(context, &options, &split));
  strcpy(out_warning, weir_split_warning(split));
  weir_kernel *kernel = rig_add_kernel(context);
  rig_field field = {.rows = 400, .width = 1};
  weir_buffer *buffer = NULL;
  rig_ok(weir_buffer_create(context, 1600, &buffer));
  rig_ok(weir_fill(buffer, 0, 1600, 0, NULL));
  weir_split_arg args[3] = {weir_split_block(weir_updates(buffer), 4),
                            weir_split_whole(weir_value(&field, sizeof field)), weir_split_part_of(0)};
  weir_split_launch launch = {.kernel = kernel, .args = args, .arg_count = 3, .groups = {400, 1, 1}};
  for (uint32_t i = 0; i < count; i++) {
    rig_ok(weir_split_submit(split, &launch, NULL));
    rig_ok(weir_finish(context));
    rig_ok(weir_split_last_round(split, out_round));
  }
  rig_ok(weir_buffer_release(buffer));
  rig_ok(weir_kernel_release(kernel));
  rig_ok(weir_split_release(split));
}

static void damage(const char *path, long at, const char *bytes, size_t count) {
  FILE *file = fopen(path, "r+b");
  assert_non_null(file);
  assert_int_equal(fseek(file, at, SEEK_SET), 0);
  assert_int_equal(fwrite(bytes, 1, count, file), count);
  assert_int_equal(fclose(file), 0);
}

// A file of the user's whose name was given by mistake keeps its contents.
static void no_history_is_not_replaced(void **state) {
  (void)state;
  static const char *const theirs[] = {"weir", "all that I have\n", "weir split bread\n"};
  for (size_t i = 0; i < sizeof theirs / sizeof theirs[0]; i++) {
    char path[] = "/tmp/weir-split-XXXXXX", found[64] = "";
    int made = mkstemp(path);
    size_t bytes = strlen(theirs[i]);
    assert_int_equal(write(made, theirs[i], bytes), bytes);
    weir_context *context = NULL;
    weir_split *split = NULL;
    rig_ok(weir_context_create(&(weir_context_options){.devices = "cpu:1"}, &context));
    rig_ok(weir_split_create(context, &(weir_split_options){.history = path}, &split));
    assert_non_null(strstr(weir_split_warning(split), "no history"));
    assert_int_equal(weir_split_save(split), WEIR_ERROR_IO);
    assert_non_null(strstr(weir_last_error(), path));
    assert_int_equal(weir_split_release(split), WEIR_ERROR_IO);
    weir_context_release(context);
    assert_int_equal(pread(made, found, sizeof found, 0), bytes);
    assert_memory_equal(found, theirs[i], bytes);
    struct stat there, opened;
    assert_int_equal(stat(path, &there) | fstat(made, &opened), 0);
    assert_int_equal(there.st_ino, opened.st_ino);
    close(made);
    unlink(path);
  }
}

static void history_is_kept_and_damaged_history_is_not(void **state) {
  (void)state;
  char path[] = "/tmp/weir-split-XXXXXX";
  int made = mkstemp(path);
  assert_true(made >= 0);
  close(made);
  unlink(path);
  weir_context *context = NULL;
  rig_ok(weir_context_create(&(weir_context_options){.devices = "cpu:1"}, &context));
  weir_device *devices[2] = {rig_add_device(context, 1, UINT32_MAX), rig_add_device(context, 3, UINT32_MAX)};
  weir_split_round round;
  char warning[256];
  run_launches(context, devices, path, 1, &round, warning);
  assert_string_equal(warning, "");
  assert_int_equal(round.devices[0].groups, 200); // nothing is known: equal parts
  run_launches(context, devices, path, 4, &round, warning);
  assert_string_equal(warning, "");
  assert_in_range(round.devices[0].groups, 98, 104); // 1 : 3
  run_launches(context, devices, path, 1, &round, warning);
  assert_in_range(round.devices[0].groups, 98, 104); // from the first launch on
  const struct {
    long at;
    const char *bytes;
    size_t count;
  } damages[] = {{19, "9", 1}, {30, "x", 1}, {60, "\0\0", 2}, {22, "", 0}};
  for (size_t i = 0; i < sizeof damages / sizeof damages[0]; i++) {
    if (damages[i].count > 0)
      damage(path, damages[i].at, damages[i].bytes, damages[i].count);
    else
      assert_int_equal(truncate(path, damages[i].at), 0);
    run_launches(context, devices, path, 1, &round, warning);
    assert_non_null(strstr(warning, "damaged"));
    assert_int_equal(round.devices[0].groups, 200);
    run_launches(context, devices, path, 1, &round, warning); // it was rewritten
    assert_string_equal(warning, "");
    assert_int_not_equal(round.devices[0].groups, 200);
  }
  unlink(path);
  weir_split *split = NULL;
  weir_split_options nowhere = {.devices = devices, .device_count = 2, .history = "/nonexistent/weir/history"};
  rig_ok(weir_split_create(context, &nowhere, &split));
  assert_int_equal(weir_split_save(split), WEIR_ERROR_IO);
  assert_non_null(strstr(weir_last_error(), "/nonexistent/weir/history"));
  assert_int_equal(weir_split_release(split), WEIR_ERROR_IO);
  weir_context_release(context);
}

// A pipe is neither read, which would never end, nor replaced by a file; so it is with a device, such as /dev/null.
static void history_is_a_regular_file(void **state) {
  (void)state;
  char folder[] = "/tmp/weir-split-XXXXXX", path[64];
  assert_non_null(mkdtemp(folder));
  snprintf(path, sizeof path, "%s/pipe", folder);
  assert_int_equal(mkfifo(path, 0600), 0);
  int pipe = open(path, O_RDWR | O_NONBLOCK); // a reader that does not look finds a writer, and nothing to read
  assert_true(pipe >= 0);
  weir_context *context = NULL;
  rig_ok(weir_context_create(&(weir_context_options){.devices = "cpu:1"}, &context));
  weir_device *devices[2] = {rig_add_device(context, 1, UINT32_MAX), rig_add_device(context, 3, UINT32_MAX)};
  weir_split_options options = {.devices = devices, .device_count = 2, .history = path};
  weir_split *split = NULL;
  rig_ok(weir_split_create(context, &options, &split));
  assert_non_null(strstr(weir_split_warning(split), "not a regular file"));
  assert_int_equal(weir_split_save(split), WEIR_ERROR_IO);
  assert_non_null(strstr(weir_last_error(), "not a regular file"));
  assert_int_equal(weir_split_release(split), WEIR_ERROR_IO);
  weir_context_release(context);
  struct stat found;
  assert_int_equal(lstat(path, &found), 0);
  assert_true(S_ISFIFO(found.st_mode));
  close(pipe);
  assert_int_equal(unlink(path), 0);
  assert_int_equal(rmdir(folder), 0);
}

static void frames_in_flight_go_to_all_devices(void **state) {
  (void)state;
  scene s;
  open_scene(&s, "frames", UINT32_MAX, UINT32_MAX, 0);
  weir_buffer *outs[12];
  weir_event *last = NULL;
  uint32_t used = 0;
  for (int i = 0; i < 12; i++) {
    rig_ok(weir_buffer_create(s.context, sizeof s.cells, &outs[i]));
    s.args[1].arg.buffer = outs[i];
    rig_ok(weir_split_submit(s.split, &s.launch, &last));
    if (i < 11) weir_event_release(last);
  }
  rig_ok(weir_finish(s.context));
  weir_event_release(last);
  weir_split_round round;
  rig_ok(weir_split_last_round(s.split, &round));
  for (uint32_t d = 0; d < 3; d++) {
    assert_true(round.devices[d].parts <= 1);
    used += round.devices[d].parts;
  }
  assert_int_equal(used, 1); // a launch is not cut
  for (int i = 0; i < 12; i++) {
    rig_ok(weir_copy_out(outs[i], 0, sizeof s.found, s.found, NULL));
    rig_ok(weir_finish(s.context));
    assert_memory_equal(s.found, s.expected, sizeof s.found);
  }
  close_scene(&s);
}

static void do_nothing(const weir_work *work) {
  (void)work;
}

// The checker's own tasks, some for each part, take none of the slots that were set aside for the parts.
static void parts_find_room_in_a_full_window_in_check_mode(void **state) {
  (void)state;
  weir_context_options options = {.devices = "cpu:2", .window = 256, .flags = WEIR_CONTEXT_CHECK};
  weir_context *context;
  rig_ok(weir_context_create(&options, &context));
  weir_split *split;
  rig_ok(weir_split_create(context, &(weir_split_options){.policy = "queue"}, &split));
  weir_kernel *kernel = rig_add_kernel(context);
  rig_field field = {.rows = ROWS, .width = WIDTH};
  weir_buffer *buffer;
  rig_ok(weir_buffer_create(context, CELLS * sizeof(uint32_t), &buffer));
  rig_ok(weir_fill(buffer, 0, WEIR_WHOLE, 0, NULL));
  rig_ok(weir_finish(context));
  gate door = {0};
  rig_ok(gate_submit(context, &door, NULL, 0, NULL));
  weir_split_arg args[] = {weir_split_block(weir_updates(buffer), WIDTH * sizeof(uint32_t)),
                           weir_split_whole(weir_value(&field, sizeof field)), weir_split_part_of(0)};
  weir_split_launch launch = {.kernel = kernel, .args = args, .arg_count = 3, .groups = {WIDTH, ROWS}, .dimension = 1};
  rig_ok(weir_split_submit(split, &launch, NULL));
  weir_statistics statistics;
  weir_task task = {.host = do_nothing};
  for (weir_context_statistics(context, &statistics); statistics.room > 0;
       weir_context_statistics(context, &statistics))
    rig_ok(weir_submit(context, &task, NULL));
  gate_open(&door);
  rig_ok(weir_finish(context));
  uint32_t cells[CELLS];
  rig_ok(weir_read(buffer, 0, WEIR_WHOLE, cells));
  for (uint32_t i = 0; i < CELLS; i++) assert_int_equal(cells[i], i / WIDTH + 1);
  rig_ok(weir_context_release(context));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(what_follows_waits_and_what_precedes_is_awaited),
      cmocka_unit_test(lost_devices_are_made_up_for_and_named),
      cmocka_unit_test(lost_devices_are_made_up_for_in_a_small_window),
      cmocka_unit_test(a_kernel_that_fails_everywhere_fails_the_launch),
      cmocka_unit_test(without_devices_a_launch_is_refused),
      cmocka_unit_test(updates_are_split_but_not_run_again),
      cmocka_unit_test(poisoned_input_and_cancelling_skip_a_launch),
      cmocka_unit_test(no_history_is_not_replaced),
      cmocka_unit_test(history_is_kept_and_damaged_history_is_not),
      cmocka_unit_test(history_is_a_regular_file),
      cmocka_unit_test(frames_in_flight_go_to_all_devices),
      cmocka_unit_test(parts_find_room_in_a_full_window_in_check_mode),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
