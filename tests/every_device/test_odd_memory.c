// SPDX-License-Identifier: Apache-2.0
//
// Memory of the caller's that begins at any address: filled, copied to and from, by tasks and by graphs.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "planted.h"
#include "weir/graph.h"

enum { BYTES = 64, MOST = 24 };

static const char *devices;

typedef struct place {
  weir_context *context;
  weir_device *device;
  weir_buffer *buffer;
  uint64_t offset, bytes; // of the range in the buffer
} place;

static void by_task(const place *at, uint32_t pattern) {
  weir_event *event;
  planted_ok(weir_fill(at->buffer, at->offset, at->bytes, pattern, &event));
  planted_expect(event, "fill", (const char *const[]){NULL});
}

static void by_graph(const place *at, uint32_t pattern) {
  weir_graph *graph;
  weir_event *event;
  planted_ok(weir_graph_create(at->context, &(weir_graph_options){.device = at->device}, &graph));
  planted_ok(weir_graph_fill(graph, at->buffer, at->offset, at->bytes, pattern, NULL));
  planted_ok(weir_graph_launch(graph, &event));
  planted_expect(event, "fill of a graph", (const char *const[]){NULL});
  planted_ok(weir_graph_release(graph));
}

static void copy_by_graph(const place *at, uint32_t pattern) {
  uint32_t words[MOST / 4];
  for (uint32_t i = 0; i < MOST / 4; i++) words[i] = pattern;
  weir_graph *graph;
  weir_event *event;
  planted_ok(weir_graph_create(at->context, &(weir_graph_options){.device = at->device}, &graph));
  planted_ok(weir_graph_copy_in(graph, at->buffer, at->offset, at->bytes, words, NULL));
  planted_ok(weir_graph_launch(graph, &event));
  planted_expect(event, "copy of a graph", (const char *const[]){NULL});
  planted_ok(weir_graph_release(graph));
}

static void check(weir_context *context, uint32_t shift, uint64_t offset, uint64_t bytes,
                  void (*fill)(const place *, uint32_t)) {
  enum { BEFORE = 0xa5, PATTERN = 0x04030201 };
  uint8_t memory[BYTES] __attribute__((aligned(64))), expected[BYTES];
  memset(memory, BEFORE, sizeof memory);
  memset(expected, BEFORE, sizeof expected);
  for (uint64_t i = 0; i < bytes; i++) expected[shift + offset + i] = (uint8_t)(i % 4 + 1);
  place at = {.context = context, .device = weir_context_device(context, 0), .offset = offset, .bytes = bytes};
  planted_ok(weir_buffer_wrap(context, memory + shift, BYTES - shift, &at.buffer));
  fill(&at, PATTERN);
  planted_ok(weir_finish(context));
  uint8_t found[BYTES];
  planted_ok(weir_read(at.buffer, 0, WEIR_WHOLE, found));
  assert_memory_equal(found, expected + shift, BYTES - shift);
  assert_memory_equal(memory, expected, BYTES);
  planted_ok(weir_buffer_release(at.buffer));
}

static void at_all_addresses(void **state) {
  (void)state;
  weir_context *context = NULL;
  weir_status status = weir_context_create(&(weir_context_options){.devices = devices}, &context);
  if (status == WEIR_ERROR_UNAVAILABLE) {
    printf("skipped: %s\n", weir_last_error());
    exit(77);
  }
  planted_ok(status);
  void (*const ways[])(const place *, uint32_t) = {by_task, by_graph, copy_by_graph};
  for (uint32_t shift = 0; shift < 5; shift++) {
    for (uint64_t bytes = 4; bytes <= MOST; bytes += 4) {
      for (uint32_t way = 0; way < 3; way++) check(context, shift, bytes % 12, bytes, ways[way]);
    }
  }
  planted_ok(weir_context_release(context));
}

int main(int argc, char **argv) {
  devices = argc > 1 ? argv[1] : "cpu:2";
  const struct CMUnitTest tests[] = {cmocka_unit_test(at_all_addresses)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
