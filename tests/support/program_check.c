// SPDX-License-Identifier: Apache-2.0
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "program_runner.h"
#include "weir/cuda.h"

// A last copy out of a buffer: a stretch of bytes that are not poisoned, or a whole buffer of which some are.
typedef struct last_copy {
  uint32_t buffer;
  uint64_t offset, bytes;
  unsigned char *memory;
  bool poisoned;
} last_copy;

typedef struct last_copies {
  last_copy *items;
  size_t count, capacity;
  uint64_t failed;
} last_copies;

static void copy_last(runner *r, last_copies *copies, uint32_t buffer, uint64_t offset, uint64_t bytes, bool poisoned) {
  unsigned char *memory = program_memory(bytes);
  memset(memory, REFERENCE_UNTOUCHED, bytes);
  weir_status status = weir_copy_out(r->buffers[buffer], offset, bytes, memory, NULL);
  if (status != WEIR_OK) {
    if (!r->options->refusals || status != WEIR_ERROR_OUT_OF_MEMORY)
      runner_fail(r, "last copy of b%u: %s", buffer, weir_last_error());
    free(memory);
    return;
  }
  r->submit_count++;
  copies->failed += poisoned;
  if (copies->count == copies->capacity) {
    copies->capacity = copies->capacity * 2 + 16;
    copies->items = realloc(copies->items, copies->capacity * sizeof *copies->items);
    if (copies->items == NULL) exit(1);
  }
  copies->items[copies->count++] = (last_copy){buffer, offset, bytes, memory, poisoned};
}

static void copy_buffer(runner *r, const reference_result *reference, last_copies *copies, uint32_t buffer) {
  const bool *poisoned = reference->buffers[buffer].poisoned;
  uint64_t bytes = r->program->operations[buffer].bytes;
  uint64_t start = 0;
  for (uint64_t i = 0; i <= bytes; i++) {
    if (i < bytes && !poisoned[i]) continue;
    if (i > start) copy_last(r, copies, buffer, start, i - start, false);
    start = i + 1;
  }
  if (memchr(poisoned, true, bytes) != NULL) copy_last(r, copies, buffer, 0, bytes, true);
}

static void compare(runner *r, const char *what, uint32_t index, const unsigned char *found,
                    const unsigned char *wanted, uint64_t bytes, uint64_t offset) {
  if (memcmp(found, wanted, bytes) == 0) return;
  uint64_t first = 0, different = 0;
  for (uint64_t i = bytes; i-- > 0;) {
    if (found[i] == wanted[i]) continue;
    first = i;
    different++;
  }
  runner_fail(r, "%s %u: %llu of %llu bytes differ, the first at %llu: %02x, not %02x", what, index,
              (unsigned long long)different, (unsigned long long)bytes, (unsigned long long)(offset + first),
              found[first], wanted[first]);
}

static void check_copies(runner *r, const reference_result *reference, const last_copies *copies) {
  for (size_t i = 0; i < copies->count; i++) {
    const last_copy *copy = &copies->items[i];
    if (copy->poisoned) {
      if (copy->memory[0] != REFERENCE_UNTOUCHED || memcmp(copy->memory, copy->memory + 1, copy->bytes - 1) != 0)
        runner_fail(r, "a copy of poisoned bytes of b%u was made", copy->buffer);
    } else {
      compare(r, "b", copy->buffer, copy->memory, reference->buffers[copy->buffer].memory + copy->offset, copy->bytes,
              copy->offset);
    }
  }
}

static void check_wrapped(runner *r, const reference_result *reference, uint32_t index) {
  const reference_buffer *buffer = &reference->buffers[index];
  const program_operation *operation = &r->program->operations[index];
  if (!operation->wrapped) return;
  for (uint64_t i = 0; i < operation->bytes; i++) {
    if (buffer->poisoned[i]) continue;
    compare(r, "memory of wrapped b", index, r->wrapped[index] + i, buffer->memory + i, 1, i);
    if (r->failed) return;
  }
}

// Callbacks come soon after their task is done, not before weir_finish returns.
static void await_callback(const submission *self) {
  for (int i = 0; i < 100000 && atomic_load(&self->callbacks) == 0; i++) usleep(100);
}

static const char *status_name(int status) {
  return weir_status_name((weir_status)status);
}

