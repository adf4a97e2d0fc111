// SPDX-License-Identifier: Apache-2.0
//
// test_reduce_random DEVICES: random tasks that add to ranges of a few buffers by reductions and in any order, beside reads,
// updates, overwrites, copies and graphs, give what serial execution gives. Whole numbers, so that the order does not matter.
#include "adding.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "part.h"
#include "random.h"
#include "weir/graph.h"

enum { BUFFERS = 4, WORDS = 96, PART = WORDS / 3, STEPS = 250, COPIES = 64 };

static const char *devices;

typedef struct run {
  random_state random;
  weir_context *context;
  weir_kernel *add, *scale, *combine;
  weir_buffer *buffers[BUFFERS];
  uint32_t model[BUFFERS][WORDS];
  uint32_t found[COPIES][WORDS], wanted[COPIES][WORDS];
  uint32_t copies, adds;
} run;

static void set_up(run *self, uint64_t seed) {
  weir_context_options options = {.devices = devices, .seed = random_chance(&self->random, 50) ? seed : 0};
  if (random_chance(&self->random, 30)) options.window = 8;
  if (random_chance(&self->random, 30)) options.memory_limit = 6 * BUFFERS * WORDS * sizeof(uint32_t);
  if (random_chance(&self->random, 30))
    options.issue = random_chance(&self->random, 50) ? WEIR_ISSUE_GRAPHS : WEIR_ISSUE_QUEUES;
  self->context = adding_context(&options, seed);
  self->add = adding_kernel(self->context, false);
  self->scale = adding_kernel(self->context, true);
  self->combine = adding_combine(self->context);
  for (uint32_t b = 0; b < BUFFERS; b++) {
    self->buffers[b] = api_buffer(self->context, sizeof self->model[b], "words");
    for (uint32_t i = 0; i < WORDS; i++) self->model[b][i] = (uint32_t)random_next(&self->random);
    api_expect(weir_copy_in(self->buffers[b], 0, WEIR_WHOLE, self->model[b], NULL), WEIR_OK, NULL);
  }
  api_expect(weir_finish(self->context), WEIR_OK, NULL);
}

// A range: all of a buffer, or a third.
typedef struct range {
  uint32_t buffer, first, count;
} range;

static range choose(run *self, uint32_t count) {
  range chosen = {.buffer = random_below(&self->random, BUFFERS), .count = count};
  if (count == PART) chosen.first = PART * random_below(&self->random, 3);
  return chosen;
}

static weir_arg argument(const run *self, range of, weir_mode mode) {
  return (weir_arg){.mode = mode,
                    .buffer = self->buffers[of.buffer],
                    .offset = of.first * sizeof(uint32_t),
                    .bytes = of.count * sizeof(uint32_t)};
}

static weir_device *any_device(run *self) {
  uint32_t count = weir_context_device_count(self->context);
  return weir_context_device(self->context, random_below(&self->random, count));
}

static void submit(run *self) {
  uint32_t count = random_chance(&self->random, 60) ? WORDS : PART;
  range from = choose(self, count), to = choose(self, count);
  if (from.buffer == to.buffer) from.buffer = (from.buffer + 1) % BUFFERS;
  // Reads of what others add to are rarer, so that something is added.
  if (random_chance(&self->random, 80)) from.buffer = 0;
  if (to.buffer == 0) to.buffer = 1;
  if (from.buffer == to.buffer) from.buffer = 0;
  uint32_t kind = random_below(&self->random, 100);
  adding_value value = {random_below(&self->random, 9), random_below(&self->random, 9)};
  weir_reduction by_kernel = {.combine = self->combine, .groups = {count, 1, 1}};
  weir_reduction by_sum = by_kernel;
  by_sum.operation = WEIR_REDUCE_SUM;
  by_sum.type = random_chance(&self->random, 90) ? WEIR_REDUCE_U32 : WEIR_REDUCE_I32;
  weir_mode mode = kind < 70 ? WEIR_REDUCE : kind < 85 ? WEIR_COMMUTE : WEIR_READ_WRITE;
  weir_arg args[] = {argument(self, from, WEIR_READ), argument(self, to, mode), weir_value(&value, sizeof value)};
  args[1].value = mode != WEIR_REDUCE ? NULL : kind < 35 ? &by_kernel : &by_sum;
  bool scales = mode == WEIR_READ_WRITE;
  for (uint32_t i = 0; i < count; i++) {
    uint32_t *word = &self->model[to.buffer][to.first + i], add = self->model[from.buffer][from.first + i];
    *word = scales ? *word * value.factor + add + value.more : *word + add * value.factor + value.more;
  }
  self->adds++;
  weir_task task = {.kernel = scales ? self->scale : self->add,
                    .args = args,
                    .arg_count = 3,
                    .groups = {count},
                    .device = random_chance(&self->random, 70) ? NULL : any_device(self)};
  if (random_chance(&self->random, 93)) {
    api_expect(weir_submit(self->context, &task, NULL), WEIR_OK, NULL);
    return;
  }
  weir_graph *graph;
  api_expect(weir_graph_create(self->context, NULL, &graph), WEIR_OK, NULL);
  task.device = NULL;
  api_expect(weir_graph_add(graph, &task, NULL), WEIR_OK, NULL);
  api_expect(weir_graph_launch(graph, NULL), WEIR_OK, NULL);
  api_expect(weir_graph_release(graph), WEIR_OK, NULL);
}

