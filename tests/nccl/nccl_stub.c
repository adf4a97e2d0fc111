// SPDX-License-Identifier: Apache-2.0
#include "nccl_stub.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "device/cuda/symbols.h"
#include "nccl/library.h"
#include "stub.h"

#define DECLARE(member, symbol, need, parameters) CUresult symbol parameters;
WEIR__CUDA_SYMBOLS(DECLARE)
#undef DECLARE
#define DECLARE(type, member, need, parameters) NCCL_STUB_API type member parameters;
WEIR__NCCL_SYMBOLS(DECLARE)
#undef DECLARE

enum { MOST_DEVICES = 8, PATIENCE_S = 20, LOST_NS = 300000000, RECORD_BYTES = 1 << 16, MOST_FAILURES = 8 };

typedef enum stub_kind { ALL_REDUCE, REDUCE, BROADCAST } stub_kind;

// One device's side of a collective.
typedef struct stub_op {
  struct stub_op *next;
  ncclComm_t comm;
  stub_kind kind;
  int type, operation, root;
  uint64_t count, number;
  uint64_t send, receive; // as the stream's device has them
  const void *from;       // when it runs
  void *to;
  CUevent event; // behind it
} stub_op;

typedef struct stub_round {
  struct stub_round *next;
  uint64_t number;
  stub_op *ops[MOST_DEVICES];
  int arrived, left;
  bool done, dead; // one left it before all had come
} stub_round;

// Communicators that belong together.
typedef struct stub_clique {
  struct stub_clique *next; // of those that are being made by an id
  uint64_t id;
  int size, alive, connected;
  bool complete; // all have come
  stub_round *rounds;
} stub_clique;

