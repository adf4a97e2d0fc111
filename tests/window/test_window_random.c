// SPDX-License-Identifier: Apache-2.0
//
// Random graphs of tasks through the window, on two devices of which one runs ahead: every task becomes ready exactly
// once, at the moment when the last edge that blocks it is resolved, and hears of exactly the failures it reads.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/allocate.h"
#include "random.h"
#include "window/window.h"

enum { TASKS = 20000, MAX_PREDECESSORS = 64 };

typedef enum stage { SUBMITTED, READY, ISSUED, DONE } stage;

typedef struct edge {
  weir__id before;
  bool data, blocks;
} edge;

// What the model knows of a task.
typedef struct model_task {
  edge edges[MAX_PREDECESSORS];
  uint32_t edge_count;
  uint8_t device;
  stage stage;
  bool failed, reads_poison;
} model_task;

typedef struct run {
  weir__window window;
  random_state random;
  model_task *tasks; // by id
  weir__id *waiting; // ready or issued tasks, in any order
  uint32_t waiting_count;
  weir__id just_ready[TASKS];
  uint32_t just_ready_count;
  uint64_t failures_heard, failures_due;
} run;

static void hear_ready(void *user, weir__task *task) {
  run *self = user;
  self->just_ready[self->just_ready_count++] = task->id;
}

static void hear_failure(void *user, weir__task *task, weir__id predecessor) {
  run *self = user;
  const model_task *model = &self->tasks[task->id];
  bool known = false;
  for (uint32_t i = 0; i < model->edge_count; i++)
    known |= model->edges[i].before == predecessor && model->edges[i].data;
  assert_true(known);
  self->failures_heard++;
}

// Only device 1 runs ahead: its tasks are issued behind one another.
static bool resolved(const run *self, const model_task *task, const edge *way) {
  const model_task *before = &self->tasks[way->before];
  if (before->stage == DONE || !way->blocks) return true;
  return before->stage == ISSUED && before->device == 1 && task->device == 1;
}

static bool may_start(const run *self, const model_task *task) {
  for (uint32_t i = 0; i < task->edge_count; i++) {
    if (!resolved(self, task, &task->edges[i])) return false;
  }
  return true;
}

// Compares what became ready since the last call with the model: every submitted task that may start did.
static void check_ready(run *self) {
  for (uint32_t i = 0; i < self->just_ready_count; i++) {
    model_task *task = &self->tasks[self->just_ready[i]];
    assert_int_equal(task->stage, SUBMITTED); // for the first time
    assert_true(may_start(self, task));
    task->stage = READY;
    self->waiting[self->waiting_count++] = self->just_ready[i];
  }
  self->just_ready_count = 0;
  for (weir__id id = self->window.live.oldest; id < self->window.next; id++) {
    const model_task *task = &self->tasks[id];
    if (task->stage == SUBMITTED) assert_false(may_start(self, task));
  }
}

static weir__id random_live(run *self) {
  weir__id span = self->window.next - self->window.live.oldest;
  if (span == 0) return 0;
  // Mostly recent ones, so that some get many successors and others none.
  weir__id back = random_chance(&self->random, 50) ? random_below(&self->random, (uint32_t)span)
                                                   : random_below(&self->random, span < 4 ? (uint32_t)span : 4);
  weir__id id = self->window.next - 1 - back;
  return weir__live(&self->window.live, id) ? id : 0;
}

static void submit(run *self, uint32_t hub_percent) {
  weir__task *task = weir__window_begin(&self->window);
  model_task *model = &self->tasks[task->id];
  model->device = task->device = (uint8_t)random_below(&self->random, 2);
  uint32_t wanted = random_below(&self->random, random_chance(&self->random, 10) ? 40 : 4);
  for (uint32_t i = 0; i < wanted && model->edge_count < MAX_PREDECESSORS; i++) {
    weir__id before = random_chance(&self->random, hub_percent) ? self->window.live.oldest : random_live(self);
    if (before == 0 || before == task->id || !weir__live(&self->window.live, before)) continue;
    bool data = random_chance(&self->random, 40);
    bool same = model->device == 1 && self->tasks[before].device == 1;
    bool blocks = !same || self->tasks[before].stage != ISSUED;
    uint32_t known = 0;
    while (known < model->edge_count && model->edges[known].before != before) known++;
    bool no_memory = false;
    bool first = weir__window_connect(&self->window, before, task, data, blocks, &no_memory);
    assert_false(no_memory);
    assert_int_equal(first, known == model->edge_count);
    if (first) model->edges[model->edge_count++] = (edge){before, false, blocks};
    model->edges[known].data |= data;
  }
  weir__window_commit(&self->window, task);
  check_ready(self);
}

