// SPDX-License-Identifier: Apache-2.0
//
// The worker that looks after what is held back may be woken on the core of the thread that submits. It leaves it the core: a worker
// that spun there until no more had come for long broke off nearly every pass.
#include <sched.h>

#include "base/clock.h"
#include "rig.h"

enum { PASSES = 400 };

// Who has had the core for long gives it to a thread that is woken.
static void compute(uint64_t us) {
  uint64_t end = weir__clock_ns() + 1000 * us;
  while (weir__clock_ns() < end) {
  }
}

static void one_core_is_enough(void **state) {
  (void)state;
  cpu_set_t before, one;
  assert_int_equal(sched_getaffinity(0, sizeof before, &before), 0);
  CPU_ZERO(&one);
  CPU_SET((size_t)sched_getcpu(), &one);
  assert_int_equal(sched_setaffinity(0, sizeof one, &one), 0);
  rig self;
  rig_open(&self, "cpu:1");
  rig_learn(&self);
  uint64_t repeated = rig_statistics(&self).repeated;
  for (uint32_t i = 0; i < PASSES; i++) {
    rig_pass(&self, 0, TASKS, i);
    rig_expect(&self);
    compute(200);
  }
  repeated = rig_statistics(&self).repeated - repeated;
  print_message("%llu of %d tasks were launched as parts of repeats\n", (unsigned long long)repeated, PASSES * TASKS);
  assert_true(repeated >= PASSES * TASKS / 2); // others use the core, too
  rig_close(&self);
  assert_int_equal(sched_setaffinity(0, sizeof before, &before), 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(one_core_is_enough)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