struct ncclComm {
  stub_clique *clique;
  int rank, device;
  bool connected, aborted;
  uint64_t numbered, running; // calls; kernels that were launched and are not done
  uint64_t connecting;        // calls that wait on the host
  stub_op *ops;
  CUcontext context;
  CUmodule module;
  CUfunction function;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static uint64_t violations, live, done, aborts;
static bool waits_to_connect, holds;
static uint64_t joining, joins,
    ended; // calls of ncclCommInitRank that wait, and all that did; how often they were ended
static int async_error;
static char records[MOST_DEVICES][RECORD_BYTES];
static struct {
  char function[32];
  uint64_t nth;
  int result;
} failures[MOST_FAILURES];

__attribute__((format(printf, 1, 2))) static void violation(const char *format, ...) {
  va_list list;
  va_start(list, format);
  fprintf(stderr, "nccl stub: ");
  vfprintf(stderr, format, list);
  fprintf(stderr, "\n");
  va_end(list);
  violations++;
}

static struct timespec after_ns(uint64_t ns) {
  struct timespec until;
  clock_gettime(CLOCK_REALTIME, &until);
  ns += (uint64_t)until.tv_nsec;
  until.tv_sec += (time_t)(ns / 1000000000);
  until.tv_nsec = (long)(ns % 1000000000);
  return until;
}

static int failure_of(const char *function) {
  int result = WEIR__NCCL_SUCCESS;
  pthread_mutex_lock(&lock);
  for (int i = 0; i < MOST_FAILURES; i++) {
    if (failures[i].nth > 0 && strcmp(failures[i].function, function) == 0 && --failures[i].nth == 0)
      result = failures[i].result;
  }
  pthread_mutex_unlock(&lock);
  return result;
}

// ---------------------------------------------------------------------------------------------------------------
// The collective itself. The lock is held.

#define COMBINE(TYPE)                                                                                                  \
  for (uint64_t i = 0; i < op->count; i++) {                                                                           \
    TYPE *a = (TYPE *)into + i;                                                                                        \
    TYPE b = ((const TYPE *)other)[i];                                                                                 \
    switch (op->operation) {                                                                                           \
    case WEIR__NCCL_SUM:                                                                                               \
      *a = (TYPE)(*a + b);                                                                                             \
      break;                                                                                                           \
    case WEIR__NCCL_PRODUCT:                                                                                           \
      *a = (TYPE)(*a * b);                                                                                             \
      break;                                                                                                           \
    case WEIR__NCCL_MAX:                                                                                               \
      if (b > *a) *a = b;                                                                                              \
      break;                                                                                                           \
    default:                                                                                                           \
      if (b < *a) *a = b;                                                                                              \
    }                                                                                                                  \
  }

static uint64_t type_bytes(int type) {
  switch (type) {
  case WEIR__NCCL_INT8:
    return 1;
  case WEIR__NCCL_INT32:
  case WEIR__NCCL_UINT32:
  case WEIR__NCCL_FLOAT32:
    return 4;
  default:
    return 8;
  }
}

static void combine(const stub_op *op, void *into, const void *other) {
  switch (op->type) {
  case WEIR__NCCL_INT32:
    COMBINE(int32_t)
    break;
  case WEIR__NCCL_UINT32:
    COMBINE(uint32_t)
    break;
  case WEIR__NCCL_INT64:
    COMBINE(int64_t)
    break;
  case WEIR__NCCL_UINT64:
    COMBINE(uint64_t)
    break;
  case WEIR__NCCL_FLOAT32:
    COMBINE(float)
    break;
  case WEIR__NCCL_FLOAT64:
    COMBINE(double)
    break;
  default:
    violation("type %d is combined", op->type);
  }
}

static void take_place(const stub_clique *clique, stub_round *round) {
  const stub_op *first = round->ops[0];
  uint64_t bytes = first->count * type_bytes(first->type);
  for (int i = 1; i < clique->size; i++) {
    const stub_op *op = round->ops[i];
    if (op->kind != first->kind || op->count != first->count || op->type != first->type || op->root != first->root ||
        (op->kind != BROADCAST && op->operation != first->operation))
      violation("collective %llu: devices disagree (kinds %d and %d, counts %llu and %llu)",
                (unsigned long long)round->number, first->kind, op->kind, (unsigned long long)first->count,
                (unsigned long long)op->count);
  }
  char *result = malloc(bytes);
  if (result == NULL) abort();
  if (first->kind == BROADCAST) {
    memcpy(result, round->ops[first->root]->from, bytes);
  } else {
    memcpy(result, first->from, bytes);
    for (int i = 1; i < clique->size; i++) combine(first, result, round->ops[i]->from);
  }
  for (int i = 0; i < clique->size; i++) {
    bool has_it = first->kind == BROADCAST && i == first->root && round->ops[i]->to == round->ops[i]->from;
    if ((first->kind != REDUCE || i == first->root) && !has_it) memcpy(round->ops[i]->to, result, bytes);
  }
  free(result);
  done++;
}

static stub_round *round_of(stub_clique *clique, uint64_t number) {
  stub_round **link = &clique->rounds;
  while (*link != NULL && (*link)->number != number) link = &(*link)->next;
  if (*link != NULL) return *link;
  stub_round *round = calloc(1, sizeof *round);
  if (round == NULL) abort();
  round->number = number;
  round->next = clique->rounds;
  clique->rounds = round;
  return round;
}

static void leave_round(stub_clique *clique, stub_round *round) {
  if (++round->left < clique->size) return;
  stub_round **link = &clique->rounds;
  while (*link != round) link = &(*link)->next;
  *link = round->next;
  free(round);
}

// Until `*condition`, an abort, or the end of patience.
static void await(const ncclComm_t comm, const bool *condition, const char *what) {
  struct timespec until = after_ns((uint64_t)PATIENCE_S * 1000000000);
  while (!*condition && !comm->aborted) {
    if (pthread_cond_timedwait(&changed, &lock, &until) == 0) continue;
    violation("%s: no partner came for %d s", what, PATIENCE_S);
    abort();
  }
}

static void run(const stub_launch *launch) {
  stub_op *op;
  memcpy(&op, launch->params[0], sizeof op);
  uint64_t bytes = op->count * type_bytes(op->type);
  op->from = stub_memory(launch, op->send, bytes);
  op->to = stub_memory(launch, op->receive, bytes);
  pthread_mutex_lock(&lock);
  stub_clique *clique = op->comm->clique;
  stub_round *round = round_of(clique, op->number);
  round->ops[op->comm->rank] = op;
  if (++round->arrived == clique->size && !round->dead) {
    take_place(clique, round);
    round->done = true;
    pthread_cond_broadcast(&changed);
  }
  await(op->comm, &round->done, "a kernel");
  if (!round->done) { // no result
    memset(op->to, 0xee, bytes);
    round->dead = true;
  }
  leave_round(clique, round);
  op->comm->running--;
  pthread_cond_broadcast(&changed);
  pthread_mutex_unlock(&lock);
}

// ---------------------------------------------------------------------------------------------------------------
// Calls

// False: the communicator was aborted meanwhile, and is gone.
static bool connect_comm(ncclComm_t comm) {
  pthread_mutex_lock(&lock);
  stub_clique *clique = comm->clique;
  if (waits_to_connect && !comm->connected) {
    comm->connected = true;
    bool all = ++clique->connected == clique->size;
    comm->connecting++;
    pthread_cond_broadcast(&changed);
    struct timespec until = after_ns((uint64_t)PATIENCE_S * 1000000000);
    for (; !all && !comm->aborted; all = clique->connected == clique->size) {
      if (pthread_cond_timedwait(&changed, &lock, &until) == 0) continue;
      violation("a first call: no partner came for %d s", PATIENCE_S);
      abort();
    }
    comm->connecting--;
    pthread_cond_broadcast(&changed);
  }
  bool aborted = comm->aborted;
  pthread_mutex_unlock(&lock);
  return !aborted;
}

static void note(const stub_op *op) {
  static const char *const NAMES[] = {"all-reduce", "reduce", "broadcast"};
  char *record = records[op->comm->device];
  size_t used = strlen(record);
  snprintf(record + used, RECORD_BYTES - used, "%s %llu;", NAMES[op->kind], (unsigned long long)op->count);
}

// Some calls take longer to begin than others, so that threads pass each other.
static void hesitate(void) {
  static _Atomic uint32_t calls;
  uint32_t hash = atomic_fetch_add(&calls, 1) * 2654435761u;
  if (hash >> 30 == 0) usleep(hash >> 24 & 63);
}

static int enqueue(const char *function, const stub_op *asked, void *stream) {
  int failure = failure_of(function);
  if (failure != WEIR__NCCL_SUCCESS) return failure;
  ncclComm_t comm = asked->comm;
  hesitate();
  if (!connect_comm(comm)) return WEIR__NCCL_SYSTEM_ERROR;
  stub_op *op = malloc(sizeof *op);
  if (op == NULL) abort();
  *op = *asked;
  pthread_mutex_lock(&lock);
  op->number = comm->numbered++;
  op->next = comm->ops;
  comm->ops = op;
  comm->running++;
  note(op);
  pthread_mutex_unlock(&lock);
  void *parameters[] = {&op, &op->send, &op->receive};
  cuCtxPushCurrent_v2(comm->context);
  CUresult result = cuLaunchKernel(comm->function, 1, 1, 1, 1, 1, 1, 0, stream, parameters, NULL);
  if (result == CUDA_SUCCESS && cuEventCreate(&op->event, CU_EVENT_DISABLE_TIMING) == CUDA_SUCCESS)
    cuEventRecord(op->event, stream);
  cuCtxPopCurrent_v2(&(CUcontext){NULL});
  if (result == CUDA_SUCCESS) return WEIR__NCCL_SUCCESS;
  pthread_mutex_lock(&lock);
  comm->running--;
  pthread_mutex_unlock(&lock);
  return 1;
}

int ncclAllReduce(const void *send, void *receive, size_t count, int type, int operation, ncclComm_t comm,
                  void *stream) {
  return enqueue("ncclAllReduce",
                 &(stub_op){.comm = comm,
                            .kind = ALL_REDUCE,
                            .type = type,
                            .operation = operation,
                            .count = count,
                            .send = (uintptr_t)send,
                            .receive = (uintptr_t)receive},
                 stream);
}

int ncclReduce(const void *send, void *receive, size_t count, int type, int operation, int root, ncclComm_t comm,
               void *stream) {
  return enqueue("ncclReduce",
                 &(stub_op){.comm = comm,
                            .kind = REDUCE,
                            .type = type,
                            .operation = operation,
                            .root = root,
                            .count = count,
                            .send = (uintptr_t)send,
                            .receive = (uintptr_t)receive},
                 stream);
}

int ncclBroadcast(const void *send, void *receive, size_t count, int type, int root, ncclComm_t comm, void *stream) {
  return enqueue("ncclBroadcast",
                 &(stub_op){.comm = comm,
                            .kind = BROADCAST,
                            .type = type,
                            .root = root,
                            .count = count,
                            .send = (uintptr_t)send,
                            .receive = (uintptr_t)receive},
                 stream);
}

// No call waits for others but the first ones, which are not grouped.
int ncclGroupStart(void) {
  return WEIR__NCCL_SUCCESS;
}

int ncclGroupEnd(void) {
  return WEIR__NCCL_SUCCESS;
}

int ncclGetVersion(int *version) {
  *version = 22703;
  return failure_of("ncclGetVersion");
}

const char *ncclGetErrorString(int result) {
  return result == WEIR__NCCL_SYSTEM_ERROR ? "system error" : "an error of the stub";
}

const char *ncclGetLastError(ncclComm_t comm) {
  (void)comm;
  return "as the test wanted";
}

int ncclCommGetAsyncError(ncclComm_t comm, int *result) {
  (void)comm;
  pthread_mutex_lock(&lock);
  *result = async_error;
  pthread_mutex_unlock(&lock);
  return WEIR__NCCL_SUCCESS;
}

// ---------------------------------------------------------------------------------------------------------------
// Communicators

static ncclComm_t make(stub_clique *clique, int rank, int device) {
  static const char IMAGE[] = "STUB\nnccl_stub 256 8 8 8\n";
  ncclComm_t comm = calloc(1, sizeof *comm);
  if (comm == NULL) abort();
  *comm = (struct ncclComm){.clique = clique, .rank = rank, .device = device};
  if (cuDevicePrimaryCtxRetain(&comm->context, device) != CUDA_SUCCESS ||
      cuCtxSetCurrent(comm->context) != CUDA_SUCCESS ||
      cuModuleLoadDataEx(&comm->module, IMAGE, 0, NULL, NULL) != CUDA_SUCCESS ||
      cuModuleGetFunction(&comm->function, comm->module, "nccl_stub") != CUDA_SUCCESS)
    abort();
  return comm;
}

// As the runtime does, leaves a context current.
int ncclCommInitAll(ncclComm_t *comms, int count, const int *devices) {
  int failure = failure_of("ncclCommInitAll");
  if (failure != WEIR__NCCL_SUCCESS) return failure;
  stub_register("nccl_stub", run);
  stub_clique *clique = calloc(1, sizeof *clique);
  if (clique == NULL) abort();
  clique->size = clique->alive = count;
  for (int i = 0; i < count; i++) comms[i] = make(clique, i, devices[i]);
  pthread_mutex_lock(&lock);
  live += (uint64_t)count;
  pthread_mutex_unlock(&lock);
  return WEIR__NCCL_SUCCESS;
}

static bool is_current(int device) {
  CUcontext current = NULL, primary = NULL;
  cuCtxGetCurrent(&current);
  if (current == NULL || device >= MOST_DEVICES || cuDevicePrimaryCtxRetain(&primary, device) != CUDA_SUCCESS) abort();
  cuDevicePrimaryCtxRelease_v2(device);
  return primary == current;
}

int ncclGetUniqueId(weir__nccl_id *id) {
  static _Atomic uint64_t ids;
  uint64_t number = atomic_fetch_add(&ids, 1) + 1;
  memset(id, 0, sizeof *id);
  memcpy(id, &number, sizeof number);
  return failure_of("ncclGetUniqueId");
}

// Waits for all others.
int ncclCommInitRank(ncclComm_t *comm, int count, weir__nccl_id id, int rank) {
  static stub_clique *cliques;
  int failure = failure_of("ncclCommInitRank"), device = 0;
  if (failure != WEIR__NCCL_SUCCESS) return failure;
  uint64_t number;
  memcpy(&number, &id, sizeof number);
  stub_register("nccl_stub", run);
  while (!is_current(device)) device++;
  pthread_mutex_lock(&lock);
  stub_clique *clique = cliques;
  while (clique != NULL && clique->id != number) clique = clique->next;
  if (clique == NULL) {
    clique = calloc(1, sizeof *clique);
    if (clique == NULL) abort();
    *clique = (stub_clique){.next = cliques, .id = number, .size = count};
    cliques = clique;
  }
  bool last = ++clique->alive == count;
  live++;
  joins++;
  if (last) clique->complete = true;
  if (last) { // nobody looks for it any more
    stub_clique **link = &cliques;
    while (*link != clique) link = &(*link)->next;
    *link = clique->next;
  }
  pthread_cond_broadcast(&changed);
  uint64_t before = ended;
  joining++;
  while ((!clique->complete || holds) && ended == before) pthread_cond_wait(&changed, &lock);
  joining--;
  bool fails = ended != before;
  if (fails) live--;
  if (fails && --clique->alive == 0 && clique->complete) free(clique); // else others' calls look for it
  pthread_mutex_unlock(&lock);
  if (fails) return WEIR__NCCL_SYSTEM_ERROR;
  *comm = make(clique, rank, device);
  return WEIR__NCCL_SUCCESS;
}

// Kernels on a card that is lost never run.
static void await_kernels(const ncclComm_t comm) {
  struct timespec until = after_ns(LOST_NS);
  while (comm->connecting > 0) pthread_cond_wait(&changed, &lock);
  while (comm->running > 0 && pthread_cond_timedwait(&changed, &lock, &until) == 0) continue;
}

static void destroy(ncclComm_t comm) {
  pthread_mutex_lock(&lock);
  await_kernels(comm);
  live--;
  bool last = --comm->clique->alive == 0, over = comm->running == 0;
  pthread_mutex_unlock(&lock);
  cuCtxSetCurrent(comm->context);
  for (const stub_op *op = comm->ops; op != NULL; op = op->next) {
    if (op->event == NULL) continue;
    if (over) cuEventSynchronize(op->event);
    cuEventDestroy_v2(op->event);
  }
  cuModuleUnload(comm->module);
  cuCtxSetCurrent(NULL);
  cuDevicePrimaryCtxRelease_v2(comm->device);
  for (stub_op *op = comm->ops, *next; op != NULL; op = next) {
    next = op->next;
    free(op);
  }
  for (stub_round *round = last ? comm->clique->rounds : NULL, *next; round != NULL; round = next) {
    next = round->next;
    free(round);
  }
  if (last) free(comm->clique);
  free(comm);
}

int ncclCommDestroy(ncclComm_t comm) {
  destroy(comm);
  return WEIR__NCCL_SUCCESS;
}

int ncclCommAbort(ncclComm_t comm) {
  pthread_mutex_lock(&lock);
  comm->aborted = true;
  aborts++;
  pthread_cond_broadcast(&changed);
  pthread_mutex_unlock(&lock);
  destroy(comm);
  return WEIR__NCCL_SUCCESS;
}

// ---------------------------------------------------------------------------------------------------------------
// For tests

void nccl_stub_reset(void) {
  pthread_mutex_lock(&lock);
  if (live > 0) violation("%llu communicators are left", (unsigned long long)live);
  violations = done = aborts = joins = 0;
  waits_to_connect = holds = false;
  async_error = WEIR__NCCL_SUCCESS;
  memset(failures, 0, sizeof failures);
  for (int i = 0; i < MOST_DEVICES; i++) records[i][0] = '\0';
  pthread_mutex_unlock(&lock);
}

void nccl_stub_fail_nth(const char *function, uint64_t nth, int result) {
  pthread_mutex_lock(&lock);
  int free_one = 0;
  while (failures[free_one].nth > 0) free_one++;
  snprintf(failures[free_one].function, sizeof failures[free_one].function, "%s", function);
  failures[free_one].nth = nth;
  failures[free_one].result = result;
  pthread_mutex_unlock(&lock);
}

void nccl_stub_connect(bool waits) {
  pthread_mutex_lock(&lock);
  waits_to_connect = waits;
  pthread_mutex_unlock(&lock);
}

void nccl_stub_hold(bool on) {
  pthread_mutex_lock(&lock);
  holds = on;
  pthread_cond_broadcast(&changed);
  pthread_mutex_unlock(&lock);
}

void nccl_stub_end_joining(void) {
  pthread_mutex_lock(&lock);
  ended++;
  holds = false;
  pthread_cond_broadcast(&changed);
  pthread_mutex_unlock(&lock);
}

void nccl_stub_async_error(int result) {
  pthread_mutex_lock(&lock);
  async_error = result;
  pthread_mutex_unlock(&lock);
}

const char *nccl_stub_record(int device) {
  return records[device];
}

static uint64_t read_count(const uint64_t *count) {
  pthread_mutex_lock(&lock);
  uint64_t value = *count;
  pthread_mutex_unlock(&lock);
  return value;
}

uint64_t nccl_stub_violations(void) {
  return read_count(&violations);
}

uint64_t nccl_stub_live(void) {
  return read_count(&live);
}

uint64_t nccl_stub_joining(void) {
  return read_count(&joining);
}

uint64_t nccl_stub_joins(void) {
  return read_count(&joins);
}

uint64_t nccl_stub_done(void) {
  return read_count(&done);
}

uint64_t nccl_stub_aborts(void) {
  return read_count(&aborts);
}
