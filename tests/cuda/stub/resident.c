// SPDX-License-Identifier: Apache-2.0
//
// The resident kernel: a launch of it is threads that run src/device/cuda/resident/protocol.h, one as the scheduler, one as
// its fetcher, the others as workers, beside all that the executors do. A worker calls the function that was registered for work-groups.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

// In front of each access to what is shared: a thread of a launch whose context is lost ends here.
static void resident_point(void);
#define WEIR__R_POINT() resident_point()
// The scheduler faults, as the host has asked for.
static void resident_trap(void);
#define WEIR__R_TRAP() resident_trap()
#include "device/cuda/resident/protocol.h"
#include "internal.h"

// Stacks are small, so that the C library keeps them for the threads of the next launch: what it frees of threads that have
// ended looks like a race to a thread sanitizer.
enum { MOST_WORKERS = 4, POINTS_PER_NAP = 256, NAP_NS = 20000, STACK_BYTES = 1 << 20 };

typedef struct resident_launch {
  CUcontext context;
  CUstream stream;
  stub_operation *operation;
  stub_ticket *ticket;
  weir__r_card *card;
  weir__r_host *host;
  uint32_t epoch, blocks;
  uint64_t idle_ns, most_ns, seed;
  weir__r_desk desk;
} resident_launch;

typedef struct resident_block {
  resident_launch *launch;
  pthread_t thread;
  random_state random;
  uint32_t index, points;
} resident_block;

static _Thread_local resident_block *this_block;

static bool is_lost(CUcontext context) {
  return __atomic_load_n(&context->lost, __ATOMIC_ACQUIRE);
}

static void resident_point(void) {
  resident_block *block = this_block;
  if (block == NULL) return;
  if (is_lost(block->launch->context)) pthread_exit(NULL);
  // Spinning threads would keep all others from the processor.
  bool naps = ++block->points % POINTS_PER_NAP == 0 || random_below(&block->random, 400) == 0;
  if (!naps) return;
  struct timespec pause = {.tv_nsec = random_below(&block->random, NAP_NS)};
  nanosleep(&pause, NULL);
}

static void resident_trap(void) {
  pthread_mutex_lock(&stub.lock);
  stub_context_lose(this_block->launch->context, CUDA_ERROR_LAUNCH_FAILED);
  pthread_mutex_unlock(&stub.lock);
  resident_point();
}

// Copies or fills what a unit of a move has to.
static void run_move(const resident_launch *launch, const weir__r_task *task, uint32_t unit) {
  const stub_launch move = {
      .name = "a move of the resident kernel", .device = launch->context->device, .internal = launch->context};
  uint32_t bytes = weir__r_move_bytes(task->args, unit), pattern = (uint32_t)task->args[WEIR__R_MOVE_FROM];
  uint64_t first = (uint64_t)unit * WEIR__R_MOVE_BYTES;
  bool fills = task->args[WEIR__R_MOVE_IS_FILL] != 0;
  unsigned char *to = stub_memory(&move, task->args[WEIR__R_MOVE_TO] + first, bytes);
  const unsigned char *from = fills ? NULL : stub_memory(&move, task->args[WEIR__R_MOVE_FROM] + first, bytes);
  if (to == NULL || (from == NULL && !fills)) return;
  for (uint32_t i = 0; fills && i + 4 <= bytes; i += 4) memcpy(to + i, &pattern, sizeof pattern);
  if (!fills) memcpy(to, from, bytes);
}

// Runs a work-group as the kernel would.
static void run_group(resident_launch *launch, const weir__r_task *task, uint32_t unit) {
  CUfunction function = (CUfunction)(uintptr_t)task->function;
  pthread_mutex_lock(&stub.lock);
  bool good = stub_object_check(function, STUB_FUNCTION, "a task of the resident kernel");
  stub_group_function body = good ? function->groups : NULL;
  if (good && body == NULL) stub_violation("%s: no function for its work-groups is registered", function->name);
  if (task->number % WEIR__R_SLOTS != (uint32_t)(task - launch->card->tasks))
    stub_violation("task %u of the resident kernel is in slot %u", task->number,
                   (unsigned)(task - launch->card->tasks));
  if (unit == 0) stub_count_execution();
  pthread_mutex_unlock(&stub.lock);
  if (body == NULL) return;
  void *params[STUB_MAX_PARAMS];
  for (uint32_t i = 0, word = 0; i < function->param_count; i++) { // each begins a new word
    params[i] = (void *)(uintptr_t)&task->args[word < WEIR__R_ARGS ? word : 0];
    word += (function->param_bytes[i] + 7) / 8;
  }
  stub_launch work = {.name = function->name,
                      .grid = {task->groups[0], task->groups[1], task->groups[2]},
                      .param_count = function->param_count,
                      .params = params,
                      .param_bytes = function->param_bytes,
                      .device = launch->context->device,
                      .internal = launch->context};
  stub_in_operation = true;
  body(&work, unit);
  stub_in_operation = false;
}

