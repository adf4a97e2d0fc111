// SPDX-License-Identifier: Apache-2.0
#include "program_reference.h"

#include <stdlib.h>
#include <string.h>

#include "program_body.h"

static bool reads_poison(const reference_result *r, const program_access *access) {
  const bool *poisoned = r->buffers[access->buffer].poisoned;
  for (uint32_t row = 0; row < program_rows(access); row++) {
    if (memchr(poisoned + program_row(access, row), true, program_row_bytes(access)) != NULL) return true;
  }
  return false;
}

static void poison_access(reference_result *r, const program_access *access, bool poisoned) {
  bool *bytes = r->buffers[access->buffer].poisoned;
  for (uint32_t row = 0; row < program_rows(access); row++)
    memset(bytes + program_row(access, row), poisoned, program_row_bytes(access));
}

static bool is_poisoned(const reference_result *r, uint32_t buffer, uint64_t offset, uint64_t bytes) {
  const bool *poisoned = r->buffers[buffer].poisoned + offset;
  return memchr(poisoned, true, bytes) != NULL;
}

static void set_poison(reference_result *r, uint32_t buffer, uint64_t offset, uint64_t bytes, bool poisoned) {
  memset(r->buffers[buffer].poisoned + offset, poisoned, bytes);
}

static weir_status run_task(reference_result *r, const program_task *task) {
  weir_status status = task->fail_group == PROGRAM_NO_FAILURE ? WEIR_OK : WEIR_ERROR_TASK_FAILED;
  for (uint32_t i = 0; i < task->access_count; i++) {
    const program_access *access = &task->accesses[i];
    if (access->mode != WEIR_WRITE && reads_poison(r, access)) status = WEIR_ERROR_UPSTREAM_FAILED;
  }
  for (uint32_t i = 0; i < task->access_count; i++) {
    const program_access *access = &task->accesses[i];
    if (access->mode != WEIR_READ) poison_access(r, access, status != WEIR_OK);
  }
  if (status != WEIR_OK) return status;

  body_description description = body_describe(task);
  unsigned char value[4096];
  body_fill(value, task->value_bytes, task->seed);
  void *args[PROGRAM_MAX_ACCESSES + 2] = {&description};
  uint32_t next = 0;
  for (uint32_t i = 0; i < description.arg_count; i++) {
    if (description.args[i].mode == WEIR_VALUE) {
      args[i + 1] = value;
      continue;
    }
    const program_access *access = &task->accesses[next++];
    args[i + 1] = r->buffers[access->buffer].memory + access->offset;
  }
  uint32_t groups[3];
  for (int i = 0; i < 3; i++) groups[i] = task->groups[i] == 0 ? 1 : task->groups[i];
  body_run_boxes(&description, task, args + 1, groups, 0, body_group_count(groups));
  return WEIR_OK;
}

static weir_status run_copy(reference_result *r, uint32_t index) {
  const program_operation *operation = &r->program->operations[index];
  uint64_t offset = operation->offset, bytes = operation->bytes;
  unsigned char *memory = r->buffers[operation->buffer].memory + offset;
  if (operation->kind == OPERATION_COPY_IN) {
    body_fill(memory, bytes, operation->seed);
    set_poison(r, operation->buffer, offset, bytes, false);
    return WEIR_OK;
  }
  if (operation->kind == OPERATION_FILL) {
    uint32_t pattern = (uint32_t)operation->seed;
    for (uint64_t i = 0; i < bytes; i += sizeof pattern) memcpy(memory + i, &pattern, sizeof pattern);
    set_poison(r, operation->buffer, offset, bytes, false);
    return WEIR_OK;
  }
  if (operation->kind == OPERATION_COPY_OUT) {
    r->copies[index] = program_memory(bytes);
    memset(r->copies[index], REFERENCE_UNTOUCHED, bytes);
    if (is_poisoned(r, operation->buffer, offset, bytes)) return WEIR_ERROR_UPSTREAM_FAILED;
    memcpy(r->copies[index], memory, bytes);
    return WEIR_OK;
  }
  bool poisoned = is_poisoned(r, operation->source, operation->source_offset, bytes);
  set_poison(r, operation->buffer, offset, bytes, poisoned);
  if (poisoned) return WEIR_ERROR_UPSTREAM_FAILED;
  memcpy(memory, r->buffers[operation->source].memory + operation->source_offset, bytes);
  return WEIR_OK;
}

