// SPDX-License-Identifier: Apache-2.0
//
// What a launch promises: refusals that name ranges, order with other tasks, one event, failures that others make up for, and
// what is said of them afterwards.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "rig.h"

enum { ROWS = 60, WIDTH = 4, CELLS = ROWS * WIDTH };

typedef struct scene {
  weir_context *context;
  weir_device *devices[3];
  weir_split *split;
  weir_kernel *kernel, *add;
  weir_buffer *in, *out, *table;
  rig_field field;
  uint32_t cells[CELLS], table_words[16], expected[CELLS], found[CELLS];
  weir_split_arg args[RIG_ARGS];
  weir_split_launch launch;
} scene;

// Three devices: a CPU, and two that are lost after so many tasks.
static void open_scene(scene *s, const char *policy, uint32_t first_tasks, uint32_t second_tasks, uint32_t window) {
  memset(s, 0, sizeof *s);
  weir_context_options options = {.devices = "cpu:1", .window = window};
  rig_ok(weir_context_create(&options, &s->context));
  s->devices[0] = weir_context_device(s->context, 0);
  s->devices[1] = rig_add_device(s->context, 1, first_tasks);
  s->devices[2] = rig_add_device(s->context, 4, second_tasks);
  weir_split_options split = {.devices = s->devices, .device_count = 3, .policy = policy, .overhead = 1};
  const double equal[3] = {1, 1, 1};
  if (strcmp(policy, "static") == 0) split.shares = equal;
  rig_ok(weir_split_create(s->context, &split, &s->split));
  s->kernel = rig_kernel(s->context);
  s->add = rig_add_kernel(s->context);
  s->field = (rig_field){.rows = ROWS, .width = WIDTH, .reach = 2, .value = 7};
  for (uint32_t i = 0; i < CELLS; i++) s->cells[i] = i * 77;
  for (uint32_t i = 0; i < 16; i++) s->table_words[i] = i * i;
  rig_ok(weir_buffer_create(s->context, sizeof s->cells, &s->in));
  rig_ok(weir_buffer_create(s->context, sizeof s->cells, &s->out));
  rig_ok(weir_buffer_create(s->context, sizeof s->table_words, &s->table));
  rig_ok(weir_copy_in(s->in, 0, sizeof s->cells, s->cells, NULL));
  rig_ok(weir_copy_in(s->table, 0, sizeof s->table_words, s->table_words, NULL));
  rig_reference(&s->field, s->table_words, s->cells, s->expected);
  rig_args(s->args, &s->field, weir_reads(s->in), weir_writes(s->out), s->table);
  s->launch = (weir_split_launch){.kernel = s->kernel,
                                  .args = s->args,
                                  .arg_count = RIG_ARGS,
                                  .groups = {WIDTH, ROWS, 1},
                                  .dimension = 1,
                                  .label = "picture"};
}

static void close_scene(scene *s) {
  rig_ok(weir_split_release(s->split));
  weir_context_release(s->context);
}

static void check_output(scene *s) {
  rig_ok(weir_copy_out(s->out, 0, sizeof s->found, s->found, NULL));
  rig_ok(weir_finish(s->context));
  assert_memory_equal(s->found, s->expected, sizeof s->found);
}

static void refused(scene *s, weir_status expected, const char *text) {
  weir_event *event = (weir_event *)s;
  weir_statistics before, after;
  weir_context_statistics(s->context, &before);
  weir_status status = weir_split_submit(s->split, &s->launch, &event);
  weir_context_statistics(s->context, &after);
  if (status != expected || strstr(weir_last_error(), text) == NULL)
    fail_msg("%s: '%s' does not say '%s'", weir_status_name(status), weir_last_error(), text);
  assert_null(event);
  assert_int_equal(before.tasks, after.tasks);
}

typedef struct odd_map {
  uint32_t at;           // this work-group
  int64_t before, after; // has so many bytes more before its first, and behind its last
  bool only_alone;       // if it is asked for alone
} odd_map;

