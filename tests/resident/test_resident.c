// SPDX-License-Identifier: Apache-2.0
//
// The resident scheduler's protocol in C threads: a host, a scheduler and workers that execute protocol.h. WEIR_TEST_SEED sets
// other programs and other yields; RESIDENT_SCALE, which the build sets, how much there is to do.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

#include "counting.h"
#include "part.h"
#include "program.h"
#include "random.h"

static const uint64_t LONG_NS = UINT64_C(3600000000000);
static uint64_t base_seed = 20260607;

// Options that follow from a seed.
static rig_options draw_options(uint64_t seed) {
  static const uint64_t idle[] = {0, 1000, 200000, 2000000}, most[] = {0, 1, 20000, 50000000};
  random_state random = {seed};
  rig_options options = {.seed = seed};
  options.workers = random_chance(&random, 25) ? 1 : random_between(&random, 2, 6);
  options.idle_ns = idle[random_below(&random, 4)];
  options.most_ns = most[random_below(&random, 4)];
  options.base = random_chance(&random, 50) ? 0u - random_between(&random, 1, 60) : 0;
  options.yields_of_1000 = random_chance(&random, 30) ? 0 : random_between(&random, 1, 300);
  return options;
}

static void run_program(const rig_options *options, uint32_t tasks, uint32_t most_units) {
  test_program program;
  test_rig rig;
  program_create(&program, options->seed, tasks, most_units);
  rig_create(&rig, options);
  program_run(&program, &rig, options->seed + 1);
  rig_destroy(&rig);
  program_destroy(&program);
}

static void test_random_programs(void **state) {
  (void)state;
  uint32_t count = part_count(RESIDENT_SCALE);
  for (uint32_t i = 0; i < count; i++) {
    uint64_t seed = base_seed + i;
    rig_options options = draw_options(seed);
    run_program(&options, 150, 3 * WEIR__R_SEGMENTS);
  }
}

// Several contexts at once, each with its own card.
static void *run_in_thread(void *seed) {
  rig_options options = draw_options(*(uint64_t *)seed);
  run_program(&options, 100, WEIR__R_SEGMENTS);
  return NULL;
}

static void test_several_at_once(void **state) {
  (void)state;
  enum { COUNT = 3 };
  pthread_t threads[COUNT];
  uint64_t seeds[COUNT];
  uint32_t rounds = part_count((RESIDENT_SCALE + 9) / 10);
  for (uint32_t round = 0; round < rounds; round++) {
    for (uint32_t i = 0; i < COUNT; i++) {
      seeds[i] = base_seed + 1000 + round * COUNT + i;
      pthread_create(&threads[i], NULL, run_in_thread, &seeds[i]);
    }
    for (uint32_t i = 0; i < COUNT; i++) pthread_join(threads[i], NULL);
  }
}

// ---------------------------------------------------------------------------------------------------------------
// When a launch leaves, and comes back.

static void wait_until_gone(test_rig *rig) {
  while (rig_is_resident(rig)) sched_yield();
}

// The host stops feeding: the launch leaves by itself, and the next one goes on.
static void test_host_that_stops_feeding(void **state) {
  (void)state;
  test_rig rig;
  unit_counter counter = {0};
  rig_create(&rig, &(rig_options){.workers = 3, .idle_ns = 100000, .most_ns = LONG_NS, .seed = base_seed});
  for (uint32_t round = 1; round <= 5; round++) {
    counting_run(&rig, &counter, 7, 3);
    wait_until_gone(&rig);
    counting_check(&rig, &counter, 7 * round, 3);
  }
  rig_destroy(&rig);
}

// Published in the moment that the launch leaves, or behind it: nothing is lost.
static void test_publish_while_leaving(void **state) {
  (void)state;
  test_rig rig;
  unit_counter counter = {0};
  rig_create(&rig, &(rig_options){.workers = 2, .most_ns = LONG_NS, .seed = base_seed, .yields_of_1000 = 100});
  uint32_t pairs = part_count(RESIDENT_SCALE * 5 / 2);
  for (uint32_t i = 0; i < 2 * pairs; i++) counting_run(&rig, &counter, 1 + i % 2, 2);
  rig_stop(&rig);
  counting_check(&rig, &counter, 3 * pairs, 2);
  rig_destroy(&rig);
}

static void test_stop(void **state) {
  (void)state;
  test_rig rig;
  unit_counter counter = {0};
  rig_create(&rig, &(rig_options){.workers = 2, .idle_ns = LONG_NS, .most_ns = LONG_NS, .seed = base_seed});
  for (uint32_t round = 1; round <= 20; round++) {
    counting_run(&rig, &counter, 5, 2);
    assert_true(rig_is_resident(&rig));
    rig_stop(&rig);
    counting_check(&rig, &counter, 5 * round, 2);
    rig_launch(&rig); // with nothing to do
    rig_stop(&rig);
  }
  rig_destroy(&rig);
}

