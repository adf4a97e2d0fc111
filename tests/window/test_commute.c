// SPDX-License-Identifier: Apache-2.0
//
// Random tasks that commute, read, update and overwrite ranges of two buffers, on two devices of which one runs ahead: tasks that
// commute on the same bytes run one at a time, every task runs once, and those are skipped, and no others, that read
// what a failed task left, in the order in which they ran. The device that runs ahead reports what it has done in any order.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/allocate.h"
#include "random.h"
#include "window/commute.h"

enum { WINDOW = 32, BYTES = 48, BUFFERS = 2, MAX_ACCESSES = 3, TASKS = 4000 };

// EXECUTED: done, but nobody has been told.
typedef enum stage { SUBMITTED, STARTED, EXECUTED, DONE } stage;

typedef struct run {
  weir__window window;
  weir__range_pool ranges;
  weir__dependences dependences;
  weir_buffer *buffers[BUFFERS];
  bool poisoned[BUFFERS][BYTES];
  random_state random;
  stage stages[WINDOW];
  bool failed[WINDOW];
  weir__task *again[WINDOW]; // found no memory
  uint32_t again_count, entered_late;
  weir__task *ready[WINDOW]; // for the device that runs ahead
  uint32_t ready_count;
  uint32_t no_memory_percent;
} run;

static uint32_t slot_of(weir__id id) {
  return (uint32_t)(id & (WINDOW - 1));
}

static bool run_ahead(const weir__task *task) {
  return task->device == 1;
}

static void start(run *self, weir__task *task) {
  assert_int_equal(self->stages[slot_of(task->id)], SUBMITTED);
  self->stages[slot_of(task->id)] = STARTED;
}

// Sometimes there is no memory for an edge, and none for a predecessor.
static bool enter(run *self, weir__task *task, bool *out_no_memory) {
  bool fails = random_chance(&self->random, self->no_memory_percent);
  weir__edge_chunk *chunks = self->window.free_chunks;
  if (fails) self->window.free_chunks = NULL;
  if (fails) weir__allocate_fail_at(1);
  bool go = weir__commute_enter(&self->window, task, run_ahead(task), out_no_memory);
  if (fails) weir__allocate_fail_at(0);
  if (fails) self->window.free_chunks = chunks;
  return go;
}

static void hear_ready(void *user, weir__task *task) {
  run *self = user;
  if (task->commutes == WEIR__COMMUTES_OUTSIDE) {
    bool no_memory;
    bool go = enter(self, task, &no_memory);
    if (no_memory) {
      task->blockers++;
      self->again[self->again_count++] = task;
    }
    if (!go) return;
  }
  if (run_ahead(task))
    self->ready[self->ready_count++] = task;
  else
    start(self, task);
}

static void issue_ready(run *self) {
  while (self->ready_count > 0) {
    weir__task *task = self->ready[--self->ready_count];
    task->issued = true;
    start(self, task);
    weir__window_issued(&self->window, task);
  }
}

static void set_up(run *self, uint64_t seed) {
  *self = (run){.random = {seed}};
  assert_true(weir__window_initialize(&self->window, WINDOW, hear_ready, self));
  weir__range_pool_initialize(&self->ranges);
  weir__dependences_initialize(&self->dependences);
  self->dependences.arrays = &self->ranges.arrays;
  for (int i = 0; i < BUFFERS; i++) {
    self->buffers[i] = aligned_alloc(64, sizeof *self->buffers[i]);
    memset(self->buffers[i], 0, sizeof *self->buffers[i]);
    self->buffers[i]->bytes = BYTES;
    weir__segment_initialize(&self->buffers[i]->whole);
  }
}

static void tear_down(run *self) {
  for (int i = 0; i < BUFFERS; i++) {
    weir_buffer *buffer = self->buffers[i];
    if (buffer->commuters != NULL) {
      assert_int_equal(buffer->commuters->expected, 0);
      assert_int_equal(buffer->commuters->count, 0);
    }
    if (buffer->ranged) weir__range_map_deinitialize(&buffer->map);
    weir__segment_empty(&buffer->whole, &self->ranges.arrays);
    weir__free(buffer->commuters);
    free(buffer);
  }
  weir__dependences_deinitialize(&self->dependences);
  weir__window_deinitialize(&self->window);
  weir__range_pool_deinitialize(&self->ranges);
}

static uint32_t choose_accesses(run *self, weir__access *accesses) {
  uint32_t count = 0;
  uint64_t from[BUFFERS] = {0};
  uint32_t wanted = random_between(&self->random, 1, MAX_ACCESSES);
  for (uint32_t i = 0; i < wanted; i++) {
    uint32_t which = random_below(&self->random, BUFFERS);
    if (from[which] >= BYTES) continue;
    bool whole = from[which] == 0 && random_chance(&self->random, 30);
    uint64_t lo = whole ? 0 : from[which] + random_below(&self->random, (uint32_t)(BYTES - from[which]));
    uint64_t hi = whole ? BYTES : lo + random_between(&self->random, 1, (uint32_t)(BYTES - lo));
    from[which] = hi;
    weir_mode mode = random_chance(&self->random, 60)
                         ? WEIR_COMMUTE
                         : (weir_mode)random_between(&self->random, WEIR_READ, WEIR_READ_WRITE);
    accesses[count++] = (weir__access){.buffer = self->buffers[which], .lo = lo, .hi = hi, .mode = (uint8_t)mode};
  }
  return count;
}

