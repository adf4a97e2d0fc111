// SPDX-License-Identifier: Apache-2.0
//
// Resident issue on the stub driver: the resident kernel leaves and comes back, numbers wrap, code comes late, tasks with many
// predecessors and with many work-groups.
#include <string.h>
#include <time.h>

#include "device/cuda/resident/resident.h"
#include "rig.h"

static void submit_some(rig *r, uint32_t count) {
  for (uint32_t i = 0; i < count; i++) rig_submit(r, RIG_MIX, i % RIG_BUFFERS, (i + 1) % RIG_BUFFERS, i, NULL);
}

static void the_kernel_leaves_and_is_launched_again(void **state) {
  (void)state;
  rig r;
  rig_begin(&r, 1, NULL);
  uint64_t launches = stub_calls("cuLaunchKernel");
  for (int round = 0; round < 5; round++) {
    submit_some(&r, 10);
    assert_int_equal(weir_finish(r.context), WEIR_OK);
    rig_wait_until_idle();
    assert_true(stub_calls("cuLaunchKernel") > launches);
    launches = stub_calls("cuLaunchKernel");
  }
  assert_int_equal(rig_resident_tasks(&r), 50);
  rig_end(&r);
}

static void the_context_is_released_with_tasks_in_flight(void **state) {
  (void)state;
  for (uint64_t seed = 1; seed <= 20; seed++) {
    rig r;
    weir_context_options options = {.seed = seed / 2};
    rig_begin(&r, seed, &options);
    submit_some(&r, 50);
    if (seed % 2 == 0) rig_submit(&r, RIG_PLAIN, 0, 1, 7, NULL);
    if (seed % 3 == 0) weir_context_cancel(r.context);
    rig_release(&r);
  }
}

// A seed of the context has the numbers start so many below 2^32.
static void numbers_wrap(void **state) {
  (void)state;
  for (uint64_t before = 1; before <= 1500; before += 700) {
    rig r;
    weir_context_options options = {.seed = before, .window = 2048};
    rig_begin(&r, before, &options);
    submit_some(&r, 1600);
    assert_int_equal(weir_finish(r.context), WEIR_OK);
    assert_int_equal(rig_resident_tasks(&r), 1600);
    rig_end(&r);
  }
}

static void make_buffer(rig *r, const uint32_t words[RIG_WORDS], weir_buffer **out_buffer) {
  assert_int_equal(weir_buffer_create(r->context, RIG_WORDS * sizeof *words, out_buffer), WEIR_OK);
  assert_int_equal(weir_copy_in(*out_buffer, 0, RIG_WORDS * sizeof *words, words, NULL), WEIR_OK);
}

static void read_buffer(weir_buffer *buffer, uint32_t words[RIG_WORDS]) {
  weir_event *event = NULL;
  assert_int_equal(weir_copy_out(buffer, 0, RIG_WORDS * sizeof *words, words, &event), WEIR_OK);
  assert_int_equal(weir_event_wait(event, WEIR_FOREVER), WEIR_OK);
  weir_event_release(event);
}

// Tasks that are independent of each other read a buffer, which the last one updates: it comes after all of them.
static void a_task_has_many_predecessors(void **state) {
  (void)state;
  static const uint32_t counts[] = {12, 13, 24, 25, 300};
  for (size_t c = 0; c < sizeof counts / sizeof *counts; c++) {
    rig r;
    weir_context_options options = {.seed = c, .window = 1024};
    rig_begin(&r, c + 1, &options);
    weir_buffer *buffers[300];
    uint32_t words[RIG_WORDS] = {0};
    for (uint32_t i = 0; i < counts[c]; i++) make_buffer(&r, words, &buffers[i]);
    assert_int_equal(weir_finish(r.context), WEIR_OK);
    for (uint32_t i = 0; i < counts[c]; i++) {
      weir_arg args[] = {weir_updates(buffers[i]), weir_reads(r.buffers[0]), weir_value(&i, sizeof i)};
      weir_task task = {.kernel = r.kernels[RIG_MIX], .args = args, .arg_count = 3, .groups = {RIG_GROUPS, 1, 1}};
      assert_int_equal(weir_submit(r.context, &task, NULL), WEIR_OK);
    }
    uint32_t before = r.expected[0][5];
    rig_submit(&r, RIG_MIX, 0, 1, 5, NULL);
    for (uint32_t i = 0; i < counts[c]; i++) {
      read_buffer(buffers[i], words);
      assert_int_equal(words[5], before + i);
      weir_buffer_release(buffers[i]);
    }
    assert_int_equal(rig_resident_tasks(&r), counts[c] + 1);
    rig_end(&r);
  }
}

