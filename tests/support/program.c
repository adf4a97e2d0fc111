// SPDX-License-Identifier: Apache-2.0
#include "program.h"

#include <inttypes.h>
#include <stdlib.h>

void *program_memory(size_t bytes) {
  void *memory = calloc(1, bytes == 0 ? 1 : bytes);
  if (memory == NULL) {
    fprintf(stderr, "no memory for the test\n");
    exit(1);
  }
  return memory;
}

void program_deinitialize(test_program *program) {
  for (uint32_t i = 0; i < program->count; i++) free(program->operations[i].tasks);
  free(program->operations);
  free(program->dropped);
}

bool program_submits(operation_kind kind) {
  return kind == OPERATION_TASK || kind == OPERATION_COPY_IN || kind == OPERATION_COPY_OUT || kind == OPERATION_COPY ||
         kind == OPERATION_FILL || kind == OPERATION_GRAPH_LAUNCH;
}

uint32_t program_rows(const program_access *access) {
  return access->box.width == 0 ? 1 : access->box.rows * access->box.slices;
}

uint32_t program_row(const program_access *access, uint32_t number) {
  const program_box *box = &access->box;
  if (box->width == 0) return access->offset;
  return access->offset + number / box->rows * box->slice_pitch + number % box->rows * box->pitch;
}

uint32_t program_row_bytes(const program_access *access) {
  return access->box.width == 0 ? access->bytes : access->box.width;
}

// Whether a buffer was not created, or not filled.
static bool buffer_lacks(const test_program *program, uint32_t buffer) {
  const program_operation *operation = &program->operations[buffer];
  return program->dropped[buffer] || (operation->kind == OPERATION_BLANK && program->dropped[operation->target]);
}

static bool task_lacks(const test_program *program, const program_task *task) {
  for (uint32_t i = 0; i < task->access_count; i++) {
    if (buffer_lacks(program, task->accesses[i].buffer)) return true;
  }
  return false;
}

bool program_operation_lacks(const test_program *program, uint32_t index) {
  const program_operation *operation = &program->operations[index];
  const bool *dropped = program->dropped;
  switch (operation->kind) {
  case OPERATION_BUFFER:
  case OPERATION_BLANK:
  case OPERATION_FINISH:
  case OPERATION_GROUP_WAIT:
  case OPERATION_KERNEL_RENEW:
    return false;
  case OPERATION_BUFFER_RELEASE:
  case OPERATION_COPY_IN:
  case OPERATION_COPY_OUT:
  case OPERATION_FILL:
    return buffer_lacks(program, operation->buffer);
  case OPERATION_COPY:
    return buffer_lacks(program, operation->buffer) || buffer_lacks(program, operation->source);
  case OPERATION_BUFFER_PAIR:
    return dropped[operation->source];
  case OPERATION_TASK:
    return task_lacks(program, &operation->task);
  case OPERATION_EVENT_WAIT:
  case OPERATION_EVENT_POLL:
  case OPERATION_EVENT_RELEASE:
  case OPERATION_GRAPH_SET_VALUE:
  case OPERATION_GRAPH_LAUNCH:
  case OPERATION_GRAPH_RELEASE:
    return dropped[operation->target];
  case OPERATION_GRAPH_SET_BUFFER:
    return dropped[operation->target] || buffer_lacks(program, operation->buffer);
  case OPERATION_GRAPH_REPLACE:
    return dropped[operation->target] || buffer_lacks(program, operation->buffer) ||
           buffer_lacks(program, operation->source);
  case OPERATION_GRAPH:
    for (uint32_t i = 0; i < operation->task_count; i++) {
      if (task_lacks(program, &operation->tasks[i])) return true;
    }
    return false;
  }
  return false;
}

void program_drop_dependents(test_program *program) {
  for (uint32_t i = 0; i < program->count; i++) {
    if (!program->dropped[i]) program->dropped[i] = program_operation_lacks(program, i);
  }
}

static void print_task(const program_task *task, FILE *file) {
  static const char *const modes[] = {"value", "reads", "writes", "updates", "commutes", "reduces"};
  if (task->kernel == PROGRAM_HOST)
    fprintf(file, "host");
  else
    fprintf(file, "kernel %u groups %u,%u,%u", task->kernel, task->groups[0], task->groups[1], task->groups[2]);
  for (uint32_t i = 0; i < task->access_count; i++) {
    const program_access *access = &task->accesses[i];
    fprintf(file, " %s b%u[%u,%u%s)", modes[access->mode], access->buffer, access->offset,
            access->offset + access->bytes, access->whole ? " whole" : "");
    const program_box *box = &access->box;
    if (box->width > 0)
      fprintf(file, " box of %u rows of %u, pitch %u, %u slices at %u", box->rows, box->width, box->pitch, box->slices,
              box->slice_pitch);
  }
  if (task->value_bytes > 0) fprintf(file, " value of %u bytes", task->value_bytes);
  if (task->fail_group != PROGRAM_NO_FAILURE) fprintf(file, " fails in group %u", task->fail_group);
  if (task->priority != 0) fprintf(file, " priority %d", task->priority);
  if (task->device != 0) fprintf(file, " device %u", task->device - 1);
  if (task->group != 0) fprintf(file, " in group %u", task->group - 1);
}

