// SPDX-License-Identifier: Apache-2.0
#include "device/watch.h"

#include "base/allocate.h"

weir__watch *weir__watch_create(uint32_t window_size) {
  if (!weir__tsan_on()) return NULL;
  weir__watch *watch = weir__allocate_zeroed(sizeof *watch);
  weir__sync *all = weir__sync_create();
  weir__watched *tasks = weir__allocate_sparse(window_size * sizeof *tasks);
  if (watch != NULL && all != NULL && tasks != NULL) {
    *watch = (weir__watch){.tasks = tasks, .size = window_size, .all = all};
    return watch;
  }
  weir__free(watch);
  weir__sync_drop(all);
  weir__free_sparse(tasks, window_size * sizeof *tasks);
  return NULL;
}

void weir__watch_destroy(weir__watch *watch) {
  if (watch == NULL) return;
  for (uint32_t i = 0; i < watch->size; i++) weir__watched_deinitialize(&watch->tasks[i]);
  weir__free_sparse(watch->tasks, watch->size * sizeof *watch->tasks);
  weir__sync_drop(watch->all);
  weir__sync_drop(watch->last);
  weir__free(watch);
}

static void begin(weir__watched *self) {
  if (self->own != NULL) weir__tsan_acquire(&self->own->start);
  for (uint32_t i = 0; i < self->acquired.count; i++) weir__tsan_acquire(&self->acquired.list[i]->end);
  if (self->has_values) weir__tsan_acquire(&self->values);
  if (self->repeats && self->own != NULL) weir__tsan_acquire(&self->own->end);
}

void weir__watch_begin(const weir__host *host, const weir__task *task) {
  if (host->watch != NULL) begin(weir__watch_task(host, task));
}

void weir__watch_end(const weir__host *host, const weir__task *task) {
  if (host->watch == NULL) return;
  weir__watched *self = weir__watch_task(host, task);
  if (self->own != NULL) weir__tsan_release(&self->own->end);
}

typedef struct task_call {
  const weir__host *host;
  const weir__task *task;
  weir_function function;
  const weir_work *work;
} task_call;

static void call_task(void *argument) {
  const task_call *self = argument;
  weir__tsan_ignore(); // the thread's own stack
  weir_work work = *self->work;
  weir__tsan_heed();
  weir__watch_begin(self->host, self->task);
  self->function(&work);
  weir__watch_end(self->host, self->task);
}

void weir__watch_call_slow(const weir__host *host, const weir__task *task, weir_function function,
                           const weir_work *work) {
  task_call self = {.host = host, .task = task, .function = function, .work = work};
  weir__tsan_call(call_task, &self);
}

// ---------------------------------------------------------------------------------------------------------------
// Ends

typedef struct end {
  weir__watched *task;
  const weir__move *move; // that a device made; NULL: none
  weir__sync *event, *all, *group;
} end;

static void release(weir__sync *sync) {
  if (sync != NULL) weir__tsan_release(&sync->end);
}

// Copies between the caller's memory and a device's.
static void note_move(const weir__move *move) {
  if (move->source != NULL && move->source_space == WEIR__HOST_SPACE)
    weir__tsan_access(move->source, move->bytes, false);
  if (move->destination_space == WEIR__HOST_SPACE) weir__tsan_access(move->destination, move->bytes, true);
}

// What a task comes after. A device may report it before tasks that it comes after; then what these come after counts.
static void inherit(weir__watched *task, uint64_t number) {
  weir__tsan_acquire(&task->own->start);
  for (uint32_t i = 0; i < task->acquired.count; i++) {
    weir__sync *before = task->acquired.list[i];
    weir__tsan_acquire(&before->end);
    if (before->unfinished == NULL || before->passed_in == number) continue;
    before->passed_in = number;
    inherit(before->unfinished, number);
  }
}

// A task that did not run passes on what came before it.
static void note_end(void *argument) {
  const end *self = argument;
  weir__watched *task = self->task;
  inherit(task, task->number);
  if (self->move != NULL) note_move(self->move);
  weir__tsan_acquire(&task->own->end);
  weir__tsan_release(&task->own->end);
  for (uint32_t i = 0; i < task->released.count; i++) weir__tsan_release(&task->released.list[i]->end);
  if (task->has_values) weir__tsan_release(&task->values);
  if (self->event != task->own) release(self->event);
  release(self->all);
  release(self->group);
}

void weir__watch_complete(const weir__host *host, weir__task *task, const weir__completion *completion,
                          weir__sync *event, weir__sync *also) {
  if (host->watch == NULL) return;
  weir__watched *self = weir__watch_task(host, task);
  if (self->own == NULL) return;
  bool moved = task->kind == WEIR__TASK_COPY && completion->status == WEIR_OK;
  end ended = {.task = self, .move = moved ? task->move : NULL, .event = event, .all = host->watch->all, .group = also};
  weir__tsan_note(note_end, &ended);
  self->own->unfinished = NULL;
  weir__watched_clear(self);
}

typedef struct pass {
  weir__sync *from;
  weir__point *to;
} pass;

static void note_pass(void *argument) {
  const pass *self = argument;
  weir__tsan_acquire(&self->from->end);
  weir__tsan_release(self->to);
}

void weir__watch_pass(weir__sync *from, weir__point *to) {
  pass self = {.from = from, .to = to};
  if (from != NULL && to != NULL) weir__tsan_note(note_pass, &self);
}

static void call_after(void *argument) {
  const weir__watch_after *self = argument;
  if (self->task != NULL) {
    weir__tsan_acquire(&self->task->start); // of a task that never came to be
    weir__tsan_acquire(&self->task->end);
    weir__tsan_acquire(&self->task->told);
  }
  if (self->own) weir__tsan_ignore();
  if (self->destroy != NULL)
    self->destroy(self->user);
  else
    self->callback(self->user, self->status);
  if (self->own) weir__tsan_heed();
  if (self->task != NULL) weir__tsan_release(self->destroy != NULL ? &self->task->end : &self->task->told);
  release(self->all);
  release(self->group);
}

void weir__watch_call_after(const weir__watch_after *after) {
  weir__watch_after self = *after;
  weir__tsan_call(call_after, &self);
}
