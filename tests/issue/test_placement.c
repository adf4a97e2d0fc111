// SPDX-License-Identifier: Apache-2.0
//
// Which device a task goes to: by what is queued, where its bytes are, and what its kernel took.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "issue/placement.h"

enum { SLOTS = 64, US = 1000 };

static const int card, processor;

// Two cards and a CPU, each with a clock that the test moves.
typedef struct rig {
  weir__placement *placement;
  uint64_t now[3];
  size_t next; // slot
} rig;

static rig begin(void) {
  rig self = {.placement = weir__placement_create(SLOTS)};
  assert_non_null(self.placement);
  weir__placement_set_kind(self.placement, 0, &card, 0);
  weir__placement_set_kind(self.placement, 1, &card, 1);
  weir__placement_set_kind(self.placement, 2, &processor, 2);
  return self;
}

static size_t queue(rig *self, uint32_t device, const weir__group_ns known, uint64_t groups) {
  size_t slot = self->next++ % SLOTS;
  uint64_t ns = weir__placement_expected(self->placement, known, device, groups, 0);
  weir__placement_queue(self->placement, slot, device, ns, false);
  weir__placement_issue(self->placement, slot, self->now[device]);
  return slot;
}

// One task that is all the device has.
static void run(rig *self, uint32_t device, weir__group_ns *known, uint64_t groups, uint64_t takes_ns) {
  size_t slot = queue(self, device, *known, groups);
  self->now[device] += takes_ns;
  weir__placement_done(self->placement, slot, known, groups, self->now[device]);
  weir__placement_end_report(self->placement);
}

static void tasks_are_spread_by_what_is_queued(void **state) {
  (void)state;
  rig self = begin();
  weir__group_ns known = {0};
  for (uint32_t i = 0; i < 20; i++) run(&self, i % 2, &known, 1, 100 * US);
  uint32_t on[2] = {0};
  for (uint32_t i = 0; i < 40; i++) {
    weir__candidate candidates[2];
    for (uint32_t j = 0; j < 2; j++)
      candidates[j] =
          (weir__candidate){.device = j, .run_ns = weir__placement_expected(self.placement, known, j, 1, 0)};
    uint32_t best = weir__placement_choose(self.placement, candidates, 2);
    queue(&self, best, known, 1);
    on[best]++;
  }
  assert_int_equal(on[0], 20);
  assert_int_equal(on[1], 20);
  weir__placement_destroy(self.placement);
}

// The slower device gets as much less as it is slower.
static void the_faster_device_gets_more(void **state) {
  (void)state;
  rig self = begin();
  weir__group_ns known = {0};
  for (uint32_t i = 0; i < 30; i++) run(&self, 0, &known, 4, 100 * US);
  for (uint32_t i = 0; i < 30; i++) run(&self, 2, &known, 4, 300 * US);
  assert_in_range(weir__placement_expected(self.placement, known, 0, 4, 0), 99 * US, 101 * US);
  assert_in_range(weir__placement_expected(self.placement, known, 2, 8, 0), 599 * US, 601 * US);
  uint32_t on[3] = {0};
  for (uint32_t i = 0; i < 40; i++) {
    weir__candidate candidates[2];
    for (uint32_t j = 0; j < 2; j++)
      candidates[j] =
          (weir__candidate){.device = 2 * j, .run_ns = weir__placement_expected(self.placement, known, 2 * j, 4, 0)};
    uint32_t best = candidates[weir__placement_choose(self.placement, candidates, 2)].device;
    queue(&self, best, known, 4);
    on[best]++;
  }
  assert_in_range(on[0], 29, 31);
  weir__placement_destroy(self.placement);
}

// A card of which nothing is known is taken for one of its kind, another kind for the best that is known.
static void what_is_not_known_is_taken_from_others(void **state) {
  (void)state;
  rig self = begin();
  weir__group_ns known = {0};
  uint64_t unknown = weir__placement_expected(self.placement, known, 0, 1, 0);
  assert_true(unknown > 0);
  run(&self, 2, &known, 1, 50 * US);
  assert_in_range(weir__placement_expected(self.placement, known, 0, 1, 0), 49 * US, 51 * US);
  run(&self, 1, &known, 1, 500 * US);
  assert_in_range(weir__placement_expected(self.placement, known, 0, 1, 0), 499 * US, 501 * US);
  assert_in_range(weir__placement_expected(self.placement, known, 2, 1, 0), 49 * US, 51 * US);
  weir__placement_destroy(self.placement);
}

