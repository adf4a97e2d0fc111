// SPDX-License-Identifier: Apache-2.0
//
// The kernels: what collides, hangs and falls, and whole simulations with the same bits however they run. The device is
// cpu:2, or the first argument; then the test is skipped where there is none.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "motion.kernels.h"
#include "simulation.h"

static const char *devices = "cpu:2";
enum { MOST = 8 };

static const physics_rules rules = {
    .width = 10, .height = 10, .step = 1.0f / 120, .gravity = 9.81f, .limit = 4, .friction = 0.3f};

// A few bodies, and what runs them.
typedef struct scene {
  weir_context *context;
  weir_kernel *drive, *solve;
  weir_buffer *from, *next, *list_buffer;
  int32_t count, joint_count;
  physics_body bodies[MOST];
  joint joints[MOST];
  physics_rules rules;
  island_list list;
} scene;

static void scene_create(scene *self) {
  memset(self, 0, sizeof *self);
  self->rules = rules;
  assert_int_equal(weir_context_create(&(weir_context_options){.devices = devices}, &self->context), WEIR_OK);
  assert_int_equal(weir_kernel_create_from(self->context, &drive, &self->drive), WEIR_OK);
  assert_int_equal(weir_kernel_create_from(self->context, &solve, &self->solve), WEIR_OK);
  assert_int_equal(weir_buffer_create(self->context, sizeof self->bodies, &self->from), WEIR_OK);
  assert_int_equal(weir_buffer_create(self->context, sizeof self->bodies, &self->next), WEIR_OK);
  assert_int_equal(weir_buffer_create(self->context, sizeof self->list, &self->list_buffer), WEIR_OK);
}

static void scene_release(scene *self) {
  weir_context_release(self->context);
}

static void add_body(scene *self, float x, float y, float vx, float vy, float radius, float inverse_mass) {
  self->bodies[self->count] = (physics_body){x, y, vx, vy, radius, inverse_mass, self->count, -1};
  self->count++;
}

static weir_arg part_of_list(scene *self, const void *first, size_t bytes) {
  return weir_reads_range(self->list_buffer, (uint64_t)((const char *)first - (const char *)&self->list), bytes);
}

// One time step. Bodies stay in the order of ids.
static void scene_step(scene *self) {
  static const physics_action none[MOST];
  island_list *list = &self->list;
  int32_t count = self->count;
  size_t bytes = (size_t)count * sizeof(physics_body);
  assert_true(islands_find(self->bodies, count, self->joints, self->joint_count, &self->rules, list));
  assert_int_equal(weir_copy_in(self->from, 0, bytes, self->bodies, NULL), WEIR_OK);
  assert_int_equal(weir_copy_in(self->list_buffer, 0, sizeof *list, list, NULL), WEIR_OK);
  weir_buffer *actions;
  assert_int_equal(weir_buffer_create(self->context, sizeof none, &actions), WEIR_OK);
  assert_int_equal(weir_copy_in(actions, 0, sizeof none, none, NULL), WEIR_OK);
  weir_arg drive_args[] = {weir_reads_range(self->from, 0, bytes),
                           part_of_list(self, list->order, sizeof list->order),
                           weir_reads(actions),
                           weir_writes_range(self->next, 0, bytes),
                           weir_value(&count, sizeof count),
                           weir_value(&self->rules, sizeof self->rules)};
  assert_int_equal(
      weir_submit(self->context, &(weir_task){.kernel = self->drive, .args = drive_args, .arg_count = 6}, NULL),
      WEIR_OK);
  for (int32_t i = 0; i < list->count; i++) {
    const island *part = &list->islands[i];
    size_t constraints = part->constraint_count > 0 ? (size_t)part->constraint_count : 1;
    weir_arg args[] = {
        weir_updates_range(self->next, (uint64_t)part->first_body * sizeof(physics_body),
                           (uint64_t)part->body_count * sizeof(physics_body)),
        part_of_list(self, &list->constraints[part->first_constraint], constraints * sizeof(physics_constraint)),
        part_of_list(self, &list->colours[part->first_colour], ((size_t)part->colour_count + 1) * sizeof(int32_t)),
        weir_value(&part->body_count, sizeof part->body_count),
        weir_value(&part->colour_count, sizeof part->colour_count),
        weir_value(&self->rules, sizeof self->rules)};
    assert_int_equal(
        weir_submit(self->context, &(weir_task){.kernel = self->solve, .args = args, .arg_count = 6}, NULL), WEIR_OK);
  }
  physics_body moved[MOST];
  assert_int_equal(weir_copy_out(self->next, 0, bytes, moved, NULL), WEIR_OK);
  weir_buffer_release(actions);
  assert_int_equal(weir_finish(self->context), WEIR_OK);
  for (int32_t i = 0; i < count; i++) self->bodies[moved[i].id] = moved[i];
}

