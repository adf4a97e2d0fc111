// SPDX-License-Identifier: Apache-2.0
// Kompute's asynchronous example: a long shader runs while the host does something else, and the host waits with a time-out.
//
// With Kompute: sequence->evalAsync<kp::OpAlgoDispatch>(algorithm), then other work, then sequence->evalAwait(nanoseconds). One
// evalAsync at a time: the next one throws until evalAwait was called. After a time-out isRunning() says no although the shader
// runs, and a second evalAwait does not wait.
//
// With Weir: weir_graph_launch, then other work, then weir_graph_wait. A time-out changes nothing: the launch goes on, it is
// still counted as running, and it can be waited for again. More launches can be put behind it meanwhile: each reads what the
// one before it wrote.
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <weir/graph.h>
#include <weir/vulkan.h>
#include <weir/weir.h>

#include "rounds.spv.h"

enum { COUNT = 8, LAUNCHES = 3, LITTLE_NS = 10000 };

static void check(weir_status status) {
  if (status == WEIR_OK) return;
  fprintf(stderr, "%s\n", weir_last_error());
  exit(1);
}

static uint32_t after_rounds(uint32_t number, uint64_t rounds) {
  for (uint64_t i = 0; i < rounds; i++) number = number * 1664525u + 1013904223u;
  return number;
}

static uint32_t running(weir_graph *sequence) {
  weir_graph_info info;
  check(weir_graph_information(sequence, &info));
  return info.running;
}

// A dispatch of so many rounds, and a copy of the numbers to the host.
static void record(weir_graph *sequence, weir_kernel *kernel, weir_buffer *numbers, uint32_t rounds,
                   uint32_t *results) {
  const weir_arg args[] = {weir_updates(numbers), weir_value(&rounds, sizeof rounds)};
  const weir_task task = {.kernel = kernel, .args = args, .arg_count = 2, .groups = {COUNT}};
  check(weir_graph_add(sequence, &task, NULL));
  check(weir_graph_copy_out(sequence, numbers, 0, WEIR_WHOLE, results, NULL));
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

  weir_buffer *numbers;
  weir_kernel *kernel;
  weir_graph *sequence;
  check(weir_buffer_create(context, COUNT * sizeof(uint32_t), &numbers));
  check(weir_kernel_create(context, "rounds", &kernel));
  const weir_vulkan_code code = {.words = rounds_spv, .bytes = sizeof rounds_spv};
  check(weir_kernel_set_vulkan(kernel, &code, &(weir_vulkan_launch){0}, 1));
  check(weir_graph_create(context, NULL, &sequence));

  uint32_t first[COUNT], results[COUNT];
  for (uint32_t i = 0; i < COUNT; i++) first[i] = i;
  check(weir_copy_in(numbers, 0, WEIR_WHOLE, first, NULL));
  record(sequence, kernel, numbers, rounds, results);
  for (int i = 0; i < LAUNCHES; i++) check(weir_graph_launch(sequence, NULL)); // returns at once

  status = weir_graph_wait(sequence, LITTLE_NS);
  printf("after a wait of %d ns: %s\n", LITTLE_NS, status == WEIR_OK ? "done already" : weir_last_error());
  printf("running: %u of %d launches\n", running(sequence), LAUNCHES);

  uint32_t wanted[COUNT]; // the host's other work: the same numbers
  for (uint32_t i = 0; i < COUNT; i++) wanted[i] = after_rounds(first[i], (uint64_t)LAUNCHES * rounds);

  check(weir_graph_wait(sequence, WEIR_FOREVER)); // all launches, also the ones that the first wait left
  printf("running: %u of %d launches\n", running(sequence), LAUNCHES);

  uint32_t wrong = 0;
  for (uint32_t i = 0; i < COUNT; i++) wrong += results[i] != wanted[i];
  printf("numbers: %" PRIu32 " %" PRIu32 " ..., %u of %d differ from the host's\n", results[0], results[1], wrong,
         COUNT);
  weir_context_release(context);
  return wrong == 0 && fflush(stdout) == 0 ? 0 : 1;
}
