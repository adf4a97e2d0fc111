// SPDX-License-Identifier: Apache-2.0
//
// Within a rank, tasks, sends and receives are a program in the order of their submission, which the usual steps check:
// buffers of different ranks are different objects. What remains is that messages carry the right versions.
#include "check/ranks.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

// ---------------------------------------------------------------------------------------------------------------
// The program of all ranks

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

static bool take_tasks(weir__checker *checker) {
  const weir__timeline *timeline = checker->timeline;
  checker->tasks = malloc((timeline->task_count + 1) * sizeof *checker->tasks);
  if (!checker->tasks) return false;
  checker->task_count = checker->report->tasks = timeline->task_count;
  for (size_t i = 0; i < timeline->task_count; i++)
    checker->tasks[i] = (weir__checked_task){.seen = &timeline->tasks[i], .index = UINT32_MAX};
  qsort(checker->tasks, checker->task_count, sizeof *checker->tasks, compare_tasks);
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
static bool take_buffers(const weir__timeline *timeline, weir__stream *stream) {
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

static bool take_accesses(weir__checker *checker) {
  const weir__timeline *timeline = checker->timeline;
  checker->access_capacity = timeline->access_count + timeline->task_count + 1;
  checker->accesses = malloc(checker->access_capacity * sizeof *checker->accesses);
  if (!checker->accesses) return false;
  for (uint32_t i = 0; i < checker->task_count; i++) {
    const weir__timeline_task *task = checker->tasks[i].seen;
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
    if (task->destination.storage != 0) add_brought(checker, &task->destination);
  }
  checker->report->accesses = checker->access_count;
  return true;
}

// ---------------------------------------------------------------------------------------------------------------

typedef bool rank_step(weir__ranks *self);
typedef bool check_step(weir__checker *checker);

static bool run_steps(weir__ranks *self, const weir__stream *stream) {
  static rank_step *const between[] = {weir__ranks_calls, weir__ranks_messages, weir__ranks_versions};
  static check_step *const within[] = {weir__check_commute, weir__check_program, weir__check_replicas,
                                       weir__check_storage_use, weir__check_waits};
  weir__checker *checker = self->checker;
  if (!take_tasks(checker) || !take_accesses(checker)) return false;
  if (checker->report->broken == 0 && stream != NULL && !weir__ranks_stream(self, stream)) return false;
  for (size_t i = 0; i < 3 && checker->report->broken == 0; i++) {
    if (!between[i](self)) return false;
  }
  for (size_t i = 0; i < sizeof within / sizeof *within; i++) {
    if (i <= 1 && checker->report->broken > 0) return true; // the rest has nothing to stand on
    if (!within[i](checker)) return false;
  }
  return true;
}

static void release(weir__ranks *self) {
  for (size_t i = 0; i < self->message_count; i++) free(self->messages[i].carried);
  free(self->messages);
  free(self->message_of);
}

static const char *find_simulated(const weir__timeline *timeline) {
  for (size_t i = 0; i < timeline->device_count; i++) {
    if (strncmp(timeline->devices[i].name, "sim", 3) == 0) return timeline->devices[i].name;
  }
  return NULL;
}

bool weir__check_ranks(weir__checker *checker, const weir__stream *stream) {
  weir__stream buffers = {.name = NULL};
  weir__ranks self = {.checker = checker};
  const char *simulated = find_simulated(checker->timeline);
  if (simulated != NULL) {
    weir__check_add(checker,
                    "device '%s' has a time of its own: timelines of ranks with simulated devices prove nothing",
                    simulated);
    return true;
  }
  checker->options.ignore_host_waits = true;
  checker->stream = &buffers;
  checker->report->ranks = checker->timeline->rank_count;
  bool good = take_buffers(checker->timeline, &buffers) && run_steps(&self, stream);
  checker->stream = NULL;
  free(buffers.buffers);
  release(&self);
  return good;
}