// A kernel of which nothing is known counts as much as moving what it accesses: else tasks would pile up where their bytes are.
static void unknown_kernels_are_spread(void **state) {
  (void)state;
  rig self = begin();
  weir__group_ns known = {0};
  uint64_t bytes = 32 << 20, moves = weir__placement_move_ns(self.placement, 1, 2, bytes);
  uint64_t expected = weir__placement_expected(self.placement, known, 0, 1, bytes);
  uint32_t stayed = 0;
  for (;; stayed++) {
    weir__candidate candidates[2] = {{.device = 1, .run_ns = expected, .moves_ns = moves},
                                     {.device = 0, .run_ns = expected}};
    if (weir__placement_choose(self.placement, candidates, 2) == 0) break;
    weir__placement_queue(self.placement, self.next++, 0, expected, false);
    assert_true(stayed < 10);
  }
  run(&self, 1, &known, 1, 50 * US);
  assert_in_range(weir__placement_expected(self.placement, known, 0, 1, bytes), 49 * US, 51 * US);
  weir__placement_destroy(self.placement);
}

// Bytes are waited for, and moving them counts for others, too: a task stays where they are unless that device has much to do.
static void tasks_stay_near_their_bytes(void **state) {
  (void)state;
  rig self = begin();
  weir__group_ns known = {0};
  run(&self, 0, &known, 1, 10 * US);
  uint64_t moves = weir__placement_move_ns(self.placement, 1, 2, 1 << 20);
  assert_in_range(moves, 10 * US, 1000 * US);
  uint32_t stayed = 0;
  for (;; stayed++) {
    weir__candidate candidates[2] = {{.device = 1, .run_ns = 10 * US, .moves_ns = moves},
                                     {.device = 0, .run_ns = 10 * US}};
    if (weir__placement_choose(self.placement, candidates, 2) == 0) break;
    queue(&self, 0, known, 1);
    assert_true(stayed < 40);
  }
  assert_in_range((uint64_t)stayed * 10 * US, 2 * moves - 10 * US, 2 * moves + 10 * US);
  weir__placement_destroy(self.placement);
}

// What is measured on a device counts for those that are alike.
static void devices_that_are_alike_learn_together(void **state) {
  (void)state;
  rig self = begin();
  weir__group_ns known = {0};
  weir__placement_set_kind(self.placement, 1, &card, 0);
  run(&self, 1, &known, 1, 500 * US);
  run(&self, 0, &known, 1, 500 * US);
  for (uint32_t i = 0; i < 30; i++) run(&self, i % 2, &known, 1, i % 2 == 0 ? 400 * US : 600 * US);
  uint64_t ns = weir__placement_expected(self.placement, known, 0, 1, 0);
  assert_in_range(ns, 399 * US, 601 * US);
  assert_int_equal(weir__placement_expected(self.placement, known, 1, 1, 0), ns);
  weir__placement_destroy(self.placement);
}

// What a task updates goes away with it, and stays where it is for long, but not while another device has nothing to do.
static void what_is_updated_stays(void **state) {
  (void)state;
  rig self = begin();
  weir__group_ns known = {0};
  run(&self, 0, &known, 1, 10 * US);
  uint32_t read = 0, updated = 0;
  for (int updates = 0; updates < 2; updates++) {
    weir__placement_queue(self.placement, SLOTS - 1, 1, 2000 * US, false);
    for (uint32_t *stayed = updates ? &updated : &read;; ++*stayed) {
      weir__candidate candidates[2] = {
          {.device = 1, .run_ns = 10 * US, .moves_ns = 20 * US, .updates_ns = updates ? 20 * US : 0},
          {.device = 0, .run_ns = 10 * US}};
      if (weir__placement_choose(self.placement, candidates, 2) == 0) break;
      queue(&self, 0, known, 1);
      assert_true(*stayed < 1000);
    }
    weir__placement_destroy(self.placement);
    self.placement = begin().placement;
  }
  assert_in_range(read, 200, 205);
  assert_in_range(updated, 350, 450);
  weir__candidate idle[2] = {{.device = 1, .run_ns = 10 * US, .moves_ns = 20 * US, .updates_ns = 20 * US},
                             {.device = 0, .run_ns = 10 * US}};
  for (uint32_t i = 0; i < 12; i++) queue(&self, 0, known, 1);
  assert_int_equal(weir__placement_choose(self.placement, idle, 2), 0);
  weir__placement_destroy(self.placement);
}