// A launch ends when its time is over, though the host goes on feeding.
static void test_time_is_over(void **state) {
  (void)state;
  test_rig rig;
  unit_counter counter = {0};
  uint32_t number;
  uint64_t tasks = 0;
  rig_create(&rig, &(rig_options){.workers = 2, .idle_ns = LONG_NS, .most_ns = 3000000, .seed = base_seed});
  rig_launch(&rig);
  while (rig_is_resident(&rig)) {
    while (counting_publish(&rig, &counter, 1, tasks > 0)) tasks++;
    rig_publish(&rig);
    while (rig_reported(&rig, &number)) continue;
  }
  while (rig.reported < tasks) {
    if (!rig_is_resident(&rig)) rig_launch(&rig);
    while (rig_reported(&rig, &number)) continue;
  }
  rig_stop(&rig);
  counting_check(&rig, &counter, tasks, 1);
  rig_destroy(&rig);
}

static void ask(test_rig *rig) {
  weir__r_host_store_release(&rig->host->ask, ++rig->ask);
  if (!rig_is_resident(rig)) rig_launch(rig);
  while (weir__r_host_load_acquire(&rig->host->answer) != rig->ask) {
    if (!rig_is_resident(rig)) rig_launch(rig);
    sched_yield();
  }
  assert_true(rig->host->answer_ns <= weir__r_now_ns());
}

// It answers while it is idle, and in a launch whose time is over when it begins.
static void test_ask(void **state) {
  (void)state;
  static const uint64_t idle[] = {0, 200000, 3600000000000u}, most[] = {0, 50000000, 3600000000000u};
  for (int i = 0; i < 3; i++) {
    test_rig rig;
    unit_counter counter = {0};
    rig_create(&rig, &(rig_options){.workers = 2, .idle_ns = idle[i], .most_ns = most[i], .seed = base_seed});
    uint64_t last = 0;
    for (uint32_t round = 0; round < 20; round++) {
      ask(&rig);
      assert_true(rig.host->answer_ns > last);
      last = rig.host->answer_ns;
      if (round % 2 == 0) counting_run(&rig, &counter, 3, 2);
    }
    rig_stop(&rig);
    counting_check(&rig, &counter, 30, 2);
    rig_destroy(&rig);
  }
}

// ---------------------------------------------------------------------------------------------------------------
// Blocks that do not run when one would expect it.

// Some blocks of each launch begin only when it leaves, also all but two.
static void test_blocks_that_start_late(void **state) {
  (void)state;
  for (uint32_t late = 1; late <= 3; late++) {
    rig_options options = {.workers = 4,
                           .idle_ns = 20000,
                           .most_ns = 300000,
                           .seed = base_seed + late,
                           .late = late,
                           .yields_of_1000 = 20};
    run_program(&options, 100, 2 * WEIR__R_SEGMENTS);
  }
}

// The card has room for two blocks of five: the others begin when these have left, in any order.
static void test_fewer_places_than_blocks(void **state) {
  (void)state;
  sem_t places;
  sem_init(&places, 0, 2);
  rig_options options = {.workers = 4, .idle_ns = 20000, .most_ns = 300000, .seed = base_seed, .places = &places};
  run_program(&options, 100, 2 * WEIR__R_SEGMENTS);
  sem_destroy(&places);
}

// Two contexts share a card with room for two blocks: where each has its scheduler there, both leave.
static void *run_with_places(void *argument) {
  run_program(argument, 30, WEIR__R_SEGMENTS);
  return NULL;
}

static void test_two_contexts_with_two_places(void **state) {
  (void)state;
  sem_t places;
  sem_init(&places, 0, 2);
  rig_options options[2];
  pthread_t threads[2];
  for (uint32_t i = 0; i < 2; i++) {
    options[i] =
        (rig_options){.workers = 2, .idle_ns = 100000, .most_ns = 500000, .seed = base_seed + i, .places = &places};
    pthread_create(&threads[i], NULL, run_with_places, &options[i]);
  }
  for (uint32_t i = 0; i < 2; i++) pthread_join(threads[i], NULL);
  sem_destroy(&places);
}

// No worker begins before the launch leaves: it leaves, with nothing taken in.
static void test_no_worker(void **state) {
  (void)state;
  test_rig rig;
  unit_counter counter = {0};
  rig_create(&rig, &(rig_options){.workers = 2, .idle_ns = LONG_NS, .most_ns = LONG_NS, .late = 2, .seed = base_seed});
  assert_true(counting_publish(&rig, &counter, 1, false));
  rig_publish(&rig);
  rig_launch(&rig);
  wait_until_gone(&rig);
  assert_int_equal(rig.card->fetched, 0);
  rig_destroy(&rig);
}

