// SPDX-License-Identifier: Apache-2.0
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "device_message.h"
#include "job.h"
#include "transfer.h"
#include "weir/error.h"
#include "weir/external.h"
#include "weir/trace.h"

// An argument of a task that is checked.
typedef struct range {
  weir__mpi_buffer *buffer; // NULL: a value
  uint64_t offset, end;
} range;

static bool reads(const weir_arg *arg) {
  return arg->mode != WEIR_WRITE;
}

static bool writes(const weir_arg *arg) {
  return arg->mode != WEIR_READ;
}

static weir_status check_arg(weir_mpi *mpi, const weir_arg *arg, range *out_range) {
  *out_range = (range){0};
  if (arg->mode == WEIR_VALUE) return WEIR_OK;
  if (arg->mode < WEIR_READ || arg->mode > WEIR_REDUCE)
    return weir__mpi_error(WEIR_ERROR_INVALID_ARGUMENT, "its mode, %d, is none that tasks of a job take",
                           (int)arg->mode);
  const weir__mpi_buffer *boxed = arg->shape == WEIR_RANGE ? NULL : weir__mpi_buffers_find(&mpi->buffers, arg->buffer);
  if (boxed != NULL)
    return weir__mpi_error(WEIR_ERROR_INVALID_ARGUMENT,
                           "it is a box, from byte %llu of buffer %llu on, which tasks of a job do not take",
                           (unsigned long long)arg->offset, (unsigned long long)boxed->number);
  out_range->offset = arg->offset;
  return weir__mpi_buffer_range(mpi, arg->buffer, arg->offset, arg->bytes, &out_range->buffer, &out_range->end);
}

static const char *name_of(const weir_task *task) {
  return task->label != NULL ? task->label : task->kernel != NULL ? weir_kernel_name(task->kernel) : "";
}

// Says which argument of which task the last error is about.
static weir_status in_argument(weir_status status, const weir_task *task, uint32_t index) {
  return weir__mpi_error(status, "task '%.47s' (tag %llu), argument %u: %.350s", name_of(task),
                         (unsigned long long)task->tag, index, weir_last_error());
}

// The rank that runs a task: of the first buffer that it writes, or else reads, the owner.
static int64_t find_rank(const weir_task *task, const range *ranges, int32_t rank) {
  if (rank != WEIR_MPI_OWNER) return rank;
  int64_t first_read = -1;
  for (uint32_t i = 0; i < task->arg_count; i++) {
    if (ranges[i].buffer == NULL) continue;
    if (writes(&task->args[i])) return ranges[i].buffer->owner;
    if (first_read < 0) first_read = ranges[i].buffer->owner;
  }
  return first_read;
}

static weir_status check(weir_mpi *mpi, const weir_task *task, int32_t rank, range *out_ranges, uint32_t *out_rank) {
  if (task->arg_count > WEIR_MAX_ARGS || (task->arg_count > 0 && task->args == NULL))
    return weir__mpi_error(WEIR_ERROR_INVALID_ARGUMENT, "task '%.47s' (tag %llu): it has %u arguments, %s",
                           name_of(task), (unsigned long long)task->tag, task->arg_count,
                           task->arg_count > WEIR_MAX_ARGS ? "more than WEIR_MAX_ARGS" : "and `args` is NULL");
  for (uint32_t i = 0; i < task->arg_count; i++) {
    weir_status status = check_arg(mpi, &task->args[i], &out_ranges[i]);
    if (status != WEIR_OK) return in_argument(status, task, i);
  }
  if (rank != WEIR_MPI_OWNER && (rank < 0 || (uint32_t)rank >= mpi->size))
    return weir__mpi_error(WEIR_ERROR_INVALID_ARGUMENT,
                           "task '%.47s' (tag %llu): there is no rank %d; the job has ranks 0 to %u", name_of(task),
                           (unsigned long long)task->tag, rank, mpi->size - 1);
  int64_t found = find_rank(task, out_ranges, rank);
  if (found < 0)
    return weir__mpi_error(WEIR_ERROR_INVALID_ARGUMENT, "task '%.47s' (tag %llu) has no buffer whose owner runs it",
                           name_of(task), (unsigned long long)task->tag);
  *out_rank = (uint32_t)found;
  return WEIR_OK;
}

