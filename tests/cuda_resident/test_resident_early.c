// SPDX-License-Identifier: Apache-2.0
//
// Contexts that use the resident kernel by themselves from their first tasks on, because the code was compiled on this machine
// before; and tasks that are too large for it.
#include <stdlib.h>
#include <time.h>

#include "rig.h"
#include "scratch.h"

enum {
  ENOUGH = 7, // tasks after which a patient context asks
  SINGLE = 5,
  LOOKS = 10000,
  ENDS = 40,
  MULTIPROCESSORS = 132, // of the stub's device
  LONG = 200,            // tasks, after which the mean is theirs
};

static uint64_t patient_seed(void) {
  for (uint64_t low = 1;; low++) {
    uint64_t seed = (uint64_t)ENOUGH << 16 | low;
    if (seed % 4 != 0 && seed % 3 == 0) return seed;
  }
}

static uint64_t eager_seed(void) {
  for (uint64_t low = 1;; low++)
    if (low % 4 != 0 && low % 3 != 0) return low;
}

static void nap(void) {
  nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
}

static void finish(rig *r) {
  if (weir_finish(r->context) != WEIR_OK) fail_msg("%s", weir_last_error());
}

// Tasks that are waited for one by one.
static void run_single(rig *r, uint32_t count) {
  for (uint32_t i = 0; i < count; i++) {
    rig_submit(r, RIG_MIX, i % RIG_BUFFERS, (i + 3) % RIG_BUFFERS, i, NULL);
    finish(r);
  }
}

// A context that has its code compiled and linked.
static void compile_all(void) {
  rig r;
  rig_begin_automatic(&r, 1, &(weir_context_options){.seed = eager_seed()});
  run_single(&r, 3);
  assert_int_equal(stub_calls("cuLinkComplete"), 1);
  rig_end(&r);
}

static void await_link(void) {
  for (int i = 0; i < LOOKS && stub_calls("cuLinkComplete") == 0; i++) nap();
  assert_int_equal(stub_calls("cuLinkComplete"), 1);
}

static int create(void **state) {
  *state = (void *)(uintptr_t)scratch_create();
  return 0;
}

static int clean(void **state) {
  (void)state;
  scratch_remove();
  setenv("WEIR_CACHE", "", 1);
  return 0;
}

static void what_was_compiled_before_is_linked_at_once(void **state) {
  (void)state;
  compile_all();
  rig r;
  rig_begin_automatic(&r, 2, &(weir_context_options){.seed = patient_seed()});
  await_link();
  // It may still be on its way to the device's thread.
  for (int i = 0; i < LOOKS && rig_resident_tasks(&r) == 0; i++) {
    rig_copy(&r, 0, 1);
    finish(&r);
    if (i >= ENOUGH) nap();
    if (i % 100 == 99) run_single(&r, 1);
  }
  uint64_t before = rig_resident_tasks(&r);
  assert_true(before > 0);
  run_single(&r, SINGLE);
  assert_int_equal(rig_resident_tasks(&r), before + SINGLE);
  assert_int_equal(stub_calls("cuLinkComplete"), 1);
  rig_end(&r);
}

static void expect_no_link(rig *r) {
  for (int i = 0; i < 30; i++) nap();
  run_single(r, ENOUGH);
  assert_int_equal(rig_resident_tasks(r), 0);
  assert_int_equal(stub_calls("cuLinkComplete"), 0);
}

static void what_was_not_is_asked_for_as_ever(void **state) {
  (void)state;
  rig r;
  rig_begin_automatic(&r, 1, &(weir_context_options){.seed = patient_seed()});
  expect_no_link(&r);
  run_single(&r, 1);
  await_link();
  rig_end(&r);
}

// Not what is known alone, since new code would make the kernel leave the card. The first kernels come while there is no cache, so
// that they are not linked before the other one is there.
static void one_kernel_that_was_not_is_enough_to_wait(void **state) {
  compile_all();
  rig r;
  setenv("WEIR_CACHE", "", 1);
  rig_begin_automatic(&r, 1, &(weir_context_options){.seed = patient_seed()});
  setenv("WEIR_CACHE", *state, 1);
  weir_kernel *other = rig_make_kernel(&r, "mix", "STUB\nmix 64 8 8 4\n", true);
  expect_no_link(&r);
  weir_kernel_release(other);
  rig_end(&r);
}