static void map_oddly(void *user, uint32_t first, uint32_t count, uint64_t *out_offset, uint64_t *out_bytes) {
  const odd_map *odd = user;
  uint64_t row = WIDTH * sizeof(uint32_t);
  bool here = odd->only_alone ? count > 1 : first <= odd->at && odd->at < first + count;
  int64_t lo = (int64_t)(first * row), hi = (int64_t)((first + count) * row);
  if (here && (odd->only_alone || first == odd->at)) lo -= odd->before;
  if (here && (odd->only_alone || first + count - 1 == odd->at)) hi += odd->after;
  *out_offset = (uint64_t)lo;
  *out_bytes = (uint64_t)(hi - lo);
}

static void gaps_and_overlaps_are_refused_with_their_ranges(void **state) {
  (void)state;
  scene s;
  open_scene(&s, "static", UINT32_MAX, UINT32_MAX, 0);
  const weir_split_arg good = s.args[1];
  s.args[1] = weir_split_halo(good.arg, 16, 1, 0);
  refused(&s, WEIR_ERROR_INVALID_ARGUMENT,
          "split 'picture' (tag 0), argument 1: parts that write overlap: work-groups [0, 1) have bytes [0, 16) and "
          "work-groups [1, 2) have bytes [0, 32)");
  s.args[1] = weir_split_whole(good.arg);
  refused(&s, WEIR_ERROR_INVALID_ARGUMENT, "have bytes [0, 960) and work-groups [1, 2) have bytes [0, 960)");
  s.args[1] = weir_split_block(good.arg, 15);
  refused(&s, WEIR_ERROR_INVALID_ARGUMENT, "no part writes bytes [900, 960)");
  s.args[1] = weir_split_block(good.arg, 32);
  refused(&s, WEIR_ERROR_INVALID_ARGUMENT, "work-groups [59, 60) have no bytes of its 960");
  s.args[1] = weir_split_block(good.arg, 0);
  refused(&s, WEIR_ERROR_INVALID_ARGUMENT, "a block of 0 bytes");
  odd_map odd = {.at = 7, .before = 4};
  s.args[1] = weir_split_by(good.arg, map_oddly, &odd);
  refused(&s, WEIR_ERROR_INVALID_ARGUMENT,
          "work-groups [6, 7) have bytes [96, 112) and work-groups [7, 8) have bytes [108, 128)");
  odd.before = -4;
  refused(&s, WEIR_ERROR_INVALID_ARGUMENT, "no part writes bytes [112, 116), before those of work-group 7");
  odd = (odd_map){.at = ROWS - 1, .after = -4};
  refused(&s, WEIR_ERROR_INVALID_ARGUMENT, "no part writes bytes [956, 960)");
  odd.after = 4;
  refused(&s, WEIR_ERROR_OUT_OF_RANGE, "bytes [944, 964) of work-groups [59, 60) leave its range of 960");
  odd = (odd_map){.at = 3, .after = -16};
  refused(&s, WEIR_ERROR_INVALID_ARGUMENT, "work-groups [3, 4) have no bytes");
  s.args[1] = good;
  odd = (odd_map){.at = 7, .before = 16, .after = 16};
  s.args[0] = weir_split_by(s.args[0].arg, map_oddly, &odd); // what is read may overlap
  s.field.reach = 0;
  rig_ok(weir_split_submit(s.split, &s.launch, NULL));
  rig_ok(weir_finish(s.context));
  close_scene(&s);
}

// A function that says something else of several work-groups together is found out when the piece is cut.
static void functions_that_contradict_themselves_fail_the_launch(void **state) {
  (void)state;
  scene s;
  open_scene(&s, "static", UINT32_MAX, UINT32_MAX, 0);
  odd_map odd = {.only_alone = true, .after = -4};
  s.args[1] = weir_split_by(s.args[1].arg, map_oddly, &odd);
  weir_event *event = NULL;
  rig_ok(weir_split_submit(s.split, &s.launch, &event));
  assert_int_equal(weir_event_wait(event, WEIR_FOREVER), WEIR_ERROR_INVALID_ARGUMENT);
  assert_non_null(strstr(weir_event_message(event), "together, but"));
  weir_event_release(event);
  close_scene(&s);
}

