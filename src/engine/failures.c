// SPDX-License-Identifier: Apache-2.0
#include "engine/failures.h"

#include <stdio.h>
#include <string.h>

#include "base/allocate.h"

enum { ROOTS = 256, ROOT_TEXT_BYTES = 400, MOST_DESCRIPTION = 140 };

typedef struct failure_root {
  uint32_t number;
  char text[ROOT_TEXT_BYTES];
} failure_root;

// Why a task is skipped, by slot of the window.
typedef struct failure_cause {
  weir__id task;
  uint32_t root;
  bool own;        // the task is the root
  uint64_t buffer; // 0: not known
  uint64_t lo, hi;
} failure_cause;

struct weir__failures {
  uint32_t roots_made;
  failure_root roots[ROOTS]; // by number
  failure_cause *causes;
};

static size_t causes_bytes(const weir_context *context) {
  return context->host.window.size * sizeof(failure_cause);
}

static struct weir__failures *find_failures(weir_context *context) {
  if (context->failures != NULL) return context->failures;
  weir__context_poisons(context); // whether there is memory for texts or not
  struct weir__failures *failures = weir__allocate_zeroed(sizeof *failures);
  if (failures == NULL) return NULL;
  failures->causes = weir__allocate_sparse(causes_bytes(context));
  if (failures->causes == NULL) {
    weir__free(failures);
    return NULL;
  }
  context->failures = failures;
  return failures;
}

void weir__failures_destroy(weir_context *context) {
  if (context->failures == NULL) return;
  weir__free_sparse(context->failures->causes, causes_bytes(context));
  weir__free(context->failures);
  context->failures = NULL;
}

static failure_cause *cause_of(const weir_context *context, const weir__task *task) {
  return &context->failures->causes[task->id & context->host.window.live.mask];
}

static uint32_t make_root(weir_context *context, const weir__task *task) {
  struct weir__failures *failures = context->failures;
  if (++failures->roots_made == WEIR__NO_ROOT) failures->roots_made = 1;
  uint32_t number = failures->roots_made;
  failure_root *root = &failures->roots[number % ROOTS];
  char text[WEIR__MESSAGE_BYTES];
  weir__context_describe(context, task, text);
  root->number = number;
  snprintf(root->text, sizeof root->text, "%.*s", ROOT_TEXT_BYTES - 1, text);
  *cause_of(context, task) = (failure_cause){.task = task->id, .root = number, .own = true};
  return number;
}

uint32_t weir__failures_root(weir_context *context, const weir__task *task) {
  if (find_failures(context) == NULL) return WEIR__NO_ROOT;
  const failure_cause *cause = cause_of(context, task);
  return cause->task == task->id ? cause->root : make_root(context, task);
}

void weir__failures_blame(weir_context *context, const weir__task *task, uint32_t root, uint64_t buffer, uint64_t lo,
                          uint64_t hi) {
  if (find_failures(context) == NULL || cause_of(context, task)->task == task->id) return;
  *cause_of(context, task) = (failure_cause){.task = task->id, .root = root, .buffer = buffer, .lo = lo, .hi = hi};
}

// Bytes that a task should have brought to another.
typedef struct failure_bytes {
  weir__id from, to;
  uint64_t lo, hi; // hi 0: none
} failure_bytes;

// Not those that a task between the two overwrote.
static void visit_bytes(void *user, uint64_t lo, uint64_t hi, weir__segment *segment) {
  failure_bytes *bytes = user;
  if (segment->writer > bytes->from && segment->writer < bytes->to) return;
  if (bytes->hi == 0) bytes->lo = lo;
  bytes->hi = hi;
}

static bool writes(const weir__task *task, const weir__access *access) {
  return access->mode != WEIR_READ || task->kind == WEIR__TASK_TRANSFER;
}

static failure_bytes find_bytes(const weir__task *from, const weir__task *to, const weir__access *read) {
  failure_bytes bytes = {.from = from->id, .to = to->id};
  for (uint32_t i = 0; i < from->access_count && bytes.hi == 0; i++) {
    const weir__access *written = &from->accesses[i];
    uint64_t lo = written->lo > read->lo ? written->lo : read->lo, hi = written->hi < read->hi ? written->hi : read->hi;
    if (!writes(from, written) || written->buffer != read->buffer || written->serial != read->serial || lo >= hi)
      continue;
    if (read->buffer->serial == read->serial)
      weir__buffer_visit(read->buffer, lo, hi, visit_bytes, &bytes);
    else // it was overwritten since, and its users forgotten
      bytes = (failure_bytes){.lo = lo, .hi = hi};
  }
  return bytes;
}

void weir__failures_blame_task(weir_context *context, const weir__task *task, weir__id predecessor) {
  if (find_failures(context) == NULL || cause_of(context, task)->task == task->id) return;
  const weir__task *from = weir__window_task(&context->host.window, predecessor);
  uint32_t root = weir__failures_root(context, from);
  for (uint32_t i = 0; i < task->access_count; i++) {
    const weir__access *read = &task->accesses[i];
    if (read->mode == WEIR_WRITE) continue;
    failure_bytes bytes = find_bytes(from, task, read);
    if (bytes.hi == 0) continue;
    weir__failures_blame(context, task, root, read->buffer->id, bytes.lo, bytes.hi);
    return;
  }
  weir__failures_blame(context, task, root, 0, 0, 0);
}

void weir__failures_note(weir_context *context, const weir__task *task, weir_status status, const char *text,
                         const char *why) {
  if (find_failures(context) == NULL) return;
  const failure_cause *cause = cause_of(context, task);
  bool noted = cause->task == task->id;
  if (noted && !cause->own && status == WEIR_ERROR_UPSTREAM_FAILED) return;
  uint32_t number = noted && cause->own ? cause->root : make_root(context, task);
  failure_root *root = &context->failures->roots[number % ROOTS];
  if (root->number != number) return;
  int used = snprintf(root->text, sizeof root->text, "%.*s", MOST_DESCRIPTION, text);
  snprintf(root->text + used, sizeof root->text - (size_t)used, ": %.*s", ROOT_TEXT_BYTES - MOST_DESCRIPTION - 3, why);
}

// A label of one of the task's own buffers.
static const char *label_of(const weir__task *task, uint64_t buffer) {
  for (uint32_t i = 0; i < task->access_count; i++) {
    if (task->accesses[i].buffer->id == buffer) return task->accesses[i].buffer->label;
  }
  return "";
}

bool weir__failures_explain(const weir_context *context, const weir__task *task, char *text, size_t size) {
  if (context->failures == NULL) return false;
  const failure_cause *cause = cause_of(context, task);
  if (cause->task != task->id || cause->own || cause->root == WEIR__NO_ROOT) return false;
  const failure_root *root = &context->failures->roots[cause->root % ROOTS];
  const char *first = root->number == cause->root ? root->text : "an earlier one, whose text is not kept any more";
  if (cause->buffer == 0)
    snprintf(text, size, "skipped, for data that it reads is missing; the first task that failed is %s", first);
  else
    snprintf(text, size,
             "skipped, for bytes [%llu, %llu) of buffer %llu '%s' are missing; the first task that failed is %s",
             (unsigned long long)cause->lo, (unsigned long long)cause->hi, (unsigned long long)cause->buffer,
             label_of(task, cause->buffer), first);
  return true;
}
