// SPDX-License-Identifier: Apache-2.0
//
// Running a task on copies of its buffers.
#include <stdio.h>
#include <string.h>

#include "base/allocate.h"
#include "base/error.h"
#include "check/card.h"
#include "device/watch.h"
#include "device/work.h"
#include "engine/buffer.h"
#include "engine/copy.h"
#include "engine/submit.h"
#include "window/window.h"

enum { SLOTS_OF_A_RUN = 16 }; // of the window, more than one run takes

static void fail(weir__check_job *job, weir_status status, const char *message) {
  job->status = status;
  snprintf(job->message, sizeof job->message, "%s", message);
}

static bool on_host(const weir__check_job *job) {
  return job->device->space == WEIR__HOST_SPACE;
}

// Memory of the host for an arena, that the device copies from and to by itself if it has such.
unsigned char *weir__check_host_memory(weir_device *device, uint64_t bytes) {
  const weir__memory_ops *own = device->ops->memory;
  void *memory = NULL;
  if (own == NULL || own->host_allocate == NULL) return weir__allocate(bytes);
  return own->host_allocate(device, bytes, &memory) == WEIR_OK ? memory : NULL;
}

void weir__check_free_host_memory(weir_device *device, unsigned char *memory) {
  const weir__memory_ops *own = device->ops->memory;
  if (memory != NULL && own != NULL && own->host_free != NULL)
    own->host_free(device, memory);
  else
    weir__free(memory);
}

static void free_arena(weir_device *device, weir__check_arena *arena) {
  if (arena->buffer != NULL) weir__buffer_release(arena->buffer);
  weir__check_free_host_memory(device, arena->memory);
  *arena = (weir__check_arena){.memory = NULL};
}

void weir__check_free_bench(weir_device *device, weir__check_bench *bench) {
  for (uint32_t arena = 0; arena < WEIR__CHECK_ARENAS; arena++) free_arena(device, &bench->arenas[arena]);
  if (bench->buffer != NULL) weir__buffer_release(bench->buffer);
  weir__check_free_card(device, bench);
  *bench = (weir__check_bench){.buffer = NULL};
}

void weir__check_free_benches(weir__checker *checker) {
  weir__host *host = checker->base.host;
  for (uint32_t i = 0; i < host->device_count && i < WEIR__MAX_DEVICES; i++) {
    if (host->devices[i] != NULL) weir__check_free_bench(host->devices[i], &checker->benches[i]);
  }
}

weir__check_arena *weir__check_arena_of(weir__checker *checker, weir__check_job *job, uint32_t index) {
  weir__check_bench *bench = &checker->benches[job->device->index];
  weir__check_arena *arena = &bench->arenas[index];
  if (bench->spoiled) weir__check_free_bench(job->device, bench);
  uint64_t bytes = job->arena_bytes == 0 ? WEIR__CHECK_GUARD : job->arena_bytes;
  if (arena->bytes < bytes) {
    free_arena(job->device, arena);
    uint64_t room = bytes + bytes / 4;
    arena->memory = weir__check_host_memory(job->device, room);
    weir_status status = arena->memory == NULL ? WEIR_ERROR_OUT_OF_MEMORY : WEIR_OK;
    if (status == WEIR_OK && on_host(job))
      status = weir__buffer_make_of(job->context, "check", arena->memory, WEIR__HOST_SPACE, room, &arena->buffer);
    if (status != WEIR_OK) {
      free_arena(job->device, arena);
      fail(job, WEIR_ERROR_OUT_OF_MEMORY, "check mode: no memory for copies of the task's buffers");
      return NULL;
    }
    arena->bytes = room;
  }
  if (on_host(job) || bench->bytes >= bytes) return arena;
  if (bench->buffer != NULL) weir__buffer_release(bench->buffer);
  bench->bytes = bytes + bytes / 4;
  if (weir__buffer_make(job->context, "check", bench->bytes, &bench->buffer) == WEIR_OK) return arena;
  bench->bytes = 0;
  fail(job, WEIR_ERROR_OUT_OF_MEMORY, "check mode: no memory for copies of the task's buffers");
  return NULL;
}