static void complete(run *self, uint32_t fail_percent) {
  uint32_t index = random_below(&self->random, self->waiting_count);
  weir__id id = self->waiting[index];
  model_task *model = &self->tasks[id];
  weir__task *task = weir__window_task(&self->window, id);
  assert_int_equal(task->id, id);
  if (model->device == 1 && model->stage == READY) {
    model->stage = ISSUED;
    weir__window_issued(&self->window, task);
    check_ready(self);
    return;
  }
  for (uint32_t i = 0; i < model->edge_count; i++) { // a device keeps the order of what it was given
    if (self->tasks[model->edges[i].before].stage != DONE) return;
    if (model->edges[i].data && self->tasks[model->edges[i].before].failed) model->reads_poison = true;
  }
  assert_int_equal(task->reads_poison, model->reads_poison);
  model->failed = model->reads_poison || random_chance(&self->random, fail_percent);
  self->waiting[index] = self->waiting[--self->waiting_count];
  model->stage = DONE;
  for (weir__id later = id + 1; model->failed && later < self->window.next; later++) {
    const model_task *other = &self->tasks[later];
    for (uint32_t i = 0; i < other->edge_count; i++)
      self->failures_due += other->edges[i].before == id && other->edges[i].data;
  }
  weir__window_complete(&self->window, task, model->failed);
  check_ready(self);
  weir__id oldest = self->window.live.oldest;
  assert_true(oldest == self->window.next || self->tasks[oldest].stage != DONE);
  for (weir__id older = oldest > 200 ? oldest - 200 : 1; older < oldest; older++)
    assert_int_equal(self->tasks[older].stage, DONE);
}

static void run_seed(uint64_t seed, uint32_t size, uint32_t tasks, uint32_t hub_percent) {
  run *self = calloc(1, sizeof *self);
  assert_non_null(self);
  self->random.value = seed;
  self->tasks = calloc(TASKS + 2, sizeof *self->tasks);
  self->waiting = calloc(size, sizeof *self->waiting);
  assert_true(self->tasks != NULL && self->waiting != NULL);
  assert_true(weir__window_initialize(&self->window, size, hear_ready, self));
  self->window.upstream_failed = hear_failure;
  uint32_t fail_percent = random_below(&self->random, 20);
  uint64_t edges = 0;
  while (self->window.next <= tasks) {
    bool full = weir__window_full(&self->window, 0);
    if (full || (self->waiting_count > 0 && random_chance(&self->random, 45)))
      complete(self, fail_percent);
    else
      submit(self, hub_percent);
  }
  while (self->waiting_count > 0) complete(self, fail_percent);
  for (weir__id id = 1; id <= tasks; id++) {
    assert_int_equal(self->tasks[id].stage, DONE);
    edges += self->tasks[id].edge_count;
  }
  assert_int_equal(self->window.edges, edges);
  assert_true(weir__window_empty(&self->window));
  assert_int_equal(self->failures_heard, self->failures_due);
  weir__window_deinitialize(&self->window);
  free(self->waiting);
  free(self->tasks);
  free(self);
}

static void small_windows(void **state) {
  (void)state;
  for (uint64_t seed = 1; seed <= 20; seed++) run_seed(seed, 8, 1000, 20);
}

static void large_windows(void **state) {
  (void)state;
  for (uint64_t seed = 1; seed <= 5; seed++) run_seed(seed, 256, 4000, 0);
}

// One task has most others behind it: edges in chunks.
static void hubs(void **state) {
  (void)state;
  for (uint64_t seed = 1; seed <= 5; seed++) run_seed(seed, 256, 4000, 60);
}

static void ids_far_beyond_the_slots(void **state) {
  (void)state;
  run_seed(1, 8, TASKS, 20);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(small_windows),
      cmocka_unit_test(large_windows),
      cmocka_unit_test(hubs),
      cmocka_unit_test(ids_far_beyond_the_slots),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
