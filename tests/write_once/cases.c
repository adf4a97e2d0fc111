// SPDX-License-Identifier: Apache-2.0
#include "cases.h"

#include <stdio.h>
#include <stdlib.h>

#include "forms.kernels.h"
#include "shared_types.h"

static void *zeroed(size_t bytes) {
  void *memory = calloc(1, bytes);
  if (!memory) abort();
  return memory;
}

static case_arg *add(launch_case *self, bool is_buffer, const void *start, size_t bytes) {
  case_arg *arg = &self->args[self->arg_count++];
  *arg = (case_arg){is_buffer, bytes, zeroed(bytes), zeroed(bytes)};
  if (start) {
    memcpy(arg->start, start, bytes);
    memcpy(arg->expected, start, bytes);
  }
  return arg;
}

// Adds a buffer, zeroed when `start` is NULL, and returns what it should hold in the end, to be filled in.
static void *buffer(launch_case *self, const void *start, size_t bytes) {
  return add(self, true, start, bytes)->expected;
}

static void value(launch_case *self, const void *start, size_t bytes) {
  add(self, false, start, bytes);
}

static uint32_t next_random(uint64_t *state) {
  *state = *state * 6364136223846793005u + 1442695040888963407u;
  return (uint32_t)(*state >> 33);
}

static void random_floats(float *out, int count) {
  uint64_t state = 7;
  for (int i = 0; i < count; i++) out[i] = (float)next_random(&state) / (float)(1u << 30) - 1;
}

static launch_case case_indexes(void) {
  enum { X = 3, Y = 5, Z = 2, SIZE_X = 4, SIZE_Y = 3, SIZE_Z = 2 };
  launch_case self = {.code = &indexes, .groups = {X, Y, Z}};
  int32_t *out = buffer(&self, NULL, sizeof(int32_t) * 3 * X * Y * Z * SIZE_X * SIZE_Y * SIZE_Z);
  const int groups[] = {X, Y, Z}, sizes[] = {SIZE_X, SIZE_Y, SIZE_Z};
  for (int z = 0; z < Z * SIZE_Z; z++) {
    for (int y = 0; y < Y * SIZE_Y; y++) {
      for (int x = 0; x < X * SIZE_X; x++) {
        const int at[] = {x, y, z};
        for (int d = 0; d < 3; d++)
          *out++ = at[d] % sizes[d] + 10 * (at[d] / sizes[d]) + 100 * groups[d] + 1000 * sizes[d];
      }
    }
  }
  return self;
}

static launch_case case_reduce(void) {
  enum { GROUPS = 37 };
  launch_case self = {.code = &reduce, .groups = {GROUPS, 1, 1}};
  float in[128 * GROUPS];
  random_floats(in, 128 * GROUPS);
  buffer(&self, in, sizeof in);
  float *out = buffer(&self, NULL, sizeof(float) * GROUPS);
  for (int group = 0; group < GROUPS; group++) {
    float *sums = &in[128 * group];
    for (int i = 0; i < 128; i++) sums[i] = sums[i] - sums[i] * 0.5f;
    for (int half = 64; half > 0; half /= 2) {
      for (int i = 0; i < half; i++) sums[i] += sums[i + half];
    }
    out[group] = sums[0];
  }
  return self;
}

static launch_case case_transpose(void) {
  enum { ROWS = 45, COLUMNS = 70 };
  launch_case self = {.code = &transpose, .groups = {(COLUMNS + 15) / 16, (ROWS + 15) / 16, 1}};
  float in[ROWS * COLUMNS];
  random_floats(in, ROWS * COLUMNS);
  buffer(&self, in, sizeof in);
  float *out = buffer(&self, NULL, sizeof in);
  for (int row = 0; row < ROWS; row++) {
    for (int column = 0; column < COLUMNS; column++) out[column * ROWS + row] = in[row * COLUMNS + column];
  }
  const int32_t rows = ROWS, columns = COLUMNS;
  value(&self, &rows, sizeof rows);
  value(&self, &columns, sizeof columns);
  return self;
}