// Two discs of different masses meet without gravity: they keep their momentum, and go on together.
static void test_collision(void **state) {
  (void)state;
  scene self;
  scene_create(&self);
  self.rules.gravity = 0;
  add_body(&self, 4, 5, 2, 0, 0.1f, 1);
  add_body(&self, 5, 5.05f, -1, 0, 0.1f, 0.5f);
  bool met = false;
  for (int step = 0; step < 60; step++) {
    scene_step(&self);
    const physics_body *a = &self.bodies[0], *b = &self.bodies[1];
    float momentum_x = a->vx + 2 * b->vx, momentum_y = a->vy + 2 * b->vy;
    assert_true(fabsf(momentum_x) < 1e-5f && fabsf(momentum_y) < 1e-5f);
    float distance = hypotf(b->x - a->x, b->y - a->y);
    assert_true(distance > 0.2f - 1e-4f && b->x > a->x);
    if (fabsf(a->vx - 2) > 0.1f) {
      met = true;
      assert_true(distance < 0.45f);
    }
  }
  float energy = self.bodies[0].vx * self.bodies[0].vx + 2 * self.bodies[1].vx * self.bodies[1].vx;
  assert_true(met && energy < 3);
  scene_release(&self);
}

// A disc on a joint to one that does not move swings with the period of its length, which stays.
static void test_pendulum(void **state) {
  (void)state;
  scene self;
  scene_create(&self);
  add_body(&self, 5, 5, 0, 0, 0.05f, 0);
  add_body(&self, 5.1f, 5 - sqrtf(1 - 0.01f), 0, 0, 0.05f, 1);
  self.joints[self.joint_count++] = (joint){0, 1, 1};
  int crossings = 0, last_crossing = 0, first_crossing = 0;
  for (int step = 1; step <= 600; step++) {
    float before = self.bodies[1].x - 5;
    scene_step(&self);
    float x = self.bodies[1].x - 5, y = self.bodies[1].y - 5;
    assert_true(fabsf(hypotf(x, y) - 1) < 1e-3f && fabsf(x) < 0.105f);
    assert_true(self.bodies[0].x == 5 && self.bodies[0].y == 5);
    if ((before < 0) == (x < 0)) continue;
    last_crossing = step;
    if (crossings++ == 0) first_crossing = step;
  }
  assert_in_range(crossings, 3, 6);
  float half_period = (float)(last_crossing - first_crossing) / (float)(crossings - 1) / 120;
  assert_true(fabsf(half_period - 3.14159265f / sqrtf(9.81f)) < 0.03f);
  scene_release(&self);
}

