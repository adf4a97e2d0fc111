// SPDX-License-Identifier: Apache-2.0
#include "islands.h"

#include <math.h>

enum { MAX_COLOURS = 64 }; // a body with more neighbours than that is refused

// Bodies and constraints while islands are found. Bodies are named by id.
typedef struct finder {
  const physics_body *bodies;
  int32_t count;
  int32_t place_of[PHYSICS_MAX_BODIES];  // by id: where in the state
  int32_t joined_to[PHYSICS_MAX_BODIES]; // by id: `a` of the joint whose `b` it is; -1: none
  int32_t parent[PHYSICS_MAX_BODIES];    // union-find; a root is the least id of its set
  uint64_t colours[PHYSICS_MAX_BODIES];  // of the constraints that the body has
  physics_constraint found[PHYSICS_MAX_CONSTRAINTS];
  int32_t colour_of[PHYSICS_MAX_CONSTRAINTS];
  int32_t found_count;
} finder;

static int32_t root_of(finder *self, int32_t id) {
  while (self->parent[id] != id) {
    self->parent[id] = self->parent[self->parent[id]];
    id = self->parent[id];
  }
  return id;
}

static void unite(finder *self, int32_t a, int32_t b) {
  int32_t first = root_of(self, a), second = root_of(self, b);
  if (first < second) self->parent[second] = first;
  if (second < first) self->parent[first] = second;
}

// Adds a constraint with the least colour that neither body has.
static bool add(finder *self, int32_t a, int32_t b, float length, bool is_joint) {
  uint64_t used = self->colours[a] | self->colours[b];
  int32_t colour = 0;
  while (colour < MAX_COLOURS && (used >> colour & 1)) colour++;
  if (colour == MAX_COLOURS || self->found_count == PHYSICS_MAX_CONSTRAINTS) return false;
  self->colours[a] |= (uint64_t)1 << colour;
  self->colours[b] |= (uint64_t)1 << colour;
  self->colour_of[self->found_count] = colour;
  self->found[self->found_count++] = (physics_constraint){.a = a, .b = b, .length = length, .is_joint = is_joint};
  unite(self, a, b);
  return true;
}

static bool has_joint(const finder *self, int32_t a, int32_t b) {
  return self->joined_to[a] == b || self->joined_to[b] == a;
}

bool islands_may_touch(const physics_body *a, const physics_body *b, const physics_rules *rules) {
  float dx = b->x - a->x, dy = b->y - a->y, least = a->radius + b->radius;
  float distance = sqrtf(dx * dx + dy * dy);
  float closing = -((b->vx - a->vx) * dx + (b->vy - a->vy) * dy); // times the distance
  float reach = rules->step * rules->limit;                       // either may be hit by another one
  if (closing > 0 && distance > 0) reach += rules->step * closing / distance;
  return distance < least + reach;
}

// Sorts places by the left end of what a body can reach, and looks at those only that overlap from left to right.
static bool find_contacts(finder *self, const physics_rules *rules, float *out_overlap) {
  int32_t sorted[PHYSICS_MAX_BODIES];
  float left[PHYSICS_MAX_BODIES], right[PHYSICS_MAX_BODIES];
  *out_overlap = 0;
  for (int32_t i = 0; i < self->count; i++) {
    const physics_body *body = &self->bodies[i];
    float reach = body->radius + rules->step * (rules->limit + fabsf(body->vx) + fabsf(body->vy));
    left[i] = body->x - reach;
    right[i] = body->x + reach;
    int32_t at = i;
    for (; at > 0 && (left[sorted[at - 1]] > left[i] ||
                      (left[sorted[at - 1]] == left[i] && self->bodies[sorted[at - 1]].id > body->id));
         at--) {
      sorted[at] = sorted[at - 1];
    }
    sorted[at] = i;
  }
  for (int32_t i = 0; i < self->count; i++) {
    const physics_body *a = &self->bodies[sorted[i]];
    for (int32_t k = i + 1; k < self->count && left[sorted[k]] <= right[sorted[i]]; k++) {
      const physics_body *b = &self->bodies[sorted[k]];
      if (!islands_may_touch(a, b, rules) || has_joint(self, a->id, b->id)) continue;
      float least = a->radius + b->radius, overlap = least - hypotf(b->x - a->x, b->y - a->y);
      if (overlap > *out_overlap) *out_overlap = overlap;
      if (!add(self, a->id, b->id, least, false)) return false;
    }
  }
  return true;
}

