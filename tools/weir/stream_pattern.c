// SPDX-License-Identifier: Apache-2.0
#include "stream_pattern.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "taskbench.h"

enum { MOST_STEPS = 100000, MOST_WIDTH = 1 << 20, MOST_TASKS = 1 << 23, IN_LINE = 1000, NAME = 32 };
static const char prefix[] = "pattern:";

typedef struct pattern_form {
  char name[NAME];
  double width, steps, us, bytes;
} pattern_form;

static bool take_number(const char *text, size_t length, double least, double most, double *out_number) {
  char *end = NULL;
  double number = strtod(text, &end);
  *out_number = number;
  return end == text + length && length > 0 && number >= least && number <= most;
}

// One "KEY=VALUE" of `length` bytes.
static bool take_setting(const char *text, size_t length, pattern_form *pattern) {
  const struct {
    const char *key;
    double *value, least, most;
  } known[] = {{"width=", &pattern->width, 1, MOST_WIDTH},
               {"steps=", &pattern->steps, 1, MOST_STEPS},
               {"us=", &pattern->us, 0, 1e6},
               {"bytes=", &pattern->bytes, 1, 1e12}};
  for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
    size_t own = strlen(known[i].key);
    if (length < own || strncmp(text, known[i].key, own) != 0) continue;
    return take_number(text + own, length - own, known[i].least, known[i].most, known[i].value) &&
           (known[i].value == &pattern->us || floor(*known[i].value) == *known[i].value);
  }
  return false;
}

static bool parse(const char *text, pattern_form *pattern) {
  *pattern = (pattern_form){.width = WEIR__BENCH_WIDTH, .steps = 100, .us = 10, .bytes = 64};
  size_t length = strcspn(text, ",");
  if (length >= NAME) return false;
  memcpy(pattern->name, text, length);
  for (text += length; *text == ','; text += length) {
    length = strcspn(++text, ",");
    if (!take_setting(text, length, pattern)) return false;
  }
  return true;
}

// The number of a point's buffer, from 1. Every row has all, so that the index says the point.
static int64_t buffer_of(const weir__bench_grid *grid, int64_t step, int64_t point) {
  return step * grid->width + point + 1;
}

static void write_task(const weir__bench_grid *grid, const pattern_form *pattern, int64_t step, int64_t point,
                       FILE *file) {
  weir__bench_inputs inputs = weir__bench_grid_inputs(grid, step, point);
  uint64_t bytes = (uint64_t)pattern->bytes;
  fprintf(file, "{\"op\":\"%s %" PRId64 ".%" PRId64 "\",\"reads\":[", pattern->name, step, point);
  for (uint8_t i = 0; i < inputs.count; i++)
    fprintf(file, "%s[%" PRId64 ",0,%" PRIu64 "]", i ? "," : "", buffer_of(grid, step - 1, inputs.points[i]), bytes);
  fprintf(file, "],\"writes\":[[%" PRId64 ",0,%" PRIu64 "]],\"kernels\":[{\"name\":\"%s\",\"grid\":[1,1,1],",
          buffer_of(grid, step, point), bytes, pattern->name);
  fprintf(file, "\"block\":[1,1,1],\"regs\":1,\"smem\":0,\"us\":%.3f}]}\n", pattern->us);
}

static void write_step(const weir__bench_grid *grid, const pattern_form *pattern, int64_t step, FILE *file) {
  uint64_t bytes = (uint64_t)pattern->bytes;
  for (int64_t point = 0; point < grid->width; point++)
    fprintf(file, "{\"buffer\":%" PRId64 ",\"bytes\":%" PRIu64 ",\"address\":%" PRIu64 "}\n",
            buffer_of(grid, step, point), bytes, (uint64_t)buffer_of(grid, step, point) * bytes);
  int64_t end = weir__bench_end_point(grid, step);
  for (int64_t point = weir__bench_first_point(grid, step); point < end; point++)
    write_task(grid, pattern, step, point, file);
  if (step == 0) return;
  for (int64_t point = 0; point < grid->width; point++)
    fprintf(file, "%s%" PRId64 "%s", point % IN_LINE == 0 ? "{\"free\":[" : ",", buffer_of(grid, step - 1, point),
            point % IN_LINE + 1 == IN_LINE || point + 1 == grid->width ? "]}\n" : "");
}

static weir_status no_memory(const char *path, char *message, size_t message_size) {
  snprintf(message, message_size, "%s: out of memory", path);
  return WEIR_ERROR_OUT_OF_MEMORY;
}

static weir_status make(const char *path, const pattern_form *pattern, char *message, size_t message_size,
                        weir__stream **out_stream) {
  weir__bench_grid grid;
  char *text = NULL;
  size_t bytes = 0;
  if (pattern->width * pattern->steps > MOST_TASKS) {
    snprintf(message, message_size, "%s: has more than %d tasks", path, MOST_TASKS);
    return WEIR_ERROR_INVALID_ARGUMENT;
  }
  if (!weir__bench_grid_shape(&grid, pattern->name, (int64_t)pattern->width, (int64_t)pattern->steps)) {
    int used = snprintf(message, message_size, "%s: there is no pattern \"%s\", but", path, pattern->name);
    for (size_t i = 0; weir__bench_patterns[i] != NULL && used > 0 && (size_t)used < message_size; i++)
      used += snprintf(message + used, message_size - (size_t)used, "%s %s", i ? "," : "", weir__bench_patterns[i]);
    return WEIR_ERROR_INVALID_ARGUMENT;
  }
  FILE *file = open_memstream(&text, &bytes);
  if (file != NULL) {
    fprintf(file, "{\"weir_stream\":1,\"name\":\"%s\",\"sms\":1,\"tasks\":%" PRId64 "}\n", pattern->name,
            grid.task_count);
    for (int64_t step = 0; step < grid.steps; step++) write_step(&grid, pattern, step, file);
  }
  bool written = file != NULL && !ferror(file);
  if (file == NULL || fclose(file) != 0 || !written) {
    free(text);
    return no_memory(path, message, message_size);
  }
  weir_status status = weir__stream_read_memory(path, text, bytes, message, message_size, out_stream);
  free(text);
  return status;
}

uint64_t weir__stream_pattern_width(const char *path) {
  pattern_form pattern;
  bool right = strncmp(path, prefix, sizeof prefix - 1) == 0 && parse(path + sizeof prefix - 1, &pattern);
  return right ? (uint64_t)pattern.width : 0;
}

weir_status weir__stream_read_any(const char *path, char *message, size_t message_size, weir__stream **out_stream) {
  pattern_form pattern;
  *out_stream = NULL;
  if (strncmp(path, prefix, sizeof prefix - 1) != 0) return weir__stream_read(path, message, message_size, out_stream);
  if (parse(path + sizeof prefix - 1, &pattern)) return make(path, &pattern, message, message_size, out_stream);
  snprintf(message, message_size, "%s: not of the form " WEIR__STREAM_PATTERN, path);
  return WEIR_ERROR_INVALID_ARGUMENT;
}