static void check_submission(runner *r, const reference_result *reference, uint32_t index) {
  submission *self = &r->submissions[index];
  const program_operation *operation = &r->program->operations[index];
  weir_status wanted = reference->statuses[index];
  if (self->event != NULL && weir_event_poll(self->event) != wanted)
    runner_fail(r, "#%u: event is %s, not %s", index, status_name((int)weir_event_poll(self->event)),
                weir_status_name(wanted));
  if (self->polled != WEIR_PENDING && self->polled != wanted)
    runner_fail(r, "#%u: poll gave %s, not %s", index, weir_status_name(self->polled), weir_status_name(wanted));
  if (self->waited != WEIR_PENDING && self->waited != wanted)
    runner_fail(r, "#%u: wait gave %s, not %s", index, weir_status_name(self->waited), weir_status_name(wanted));
  if (self->callback_attached) {
    await_callback(self);
    if (atomic_load(&self->callbacks) != 1)
      runner_fail(r, "#%u: callback was called %u times", index, atomic_load(&self->callbacks));
    else if (atomic_load(&self->callback_status) != (int)wanted)
      runner_fail(r, "#%u: callback got %s, not %s", index, status_name(atomic_load(&self->callback_status)),
                  weir_status_name(wanted));
  }
  if (operation->kind == OPERATION_COPY_OUT) {
    compare(r, "destination of copy #", index, self->memory, reference->copies[index], operation->bytes, 0);
    if (self->hashed && self->bytes_at_wait != runner_hash(reference->copies[index], operation->bytes))
      runner_fail(r, "#%u: the copy was not there when its event had been waited for", index);
  }
  if (operation->kind != OPERATION_TASK) return;
  if (atomic_load(&self->bad_call)) runner_fail(r, "#%u: the function got wrong counts", index);
  uint64_t groups = atomic_load(&self->groups_done);
  bool again = getenv("WEIR_CHECK") != NULL && groups > 0; // check mode runs kernels several times
  bool all = again ? groups % self->groups_total == 0 : groups == self->groups_total;
  if (wanted == WEIR_OK && !self->uncounted && !all)
    runner_fail(r, "#%u: %llu of %llu work-groups ran", index, (unsigned long long)groups,
                (unsigned long long)self->groups_total);
  if (wanted == WEIR_ERROR_UPSTREAM_FAILED && groups != 0) runner_fail(r, "#%u: ran, though upstream failed", index);
  for (int i = 0; i < PROGRAM_MAX_AFTER && self->after[i] != NULL; i++) {
    uint32_t before = (uint32_t)(self->after[i] - r->submissions);
    bool counts = r->program->operations[before].kind == OPERATION_TASK && reference->statuses[before] == WEIR_OK &&
                  !self->after[i]->uncounted;
    if (counts && atomic_load(&self->after_missing[i])) runner_fail(r, "#%u: ran before #%u was done", index, before);
  }
}

// weir_finish tells of a failure exactly when something failed since the last one.
// Whether a wait gave the status of a task that failed since the one before, or that none did.
static void check_wait(runner *r, uint32_t index, const char *call, weir_status status, bool *seen) {
  bool any = false;
  for (int i = WEIR_OK + 1; i <= WEIR_ERROR_IO; i++) any = any || seen[i];
  if (any ? (status == WEIR_OK || status > WEIR_ERROR_IO || !seen[status]) : status != WEIR_OK)
    runner_fail(r, "#%u: %s gave %s, %s", index, call, weir_status_name(status),
                any ? "which is not how a task failed" : "though nothing failed");
  memset(seen, 0, (WEIR_ERROR_IO + 1) * sizeof *seen);
}

// All groups, and number 0: what is in none.
static void check_waits(runner *r, const reference_result *reference, weir_status last, bool last_failed) {
  bool seen[1 + PROGRAM_GROUPS][WEIR_ERROR_IO + 1] = {{false}};
  for (uint32_t i = 0; i < r->program->count; i++) {
    if (r->program->dropped[i]) continue;
    const program_operation *operation = &r->program->operations[i];
    if (program_submits(operation->kind)) seen[r->submissions[i].group][reference->statuses[i]] = true;
    if (operation->kind == OPERATION_FINISH) check_wait(r, i, "weir_finish", r->finish_statuses[i], seen[0]);
    if (operation->kind == OPERATION_GROUP_WAIT && r->groups[operation->target] != NULL)
      check_wait(r, i, "weir_group_wait", r->finish_statuses[i], seen[1 + operation->target]);
  }
  if (last_failed) seen[0][WEIR_ERROR_UPSTREAM_FAILED] = true;
  check_wait(r, r->program->count, "weir_finish", last, seen[0]);
  for (uint32_t i = 0; i < PROGRAM_GROUPS; i++)
    if (r->groups[i] != NULL)
      check_wait(r, r->program->count, "weir_group_wait", weir_group_wait(r->groups[i], WEIR_FOREVER), seen[1 + i]);
}

