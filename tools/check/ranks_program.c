// SPDX-License-Identifier: Apache-2.0
//
// What all ranks do as one program: rank by rank, each rank's tasks in the order of their submission.
#include <stdlib.h>

#include "check/ranks.h"

static const uint64_t FIRST_NODE = 1000000000000, NODES = 1000000;

// Where a task of a rank stands: the nodes of a graph stand where it was launched.
static uint64_t place_of(const weir__timeline_task *task, uint64_t *out_node) {
  uint64_t own = task->id % WEIR__TIMELINE_RANK_IDS;
  *out_node = own < FIRST_NODE ? 0 : own % NODES + 1;
  return own < FIRST_NODE ? own : (own - FIRST_NODE) / NODES;
}

static int compare_tasks(const void *a, const void *b) {
  const weir__timeline_task *x = ((const weir__checked_task *)a)->seen, *y = ((const weir__checked_task *)b)->seen;
  uint64_t x_node, y_node, x_place = place_of(x, &x_node), y_place = place_of(y, &y_node);
  if (weir__rank_of(x) != weir__rank_of(y)) return weir__rank_of(x) < weir__rank_of(y) ? -1 : 1;
  if (x_place != y_place) return x_place < y_place ? -1 : 1;
  return x_node < y_node ? -1 : x_node > y_node;
}