// What all ranks must have alike.
static weir__mpi_call call_of(const weir_task *task, const range *ranges, uint32_t rank) {
  weir__mpi_call call = {.kind = WEIR__MPI_SUBMIT, .rank = (int32_t)rank, .args = task->arg_count};
  if (task->label != NULL) strncpy(call.label, task->label, sizeof call.label - 1);
  call.hash = weir__mpi_hash(task->tag, (uint64_t)task->groups[0] << 32 | task->groups[1]);
  call.hash = weir__mpi_hash(call.hash, task->groups[2]);
  bool writes_one = false;
  for (uint32_t i = 0; i < task->arg_count; i++) {
    const weir_arg *arg = &task->args[i];
    const range *at = &ranges[i];
    uint64_t number = at->buffer == NULL ? 0 : at->buffer->number;
    uint64_t bytes = at->buffer == NULL ? arg->bytes : at->end - at->offset;
    call.hash = weir__mpi_hash(weir__mpi_hash(call.hash, (uint64_t)arg->mode), number);
    call.hash = weir__mpi_hash(weir__mpi_hash(call.hash, at->offset), bytes);
    if (number == 0 || writes_one || (call.buffer != 0 && !writes(arg))) continue;
    writes_one = writes(arg);
    call.buffer = number;
    call.offset = at->offset;
    call.bytes = bytes;
  }
  return call;
}

// The code of a task, as far as this rank names any.
static void note_code(const weir_task *task, weir__mpi_call *call) {
  if (task->kernel == NULL && task->host == NULL) return;
  const char *name = weir_kernel_name(task->kernel);
  memcpy(call->kernel, name, strnlen(name, sizeof call->kernel - 1)); // the rest is 0
  call->code = weir__mpi_hash_text(task->kernel == NULL ? 1 : 2, call->kernel);
}

static bool reserve(weir_mpi *mpi, const range *ranges, uint32_t count) {
  for (uint32_t i = 0; i < count; i++) {
    if (ranges[i].buffer == NULL) continue;
    const weir__mpi_table *table = &ranges[i].buffer->table;
    if (!weir__mpi_table_is_whole(table, ranges[i].offset, ranges[i].end) &&
        !weir__mpi_make_room(mpi, ranges[i].buffer, 2 * count))
      return false;
  }
  return true;
}

static void fail_function(const weir_work *work) {
  weir_work_fail(work, work->args[1]);
}

// The outputs of a task that was refused are poisoned, as those of one that failed, and `why` is told with it.
static void poison(weir_mpi *mpi, const weir_task *task, const weir__mpi_call *call, const char *why) {
  char text[200]; // with which the arguments need no memory of their own
  snprintf(text, sizeof text, "rank %u refused call %llu: %s", mpi->rank, (unsigned long long)call->number, why);
  for (uint32_t i = 0; i < task->arg_count; i++) {
    if (task->args[i].mode == WEIR_VALUE || !writes(&task->args[i])) continue;
    weir_arg args[] = {task->args[i], weir_value(text, strlen(text) + 1)};
    args[0].mode = WEIR_WRITE;
    const weir_task failing = {
        .host = fail_function, .args = args, .arg_count = 2, .label = call->label, .tag = task->tag};
    if (weir_submit(mpi->context, &failing, NULL) != WEIR_OK)
      weir__mpi_fail(mpi, WEIR_ERROR_OUT_OF_MEMORY, true, "rank %u cannot submit call %llu '%s': %.200s", mpi->rank,
                     (unsigned long long)call->number, call->label, weir_last_error());
  }
}

// Leaves out the events that other ranks have. The others are in `few`, or in memory of their own. False: there is none.
static bool take_events(weir_task *here, weir_event **few, uint32_t room, weir_event ***out_events) {
  *out_events = few;
  if (here->after == NULL) return true; // a number without events is refused as any task's
  if (here->after_count > room) *out_events = malloc(here->after_count * sizeof(weir_event *));
  if (*out_events == NULL) return false;
  uint32_t count = 0;
  for (uint32_t i = 0; i < here->after_count; i++) {
    if (here->after[i] != NULL) (*out_events)[count++] = here->after[i];
  }
  here->after = *out_events;
  here->after_count = count;
  return true;
}