// How the tasks of each group ended. Copies of reductions that are combined count as further tasks.
static void check_groups(runner *r, const reference_result *reference) {
  weir_group_statistics wanted[PROGRAM_GROUPS] = {{0}};
  for (uint32_t i = 0; i < r->program->count; i++) {
    if (r->program->dropped[i] || r->submissions[i].group == 0) continue;
    weir_group_statistics *its = &wanted[r->submissions[i].group - 1];
    its->tasks++;
    its->failed += reference->statuses[i] == WEIR_ERROR_TASK_FAILED;
    its->skipped += reference->statuses[i] == WEIR_ERROR_UPSTREAM_FAILED;
  }
  for (uint32_t i = 0; i < PROGRAM_GROUPS; i++) {
    weir_group_statistics found;
    if (r->groups[i] == NULL) continue;
    weir_group_get_statistics(r->groups[i], &found);
    if (found.tasks < wanted[i].tasks || found.done != found.tasks || found.failed != wanted[i].failed ||
        found.skipped < wanted[i].skipped || found.cancelled != 0)
      runner_fail(r, "group %u counts %llu tasks, %llu done, %llu failed, %llu skipped, %llu cancelled", i,
                  (unsigned long long)found.tasks, (unsigned long long)found.done, (unsigned long long)found.failed,
                  (unsigned long long)found.skipped, (unsigned long long)found.cancelled);
  }
}

static void check_statistics(runner *r, const reference_result *reference, uint64_t failed) {
  weir_statistics statistics;
  weir_context_statistics(r->context, &statistics);
  if (statistics.done != statistics.tasks)
    runner_fail(r, "%llu of %llu tasks are done", (unsigned long long)statistics.done,
                (unsigned long long)statistics.tasks);
  // A copy between a device and memory that it does not reach takes two tasks. Copies of reductions take more.
  bool staged = r->options->cuda || r->options->vulkan || r->options->opencl || r->reduces;
  if (staged ? statistics.tasks < r->submit_count : statistics.tasks != r->submit_count)
    runner_fail(r, "%llu tasks counted, not %llu", (unsigned long long)statistics.tasks,
                (unsigned long long)r->submit_count);
  failed += reference->failed;
  if (staged ? statistics.failed < failed : statistics.failed != failed)
    runner_fail(r, "%llu failures counted, not %llu", (unsigned long long)statistics.failed,
                (unsigned long long)failed);
  if ((r->options->context.flags & WEIR_CONTEXT_NO_RENAME) && statistics.renamed > 0)
    runner_fail(r, "renamed %llu times without leave", (unsigned long long)statistics.renamed);
  uint64_t limit = r->options->context.memory_limit;
  bool cards = r->options->cuda || r->options->vulkan || r->options->opencl;
  uint64_t memories = cards ? 1 + weir_context_device_count(r->context) : 1; // the limit is that of each
  if (limit != 0 && statistics.peak_bytes > limit * memories)
    runner_fail(r, "peak of %llu bytes over the limit of %llu", (unsigned long long)statistics.peak_bytes,
                (unsigned long long)limit);
}

// What is meant for a resident kernel is in it, and nothing refused it.
static void check_resident(runner *r) {
  for (uint32_t i = 0; i < weir_context_device_count(r->context); i++) {
    weir_device *device = weir_context_device(r->context, i);
    if (strcmp(weir_device_information(device)->kind, "cuda") != 0) continue;
    for (uint32_t number = PROGRAM_FIRST_RESIDENT; number < PROGRAM_KERNELS; number++) {
      for (uint32_t form = 0; form < PROGRAM_FORMS; form++) {
        char reason[256];
        if (r->kernels[number][form] != NULL &&
            !weir_cuda_is_resident(r->kernels[number][form], device, reason, sizeof reason))
          runner_fail(r, "kernel %u for %u arguments is not resident: %s", number, form, reason);
      }
    }
  }
}

void runner_check(runner *r, const reference_result *reference) {
  last_copies copies = {NULL, 0, 0, 0};
  for (uint32_t i = 0; i < r->program->count; i++) {
    if (reference->buffers[i].live) copy_buffer(r, reference, &copies, i);
  }
  weir_status last = WEIR_OK;
  if (r->options->abandon) {
    weir_context_release(r->context);
    r->context = NULL;
    for (uint32_t i = 0; i < r->program->count; i++) r->submissions[i].event = NULL;
  } else {
    last = weir_finish(r->context);
  }
  for (uint32_t i = 0; i < r->program->count && !r->failed; i++) {
    if (r->program->dropped[i]) continue;
    if (program_submits(r->program->operations[i].kind)) check_submission(r, reference, i);
    if (r->program->operations[i].kind == OPERATION_BUFFER) check_wrapped(r, reference, i);
  }
  check_copies(r, reference, &copies);
  if (r->context != NULL && r->options->shared == NULL) {
    check_waits(r, reference, last, copies.failed > 0);
    check_groups(r, reference);
    check_statistics(r, reference, copies.failed);
    if (r->options->context.issue == WEIR_ISSUE_RESIDENT && !r->options->refusals) check_resident(r);
  }
  for (size_t i = 0; i < copies.count; i++) free(copies.items[i].memory);
  free(copies.items);
}
