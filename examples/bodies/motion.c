// SPDX-License-Identifier: Apache-2.0
//
// A time step, for every device, in three kernels: `drive` applies actions and gravity, `solve` moves one island, and
// `observe` looks at the whole world. A work-group each. Sums are taken in the same order everywhere, so that all devices
// give the same bits.
#include <weir/kernel.h>

#include "physics.h"

// out[i] = in[order[i]], pushed and pulled down.
WEIR_KERNEL(drive, 32, 1, 1,
            (WEIR_BUFFER(const physics_body, in), WEIR_BUFFER(const int32_t, order),
             WEIR_BUFFER(const physics_action, actions), WEIR_BUFFER(physics_body, out), WEIR_SCALAR(int32_t, count),
             WEIR_SCALAR(physics_rules, rules))) {
  WEIR_FOR_EACH_ITEM_NOWAIT {
    for (int i = weir_local_id(0); i < count; i += 32) {
      physics_body moved = in[order[i]];
      if (moved.inverse_mass > 0) {
        if (moved.actor >= 0) {
          moved.vx += actions[moved.actor].x;
          moved.vy += actions[moved.actor].y;
        }
        moved.vy -= rules.gravity * rules.step;
        float speed = sqrtf(moved.vx * moved.vx + moved.vy * moved.vy);
        if (speed > rules.limit) {
          moved.vx *= rules.limit / speed;
          moved.vy *= rules.limit / speed;
        }
      }
      out[i] = moved;
    }
  }
}

// The impulse that takes a body which may move at `gap` / step towards a wall from its velocity towards it, `approach`; the
// total of the step's impulses is never negative.
WEIR_FUNCTION float wall_impulse(float total, float approach, float free_speed, float inverse_mass) {
  float wanted = total + (approach - free_speed) / inverse_mass;
  return wanted > 0 ? wanted : 0;
}

WEIR_FUNCTION float positive(float number) {
  return number > 0 ? number : 0;
}