static void connect(run *self, weir__task *task) {
  for (size_t i = 0; i < self->dependences.count; i++) {
    const weir__dependence *dependence = &self->dependences.list[i];
    if (dependence->task == 0) continue;
    weir__task *before = weir__window_task(&self->window, dependence->task);
    bool same = run_ahead(task) && run_ahead(before);
    bool blocks = !same || !before->issued, no_memory = false;
    bool first = weir__window_connect(&self->window, dependence->task, task, dependence->data, blocks, &no_memory);
    assert_false(no_memory);
    if (first && same) assert_true(weir__window_add_predecessor(task, dependence->task));
  }
}

static void submit(run *self) {
  weir__task *slot = weir__window_task(&self->window, self->window.next);
  weir__access *accesses = weir__window_payload(slot, MAX_ACCESSES * sizeof *accesses);
  uint32_t count = choose_accesses(self, accesses);
  bool commutes = false;
  for (uint32_t i = 0; i < count; i++) commutes |= accesses[i].mode == WEIR_COMMUTE;
  assert_true(weir__commute_reserve(accesses, count));
  assert_true(weir__range_pool_reserve(&self->ranges, count));
  weir__task *task = weir__window_begin(&self->window);
  self->stages[slot_of(task->id)] = SUBMITTED;
  task->accesses = accesses;
  task->access_count = count;
  task->device = (uint8_t)random_below(&self->random, 2);
  weir__dependences_clear(&self->dependences);
  for (uint32_t i = 0; i < count; i++) {
    const weir__access *access = &accesses[i];
    if (access->mode == WEIR_COMMUTE)
      weir__buffer_commute(access->buffer, &self->ranges, &self->window.live, task->id, access->lo, access->hi,
                           &self->dependences);
    else
      weir__buffer_access(access->buffer, &self->ranges, &self->window.live, task->id, (weir_mode)access->mode,
                          access->lo, access->hi, &self->dependences);
  }
  if (self->dependences.poisoned) task->reads_poison = true;
  if (commutes) weir__commute_expect(task);
  connect(self, task);
  weir__window_commit(&self->window, task);
  if (commutes) weir__window_release(&self->window, task);
  issue_ready(self);
}

static bool overlap(const weir__access *a, const weir__access *b) {
  return a->buffer == b->buffer && a->lo < b->hi && b->lo < a->hi;
}

// Whether one of two tasks that have started waits for the other on their device.
static bool ordered(const run *self, const weir__task *task, weir__id other) {
  for (uint32_t i = 0; i < task->predecessor_count; i++) {
    weir__id before = task->predecessors[i];
    if (before == other) return true;
    if (weir__live(&self->window.live, before) && ordered(self, weir__window_task(&self->window, before), other))
      return true;
  }
  return false;
}

// Tasks that have started and commute on the same bytes: none at a time, but on the device that keeps their order.
static void check_exclusion(const run *self) {
  for (weir__id a = self->window.live.oldest; a < self->window.next; a++) {
    for (weir__id b = a + 1; b < self->window.next; b++) {
      const weir__task *left = weir__window_task(&self->window, a), *right = weir__window_task(&self->window, b);
      if (self->stages[slot_of(a)] != STARTED || self->stages[slot_of(b)] != STARTED) continue;
      if (left->device == 1 && right->device == 1 && (ordered(self, left, b) || ordered(self, right, a))) continue;
      for (uint32_t i = 0; i < left->access_count; i++) {
        for (uint32_t j = 0; j < right->access_count; j++) {
          const weir__access *x = &left->accesses[i], *y = &right->accesses[j];
          if (x->mode == WEIR_READ && y->mode == WEIR_READ) continue;
          assert_false(overlap(x, y));
        }
      }
    }
  }
}

static bool passes_data(const weir__task *from, const weir__task *to) {
  for (uint32_t i = 0; i < from->access_count; i++) {
    for (uint32_t j = 0; j < to->access_count; j++) {
      const weir__access *x = &from->accesses[i], *y = &to->accesses[j];
      if (x->mode != WEIR_READ && y->mode != WEIR_WRITE && overlap(x, y)) return true;
    }
  }
  return false;
}

// Whether the task can be executed, or what it did be told. It is known of what it reads whether it is poisoned.
static bool can_go_on(const run *self, const weir__task *task) {
  for (uint32_t i = 0; i < task->predecessor_count; i++) {
    weir__id id = task->predecessors[i];
    if (!weir__live(&self->window.live, id)) continue;
    const weir__task *before = weir__window_task(&self->window, id);
    if (self->stages[slot_of(id)] != EXECUTED || passes_data(before, task)) return false;
  }
  return self->stages[slot_of(task->id)] == STARTED || self->stages[slot_of(task->id)] == EXECUTED;
}

