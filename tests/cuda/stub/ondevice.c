// SPDX-License-Identifier: Apache-2.0
//
// Device graphs, and the launcher on the card: a launch of its scheduler's graph is a thread that runs
// src/device/cuda/ondevice/protocol.h. What that launches goes into streams of the graphs' own, for the executors.
// Refused are: graphs that are not made for the card, not uploaded, or not done with what they were launched for; more than 120 launches
// of one execution of a graph, or siblings; parameters of a node that runs.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static void launcher_point(void);
#define WEIR__R_POINT() launcher_point()
static void launcher_trap(void);
#define WEIR__R_TRAP() launcher_trap()
#include "device/cuda/ondevice/protocol.h"
#include "internal.h"

enum {
  POINTS_PER_NAP = 256,
  NAP_NS = 20000,
  STACK_BYTES = 1 << 20,
  MOST_LAUNCHES = 120,
  INVALID_VALUE = 1,
  TOO_MANY = 69,
};

// A launch of the scheduler's graph by the host, with all that it launches.
typedef struct launcher_launch {
  CUcontext context;
  CUstream stream;
  stub_operation *operation;
  stub_ticket *ticket;
  weir__l_card *card;
  weir__l_host *host;
  CUgraphExec exec, next;      // that runs; its sibling
  uint32_t launches, siblings; // of this execution; in all
  stub_ticket **children;
  uint32_t child_count;
  random_state random;
  uint32_t points;
} launcher_launch;

static _Thread_local launcher_launch *this_launch;

static bool is_lost(const launcher_launch *launch) {
  return __atomic_load_n(&launch->context->lost, __ATOMIC_ACQUIRE);
}

static void launcher_point(void) {
  launcher_launch *launch = this_launch;
  if (launch == NULL) return;
  if (is_lost(launch)) pthread_exit(NULL);
  bool naps = ++launch->points % POINTS_PER_NAP == 0 || random_below(&launch->random, 400) == 0;
  if (!naps) return;
  struct timespec pause = {.tv_nsec = random_below(&launch->random, NAP_NS)};
  nanosleep(&pause, NULL);
}

static void launcher_trap(void) {
  pthread_mutex_lock(&stub.lock);
  stub_context_lose(this_launch->context, CUDA_ERROR_LAUNCH_FAILED);
  pthread_mutex_unlock(&stub.lock);
  launcher_point();
}

static bool runs(CUgraphExec exec) {
  return exec->last != NULL && !exec->last->done;
}

// The lock is held.
static bool can_launch(CUgraphExec exec) {
  if (!stub_object_check(exec, STUB_EXEC, "a launch by the card")) return false;
  if (exec->for_card && exec->uploaded) return true;
  stub_violation("a launch by the card: the graph is not made for that, or was not uploaded");
  return false;
}

static void add_child(launcher_launch *launch, stub_ticket *ticket) {
  launch->children = stub_grow(launch->children, (launch->child_count + 1) * sizeof(stub_ticket *));
  launch->children[launch->child_count++] = stub_ticket_retain(ticket);
}

static void forget_children(CUgraphExec exec) {
  for (uint32_t i = 0; i < exec->child_count; i++) stub_ticket_release(exec->children[i]);
  exec->child_count = 0;
}

static uint32_t launch_sibling(launcher_launch *launch, CUgraphExec exec) {
  if (exec == launch->exec) return INVALID_VALUE;
  for (uint32_t i = 0; i < exec->child_count; i++)
    if (!exec->children[i]->done) return INVALID_VALUE;
  if (++launch->siblings > MOST_LAUNCHES) {
    stub_violation("a launch by the card: more than %d siblings", MOST_LAUNCHES);
    return TOO_MANY;
  }
  launch->next = exec;
  return 0;
}

static uint32_t launch_child(launcher_launch *launch, CUgraphExec exec) {
  if (runs(exec)) return INVALID_VALUE;
  stub_operation *operation = stub_operation_create(NULL);
  operation->run = stub_run_create(exec->topology, exec->works, exec->disabled);
  for (uint32_t i = 0; i < exec->topology->count; i++) stub_operation_refer(operation, exec->works[i]);
  stub_ticket_release(exec->last);
  exec->last = stub_ticket_retain(operation->ticket);
  exec->run = operation->run;
  add_child(launch, operation->ticket);
  CUgraphExec parent = launch->exec;
  parent->children = stub_grow(parent->children, (parent->child_count + 1) * sizeof(stub_ticket *));
  parent->children[parent->child_count++] = stub_ticket_retain(operation->ticket);
  if (exec->own == NULL) exec->own = stub_allocate(sizeof *exec->own);
  exec->own->context = launch->context;
  stub_enqueue(exec->own, operation);
  pthread_cond_broadcast(&stub.progress); // who executes may wait for it
  return 0;
}

