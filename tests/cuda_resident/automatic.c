// SPDX-License-Identifier: Apache-2.0
//
// Helpers of the tests of contexts that use the resident kernel by themselves.
#include "automatic.h"

enum {
  IN_LOOP = 100, // more than between the waits of a program that, with a seed, counts as waiting often
  MOST_LOOPS = 1000,
};

uint64_t automatic_seed(uint32_t nth, uint32_t enough, bool mixes, bool awaits) {
  for (uint64_t low = 1;; low++) {
    uint64_t seed = (uint64_t)enough << 16 | (uint64_t)mixes << 8 | low;
    assert_true(low < 256);
    if (seed % 4 != 0 && (seed % 3 != 0) == awaits && nth-- == 0) return seed;
  }
}

void automatic_finish(rig *r) {
  if (weir_finish(r->context) != WEIR_OK) fail_msg("%s", weir_last_error());
}

void automatic_run_single(rig *r, rig_kernel kernel, uint32_t count) {
  for (uint32_t i = 0; i < count; i++) {
    rig_submit(r, kernel, i % RIG_BUFFERS, (i + 3) % RIG_BUFFERS, i, NULL);
    automatic_finish(r);
  }
}

void automatic_pass_thread(rig *r) {
  rig_copy(r, 0, 1);
  automatic_finish(r);
}

void automatic_make_it_ask(rig *r, uint32_t enough) {
  automatic_run_single(r, RIG_MIX, enough + 1);
  automatic_pass_thread(r);
}

void automatic_begin_with_ring(rig *r, uint64_t seed, uint64_t context_seed) {
  weir_context_options options = {.seed = context_seed};
  rig_begin_automatic(r, seed, &options);
  automatic_make_it_ask(r, (uint32_t)(context_seed >> 16) % 8);
  automatic_run_single(r, RIG_MIX, 1);
  assert_int_equal(rig_resident_tasks(r), 1);
}

void automatic_submit_random(rig *r, random_state *random, uint32_t count, uint32_t plain_percent,
                             uint32_t copy_percent) {
  for (uint32_t i = 0; i < count; i++) {
    uint32_t to = random_below(random, RIG_BUFFERS),
             from = (to + 1 + random_below(random, RIG_BUFFERS - 1)) % RIG_BUFFERS;
    if (random_chance(random, copy_percent))
      rig_copy(r, to, from);
    else
      rig_submit(r, random_chance(random, plain_percent) ? RIG_PLAIN : RIG_MIX, to, from, i, NULL);
    if (random_chance(random, 3)) automatic_finish(r);
  }
}

void automatic_submit_loop(rig *r) {
  for (uint32_t i = 0; i < IN_LOOP; i++) rig_submit(r, RIG_MIX, i % RIG_BUFFERS, (i + 1) % RIG_BUFFERS, 7, NULL);
}

void automatic_learn_loop(rig *r) {
  uint64_t graphs = stub_calls("cuGraphLaunch");
  for (int i = 0; i < MOST_LOOPS && stub_calls("cuGraphLaunch") < graphs + 3; i++) {
    automatic_submit_loop(r);
    automatic_finish(r);
  }
  assert_true(stub_calls("cuGraphLaunch") >= graphs + 3);
}
