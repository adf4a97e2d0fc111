// SPDX-License-Identifier: Apache-2.0
#include "way_steps.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { READS = 1, WRITES = 2, MOST_RESOURCES = JOB_MOST_BUFFERS + JOB_MOST_HOSTS };

// What a step does with each buffer and, behind them, each host memory.
typedef struct touches {
  unsigned char of[MOST_RESOURCES];
} touches;

static touches find_touches(const job_step *step) {
  touches found = {{0}};
  unsigned char *host = &found.of[JOB_MOST_BUFFERS + step->host];
  switch (step->kind) {
  case JOB_COPY_IN:
    *host |= READS;
    found.of[step->buffer] |= WRITES;
    break;
  case JOB_COPY_OUT:
    found.of[step->buffer] |= READS;
    *host |= WRITES;
    break;
  case JOB_KERNEL:
    for (uint32_t i = 0; i < step->arg_count; i++) {
      const job_arg *arg = &step->args[i];
      if (!arg->is_value) found.of[arg->buffer] |= arg->mode == WEIR_READ ? READS : READS | WRITES;
    }
  }
  return found;
}

static bool in_order(const touches *first, const touches *second) {
  for (int i = 0; i < MOST_RESOURCES; i++) {
    unsigned both = first->of[i] | second->of[i];
    if (first->of[i] != 0 && second->of[i] != 0 && (both & WRITES) != 0) return true;
  }
  return false;
}

// follows[s * count + p]: step s comes after step p, maybe through others. Fills `direct` likewise.
static void find_orders(const touches *all, uint32_t count, bool *follows, bool *direct) {
  for (uint32_t s = 0; s < count; s++) {
    bool *mine = follows + (size_t)s * count;
    for (uint32_t p = s; p-- > 0;) {
      if (mine[p] || !in_order(&all[p], &all[s])) continue;
      direct[(size_t)s * count + p] = true;
      mine[p] = true;
      for (uint32_t q = 0; q < p; q++) mine[q] = mine[q] || follows[(size_t)p * count + q];
    }
  }
}

static void list(const bool *direct, way_steps *steps) {
  uint32_t count = steps->count, edges = 0;
  for (uint32_t s = 0; s < count; s++) {
    steps->first_before[s] = edges;
    for (uint32_t p = 0; p < s; p++)
      if (direct[(size_t)s * count + p]) steps->before[edges++] = p;
  }
  steps->first_before[count] = edges;
  edges = 0;
  for (uint32_t p = 0; p < count; p++) {
    steps->first_after[p] = edges;
    for (uint32_t s = p + 1; s < count; s++)
      if (direct[(size_t)s * count + p]) steps->after[edges++] = s;
  }
  steps->first_after[count] = edges;
}

bool way_steps_make(const job_shape *shape, way_steps *out_steps) {
  uint32_t count = shape->step_count;
  size_t pairs = (size_t)count * count;
  *out_steps = (way_steps){.count = count};
  touches *all = calloc((size_t)count + 1, sizeof *all);
  bool *follows = calloc(pairs + 1, sizeof *follows), *direct = calloc(pairs + 1, sizeof *direct);
  out_steps->first_before = calloc((size_t)count + 1, sizeof(uint32_t));
  out_steps->first_after = calloc((size_t)count + 1, sizeof(uint32_t));
  out_steps->before = calloc(pairs + 1, sizeof(uint32_t));
  out_steps->after = calloc(pairs + 1, sizeof(uint32_t));
  bool made = all && follows && direct && out_steps->first_before && out_steps->first_after && out_steps->before &&
              out_steps->after;
  if (made) {
    for (uint32_t s = 0; s < count; s++) all[s] = find_touches(&shape->steps[s]);
    find_orders(all, count, follows, direct);
    list(direct, out_steps);
  } else {
    way_steps_free(out_steps);
  }
  free(all);
  free(follows);
  free(direct);
  return made;
}

void way_steps_free(way_steps *steps) {
  free(steps->first_before);
  free(steps->before);
  free(steps->first_after);
  free(steps->after);
  *steps = (way_steps){0};
}

bool way_device_number(const char *device, const char *kind, uint32_t *out_number, char why[JOB_WHY]) {
  size_t length = strlen(kind);
  char *end = NULL;
  *out_number = 0;
  if (strncmp(device, kind, length) == 0 && device[length] == '\0') return true;
  if (strncmp(device, kind, length) == 0 && device[length] == ':' && device[length + 1] >= '0' &&
      device[length + 1] <= '9') {
    unsigned long number = strtoul(device + length + 1, &end, 10);
    *out_number = (uint32_t)number;
    if (*end == '\0' && number <= 9999) return true;
  }
  return way_refuse(why, "it runs on '%s' and '%s:N', and not on '%.60s'", kind, kind, device);
}

bool way_refuse(char why[JOB_WHY], const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(why, JOB_WHY, format, arguments);
  va_end(arguments);
  return false;
}