// Puts bodies in the order of their islands, islands in the order of their least id.
static void list_bodies(finder *self, island_list *out_list, int32_t *out_new_place) {
  int32_t next = 0;
  for (int32_t root = 0; root < self->count; root++) {
    if (root_of(self, root) != root) continue;
    island *made = &out_list->islands[out_list->count];
    *made = (island){.first_body = next};
    for (int32_t id = root; id < self->count; id++) {
      if (root_of(self, id) != root) continue;
      out_list->island_of[self->place_of[id]] = out_list->count;
      out_list->order[next] = self->place_of[id];
      out_new_place[id] = next++;
    }
    made->body_count = next - made->first_body;
    out_list->count++;
  }
}

// Writes an island's constraints, which `members` names, sorted by colour.
static void list_island(const finder *self, int32_t *members, const int32_t *new_place, island *made,
                        island_list *out_list) {
  for (int32_t i = 1; i < made->constraint_count; i++) {
    int32_t member = members[i], at = i;
    for (; at > 0 && self->colour_of[members[at - 1]] > self->colour_of[member]; at--) members[at] = members[at - 1];
    members[at] = member;
  }
  made->first_colour = out_list->colour_entries;
  for (int32_t i = 0; i < made->constraint_count; i++) {
    if (self->colour_of[members[i]] == made->colour_count) {
      made->colour_count++;
      out_list->colours[out_list->colour_entries++] = i;
    }
    physics_constraint *to = &out_list->constraints[made->first_constraint + i];
    *to = self->found[members[i]];
    to->a = new_place[to->a] - made->first_body;
    to->b = new_place[to->b] - made->first_body;
  }
  out_list->colours[out_list->colour_entries++] = made->constraint_count;
}

static void list_constraints(const finder *self, island_list *out_list, const int32_t *new_place) {
  int32_t members[PHYSICS_MAX_CONSTRAINTS];
  for (int32_t c = 0; c < self->found_count; c++) {
    out_list->islands[out_list->island_of[self->place_of[self->found[c].a]]].constraint_count++;
  }
  for (int32_t i = 0; i < out_list->count; i++) {
    out_list->islands[i].first_constraint = out_list->constraint_count;
    out_list->constraint_count += out_list->islands[i].constraint_count;
    out_list->islands[i].constraint_count = 0;
  }
  for (int32_t c = 0; c < self->found_count; c++) {
    island *made = &out_list->islands[out_list->island_of[self->place_of[self->found[c].a]]];
    members[made->first_constraint + made->constraint_count++] = c;
  }
  for (int32_t i = 0; i < out_list->count; i++) {
    island *made = &out_list->islands[i];
    list_island(self, members + made->first_constraint, new_place, made, out_list);
  }
}

bool islands_find(const physics_body *bodies, int32_t count, const joint *joints, int32_t joint_count,
                  const physics_rules *rules, island_list *out_list) {
  finder self;
  self.bodies = bodies;
  self.count = count;
  self.found_count = 0;
  for (int32_t i = 0; i < count; i++) {
    self.place_of[bodies[i].id] = i;
    self.parent[i] = i;
    self.joined_to[i] = -1;
    self.colours[i] = 0;
  }
  out_list->count = 0;
  out_list->constraint_count = 0;
  out_list->colour_entries = 0;
  for (int32_t i = 0; i < joint_count; i++) {
    self.joined_to[joints[i].b] = joints[i].a;
    if (!add(&self, joints[i].a, joints[i].b, joints[i].length, true)) return false;
  }
  if (!find_contacts(&self, rules, &out_list->greatest_overlap)) return false;
  int32_t new_place[PHYSICS_MAX_BODIES];
  list_bodies(&self, out_list, new_place);
  list_constraints(&self, out_list, new_place);
  return true;
}