// Sequential impulses, then Coulomb friction on the floor, then the step itself, then projection of positions. Constraints of
// one colour, colours[k] to colours[k + 1], have no body in common.
WEIR_KERNEL(solve, 32, 1, 1,
            (WEIR_BUFFER(physics_body, bodies), WEIR_BUFFER(const physics_constraint, constraints),
             WEIR_BUFFER(const int32_t, colours), WEIR_SCALAR(int32_t, count), WEIR_SCALAR(int32_t, colour_count),
             WEIR_SCALAR(physics_rules, rules))) {
  WEIR_LOCAL float x[PHYSICS_MAX_BODIES];
  WEIR_LOCAL float y[PHYSICS_MAX_BODIES];
  WEIR_LOCAL float vx[PHYSICS_MAX_BODIES];
  WEIR_LOCAL float vy[PHYSICS_MAX_BODIES];
  WEIR_LOCAL float inverse_mass[PHYSICS_MAX_BODIES];
  WEIR_LOCAL float radius[PHYSICS_MAX_BODIES];
  WEIR_LOCAL float walls[4][PHYSICS_MAX_BODIES]; // total impulses: left, right, floor, ceiling
  WEIR_LOCAL float normal_x[PHYSICS_MAX_CONSTRAINTS];
  WEIR_LOCAL float normal_y[PHYSICS_MAX_CONSTRAINTS];
  WEIR_LOCAL float free_speed[PHYSICS_MAX_CONSTRAINTS]; // at which a contact may close
  WEIR_LOCAL float total[PHYSICS_MAX_CONSTRAINTS];
  int first = colours[0], last = colours[colour_count];

  WEIR_FOR_EACH_ITEM {
    for (int i = weir_local_id(0); i < count; i += 32) {
      x[i] = bodies[i].x;
      y[i] = bodies[i].y;
      vx[i] = bodies[i].vx;
      vy[i] = bodies[i].vy;
      inverse_mass[i] = bodies[i].inverse_mass;
      radius[i] = bodies[i].radius;
      for (int side = 0; side < 4; side++) walls[side][i] = 0;
    }
  }
  WEIR_FOR_EACH_ITEM {
    for (int c = first + weir_local_id(0); c < last; c += 32) {
      int a = constraints[c].a, b = constraints[c].b;
      float dx = x[b] - x[a], dy = y[b] - y[a];
      float distance = sqrtf(dx * dx + dy * dy);
      normal_x[c] = distance > 0 ? dx / distance : 0;
      normal_y[c] = distance > 0 ? dy / distance : 1;
      free_speed[c] = constraints[c].is_joint ? 0 : positive(distance - constraints[c].length) / rules.step;
      total[c] = 0;
    }
  }
  for (int round = 0; round < PHYSICS_VELOCITY_ROUNDS; round++) {
    for (int colour = 0; colour < colour_count; colour++) {
      WEIR_FOR_EACH_ITEM {
        for (int c = colours[colour] + weir_local_id(0); c < colours[colour + 1]; c += 32) {
          int a = constraints[c].a, b = constraints[c].b;
          float mass = inverse_mass[a] + inverse_mass[b];
          if (mass > 0) {
            float apart = (vx[b] - vx[a]) * normal_x[c] + (vy[b] - vy[a]) * normal_y[c];
            float wanted = total[c] - (apart + free_speed[c]) / mass;
            if (!constraints[c].is_joint) wanted = positive(wanted);
            float impulse = wanted - total[c];
            total[c] = wanted;
            vx[a] -= impulse * inverse_mass[a] * normal_x[c];
            vy[a] -= impulse * inverse_mass[a] * normal_y[c];
            vx[b] += impulse * inverse_mass[b] * normal_x[c];
            vy[b] += impulse * inverse_mass[b] * normal_y[c];
          }
        }
      }
    }
    WEIR_FOR_EACH_ITEM {
      for (int i = weir_local_id(0); i < count; i += 32) {
        float w = inverse_mass[i];
        if (w > 0) {
          float left = positive(x[i] - radius[i]) / rules.step, below = positive(y[i] - radius[i]) / rules.step;
          float right = positive(rules.width - radius[i] - x[i]) / rules.step;
          float above = positive(rules.height - radius[i] - y[i]) / rules.step;
          float impulse = wall_impulse(walls[0][i], -vx[i], left, w);
          vx[i] += (impulse - walls[0][i]) * w;
          walls[0][i] = impulse;
          impulse = wall_impulse(walls[1][i], vx[i], right, w);
          vx[i] -= (impulse - walls[1][i]) * w;
          walls[1][i] = impulse;
          impulse = wall_impulse(walls[2][i], -vy[i], below, w);
          vy[i] += (impulse - walls[2][i]) * w;
          walls[2][i] = impulse;
          impulse = wall_impulse(walls[3][i], vy[i], above, w);
          vy[i] -= (impulse - walls[3][i]) * w;
          walls[3][i] = impulse;
        }
      }
    }
  }
  WEIR_FOR_EACH_ITEM {
    for (int i = weir_local_id(0); i < count; i += 32) {
      float most = rules.friction * walls[2][i] * inverse_mass[i];
      vx[i] = vx[i] > most ? vx[i] - most : vx[i] < -most ? vx[i] + most : 0;
      x[i] += rules.step * vx[i];
      y[i] += rules.step * vy[i];
    }
  }
  for (int round = 0; round < PHYSICS_POSITION_ROUNDS; round++) {
    for (int colour = 0; colour < colour_count; colour++) {
      WEIR_FOR_EACH_ITEM {
        for (int c = colours[colour] + weir_local_id(0); c < colours[colour + 1]; c += 32) {
          int a = constraints[c].a, b = constraints[c].b;
          float mass = inverse_mass[a] + inverse_mass[b];
          float dx = x[b] - x[a], dy = y[b] - y[a];
          float distance = sqrtf(dx * dx + dy * dy), error = distance - constraints[c].length;
          if (mass > 0 && distance > 0 && (error < 0 || constraints[c].is_joint)) {
            float share = error / (mass * distance);
            x[a] += share * inverse_mass[a] * dx;
            y[a] += share * inverse_mass[a] * dy;
            x[b] -= share * inverse_mass[b] * dx;
            y[b] -= share * inverse_mass[b] * dy;
          }
        }
      }
    }
    WEIR_FOR_EACH_ITEM {
      for (int i = weir_local_id(0); i < count; i += 32) {
        if (inverse_mass[i] > 0) {
          float right = rules.width - radius[i], top = rules.height - radius[i];
          x[i] = x[i] < radius[i] ? radius[i] : x[i] > right ? right : x[i];
          y[i] = y[i] < radius[i] ? radius[i] : y[i] > top ? top : y[i];
        }
      }
    }
  }
  WEIR_FOR_EACH_ITEM_NOWAIT {
    for (int i = weir_local_id(0); i < count; i += 32) {
      bodies[i].x = x[i];
      bodies[i].y = y[i];
      bodies[i].vx = vx[i];
      bodies[i].vy = vy[i];
    }
  }
}

