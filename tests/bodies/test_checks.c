// SPDX-License-Identifier: Apache-2.0
//
// The checks of every step: a right step passes, and each kind of damage is refused.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "world.h"

enum { NUMBER = 3, COUNT = 12 };

// A step in which nothing collides: bodies go on with what drives them.
typedef struct step {
  world world;
  physics_action actions[PHYSICS_MAX_BODIES];
  physics_body driven[PHYSICS_MAX_BODIES], after[PHYSICS_MAX_BODIES];
  island_list list;
  physics_observation seen;
  char text[200];
} step;

static void observe_kinetic(step *self) {
  float sum = 0;
  for (int32_t i = 0; i < COUNT; i++) {
    const physics_body *body = &self->after[i];
    sum += 0.5f / body->inverse_mass * (body->vx * body->vx + body->vy * body->vy);
  }
  self->seen.kinetic = sum;
}

static void make_step(step *self) {
  memset(self, 0, sizeof *self);
  world *at = &self->world;
  world_create(7, NUMBER, COUNT, at);
  for (int32_t i = 0; i < COUNT; i++) at->start[i].vy = 0;
  world_choose_actions(at, 7, NUMBER, 0, self->actions);
  world_drive(at, at->start, self->actions, self->driven);
  assert_true(islands_find(self->driven, COUNT, at->joints, at->joint_count, &at->rules, &self->list));
  for (int32_t i = 0; i < COUNT; i++) {
    physics_body *moved = &self->after[i];
    *moved = at->start[self->list.order[i]];
    moved->vx = 0;
    moved->vy = -at->rules.gravity * at->rules.step;
    moved->y += at->rules.step * moved->vy;
  }
  observe_kinetic(self);
}

static bool check_step(step *self) {
  world_record record = {0};
  return world_check_step(&self->world, self->world.start, self->actions, self->driven, &self->list, self->after,
                          &self->seen, &record, self->text, sizeof self->text);
}

static void refused(step *self, const char *text) {
  assert_false(check_step(self));
  if (!strstr(self->text, text)) fail_msg("'%s' does not say '%s'", self->text, text);
}

static void test_right(void **state) {
  (void)state;
  static step self;
  make_step(&self);
  if (!check_step(&self)) fail_msg("%s", self.text);
}

static void test_refused(void **state) {
  (void)state;
  static step self;
  make_step(&self);
  self.after[2].vx = NAN;
  refused(&self, "damaged");
  make_step(&self);
  self.after[3].id++;
  refused(&self, "damaged");
  make_step(&self);
  self.after[1].x = 0;
  refused(&self, "left its box");
  make_step(&self);
  const island *part = &self.list.islands[0];
  while (part->constraint_count == 0) part++;
  self.after[part->first_body].y += 0.2f;
  refused(&self, "joint is off");
  make_step(&self);
  self.list.greatest_overlap = 0.05f;
  refused(&self, "overlap");
  make_step(&self);
  self.after[4].vx = 6;
  observe_kinetic(&self);
  refused(&self, "made kinetic energy");
  make_step(&self);
  self.seen.kinetic *= 1.01f;
  refused(&self, "observation");
  make_step(&self);
  for (int32_t i = 0; i < COUNT; i++) self.after[i].y += 0.3f;
  refused(&self, "made energy");
}

// Worlds begin without overlap, inside of their boxes, for all sizes.
static void test_start(void **state) {
  (void)state;
  static world made;
  static island_list list;
  for (int32_t count = 1; count <= PHYSICS_MAX_BODIES; count++) {
    world_create(1, count, count, &made);
    assert_int_equal(made.count, count);
    assert_true(made.actor_count >= 1 && made.actor_count + made.joint_count == count);
    assert_true(islands_find(made.start, count, made.joints, made.joint_count, &made.rules, &list));
    assert_true(list.greatest_overlap == 0);
    for (int32_t i = 0; i < count; i++) {
      const physics_body *body = &made.start[i];
      assert_true(body->x > body->radius && body->x < made.rules.width - body->radius);
      assert_true(body->y > body->radius && body->y < made.rules.height - body->radius);
    }
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_right), cmocka_unit_test(test_refused),
                                     cmocka_unit_test(test_start)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
