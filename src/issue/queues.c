// SPDX-License-Identifier: Apache-2.0
#include "issue/queues.h"

#include <string.h>

#include "base/allocate.h"

typedef struct queue_state {
  weir__queue_task *last; // NULL: none was issued, or it is done
  uint64_t issued;        // sequence of the last task
  uint32_t in_flight;
  bool stalled;
  uint64_t *clock;
} queue_state;

struct weir__queues {
  uint32_t count, ordinary, most;
  uint32_t next; // where to look first, so that queues are used in turn
  queue_state *items;
  uint64_t *clocks;
  weir__queue_task *free_tasks, *allocated;
  weir__queue_task **waits, **records;
  uint32_t capacity; // of each of the two
};

weir__queues *weir__queues_create_wide(uint32_t count, uint32_t special, uint32_t most) {
  weir__queues *queues = weir__allocate_zeroed(sizeof *queues);
  if (queues == NULL) return NULL;
  queues->count = count;
  queues->ordinary = count - special;
  queues->most = most;
  queues->items = weir__allocate_zeroed(most * sizeof *queues->items);
  queues->clocks = weir__allocate_zeroed((size_t)most * most * sizeof *queues->clocks);
  if (queues->items == NULL || queues->clocks == NULL) {
    weir__queues_destroy(queues);
    return NULL;
  }
  for (uint32_t i = 0; i < most; i++) queues->items[i].clock = queues->clocks + (size_t)i * most;
  return queues;
}

weir__queues *weir__queues_create(uint32_t count, uint32_t special) {
  return weir__queues_create_wide(count, special, count);
}

// What was issued before comes after nothing in the new queues.
void weir__queues_widen(weir__queues *queues) {
  for (weir__queue_task *task = queues->allocated; task != NULL; task = task->next_allocated)
    memset(task->clock + queues->count, 0, (queues->most - queues->count) * sizeof task->clock[0]);
  queues->count = queues->most;
}

void weir__queues_destroy(weir__queues *queues) {
  if (queues == NULL) return;
  for (weir__queue_task *task = queues->allocated, *next; task != NULL; task = next) {
    next = task->next_allocated;
    weir__free(task);
  }
  weir__free(queues->waits);
  weir__free(queues->records);
  weir__free(queues->clocks);
  weir__free(queues->items);
  weir__free(queues);
}

static weir__queue_task *new_task(weir__queues *queues) {
  weir__queue_task *task = queues->free_tasks;
  if (task != NULL) {
    queues->free_tasks = task->next_free;
    return task;
  }
  task = weir__allocate(sizeof *task + queues->most * sizeof task->clock[0]);
  if (task == NULL) return NULL;
  task->next_allocated = queues->allocated;
  queues->allocated = task;
  return task;
}

static void free_task(weir__queues *queues, weir__queue_task *task) {
  task->next_free = queues->free_tasks;
  queues->free_tasks = task;
}

static bool reserve_lists(weir__queues *queues, uint32_t count) {
  if (count <= queues->capacity) return true;
  weir__queue_task **waits = weir__allocate(2 * count * sizeof(weir__queue_task *));
  weir__queue_task **records = weir__allocate(2 * count * sizeof(weir__queue_task *));
  if (waits == NULL || records == NULL) {
    weir__free(waits);
    weir__free(records);
    return false;
  }
  weir__free(queues->waits);
  weir__free(queues->records);
  queues->waits = waits;
  queues->records = records;
  queues->capacity = 2 * count;
  return true;
}

// The predecessor issued last of those that are still the last in their queue, or NULL.
static weir__queue_task *open_predecessor(const weir__queues *queues, weir__queue_task *const *predecessors,
                                          uint32_t count) {
  for (uint32_t i = count; i > 0; i--) {
    weir__queue_task *task = predecessors[i - 1];
    if (task->queue < queues->ordinary && queues->items[task->queue].last == task) return task;
  }
  return NULL;
}

