// SPDX-License-Identifier: Apache-2.0
#include "scene.h"

#include <string.h>

void open_scene(scene *s, const char *policy, uint32_t first_tasks, uint32_t second_tasks, uint32_t window) {
  open_scene_with(s, policy, first_tasks, second_tasks, window, false);
}

void open_scene_with(scene *s, const char *policy, uint32_t first_tasks, uint32_t second_tasks, uint32_t window,
                     bool resident) {
  memset(s, 0, sizeof *s);
  weir_context_options options = {.devices = "cpu:1", .window = window};
  rig_ok(weir_context_create(&options, &s->context));
  s->devices[0] = weir_context_device(s->context, 0);
  s->devices[1] = rig_add_device(s->context, 1, first_tasks);
  s->devices[2] = rig_add_device(s->context, 4, second_tasks);
  weir_split_options split = {
      .devices = s->devices, .device_count = 3, .policy = policy, .overhead = 1, .resident = resident};
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

void close_scene(scene *s) {
  rig_ok(weir_split_release(s->split));
  weir_context_release(s->context);
}

void check_output(scene *s) {
  rig_ok(weir_copy_out(s->out, 0, sizeof s->found, s->found, NULL));
  rig_ok(weir_finish(s->context));
  assert_memory_equal(s->found, s->expected, sizeof s->found);
}
