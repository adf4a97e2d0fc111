// SPDX-License-Identifier: Apache-2.0
//
// Launches over a device in the host's memory and one with memory of its own: parts get the bytes that they read, and what they
// write comes back; no more is moved. Skipped without a Vulkan device.
#include <stdio.h>
#include <string.h>

#include "field.spv.h"
#include "rig.h"
#include "weir/vulkan.h"

enum { ROWS = 64, WIDTH = 32, CELLS = ROWS * WIDTH, LAUNCHES = 4 };

static weir_kernel *make_kernel(weir_context *context) {
  weir_kernel *kernel = rig_kernel(context);
  weir_vulkan_code code = {.words = field_spv, .bytes = sizeof field_spv};
  rig_ok(weir_kernel_set_vulkan(kernel, &code, &(weir_vulkan_launch){0}, 1));
  return kernel;
}

static void run(const char *devices, const char *policy, uint32_t reach) {
  static uint32_t cells[2][CELLS], start[CELLS], found[CELLS], table_words[16];
  rig_field field = {.rows = ROWS, .width = WIDTH, .reach = reach};
  weir_context *context = NULL;
  rig_ok(weir_context_create(&(weir_context_options){.devices = devices}, &context));
  weir_kernel *kernel = make_kernel(context);
  weir_split *split = NULL;
  const double shares[3] = {1, 2, 1};
  weir_split_options options = {.policy = policy, .shares = shares, .overhead = 1};
  rig_ok(weir_split_create(context, &options, &split));
  weir_buffer *buffers[2] = {NULL}, *table = NULL;
  for (uint32_t i = 0; i < CELLS; i++) cells[0][i] = start[i] = i * 99;
  for (uint32_t i = 0; i < 16; i++) table_words[i] = i * i * i;
  for (int i = 0; i < 2; i++) rig_ok(weir_buffer_create(context, sizeof start, &buffers[i]));
  rig_ok(weir_buffer_create(context, sizeof table_words, &table));
  rig_ok(weir_copy_in(buffers[0], 0, sizeof start, start, NULL));
  rig_ok(weir_copy_in(table, 0, sizeof table_words, table_words, NULL));
  for (uint32_t i = 0; i < LAUNCHES; i++) {
    weir_split_arg args[RIG_ARGS];
    field.value = i;
    rig_args(args, &field, weir_reads(buffers[i % 2]), weir_writes(buffers[1 - i % 2]), table);
    weir_split_launch launch = {
        .kernel = kernel, .args = args, .arg_count = RIG_ARGS, .groups = {WIDTH, ROWS, 1}, .dimension = 1};
    rig_ok(weir_split_submit(split, &launch, NULL));
    rig_reference(&field, table_words, cells[i % 2], cells[1 - i % 2]);
  }
  rig_ok(weir_copy_out(buffers[LAUNCHES % 2], 0, sizeof found, found, NULL));
  rig_ok(weir_finish(context));
  assert_memory_equal(found, cells[LAUNCHES % 2], sizeof found);
  weir_split_round round;
  rig_ok(weir_split_last_round(split, &round));
  if (strcmp(policy, "static") == 0 && round.device_count == 2) {
    assert_int_equal(round.devices[1].groups, ROWS * 2 / 3 + 1);
    assert_true(round.devices[1].busy_ns > 0);
    // Each launch moves the table, the rows of the part with its halo, and the part back.
    weir_statistics statistics;
    weir_context_statistics(context, &statistics);
    uint64_t row = WIDTH * sizeof(uint32_t), part = (ROWS * 2 / 3 + 1) * row;
    assert_int_equal(statistics.transfer_bytes, LAUNCHES * (sizeof table_words + part + reach * row + part));
  }
  rig_ok(weir_split_release(split));
  weir_context_release(context);
}

static void parts_move_what_they_need(void **state) {
  (void)state;
  run("cpu:1,vulkan", "static", 2);
}

static void all_policies_give_the_same(void **state) {
  (void)state;
  const char *const names[] = {"static", "history", "queue", "guided", "frames", "auto"};
  for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
    run("cpu:1,vulkan", names[i], 1);
    run("vulkan", names[i], 3);
    run("vulkan,cpu:1,sim:ideal", names[i], 0);
  }
}

int main(void) {
  weir_context *context = NULL;
  if (weir_context_create(&(weir_context_options){.devices = "vulkan"}, &context) != WEIR_OK) {
    printf("skipped: %s\n", weir_last_error());
    return 77;
  }
  weir_context_release(context);
  const struct CMUnitTest tests[] = {cmocka_unit_test(parts_move_what_they_need),
                                     cmocka_unit_test(all_policies_give_the_same)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