static launch_case case_scan(void) {
  enum { GROUPS = 5 };
  launch_case self = {.code = &scan, .groups = {GROUPS, 1, 1}};
  uint32_t start[64 * GROUPS];
  uint64_t state = 3;
  for (int i = 0; i < 64 * GROUPS; i++) start[i] = next_random(&state);
  uint32_t *data = buffer(&self, start, sizeof start);
  for (int i = 0; i < 64 * GROUPS; i++) {
    if (i / 64 != 1 && i % 64 != 0) data[i] += data[i - 1];
  }
  return self;
}

static launch_case case_histogram(void) {
  enum { GROUPS = 29, COUNT = 32 * GROUPS };
  launch_case self = {.code = &histogram, .groups = {GROUPS, 1, 1}};
  uint32_t in[COUNT], counts[10] = {[8] = 1000}, product = 1;
  int32_t extremes[2] = {INT32_MAX, INT32_MIN};
  uint64_t state = 11;
  for (int i = 0; i < COUNT; i++) in[i] = next_random(&state) - (1u << 30);
  buffer(&self, in, sizeof in);
  uint32_t *expected_counts = buffer(&self, counts, sizeof counts);
  int32_t *expected_extremes = buffer(&self, extremes, sizeof extremes);
  uint32_t *expected_product = buffer(&self, &product, sizeof product);
  for (int group = 0; group < GROUPS; group++) {
    uint32_t part[8] = {0};
    for (int i = 32 * group; i < 32 * (group + 1); i++) {
      int32_t number = (int32_t)in[i];
      part[in[i] % 8]++;
      if (number < expected_extremes[0]) expected_extremes[0] = number;
      if (number > expected_extremes[1]) expected_extremes[1] = number;
      *expected_product *= 2 * in[i] + 1;
    }
    for (int bin = 0; bin < 8; bin++) {
      expected_counts[bin] += part[bin];
      if (part[bin] < expected_counts[8]) expected_counts[8] = part[bin];
      if (part[bin] > expected_counts[9]) expected_counts[9] = part[bin];
    }
  }
  return self;
}

static launch_case case_float_sum(void) {
  enum { GROUPS = 23, COUNT = 64 * GROUPS };
  launch_case self = {.code = &float_sum, .groups = {GROUPS, 1, 1}};
  float in[COUNT], sum = 0;
  uint64_t state = 13;
  for (int i = 0; i < COUNT; i++) in[i] = (float)(next_random(&state) % 1000);
  buffer(&self, in, sizeof in);
  float *expected = buffer(&self, &sum, sizeof sum);
  for (int i = 0; i < COUNT; i++) *expected += in[i];
  return self;
}

static void expect_arithmetic(const float *in, int i, const line *of, float *out) {
  static const float weights[4] = {0.1f, 0.2f, 0.3f, 0.7f};
  float x = in[i], weighted = 0;
  for (int k = 0; k < 4; k++) weighted += weights[k] * in[i / 4 * 4 + k];
  out[0] = of->slope * x + of->start;
  out[1] = 1 / (x + 3);
  out[2] = sqrtf(fabsf(x));
  out[3] = fmaf(x, x, -0.1f);
  out[4] = fmaxf(x, 0.25f) - fminf(x, 0.75f);
  out[5] = floorf(8 * x) + ceilf(16 * x);
  out[6] = weighted;
  out[7] = x > 0 ? x : 0;
}

