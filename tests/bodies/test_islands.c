// SPDX-License-Identifier: Apache-2.0
//
// Islands of random states, against all pairs and a flood fill; colours; and states that are refused.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../support/random.h"
#include "islands.h"

static const physics_rules rules = {.width = 20, .height = 20, .step = 1.0f / 120, .gravity = 9.81f, .limit = 4};

typedef struct sample {
  int32_t count, joint_count;
  physics_body bodies[PHYSICS_MAX_BODIES];
  joint joints[PHYSICS_MAX_BODIES];
  bool linked[PHYSICS_MAX_BODIES][PHYSICS_MAX_BODIES]; // by id: by a joint (both ways) or a contact
  bool jointed[PHYSICS_MAX_BODIES][PHYSICS_MAX_BODIES];
  int32_t label[PHYSICS_MAX_BODIES]; // by id: its island
} sample;

static float random_float(random_state *random, float least, float most) {
  return least + (most - least) * (float)random_below(random, 1000000) / 1000000;
}

// Bodies in a square, in random order of ids; some joints between ids that follow each other.
static void make_sample(random_state *random, int32_t count, float size, sample *out) {
  memset(out, 0, sizeof *out);
  out->count = count;
  for (int32_t i = 0; i < count; i++) out->bodies[i].id = i;
  for (int32_t i = count - 1; i > 0; i--) {
    int32_t other = (int32_t)random_below(random, (uint32_t)i + 1), id = out->bodies[i].id;
    out->bodies[i].id = out->bodies[other].id;
    out->bodies[other].id = id;
  }
  for (int32_t i = 0; i < count; i++) {
    physics_body *body = &out->bodies[i];
    body->x = random_float(random, 0, size);
    body->y = random_float(random, 0, size);
    body->vx = random_float(random, -3, 3);
    body->vy = random_float(random, -3, 3);
    body->radius = random_float(random, 0.09f, 0.14f);
    body->inverse_mass = 1;
    body->actor = -1;
  }
  for (int32_t id = 0; id + 1 < count; id++) {
    if (!random_chance(random, 30)) continue;
    out->joints[out->joint_count++] = (joint){id, id + 1, 0.2f};
    out->jointed[id][id + 1] = out->jointed[id + 1][id] = true;
  }
}

static void fill(sample *self, int32_t id, int32_t label) {
  self->label[id] = label;
  for (int32_t other = 0; other < self->count; other++) {
    if (self->linked[id][other] && self->label[other] < 0) fill(self, other, label);
  }
}

// Finds islands by looking at all pairs. Returns how many constraints there are.
static int32_t solve_by_force(sample *self) {
  int32_t constraints = 0;
  for (int32_t i = 0; i < self->count; i++) {
    for (int32_t k = 0; k < i; k++) {
      const physics_body *a = &self->bodies[i], *b = &self->bodies[k];
      bool linked = self->jointed[a->id][b->id] || islands_may_touch(a, b, &rules);
      self->linked[a->id][b->id] = self->linked[b->id][a->id] = linked;
      constraints += linked;
    }
  }
  int32_t next = 0;
  for (int32_t id = 0; id < self->count; id++) self->label[id] = -1;
  for (int32_t id = 0; id < self->count; id++) {
    if (self->label[id] < 0) fill(self, id, next++);
  }
  return constraints;
}