static void print_operation(const program_operation *operation, FILE *file) {
  const char *end = operation->wrapped ? " wrapped" : "";
  switch (operation->kind) {
  case OPERATION_BUFFER:
    fprintf(file, "buffer of %" PRIu64 " bytes%s", operation->bytes, end);
    break;
  case OPERATION_BLANK:
    fprintf(file, "buffer of %" PRIu64 " bytes, filled by #%u", operation->bytes, operation->target);
    break;
  case OPERATION_BUFFER_PAIR:
    fprintf(file, "buffer of %" PRIu64 " bytes, ", operation->bytes);
    print_task(&operation->task, file);
    break;
  case OPERATION_BUFFER_RELEASE:
    fprintf(file, "release b%u", operation->buffer);
    break;
  case OPERATION_TASK:
    print_task(&operation->task, file);
    break;
  case OPERATION_COPY_IN:
  case OPERATION_COPY_OUT:
    fprintf(file, "copy %s b%u[%" PRIu64 ",%" PRIu64 ")", operation->kind == OPERATION_COPY_IN ? "in" : "out",
            operation->buffer, operation->offset, operation->offset + operation->bytes);
    break;
  case OPERATION_FILL:
    fprintf(file, "fill b%u[%" PRIu64 ",%" PRIu64 ")", operation->buffer, operation->offset,
            operation->offset + operation->bytes);
    break;
  case OPERATION_COPY:
    fprintf(file, "copy to b%u at %" PRIu64 " from b%u at %" PRIu64 ", %" PRIu64 " bytes", operation->buffer,
            operation->offset, operation->source, operation->source_offset, operation->bytes);
    break;
  case OPERATION_EVENT_WAIT:
    fprintf(file, "wait for #%u, %" PRIu64 " ns", operation->target, operation->timeout_ns);
    break;
  case OPERATION_EVENT_POLL:
    fprintf(file, "poll #%u", operation->target);
    break;
  case OPERATION_EVENT_RELEASE:
    fprintf(file, "release event #%u", operation->target);
    break;
  case OPERATION_FINISH:
    fprintf(file, "finish");
    break;
  case OPERATION_GROUP_WAIT:
    fprintf(file, "wait for group %u%s", operation->target, operation->callback ? ", and cancel it" : "");
    return;
  case OPERATION_KERNEL_RENEW:
    fprintf(file, "renew kernel %u", operation->target);
    break;
  case OPERATION_GRAPH:
    fprintf(file, "graph of %u tasks", operation->task_count);
    for (uint32_t i = 0; i < operation->task_count; i++) {
      fprintf(file, "\n        node %u: ", i);
      print_task(&operation->tasks[i], file);
    }
    break;
  case OPERATION_GRAPH_SET_VALUE:
    fprintf(file, "graph #%u node %u: new value", operation->target, operation->node);
    break;
  case OPERATION_GRAPH_SET_BUFFER:
    fprintf(file, "graph #%u node %u access %u: uses b%u", operation->target, operation->node, operation->access,
            operation->buffer);
    break;
  case OPERATION_GRAPH_REPLACE:
    fprintf(file, "graph #%u: b%u replaces b%u", operation->target, operation->buffer, operation->source);
    break;
  case OPERATION_GRAPH_LAUNCH:
    fprintf(file, "launch graph #%u", operation->target);
    break;
  case OPERATION_GRAPH_RELEASE:
    fprintf(file, "release graph #%u", operation->target);
    break;
  }
  for (uint32_t i = 0; i < operation->after_count; i++) fprintf(file, " after #%u", operation->after[i]);
  if (operation->event) fprintf(file, " event");
  if (operation->callback) fprintf(file, " callback");
}

void program_print(const test_program *program, FILE *file) {
  for (uint32_t i = 0; i < program->count; i++) {
    if (program->dropped[i]) continue;
    fprintf(file, "  #%u ", i);
    print_operation(&program->operations[i], file);
    fprintf(file, "\n");
  }
}
