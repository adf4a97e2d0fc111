// SPDX-License-Identifier: Apache-2.0
//
// 32 sequences over all queues, evaluated from several threads, on buffers of their own and on shared ones.
//
//   test_vulkan_stress [EVALUATIONS]      of all sequences together; 10,000
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>
#include <pthread.h>

#include "multiply_add.spv.h"
#include "weir/graph.h"
#include "weir/vulkan.h"

enum { SEQUENCES = 32, THREADS = 4, SHARED = 8, WORDS = 256, LANES = 4, GROUP = 64 };

static uint32_t evaluations = 10000;

typedef struct stress {
  weir_context *context;
  weir_kernel *kernel;
  weir_buffer *own[SEQUENCES], *shared[SHARED];
  weir_graph *sequences[SEQUENCES];
} stress;

typedef struct worker {
  pthread_t thread;
  const stress *stress;
  uint32_t number, failed;
} worker;

static void require(weir_status status) {
  if (status != WEIR_OK) fail_msg("%s: %s", weir_status_name(status), weir_last_error());
}

// target[i] = target[i] * factor + value
static void add_step(const stress *s, weir_graph *sequence, weir_buffer *target, uint32_t factor, uint32_t value) {
  const weir_arg args[] = {weir_updates(target), weir_value(&factor, sizeof factor), weir_value(&value, sizeof value)};
  const weir_task task = {.kernel = s->kernel, .args = args, .arg_count = 3, .groups = {WORDS / GROUP, 1, 1}};
  require(weir_graph_add(sequence, &task, NULL));
}

// Sums in shared buffers come out the same in any order of the sequences; a lost update, or one made twice, does not.
static uint32_t first_shared(uint32_t sequence) {
  return sequence % SHARED;
}

static uint32_t second_shared(uint32_t sequence) {
  return (sequence / SHARED + 3) % SHARED;
}

static void begin(stress *s) {
  const weir_context_options options = {.devices = "vulkan", .queues = LANES};
  const weir_vulkan_code code = {.words = multiply_add_spv, .bytes = sizeof multiply_add_spv};
  const weir_vulkan_launch launch = {0};
  static const uint32_t zeros[WORDS];
  require(weir_context_create(&options, &s->context));
  uint32_t queues = weir_device_information(weir_context_device(s->context, 0))->queues;
  require(weir_kernel_create(s->context, "multiply_add", &s->kernel));
  require(weir_kernel_set_vulkan(s->kernel, &code, &launch, 1));
  for (uint32_t i = 0; i < SHARED + SEQUENCES; i++) {
    weir_buffer **buffer = i < SHARED ? &s->shared[i] : &s->own[i - SHARED];
    require(weir_buffer_create(s->context, sizeof zeros, buffer));
    require(weir_copy_in(*buffer, 0, sizeof zeros, zeros, NULL));
  }
  for (uint32_t i = 0; i < SEQUENCES; i++) {
    const weir_graph_options with = {.queue = i % 2 == 0 ? 1 + i / 2 % queues : 0};
    require(weir_graph_create(s->context, &with, &s->sequences[i]));
    add_step(s, s->sequences[i], s->own[i], 3, i + 1);
    add_step(s, s->sequences[i], s->shared[first_shared(i)], 1, i + 1);
    add_step(s, s->sequences[i], s->own[i], 5, 7);
    add_step(s, s->sequences[i], s->shared[second_shared(i)], 1, 1000 * (i + 1));
    // Half of them on a given queue, the others where Weir puts them.
  }
}

static void end(stress *s) {
  for (uint32_t i = 0; i < SEQUENCES; i++) {
    require(weir_graph_release(s->sequences[i]));
    require(weir_buffer_release(s->own[i]));
  }
  for (uint32_t i = 0; i < SHARED; i++) require(weir_buffer_release(s->shared[i]));
  require(weir_kernel_release(s->kernel));
  weir_context_release(s->context);
}

// How often a sequence is evaluated: its share.
static uint32_t share(uint32_t sequence) {
  return evaluations / SEQUENCES + (sequence < evaluations % SEQUENCES);
}

static void *evaluate(void *argument) {
  worker *self = argument;
  for (uint32_t round = 0; round < share(0); round++) {
    for (uint32_t i = self->number; i < SEQUENCES; i += THREADS) {
      if (round < share(i) && weir_graph_launch(self->stress->sequences[i], NULL) != WEIR_OK) self->failed++;
    }
  }
  return NULL;
}

