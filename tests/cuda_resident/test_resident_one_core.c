// SPDX-License-Identifier: Apache-2.0
//
// Resident issue where the process has one core: nobody spins, and who waits gets what it waits for all the same.
#include <sched.h>

#include "base/lock.h"
#include "rig.h"

// Leaves the process the first of its cores, before anything asks how many there are.
static int keep_one_core(void **state) {
  (void)state;
  cpu_set_t cores, first;
  if (sched_getaffinity(0, sizeof cores, &cores) != 0) return -1;
  CPU_ZERO(&first);
  for (size_t core = 0; core < CPU_SETSIZE && CPU_COUNT(&first) == 0; core++)
    if (CPU_ISSET(core, &cores)) CPU_SET(core, &first);
  return sched_setaffinity(0, sizeof first, &first);
}

static void who_waits_gets_its_tasks(void **state) {
  (void)state;
  assert_false(weir__may_spin());
  for (uint64_t seed = 1; seed <= 3; seed++) {
    rig r;
    rig_begin(&r, seed, &(weir_context_options){.window = 16});
    for (uint32_t i = 0; i < 40; i++) rig_submit(&r, i % 7 == 6 ? RIG_PLAIN : RIG_MIX, i % 3, 3, i, NULL);
    assert_int_equal(weir_finish(r.context), WEIR_OK);
    weir_event *event = NULL;
    rig_submit(&r, RIG_MIX, 0, 1, 7, &event);
    assert_int_equal(weir_event_wait(event, WEIR_FOREVER), WEIR_OK);
    weir_event_release(event);
    rig_end(&r);
  }
}

int main(void) {
  rig_use_stub();
  const struct CMUnitTest tests[] = {cmocka_unit_test(who_waits_gets_its_tasks)};
  return cmocka_run_group_tests(tests, keep_one_core, NULL);
}