// Workers look up every position of tasks that are not done, when the ring of segments went round and those before them were written
// again, before or while they look.
static void test_positions_are_found(void **state) {
  (void)state;
  weir__r_card *card = aligned_alloc(128, (sizeof *card + 127) / 128 * 128);
  memset(card, 0, sizeof *card);
  enum { TASKS = 4 * WEIR__R_SEGMENTS };
  const uint32_t base = 0u - TASKS; // positions wrap, as do segments
  for (uint32_t i = 0; i < WEIR__R_SEGMENTS; i++) card->segments[i] = (uint64_t)base << 32;
  uint32_t first[TASKS + 1] = {base};
  for (uint32_t i = 0; i < TASKS; i++) {
    first[i + 1] = first[i] + 1 + i % 5;
    card->segments[(base + i) % WEIR__R_SEGMENTS] = (uint64_t)first[i] << 32 | i;
    uint64_t handed = (uint64_t)first[i + 1] << 32 | (base + i + 1);
    uint32_t oldest = i < WEIR__R_SEGMENTS ? 0 : i + 1 - WEIR__R_SEGMENTS;
    for (uint32_t j = oldest; j <= i; j++) {
      for (uint32_t position = first[j]; position != first[j + 1]; position++) {
        weir__r_entry entry = weir__r_find(card, position, handed);
        assert_true(entry.taken && entry.slot == j && entry.index == position - first[j]);
        // A worker that read `handed` when this was the last segment.
        entry = weir__r_find(card, position, (uint64_t)first[j + 1] << 32 | (base + j + 1));
        assert_true(entry.taken && entry.slot == j && entry.index == position - first[j]);
      }
    }
  }
  free(card);
}

// All lanes verify segments, until they see no more.
typedef struct verifier {
  const weir__r_card *card;
  uint32_t from, verified;
#if RESIDENT_LANES > 1
  warp_lane lane;
#endif
} verifier;

static void *verify_in_lane(void *argument) {
  verifier *v = argument;
#if RESIDENT_LANES > 1
  lane_self = v->lane;
#endif
  weir__r_scheduler scheduler = {.segments = v->from, .verified = v->from};
  while (weir__r_verify(&scheduler, v->card)) continue;
  v->verified = scheduler.verified;
  return NULL;
}

static uint32_t verify(const weir__r_card *card, uint32_t from) {
  verifier lanes[RESIDENT_LANES];
  for (uint32_t i = 0; i < RESIDENT_LANES; i++) lanes[i] = (verifier){.card = card, .from = from};
#if RESIDENT_LANES > 1
  thread_warp warp = {0};
  pthread_t threads[RESIDENT_LANES];
  for (uint32_t i = 0; i < RESIDENT_LANES; i++) {
    lanes[i].lane = (warp_lane){.warp = &warp, .index = i};
    pthread_create(&threads[i], NULL, verify_in_lane, &lanes[i]);
  }
  for (uint32_t i = 0; i < RESIDENT_LANES; i++) pthread_join(threads[i], NULL);
#else
  verify_in_lane(&lanes[0]);
#endif
  for (uint32_t i = 1; i < RESIDENT_LANES; i++) assert_int_equal(lanes[i].verified, lanes[0].verified);
  return lanes[0].verified;
}

static void test_segments_that_are_verified(void **state) {
  (void)state;
  enum { LOOKS = RESIDENT_LANES * WEIR__R_LOOKS, FIRST = WEIR__R_SEGMENTS - 3 };
  weir__r_card *card = aligned_alloc(128, (sizeof *card + 127) / 128 * 128);
  memset(card, 0, sizeof *card);
  uint32_t *last_look = &card->numbers[(FIRST + LOOKS - 1) % WEIR__R_SEGMENTS];
  *last_look = 1; // which is not done
  assert_int_equal(verify(card, (uint32_t)-3), (uint32_t)-3);
  *last_look = 0;
  uint32_t *last = &card->numbers[(FIRST + WEIR__R_SEGMENTS - 1) % WEIR__R_SEGMENTS];
  *last = 1;
  assert_int_equal(verify(card, (uint32_t)-3), (uint32_t)(WEIR__R_SEGMENTS - 3 - LOOKS));
  card->done[1 % WEIR__R_SLOTS].word = weir__r_done_word(1);
  assert_int_equal(verify(card, (uint32_t)-3), WEIR__R_SEGMENTS - 3);
  free(card);
}

