// SPDX-License-Identifier: Apache-2.0
//
// The checker as a device: it takes tasks that are ready, and its thread checks one after the other.
#include "check/device.h"

#include <stdio.h>

#include "base/allocate.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/tsan.h"
#include "check/card.h"
#include "check/checker.h"
#include "engine/written.h"

static uint64_t time_now(weir_device *device) {
  return weir__clock_ns() - device->host->start_ns;
}

static bool has_code(const weir_device *device, const weir_kernel *kernel) {
  (void)device;
  (void)kernel;
  return false; // nobody asks for it
}

// For a card, whose contents are in its memory.
static bool is_on_card(const weir__task *task) {
  return task->run == NULL && task->asked != WEIR__NO_CHECK && task->access_count > 0 &&
         task->accesses[0].space != WEIR__HOST_SPACE;
}

static void append(weir__task **first, weir__task **last, weir__task *task) {
  task->next = NULL;
  if (*first == NULL)
    *first = task;
  else
    (*last)->next = task;
  *last = task;
}

static void issue(weir_device *device, weir__task *task) {
  weir__checker *checker = (weir__checker *)device;
  pthread_mutex_lock(&checker->mutex);
  append(&checker->first, &checker->last, task);
  pthread_cond_signal(&checker->changed);
  pthread_mutex_unlock(&checker->mutex);
}

static weir__task *pop(weir__task **first) {
  weir__task *task = *first;
  if (task != NULL) *first = task->next;
  return task;
}

// Takes all tasks that are ready, and waits for one if none was taken before. False: there will be none.
static bool take_tasks(weir__checker *checker) {
  pthread_mutex_lock(&checker->mutex);
  while (checker->first == NULL && checker->others == NULL && checker->cards == NULL && !checker->ends)
    pthread_cond_wait(&checker->changed, &checker->mutex);
  weir__task *taken = checker->first;
  checker->first = NULL;
  pthread_mutex_unlock(&checker->mutex);
  for (weir__task *task = pop(&taken); task != NULL; task = pop(&taken)) {
    if (is_on_card(task))
      append(&checker->cards, &checker->last_card, task);
    else
      append(&checker->others, &checker->last_other, task);
  }
  return checker->others != NULL || checker->cards != NULL;
}

// A copy or fill of Weir's own: only whether it reads what was written.
static void run_copy(weir__check_job *job) {
  weir__check_written(job);
  weir_work work = {
      .args = job->pointers, .arg_count = job->arg_count, .groups = {1, 1, 1}, .end = 1, .user = job->user};
  for (uint32_t i = 0; i < job->arg_count; i++) job->pointers[i] = job->args[i].pointer;
  job->function(&work);
}

// What the job's task does and to what.
static void fill_in(weir__checker *checker, weir__check_job *job) {
  weir__host *host = checker->base.host;
  const weir__task *task = job->task;
  const weir__access *access = task->accesses;
  for (uint32_t i = 0; i < task->arg_count; i++) {
    if (weir__task_is_value(task, i)) {
      job->args[i] = (weir__check_arg){.pointer = task->args[i], .value_bytes = weir__task_value_bytes(task, i)};
      continue;
    }
    weir__check_set_buffer(job, i, (weir_mode)access->mode, access->buffer, access->lo, access->hi,
                           weir__access_box(access), task->args[i]);
    access++;
  }
  bool copies = task->asked == WEIR__NO_CHECK;
  job->device = copies ? &checker->base : host->devices[task->asked];
  job->kernel = task->kernel;
  job->function = task->function;
  job->user = task->user;
  for (int i = 0; i < 3; i++) job->groups[i] = task->groups[i];
}

static void run_task(weir__checker *checker, const weir__task *task, weir__check_job *job) {
  fill_in(checker, job);
  if (task->asked == WEIR__NO_CHECK)
    run_copy(job);
  else if (weir__check_lay_out(job))
    weir__check_job_run(checker, job);
  else
    weir__check_no_memory(job);
}

static weir_status run(weir__checker *checker, weir__task *task, const char **out_message) {
  if (task->run != NULL) return weir__check_run_graph(checker, task, out_message);
  weir__check_job *job = &checker->job;
  if (weir__check_begin(checker, job, task, task->arg_count))
    run_task(checker, task, job);
  else
    weir__check_no_memory(job);
  *out_message = job->message;
  return job->status;
}

// What a task that is skipped should have written is poisoned, which is another matter than not written.
static void note_writes(const weir__task *task) {
  for (uint32_t i = 0; i < task->access_count; i++) {
    const weir__access *access = &task->accesses[i];
    if (access->mode != WEIR_READ)
      weir__written_add_box(access->buffer, access->lo, access->hi, weir__access_box(access));
  }
}

static void process(weir__checker *checker, weir__task *task) {
  weir__host *host = checker->base.host;
  weir__completion completion = {.start_ns = time_now(&checker->base)};
  weir__host_lock(host);
  completion.status = weir__host_skip_status(host, task);
  if (completion.status != WEIR_OK) note_writes(task);
  weir__host_unlock(host);
  if (completion.status == WEIR_OK) completion.status = run(checker, task, &completion.message);
  completion.end_ns = time_now(&checker->base);
  weir__host_lock(host);
  weir__host_complete(host, task, &completion);
  weir__host_completed(host);
  weir__host_unlock(host);
}