static void tally_group(const stub_launch *launch, uint64_t group) {
  uint64_t address;
  memcpy(&address, launch->params[0], sizeof address);
  uint32_t *words = stub_memory(launch, address, RIG_WORDS * sizeof *words);
  if (words != NULL) __atomic_fetch_add(&words[group % RIG_WORDS], 1, __ATOMIC_RELAXED);
}

static void tally_launch(const stub_launch *launch) {
  uint64_t groups = (uint64_t)launch->grid[0] * launch->grid[1] * launch->grid[2];
  for (uint64_t i = 0; i < groups; i++) tally_group(launch, i);
}

static void submit_tally(rig *r, weir_kernel *kernel, weir_buffer *buffer, const uint32_t groups[3]) {
  weir_arg args[] = {weir_updates(buffer)};
  weir_task task = {.kernel = kernel, .args = args, .arg_count = 1, .groups = {groups[0], groups[1], groups[2]}};
  assert_int_equal(weir_submit(r->context, &task, NULL), WEIR_OK);
}

// More than there are workers, for which several are handed out at once.
static void a_task_has_many_groups(void **state) {
  (void)state;
  rig r;
  rig_begin(&r, 3, NULL);
  weir_kernel *tally = rig_make_kernel(&r, "tally", "STUB\ntally 64 8\n", true);
  uint32_t words[RIG_WORDS] = {0};
  weir_buffer *buffer;
  make_buffer(&r, words, &buffer);
  submit_tally(&r, tally, buffer, (uint32_t[]){RIG_WORDS, 40, 8});
  submit_tally(&r, tally, buffer, (uint32_t[]){RIG_WORDS, 1, 1});
  read_buffer(buffer, words);
  for (int i = 0; i < RIG_WORDS; i++) assert_int_equal(words[i], 321);
  assert_int_equal(rig_resident_tasks(&r), 2);
  weir_buffer_release(buffer);
  weir_kernel_release(tally);
  rig_end(&r);
}

// The launch says how many work-groups there are, or what the parameter is.
static void launches_have_a_grid_or_a_value(void **state) {
  (void)state;
  rig r;
  rig_begin(&r, 5, NULL);
  uint32_t words[RIG_WORDS] = {0};
  weir_buffer *buffer;
  make_buffer(&r, words, &buffer);
  weir_kernel *kernels[2] = {NULL, NULL};
  uint64_t memory = 0;
  void *pinned = NULL;
  assert_int_equal(weir_host_allocate(r.device, RIG_WORDS * sizeof *words, &pinned), WEIR_OK);
  memset(pinned, 0, RIG_WORDS * sizeof *words);
  memory = (uint64_t)(uintptr_t)pinned;
  weir_cuda_code code = {.source = "STUB\ntally 64 8\n", .groups = true};
  weir_cuda_launch launches[2] = {
      {.function = "tally", .grid = {RIG_WORDS, 2, 0}, .block = {32, 1, 1}},
      {.function = "tally", .block = {32, 1, 1}, .value = &memory, .value_bytes = sizeof memory}};
  for (int i = 0; i < 2; i++) {
    assert_int_equal(weir_kernel_create(r.context, "own", &kernels[i]), WEIR_OK);
    if (weir_kernel_set_cuda(kernels[i], &code, &launches[i], 1) != WEIR_OK) fail_msg("%s", weir_last_error());
    submit_tally(&r, kernels[i], buffer, (uint32_t[]){RIG_WORDS, 1, 1});
  }
  read_buffer(buffer, words);
  assert_int_equal(weir_finish(r.context), WEIR_OK);
  assert_int_equal(rig_resident_tasks(&r), 2);
  for (int i = 0; i < RIG_WORDS; i++) assert_int_equal(words[i], 2);
  for (int i = 0; i < RIG_WORDS; i++) assert_int_equal(((const uint32_t *)pinned)[i], 1);
  for (int i = 0; i < 2; i++) weir_kernel_release(kernels[i]);
  weir_host_free(r.device, pinned);
  weir_buffer_release(buffer);
  rig_end(&r);
}