static uint32_t emptiest_queue(weir__queues *queues) {
  uint32_t best = queues->next;
  for (uint32_t i = 0; i < queues->ordinary; i++) {
    uint32_t at = (queues->next + i) % queues->ordinary;
    const queue_state *item = &queues->items[at], *former = &queues->items[best];
    if (!item->stalled && (former->stalled || item->in_flight < former->in_flight)) best = at;
  }
  queues->next = (best + 1) % queues->ordinary;
  return best;
}

static bool covers(const uint64_t *clock, const weir__queue_task *task) {
  return clock[task->queue] >= task->sequence;
}

// Whether one of the predecessors comes after predecessors[index], or is the same and stands before it.
static bool implied(weir__queue_task *const *predecessors, uint32_t count, uint32_t index) {
  const weir__queue_task *task = predecessors[index];
  for (uint32_t i = 0; i < count; i++) {
    if (predecessors[i] == task ? i < index : covers(predecessors[i]->clock, task)) return true;
  }
  return false;
}

static void merge(uint64_t *clock, const uint64_t *other, uint32_t count) {
  for (uint32_t i = 0; i < count; i++) {
    if (clock[i] < other[i]) clock[i] = other[i];
  }
}

static uint32_t choose(weir__queues *queues, weir__queue_task *const *predecessors, uint32_t count) {
  const weir__queue_task *open = open_predecessor(queues, predecessors, count);
  return open != NULL ? open->queue : emptiest_queue(queues);
}

weir__queue_choice weir__queues_issue(weir__queues *queues, weir__queue_task *const *predecessors, uint32_t count,
                                      uint32_t wanted) {
  weir__queue_choice choice = {0};
  if (!reserve_lists(queues, count + 1)) return choice;
  weir__queue_task *task = new_task(queues);
  if (task == NULL) return choice;
  choice = (weir__queue_choice){.task = task,
                                .queue = wanted == WEIR__ANY_QUEUE || queues->items[wanted].stalled
                                             ? choose(queues, predecessors, count)
                                             : wanted,
                                .waits = queues->waits,
                                .records = queues->records};
  queue_state *queue = &queues->items[choice.queue];
  if (queue->last != NULL && !queue->last->recorded && queues->count > 1) {
    queue->last->recorded = true;
    choice.records[choice.record_count++] = queue->last;
  }
  for (uint32_t i = 0; i < count; i++) {
    weir__queue_task *predecessor = predecessors[i];
    if (covers(queue->clock, predecessor) || implied(predecessors, count, i)) continue;
    choice.waits[choice.wait_count++] = predecessor;
    if (predecessor->recorded) continue;
    predecessor->recorded = true;
    choice.records[choice.record_count++] = predecessor;
  }
  for (uint32_t i = 0; i < choice.wait_count; i++) merge(queue->clock, choice.waits[i]->clock, queues->count);
  task->queue = choice.queue;
  task->recorded = task->stalls = false;
  task->sequence = ++queue->issued;
  queue->clock[choice.queue] = task->sequence;
  memcpy(task->clock, queue->clock, queues->count * sizeof task->clock[0]);
  queue->last = task;
  queue->in_flight++;
  return choice;
}

void weir__queues_stall(weir__queues *queues, weir__queue_task *task) {
  task->stalls = queues->items[task->queue].stalled = true;
}

uint32_t weir__queues_quietest(const weir__queues *queues, uint32_t first, uint32_t end) {
  uint32_t best = WEIR__ANY_QUEUE;
  for (uint32_t i = first; i < end; i++) {
    const queue_state *item = &queues->items[i];
    if (!item->stalled && (best == WEIR__ANY_QUEUE || item->in_flight < queues->items[best].in_flight)) best = i;
  }
  return best;
}

void weir__queues_done(weir__queues *queues, weir__queue_task *task) {
  queue_state *queue = &queues->items[task->queue];
  if (queue->last == task) queue->last = NULL;
  queue->in_flight--;
  if (task->stalls) queue->stalled = false;
  free_task(queues, task);
}
