// SPDX-License-Identifier: Apache-2.0
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "schedule.h"

uint64_t random_next(uint64_t *seed) {
  uint64_t value = (*seed += 0x9e3779b97f4a7c15u);
  value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9u;
  value = (value ^ (value >> 27)) * 0x94d049bb133111ebu;
  return value ^ (value >> 31);
}

uint64_t random_in(uint64_t *seed, uint64_t low, uint64_t high) {
  return low + random_next(seed) % (high - low);
}

uint64_t random_seed(uint64_t fallback) {
  const char *text = getenv("WEIR_TEST_SEED");
  uint64_t seed = text ? strtoull(text, NULL, 10) : fallback;
  printf("WEIR_TEST_SEED=%" PRIu64 "\n", seed);
  return seed;
}

weir__stream *stream_from(const char *text) {
  char message[300];
  weir__stream *stream = NULL;
  if (weir__stream_read_memory("made", text, strlen(text), message, sizeof message, &stream) != WEIR_OK) {
    fprintf(stderr, "%s\n%s\n", message, text);
    abort();
  }
  return stream;
}

typedef struct live_buffer {
  uint64_t id, bytes;
} live_buffer;

static void print_ranges(FILE *out, const char *key, const live_buffer *live, uint32_t count, uint64_t *seed) {
  uint64_t ranges = random_in(seed, 0, 3);
  fprintf(out, "\"%s\":[", key);
  for (uint64_t i = 0; i < ranges; i++) {
    const live_buffer *buffer = &live[random_in(seed, 0, count)];
    bool whole = random_in(seed, 0, 2);
    uint64_t offset = whole ? 0 : random_in(seed, 0, buffer->bytes);
    uint64_t bytes = whole ? buffer->bytes : random_in(seed, 0, buffer->bytes - offset + 1);
    fprintf(out, "%s[%" PRIu64 ",%" PRIu64 ",%" PRIu64 "]", i ? "," : "", buffer->id, offset, bytes);
  }
  fputs("],", out);
}

weir__stream *random_stream(const stream_shape *shape, uint64_t seed) {
  char *text = NULL;
  size_t size = 0;
  FILE *out = open_memstream(&text, &size);
  live_buffer *live = calloc(shape->buffers, sizeof *live);
  if (!out || !live) abort();
  uint64_t next_id = 1;
  fprintf(out, "{\"weir_stream\":1,\"name\":\"random\",\"sms\":4,\"tasks\":%" PRIu32 "}\n", shape->tasks);
  for (uint32_t task = 0; task < shape->tasks; task++) {
    for (uint32_t slot = 0; slot < shape->buffers; slot++) { // the slot decides the address: addresses come back
      if (live[slot].id != 0 && random_in(&seed, 0, 8) != 0) continue;
      if (live[slot].id != 0) fprintf(out, "{\"free\":[%" PRIu64 "]}\n", live[slot].id);
      live[slot] = (live_buffer){next_id++, random_in(&seed, 1, shape->most_bytes + 1)};
      fprintf(out, "{\"buffer\":%" PRIu64 ",\"bytes\":%" PRIu64 ",\"address\":%" PRIu64 "}\n", live[slot].id,
              live[slot].bytes, 4096 + slot * shape->most_bytes);
    }
    fprintf(out, "{\"op\":\"task%" PRIu32 "\",", task);
    print_ranges(out, "reads", live, shape->buffers, &seed);
    print_ranges(out, "writes", live, shape->buffers, &seed);
    if (shape->commutes) print_ranges(out, "commutes", live, shape->buffers, &seed);
    bool waits = shape->host_waits && random_in(&seed, 0, 6) == 0;
    fprintf(out, "\"kernels\":[]%s}\n", waits ? ",\"host_wait\":true" : "");
  }
  fclose(out);
  weir__stream *stream = stream_from(text);
  free(text);
  free(live);
  return stream;
}
