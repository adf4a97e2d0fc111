// SPDX-License-Identifier: Apache-2.0
//
// States of resources: small plans by hand, and random ones against the definition.
#include <stdlib.h>
#include <string.h>

#include "base/allocate.h"
#include "dag.h"
#include "plan/barriers_queues.h"
#include "plan/barriers_states.h"

enum {
  MOST = 64,
  FROM = WEIR__STATE_COPY_SOURCE,
  TO = WEIR__STATE_COPY_DESTINATION,
  READ = WEIR__STATE_SHADER_READ,
  WRITE = WEIR__STATE_SHADER_WRITE,
};

// A plan of one queue, one use a task, with a barrier wherever a number is not that of the task before.
typedef struct small_plan {
  uint32_t epochs[MOST], count;
  weir__barrier_use uses[MOST];
  uint64_t first[MOST + 1];
} small_plan;

static void add(small_plan *small, uint32_t epoch, uint32_t resource, uint32_t state, uint64_t lo, uint64_t hi) {
  small->epochs[small->count] = epoch;
  small->uses[small->count] = (weir__barrier_use){resource, state, lo, hi};
  small->first[small->count] = small->count;
  small->count++;
  small->first[small->count] = small->count;
}

static weir__barrier_transitions find(const small_plan *small, weir__barrier_plan *out_plan) {
  weir__barrier_uses uses = {small->first, small->uses, 4};
  weir__barrier_transitions found;
  assert_int_equal(weir__barrier_plan_create(small->count, NULL, small->epochs, out_plan), WEIR_OK);
  assert_int_equal(weir__barrier_find_transitions(out_plan, &uses, &found), WEIR_OK);
  return found;
}

typedef struct expected {
  uint32_t resource, before, after;
  bool at_barrier; // otherwise at a dispatch
  uint32_t place;  // which barrier, or which task
  uint64_t lo, hi;
} expected;

static void expect(const small_plan *small, const expected *list, size_t count, size_t mixed) {
  weir__barrier_plan plan;
  weir__barrier_transitions found = find(small, &plan);
  assert_int_equal(found.count, count);
  assert_int_equal(found.mixed, mixed);
  for (size_t i = 0; i < count; i++) {
    const weir__barrier_transition *is = &found.items[i];
    const weir__barrier_step *step = &plan.steps[is->step];
    assert_int_equal(is->resource, list[i].resource);
    assert_int_equal(is->before, list[i].before);
    assert_int_equal(is->after, list[i].after);
    assert_true(is->lo == list[i].lo && is->hi == list[i].hi);
    assert_int_equal(step->kind == WEIR__BARRIER_BARRIER, list[i].at_barrier);
    uint32_t barriers = 0;
    for (size_t s = 0; s < is->step; s++) barriers += plan.steps[s].kind == WEIR__BARRIER_BARRIER;
    assert_int_equal(list[i].at_barrier ? barriers : step->task, list[i].place);
  }
  weir__barrier_transitions_free(&found);
  weir__barrier_plan_free(&plan);
}
#define EXPECT(small, mixed, ...)                                                                                      \
  do {                                                                                                                 \
    const expected list[] = {__VA_ARGS__};                                                                             \
    expect(&(small), list, sizeof list / sizeof *list, mixed);                                                         \
  } while (0)

static void a_state_changes_at_a_barrier(void **state) {
  (void)state;
  small_plan small = {.count = 0};
  add(&small, 0, 1, TO, 0, 64);
  add(&small, 1, 1, READ, 0, 64);
  add(&small, 2, 1, WRITE, 0, 32);
  EXPECT(small, 0, {1, 0, TO, false, 0, 0, 64}, {1, TO, READ, true, 0, 0, 64}, {1, READ, WRITE, true, 1, 0, 32});
}

static void reads_of_all_kinds_are_combined(void **state) {
  (void)state;
  small_plan small = {.count = 0};
  add(&small, 0, 0, WRITE, 0, 64);
  add(&small, 1, 0, READ, 0, 8);
  add(&small, 2, 1, READ, 0, 8); // another resource
  add(&small, 2, 0, FROM, 32, 64);
  add(&small, 3, 0, READ, 16, 24);
  add(&small, 4, 0, TO, 0, 64);
  EXPECT(small, 0, {0, 0, WRITE, false, 0, 0, 64}, {0, WRITE, FROM | READ, true, 0, 0, 64},
         {1, 0, READ, false, 2, 0, 8}, {0, FROM | READ, TO, true, 3, 0, 64});
}

static void writes_in_the_same_state_need_no_change(void **state) {
  (void)state;
  small_plan small = {.count = 0};
  add(&small, 0, 0, WRITE, 0, 16);
  add(&small, 1, 0, WRITE, 16, 32); // other bytes: nothing
  add(&small, 2, 0, WRITE, 8, 24);  // the same bytes: a barrier for writes
  add(&small, 3, 0, WRITE, 24, 64); // other bytes than since then
  EXPECT(small, 0, {0, 0, WRITE, false, 0, 0, 32}, {0, WRITE, WRITE, true, 1, 8, 64});
}

