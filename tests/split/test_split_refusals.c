// SPDX-License-Identifier: Apache-2.0
//
// What is refused, with which words: parts that overlap or leave gaps where they write, and every other misuse.
#include <string.h>

#include "scene.h"

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

static void refuse_gaps_and_overlaps(bool resident) {
  scene s;
  open_scene_with(&s, "static", UINT32_MAX, UINT32_MAX, 0, resident);
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

static void gaps_and_overlaps_are_refused_with_their_ranges(void **state) {
  (void)state;
  refuse_gaps_and_overlaps(false);
  refuse_gaps_and_overlaps(true);
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

static void functions_that_contradict_themselves_are_refused_where_contents_are_resident(void **state) {
  (void)state;
  scene s;
  open_scene_with(&s, "static", UINT32_MAX, UINT32_MAX, 0, true);
  odd_map odd = {.only_alone = true, .after = -4};
  const weir_split_arg good = s.args[1];
  s.args[1] = weir_split_by(good.arg, map_oddly, &odd);
  refused(&s, WEIR_ERROR_INVALID_ARGUMENT, "together, but");
  s.args[1] = good;
  rig_ok(weir_split_submit(s.split, &s.launch, NULL));
  check_output(&s);
  close_scene(&s);
}

static void refuse_other_misuse(bool resident) {
  scene s;
  open_scene_with(&s, "static", UINT32_MAX, UINT32_MAX, 0, resident);
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
  s.args[0] = weir_split_block(weir_auto(s.in), 16);
  refused(&s, WEIR_ERROR_INVALID_ARGUMENT, "weir_auto has no mode for it");
  s.args[0] = weir_split_block(weir_auto(NULL), 16);
  refused(&s, WEIR_ERROR_INVALID_ARGUMENT, "argument 0: the buffer is NULL"); // it crashed
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
  const weir_split_arg table = s.args[2];
  odd_map same = {.at = UINT32_MAX};
  s.args[2] = weir_split_by(s.args[1].arg, map_oddly, &same);
  refused(&s, WEIR_ERROR_INVALID_ARGUMENT, "arguments 1 and 2 write the same bytes and are cut in two ways");
  s.args[2] = table;
  rig_ok(weir_split_submit(s.split, &s.launch, NULL));
  check_output(&s);
  close_scene(&s);
}

static void other_misuse_is_refused(void **state) {
  (void)state;
  refuse_other_misuse(false);
  refuse_other_misuse(true);
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
      {{.policy = "queue", .resident = true}, "policy 'queue' hands out parts while a launch runs"},
      {{.policy = "guided", .resident = true}, "policy 'guided' hands out parts while a launch runs"},
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

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(gaps_and_overlaps_are_refused_with_their_ranges),
      cmocka_unit_test(functions_that_contradict_themselves_fail_the_launch),
      cmocka_unit_test(functions_that_contradict_themselves_are_refused_where_contents_are_resident),
      cmocka_unit_test(other_misuse_is_refused),
      cmocka_unit_test(bad_options_are_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