static void expect(weir_buffer *buffer, uint32_t value, const char *what, uint32_t index) {
  uint32_t words[WORDS];
  weir_event *event;
  require(weir_copy_out(buffer, 0, sizeof words, words, &event));
  require(weir_event_wait(event, WEIR_FOREVER));
  weir_event_release(event);
  for (uint32_t i = 0; i < WORDS; i++)
    if (words[i] != value) fail_msg("%s buffer %u, word %u: %u, not %u", what, index, i, words[i], value);
}

static void every_evaluation_counts_once(void **state) {
  (void)state;
  stress s = {0};
  begin(&s);
  worker workers[THREADS];
  for (uint32_t i = 0; i < THREADS; i++) {
    workers[i] = (worker){.stress = &s, .number = i};
    assert_int_equal(pthread_create(&workers[i].thread, NULL, evaluate, &workers[i]), 0);
  }
  for (uint32_t i = 0; i < THREADS; i++) {
    pthread_join(workers[i].thread, NULL);
    assert_int_equal(workers[i].failed, 0);
  }
  require(weir_finish(s.context));
  uint32_t sums[SHARED] = {0};
  for (uint32_t i = 0; i < SEQUENCES; i++) {
    uint32_t own = 0;
    for (uint32_t j = 0; j < share(i); j++) own = (own * 3 + i + 1) * 5 + 7;
    expect(s.own[i], own, "own", i);
    sums[first_shared(i)] += share(i) * (i + 1);
    sums[second_shared(i)] += share(i) * 1000 * (i + 1);
  }
  for (uint32_t i = 0; i < SHARED; i++) expect(s.shared[i], sums[i], "shared", i);
  end(&s);
}

// More dispatches in a batch than it has timestamps for, none of which ends a task.
static void traced_tasks_of_two_dispatches(void **state) {
  (void)state;
  enum { TASKS = 450, LONG = 1 << 20, STRIDE = 256 };
  const weir_context_options options = {.devices = "vulkan", .queues = 1, .flags = WEIR_CONTEXT_TRACE};
  const weir_vulkan_code code = {.words = multiply_add_spv, .bytes = sizeof multiply_add_spv};
  const weir_vulkan_launch launches[2] = {{0}};
  uint32_t *words = calloc(TASKS, STRIDE), factor = 3, value = 1;
  assert_non_null(words);
  weir_context *context;
  weir_kernel *kernel;
  weir_buffer *buffer, *busy;
  require(weir_context_create(&options, &context));
  require(weir_kernel_create(context, "twice", &kernel));
  require(weir_kernel_set_vulkan(kernel, &code, launches, 2));
  require(weir_buffer_create(context, TASKS * STRIDE, &buffer));
  require(weir_buffer_create(context, LONG, &busy));
  require(weir_copy_in(buffer, 0, TASKS * STRIDE, words, NULL));
  require(weir_finish(context));
  for (uint32_t i = 0; i < TASKS + 4; i++) {
    bool is_long = i < 4; // meanwhile the others come together
    const weir_arg args[] = {is_long ? weir_updates(busy) : weir_updates_range(buffer, (i - 4) * STRIDE, STRIDE),
                             weir_value(&factor, sizeof factor), weir_value(&value, sizeof value)};
    weir_task task = {.kernel = kernel, .args = args, .arg_count = 3, .groups = {1, 1, 1}};
    if (is_long) task.groups[0] = LONG / sizeof(uint32_t) / GROUP;
    if (is_long && i == 0) require(weir_fill(busy, 0, LONG, 0, NULL));
    require(weir_submit(context, &task, NULL));
  }
  require(weir_copy_out(buffer, 0, TASKS * STRIDE, words, NULL));
  require(weir_finish(context));
  for (uint32_t i = 0; i < TASKS * STRIDE / sizeof *words; i++) assert_int_equal(words[i], 4);
  require(weir_buffer_release(buffer));
  require(weir_buffer_release(busy));
  require(weir_kernel_release(kernel));
  weir_context_release(context);
  free(words);
}

int main(int argc, char **argv) {
  if (argc > 1) evaluations = (uint32_t)strtoul(argv[1], NULL, 10);
  const struct CMUnitTest tests[] = {cmocka_unit_test(every_evaluation_counts_once),
                                     cmocka_unit_test(traced_tasks_of_two_dispatches)};
  return cmocka_run_group_tests_name("Vulkan: many sequences", tests, NULL, NULL);
}