static uint64_t bytes_of(const weir__task *task) {
  uint64_t bytes = 0;
  for (uint32_t i = 0; i < task->access_count; i++) bytes += weir__check_card_bytes(task->accesses[i].buffer);
  return bytes;
}

// Tasks for the device of the first one, as many as may be checked at once.
static uint32_t take_batch(weir__checker *checker) {
  uint64_t bytes = 0;
  uint32_t count = 0, asked = checker->cards->asked;
  for (; checker->cards != NULL && checker->cards->asked == asked && count < WEIR__CHECK_BATCH; count++) {
    bytes += bytes_of(checker->cards);
    if (count > 0 && bytes > WEIR__CHECK_BATCH_BYTES) break;
    checker->entries[count].task = pop(&checker->cards);
  }
  return count;
}

// Ends those of the entries that are skipped, and leaves the others. The lock is held.
static uint32_t skip(weir__checker *checker, uint32_t count, uint64_t start_ns) {
  weir__host *host = checker->base.host;
  uint32_t left = 0;
  for (uint32_t i = 0; i < count; i++) {
    weir__task *task = checker->entries[i].task;
    weir__completion completion = {
        .status = weir__host_skip_status(host, task), .start_ns = start_ns, .end_ns = start_ns};
    if (completion.status == WEIR_OK) {
      checker->entries[left++].task = task;
      continue;
    }
    note_writes(task);
    weir__host_complete(host, task, &completion);
  }
  return left;
}

// Makes jobs of the entries. Returns how many can be checked, for which `jobs` has room.
static uint32_t lay_out(weir__checker *checker, uint32_t count, weir__check_job **jobs) {
  uint32_t ready = 0;
  for (uint32_t i = 0; i < count; i++) {
    weir__check_entry *entry = &checker->entries[i];
    weir__check_job *job = &entry->job;
    bool begun = weir__check_begin(checker, job, entry->task, entry->task->arg_count);
    if (begun) fill_in(checker, job);
    if (begun && weir__check_lay_out(job))
      jobs[ready++] = job;
    else
      weir__check_no_memory(job);
  }
  return ready;
}

static void complete(weir__checker *checker, uint32_t count, uint64_t start_ns) {
  weir__host *host = checker->base.host;
  weir__completion completion = {.start_ns = start_ns, .end_ns = time_now(&checker->base)};
  weir__host_lock(host);
  for (uint32_t i = 0; i < count; i++) {
    weir__check_job *job = &checker->entries[i].job;
    completion.status = job->status;
    completion.message = job->message;
    weir__host_complete(host, checker->entries[i].task, &completion);
  }
  weir__host_completed(host);
  weir__host_unlock(host);
}

static void process_batch(weir__checker *checker) {
  weir__check_job *jobs[WEIR__CHECK_BATCH];
  uint64_t start_ns = time_now(&checker->base);
  uint32_t count = take_batch(checker);
  weir__host_lock(checker->base.host);
  count = skip(checker, count, start_ns);
  weir__host_unlock(checker->base.host);
  uint32_t ready = lay_out(checker, count, jobs);
  if (ready > 0) weir__check_on_card(checker, jobs, ready);
  complete(checker, count, start_ns);
}

static void *work(void *argument) {
  weir__checker *checker = argument;
  while (take_tasks(checker)) {
    if (checker->others != NULL)
      process(checker, pop(&checker->others));
    else
      process_batch(checker);
  }
  return NULL;
}

static void destroy(weir_device *device) {
  weir__checker *checker = (weir__checker *)device;
  if (checker->started) {
    pthread_mutex_lock(&checker->mutex);
    checker->ends = true;
    pthread_cond_signal(&checker->changed);
    pthread_mutex_unlock(&checker->mutex);
    pthread_join(checker->thread, NULL);
    weir__check_free_benches(checker);
  }
  pthread_cond_destroy(&checker->changed);
  pthread_mutex_destroy(&checker->mutex);
  weir__check_free_job(&checker->job);
  for (int i = 0; i < WEIR__CHECK_BATCH; i++) weir__check_free_job(&checker->entries[i].job);
  weir__free(checker);
}

static const weir__device_ops ops = {
    .kind = "check", .hidden = true, .destroy = destroy, .has_code = has_code, .issue = issue, .time = time_now};

weir_status weir__checker_create(weir__host *host, weir_device **out_device) {
  weir__checker *checker = weir__allocate_zeroed(sizeof *checker);
  *out_device = NULL;
  if (checker == NULL) return weir__error(WEIR_ERROR_OUT_OF_MEMORY, "check mode: no memory");
  checker->base = (weir_device){.ops = &ops, .host = host, .lanes = 1, .callers = 1};
  snprintf(checker->base.name, sizeof checker->base.name, "check");
  snprintf(checker->base.description, sizeof checker->base.description, "checks what tasks declare");
  weir__junk_initialize(&checker->junk);
  pthread_mutex_init(&checker->mutex, NULL);
  pthread_cond_init(&checker->changed, NULL);
  checker->started = weir__allocate_permit() && weir__thread_create(&checker->thread, work, checker) == 0;
  if (!checker->started) {
    destroy(&checker->base);
    return weir__error(WEIR_ERROR_OUT_OF_MEMORY, "check mode: no thread");
  }
  *out_device = &checker->base;
  return WEIR_OK;
}
