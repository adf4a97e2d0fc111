// SPDX-License-Identifier: Apache-2.0
#include "world.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { LONGEST_CHAIN = 5, ACTION_PERIOD = 40 };

static uint64_t mix(uint64_t number) {
  number = (number ^ number >> 30) * 0xbf58476d1ce4e5b9u;
  number = (number ^ number >> 27) * 0x94d049bb133111ebu;
  return number ^ number >> 31;
}

// From 0 to 1.
static float fraction(uint64_t *state) {
  *state += 0x9e3779b97f4a7c15u;
  return (float)(mix(*state) >> 40) / (float)(1 << 24);
}

static float mass_of(const physics_body *body) {
  return body->inverse_mass > 0 ? 1 / body->inverse_mass : 0;
}

// Puts a chain into its place of 1.6 by 0.5 m, with bodies that do not overlap.
static int32_t make_chain(world *self, int32_t first, int32_t length, float left, float bottom, uint64_t *random) {
  float x = left, y = bottom + 0.2f, push = 2 * fraction(random) - 1;
  for (int32_t i = 0; i < length; i++) {
    physics_body *body = &self->start[first + i];
    *body = (physics_body){.id = first + i, .radius = WORLD_LEAST_RADIUS + 0.05f * fraction(random)};
    body->inverse_mass = 0.0144f / (body->radius * body->radius); // about 1 kg, by area
    body->actor = i == 0 ? self->actor_count++ : -1;
    x += i == 0 ? body->radius : 0;
    if (i > 0) {
      joint *made = &self->joints[self->joint_count++];
      *made = (joint){first + i - 1, first + i, 1.05f * (body->radius + self->start[first + i - 1].radius)};
      x += made->length;
    }
    body->x = x;
    body->y = y;
    body->vx = push;
    body->vy = 0.5f * fraction(random);
  }
  return first + length;
}

void world_create(uint64_t seed, int32_t number, int32_t count, world *out_world) {
  uint64_t random = mix(seed + 1) + mix((uint64_t)number + 77);
  memset(out_world, 0, sizeof *out_world);
  out_world->count = count;
  int32_t columns = (count + 5) / 6;
  out_world->rules = (physics_rules){
      .width = 1.65f * (float)columns + 0.2f, .step = 1.0f / 120, .gravity = 9.81f, .limit = 4, .friction = 0.3f};
  int32_t rows = 0;
  for (int32_t made = 0, chain = 0; made < count; chain++) {
    int32_t length = 1 + (int32_t)(fraction(&random) * LONGEST_CHAIN);
    if (length > LONGEST_CHAIN) length = LONGEST_CHAIN;
    if (length > count - made) length = count - made;
    int32_t column = chain % columns;
    rows = chain / columns + 1;
    made = make_chain(out_world, made, length, 0.15f + 1.65f * (float)column, 0.5f * (float)(rows - 1), &random);
  }
  out_world->rules.height = 0.5f * (float)rows + 1.5f;
}

void world_choose_actions(const world *self, uint64_t seed, int32_t number, int32_t step, physics_action *out_actions) {
  for (int32_t actor = 0; actor < self->actor_count; actor++) {
    uint64_t random = mix(seed + 5) ^ mix((uint64_t)number * 1000 + (uint64_t)actor + 13);
    int32_t shifted = step + (int32_t)(random % ACTION_PERIOD);
    out_actions[actor] = (physics_action){0, 0};
    if (shifted % ACTION_PERIOD != 0) continue;
    random += (uint64_t)shifted;
    out_actions[actor].x = 6 * fraction(&random) - 2.5f;
    out_actions[actor].y = 3.5f * fraction(&random);
  }
}

void world_drive(const world *self, const physics_body *in, const physics_action *actions, physics_body *out) {
  const physics_rules *rules = &self->rules;
  for (int32_t i = 0; i < self->count; i++) {
    out[i] = in[i];
    if (!(out[i].inverse_mass > 0)) continue;
    if (out[i].actor >= 0) {
      out[i].vx += actions[out[i].actor].x;
      out[i].vy += actions[out[i].actor].y;
    }
    out[i].vy -= rules->gravity * rules->step;
    float speed = sqrtf(out[i].vx * out[i].vx + out[i].vy * out[i].vy);
    if (speed > rules->limit) {
      out[i].vx *= rules->limit / speed;
      out[i].vy *= rules->limit / speed;
    }
  }
}

static double kinetic_energy(const world *self, const physics_body *bodies) {
  double sum = 0;
  for (int32_t i = 0; i < self->count; i++) {
    double vx = (double)bodies[i].vx, vy = (double)bodies[i].vy;
    sum += 0.5 * (double)mass_of(&bodies[i]) * (vx * vx + vy * vy);
  }
  return sum;
}

double world_energy(const world *self, const physics_body *bodies) {
  double sum = kinetic_energy(self, bodies);
  for (int32_t i = 0; i < self->count; i++) {
    sum += (double)(mass_of(&bodies[i]) * self->rules.gravity) * (double)bodies[i].y;
  }
  return sum;
}

