// SPDX-License-Identifier: Apache-2.0
//
// Host waits of the stream, and the waits that the timeline itself lists.
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check/checker.h"

static void check_host_waits(weir__checker *checker) {
  uint32_t waited = WEIR__END_OF_STREAM; // the host wait that ends last of those so far
  for (uint32_t i = 0; i < checker->task_count; i++) {
    const weir__checked_task *task = &checker->tasks[i];
    if (checker->options.pipeline && i > 0 && task->pass != checker->tasks[i - 1].pass) waited = WEIR__END_OF_STREAM;
    if (waited != WEIR__END_OF_STREAM) {
      const weir__timeline_task *before = checker->tasks[waited].seen;
      checker->report->hazards++;
      if (task->seen->submit_ns < before->end_ns) {
        char text[WEIR__TASK_TEXT], other[WEIR__TASK_TEXT];
        weir__check_add(checker,
                        "HOST_WAIT broken: %s is submitted at %" PRIu64
                        " ns, but the program waits for %s, which ends at "
                        "%" PRIu64 " ns",
                        weir__check_describe(checker, i, text), task->seen->submit_ns,
                        weir__check_describe(checker, waited, other), before->end_ns);
      }
    }
    if (!task->planned->host_wait) continue;
    if (waited == WEIR__END_OF_STREAM || task->seen->end_ns > checker->tasks[waited].seen->end_ns) waited = i;
  }
}

typedef struct task_id {
  uint64_t id;
  uint32_t task; // UINT32_MAX: the launch of a graph
  const weir__timeline_task *seen;
} task_id;

static int compare_ids(const void *a, const void *b) {
  const task_id *x = a, *y = b;
  if (x->id != y->id) return x->id < y->id ? -1 : 1;
  return x->task < y->task ? -1 : x->task > y->task;
}

// The first with this id.
static const task_id *find_id(const task_id *ids, size_t count, uint64_t id) {
  size_t low = 0, high = count;
  while (low < high) {
    size_t middle = low + (high - low) / 2;
    if (ids[middle].id < id)
      low = middle + 1;
    else
      high = middle;
  }
  return low < count && ids[low].id == id ? &ids[low] : NULL;
}

static void check_wait(weir__checker *checker, const task_id *before, uint32_t index, const weir__timeline_wait *wait) {
  const weir__timeline_task *seen = checker->tasks[index].seen;
  char text[WEIR__TASK_TEXT], other[WEIR__TASK_TEXT];
  if (!before) {
    weir__check_add(checker, "WAIT: %s waits (%s) for a task with id %" PRIu64 ", which is not in the timeline",
                    weir__check_describe(checker, index, text), wait->hazard, wait->task);
    return;
  }
  checker->report->hazards++;
  if (before->seen->end_ns <= seen->start_ns) return;
  snprintf(other, sizeof other, "the launch of graph '%s'", before->seen->label);
  weir__check_add(
      checker, "WAIT broken: %s starts at %" PRIu64 " ns, but waits (%s) for %s, which ends at %" PRIu64 " ns",
      weir__check_describe(checker, index, text), seen->start_ns, wait->hazard,
      before->task == UINT32_MAX ? other : weir__check_describe(checker, before->task, other), before->seen->end_ns);
}

static void check_waits_of(weir__checker *checker, const task_id *ids, size_t count, uint32_t index) {
  const weir__timeline_task *seen = checker->tasks[index].seen;
  for (uint32_t i = 0; i < seen->wait_count; i++) {
    const weir__timeline_wait *wait = &checker->timeline->waits[seen->wait_first + i];
    bool message =
        checker->timeline->rank_count > 0 && strcmp(wait->hazard, "MESSAGE") == 0; // of clocks that may differ
    if (!message) check_wait(checker, find_id(ids, count, wait->task), index, wait);
  }
}

bool weir__check_waits(weir__checker *checker) {
  const weir__timeline *timeline = checker->timeline;
  size_t count = checker->task_count;
  task_id *ids = malloc((count + timeline->launch_count + 1) * sizeof *ids);
  if (!ids) return false;
  for (uint32_t i = 0; i < count; i++) ids[i] = (task_id){checker->tasks[i].seen->id, i, checker->tasks[i].seen};
  qsort(ids, count, sizeof *ids, compare_ids);
  for (size_t i = 1; i < count; i++) {
    char text[WEIR__TASK_TEXT], other[WEIR__TASK_TEXT];
    if (ids[i].id != ids[i - 1].id) continue;
    weir__check_add(checker, "DUPLICATE: %s and %s have one id", weir__check_describe(checker, ids[i - 1].task, text),
                    weir__check_describe(checker, ids[i].task, other));
  }
  for (size_t i = 0; i < timeline->launch_count; i++)
    ids[count++] = (task_id){timeline->launches[i].id, UINT32_MAX, &timeline->launches[i]};
  qsort(ids, count, sizeof *ids, compare_ids);
  for (uint32_t i = 0; i < checker->task_count; i++) check_waits_of(checker, ids, count, i);
  free(ids);
  if (!checker->options.ignore_host_waits) check_host_waits(checker);
  return true;
}