static launch_case case_arithmetic(void) {
  enum { GROUPS = 7, COUNT = 64 * GROUPS };
  launch_case self = {.code = &arithmetic, .groups = {GROUPS, 1, 1}};
  const line of = {.slope = 1.7f, .start = -0.3f, .count = COUNT - 20};
  float in[COUNT];
  double vectors[2 * COUNT];
  random_floats(in, COUNT);
  for (int i = 0; i < 2 * COUNT; i++) vectors[i] = 1.1 * (double)in[i / 2] + i;
  buffer(&self, in, sizeof in);
  buffer(&self, vectors, sizeof vectors);
  float *out = buffer(&self, NULL, sizeof(float) * 8 * COUNT);
  double *lengths = buffer(&self, NULL, sizeof(double) * COUNT);
  value(&self, &of, sizeof of);
  for (int i = 0; i < of.count; i++) {
    double x = vectors[2 * i], y = vectors[2 * i + 1];
    expect_arithmetic(in, i, &of, &out[8 * i]);
    lengths[i] = sqrt(x * x + y * y) / fma(x, 3.0, 7.0);
  }
  return self;
}

static launch_case case_integers(void) {
  enum { COUNT = 32 };
  launch_case self = {.code = &integers, .groups = {1, 1, 1}};
  const int64_t large = -1234567890123456789;
  const uint8_t small = 200;
  const double real = 1e9 / 7;
  const int16_t shift = 5;
  int8_t *a = buffer(&self, NULL, sizeof *a * COUNT);
  uint8_t *b = buffer(&self, NULL, sizeof *b * COUNT);
  int16_t *c = buffer(&self, NULL, sizeof *c * COUNT);
  uint16_t *d = buffer(&self, NULL, sizeof *d * COUNT);
  int32_t *e = buffer(&self, NULL, sizeof *e * COUNT);
  uint32_t *f = buffer(&self, NULL, sizeof *f * COUNT);
  int64_t *g = buffer(&self, NULL, sizeof *g * COUNT);
  uint64_t *h = buffer(&self, NULL, sizeof *h * COUNT);
  value(&self, &large, sizeof large);
  value(&self, &small, sizeof small);
  value(&self, &real, sizeof real);
  value(&self, &shift, sizeof shift);
  for (int i = 0; i < COUNT; i++) {
    a[i] = (int8_t)(i * 3 - shift);
    b[i] = (uint8_t)(i * small);
    c[i] = (int16_t)(i * -1000);
    d[i] = (uint16_t)(i * 2000);
    e[i] = (int32_t)(large >> i) / 3;
    f[i] = (uint32_t)large ^ ((uint32_t)i << shift);
    g[i] = large / (i + 1);
    h[i] = (uint64_t)(real * (i + 1)) << shift;
  }
  return self;
}

static launch_case case_axpy(void) {
  enum { GROUPS = 11, COUNT = 128 * GROUPS };
  launch_case self = {.code = &axpy, .groups = {GROUPS, 1, 1}};
  const float a = 1.3f;
  float x[COUNT], start[COUNT];
  random_floats(x, COUNT);
  for (int i = 0; i < COUNT; i++) start[i] = x[COUNT - 1 - i];
  buffer(&self, x, sizeof x);
  float *y = buffer(&self, start, sizeof start);
  value(&self, &a, sizeof a);
  for (int i = 0; i < COUNT; i++) y[i] = a * x[i] + y[i];
  return self;
}

launch_case case_create(int index) {
  static launch_case (*const cases[CASE_COUNT])(void) = {
      case_indexes,   case_reduce,     case_transpose, case_scan, case_histogram,
      case_float_sum, case_arithmetic, case_integers,  case_axpy,
  };
  return cases[index]();
}

void case_release(launch_case *self) {
  for (uint32_t i = 0; i < self->arg_count; i++) {
    free(self->args[i].start);
    free(self->args[i].expected);
  }
}

bool case_right(const launch_case *self, uint32_t index, const void *contents, const char *device) {
  const unsigned char *is = contents, *should = self->args[index].expected;
  for (size_t i = 0; i < self->args[index].bytes; i++) {
    if (is[i] == should[i]) continue;
    fprintf(stderr, "kernel %s on %s, buffer %u: byte %zu is %#x, not %#x\n", self->code->name, device, index, i, is[i],
            should[i]);
    return false;
  }
  return true;
}