// Submits the task here.
static weir_status run(weir_mpi *mpi, const weir_task *task, const weir__mpi_call *call, weir_event **out_event) {
  weir_event *few[8], **after;
  weir_task here = *task;
  if (!take_events(&here, few, 8, &after)) {
    poison(mpi, task, call, "no memory for its events");
    return weir__mpi_error(WEIR_ERROR_OUT_OF_MEMORY, "task '%.47s' (tag %llu): no memory for its %u events",
                           name_of(task), (unsigned long long)task->tag, task->after_count);
  }
  weir_event *event = NULL;
  weir_status status = weir_submit(mpi->context, &here, out_event != NULL || mpi->traces ? &event : NULL);
  if (after != few) free(after);
  if (status == WEIR_OK && mpi->traces) weir_trace_note_call(event, call->number);
  if (out_event != NULL)
    *out_event = event;
  else
    weir_event_release(event);
  if (status == WEIR_OK) return WEIR_OK;
  poison(mpi, task, call, weir_last_error());
  return status;
}

// The device that is likely to run a task of this rank, of a context with a card; NULL: the host, or it is not known, or
// the task will be refused.
static weir_device *find_device(const weir_mpi *mpi, const weir_task *task, const range *ranges) {
  if (task->kernel == NULL) return NULL;
  weir_device *device = task->device != NULL ? task->device : weir_kernel_device(task->kernel);
  for (uint32_t i = 0; i < task->arg_count && device == NULL; i++) {
    if (ranges[i].buffer != NULL)
      device = weir__mpi_device_of(mpi, ranges[i].buffer->local, ranges[i].offset, ranges[i].end - ranges[i].offset);
  }
  return weir__mpi_has_device(mpi, device) ? device : NULL;
}

static void supply(weir_mpi *mpi, const weir_task *task, const range *ranges, uint32_t rank,
                   const weir__mpi_call *call) {
  bool looks = rank == mpi->rank && mpi->direct.card != NULL;
  weir_device *device = NULL;
  for (uint32_t i = 0; i < task->arg_count; i++) {
    const range *at = &ranges[i];
    if (at->buffer == NULL || !reads(&task->args[i])) continue;
    if (looks && weir__mpi_lacks(mpi, at->buffer, at->offset, at->end)) {
      device = find_device(mpi, task, ranges);
      looks = false;
    }
    weir__mpi_supply(mpi, call, at->buffer, at->offset, at->end, rank, device);
  }
}

static weir_status submit(weir_mpi *mpi, const weir_task *task, const range *ranges, uint32_t rank,
                          weir_event **out_event) {
  weir__mpi_call call = call_of(task, ranges, rank);
  note_code(task, &call);
  weir__mpi_enter(mpi, &call);
  if (!reserve(mpi, ranges, task->arg_count))
    weir__mpi_fail(mpi, WEIR_ERROR_OUT_OF_MEMORY, true, "rank %u has no memory for call %llu", mpi->rank,
                   (unsigned long long)call.number);
  weir_status status = weir__mpi_job_status(mpi);
  if (status != WEIR_OK) return status;
  supply(mpi, task, ranges, rank, &call);
  if (rank == mpi->rank) {
    weir__mpi_count(&mpi->tasks, 1);
    status = run(mpi, task, &call, out_event);
  } else if (task->destroy != NULL) {
    task->destroy(task->user);
  }
  for (uint32_t i = 0; i < task->arg_count; i++) {
    if (ranges[i].buffer != NULL && writes(&task->args[i]))
      weir__mpi_note_write(mpi, ranges[i].buffer, ranges[i].offset, ranges[i].end, rank, call.number);
  }
  return status;
}

weir_status weir_mpi_submit_sized(weir_mpi *mpi, const weir_task *task, size_t task_size, int32_t rank,
                                  weir_event **out_event) {
  if (out_event != NULL) *out_event = NULL;
  if (mpi == NULL) return weir__mpi_null("weir_mpi_submit");
  if (task == NULL) return weir__mpi_error(WEIR_ERROR_INVALID_ARGUMENT, "weir_mpi_submit: the task is NULL");
  weir_task known;
  weir_status status = weir__mpi_take_struct(&known, sizeof known, task, task_size, "weir_mpi_submit");
  if (status != WEIR_OK) return status;
  range few[16], *ranges = few;
  if (known.arg_count > 16 && (ranges = malloc(known.arg_count * sizeof *ranges)) == NULL)
    return weir__mpi_error(WEIR_ERROR_OUT_OF_MEMORY, "task '%.47s' (tag %llu): no memory for its %u arguments",
                           name_of(&known), (unsigned long long)known.tag, known.arg_count);
  uint32_t runs = 0;
  weir__mpi_begin_call(mpi);
  status = check(mpi, &known, rank, ranges, &runs);
  if (status == WEIR_OK) status = submit(mpi, &known, ranges, runs, out_event);
  weir__mpi_end_call(mpi);
  if (ranges != few) free(ranges);
  return status;
}
