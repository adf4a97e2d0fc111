// SPDX-License-Identifier: Apache-2.0
//
// Policies by themselves: what they give when nothing is known, when a device is slow, and when one is out.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "split/rates.h"
#include "weir/split.h"

static const weir_split_policy *policy(const char *name) {
  const weir_split_policy *found = weir_split_find_policy(name);
  assert_non_null(found);
  assert_string_equal(found->name, name);
  return found;
}

static weir_split_view make_view(weir_split_state *states, uint32_t count, uint64_t total) {
  for (uint32_t i = 0; i < count; i++) states[i].grain = states[i].grain == 0 ? 1 : states[i].grain;
  return (weir_split_view){.total = total,
                           .left = total,
                           .least = 1,
                           .rounds = 10,
                           .floor = 0.005,
                           .overhead = 0.02,
                           .device_count = count,
                           .devices = states};
}

static void measured(weir_split_state *state, uint64_t units, uint64_t ns) {
  state->round_count = 1;
  state->first = state->rounds[0] = (weir_split_measure){units, ns};
}

static void division_is_exact_and_keeps_to_the_grains(void **state) {
  (void)state;
  uint32_t seed = 1;
  for (int round = 0; round < 2000; round++) {
    weir_split_state states[WEIR_SPLIT_MOST_DEVICES] = {0};
    double weights[WEIR_SPLIT_MOST_DEVICES];
    uint64_t units[WEIR_SPLIT_MOST_DEVICES], sum = 0;
    seed = seed * 1664525u + 1013904223u;
    uint32_t count = 1 + (seed >> 8) % WEIR_SPLIT_MOST_DEVICES, off_grain = 0;
    for (uint32_t i = 0; i < count; i++) {
      seed = seed * 1664525u + 1013904223u;
      states[i].grain = 1 + (seed >> 10) % 7;
      weights[i] = 1 + (seed >> 16) % 50;
    }
    weir_split_view view = make_view(states, count, 1 + (seed >> 5) % 3000);
    weir__split_divide(&view, weights, units);
    for (uint32_t i = 0; i < count; i++) {
      sum += units[i];
      off_grain += units[i] % states[i].grain != 0;
    }
    assert_int_equal(sum, view.total);
    assert_true(count > 1 || units[0] == view.total);
    // Only who gets the last units of the launch may have a piece that is no multiple of its grain.
    assert_true(off_grain <= count);
  }
}

static void shares_that_are_given_are_kept(void **state) {
  (void)state;
  weir_split_state states[3] = {{.share = 3}, {.share = 1}, {.share = 0}};
  weir_split_view view = make_view(states, 3, 400);
  const weir_split_policy *fixed = policy("static");
  assert_int_equal(fixed->next(fixed->user, &view, 0), 300);
  assert_int_equal(fixed->next(fixed->user, &view, 1), 100);
  assert_int_equal(fixed->next(fixed->user, &view, 2), 0);
}

static void history_starts_equal_and_follows_speeds(void **state) {
  (void)state;
  weir_split_state states[2] = {{0}};
  weir_split_view view = make_view(states, 2, 300);
  const weir_split_policy *history = policy("history");
  assert_int_equal(history->next(NULL, &view, 0), 150);
  measured(&states[0], 150, 1000);
  measured(&states[1], 150, 2000);
  assert_int_equal(history->next(NULL, &view, 0), 200);
  assert_int_equal(history->next(NULL, &view, 1), 100);
}

// A device of no measurable use has its floor, and where this is less than a piece, a piece now and then.
static void a_slow_device_is_measured_again(void **state) {
  (void)state;
  weir_split_state states[2] = {{0}};
  measured(&states[0], 1000000, 1000);
  measured(&states[1], 1, 1000000);
  weir_split_view view = make_view(states, 2, 10000);
  const weir_split_policy *history = policy("history");
  assert_in_range(history->next(NULL, &view, 1), 45, 55);
  view = make_view(states, 2, 20);
  uint32_t times = 0;
  for (view.launch = 0; view.launch < 100; view.launch++) times += history->next(NULL, &view, 1) > 0;
  assert_int_equal(times, 10);
}