enum { REWARD, MOMENTUM, KINETIC, POTENTIAL, MEAN_X, MEAN_Y, HIGHEST, ACTOR_HEIGHT, ACTORS, MASS, FIELDS };

WEIR_KERNEL(observe, 32, 1, 1,
            (WEIR_BUFFER(const physics_body, bodies), WEIR_BUFFER(physics_observation, out),
             WEIR_SCALAR(int32_t, count), WEIR_SCALAR(physics_rules, rules))) {
  WEIR_LOCAL float fields[FIELDS][32];
  WEIR_FOR_EACH_ITEM {
    int item = weir_local_id(0);
    for (int k = 0; k < FIELDS; k++) fields[k][item] = 0;
    for (int i = item; i < count; i += 32) {
      float mass = bodies[i].inverse_mass > 0 ? 1 / bodies[i].inverse_mass : 0;
      float vx = bodies[i].vx, vy = bodies[i].vy, top = bodies[i].y + bodies[i].radius;
      fields[REWARD][item] += vx;
      fields[MOMENTUM][item] += mass * vy;
      fields[KINETIC][item] += 0.5f * mass * (vx * vx + vy * vy);
      fields[POTENTIAL][item] += mass * rules.gravity * bodies[i].y;
      fields[MEAN_X][item] += bodies[i].x;
      fields[MEAN_Y][item] += bodies[i].y;
      if (top > fields[HIGHEST][item]) fields[HIGHEST][item] = top;
      if (bodies[i].actor >= 0) {
        fields[ACTOR_HEIGHT][item] += bodies[i].y;
        fields[ACTORS][item] += 1;
      }
      fields[MASS][item] += mass;
    }
  }
  for (int width = 16; width > 0; width /= 2) {
    WEIR_FOR_EACH_ITEM {
      int item = weir_local_id(0);
      if (item < width) {
        for (int k = 0; k < FIELDS; k++) {
          float other = fields[k][item + width];
          if (k != HIGHEST) fields[k][item] += other;
          if (k == HIGHEST && other > fields[k][item]) fields[k][item] = other;
        }
      }
    }
  }
  WEIR_FOR_EACH_ITEM_NOWAIT {
    if (weir_local_id(0) == 0) {
      float number = (float)count, actors = fields[ACTORS][0], mass = fields[MASS][0];
      out[0].reward = fields[REWARD][0] / number;
      out[0].momentum_y = mass > 0 ? fields[MOMENTUM][0] / mass : 0;
      out[0].kinetic = fields[KINETIC][0];
      out[0].potential = fields[POTENTIAL][0];
      out[0].mean_x = fields[MEAN_X][0] / number;
      out[0].mean_y = fields[MEAN_Y][0] / number;
      out[0].highest = fields[HIGHEST][0];
      out[0].actor_height = actors > 0 ? fields[ACTOR_HEIGHT][0] / actors : 0;
    }
  }
}