// A disc falls, stops on the floor without going through, and friction brings it to rest.
static void test_floor(void **state) {
  (void)state;
  scene self;
  scene_create(&self);
  add_body(&self, 2, 0.5f, 1, 0, 0.1f, 1);
  for (int step = 0; step < 120; step++) {
    scene_step(&self);
    assert_true(self.bodies[0].y >= 0.1f);
    if (step == 20) assert_true(self.bodies[0].y < 0.5f && self.bodies[0].vx == 1);
  }
  assert_true(self.bodies[0].y == 0.1f && self.bodies[0].vx == 0 && self.bodies[0].vy == 0);
  assert_true(self.bodies[0].x > 2.2f && self.bodies[0].x < 3);
  scene_release(&self);
}

// A pile of discs in a corner neither overlaps nor leaves the box.
static void test_pile(void **state) {
  (void)state;
  scene self;
  scene_create(&self);
  self.rules.width = 0.45f;
  for (int i = 0; i < MOST; i++) add_body(&self, i % 2 ? 0.32f : 0.11f, 0.3f + 0.25f * (float)i, 0, -2, 0.1f, 1);
  for (int step = 0; step < 200; step++) {
    scene_step(&self);
    for (int i = 0; i < MOST; i++) {
      const physics_body *a = &self.bodies[i];
      assert_true(a->x >= 0.1f && a->x <= 0.45f - 0.1f && a->y >= 0.1f);
      for (int k = 0; k < i; k++) {
        assert_true(hypotf(self.bodies[k].x - a->x, self.bodies[k].y - a->y) > 0.2f - 0.009f);
      }
    }
  }
  scene_release(&self);
}

static void run(const char *on, uint32_t flags, int32_t threads, simulation_options *out_options,
                simulation_result *out_result) {
  *out_options = (simulation_options){
      .devices = on, .flags = flags, .worlds = 4, .bodies = 14, .steps = 25, .threads = threads, .seed = 3};
  assert_int_equal(simulation_run(out_options, out_result), WEIR_OK);
}

// The same bits on this device, in order with one thread of the host and out of order with three, as on one CPU worker.
static void test_same_bits(void **state) {
  (void)state;
  simulation_options options;
  simulation_result expected, result;
  int32_t step, number;
  run("cpu:1", WEIR_CONTEXT_IN_ORDER, 1, &options, &expected);
  for (int in_order = 0; in_order < 2; in_order++) {
    run(devices, in_order ? WEIR_CONTEXT_IN_ORDER : 0, in_order ? 1 : 3, &options, &result);
    assert_memory_equal(result.tasks, expected.tasks, (size_t)options.steps * sizeof *result.tasks);
    assert_true(result.reward == expected.reward && result.most_bodies == expected.most_bodies);
    if (!simulation_same(&options, &expected, &result, &step, &number)) {
      fail_msg("in order %d: different from step %d of world %d on", in_order, step, number);
    }
    result.states[20].x += 1;
    assert_false(simulation_same(&options, &expected, &result, &step, &number));
    result.states[20].x = expected.states[20].x;
    result.digests[options.worlds * 7 + 2]++;
    assert_false(simulation_same(&options, &expected, &result, &step, &number));
    assert_int_equal(step, 7);
    assert_int_equal(number, 2);
    simulation_result_release(&result);
  }
  simulation_result_release(&expected);
}

static void test_missing_device(void **state) {
  (void)state;
  simulation_result result;
  simulation_options options = {.devices = "quantum", .worlds = 1, .bodies = 2, .steps = 1};
  assert_int_equal(simulation_run(&options, &result), WEIR_ERROR_INVALID_ARGUMENT);
  simulation_result_release(&result);
}

int main(int argc, char **argv) {
  if (argc > 1) {
    devices = argv[1];
    weir_context *context;
    if (weir_context_create(&(weir_context_options){.devices = devices}, &context) != WEIR_OK) {
      printf("%s\n", weir_last_error());
      return 77;
    }
    weir_context_release(context);
  }
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_collision), cmocka_unit_test(test_pendulum),
                                     cmocka_unit_test(test_floor),     cmocka_unit_test(test_pile),
                                     cmocka_unit_test(test_same_bits), cmocka_unit_test(test_missing_device)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