static void readers_beside_a_writer_share_its_state(void **state) {
  (void)state;
  small_plan small = {.count = 0};
  add(&small, 0, 0, WRITE, 0, 16);
  add(&small, 0, 0, READ, 16, 32);
  add(&small, 1, 0, READ, 0, 16);
  add(&small, 1, 0, WRITE, 16, 32);
  EXPECT(small, 0, {0, 0, WRITE, false, 0, 0, 32}, {0, WRITE, WRITE, true, 0, 0, 32});
}

static void mixed_states_are_counted(void **state) {
  (void)state;
  small_plan small = {.count = 0};
  add(&small, 0, 0, TO, 0, 16);
  add(&small, 0, 0, WRITE, 16, 32);
  EXPECT(small, 1, {0, 0, TO | WRITE, false, 0, 0, 32});
  static const uint32_t mixed[] = {TO | WRITE, TO | READ, TO | FROM, FROM | WRITE, FROM | READ | WRITE};
  static const uint32_t single[] = {0, TO, FROM, READ, WRITE, FROM | READ, READ | WRITE};
  for (size_t i = 0; i < sizeof mixed / sizeof *mixed; i++) assert_true(weir__barrier_state_is_mixed(mixed[i]));
  for (size_t i = 0; i < sizeof single / sizeof *single; i++) assert_false(weir__barrier_state_is_mixed(single[i]));
}

static void states_start_anew_with_each_submission(void **state) {
  (void)state;
  dag_rows rows;
  weir__plan_graph graph = dag_graph(dag_edge(0, 1) | dag_edge(1, 2), 3, &rows);
  uint32_t wanted[] = {0, 1, 0};
  weir__barrier_queues asked = {.queue_count = 2, .wanted = wanted};
  weir__barrier_use list[] = {{0, WRITE, 0, 8}, {0, READ, 0, 8}, {0, TO, 0, 8}};
  uint64_t first[] = {0, 1, 2, 3};
  weir__barrier_uses uses = {first, list, 1};
  weir__barrier_plan plan;
  weir__barrier_transitions found;
  assert_int_equal(weir__barrier_plan_queues(&graph, &asked, &plan, NULL), WEIR_OK);
  assert_int_equal(weir__barrier_find_transitions(&plan, &uses, &found), WEIR_OK);
  assert_int_equal(found.count, 3);
  for (uint32_t i = 0; i < 3; i++) {
    assert_int_equal(found.items[i].before, WEIR__STATE_UNDEFINED);
    assert_int_equal(plan.steps[found.items[i].step].task, i);
  }
  weir__barrier_transitions_free(&found);
  weir__barrier_plan_free(&plan);
}

static uint32_t random_below(uint64_t *seed, uint32_t limit) {
  *seed = *seed * 6364136223846793005u + 1442695040888963407u;
  return (uint32_t)(*seed >> 33) % limit;
}

// Follows the transitions as a caller would: each use finds its resource in a state that allows it, within the bytes
// that were named, and after a use that conflicts in another epoch comes a transition.
static void follow(const small_plan *small, const weir__barrier_plan *plan, const weir__barrier_transitions *found) {
  uint32_t states[4] = {0};
  const weir__barrier_transition *last[4] = {NULL};
  size_t changed[4] = {0}, next = 0;
  for (size_t s = 0; s < plan->step_count; s++) {
    for (; next < found->count && found->items[next].step == s; next++) {
      const weir__barrier_transition *change = &found->items[next];
      assert_int_equal(change->before, states[change->resource]);
      assert_int_equal(plan->steps[s].kind,
                       change->before == WEIR__STATE_UNDEFINED ? WEIR__BARRIER_DISPATCH : WEIR__BARRIER_BARRIER);
      states[change->resource] = change->after;
      last[change->resource] = change;
      changed[change->resource] = s;
    }
    if (plan->steps[s].kind != WEIR__BARRIER_DISPATCH) continue;
    uint32_t task = plan->steps[s].task;
    const weir__barrier_use *use = &small->uses[task];
    uint32_t state = states[use->resource];
    assert_true((state & use->state) == use->state || (use->state == READ && state & WRITE));
    assert_true(last[use->resource]->lo <= use->lo && use->hi <= last[use->resource]->hi);
    for (size_t e = 0; e < s; e++) {
      if (plan->steps[e].kind != WEIR__BARRIER_DISPATCH) continue;
      const weir__barrier_use *earlier = &small->uses[plan->steps[e].task];
      bool conflict = earlier->resource == use->resource && earlier->lo < use->hi && use->lo < earlier->hi &&
                      (earlier->state | use->state) & WEIR__STATE_WRITES;
      if (conflict) assert_true(changed[use->resource] > e);
    }
  }
  assert_int_equal(next, found->count);
}

