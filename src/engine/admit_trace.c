// SPDX-License-Identifier: Apache-2.0
//
// What a timeline keeps of a task that enters the window.
#include <stdio.h>
#include <string.h>

#include "base/allocate.h"
#include "device/graph.h"
#include "engine/admit.h"
#include "engine/boxes.h"

static void add_trace_wait(weir__trace_wait *waits, uint32_t *count, const weir__dependence *dependence,
                           uint64_t buffer) {
  waits[(*count)++] = (weir__trace_wait){.task = dependence->task,
                                         .hazard = (weir__hazard)dependence->hazard,
                                         .buffer = buffer,
                                         .lo = dependence->lo,
                                         .hi = dependence->hi};
}

static weir__trace_destination destination_of(const weir_context *context, const weir__request *request) {
  if (request->kind != WEIR__TASK_TRANSFER) return (weir__trace_destination){0};
  uint32_t space = request->move->destination_space;
  return (weir__trace_destination){request->accesses[0].buffer->replicas[space].storage,
                                   weir__trace_memory(context, space)};
}

static bool copies(const weir__trace_task *record) {
  if (record->kind != WEIR__TRACE_COPY || record->access_count != 2)
    return false; // there may be no memory for accesses
  const weir__trace_access *a = &record->accesses[0], *b = &record->accesses[1];
  return a->bytes == b->bytes && (a->mode == WEIR_READ) != (b->mode == WEIR_READ);
}

void weir__trace_admitted(weir_context *context, const weir__request *request, const weir__task *task,
                          const weir__dependences *dependences) {
  weir__trace_task record = {.id = task->id, .tag = task->tag, .device = task->device, .status = WEIR_PENDING};
  const char *kernel = task->kernel != NULL               ? task->kernel->name
                       : request->run != NULL             ? "graph"
                       : request->kind == WEIR__TASK_OPEN ? "open task"
                                                          : "host";
  snprintf(record.label, sizeof record.label, "%s", request->task->label != NULL ? request->task->label : kernel);
  snprintf(record.kernel, sizeof record.kernel, "%s", kernel);
  // Callbacks, and transfers that Weir makes by itself, are nobody's.
  const weir__trace_origin *origin = request->submission->origin;
  record.has_origin = origin != NULL && !weir__this_thread.in_task && request->kind != WEIR__TASK_TRANSFER;
  if (record.has_origin) record.origin = *origin;
  record.submit_ns = request->device->ops->time(request->device);
  record.ready_ns = record.submit_ns;
  record.kind = request->kind == WEIR__TASK_TRANSFER                                 ? WEIR__TRACE_TRANSFER
                : request->kind == WEIR__TASK_FENCE                                  ? WEIR__TRACE_FENCE
                : request->kind == WEIR__TASK_COPY || request->submission->unchecked ? WEIR__TRACE_COPY
                                                                                     : WEIR__TRACE_RUN;
  record.destination = destination_of(context, request);
  memcpy(record.groups, request->task->groups, sizeof record.groups);
  record.node_count = request->run != NULL ? request->run->plan->node_count : 0;
  record.after = weir__allocate((request->task->after_count + 1) * sizeof *record.after);
  for (uint32_t i = 0; record.after != NULL && i < request->task->after_count; i++) {
    // External events are no tasks.
    if (request->task->after[i]->task != 0) record.after[record.after_count++] = request->task->after[i]->task;
  }
  record.access_count = request->checked.access_count;
  record.accesses = weir__allocate((request->checked.access_count + 1) * sizeof *record.accesses);
  record.waits = weir__allocate((dependences->count + 1) * sizeof *record.waits);
  if (record.accesses == NULL) record.access_count = 0;
  for (uint32_t i = 0; i < record.access_count; i++) {
    const weir__access *access = &request->accesses[i];
    record.accesses[i] = (weir__trace_access){.mode = (weir_mode)access->mode,
                                              .buffer = access->buffer->id,
                                              .storage = access->buffer->replicas[access->space].storage,
                                              .offset = access->lo,
                                              .bytes = access->hi - access->lo,
                                              .memory = weir__trace_memory(context, access->space)};
    if (access->box != 0) record.accesses[i].box = *weir__access_box(access);
  }
  record.copies = copies(&record);
  for (size_t i = 0; record.waits != NULL && i < dependences->count; i++) {
    if (dependences->list[i].task != 0)
      add_trace_wait(record.waits, &record.wait_count, &dependences->list[i], dependences->list[i].buffer);
  }
  weir__trace_add_task(context->host.trace, &record);
  weir__free(record.accesses);
  weir__free(record.waits);
  weir__free(record.after);
}
