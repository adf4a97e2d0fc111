// SPDX-License-Identifier: Apache-2.0
#include "patterns.h"

#include <math.h>
#include <string.h>

#include "weir/sim.h"

#define TRY(call)                                                                                                      \
  do {                                                                                                                 \
    if ((call) != WEIR_OK) return false;                                                                               \
  } while (0)

static bool make_kernel(weir_context *context, const char *name, weir_function function, double us, double group_us,
                        weir_kernel **out_kernel) {
  weir_sim_launch launch = {.blocks = 8, .threads = 128, .us = us, .group_us = group_us};
  TRY(weir_kernel_create(context, name, out_kernel));
  TRY(weir_kernel_set_cpu(*out_kernel, function));
  TRY(weir_kernel_set_sim(*out_kernel, &launch, 1));
  return true;
}

// Bodies in blocks, which attract each other: a task for each pair of blocks adds to the forces of both.

enum { BLOCKS = 10, BODIES = 128, STEPS = 6 };

typedef struct body {
  float x, y, z;
} body;

#define BLOCK_BYTES (BODIES * sizeof(body))

static void attract(const body *a, const body *b, body *on_a, body *on_b) {
  float x = b->x - a->x, y = b->y - a->y, z = b->z - a->z;
  float square = x * x + y * y + z * z + 1e-3f, by = 1 / (square * sqrtf(square));
  *on_a = (body){on_a->x + by * x, on_a->y + by * y, on_a->z + by * z};
  *on_b = (body){on_b->x - by * x, on_b->y - by * y, on_b->z - by * z};
}

static void attract_blocks(const weir_work *work) {
  const body *a = work->args[0], *b = work->args[1];
  body *on_a = work->args[2], *on_b = work->args[3];
  for (int i = 0; i < BODIES; i++) {
    for (int j = 0; j < BODIES; j++) attract(&a[i], &b[j], &on_a[i], &on_b[j]);
  }
}

static void move(const weir_work *work) {
  const body *force = work->args[0];
  body *at = work->args[1];
  for (int i = 0; i < BODIES; i++)
    at[i] = (body){at[i].x + 1e-9f * force[i].x, at[i].y + 1e-9f * force[i].y, at[i].z + 1e-9f * force[i].z};
}

static body start_of(int block, int index) {
  uint32_t n = (uint32_t)(block * BODIES + index);
  return (body){(float)(n * 2654435761U % 1009) / 1009, (float)(n * 40503U % 997) / 997, (float)(n % 89) / 89};
}

static bool submit_steps(weir_context *context, add_argument adds, weir_buffer **at, weir_buffer *force) {
  weir_kernel *attracts, *moves;
  if (!make_kernel(context, "attract", attract_blocks, 40, 0, &attracts) ||
      !make_kernel(context, "move", move, 5, 0, &moves))
    return false;
  for (int step = 0; step < STEPS; step++) {
    TRY(weir_fill(force, 0, WEIR_WHOLE, 0, NULL));
    for (uint32_t i = 0; i < BLOCKS; i++) {
      for (uint32_t j = i + 1; j < BLOCKS; j++) {
        weir_arg args[] = {weir_reads(at[i]), weir_reads(at[j]),
                           adds(force, i * BLOCK_BYTES, BLOCK_BYTES, WEIR_REDUCE_F32),
                           adds(force, j * BLOCK_BYTES, BLOCK_BYTES, WEIR_REDUCE_F32)};
        TRY(weir_submit(context, &(weir_task){.kernel = attracts, .args = args, .arg_count = 4}, NULL));
      }
    }
    for (uint32_t i = 0; i < BLOCKS; i++) {
      weir_arg args[] = {weir_reads_range(force, i * BLOCK_BYTES, BLOCK_BYTES), weir_updates(at[i])};
      TRY(weir_submit(context, &(weir_task){.kernel = moves, .args = args, .arg_count = 2}, NULL));
    }
  }
  return true;
}

// Forces add up to nothing.
static bool is_balanced(const body forces[BLOCKS][BODIES]) {
  double sum = 0, size = 0;
  for (int i = 0; i < BLOCKS; i++) {
    for (int j = 0; j < BODIES; j++) {
      sum += (double)forces[i][j].x;
      size += fabs((double)forces[i][j].x);
    }
  }
  return size > 0 && fabs(sum) < 1e-3 * size;
}

static bool run_bodies(weir_context *context, add_argument adds, uint64_t *out_ns, bool *out_right) {
  static body start[BLOCKS][BODIES], forces[BLOCKS][BODIES];
  weir_buffer *at[BLOCKS], *force;
  TRY(weir_buffer_create(context, sizeof forces, &force));
  for (int i = 0; i < BLOCKS; i++) {
    for (int j = 0; j < BODIES; j++) start[i][j] = start_of(i, j);
    TRY(weir_buffer_create(context, sizeof start[i], &at[i]));
    TRY(weir_copy_in(at[i], 0, WEIR_WHOLE, start[i], NULL));
  }
  TRY(weir_finish(context));
  weir_device *device = weir_context_device(context, 0);
  uint64_t begin = weir_device_time(device);
  if (!submit_steps(context, adds, at, force)) return false;
  TRY(weir_finish(context));
  *out_ns = weir_device_time(device) - begin;
  TRY(weir_read(force, 0, WEIR_WHOLE, forces));
  *out_right = is_balanced((const body(*)[BODIES])forces);
  return true;
}