static void other_misuse_is_refused(void **state) {
  (void)state;
  scene s;
  open_scene(&s, "static", UINT32_MAX, UINT32_MAX, 0);
  const weir_split_launch good = s.launch;
  assert_int_equal(weir_split_submit(NULL, &good, NULL), WEIR_ERROR_INVALID_ARGUMENT);
  assert_int_equal(weir_split_submit(s.split, NULL, NULL), WEIR_ERROR_INVALID_ARGUMENT);
  s.launch.kernel = NULL;
  refused(&s, WEIR_ERROR_INVALID_ARGUMENT, "the kernel is NULL");
  s.launch = good;
  s.launch.dimension = 3;
  refused(&s, WEIR_ERROR_INVALID_ARGUMENT, "there is no dimension 3");
  s.launch = good;
  s.launch.args = NULL;
  refused(&s, WEIR_ERROR_INVALID_ARGUMENT, "args is NULL");
  s.launch = good;
  s.launch.arg_count = WEIR_MAX_ARGS + 1;
  refused(&s, WEIR_ERROR_INVALID_ARGUMENT, "at most 1024");
  s.launch = good;
  weir_kernel *empty = NULL;
  rig_ok(weir_kernel_create(s.context, "empty", &empty));
  s.launch.kernel = empty;
  refused(&s, WEIR_ERROR_NO_CODE, "kernel 'empty' has no code for device cpu:1");
  s.launch = good;
  weir_split_arg kept = s.args[4];
  s.args[4].halo_of = RIG_ARGS;
  refused(&s, WEIR_ERROR_INVALID_ARGUMENT, "argument 4: the halo of argument 5, which there is not");
  s.args[4] = kept;
  kept = s.args[0];
  s.args[0].mapping = (weir_split_mapping)9;
  refused(&s, WEIR_ERROR_INVALID_ARGUMENT, "9 is no mapping");
  s.args[0] = weir_split_by(kept.arg, NULL, NULL);
  refused(&s, WEIR_ERROR_INVALID_ARGUMENT, "its function is NULL");
  s.args[0] = weir_split_block(weir_value(&s, 4), 4);
  refused(&s, WEIR_ERROR_INVALID_ARGUMENT, "a value cannot be cut");
  s.args[0] = weir_split_block(weir_reads_range(s.in, 0, 961), 16);
  refused(&s, WEIR_ERROR_OUT_OF_RANGE, "argument 0: 961 bytes from byte 0 on leave buffer");
  s.args[0] = weir_split_block(weir_reads_range(s.in, 960, WEIR_WHOLE), 16);
  refused(&s, WEIR_ERROR_OUT_OF_RANGE, "argument 0");
  weir_buffer *gone = NULL;
  rig_ok(weir_buffer_create(s.context, 960, &gone));
  rig_ok(weir_buffer_release(gone));
  s.args[0] = weir_split_block(weir_reads(gone), 16);
  refused(&s, WEIR_ERROR_RELEASED, "argument 0: the buffer was released before");
  s.args[0] = weir_split_block(weir_reads(s.out), 16);
  refused(&s, WEIR_ERROR_INVALID_ARGUMENT, "two arguments overlap and disagree");
  s.args[0] = kept;
  rig_ok(weir_split_submit(s.split, &s.launch, NULL));
  check_output(&s);
  close_scene(&s);
}