// Several launches one after another, and none at all, mixed with others; large values.
static void kernels_have_several_launches_or_none(void **state) {
  (void)state;
  for (uint64_t seed = 1; seed <= 6; seed++) {
    rig r;
    weir_context_options options = {.seed = seed / 2, .flags = seed % 2 == 0 ? WEIR_CONTEXT_TRACE : 0};
    rig_begin(&r, seed, &options);
    weir_kernel *kernels[2];
    weir_cuda_code code = {.source = "STUB\nmix 64 8 8 4\n", .groups = true};
    weir_cuda_launch launches[3] = {{.function = "mix", .block = {32, 1, 1}},
                                    {.function = "mix", .grid = {2, 1, 1}, .block = {32, 1, 1}},
                                    {.function = "mix", .block = {32, 1, 1}}};
    for (int i = 0; i < 2; i++) assert_int_equal(weir_kernel_create(r.context, "several", &kernels[i]), WEIR_OK);
    assert_int_equal(weir_kernel_set_cuda(kernels[0], &code, launches, 3), WEIR_OK);
    assert_int_equal(weir_kernel_set_cuda(kernels[1], NULL, NULL, 0), WEIR_OK);
    submit_some(&r, 10);
    for (uint32_t i = 0; i < 30; i++) {
      uint32_t to = i % RIG_BUFFERS, from = (i + 3) % RIG_BUFFERS;
      weir_arg args[] = {weir_updates(r.buffers[to]), weir_reads(r.buffers[from]), weir_value(&i, sizeof i)};
      weir_task task = {.kernel = kernels[i % 2], .args = args, .arg_count = 3, .groups = {RIG_GROUPS, 1, 1}};
      assert_int_equal(weir_submit(r.context, &task, NULL), WEIR_OK);
      for (int pass = 0; pass < 3 && i % 2 == 0; pass++) rig_mix(&r, to, from, i);
      rig_submit(&r, RIG_MIX, from, to, i, NULL);
    }
    assert_int_equal(weir_finish(r.context), WEIR_OK);
    assert_int_equal(rig_resident_tasks(&r), 70);
    for (int i = 0; i < 2; i++) weir_kernel_release(kernels[i]);
    rig_end(&r);
  }
}

typedef struct three_words {
  uint32_t values[5];
} three_words;

// A value of 20 bytes between others.
static void sum_group(const stub_launch *launch, uint64_t group) {
  uint64_t address;
  three_words words;
  uint32_t last;
  memcpy(&address, launch->params[0], sizeof address);
  memcpy(&words, launch->params[1], sizeof words);
  memcpy(&last, launch->params[2], sizeof last);
  uint32_t *to = stub_memory(launch, address, RIG_WORDS * sizeof *to);
  if (to == NULL || group != 0) return;
  for (int i = 0; i < 5; i++) to[i] = words.values[i];
  to[5] = last;
}

static void sum_launch(const stub_launch *launch) {
  sum_group(launch, 0);
}

static void values_are_large(void **state) {
  (void)state;
  rig r;
  rig_begin(&r, 2, NULL);
  weir_kernel *kernel = rig_make_kernel(&r, "sum", "STUB\nsum 64 8 20 4\n", true);
  uint32_t words[RIG_WORDS] = {0};
  weir_buffer *buffer;
  make_buffer(&r, words, &buffer);
  const three_words value = {{11, 22, 33, 44, 55}};
  const uint32_t last = 66;
  weir_arg args[] = {weir_updates(buffer), weir_value(&value, sizeof value), weir_value(&last, sizeof last)};
  weir_task task = {.kernel = kernel, .args = args, .arg_count = 3};
  assert_int_equal(weir_submit(r.context, &task, NULL), WEIR_OK);
  read_buffer(buffer, words);
  for (uint32_t i = 0; i < 6; i++) assert_int_equal(words[i], 11 * (i + 1));
  assert_int_equal(rig_resident_tasks(&r), 1);
  weir_buffer_release(buffer);
  weir_kernel_release(kernel);
  rig_end(&r);
}