// The units of a task with as many as there may be.
static void test_many_units(void **state) {
  (void)state;
  weir__r_task last = {.units = UINT32_C(1) << 31, .per_entry = (UINT32_C(1) << 31) - 1};
  weir__r_units units[] = {weir__r_units_of(&last, (weir__r_entry){.index = 0}),
                           weir__r_units_of(&last, (weir__r_entry){.index = 1})};
  assert_true(units[0].first == 0 && units[0].end == last.per_entry);
  assert_true(units[1].first == last.per_entry && units[1].end == last.units);
}

// The scheduler, one lane: what it holds is handed out in order as long as there are entries to spare, and what is ready, always.
#if RESIDENT_LANES == 1
static void test_what_is_handed_out(void **state) {
  (void)state;
  weir__r_card *card = aligned_alloc(128, (sizeof *card + 127) / 128 * 128);
  memset(card, 0, sizeof *card);
  weir__r_scheduler s;
  weir__r_open(&s, card);
  // 1 has two entries, 2 waits for it, 3 for 2.
  for (uint32_t number = 1; number <= 3; number++) {
    weir__r_task *task = &card->tasks[number % WEIR__R_SLOTS];
    *task =
        (weir__r_task){.number = number, .units = number == 1 ? 2 : 1, .edge_count = number > 1, .edges = {number - 1}};
    weir__r_hold(&s, card, number);
    s.fetched = number;
    s.pending++;
  }
  assert_int_equal(weir__r_hand_out_oldest(&s, card, 1, 4), 0);
  assert_int_equal(weir__r_hand_out_oldest(&s, card, 2, 4), 1);
  assert_true(s.positions == 2 && s.segments == 1 && s.pending == 2 && s.oldest == 2);
  assert_int_equal(weir__r_hand_out(&s, card, 4), 0); // no worker is idle
  card->done[1 % WEIR__R_SLOTS].word = weir__r_done_word(1);
  assert_int_equal(weir__r_hand_out(&s, card, 4), 1);
  assert_true((uint32_t)card->segments[1] == (WEIR__R_READY | 2 % WEIR__R_SLOTS) && s.pending == 1);
  card->claimed = s.positions + 2; // of four workers two are idle
  assert_int_equal(weir__r_hand_out(&s, card, 4), 0);
  assert_int_equal(s.oldest, 3);
  assert_int_equal(weir__r_hand_out(&s, card, 4), 1);
  assert_true((uint32_t)card->segments[2] == 3 && s.pending == 0 && card->handed[0].both == (UINT64_C(4) << 32 | 3));
  // 4 comes after 2, 3 and 1: it awaits the latest, and what else is found not to be done. It has more entries than there are workers.
  card->done[2 % WEIR__R_SLOTS].word = weir__r_done_word(2) - 1;
  card->tasks[4 % WEIR__R_SLOTS] = (weir__r_task){.number = 4, .units = 9, .edge_count = 3, .edges = {2, 3, 1}};
  weir__r_hold(&s, card, 4);
  s.fetched = 4;
  s.pending++;
  assert_int_equal(s.tasks[0].awaited, 3);
  card->claimed = s.positions + 3; // too few are idle, as one of four is kept
  card->done[3 % WEIR__R_SLOTS].word = weir__r_done_word(3);
  assert_int_equal(weir__r_hand_out_oldest(&s, card, 2, 3), 0);
  const uint64_t seen[WEIR__R_PENDING] = {weir__r_done_word(3)};
  assert_int_equal(weir__r_hand_out_ready(&s, card, seen), 0);
  assert_int_equal(s.tasks[0].awaited, 2);
  assert_int_equal(weir__r_hand_out_oldest(&s, card, 3, 3), 1);
  assert_true(s.pending == 0 && s.positions == 13 && card->done[4 % WEIR__R_SLOTS].word == weir__r_done_word(4) - 9);
  free(card);
}
#endif

int main(void) {
  const char *text = getenv("WEIR_TEST_SEED");
  if (text != NULL) base_seed = strtoull(text, NULL, 10);
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_positions_are_found),
    cmocka_unit_test(test_segments_that_are_verified),
    cmocka_unit_test(test_many_units),
#if RESIDENT_LANES == 1
    cmocka_unit_test(test_what_is_handed_out),
#endif
    cmocka_unit_test(test_random_programs),
    cmocka_unit_test(test_several_at_once),
    cmocka_unit_test(test_host_that_stops_feeding),
    cmocka_unit_test(test_publish_while_leaving),
    cmocka_unit_test(test_stop),
    cmocka_unit_test(test_time_is_over),
    cmocka_unit_test(test_ask),
    cmocka_unit_test(test_blocks_that_start_late),
    cmocka_unit_test(test_fewer_places_than_blocks),
    cmocka_unit_test(test_two_contexts_with_two_places),
    cmocka_unit_test(test_no_worker),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