static void random_plans_can_be_followed(void **state) {
  (void)state;
  static const uint32_t kinds[] = {FROM, TO, READ, WRITE, READ, WRITE};
  uint64_t seed = 1;
  for (int round = 0; round < 3000; round++) {
    small_plan small = {.count = 0};
    uint32_t count = 1 + random_below(&seed, 24), epoch = 0, kind_count = round % 2 ? 6 : 2;
    for (uint32_t t = 0; t < count; t++) {
      uint32_t resource = random_below(&seed, 3), kind = kinds[6 - kind_count + random_below(&seed, kind_count)];
      uint64_t lo = random_below(&seed, 8), hi = lo + 1 + random_below(&seed, 4);
      for (uint32_t e = 0; e < small.count; e++) {
        const weir__barrier_use *use = &small.uses[e];
        bool conflict =
            use->resource == resource && use->lo < hi && lo < use->hi && (use->state | kind) & WEIR__STATE_WRITES;
        if (conflict && small.epochs[e] == epoch) epoch++;
      }
      add(&small, epoch, resource, kind, lo, hi);
    }
    weir__barrier_plan plan;
    weir__barrier_transitions found = find(&small, &plan);
    follow(&small, &plan, &found);
    weir__barrier_transitions_free(&found);
    weir__barrier_plan_free(&plan);
  }
}

static void bad_uses_are_refused(void **state) {
  (void)state;
  static const weir__barrier_use bad[] = {{4, READ, 0, 8}, {0, 0, 0, 8}, {0, 16, 0, 8}, {0, READ, 8, 8}};
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
    small_plan small = {.count = 0};
    add(&small, 0, bad[i].resource, bad[i].state, bad[i].lo, bad[i].hi);
    weir__barrier_uses uses = {small.first, small.uses, 4};
    weir__barrier_plan plan;
    weir__barrier_transitions found;
    assert_int_equal(weir__barrier_plan_create(1, NULL, small.epochs, &plan), WEIR_OK);
    assert_int_equal(weir__barrier_find_transitions(&plan, &uses, &found), WEIR_ERROR_INVALID_ARGUMENT);
    assert_non_null(strstr(weir_last_error(), "task 0 uses bytes"));
    assert_null(found.items);
    weir__barrier_plan_free(&plan);
  }
}

static void every_failed_allocation_is_reported(void **state) {
  (void)state;
  small_plan small = {.count = 0};
  add(&small, 0, 0, WRITE, 0, 16);
  add(&small, 1, 0, READ, 0, 16);
  weir__barrier_uses uses = {small.first, small.uses, 4};
  weir__barrier_plan plan;
  assert_int_equal(weir__barrier_plan_create(small.count, NULL, small.epochs, &plan), WEIR_OK);
  uint64_t n = 0;
  weir_status status;
  do {
    weir__barrier_transitions found;
    weir__allocate_fail_at(++n);
    status = weir__barrier_find_transitions(&plan, &uses, &found);
    weir__allocate_fail_at(0);
    assert_true(status == WEIR_OK || (status == WEIR_ERROR_OUT_OF_MEMORY && found.items == NULL));
    weir__barrier_transitions_free(&found);
  } while (status != WEIR_OK);
  assert_int_equal(n, 5);
  weir__barrier_plan_free(&plan);
}

static void states_have_names(void **state) {
  (void)state;
  assert_string_equal(weir__barrier_state_name(0), "UNDEFINED");
  assert_string_equal(weir__barrier_state_name(FROM | READ), "COPY_SOURCE|SHADER_READ");
  for (uint32_t bits = 1; bits < 16; bits++) {
    const char *name = weir__barrier_state_name(bits);
    assert_int_equal(strstr(name, "COPY_SOURCE") != NULL, (bits & FROM) != 0);
    assert_int_equal(strstr(name, "COPY_DESTINATION") != NULL, (bits & TO) != 0);
    assert_int_equal(strstr(name, "SHADER_READ") != NULL, (bits & READ) != 0);
    assert_int_equal(strstr(name, "SHADER_WRITE") != NULL, (bits & WRITE) != 0);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_state_changes_at_a_barrier),
      cmocka_unit_test(reads_of_all_kinds_are_combined),
      cmocka_unit_test(writes_in_the_same_state_need_no_change),
      cmocka_unit_test(readers_beside_a_writer_share_its_state),
      cmocka_unit_test(mixed_states_are_counted),
      cmocka_unit_test(states_start_anew_with_each_submission),
      cmocka_unit_test(random_plans_can_be_followed),
      cmocka_unit_test(bad_uses_are_refused),
      cmocka_unit_test(every_failed_allocation_is_reported),
      cmocka_unit_test(states_have_names),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