static void contexts_end_while_it_is_looked_for(void **state) {
  (void)state;
  compile_all();
  for (uint32_t i = 0; i < ENDS; i++) {
    rig r;
    rig_begin_automatic(&r, i + 1, &(weir_context_options){.seed = patient_seed()});
    if (i % 2 == 0) run_single(&r, i % 5);
    nanosleep(&(struct timespec){.tv_nsec = i * 200000}, NULL);
    rig_end(&r);
  }
}

static void nothing_in_all(const stub_launch *launch) {
  (void)launch;
}

static void nothing(const stub_launch *launch, uint64_t group) {
  (void)launch;
  (void)group;
}

static void run_many(rig *r, weir_kernel *kernel, uint32_t groups, uint32_t count) {
  for (uint32_t i = 0; i < count; i++) {
    weir_arg args[] = {weir_updates(r->buffers[0]), weir_reads(r->buffers[1]), weir_value(&i, sizeof i)};
    weir_task task = {.kernel = kernel, .args = args, .arg_count = 3, .groups = {groups, 1, 1}};
    assert_int_equal(weir_submit(r->context, &task, NULL), WEIR_OK);
    finish(r);
  }
}

// With as many work-groups as workers it is one round; with more in the mean, queues are faster.
static void tasks_of_many_rounds_are_not_resident(void **state) {
  (void)state;
  setenv("WEIR_RESIDENT_WORKERS", "1", 1);
  stub_register("nothing", nothing_in_all);
  stub_register_groups("nothing", nothing);
  rig r;
  rig_begin_automatic(&r, 1, &(weir_context_options){.seed = eager_seed()});
  weir_kernel *kernel = rig_make_kernel(&r, "nothing", "STUB\nnothing 64 8 8 4\n", true);
  run_many(&r, kernel, MULTIPROCESSORS, 3);
  uint64_t before = rig_resident_tasks(&r);
  assert_true(before > 0);
  run_many(&r, kernel, MULTIPROCESSORS + 1, SINGLE);
  assert_int_equal(rig_resident_tasks(&r), before);
  run_many(&r, kernel, MULTIPROCESSORS, 1);
  assert_int_equal(rig_resident_tasks(&r), before + 1);
  // Tasks of one round do not go there either while those before them had many more.
  run_many(&r, kernel, 20 * MULTIPROCESSORS, LONG);
  run_many(&r, kernel, MULTIPROCESSORS, 1);
  assert_int_equal(rig_resident_tasks(&r), before + 1);
  // Copies, which are as small as can be, are no such tasks.
  for (uint32_t i = 0; i < LONG; i++) {
    run_many(&r, kernel, 4 * MULTIPROCESSORS, 1);
    for (uint32_t j = 0; j < 9; j++) rig_copy(&r, 0, 1);
  }
  run_many(&r, kernel, MULTIPROCESSORS, 1);
  assert_int_equal(rig_resident_tasks(&r), before + 1);
  run_many(&r, kernel, MULTIPROCESSORS, 4 * LONG);
  assert_true(rig_resident_tasks(&r) > before + 1);
  weir_kernel_release(kernel);
  rig_end(&r);
  unsetenv("WEIR_RESIDENT_WORKERS");
}

// Nor is code linked for tasks that would not be: of small work-groups a multiprocessor has more than the ring has workers there.
static void nothing_is_linked_for_tasks_of_many_rounds(void **state) {
  (void)state;
  enum { MOST_WORKERS = 16 };
  stub_register("nothing", nothing_in_all);
  rig r;
  rig_begin_automatic(&r, 1, &(weir_context_options){.seed = eager_seed()});
  weir_kernel *kernel = rig_make_kernel(&r, "nothing", "STUB\nnothing 64 8 8 4\n", true);
  run_many(&r, kernel, (MOST_WORKERS + 1) * MULTIPROCESSORS, SINGLE);
  assert_int_equal(stub_calls("cuLinkComplete"), 0);
  weir_kernel_release(kernel);
  rig_end(&r);
}

int main(void) {
  rig_use_stub();
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(what_was_compiled_before_is_linked_at_once, create, clean),
      cmocka_unit_test_setup_teardown(what_was_not_is_asked_for_as_ever, create, clean),
      cmocka_unit_test_setup_teardown(one_kernel_that_was_not_is_enough_to_wait, create, clean),
      cmocka_unit_test_setup_teardown(contexts_end_while_it_is_looked_for, create, clean),
      cmocka_unit_test(tasks_of_many_rounds_are_not_resident),
      cmocka_unit_test(nothing_is_linked_for_tasks_of_many_rounds),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