// The change of kinetic energy by actions alone.
static double work_of(const world *self, const physics_body *before, const physics_action *actions) {
  double work = 0;
  for (int32_t i = 0; i < self->count; i++) {
    if (before[i].actor < 0 || !(before[i].inverse_mass > 0)) continue;
    double ux = (double)actions[before[i].actor].x, uy = (double)actions[before[i].actor].y;
    double along = (double)before[i].vx * ux + (double)before[i].vy * uy;
    work += (double)mass_of(&before[i]) * (along + 0.5 * (ux * ux + uy * uy));
  }
  return work;
}

// The body that a step puts at place `i` of its result is `driven[list->order[i]]`.
static bool check_bodies(const world *self, const physics_body *driven, const island_list *list,
                         const physics_body *after, char *out_text, size_t text_bytes) {
  const physics_rules *rules = &self->rules;
  for (int32_t i = 0; i < self->count; i++) {
    const physics_body *body = &after[i], *from = &driven[list->order[i]];
    float r = body->radius;
    bool finite = isfinite(body->x) && isfinite(body->y) && isfinite(body->vx) && isfinite(body->vy);
    if (!finite || body->id != from->id || r != from->radius || body->inverse_mass != from->inverse_mass) {
      snprintf(out_text, text_bytes, "body %d is damaged at place %d", from->id, i);
      return false;
    }
    bool inside = body->x >= r && body->x <= rules->width - r && body->y >= r && body->y <= rules->height - r;
    if (!inside && body->inverse_mass > 0) {
      snprintf(out_text, text_bytes, "body %d left its box: (%g, %g)", body->id, (double)body->x, (double)body->y);
      return false;
    }
  }
  return true;
}

// Looks at all joints and at all pairs that could touch in the step.
static bool check_distances(const island_list *list, const physics_body *after, world_record *record, char *out_text,
                            size_t text_bytes) {
  for (int32_t k = 0; k < list->count; k++) {
    const island *part = &list->islands[k];
    for (int32_t c = part->first_constraint; c < part->first_constraint + part->constraint_count; c++) {
      const physics_constraint *constraint = &list->constraints[c];
      const physics_body *a = &after[part->first_body + constraint->a], *b = &after[part->first_body + constraint->b];
      double distance = hypot((double)b->x - (double)a->x, (double)b->y - (double)a->y);
      double error = (double)constraint->length - distance;
      double *greatest = constraint->is_joint ? &record->stretch : &record->overlap;
      if (constraint->is_joint) error = fabs(error);
      if (error > *greatest) *greatest = error;
      float most = WORLD_LEAST_RADIUS * (constraint->is_joint ? WORLD_MOST_STRETCH : WORLD_MOST_OVERLAP);
      if (error <= (double)most) continue;
      snprintf(out_text, text_bytes, "bodies %d and %d: a %s by %g m, more than %g", a->id, b->id,
               constraint->is_joint ? "joint is off" : "contact overlaps", error, (double)most);
      return false;
    }
  }
  return true;
}

bool world_check_step(const world *self, const physics_body *before, const physics_action *actions,
                      const physics_body *driven, const island_list *list, const physics_body *after,
                      const physics_observation *seen, world_record *record, char *out_text, size_t text_bytes) {
  if (!check_bodies(self, driven, list, after, out_text, text_bytes)) return false;
  if (!check_distances(list, after, record, out_text, text_bytes)) return false;
  if ((double)list->greatest_overlap > record->overlap) record->overlap = (double)list->greatest_overlap;
  if (list->greatest_overlap > WORLD_LEAST_RADIUS * WORLD_MOST_OVERLAP) {
    snprintf(out_text, text_bytes, "two bodies overlap by %g m", (double)list->greatest_overlap);
    return false;
  }
  double most = kinetic_energy(self, driven), kinetic = kinetic_energy(self, after);
  if (!(kinetic <= most * (1 + WORLD_MOST_ROUNDING) + 1e-9)) {
    snprintf(out_text, text_bytes, "constraints made kinetic energy: %g J of %g", kinetic, most);
    return false;
  }
  if (!(fabs((double)seen->kinetic - kinetic) <= WORLD_MOST_ROUNDING * kinetic + 1e-9)) {
    snprintf(out_text, text_bytes, "the observation has %g J of kinetic energy, not %g", (double)seen->kinetic,
             kinetic);
    return false;
  }
  double weight = 0, work = work_of(self, before, actions);
  for (int32_t i = 0; i < self->count; i++) weight += (double)(mass_of(&after[i]) * self->rules.gravity);
  double gain = (world_energy(self, after) - world_energy(self, before) - work) / weight;
  record->action_work += work;
  if (gain > record->gain) record->gain = gain;
  if (gain <= WORLD_MOST_GAIN) return true;
  snprintf(out_text, text_bytes, "the step made energy: it lifts the world's mass by %g m", gain);
  return false;
}