// Kernels that are made while others run are linked when they are used first; those that are made again, not.
static void code_comes_late(void **state) {
  (void)state;
  rig r;
  rig_begin(&r, 7, NULL);
  uint64_t links = stub_calls("cuLinkComplete");
  submit_some(&r, 100);
  uint32_t words[RIG_WORDS] = {0};
  weir_buffer *buffer;
  make_buffer(&r, words, &buffer);
  static const char *const sources[] = {"STUB\ntally 64 8\n", "STUB\ntally 65 8\n", "STUB\ntally 66 8\n"};
  for (uint32_t i = 0; i < 3; i++) {
    weir_kernel *kernel = rig_make_kernel(&r, "tally", sources[i], true);
    submit_tally(&r, kernel, buffer, (uint32_t[]){RIG_WORDS, 1, 1});
    submit_some(&r, 30);
    assert_int_equal(weir_kernel_release(kernel), WEIR_OK);
    kernel = rig_make_kernel(&r, "tally", sources[i], true);
    submit_tally(&r, kernel, buffer, (uint32_t[]){RIG_WORDS, 1, 1});
    assert_int_equal(weir_kernel_release(kernel), WEIR_OK);
  }
  read_buffer(buffer, words);
  for (int i = 0; i < RIG_WORDS; i++) assert_int_equal(words[i], 6);
  assert_int_equal(weir_finish(r.context), WEIR_OK);
  assert_int_equal(rig_resident_tasks(&r), 196);
  assert_true(stub_calls("cuLinkComplete") <= links + 4);
  weir_buffer_release(buffer);
  rig_end(&r);
}

// Waits until the device has seen to so many kernels.
static void await_links(const rig *r, uint32_t count) {
  weir__resident *resident = weir__cuda_of(r->device)->resident;
  for (bool all = false; !all;) { // or the test's alarm comes
    weir__lock_acquire(&resident->lock);
    all = resident->part_count >= count;
    for (uint32_t i = 0; i < resident->part_count; i++) all = all && resident->states[i] != WEIR__RESIDENT_UNLINKED;
    weir__lock_release(&resident->lock);
    nanosleep(&(struct timespec){.tv_nsec = 200000}, NULL);
  }
}

// While there is nothing to do kernels are linked that no task has used yet. If that fails, who needs them tries again.
static void code_is_linked_ahead_of_need(void **state) {
  (void)state;
  rig r;
  rig_begin(&r, 7, NULL);
  await_links(&r, 2);
  uint64_t links = stub_calls("cuLinkComplete");
  submit_some(&r, 50);
  assert_int_equal(rig_resident_tasks(&r), 50);
  assert_int_equal(stub_calls("cuLinkComplete"), links);
  uint32_t words[RIG_WORDS] = {0};
  weir_buffer *buffer;
  make_buffer(&r, words, &buffer);
  assert_int_equal(weir_finish(r.context), WEIR_OK);
  stub_fail_nth("cuLinkCreate", 1, 2); // out of memory
  weir_kernel *kernel = rig_make_kernel(&r, "tally", "STUB\ntally 67 8\n", true);
  for (int i = 0; i < 100000 && stub_failed() == NULL; i++) nanosleep(&(struct timespec){.tv_nsec = 200000}, NULL);
  assert_non_null(stub_failed());
  stub_fail_nth(NULL, 0, 0);
  submit_some(&r, 50);
  submit_tally(&r, kernel, buffer, (uint32_t[]){RIG_WORDS, 1, 1});
  read_buffer(buffer, words);
  for (int i = 0; i < RIG_WORDS; i++) assert_int_equal(words[i], 1);
  uint64_t resident = rig_resident_tasks(&r);
  assert_int_equal(resident, weir_cuda_is_resident(kernel, r.device, NULL, 0) ? 101 : 100);
  assert_int_equal(weir_kernel_release(kernel), WEIR_OK);
  weir_buffer_release(buffer);
  rig_end(&r);
}

int main(void) {
  rig_use_stub();
  stub_register("tally", tally_launch);
  stub_register_groups("tally", tally_group);
  stub_register("sum", sum_launch);
  stub_register_groups("sum", sum_group);
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(the_kernel_leaves_and_is_launched_again),
      cmocka_unit_test(the_context_is_released_with_tasks_in_flight),
      cmocka_unit_test(numbers_wrap),
      cmocka_unit_test(a_task_has_many_predecessors),
      cmocka_unit_test(a_task_has_many_groups),
      cmocka_unit_test(launches_have_a_grid_or_a_value),
      cmocka_unit_test(kernels_have_several_launches_or_none),
      cmocka_unit_test(values_are_large),
      cmocka_unit_test(code_comes_late),
      cmocka_unit_test(code_is_linked_ahead_of_need),
  };
  return cmocka_run_group_tests_name("resident issue: life", tests, NULL, NULL);
}
