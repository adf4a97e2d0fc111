// SPDX-License-Identifier: Apache-2.0
// An operation of one's own, as with Kompute's kp::OpBase: something that records its part of a sequence, prepares each evaluation
// and is told of its end.
//
// With Kompute: a class that is derived from kp::OpBase, whose record, preEval and postEval the sequence calls; rerecord() has
// all operations recorded anew. postEval is called by evalAwait, and never after a time-out.
//
// With Weir: a struct and three functions that the program calls itself. `record` adds tasks and keeps their numbers;
// weir_graph_clear and another call record anew. `before` changes constants and the host's memory for the launches that follow.
// `after` is a callback of the launch's event, called when the launch is done, whoever waits for it or not. Here the host
// prepares one frame while the device computes the one before: each has memory of its own, in turns.
#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <weir/graph.h>
#include <weir/vulkan.h>
#include <weir/weir.h>

#include "rounds.spv.h"

enum { COUNT = 8, BYTES = COUNT * sizeof(uint32_t), FRAMES = 6, TURNS = 2 };

typedef struct operation {
  weir_graph *sequence;
  weir_kernel *kernel;
  weir_buffer *numbers, *last;
  uint32_t in, dispatch, out; // numbers of the tasks in the sequence
  uint32_t frames[TURNS][COUNT], results[TURNS][COUNT];
  weir_event *events[TURNS];
  atomic_uint done, failed;
} operation;

static void check(weir_status status) {
  if (status == WEIR_OK) return;
  fprintf(stderr, "%s\n", weir_last_error());
  exit(1);
}

static uint32_t after_rounds(uint32_t number, uint32_t rounds) {
  for (uint32_t i = 0; i < rounds; i++) number = number * 1664525u + 1013904223u;
  return number;
}

// The frame comes in, is worked on, is kept on the device, and goes out.
static void record(operation *self, uint32_t rounds) {
  const weir_arg args[] = {weir_updates(self->numbers), weir_value(&rounds, sizeof rounds)};
  const weir_task task = {.kernel = self->kernel, .args = args, .arg_count = 2, .groups = {COUNT}};
  check(weir_graph_copy_in(self->sequence, self->numbers, 0, WEIR_WHOLE, self->frames[0], &self->in));
  check(weir_graph_add(self->sequence, &task, &self->dispatch));
  check(weir_graph_copy(self->sequence, self->last, 0, self->numbers, 0, BYTES, NULL));
  check(weir_graph_copy_out(self->sequence, self->numbers, 0, WEIR_WHOLE, self->results[0], &self->out));
}

static void before(operation *self, uint32_t frame, uint32_t rounds) {
  const weir_arg arg = weir_value(&rounds, sizeof rounds);
  for (uint32_t i = 0; i < COUNT; i++) self->frames[frame % TURNS][i] = frame + i;
  check(weir_graph_set_arg(self->sequence, self->dispatch, 1, &arg));
  check(weir_graph_set_host_memory(self->sequence, self->in, self->frames[frame % TURNS]));
  check(weir_graph_set_host_memory(self->sequence, self->out, self->results[frame % TURNS]));
}

// In a thread of Weir's: it must not wait.
static void after(void *user, weir_status status) {
  operation *self = user;
  if (status != WEIR_OK) self->failed++;
  self->done++;
}

// Waits for a frame; how many of its numbers differ from the host's.
static uint32_t compare(operation *self, uint32_t frame, uint32_t rounds) {
  weir_event *event = self->events[frame % TURNS];
  if (weir_event_wait(event, WEIR_FOREVER) != WEIR_OK) {
    fprintf(stderr, "frame %u: %s\n", frame, weir_event_message(event));
    exit(1);
  }
  weir_event_release(event);
  uint32_t wrong = 0;
  for (uint32_t i = 0; i < COUNT; i++) wrong += self->results[frame % TURNS][i] != after_rounds(frame + i, rounds);
  return wrong;
}

static void open_operation(operation *self, weir_context *context) {
  const weir_vulkan_code code = {.words = rounds_spv, .bytes = sizeof rounds_spv};
  check(weir_graph_create(context, NULL, &self->sequence));
  check(weir_buffer_create(context, BYTES, &self->numbers));
  check(weir_buffer_create(context, BYTES, &self->last));
  check(weir_kernel_create(context, "rounds", &self->kernel));
  check(weir_kernel_set_vulkan(self->kernel, &code, &(weir_vulkan_launch){0}, 1));
}

int main(int argc, char **argv) {
  const char *devices = argc > 1 ? argv[1] : "vulkan";
  const uint32_t rounds = argc > 2 ? (uint32_t)strtoul(argv[2], NULL, 10) : 20000; // see rounds.comp
  weir_context *context;
  weir_status status = weir_context_create(&(weir_context_options){.devices = devices}, &context);
  if (status == WEIR_ERROR_UNAVAILABLE) {
    printf("skipped: %s\n", weir_last_error());
    return 77;
  }
  check(status);

  operation all = {0};
  open_operation(&all, context);
  record(&all, rounds);
  uint32_t wrong = 0;
  for (uint32_t frame = 0; frame < FRAMES; frame++) {
    if (frame >= TURNS) wrong += compare(&all, frame - TURNS, rounds + frame - TURNS);
    before(&all, frame, rounds + frame);
    weir_event **event = &all.events[frame % TURNS];
    check(weir_graph_launch(all.sequence, event));
    check(weir_event_on_done(*event, after, &all));
  }
  for (uint32_t frame = FRAMES - TURNS; frame < FRAMES; frame++) wrong += compare(&all, frame, rounds + frame);

  uint32_t last[COUNT];
  check(weir_copy_out(all.last, 0, WEIR_WHOLE, last, NULL));
  check(weir_finish(context));
  for (uint32_t i = 0; i < COUNT; i++) wrong += last[i] != all.results[(FRAMES - 1) % TURNS][i];
  weir_context_release(context); // no callback comes after it
  printf("%u frames done, %u failed\n", all.done, all.failed);
  printf("%u of %d numbers are wrong\n", wrong, (FRAMES + 1) * COUNT);
  return wrong == 0 && fflush(stdout) == 0 ? 0 : 1;
}