static void work(resident_launch *launch, uint32_t worker) {
  weir__r_card *card = launch->card;
  weir__r_entry entry = weir__r_take(card, worker, weir__r_claim(card), launch->epoch);
  while (entry.taken) {
    const weir__r_task *task = weir__r_task_of(card, entry);
    for (uint32_t i = 0; i < weir__r_edges_of(task, entry); i++) weir__r_await(card, task->edges[i]);
    weir__r_units units = weir__r_units_of(task, entry);
    weir__r_begin(launch->host, task, units.first);
    for (uint32_t unit = units.first; task->function != 0 && unit < units.end; unit++) {
      if (task->function == WEIR__R_MOVE)
        run_move(launch, task, unit);
      else
        run_group(launch, task, unit);
    }
    uint32_t number = task->number, is_last = weir__r_finish(card, launch->host, task), position = weir__r_claim(card);
    if (is_last) weir__r_report(card, launch->host, number);
    entry = weir__r_take(card, worker, position, launch->epoch);
  }
}

static void *run_block(void *argument) {
  resident_block *block = argument;
  resident_launch *launch = block->launch;
  this_block = block;
  if (weir__r_arrive(launch->card))
    weir__r_schedule(&launch->desk, launch->card, launch->host, launch->epoch, launch->blocks - 1, launch->idle_ns,
                     launch->most_ns);
  else
    work(launch, block->index);
  weir__r_leave(launch->card, launch->host, launch->epoch, launch->blocks);
  return NULL;
}

// It looks until the block that is the scheduler ends it.
static void *run_fetcher(void *argument) {
  resident_block *block = argument;
  this_block = block;
  weir__r_fetch(&block->launch->desk, block->launch->card, block->launch->host);
  return NULL;
}

static pthread_t start_thread(void *(*function)(void *), void *argument) {
  pthread_t thread;
  pthread_attr_t attributes;
  bool good = pthread_attr_init(&attributes) == 0 && pthread_attr_setstacksize(&attributes, STACK_BYTES) == 0;
  if (!good || pthread_create(&thread, &attributes, function, argument) != 0) abort();
  pthread_attr_destroy(&attributes);
  return thread;
}

static void run_blocks(resident_launch *launch) {
  resident_block blocks[MOST_WORKERS + 2];
  weir__r_open_desk(&launch->desk, launch->card);
  for (uint32_t i = 0; i <= launch->blocks; i++) {
    blocks[i] = (resident_block){.launch = launch, .index = i, .random = {launch->seed + i}};
    blocks[i].thread = start_thread(i == launch->blocks ? run_fetcher : run_block, &blocks[i]);
  }
  for (uint32_t i = 0; i <= launch->blocks; i++) pthread_join(blocks[i].thread, NULL);
}

// A launch from its place in the stream to its end.
static void *run_launch(void *argument) {
  resident_launch *launch = argument;
  pthread_mutex_lock(&stub.lock);
  bool runs = stub_begin_alone(launch->stream, launch->operation, launch->ticket);
  pthread_mutex_unlock(&stub.lock);
  if (runs) run_blocks(launch);
  pthread_mutex_lock(&stub.lock);
  if (runs) stub_end_alone(launch->stream);
  stub_ticket_release(launch->ticket);
  free(launch);
  stub_alone_is_over();
  pthread_mutex_unlock(&stub.lock);
  return NULL;
}

static uint64_t word_of(const stub_work *work, uint32_t param) {
  uint64_t word = 0;
  memcpy(&word, work->params[param], work->function->param_bytes[param]);
  return word;
}

void stub_resident_start(CUstream stream, stub_operation *operation) {
  const stub_work *work = operation->work;
  resident_launch *launch = stub_allocate(sizeof *launch);
  stub_allocation *card, *host;
  bool good = stub_memory_check(word_of(work, 0), sizeof(weir__r_card), "resident kernel", &card) &&
              stub_memory_check(word_of(work, 1), sizeof(weir__r_host), "resident kernel", &host);
  if (!good || card == NULL || host == NULL) {
    stub_violation("the resident kernel's memory is none of the card's, or not pinned");
    abort();
  }
  *launch = (resident_launch){.context = stream->context,
                              .stream = stream,
                              .operation = operation,
                              .ticket = stub_ticket_retain(operation->ticket),
                              .card = stub_memory_host(word_of(work, 0)),
                              .host = stub_memory_host(word_of(work, 1)),
                              .epoch = (uint32_t)word_of(work, 2),
                              .idle_ns = word_of(work, 3),
                              .most_ns = word_of(work, 4),
                              .seed = random_next(&stub.random)};
  launch->blocks = 2 + random_below(&stub.random, MOST_WORKERS);
  if (launch->blocks > work->grid[0]) launch->blocks = work->grid[0];
  stub_alone_begins();
  pthread_detach(start_thread(run_launch, launch));
}