static void bad_options_are_refused(void **state) {
  (void)state;
  weir_context *context = NULL, *other = NULL;
  rig_ok(weir_context_create(&(weir_context_options){.devices = "cpu:1,sim:ideal"}, &context));
  rig_ok(weir_context_create(&(weir_context_options){.devices = "cpu:1"}, &other));
  weir_device *device = weir_context_device(context, 0);
  weir_device *twice[2] = {device, device}, *foreign[1] = {weir_context_device(other, 0)}, *nothing[1] = {NULL};
  double negative[2] = {1, -1}, none[2] = {0, 0};
  weir_split_policy nameless = {.name = "x"};
  const struct {
    weir_split_options options;
    const char *text;
  } cases[] = {
      {{.devices = twice, .device_count = 2}, "device 1 is device 0 again (cpu:1)"},
      {{.devices = foreign, .device_count = 1}, "device 0 belongs to another context"},
      {{.devices = nothing, .device_count = 1}, "device 0 is NULL"},
      {{.devices = twice, .device_count = 17}, "17 devices; 1 to 16 are possible"},
      {{.devices = twice}, "0 devices"},
      {{.device_count = 1}, "no list"},
      {{.policy = "best"}, "there is no policy 'best'; known: static"},
      {{.policy = "auto", .custom = &nameless}, "both"},
      {{.custom = &nameless}, "without the function `next`"},
      {{.shares = negative}, "a share of -1 for device 1"},
      {{.shares = none}, "all 0"},
      {{.rounds = 33}, "33 rounds"},
      {{.floor = 0.6}, "a floor of 0.6 for 2 devices"},
      {{.overhead = 1.5}, "an overhead of 1.5"},
      {{.history = ""}, "name of the history's file is empty"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    weir_split *split = (weir_split *)context;
    assert_int_equal(weir_split_create(context, &cases[i].options, &split), WEIR_ERROR_INVALID_ARGUMENT);
    assert_null(split);
    if (strstr(weir_last_error(), cases[i].text) == NULL) fail_msg("%s: not %s", weir_last_error(), cases[i].text);
  }
  weir_split *split = NULL;
  assert_int_equal(weir_split_create(NULL, NULL, &split), WEIR_ERROR_INVALID_ARGUMENT);
  assert_int_equal(weir_split_create(context, NULL, NULL), WEIR_ERROR_INVALID_ARGUMENT);
  rig_ok(weir_split_create(context, NULL, &split));
  weir_split_round round;
  assert_int_equal(weir_split_last_round(split, &round), WEIR_ERROR_UNAVAILABLE);
  assert_int_equal(weir_split_save(split), WEIR_ERROR_INVALID_ARGUMENT);
  assert_string_equal(weir_split_warning(split), "");
  rig_ok(weir_split_release(split));
  rig_ok(weir_split_release(NULL));
  weir_context_release(context);
  weir_context_release(other);
}

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
      assert_int_equal(round.devices[d].pieces > 0, round.devices[d].groups > 0);
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
      for (int launch = 0; launch < 6; launch++) {
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
      // At first all devices get a piece; later, policies that look at times may leave a slow one out.
      if (!said && (tasks == 0 || strcmp(names[i], "static") == 0)) fail_msg("%s: %u tasks", names[i], tasks);
      assert_int_equal(round.devices[1].failed, said);
      assert_false(round.devices[2].failed);
      if (said) assert_int_equal(round.devices[1].groups, 0);
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
  } damages[] = {{0, "WEIR", 4}, {30, "x", 1}, {60, "\0\0", 2}, {22, "", 0}};
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
    assert_true(round.devices[d].pieces <= 1);
    used += round.devices[d].pieces;
  }
  assert_int_equal(used, 1); // a launch is not cut
  for (int i = 0; i < 12; i++) {
    rig_ok(weir_copy_out(outs[i], 0, sizeof s.found, s.found, NULL));
    rig_ok(weir_finish(s.context));
    assert_memory_equal(s.found, s.expected, sizeof s.found);
  }
  close_scene(&s);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(gaps_and_overlaps_are_refused_with_their_ranges),
      cmocka_unit_test(functions_that_contradict_themselves_fail_the_launch),
      cmocka_unit_test(other_misuse_is_refused),
      cmocka_unit_test(bad_options_are_refused),
      cmocka_unit_test(what_follows_waits_and_what_precedes_is_awaited),
      cmocka_unit_test(lost_devices_are_made_up_for_and_named),
      cmocka_unit_test(a_kernel_that_fails_everywhere_fails_the_launch),
      cmocka_unit_test(without_devices_a_launch_is_refused),
      cmocka_unit_test(updates_are_split_but_not_run_again),
      cmocka_unit_test(poisoned_input_and_cancelling_skip_a_launch),
      cmocka_unit_test(history_is_kept_and_damaged_history_is_not),
      cmocka_unit_test(frames_in_flight_go_to_all_devices),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