// Fills [lo, hi) of a region that has junk, by the choice.
static void fill_junk(const weir__checker *checker, const weir__check_job *job, const weir__region *region,
                      unsigned char *memory, weir__junk_choice choice) {
  uint64_t at = weir__region_at(job, region), bytes = (uint64_t)(region->hi - region->lo), end = at + bytes;
  weir__junk_fill(&checker->junk, choice.variant, at, memory, bytes);
  uint64_t lo = choice.lo > at ? choice.lo : at, hi = choice.hi < end ? choice.hi : end;
  if (lo < hi) weir__junk_fill(&checker->junk, 1 - choice.variant, lo, memory + (lo - at), hi - lo);
}

static void fill_arena(const weir__checker *checker, const weir__check_job *job, const weir__check_arena *arena,
                       weir__junk_choice choice) {
  for (uint32_t i = 0; i < job->slot_count; i++) {
    const weir__check_slot *slot = &job->slots[i];
    if (slot->in_place) memcpy(arena->memory + slot->at, slot->memory, slot->buffer->bytes);
  }
  for (uint32_t i = 0; i < job->region_count; i++) {
    const weir__region *region = &job->regions[i];
    const weir__check_slot *slot = &job->slots[region->slot];
    unsigned char *memory = weir__region_memory(job, region, arena);
    if (slot->in_place && region->kind != WEIR__REGION_WRITE) continue;
    if (weir__region_is_junk(region))
      fill_junk(checker, job, region, memory, choice);
    else
      memcpy(memory, slot->memory + region->lo, (uint64_t)(region->hi - region->lo));
  }
}

// By a thread of the checker's: a host task, or a kernel of one work-group.
static weir_status call(weir__check_job *job, const weir__check_arena *arena) {
  for (uint32_t i = 0; i < job->arg_count; i++) {
    const weir__check_arg *arg = &job->args[i];
    const weir__check_slot *slot = &job->slots[arg->slot];
    bool own = arg->mode == WEIR_VALUE || slot->in_place;
    job->pointers[i] = own ? arg->pointer : arena->memory + slot->at + arg->lo;
  }
  weir__failure failure = {.failed = false};
  weir_work work = {.args = job->pointers,
                    .arg_count = job->arg_count,
                    .groups = {job->groups[0], job->groups[1], job->groups[2]},
                    .end = (uint64_t)job->groups[0] * job->groups[1] * job->groups[2],
                    .user = job->user,
                    .internal = &failure,
                    .worker = job->context->devices.checker->first_worker,
                    .worker_count = job->context->host.worker_count,
                    .task = job->number};
  weir__this_thread.in_task = true;
  weir__this_thread.task = weir__window_task(&job->context->host.window, job->number);
  weir__watch_call(&job->context->host, weir__this_thread.task, job->function, &work);
  weir__this_thread.in_task = false;
  if (!failure.failed) return WEIR_OK;
  fail(job, WEIR_ERROR_TASK_FAILED,
       failure.message[0] != '\0' ? failure.message : weir_status_text(WEIR_ERROR_TASK_FAILED));
  return WEIR_ERROR_TASK_FAILED;
}

static const weir__completion_target nobody = {.done = NULL};

weir__submission weir__check_aside(const weir__check_job *job) {
  return (weir__submission){
      .target = &nobody, .reserved = WEIR__ANY_SLOT, .aside = job->device, .kernel_checked = true};
}

// Waits for a task of the checker's own, and takes over how it failed.
weir_status weir__check_await(weir__check_job *job, weir_status status, weir_event *event) {
  if (status != WEIR_OK) {
    fail(job, status, weir_last_error());
    return status;
  }
  weir__event_await(event, WEIR_FOREVER);
  weir__context_lock(job->context);
  status = weir__check_take_end(job, event);
  weir__context_unlock(job->context);
  return status;
}