// The queue of the link counts: the second task whose bytes are elsewhere finds it busy.
static void links_have_queues(void **state) {
  (void)state;
  rig self = begin();
  weir__candidate away[2] = {{.device = 1, .run_ns = 10 * US, .moves_ns = 100 * US}, {.device = 0, .run_ns = 250 * US}};
  assert_int_equal(weir__placement_choose(self.placement, away, 2), 0);
  weir__placement_queue(self.placement, 0, 1, 100 * US, true);
  assert_int_equal(weir__placement_choose(self.placement, away, 2), 1);
  weir__placement_issue(self.placement, 0, 0);
  weir__placement_moved(self.placement, 0, 0, 1, 0, 100 * US); // failed
  assert_int_equal(weir__placement_choose(self.placement, away, 2), 0);
  weir__placement_destroy(self.placement);
}

static void rates_of_links_are_the_best_of_lately(void **state) {
  (void)state;
  rig self = begin();
  enum { MIB = 1 << 20 };
  uint64_t now = 0;
  for (uint32_t i = 0; i < 8; i++) { // 1 MiB in 10 us, and some that something else delayed
    weir__placement_queue(self.placement, i, 1, 100, true);
    weir__placement_issue(self.placement, i, now);
    now += i % 3 == 0 ? 10 * US : 30 * US;
    weir__placement_moved(self.placement, i, 2, 1, MIB, now);
  }
  assert_in_range(weir__placement_move_ns(self.placement, 2, 1, 4 * MIB), 39 * US, 43 * US);
  weir__placement_destroy(self.placement);
}

// Many tasks at once: what each adds to the device's work is measured, not how long it takes.
static void what_a_task_adds_is_measured(void **state) {
  (void)state;
  rig self = begin();
  weir__group_ns small = {0}, large = {0};
  for (uint32_t round = 0; round < 40; round++) {
    size_t slots[8];
    for (uint32_t i = 0; i < 8; i++) slots[i] = queue(&self, 0, i < 4 ? small : large, i < 4 ? 1 : 3);
    self.now[0] += 160 * US; // 4 * 1 + 4 * 3 groups of 10 us
    for (uint32_t i = 0; i < 8; i++)
      weir__placement_done(self.placement, slots[i], i < 4 ? &small : &large, i < 4 ? 1 : 3, self.now[0]);
    weir__placement_end_report(self.placement);
    self.now[0] += 1000 * US; // nothing to do
  }
  uint64_t all = 4 * weir__placement_expected(self.placement, small, 0, 1, 0) +
                 4 * weir__placement_expected(self.placement, large, 0, 3, 0);
  assert_in_range(all, 155 * US, 165 * US);
  weir__placement_destroy(self.placement);
}

// A producer that is queued delays who reads from it elsewhere.
static void who_reads_waits_for_who_writes(void **state) {
  (void)state;
  rig self = begin();
  weir__group_ns known = {0};
  run(&self, 0, &known, 1, 100 * US);
  size_t first = queue(&self, 0, known, 1), second = queue(&self, 0, known, 1);
  assert_in_range(weir__placement_left(self.placement, first), 99 * US, 101 * US);
  assert_in_range(weir__placement_left(self.placement, second), 198 * US, 202 * US);
  self.now[0] += 100 * US;
  weir__placement_done(self.placement, first, &known, 1, self.now[0]);
  assert_int_equal(weir__placement_left(self.placement, first), 0);
  assert_in_range(weir__placement_left(self.placement, second), 99 * US, 101 * US);
  weir__placement_destroy(self.placement);
}

// What was slow at first, since it was prepared then, is soon forgotten.
static void a_slow_beginning_is_forgotten(void **state) {
  (void)state;
  rig self = begin();
  weir__group_ns known = {0};
  run(&self, 0, &known, 1, 50000 * US);
  for (uint32_t i = 0; i < 12; i++) run(&self, 0, &known, 1, 20 * US);
  assert_in_range(weir__placement_expected(self.placement, known, 0, 1, 0), 20 * US, 50 * US);
  weir__placement_destroy(self.placement);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(tasks_are_spread_by_what_is_queued),
      cmocka_unit_test(the_faster_device_gets_more),
      cmocka_unit_test(what_is_not_known_is_taken_from_others),
      cmocka_unit_test(unknown_kernels_are_spread),
      cmocka_unit_test(tasks_stay_near_their_bytes),
      cmocka_unit_test(devices_that_are_alike_learn_together),
      cmocka_unit_test(what_is_updated_stays),
      cmocka_unit_test(links_have_queues),
      cmocka_unit_test(rates_of_links_are_the_best_of_lately),
      cmocka_unit_test(what_a_task_adds_is_measured),
      cmocka_unit_test(who_reads_waits_for_who_writes),
      cmocka_unit_test(a_slow_beginning_is_forgotten),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