static void check_island(sample *self, const island_list *list, const island *part, int32_t index) {
  const physics_body *bodies = self->bodies;
  for (int32_t i = part->first_body; i < part->first_body + part->body_count; i++) {
    assert_int_equal(list->island_of[list->order[i]], index);
    assert_int_equal(self->label[bodies[list->order[i]].id], index); // both are in the order of the least id
  }
  const int32_t *colours = &list->colours[part->first_colour];
  assert_int_equal(colours[0], 0);
  assert_int_equal(colours[part->colour_count], part->constraint_count);
  for (int32_t colour = 0; colour < part->colour_count; colour++) {
    bool used[PHYSICS_MAX_BODIES] = {false};
    assert_true(colours[colour] < colours[colour + 1]);
    for (int32_t c = colours[colour]; c < colours[colour + 1]; c++) {
      const physics_constraint *constraint = &list->constraints[part->first_constraint + c];
      int32_t ends[2] = {constraint->a, constraint->b}, ids[2];
      for (int k = 0; k < 2; k++) {
        assert_in_range(ends[k], 0, part->body_count - 1);
        assert_false(used[ends[k]]);
        used[ends[k]] = true;
        ids[k] = bodies[list->order[part->first_body + ends[k]]].id;
      }
      assert_true(self->linked[ids[0]][ids[1]]);
      assert_int_equal(constraint->is_joint, self->jointed[ids[0]][ids[1]]);
      self->linked[ids[0]][ids[1]] = self->linked[ids[1]][ids[0]] = false; // each is there once
    }
  }
}

static void check_sample(sample *self) {
  static island_list list;
  int32_t constraints = solve_by_force(self), islands = 0, bodies = 0;
  assert_true(islands_find(self->bodies, self->count, self->joints, self->joint_count, &rules, &list));
  assert_int_equal(list.constraint_count, constraints);
  bool seen[PHYSICS_MAX_BODIES] = {false};
  for (int32_t i = 0; i < self->count; i++) {
    if (self->label[i] >= islands) islands = self->label[i] + 1;
    assert_in_range(list.order[i], 0, self->count - 1);
    assert_false(seen[list.order[i]]);
    seen[list.order[i]] = true;
  }
  assert_int_equal(list.count, islands);
  for (int32_t i = 0; i < list.count; i++) {
    assert_int_equal(list.islands[i].first_body, bodies);
    bodies += list.islands[i].body_count;
    check_island(self, &list, &list.islands[i], i);
  }
  assert_int_equal(bodies, self->count);
}

static void test_random(void **state) {
  (void)state;
  static sample made;
  random_state random = {1};
  for (int round = 0; round < 200; round++) {
    int32_t count = 1 + (int32_t)random_below(&random, round % 10 == 0 ? PHYSICS_MAX_BODIES : 30);
    make_sample(&random, count, 0.4f + 0.3f * (float)count * random_float(&random, 0.2f, 1), &made);
    check_sample(&made);
  }
}

static void test_nothing_touches(void **state) {
  (void)state;
  static sample made;
  static island_list list;
  random_state random = {2};
  make_sample(&random, 10, 1, &made);
  for (int32_t i = 0; i < 10; i++) made.bodies[i].x = (float)i;
  assert_true(islands_find(made.bodies, 10, NULL, 0, &rules, &list));
  assert_int_equal(list.count, 10);
  assert_int_equal(list.constraint_count, 0);
  assert_true(list.greatest_overlap == 0);
}

static void test_overlap(void **state) {
  (void)state;
  static island_list list;
  physics_body bodies[2] = {{.radius = 1, .inverse_mass = 1, .id = 1}, {.x = 1.5f, .radius = 1, .inverse_mass = 1}};
  assert_true(islands_find(bodies, 2, NULL, 0, &rules, &list));
  assert_int_equal(list.count, 1);
  assert_true(list.greatest_overlap == 0.5f);
  assert_int_equal(list.order[0], 1); // the body with id 0
}

static void test_refused(void **state) {
  (void)state;
  static sample made;
  static island_list list;
  random_state random = {3};
  make_sample(&random, PHYSICS_MAX_BODIES, 0.05f, &made);
  assert_false(islands_find(made.bodies, PHYSICS_MAX_BODIES, made.joints, made.joint_count, &rules, &list));
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_random), cmocka_unit_test(test_nothing_touches),
                                     cmocka_unit_test(test_overlap), cmocka_unit_test(test_refused)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
