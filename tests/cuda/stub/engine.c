// SPDX-License-Identifier: Apache-2.0
//
// Streams are queues of operations. Whoever executes picks at random among the heads of the streams, and among the ready
// nodes of graphs, that wait for nothing. Some streams are lazy for a while, so that they fall far behind.
#include <stdlib.h>
#include <time.h>

#include "internal.h"

static CUstream active; // streams with operations
static uint64_t queued;
static uint64_t executed, overlapped;
static uint32_t running; // operations whose effect runs now, without the lock
static uint32_t waiting; // threads that wait for progress
static uint32_t alone;   // threads of launches that run by themselves
static pthread_t executors[STUB_MAX_EXECUTORS];
static uint32_t executor_count;
static bool stopping;

// ---------------------------------------------------------------------------------------------------------------
// Operations and queues

stub_operation *stub_operation_create(stub_work *work) {
  stub_operation *operation = stub_allocate(sizeof *operation);
  operation->ticket = stub_ticket_create();
  operation->work = work;
  return operation;
}

void stub_operation_wait(stub_operation *operation, stub_ticket *ticket) {
  if (ticket->done) return;
  operation->waits = stub_grow(operation->waits, (operation->wait_count + 1) * sizeof(stub_ticket *));
  operation->waits[operation->wait_count++] = stub_ticket_retain(ticket);
}

static void add_reference(void *user, stub_allocation *allocation) {
  stub_operation *operation = user;
  if (operation->reference_count == operation->reference_capacity) {
    operation->reference_capacity = 2 * operation->reference_capacity + 4;
    operation->references = stub_grow(operation->references, operation->reference_capacity * sizeof(stub_allocation *));
  }
  operation->references[operation->reference_count++] = allocation;
  allocation->queued++;
}

void stub_operation_refer(stub_operation *operation, const stub_work *work) {
  stub_work_visit(work, add_reference, operation);
}

static void destroy(stub_operation *operation) {
  for (uint32_t i = 0; i < operation->reference_count; i++) operation->references[i]->queued--;
  for (uint32_t i = 0; i < operation->wait_count; i++) stub_ticket_release(operation->waits[i]);
  if (operation->work != NULL && operation->work->kind == STUB_KERNEL) operation->work->function->queued--;
  if (operation->work != NULL) stub_work_release(operation->work);
  if (operation->run != NULL) stub_run_destroy(operation->run);
  stub_ticket_release(operation->ticket);
  free(operation->references);
  free(operation->waits);
  free(operation);
  queued--;
}

static void activate(CUstream stream) {
  stream->previous = NULL;
  stream->next = active;
  if (active != NULL) active->previous = stream;
  active = stream;
}

static void deactivate(CUstream stream) {
  if (stream->next != NULL) stream->next->previous = stream->previous;
  if (stream->previous != NULL)
    stream->previous->next = stream->next;
  else
    active = stream->next;
  stream->next = stream->previous = NULL;
  if (stream->destroyed) stub_object_retire(stream);
}

// Takes the head out of its stream.
static void pop(CUstream stream) {
  stub_operation *operation = stream->head;
  stream->head = operation->next;
  if (stream->head == NULL) {
    stream->tail = NULL;
    deactivate(stream);
  }
  operation->ticket->done = true;
  operation->ticket->time = stub_now();
  destroy(operation);
}

static void *execute(void *unused);

static void start_executors(void) {
  while (executor_count < stub.options.executors) {
    if (pthread_create(&executors[executor_count], NULL, execute, NULL) != 0) abort();
    executor_count++;
  }
}

void stub_enqueue(CUstream stream, stub_operation *operation) {
  CUstream legacy = &stream->context->legacy;
  if (stream == legacy) {
    for (CUstream other = active; other != NULL; other = other->next)
      if (other != legacy && other->blocking && other->context == stream->context)
        stub_operation_wait(operation, other->tail->ticket);
  } else if (stream->blocking && legacy->tail != NULL) {
    stub_operation_wait(operation, legacy->tail->ticket);
  }
  if (operation->work != NULL) stub_operation_refer(operation, operation->work);
  if (operation->work != NULL && operation->work->kind == STUB_KERNEL) operation->work->function->queued++;
  if (stream->head == NULL) {
    stream->head = operation;
    activate(stream);
    stream->laziness = random_below(&stub.random, 256);
  } else {
    stream->tail->next = operation;
  }
  stream->tail = operation;
  queued++;
  if (stub.options.manual) return;
  if (executor_count == 0) start_executors();
  pthread_cond_signal(&stub.work);
}

uint64_t stub_queued(void) {
  return queued;
}

uint64_t stub_executed(void) {
  pthread_mutex_lock(&stub.lock);
  uint64_t count = executed;
  pthread_mutex_unlock(&stub.lock);
  return count;
}

uint64_t stub_overlapped(void) {
  pthread_mutex_lock(&stub.lock);
  uint64_t count = overlapped;
  pthread_mutex_unlock(&stub.lock);
  return count;
}

// ---------------------------------------------------------------------------------------------------------------
// Execution

static bool waits_for_nothing(const stub_operation *operation) {
  for (uint32_t i = 0; i < operation->wait_count; i++)
    if (!operation->waits[i]->done) return false;
  return true;
}

static bool may_run(const stub_operation *operation) {
  if (operation->run != NULL && operation->running) return stub_run_has_ready(operation->run);
  return !operation->running && !stub_is_alone(operation) && waits_for_nothing(operation);
}