// The first task, in order, that is not before a task.
static size_t find_place(const weir__checker *checker, size_t count, const weir__timeline_task *task) {
  const weir__checked_task wanted = {.seen = task};
  size_t low = 0, high = count;
  while (low < high) {
    size_t middle = low + (high - low) / 2;
    if (compare_tasks(&checker->tasks[middle], &wanted) < 0)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

// Whether the device noted times of each of these nodes. Else several have those of the whole launch.
static bool are_timed(const weir__checked_task *nodes, size_t count, const weir__timeline_task *launch) {
  size_t untimed = 0;
  for (size_t i = 0; i < count; i++)
    untimed += nodes[i].seen->start_ns == launch->start_ns && nodes[i].seen->end_ns == launch->end_ns;
  return count > 0 && (untimed <= 1 || launch->start_ns == launch->end_ns);
}

// A launch whose nodes have no times is a task in their place. The tasks are in order.
static void take_launches(weir__checker *checker) {
  const weir__timeline *timeline = checker->timeline;
  size_t count = checker->task_count;
  for (size_t i = 0; i < timeline->launch_count; i++) {
    const weir__timeline_task *launch = &timeline->launches[i];
    size_t first = find_place(checker, count, launch);
    size_t end = find_place(checker, count, &(weir__timeline_task){.id = launch->id + 1});
    if (are_timed(&checker->tasks[first], end - first, launch)) continue;
    for (size_t k = first; k < end; k++) checker->tasks[k].index = 0; // it goes
    checker->tasks[checker->task_count++] = (weir__checked_task){.seen = launch, .index = UINT32_MAX};
  }
  size_t kept = 0;
  for (size_t i = 0; i < checker->task_count; i++) {
    if (checker->tasks[i].index == UINT32_MAX) checker->tasks[kept++] = checker->tasks[i];
  }
  checker->task_count = kept;
}

bool weir__ranks_take_tasks(weir__checker *checker) {
  const weir__timeline *timeline = checker->timeline;
  checker->tasks = malloc((timeline->task_count + timeline->launch_count + 1) * sizeof *checker->tasks);
  if (!checker->tasks) return false;
  checker->task_count = timeline->task_count;
  for (size_t i = 0; i < timeline->task_count; i++)
    checker->tasks[i] = (weir__checked_task){.seen = &timeline->tasks[i], .index = UINT32_MAX};
  qsort(checker->tasks, checker->task_count, sizeof *checker->tasks, compare_tasks);
  take_launches(checker);
  qsort(checker->tasks, checker->task_count, sizeof *checker->tasks, compare_tasks);
  checker->report->tasks = checker->task_count;
  for (uint32_t i = 0; i < checker->task_count; i++) {
    char text[WEIR__TASK_TEXT];
    weir__check_ended(checker, i);
    if (weir__rank_of(checker->tasks[i].seen) >= timeline->rank_count)
      weir__check_add(checker, "UNKNOWN: %s is of no rank that the timeline names",
                      weir__check_describe(checker, i, text));
  }
  return true;
}

static int compare_numbers(const void *a, const void *b) {
  const weir__stream_buffer *x = a, *y = b;
  return x->address < y->address ? -1 : x->address > y->address;
}

// The buffers of all ranks. `address` is a buffer's number in the timeline, `id` the one that messages name.
bool weir__ranks_take_buffers(const weir__timeline *timeline, weir__stream *stream) {
  stream->buffers = calloc(timeline->access_count + timeline->written_count + 1, sizeof *stream->buffers);
  if (!stream->buffers) return false;
  size_t count = 0, kept = 0;
  for (size_t i = 0; i < timeline->access_count; i++) stream->buffers[count++].address = timeline->accesses[i].buffer;
  for (size_t i = 0; i < timeline->written_count; i++) stream->buffers[count++].address = timeline->written[i].buffer;
  qsort(stream->buffers, count, sizeof *stream->buffers, compare_numbers);
  for (size_t i = 0; i < count; i++) {
    if (kept > 0 && stream->buffers[kept - 1].address == stream->buffers[i].address) continue;
    stream->buffers[kept] = stream->buffers[i];
    stream->buffers[kept].id = stream->buffers[kept].address % WEIR__TIMELINE_RANK_IDS;
    kept++;
  }
  stream->buffer_count = (uint32_t)kept;
  return true;
}

uint32_t weir__ranks_buffer(const weir__stream *stream, uint64_t number) {
  const weir__stream_buffer wanted = {.address = number};
  const weir__stream_buffer *found =
      bsearch(&wanted, stream->buffers, stream->buffer_count, sizeof wanted, compare_numbers);
  return (uint32_t)(found - stream->buffers);
}

// What a transfer brings, behind what it reads.
static void add_brought(weir__checker *checker, const weir__timeline_destination *destination) {
  weir__checked_access access = checker->accesses[checker->access_count - 1];
  access.mode = WEIR_WRITE;
  access.storage = destination->storage;
  access.memory = destination->memory;
  access.brings = true;
  checker->accesses[checker->access_count++] = access;
}

static int compare_accesses(const void *a, const void *b) {
  const weir__checked_access *x = a, *y = b;
  if (x->object != y->object) return x->object < y->object ? -1 : 1;
  if (x->lo != y->lo) return x->lo < y->lo ? -1 : 1;
  return x->hi < y->hi ? -1 : x->hi > y->hi;
}

// A task may name the same bytes several times, if it does the same with them.
static void merge_same(weir__checker *checker, size_t first) {
  weir__checked_access *accesses = &checker->accesses[first];
  size_t count = checker->access_count - first, kept = 0;
  qsort(accesses, count, sizeof *accesses, compare_accesses);
  for (size_t i = 0; i < count; i++) {
    const weir__checked_access *last = kept > 0 ? &accesses[kept - 1] : NULL;
    if (last && compare_accesses(last, &accesses[i]) == 0 && last->mode == accesses[i].mode) continue;
    accesses[kept++] = accesses[i];
  }
  checker->access_count = first + kept;
}

bool weir__ranks_take_accesses(weir__checker *checker) {
  const weir__timeline *timeline = checker->timeline;
  checker->access_capacity = timeline->access_count + timeline->task_count + 1;
  checker->accesses = malloc(checker->access_capacity * sizeof *checker->accesses);
  if (!checker->accesses) return false;
  for (uint32_t i = 0; i < checker->task_count; i++) {
    const weir__timeline_task *task = checker->tasks[i].seen;
    size_t first = checker->access_count;
    for (uint32_t k = 0; k < task->access_count; k++) {
      const weir__timeline_access *seen = &timeline->accesses[task->access_first + k];
      checker->accesses[checker->access_count++] =
          (weir__checked_access){.task = i,
                                 .buffer = weir__ranks_buffer(checker->stream, seen->buffer),
                                 .mode = seen->mode,
                                 .object = seen->buffer,
                                 .storage = seen->storage,
                                 .memory = seen->memory,
                                 .lo = seen->offset,
                                 .hi = seen->offset + seen->bytes,
                                 .offset = seen->offset,
                                 .start_ns = task->start_ns,
                                 .end_ns = task->end_ns};
    }
    if (task->access_count > 1) merge_same(checker, first);
    if (task->destination.storage != 0) add_brought(checker, &task->destination);
  }
  checker->report->accesses = checker->access_count;
  return true;
}