uint32_t weir__l_launch_graph(uint64_t exec, uint64_t how) {
  launcher_launch *launch = this_launch;
  CUgraphExec graph = (CUgraphExec)(uintptr_t)exec;
  launcher_point();
  pthread_mutex_lock(&stub.lock);
  uint32_t result = can_launch(graph) ? 0 : INVALID_VALUE;
  if (result == 0 && random_below(&launch->random, 16) == 0) result = INVALID_VALUE; // not over yet
  if (result == 0 && launch->launches == MOST_LAUNCHES) {
    stub_violation("a launch by the card: more than %d of one execution", MOST_LAUNCHES);
    result = TOO_MANY;
  }
  if (result == 0) result = how == WEIR__L_SIBLING ? launch_sibling(launch, graph) : launch_child(launch, graph);
  launch->launches += result == 0;
  pthread_mutex_unlock(&stub.lock);
  return result;
}

// The work of a node that may be changed now; the lock is held. NULL and a violation: it may not.
static stub_work **work_of(uint64_t handle) {
  CUgraphExec exec = NULL;
  CUgraphNode node = (CUgraphNode)(uintptr_t)handle;
  if (stub_object_check(node, STUB_NODE, "an update by the card")) exec = node->exec;
  if (exec == NULL || !stub_object_check(exec, STUB_EXEC, "an update by the card")) return NULL;
  // The first node of a graph may be changed again as soon as it is done, though others still run.
  bool is_over = !runs(exec) || (node->index == 0 && stub_run_left(exec->run) < exec->topology->count);
  if (is_over) return &exec->works[node->index];
  stub_violation("an update by the card: the node is still to run");
  return NULL;
}

// What the card does not know of the launch stays.
static uint32_t change(uint64_t handle, const void *args, uint32_t bytes, const uint32_t *groups) {
  static const stub_counter sets_grid = {.name = "cudaGraphKernelNodeSetGridDim"};
  static const stub_counter sets_args = {.name = "cudaGraphKernelNodeSetParam"};
  launcher_point();
  pthread_mutex_lock(&stub.lock);
  stub_work **at = work_of(handle), *work = NULL;
  uint32_t result = INVALID_VALUE;
  if (at != NULL && stub_ledger_fails(groups != NULL ? &sets_grid : &sets_args, true) == CUDA_SUCCESS) {
    const stub_work *old = *at;
    const uint32_t *grid = groups != NULL ? groups : old->grid;
    CUDA_KERNEL_NODE_PARAMS parameters = {.func = old->function,
                                          .gridDimX = grid[0],
                                          .gridDimY = grid[1],
                                          .gridDimZ = grid[2],
                                          .blockDimX = old->block[0],
                                          .blockDimY = old->block[1],
                                          .blockDimZ = old->block[2],
                                          .sharedMemBytes = old->shared_bytes,
                                          .kernelParams = (void **)(uintptr_t)old->params};
    if (bytes > old->function->param_total)
      stub_violation("an update by the card: %u bytes of parameters of %s", bytes, old->function->name);
    else if (stub_work_kernel(&parameters, NULL, &work) == CUDA_SUCCESS)
      result = 0;
  }
  if (result == 0) {
    if (bytes > 0) memcpy(work->param_memory, args, bytes);
    stub_work_release(*at);
    *at = work;
  }
  pthread_mutex_unlock(&stub.lock);
  return result;
}

uint32_t weir__l_set_args(uint64_t node, const void *args, uint32_t bytes) {
  return change(node, args, bytes, NULL);
}

uint32_t weir__l_set_grid(uint64_t node, const uint32_t groups[3]) {
  return change(node, NULL, 0, groups);
}

// ---------------------------------------------------------------------------------------------------------------
// Launches