// A stream whose head may run: any, or the least lazy one.
static CUstream choose(void) {
  CUstream chosen = NULL;
  bool any = random_chance(&stub.random, 50);
  uint32_t seen = 0;
  for (CUstream stream = active; stream != NULL; stream = stream->next) {
    if (stream->context->fault != CUDA_SUCCESS || !may_run(stream->head)) continue;
    seen++;
    if (chosen == NULL || (any ? random_below(&stub.random, seen) == 0 : stream->laziness < chosen->laziness))
      chosen = stream;
  }
  if (chosen != NULL && random_chance(&stub.random, 6)) chosen->laziness = random_below(&stub.random, 256);
  return chosen;
}

static void run_effect(const stub_work *work, CUcontext context) {
  overlapped += running > 0;
  running++;
  executed++;
  pthread_mutex_unlock(&stub.lock);
  stub_in_operation = true;
  stub_work_run(work, context);
  stub_in_operation = false;
  pthread_mutex_lock(&stub.lock);
  running--;
}

static bool has_effect(const stub_work *work) {
  return work != NULL && work->kind != STUB_EMPTY && work->kind != STUB_RECORD && work->kind != STUB_CHILD;
}

// Runs one node of a graph. The launch starts with the first.
static void step_graph(CUstream stream, stub_operation *operation) {
  operation->running = true;
  bool last = !stub_run_has_ready(operation->run); // only a launch without nodes has none here
  if (!last) {
    stub_work *work;
    uint32_t node = stub_run_take(operation->run, &work);
    if (has_effect(work)) run_effect(work, stream->context);
    last = stub_run_done(operation->run, node);
  }
  if (last) pop(stream);
}

// Executes one operation or node. False: none may run.
static bool step(void) {
  CUstream stream = choose();
  if (stream == NULL) return false;
  stub_operation *operation = stream->head;
  if (operation->run != NULL) {
    step_graph(stream, operation);
  } else {
    operation->running = true;
    if (has_effect(operation->work)) run_effect(operation->work, stream->context);
    pop(stream);
  }
  if (stream->context->fault != CUDA_SUCCESS) stub_drop(stream->context);
  if (waiting > 0) pthread_cond_broadcast(&stub.progress);
  if (executor_count > 1) pthread_cond_broadcast(&stub.work);
  return true;
}

bool stub_is_alone(const stub_operation *operation) {
  return operation->work != NULL && operation->work->kind == STUB_KERNEL && operation->work->function->resident;
}

uint32_t stub_alone_count(void) {
  return alone;
}

void stub_alone_begins(void) {
  alone++;
}

void stub_alone_is_over(void) {
  alone--;
  pthread_cond_broadcast(&stub.progress);
}

static void wait_for_progress(void) {
  waiting++;
  pthread_cond_wait(&stub.progress, &stub.lock);
  waiting--;
}

bool stub_begin_alone(CUstream stream, stub_operation *operation, const stub_ticket *ticket) {
  while (!ticket->done && (stream->head != operation || !waits_for_nothing(operation))) wait_for_progress();
  if (ticket->done) return false;
  operation->running = true;
  return true;
}

void stub_end_alone(CUstream stream) {
  pop(stream);
  if (stream->context->fault != CUDA_SUCCESS) stub_drop(stream->context);
  if (executor_count > 0) pthread_cond_broadcast(&stub.work);
}

void stub_count_execution(void) {
  overlapped += running > 0;
  executed++;
}

static void *execute(void *unused) {
  (void)unused;
  pthread_mutex_lock(&stub.lock);
  while (!stopping) {
    if (random_chance(&stub.random, 3)) { // fall behind the host
      struct timespec pause = {.tv_nsec = random_below(&stub.random, 40000)};
      pthread_mutex_unlock(&stub.lock);
      nanosleep(&pause, NULL);
      pthread_mutex_lock(&stub.lock);
    }
    if (!step() && !stopping) pthread_cond_wait(&stub.work, &stub.lock);
  }
  pthread_mutex_unlock(&stub.lock);
  return NULL;
}

void stub_engine_stop(void) {
  stopping = true;
  while (alone > 0) wait_for_progress();
  pthread_cond_broadcast(&stub.work);
  pthread_mutex_unlock(&stub.lock);
  for (uint32_t i = 0; i < executor_count; i++) pthread_join(executors[i], NULL);
  pthread_mutex_lock(&stub.lock);
  executor_count = 0;
  stopping = false;
  executed = overlapped = 0;
}

CUresult stub_wait(stub_ticket *ticket, CUcontext context) {
  stub_ticket_retain(ticket);
  while (!ticket->done && context->fault == CUDA_SUCCESS) {
    if (stub.options.manual && step()) continue;
    wait_for_progress();
  }
  stub_ticket_release(ticket);
  if (context->fault != CUDA_SUCCESS) stub_drain(context);
  return context->fault;
}

void stub_poke(void) {
  if (!stub.options.manual) return;
  for (uint32_t steps = random_below(&stub.random, 4); steps > 0 && step();) steps--;
}

// Drops what is not running; what runs is dropped by who runs it, when it is done.
void stub_drop(CUcontext context) {
  for (CUstream stream = active, next; stream != NULL; stream = next) {
    next = stream->next;
    if (stream->context != context) continue;
    const stub_operation *head = stream->head;
    if (!head->running || (head->run != NULL && stub_run_is_idle(head->run))) {
      while (stream->head != NULL) pop(stream);
      continue;
    }
    while (stream->head->next != NULL) {
      stub_operation *operation = stream->head->next;
      stream->head->next = operation->next;
      operation->ticket->done = true;
      operation->ticket->time = stub_now();
      destroy(operation);
    }
    stream->tail = stream->head;
  }
  if (waiting > 0) pthread_cond_broadcast(&stub.progress);
}

void stub_drain(CUcontext context) {
  for (;;) {
    stub_drop(context);
    CUstream left = active;
    while (left != NULL && left->context != context) left = left->next;
    if (left == NULL) return;
    wait_for_progress();
  }
}