static void copy_out(run *self) {
  if (self->copies == COPIES) return;
  range of = choose(self, random_chance(&self->random, 50) ? WORDS : PART);
  uint64_t bytes = of.count * sizeof(uint32_t), offset = of.first * sizeof(uint32_t);
  memcpy(self->wanted[self->copies], &self->model[of.buffer][of.first], bytes);
  api_expect(weir_copy_out(self->buffers[of.buffer], offset, bytes, self->found[self->copies++], NULL), WEIR_OK, NULL);
}

static void overwrite(run *self) {
  range of = choose(self, random_chance(&self->random, 50) ? WORDS : PART);
  uint32_t pattern = random_below(&self->random, 1000);
  for (uint32_t i = 0; i < of.count; i++) self->model[of.buffer][of.first + i] = pattern;
  api_expect(
      weir_fill(self->buffers[of.buffer], of.first * sizeof(uint32_t), of.count * sizeof(uint32_t), pattern, NULL),
      WEIR_OK, NULL);
}

static void renew_combine(run *self) {
  weir_kernel *old = self->combine;
  self->combine = adding_combine(self->context);
  api_expect(weir_kernel_release(old), WEIR_OK, NULL);
}

static void step(run *self) {
  uint32_t kind = random_below(&self->random, 100);
  if (kind < 90)
    submit(self);
  else if (kind < 94)
    copy_out(self);
  else if (kind < 96)
    overwrite(self);
  else if (kind < 97)
    renew_combine(self);
  else if (kind < 98)
    api_expect(weir_finish(self->context), WEIR_OK, NULL);
}

// Returns how many copies were made for reductions.
static uint64_t run_seed(uint64_t seed) {
  static run self;
  memset(&self, 0, sizeof self);
  self.random.value = seed;
  set_up(&self, seed);
  for (int i = 0; i < STEPS; i++) step(&self);
  for (uint32_t b = 0; b < BUFFERS; b++) {
    uint32_t found[WORDS];
    api_expect(weir_read(self.buffers[b], 0, WEIR_WHOLE, found), WEIR_OK, NULL);
    if (memcmp(found, self.model[b], sizeof found) != 0) fail_msg("seed %llu: buffer %u", (unsigned long long)seed, b);
  }
  api_expect(weir_finish(self.context), WEIR_OK, NULL);
  for (uint32_t i = 0; i < self.copies; i++) {
    if (memcmp(self.found[i], self.wanted[i], sizeof self.found[i]) != 0)
      fail_msg("seed %llu: copy %u", (unsigned long long)seed, i);
  }
  weir_statistics statistics;
  weir_context_statistics(self.context, &statistics);
  assert_int_equal(statistics.done, statistics.tasks);
  assert_int_equal(statistics.failed, 0);
  weir_context_release(self.context);
  return statistics.tasks - self.adds;
}

static void random_tasks(void **state) {
  (void)state;
  const char *text = getenv("WEIR_TEST_SEED");
  uint64_t first = text != NULL ? strtoull(text, NULL, 10) : 1, more = 0;
  uint32_t rounds = part_count(strncmp(devices, "opencl", 6) == 0 || strncmp(devices, "vulkan", 6) == 0 ? 6 : 30);
  for (uint32_t i = 0; i < rounds; i++) more += run_seed(first + i);
  print_message("%s, seeds from %llu: %llu tasks of Weir's own\n", devices, (unsigned long long)first,
                (unsigned long long)more);
}

int main(int argc, char **argv) {
  devices = argc > 1 ? argv[1] : "cpu:2";
  const struct CMUnitTest tests[] = {cmocka_unit_test(random_tasks)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