static weir__task *choose_one(run *self) {
  weir__task *found[WINDOW];
  uint32_t count = 0;
  for (weir__id id = self->window.live.oldest; id < self->window.next; id++) {
    weir__task *task = weir__window_task(&self->window, id);
    if (weir__live(&self->window.live, id) && can_go_on(self, task)) found[count++] = task;
  }
  assert_true(count > 0); // or it goes no further
  return found[random_below(&self->random, count)];
}

static bool *bytes_of(run *self, const weir__access *access) {
  return self->poisoned[access->buffer == self->buffers[1]];
}

static void retry(run *self) {
  uint32_t count = self->again_count;
  weir__task *again[WINDOW];
  memcpy(again, self->again, count * sizeof again[0]);
  self->again_count = 0;
  self->entered_late += count;
  for (uint32_t i = 0; i < count; i++) weir__window_release(&self->window, again[i]);
}

static void execute(run *self, weir__task *task, uint32_t fail_percent) {
  bool skipped = false;
  for (uint32_t i = 0; i < task->access_count; i++) {
    const weir__access *access = &task->accesses[i];
    for (uint64_t byte = access->lo; byte < access->hi; byte++)
      skipped |= access->mode != WEIR_WRITE && bytes_of(self, access)[byte];
  }
  assert_int_equal(task->reads_poison, skipped);
  bool failed = skipped || random_chance(&self->random, fail_percent);
  for (uint32_t i = 0; i < task->access_count; i++) {
    const weir__access *access = &task->accesses[i];
    if (access->mode == WEIR_READ) continue;
    for (uint64_t byte = access->lo; byte < access->hi; byte++) bytes_of(self, access)[byte] = failed;
  }
  self->failed[slot_of(task->id)] = failed;
  self->stages[slot_of(task->id)] = EXECUTED;
}

static void report(run *self, weir__task *task) {
  bool failed = self->failed[slot_of(task->id)];
  for (uint32_t i = 0; i < task->access_count && failed; i++) {
    const weir__access *access = &task->accesses[i];
    if (access->mode != WEIR_READ)
      weir__buffer_poison(access->buffer, &self->ranges, task->id, access->lo, access->hi, 1);
  }
  self->stages[slot_of(task->id)] = DONE;
  if (task->commutes != WEIR__COMMUTES_NOT) weir__commute_leave(&self->window, task, failed);
  weir__window_complete(&self->window, task, failed);
  retry(self);
  issue_ready(self);
}

static void go_on(run *self, uint32_t fail_percent) {
  weir__task *task = choose_one(self);
  bool at_once = !run_ahead(task) || random_chance(&self->random, 50);
  if (self->stages[slot_of(task->id)] == STARTED)
    execute(self, task, fail_percent);
  else
    at_once = true;
  if (at_once) report(self, task);
}

static uint64_t last_seed;

// Returns how often a task found no memory to be put behind others.
static uint32_t run_seed(uint64_t seed, uint32_t in_flight, uint32_t fail_percent, uint32_t no_memory_percent) {
  run self;
  last_seed = seed;
  set_up(&self, seed);
  self.no_memory_percent = no_memory_percent;
  for (uint32_t step = 0; step < TASKS; step++) {
    uint32_t live = (uint32_t)(self.window.next - self.window.live.oldest);
    if (live == WINDOW || random_below(&self.random, in_flight) < live)
      go_on(&self, fail_percent);
    else
      submit(&self);
    if (step % 4 == 0) check_exclusion(&self);
  }
  while (self.window.live.oldest < self.window.next) go_on(&self, fail_percent);
  tear_down(&self);
  return self.entered_late;
}

static void random_tasks(void **state) {
  (void)state;
  for (uint64_t seed = 1; seed <= 20; seed++) run_seed(seed, 40, 0, 0);
}

static void random_tasks_that_fail(void **state) {
  (void)state;
  for (uint64_t seed = 1; seed <= 40; seed++) run_seed(seed, seed % 2 == 0 ? 40 : 8, 2 + (uint32_t)(seed % 3) * 10, 0);
}

static void random_tasks_without_memory(void **state) {
  (void)state;
  uint32_t entered_late = 0;
  for (uint64_t seed = 1; seed <= 20; seed++) entered_late += run_seed(seed, 40, 5, 30);
  assert_true(entered_late > 100);
}

static int print_seed(void **state) {
  (void)state;
  print_message("last seed: %llu\n", (unsigned long long)last_seed);
  return 0;
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_teardown(random_tasks, print_seed),
      cmocka_unit_test_teardown(random_tasks_that_fail, print_seed),
      cmocka_unit_test_teardown(random_tasks_without_memory, print_seed),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