static weir_status launch_graph(reference_result *r, uint32_t graph) {
  weir_status status = WEIR_OK;
  for (uint32_t i = 0; i < r->program->operations[graph].task_count; i++) {
    weir_status one = run_task(r, &r->graphs[graph][i]);
    if (status == WEIR_OK) status = one;
  }
  return status;
}

static void replace_in_graph(reference_result *r, const program_operation *operation) {
  program_task *tasks = r->graphs[operation->target];
  for (uint32_t t = 0; t < r->program->operations[operation->target].task_count; t++) {
    for (uint32_t a = 0; a < tasks[t].access_count; a++) {
      if (tasks[t].accesses[a].buffer == operation->source) tasks[t].accesses[a].buffer = operation->buffer;
    }
  }
}

static void create_buffer(reference_result *r, uint32_t index) {
  uint64_t bytes = r->program->operations[index].bytes;
  r->buffers[index].memory = program_memory(bytes);
  r->buffers[index].poisoned = program_memory(bytes * sizeof(bool));
}

static void run_operation(reference_result *r, uint32_t index) {
  const program_operation *operation = &r->program->operations[index];
  reference_buffer *buffer = &r->buffers[index];
  size_t task_bytes = operation->task_count * sizeof(program_task);
  switch (operation->kind) {
  case OPERATION_BUFFER:
    create_buffer(r, index);
    buffer->live = true;
    body_fill(buffer->memory, operation->bytes, operation->seed);
    break;
  case OPERATION_BLANK:
    create_buffer(r, index);
    break;
  case OPERATION_BUFFER_PAIR:
    create_buffer(r, index);
    buffer->live = r->buffers[operation->source].live = true;
    run_task(r, &operation->task);
    break;
  case OPERATION_BUFFER_RELEASE:
    r->buffers[operation->buffer].live = false;
    break;
  case OPERATION_TASK:
    r->statuses[index] = run_task(r, &operation->task);
    break;
  case OPERATION_COPY_IN:
  case OPERATION_COPY_OUT:
  case OPERATION_COPY:
  case OPERATION_FILL:
    r->statuses[index] = run_copy(r, index);
    break;
  case OPERATION_GRAPH:
    r->graphs[index] = program_memory(task_bytes);
    memcpy(r->graphs[index], operation->tasks, task_bytes);
    break;
  case OPERATION_GRAPH_SET_VALUE:
    r->graphs[operation->target][operation->node].seed = operation->seed;
    break;
  case OPERATION_GRAPH_SET_BUFFER:
    r->graphs[operation->target][operation->node].accesses[operation->access].buffer = operation->buffer;
    break;
  case OPERATION_GRAPH_REPLACE:
    replace_in_graph(r, operation);
    break;
  case OPERATION_GRAPH_LAUNCH:
    r->statuses[index] = launch_graph(r, operation->target);
    break;
  default:
    break;
  }
  if (program_submits(operation->kind)) {
    r->submitted++;
    r->failed += r->statuses[index] != WEIR_OK;
  }
}

void reference_run(reference_result *out_reference, const test_program *program) {
  uint32_t count = program->count;
  *out_reference = (reference_result){.program = program};
  out_reference->buffers = program_memory(count * sizeof(reference_buffer));
  out_reference->statuses = program_memory(count * sizeof(weir_status));
  out_reference->copies = program_memory(count * sizeof(unsigned char *));
  out_reference->graphs = program_memory(count * sizeof(program_task *));
  for (uint32_t i = 0; i < count; i++) {
    if (!program->dropped[i]) run_operation(out_reference, i);
  }
}

void reference_deinitialize(reference_result *r) {
  for (uint32_t i = 0; i < r->program->count; i++) {
    free(r->buffers[i].memory);
    free(r->buffers[i].poisoned);
    free(r->copies[i]);
    free(r->graphs[i]);
  }
  free(r->buffers);
  free(r->statuses);
  free(r->copies);
  free(r->graphs);
}