// A histogram of many pieces of data: a task counts one piece.

enum { PIECES = 200, PIECE_BYTES = 128 << 10, BINS = 256 };

static void count(const weir_work *work) {
  const unsigned char *bytes = work->args[0];
  uint32_t *bins = work->args[1];
  for (int i = 0; i < PIECE_BYTES; i++) bins[bytes[i]]++;
}

static bool run_histogram(weir_context *context, add_argument adds, uint64_t *out_ns, bool *out_right) {
  static unsigned char data[4][PIECE_BYTES];
  uint32_t wanted[BINS] = {0}, found[BINS];
  weir_buffer *pieces[4], *bins;
  weir_kernel *counts;
  for (uint32_t i = 0; i < 4; i++) {
    for (uint32_t j = 0; j < PIECE_BYTES; j++) wanted[data[i][j] = (unsigned char)((j * 2654435761U + i) >> 13)]++;
    TRY(weir_buffer_create(context, PIECE_BYTES, &pieces[i]));
    TRY(weir_copy_in(pieces[i], 0, WEIR_WHOLE, data[i], NULL));
  }
  TRY(weir_buffer_create(context, sizeof found, &bins));
  if (!make_kernel(context, "count", count, 40, 0, &counts)) return false;
  TRY(weir_finish(context));
  weir_device *device = weir_context_device(context, 0);
  uint64_t begin = weir_device_time(device);
  TRY(weir_fill(bins, 0, WEIR_WHOLE, 0, NULL));
  for (int i = 0; i < PIECES; i++) {
    weir_arg args[] = {weir_reads(pieces[i % 4]), adds(bins, 0, WEIR_WHOLE, WEIR_REDUCE_U32)};
    TRY(weir_submit(context, &(weir_task){.kernel = counts, .args = args, .arg_count = 2}, NULL));
  }
  TRY(weir_read(bins, 0, WEIR_WHOLE, found));
  *out_ns = weir_device_time(device) - begin;
  for (int i = 0; i < BINS; i++) wanted[i] *= PIECES / 4;
  *out_right = memcmp(wanted, found, sizeof wanted) == 0;
  return true;
}

// Gradients of batches, of which a few take long: each is added to one sum when it is there.

enum { BATCHES = 80, LONG_ONE_IN = 20, LONG = 40, FLOATS = 16 << 10 };

static void gradient(const weir_work *work) {
  float *to = work->args[0];
  if (work->first != 0) return; // the work-groups say how long it takes
  for (uint32_t round = 0; round < work->groups[0]; round++) {
    for (int i = 0; i < FLOATS; i++) to[i] = sqrtf(((float)round + to[i]) * 0.5f);
  }
  for (int i = 0; i < FLOATS; i++) to[i] = (float)(i % 7);
}

static void add(const weir_work *work) {
  const float *from = work->args[0];
  float *to = work->args[1];
  for (int i = 0; i < FLOATS; i++) to[i] += from[i];
}

static bool run_gradients(weir_context *context, add_argument adds, uint64_t *out_ns, bool *out_right) {
  static float found[FLOATS];
  weir_buffer *sum, *parts[BATCHES];
  weir_kernel *computes, *adding;
  if (!make_kernel(context, "gradient", gradient, 2, 10, &computes) || !make_kernel(context, "add", add, 8, 0, &adding))
    return false;
  TRY(weir_buffer_create(context, sizeof found, &sum));
  for (int i = 0; i < BATCHES; i++) TRY(weir_buffer_create(context, sizeof found, &parts[i]));
  weir_device *device = weir_context_device(context, 0);
  uint64_t begin = weir_device_time(device);
  TRY(weir_fill(sum, 0, WEIR_WHOLE, 0, NULL));
  for (uint32_t i = 0; i < BATCHES; i++) {
    weir_arg made = weir_writes(parts[i]);
    weir_arg args[] = {weir_reads(parts[i]), adds(sum, 0, WEIR_WHOLE, WEIR_REDUCE_F32)};
    weir_task task = {.kernel = computes, .args = &made, .arg_count = 1, .groups = {i % LONG_ONE_IN == 0 ? LONG : 1}};
    TRY(weir_submit(context, &task, NULL));
    TRY(weir_submit(context, &(weir_task){.kernel = adding, .args = args, .arg_count = 2}, NULL));
  }
  TRY(weir_read(sum, 0, WEIR_WHOLE, found));
  *out_ns = weir_device_time(device) - begin;
  *out_right = true;
  for (int i = 0; i < FLOATS; i++) *out_right = *out_right && found[i] == (float)(i % 7 * BATCHES);
  return true;
}

const pattern patterns[] = {{"bodies", run_bodies}, {"gradients", run_gradients}, {"histogram", run_histogram}};
const uint32_t pattern_count = sizeof patterns / sizeof *patterns;