static void a_device_that_is_out_gets_nothing_and_the_others_all(void **state) {
  (void)state;
  const char *const names[] = {"static", "history", "queue", "guided", "frames", "auto"};
  for (size_t p = 0; p < sizeof names / sizeof names[0]; p++) {
    weir_split_state states[2] = {{.out = true}, {.given = 0}};
    weir_split_view view = make_view(states, 2, 100);
    uint32_t asked = 0;
    while (view.left > 0) {
      uint64_t units = policy(names[p])->next(NULL, &view, 1);
      assert_true(units > 0);
      if (units > view.left) units = view.left;
      states[1].given += units;
      states[1].done += units;
      states[1].done_ns += units;
      view.left -= units;
      assert_true(++asked <= 200);
    }
  }
}

static void frames_go_to_the_least_loaded(void **state) {
  (void)state;
  weir_split_state states[2] = {{0}};
  measured(&states[0], 100, 100);
  measured(&states[1], 100, 300);
  weir_split_view view = make_view(states, 2, 100);
  const weir_split_policy *frames = policy("frames");
  assert_int_equal(frames->next(NULL, &view, 0), 100);
  assert_int_equal(frames->next(NULL, &view, 1), 0);
  states[0].backlog = 300;
  assert_int_equal(frames->next(NULL, &view, 0), 0);
  assert_int_equal(frames->next(NULL, &view, 1), 100);
}

// What a device has had for a while is partly done, though nobody has said so.
static void work_under_way_counts_as_far_as_it_should_be_done(void **state) {
  (void)state;
  weir_split_state states[2] = {{.given = 400, .in_flight = 1}, {.given = 400, .done = 400, .done_ns = 400}};
  measured(&states[0], 1000, 1000);
  measured(&states[1], 1000, 1000);
  weir_split_view view = make_view(states, 2, 1000);
  view.left = 200;
  const weir_split_policy *guided = policy("guided");
  assert_int_equal(guided->next(NULL, &view, 1), 150); // half of its half of 600, as far as is known
  states[0].running_ns = 200;
  assert_int_equal(guided->next(NULL, &view, 1), 100);
  states[0].running_ns = 400;
  assert_int_equal(guided->next(NULL, &view, 1), 50);
  states[0].running_ns = 40000; // it stands still: the other one has nearly all that is left
  assert_in_range(guided->next(NULL, &view, 1), 95, 100);
}

static void the_last_pieces_are_not_too_small(void **state) {
  (void)state;
  weir_split_state states[2] = {{.grain = 1}, {.grain = 1}};
  measured(&states[0], 1000, 1000);
  measured(&states[1], 1000, 1000);
  weir_split_view view = make_view(states, 2, 100000);
  view.left = 600;
  assert_int_equal(policy("guided")->next(NULL, &view, 0), 250);
}

static void auto_says_what_it_takes_and_why(void **state) {
  (void)state;
  weir_split_state states[2] = {{0}};
  weir_split_view view = make_view(states, 2, 100000);
  view.cost_ns = 1000;
  const weir_split_policy *best = policy("auto");
  char why[160];
  best->why(NULL, &view, why, sizeof why);
  assert_non_null(strstr(why, "guided: not all devices were measured"));
  for (uint32_t i = 0; i < 2; i++) {
    states[i].round_count = 6;
    for (uint32_t round = 0; round < 6; round++) states[i].rounds[round] = (weir_split_measure){50000, 500000};
  }
  best->why(NULL, &view, why, sizeof why);
  assert_non_null(strstr(why, "history: "));
  for (uint32_t round = 0; round < 6; round += 2) states[1].rounds[round].ns = 900000;
  best->why(NULL, &view, why, sizeof why);
  assert_non_null(strstr(why, "guided: speeds were off"));
  view.total = 100;
  best->why(NULL, &view, why, sizeof why);
  assert_non_null(strstr(why, "frames: "));
}

static void auto_does_not_cut_for_one_device(void **state) {
  (void)state;
  weir_split_state states[2] = {{0}, {.out = true}};
  weir_split_view view = make_view(states, 2, 1000);
  const weir_split_policy *best = policy("auto");
  view.way = best->way(NULL, &view);
  assert_int_equal(best->next(NULL, &view, 0), 1000);
  view.device_count = 1;
  view.way = best->way(NULL, &view);
  assert_int_equal(best->next(NULL, &view, 0), 1000);
}

