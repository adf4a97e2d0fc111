// SPDX-License-Identifier: Apache-2.0
// Kompute's parallel example: several sequences, each with a long shader, start together on several queues.
//
// With Kompute: kp::Manager mgr(0, {0, 2}) names the families of the queues, by numbers that are right for one card;
// mgr.sequence(0) and mgr.sequence(1) take them; both evalAsync, then both evalAwait.
//
// With Weir: nothing needs to be named. A context uses all queues that compute, and sequences on different buffers go to
// different queues where these overlap. weir_graph_options.queue, as here, chooses one nevertheless: a matter of speed only, since
// the order of what depends on each other is kept on any queue. The last task reads what all sequences wrote, and nobody waits
// in between. The times are the device's own.
#include <stdio.h>
#include <stdlib.h>
#include <weir/graph.h>
#include <weir/vulkan.h>
#include <weir/weir.h>

#include "rounds.spv.h"

enum { SEQUENCES = 4, COUNT = 4, BYTES = COUNT * sizeof(uint32_t) };

static void check(weir_status status) {
  if (status == WEIR_OK) return;
  fprintf(stderr, "%s\n", weir_last_error());
  exit(1);
}

static uint32_t after_rounds(uint32_t number, uint32_t rounds) {
  for (uint32_t i = 0; i < rounds; i++) number = number * 1664525u + 1013904223u;
  return number;
}

// A sequence with one dispatch, which notes when it ran.
static weir_graph *make_sequence(weir_context *context, weir_kernel *kernel, weir_buffer *numbers, uint32_t rounds,
                                 uint32_t queue) {
  const weir_arg args[] = {weir_auto(numbers), weir_value(&rounds, sizeof rounds)};
  const weir_task task = {.kernel = kernel, .args = args, .arg_count = 2, .groups = {COUNT}};
  weir_graph *sequence;
  check(weir_graph_create(context, &(weir_graph_options){.queue = queue, .timing = true}, &sequence));
  check(weir_graph_add(sequence, &task, NULL));
  return sequence;
}

static void print_times(weir_graph *const *sequences) {
  uint64_t start[SEQUENCES], end[SEQUENCES], first = UINT64_MAX;
  for (int i = 0; i < SEQUENCES; i++) {
    if (weir_graph_times(sequences[i], 1, &start[i], &end[i]) != WEIR_OK) {
      printf("no times: %s\n", weir_last_error());
      return;
    }
    if (start[i] < first) first = start[i];
  }
  for (int i = 0; i < SEQUENCES; i++)
    printf("sequence %d: from %.3f ms to %.3f ms\n", i, (double)(start[i] - first) / 1e6,
           (double)(end[i] - first) / 1e6);
}

int main(int argc, char **argv) {
  const char *devices = argc > 1 ? argv[1] : "vulkan";
  const uint32_t rounds = argc > 2 ? (uint32_t)strtoul(argv[2], NULL, 10) : 50000; // see rounds.comp
  weir_context *context;
  weir_status status = weir_context_create(&(weir_context_options){.devices = devices}, &context);
  if (status == WEIR_ERROR_UNAVAILABLE) {
    printf("skipped: %s\n", weir_last_error());
    return 77;
  }
  check(status);

  weir_kernel *kernel;
  const weir_vulkan_code code = {.words = rounds_spv, .bytes = sizeof rounds_spv};
  check(weir_kernel_create(context, "rounds", &kernel));
  check(weir_kernel_set_vulkan(kernel, &code, &(weir_vulkan_launch){0}, 1));

  const weir_device_info *device = weir_device_information(weir_context_device(context, 0));
  const uint32_t queues = device->queues;
  printf("%s: %u queues\n", device->description, queues);
  weir_graph *sequences[SEQUENCES];
  weir_buffer *buffers[SEQUENCES], *all;
  uint32_t first[SEQUENCES][COUNT];
  check(weir_buffer_create(context, sizeof first, &all));
  for (uint32_t i = 0; i < SEQUENCES; i++) {
    for (uint32_t j = 0; j < COUNT; j++) first[i][j] = i * COUNT + j;
    check(weir_buffer_create(context, BYTES, &buffers[i]));
    check(weir_copy_in(buffers[i], 0, WEIR_WHOLE, first[i], NULL));
    sequences[i] = make_sequence(context, kernel, buffers[i], rounds, 1 + i % queues);
  }

  for (int i = 0; i < SEQUENCES; i++) check(weir_graph_launch(sequences[i], NULL)); // nobody waits
  for (uint64_t i = 0; i < SEQUENCES; i++) check(weir_copy(all, i * BYTES, buffers[i], 0, BYTES, NULL));
  uint32_t results[SEQUENCES][COUNT];
  check(weir_copy_out(all, 0, WEIR_WHOLE, results, NULL));
  check(weir_finish(context)); // the fence over all

  print_times(sequences);
  uint32_t wrong = 0;
  for (uint32_t i = 0; i < SEQUENCES; i++)
    for (uint32_t j = 0; j < COUNT; j++) wrong += results[i][j] != after_rounds(first[i][j], rounds);
  printf("%u of %d numbers are wrong\n", wrong, SEQUENCES * COUNT);
  weir_context_release(context);
  return wrong == 0 && fflush(stdout) == 0 ? 0 : 1;
}
