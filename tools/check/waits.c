// SPDX-License-Identifier: Apache-2.0
//
// Host waits of the stream, and the waits that the timeline itself lists.
#include <inttypes.h>
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
  uint32_t task;
} task_id;

static int compare_ids(const void *a, const void *b) {
  const task_id *x = a, *y = b;
  return x->id < y->id ? -1 : x->id > y->id;
}

static void check_wait(weir__checker *checker, const task_id *ids, uint32_t index, const weir__timeline_wait *wait) {
  const weir__timeline_task *seen = checker->tasks[index].seen;
  if (checker->timeline->rank_count > 0 && strcmp(wait->hazard, "MESSAGE") == 0) return; // clocks of ranks may differ
  task_id key = {.id = wait->task};
  const task_id *found = bsearch(&key, ids, checker->task_count, sizeof *ids, compare_ids);
  char text[WEIR__TASK_TEXT], other[WEIR__TASK_TEXT];
  if (!found) {
    weir__check_add(checker, "WAIT: %s waits (%s) for a task with id %" PRIu64 ", which is not in the timeline",
                    weir__check_describe(checker, index, text), wait->hazard, wait->task);
    return;
  }
  const weir__timeline_task *before = checker->tasks[found->task].seen;
  checker->report->hazards++;
  if (before->end_ns <= seen->start_ns) return;
  weir__check_add(checker,
                  "WAIT broken: %s starts at %" PRIu64 " ns, but waits (%s) for %s, which ends at %" PRIu64 " ns",
                  weir__check_describe(checker, index, text), seen->start_ns, wait->hazard,
                  weir__check_describe(checker, found->task, other), before->end_ns);
}

bool weir__check_waits(weir__checker *checker) {
  task_id *ids = malloc((checker->task_count + 1) * sizeof *ids);
  if (!ids) return false;
  for (uint32_t i = 0; i < checker->task_count; i++) ids[i] = (task_id){checker->tasks[i].seen->id, i};
  qsort(ids, checker->task_count, sizeof *ids, compare_ids);
  for (size_t i = 1; i < checker->task_count; i++) {
    char text[WEIR__TASK_TEXT], other[WEIR__TASK_TEXT];
    if (ids[i].id != ids[i - 1].id) continue;
    weir__check_add(checker, "DUPLICATE: %s and %s have one id", weir__check_describe(checker, ids[i - 1].task, text),
                    weir__check_describe(checker, ids[i].task, other));
  }
  for (uint32_t i = 0; i < checker->task_count; i++) {
    const weir__timeline_task *seen = checker->tasks[i].seen;
    for (uint32_t k = 0; k < seen->wait_count; k++)
      check_wait(checker, ids, i, &checker->timeline->waits[seen->wait_first + k]);
  }
  free(ids);
  if (!checker->options.ignore_host_waits) check_host_waits(checker);
  return true;
}