static uint64_t given_by_auto(weir_split_view *view, uint32_t device) {
  const weir_split_policy *best = policy("auto");
  view->way = best->way(NULL, view);
  return best->next(NULL, view, device);
}

static void note_way(weir_split_way *ways, uint32_t way, double ns) {
  ways[way] = (weir_split_way){.count = 3, .last = 100, .ns = {ns, ns, ns}};
}

// Pieces may cost what no estimate knows of.
static void auto_keeps_to_what_launches_took(void **state) {
  (void)state;
  enum { CUT_IN_PIECES, ONE_PART_EACH, BY_QUEUE, ALL_TO_FIRST };
  weir_split_state states[2] = {{0}};
  weir_split_way ways[WEIR_SPLIT_MOST_WAYS] = {{0}};
  weir_split_view view = make_view(states, 2, 1000);
  view.ways = ways;
  view.launch = 101;
  view.cost_ns = 1000;
  for (uint32_t i = 0; i < 2; i++) {
    states[i].round_count = 20;
    for (uint32_t round = 0; round < 20; round++) states[i].rounds[round] = (weir_split_measure){500, 5000000};
  }
  note_way(ways, CUT_IN_PIECES, 6000);
  note_way(ways, ONE_PART_EACH, 5000);
  note_way(ways, ALL_TO_FIRST, 10000);
  note_way(ways, ALL_TO_FIRST + 1, 20000);
  assert_int_equal(given_by_auto(&view, 0), 500);
  assert_int_equal(given_by_auto(&view, 1), 500);
  note_way(ways, ALL_TO_FIRST, 4000);
  assert_int_equal(given_by_auto(&view, 0), 1000);
  assert_int_equal(given_by_auto(&view, 1), 0);
  char why[160];
  policy("auto")->why(NULL, &view, why, sizeof why);
  assert_non_null(strstr(why, "frames: all to device 0, which was faster alone"));
  note_way(ways, BY_QUEUE, 3000); // only where bytes are moved
  assert_int_equal(given_by_auto(&view, 0), 1000);
  states[1].far = true;
  assert_in_range(given_by_auto(&view, 0), 1, 200);
  policy("auto")->why(NULL, &view, why, sizeof why);
  assert_non_null(strstr(why, "queue: small parts were faster"));
}

// What was slower is measured again, seldom enough to cost next to nothing.
static void auto_measures_again_what_was_slower(void **state) {
  (void)state;
  weir_split_state states[2] = {{0}};
  weir_split_way ways[WEIR_SPLIT_MOST_WAYS] = {{0}};
  weir_split_view view = make_view(states, 2, 1000);
  view.ways = ways;
  view.cost_ns = 1000;
  for (uint32_t i = 0; i < 2; i++) {
    states[i].round_count = 20;
    for (uint32_t round = 0; round < 20; round++) states[i].rounds[round] = (weir_split_measure){500, 5000000};
  }
  for (uint32_t way = 0; way < 5; way++) note_way(ways, way, way == 1 ? 5000 : 10000);
  uint32_t others = 0;
  for (view.launch = 101; view.launch < 4101; view.launch++) {
    uint32_t way = policy("auto")->way(NULL, &view);
    ways[way].last = view.launch;
    others += way != 1;
  }
  assert_in_range(others, 3, 40);
}

static void unknown_names_are_not_found(void **state) {
  (void)state;
  assert_null(weir_split_find_policy("best"));
  assert_null(weir_split_find_policy(NULL));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(division_is_exact_and_keeps_to_the_grains),
      cmocka_unit_test(shares_that_are_given_are_kept),
      cmocka_unit_test(history_starts_equal_and_follows_speeds),
      cmocka_unit_test(a_slow_device_is_measured_again),
      cmocka_unit_test(a_device_that_is_out_gets_nothing_and_the_others_all),
      cmocka_unit_test(frames_go_to_the_least_loaded),
      cmocka_unit_test(work_under_way_counts_as_far_as_it_should_be_done),
      cmocka_unit_test(the_last_pieces_are_not_too_small),
      cmocka_unit_test(auto_says_what_it_takes_and_why),
      cmocka_unit_test(auto_does_not_cut_for_one_device),
      cmocka_unit_test(auto_keeps_to_what_launches_took),
      cmocka_unit_test(auto_measures_again_what_was_slower),
      cmocka_unit_test(unknown_names_are_not_found),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
