// SPDX-License-Identifier: Apache-2.0
#include "way_queue.h"

#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/lock.h"

enum { ROUNDS = 200, PAUSES = 16, ROUNDS_ALONE = 25 };

// A number that threads wait for to change. Who changes it makes no system call unless somebody sleeps.
typedef struct gate {
  _Atomic uint32_t value, sleepers;
} gate;

typedef struct member {
  way_queue *queue;
  uint32_t worker;
  pthread_t thread;
} member;

typedef struct queue_line {
  _Atomic uint64_t finished; // token + 1 of the last job that ended here
  void *const *results;
} queue_line;

struct way_queue {
  uint32_t workers, started, lines; // started: threads that exist, besides the caller's
  bool quits;
  gate begin, end; // change when a run begins, and when no thread works any more
  // Of a run
  const way_work *work;
  const job_feed *feed;
  uint64_t count, next; // `next` is guarded by `taking`
  weir__lock taking;
  _Atomic uint32_t working;
  _Atomic uint64_t delivered; // tokens whose done has returned
  _Atomic bool giving;        // somebody calls done
  _Atomic bool stopped;
  gate changed; // with `delivered` and `stopped`
  weir__lock failing;
  char why[JOB_WHY]; // of the first failure, if it stopped
  queue_line *line;
  member members[];
};

static uint32_t seen_at(gate *g) {
  return atomic_load_explicit(&g->value, memory_order_acquire);
}

static void open_gate(gate *g) {
  atomic_fetch_add(&g->value, 1);
  if (atomic_load(&g->sleepers) > 0) weir__wake(&g->value, INT32_MAX);
}

// Waits while the value is `seen`.
static void wait_at(gate *g, uint32_t seen) {
  for (int round = 0; round < ROUNDS; round++) {
    if (seen_at(g) != seen) return;
    for (int i = 0; i < PAUSES; i++) weir__pause();
    if (round >= ROUNDS_ALONE) sched_yield(); // who is waited for may have no core
  }
  atomic_fetch_add(&g->sleepers, 1);
  while (atomic_load(&g->value) == seen) weir__sleep_on(&g->value, seen, UINT64_MAX);
  atomic_fetch_sub(&g->sleepers, 1);
}

// ---------------------------------------------------------------------------------------------------------------
// Jobs

static queue_line *line_of(way_queue *queue, uint64_t token) {
  return &queue->line[token % queue->lines];
}

static bool wait_for_line(way_queue *queue, uint64_t token) {
  for (;;) {
    uint32_t seen = seen_at(&queue->changed);
    if (atomic_load(&queue->stopped)) return false;
    if (token - atomic_load(&queue->delivered) < queue->lines) return true;
    wait_at(&queue->changed, seen);
  }
}

// The next job, when its line is free and its inputs are there. false: there is none, or the run was stopped.
static bool take(way_queue *queue, uint64_t *out_token, void *const **out_inputs) {
  weir__lock_acquire(&queue->taking);
  bool taken = queue->next < queue->count && wait_for_line(queue, queue->next);
  if (taken) {
    *out_token = queue->next++;
    *out_inputs = queue->feed->next(queue->feed->user, *out_token);
  }
  weir__lock_release(&queue->taking);
  return taken;
}

static bool is_due(way_queue *queue) {
  uint64_t token = atomic_load(&queue->delivered);
  return atomic_load(&line_of(queue, token)->finished) == token + 1;
}

static void deliver(way_queue *queue) {
  uint64_t token = atomic_load(&queue->delivered);
  queue->feed->done(queue->feed->user, token, line_of(queue, token)->results);
  atomic_store(&queue->delivered, token + 1);
  open_gate(&queue->changed);
}

// The job has ended: calls done for all jobs whose turn it is. Who finds another thread at it leaves its job to that one, which looks
// again after it has stopped.
static void finish(way_queue *queue, uint64_t token, void *const *results) {
  line_of(queue, token)->results = results;
  atomic_store(&line_of(queue, token)->finished, token + 1);
  while (is_due(queue) && !atomic_exchange(&queue->giving, true)) {
    while (is_due(queue)) deliver(queue);
    atomic_store(&queue->giving, false);
  }
}

static void fail(way_queue *queue, const char *why) {
  weir__lock_acquire(&queue->failing);
  if (!atomic_load(&queue->stopped)) snprintf(queue->why, sizeof queue->why, "%s", why);
  atomic_store(&queue->stopped, true);
  weir__lock_release(&queue->failing);
  open_gate(&queue->changed);
}

static void run_jobs(way_queue *queue, uint32_t worker) {
  const way_work *work = queue->work;
  char why[JOB_WHY] = "";
  bool entered = work->enter(work->user, why), good = entered;
  uint64_t token;
  void *const *inputs, *const *results;
  while (good && take(queue, &token, &inputs)) {
    good = work->run(work->user, worker, (uint32_t)(token % queue->lines), inputs, &results, why);
    if (good) finish(queue, token, results);
  }
  if (!good) fail(queue, why);
  if (entered) work->leave(work->user);
}

// ---------------------------------------------------------------------------------------------------------------
// Threads

static bool work_ends(way_queue *queue) {
  return atomic_fetch_sub(&queue->working, 1) == 1;
}

static void *serve(void *user) {
  const member *self = user;
  way_queue *queue = self->queue;
  for (uint32_t seen = 0;; seen++) {
    wait_at(&queue->begin, seen);
    if (queue->quits) return NULL;
    run_jobs(queue, self->worker);
    if (work_ends(queue)) open_gate(&queue->end);
  }
}

way_queue *way_queue_create(uint32_t workers, uint32_t lines) {
  if (workers == 0) workers = 1;
  way_queue *queue = calloc(1, sizeof *queue + workers * sizeof queue->members[0]);
  if (!queue) return NULL;
  queue->workers = workers;
  queue->lines = lines;
  queue->line = calloc(lines, sizeof *queue->line);
  bool good = queue->line != NULL;
  for (uint32_t i = 1; good && i < workers; i++) {
    queue->members[i] = (member){.queue = queue, .worker = i};
    good = pthread_create(&queue->members[i].thread, NULL, serve, &queue->members[i]) == 0;
    queue->started += good;
  }
  if (good) return queue;
  way_queue_destroy(queue);
  return NULL;
}

void way_queue_destroy(way_queue *queue) {
  if (!queue) return;
  queue->quits = true;
  open_gate(&queue->begin);
  for (uint32_t i = 1; i <= queue->started; i++) pthread_join(queue->members[i].thread, NULL);
  free(queue->line);
  free(queue);
}

bool way_queue_run(way_queue *queue, const way_work *work, uint64_t count, const job_feed *feed, char why[JOB_WHY]) {
  queue->work = work;
  queue->feed = feed;
  queue->count = count;
  queue->next = 0;
  atomic_store(&queue->stopped, false);
  atomic_store(&queue->delivered, 0);
  for (uint32_t i = 0; i < queue->lines; i++) atomic_store(&queue->line[i].finished, 0);
  atomic_store(&queue->working, queue->workers);
  uint32_t seen = seen_at(&queue->end);
  open_gate(&queue->begin);
  run_jobs(queue, 0);
  if (!work_ends(queue)) wait_at(&queue->end, seen);
  if (!atomic_load(&queue->stopped)) return true;
  snprintf(why, JOB_WHY, "%s", queue->why);
  return false;
}
