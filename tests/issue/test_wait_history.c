// SPDX-License-Identifier: Apache-2.0
//
// Which way is taken by programs that wait often.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "issue/wait_history.h"

typedef struct program {
  weir__wait_history history;
  uint64_t now_ns;
  uint32_t stretch;     // tasks between two waits
  uint64_t takes_ns[2]; // a stretch, by whether it goes direct
  bool has_direct;
  uint32_t taken[2]; // stretches, by way
} program;

static program begin(uint64_t apart_ns, uint64_t direct_ns) {
  program self = {.now_ns = 5, .stretch = 20, .takes_ns = {apart_ns, direct_ns}, .has_direct = true};
  weir__wait_history_initialize(&self.history, 0);
  return self;
}

static void run(program *self, uint32_t turns) {
  for (uint32_t i = 0; i < turns * WEIR__TURN_STRETCHES; i++) {
    bool direct = weir__wait_history_is_direct(&self->history);
    for (uint32_t j = 0; j < self->stretch; j++) weir__wait_history_note_task(&self->history);
    self->now_ns += self->takes_ns[direct];
    self->taken[direct]++;
    weir__wait_history_note_wait(&self->history, self->has_direct, self->now_ns);
    weir__wait_history_note_wait(&self->history, self->has_direct, self->now_ns); // nothing came since
  }
}

static void the_faster_way_stays(void **state) {
  (void)state;
  for (int direct = 0; direct < 2; direct++) {
    program self = begin(direct ? 5001 : 5000, direct ? 5000 : 5001);
    run(&self, WEIR__TRIAL_TURNS);
    assert_true(weir__wait_history_is_often(&self.history));
    assert_int_equal(self.taken[0], self.taken[1]); // each had its turns
    assert_int_equal(weir__wait_history_is_direct(&self.history), direct);
    uint32_t before = self.taken[!direct];
    run(&self, WEIR__SHORTEST_REIGN - 1);
    assert_int_equal(self.taken[!direct], before);
  }
}

// The next trial notices a change. Without changes trials become rare.
static void trials_come_again(void **state) {
  (void)state;
  program self = begin(5000, 6000);
  run(&self, 10000);
  assert_false(weir__wait_history_is_direct(&self.history));
  assert_in_range(self.taken[1], 1, 10000 * WEIR__TURN_STRETCHES / 50);
  self.takes_ns[1] = 4000;
  run(&self, 2 * WEIR__LONGEST_REIGN);
  assert_true(weir__wait_history_is_direct(&self.history));
}

static void programs_that_seldom_wait_are_left_alone(void **state) {
  (void)state;
  program self = begin(5000, 1000);
  self.stretch = WEIR__SHORT_STRETCH + 1;
  run(&self, 100);
  assert_false(weir__wait_history_is_often(&self.history));
  assert_int_equal(self.taken[1], 0);
  self.stretch = WEIR__SHORT_STRETCH;
  run(&self, WEIR__TRIAL_TURNS + 1);
  assert_true(weir__wait_history_is_direct(&self.history));
  self.stretch = WEIR__SHORT_STRETCH + 1;
  run(&self, 1);
  assert_false(weir__wait_history_is_direct(&self.history));
}

static void a_way_that_is_not_there_is_not_taken(void **state) {
  (void)state;
  program self = begin(5000, 1000);
  self.has_direct = false;
  run(&self, 100);
  assert_true(weir__wait_history_is_often(&self.history));
  assert_int_equal(self.taken[1], 0);
  self.has_direct = true;
  run(&self, WEIR__TRIAL_TURNS);
  assert_true(weir__wait_history_is_direct(&self.history));
  self.has_direct = false; // no more
  run(&self, 1);
  assert_false(weir__wait_history_is_direct(&self.history));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(the_faster_way_stays),
      cmocka_unit_test(trials_come_again),
      cmocka_unit_test(programs_that_seldom_wait_are_left_alone),
      cmocka_unit_test(a_way_that_is_not_there_is_not_taken),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