weir_status weir__check_take_end(weir__check_job *job, weir_event *event) {
  weir_status status = (weir_status)atomic_load_explicit(&event->status, memory_order_acquire);
  if (status != WEIR_OK) {
    // Its own number and name are those of the checker's task.
    const char *message = strstr(event->message, ": ");
    fail(job, status, message == NULL ? event->message : message + 2);
    job->context->host.statistics.failed--;
  }
  event->object.released = true;
  weir__event_drop(event);
  return status;
}

bool weir__check_has_room(weir__check_job *job, uint32_t tasks) {
  weir__context_lock(job->context);
  bool room = weir__window_room(&job->context->host.window, WEIR__ANY_SLOT) >= (uint64_t)tasks * SLOTS_OF_A_RUN;
  weir__context_unlock(job->context);
  if (!room)
    fail(job, WEIR_ERROR_OUT_OF_MEMORY, "check mode: the graph has too many tasks to be checked in one launch");
  return room;
}

// By a task on the device that was asked for.
weir_status weir__check_submit(weir__check_job *job, weir_buffer *buffer, uint64_t base, weir_event **out_event) {
  for (uint32_t i = 0; i < job->arg_count; i++) {
    const weir__check_arg *arg = &job->args[i];
    if (arg->mode == WEIR_VALUE)
      job->inner[i] = (weir_arg){.mode = WEIR_VALUE, .value = arg->pointer, .bytes = arg->value_bytes};
    else
      job->inner[i] = (weir_arg){.mode = arg->mode == WEIR_READ ? WEIR_READ : WEIR_READ_WRITE,
                                 .buffer = buffer,
                                 .offset = base + job->slots[arg->slot].at + arg->lo,
                                 .bytes = arg->hi - arg->lo,
                                 .shape = arg->box == NULL ? WEIR_RANGE : WEIR_BOX,
                                 .value = arg->box};
  }
  const weir_task task = {.kernel = job->kernel,
                          .user = job->user,
                          .args = job->inner,
                          .arg_count = job->arg_count,
                          .groups = {job->groups[0], job->groups[1], job->groups[2]},
                          .device = job->device,
                          .label = "check"};
  weir__submission by = weir__check_aside(job);
  by.task = &task;
  weir__context_lock(job->context);
  weir_status status = weir__submit(job->context, &by, out_event);
  weir__context_unlock(job->context);
  return status;
}

static weir_status submit(weir__checker *checker, weir__check_job *job, const weir__check_arena *arena) {
  weir_buffer *buffer = on_host(job) ? arena->buffer : checker->benches[job->device->index].buffer;
  weir_event *event = NULL;
  weir_status status = weir__check_submit(job, buffer, 0, &event);
  return weir__check_await(job, status, event);
}

static weir_status run_on_device(weir__checker *checker, weir__check_job *job, weir__check_arena *arena) {
  weir_buffer *buffer = checker->benches[job->device->index].buffer;
  weir__submission by = weir__check_aside(job);
  weir_event *event = NULL;
  if (job->slot_count == 0) return submit(checker, job, arena);
  weir_status status = weir__copy_in(&by, buffer, 0, job->arena_bytes, arena->memory, &event);
  status = weir__check_await(job, status, event);
  if (status == WEIR_OK) status = submit(checker, job, arena);
  if (status != WEIR_OK) return status;
  status = weir__copy_out(&by, buffer, 0, job->arena_bytes, arena->memory, &event);
  return weir__check_await(job, status, event);
}

weir_status weir__check_run(weir__checker *checker, weir__check_job *job, weir__check_arena *arena,
                            weir__junk_choice choice) {
  fill_arena(checker, job, arena, choice);
  bool is_call = job->function != NULL && on_host(job) && job->device->ops->polled == NULL &&
                 (job->kernel == NULL || (uint64_t)job->groups[0] * job->groups[1] * job->groups[2] == 1);
  if (is_call) return call(job, arena);
  if (!weir__check_has_room(job, 1)) return WEIR_ERROR_OUT_OF_MEMORY;
  weir_status status = on_host(job) ? submit(checker, job, arena) : run_on_device(checker, job, arena);
  if (status != WEIR_OK) checker->benches[job->device->index].spoiled = true;
  return status;
}