static void *run_scheduler(void *argument) {
  launcher_launch *launch = argument;
  this_launch = launch;
  weir__l_schedule_run(launch->card, launch->host);
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

// The schedulers, one after the other, without the lock; then the lock is held, and all that they have launched is done.
static void run_all(launcher_launch *launch) {
  pthread_mutex_lock(&stub.lock);
  while (launch->exec != NULL && !is_lost(launch)) {
    forget_children(launch->exec);
    launch->launches = 0;
    launch->next = NULL;
    pthread_mutex_unlock(&stub.lock);
    pthread_join(start_thread(run_scheduler, launch), NULL);
    pthread_mutex_lock(&stub.lock);
    launch->exec = launch->next;
  }
  for (uint32_t i = 0; i < launch->child_count; i++) {
    stub_await(launch->children[i], launch->context);
    stub_ticket_release(launch->children[i]);
  }
}

static void *run_launch(void *argument) {
  launcher_launch *launch = argument;
  pthread_mutex_lock(&stub.lock);
  bool begins = stub_begin_alone(launch->stream, launch->operation, launch->ticket);
  pthread_mutex_unlock(&stub.lock);
  if (begins)
    run_all(launch);
  else
    pthread_mutex_lock(&stub.lock);
  if (begins) stub_end_alone(launch->stream);
  stub_ticket_release(launch->ticket);
  free(launch->children);
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

void stub_launcher_start(CUstream stream, stub_operation *operation, CUgraphExec exec) {
  const stub_work *work = operation->work;
  launcher_launch *launch = stub_allocate(sizeof *launch);
  stub_allocation *card, *host;
  bool good = stub_memory_check(word_of(work, 0), sizeof(weir__l_card), "launcher", &card) &&
              stub_memory_check(word_of(work, 1), sizeof(weir__l_host), "launcher", &host);
  if (!good || card == NULL || host == NULL || !exec->uploaded) {
    stub_violation("the launcher's memory is none of the card's, or not pinned, or its graph was not uploaded");
    abort();
  }
  *launch = (launcher_launch){.context = stream->context,
                              .stream = stream,
                              .operation = operation,
                              .ticket = stub_ticket_retain(operation->ticket),
                              .card = stub_memory_host(word_of(work, 0)),
                              .host = stub_memory_host(word_of(work, 1)),
                              .exec = exec,
                              .random = {random_next(&stub.random)}};
  stub_alone_begins();
  pthread_detach(start_thread(run_launch, launch));
}

// weir__l_done.
void stub_run_launched(const stub_launch *launch) {
  uint64_t card, host;
  uint32_t graph;
  memcpy(&card, launch->params[0], sizeof card);
  memcpy(&host, launch->params[1], sizeof host);
  memcpy(&graph, launch->params[2], sizeof graph);
  weir__l_card *on_card = stub_memory(launch, card, sizeof *on_card);
  weir__l_host *on_host = stub_memory(launch, host, sizeof *on_host);
  if (on_card != NULL && on_host != NULL) weir__l_done_of(on_card, on_host, graph);
}

// ---------------------------------------------------------------------------------------------------------------
// Nodes that the card may change

CUresult cuGraphKernelNodeSetAttribute(CUgraphNode node, CUlaunchAttributeID attribute,
                                       const CUlaunchAttributeValue *value) {
  STUB_ENTER(cuGraphKernelNodeSetAttribute, STUB_CONTEXT);
  if (!stub_object_check(node, STUB_NODE, "cuGraphKernelNodeSetAttribute"))
    return stub_leave(CUDA_ERROR_INVALID_HANDLE);
  if (attribute != CU_LAUNCH_ATTRIBUTE_DEVICE_UPDATABLE_KERNEL_NODE || value == NULL || node->work->kind != STUB_KERNEL)
    return stub_leave(CUDA_ERROR_INVALID_VALUE);
  node->updatable = value->deviceUpdatableKernelNode.deviceUpdatable != 0;
  return stub_leave(CUDA_SUCCESS);
}

CUresult cuGraphKernelNodeGetAttribute(CUgraphNode node, CUlaunchAttributeID attribute, CUlaunchAttributeValue *value) {
  STUB_ENTER(cuGraphKernelNodeGetAttribute, STUB_CONTEXT);
  if (!stub_object_check(node, STUB_NODE, "cuGraphKernelNodeGetAttribute"))
    return stub_leave(CUDA_ERROR_INVALID_HANDLE);
  if (attribute != CU_LAUNCH_ATTRIBUTE_DEVICE_UPDATABLE_KERNEL_NODE || value == NULL)
    return stub_leave(CUDA_ERROR_INVALID_VALUE);
  memset(value, 0, sizeof *value);
  value->deviceUpdatableKernelNode.deviceUpdatable = node->updatable;
  if (node->updatable) value->deviceUpdatableKernelNode.devNode = (CUgraphDeviceNode)(void *)node;
  return stub_leave(CUDA_SUCCESS);
}
