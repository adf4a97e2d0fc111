// SPDX-License-Identifier: Apache-2.0
//
// The launcher's scheduler, lane by lane: which lane holds what, and how long a graph may refuse to be launched. On the stub its warp has
// one lane; here lanes are called one after the other, so what they say to each other is of the one that is called.
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define WEIR__R_LANES 32u
static uint32_t lane_now;
static inline uint32_t weir__r_lane(void) {
  return lane_now;
}
static inline void weir__r_meet(void) {}
static inline uint32_t weir__r_from(uint32_t value, uint32_t lane) {
  (void)lane;
  return value;
}
static inline uint32_t weir__r_mask(uint32_t value) {
  return value != 0 ? 1u << lane_now : 0;
}
static inline uint32_t weir__r_sum_before(uint32_t value, uint32_t *out_all) {
  *out_all = value;
  return 0;
}
#include "device/cuda/ondevice/protocol.h"

#define SECOND_NS 1000000000ull

static uint32_t refusals, launches;

uint32_t weir__l_launch_graph(uint64_t exec, uint64_t how) {
  (void)exec;
  (void)how;
  if (refusals > 0) {
    refusals--;
    return WEIR__L_STILL_RUNS;
  }
  launches++;
  return WEIR__L_LAUNCHED;
}

uint32_t weir__l_set_args(uint64_t node, const void *args, uint32_t bytes) {
  (void)node;
  (void)args;
  (void)bytes;
  return WEIR__L_LAUNCHED;
}

uint32_t weir__l_set_grid(uint64_t node, const uint32_t groups[3]) {
  (void)node;
  (void)groups;
  return WEIR__L_LAUNCHED;
}

typedef struct rig {
  weir__l_card *card;
  weir__l_host *host;
  weir__l_scheduler lanes[WEIR__R_LANES];
} rig;

static void begin(rig *r, uint32_t first) {
  *r = (rig){.card = aligned_alloc(128, sizeof *r->card), .host = aligned_alloc(128, sizeof *r->host)};
  assert_non_null(r->card);
  assert_non_null(r->host);
  memset(r->card, 0, sizeof *r->card);
  memset(r->host, 0, sizeof *r->host);
  refusals = launches = 0;
  for (uint32_t i = 0; i < WEIR__L_SLOTS; i++) r->host->ring[i].number = i;
  for (uint32_t i = 0; i < WEIR__R_LANES; i++) {
    r->lanes[i].fetched = first - 1;
    r->lanes[i].budget = WEIR__L_LAUNCHES;
  }
}

static void end(rig *r) {
  free(r->card);
  free(r->host);
}

static void fetch(rig *r, uint32_t tail) {
  for (lane_now = 0; lane_now < WEIR__R_LANES; lane_now++) weir__l_fetch(&r->lanes[lane_now], r->card, r->host, tail);
}

static uint32_t held_by(const weir__l_scheduler *lane) {
  uint32_t count = 0;
  for (uint32_t k = 0; k < WEIR__L_HELD; k++) count += lane->is[k] != 0;
  return count;
}

// As long as one lane has no room nothing is fetched: tasks that come one by one must not all be one lane's.
static void tasks_that_come_one_by_one_are_spread(void **state) {
  (void)state;
  static const uint32_t firsts[] = {1, 17, 0u - 40};
  for (uint32_t i = 0; i < sizeof firsts / sizeof firsts[0]; i++) {
    rig r;
    begin(&r, firsts[i]);
    for (uint32_t j = 1; j <= WEIR__R_LANES * WEIR__L_HELD; j++) {
      fetch(&r, firsts[i] - 1 + j);
      uint32_t least = UINT32_MAX, most = 0;
      for (uint32_t k = 0; k < WEIR__R_LANES; k++) {
        uint32_t held = held_by(&r.lanes[k]);
        least = held < least ? held : least;
        most = held > most ? held : most;
      }
      assert_true(most - least <= 1);
    }
    end(&r);
  }
}

// A graph that was reported a moment ago may refuse to be launched, however long nothing else went on.
static void patience_begins_with_the_first_refusal(void **state) {
  (void)state;
  rig r;
  begin(&r, 1);
  fetch(&r, 1);
  for (lane_now = 0; held_by(&r.lanes[lane_now]) == 0; lane_now++) {
  }
  weir__l_scheduler *lane = &r.lanes[lane_now];
  refusals = 2;
  for (uint64_t tries = 0; tries < 3; tries++)
    (void)weir__l_launch_ready(lane, r.card, r.host, 100 * SECOND_NS + tries);
  assert_int_equal(r.host->errors[1], 0);
  assert_int_equal(launches, 1);
  assert_int_equal(lane->held, 0);
  end(&r);
}

static void a_graph_that_refuses_for_good_fails_its_task(void **state) {
  (void)state;
  rig r;
  begin(&r, 1);
  fetch(&r, 1);
  for (lane_now = 0; held_by(&r.lanes[lane_now]) == 0; lane_now++) {
  }
  weir__l_scheduler *lane = &r.lanes[lane_now];
  refusals = UINT32_MAX;
  for (uint64_t tries = 0; tries < 30; tries++)
    (void)weir__l_launch_ready(lane, r.card, r.host, 100 * SECOND_NS + tries * SECOND_NS / 10);
  assert_int_equal(r.host->errors[1], WEIR__L_STILL_RUNS);
  assert_int_equal(lane->held, 0);
  uint32_t number;
  assert_true(weir__l_is_reported(r.host, 1, &number));
  assert_int_equal(number, 1);
  end(&r);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(tasks_that_come_one_by_one_are_spread),
      cmocka_unit_test(patience_begins_with_the_first_refusal),
      cmocka_unit_test(a_graph_that_refuses_for_good_fails_its_task),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
