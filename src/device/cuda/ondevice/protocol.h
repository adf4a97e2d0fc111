// SPDX-License-Identifier: Apache-2.0
//
// The launcher on the card: what the host and the card share of it, and how the card goes on. One text for three readers, as
// resident/protocol.h: NVRTC, the host, and C threads that stand in for the card in tests.
//
// DESIGN. A kernel that is not linked with a resident one can be launched by the card only as a CUDA graph that was made for that (device
// graph): the kernel, whose parameters and grid the card may set, and behind it `weir__l_done`, which marks the task as done on the card
// and reports it to the host. The host publishes tasks, each with a graph that no other task in flight has. The scheduler, one warp,
// copies them to the card, holds each until those that it comes after are done, and launches its graph.
// One execution of the scheduler's graph may launch 120 others. Then it launches the next scheduler's graph as its sibling, which takes
// up where it was. A scheduler's graph cannot be launched again before all that it has launched is done.
// Tasks only come after earlier ones, and a task that was launched waits for nothing: so all get done.
//
// Numbers, the ring, reports, epochs, leaving and aborting are as for the resident kernel (resident/protocol.h); graphs are free again when
// their task was reported. All that was reported by `gone` is there before it. Numbers wrap.
#ifndef WEIR_DEVICE_CUDA_ONDEVICE_PROTOCOL_H
#define WEIR_DEVICE_CUDA_ONDEVICE_PROTOCOL_H

#include "device/cuda/resident/protocol.h"

#define WEIR__L_SLOTS 256 // power of two
#define WEIR__L_GRAPHS 256
#define WEIR__L_EDGES 12
#define WEIR__L_ARG_BYTES 128
#define WEIR__L_HELD (128 / WEIR__R_LANES) // tasks of each lane
#define WEIR__L_LAUNCHES 118               // of one execution of the scheduler's graph, beside its sibling's
#define WEIR__L_RELAYS 8                   // schedulers' graphs
#define WEIR__L_MOST_RUNS 100              // of schedulers in a launch, that take in tasks: 120 siblings are refused
#define WEIR__L_ROUNDS_PER_LOOK 4
#define WEIR__L_ROUNDS_PER_TRY 1024       // between looks for a host that wants to abort, of who tries to launch
#define WEIR__L_PATIENCE_NS 2000000000ull // so long a graph whose task was reported may refuse to be launched

// Results of the device runtime.
#define WEIR__L_LAUNCHED 0
#define WEIR__L_STILL_RUNS 1         // cudaErrorInvalidValue: the graph's last launch is not over
#define WEIR__L_TOO_MANY 69          // cudaErrorLaunchPendingCountExceeded
#define WEIR__L_FORGET (2ull << 56)  // cudaStreamGraphFireAndForget
#define WEIR__L_SIBLING (3ull << 56) // cudaStreamGraphFireAndForgetAsSibling

// A task, as the host writes it. Multiple of 16 bytes.
typedef struct WEIR__R_ALIGNED(16) weir__l_task {
  uint64_t exec, node; // its graph, and of that the kernel's node
  uint32_t number;
  uint32_t graph;     // the graph's index
  uint32_t arg_bytes; // 0: the kernel has no parameters
  uint32_t sets_grid; // 0: the graph has the right one
  uint32_t groups[3];
  uint32_t edge_count;
  uint32_t edges[WEIR__L_EDGES]; // as weir__r_task
  uint64_t args[WEIR__L_ARG_BYTES / 8];
} weir__l_task;

// In pinned memory of the host, zeroed before the first launch.
typedef struct weir__l_host {
  // Written by the host; the card reads these 16 bytes at once.
  WEIR__R_ALIGNED(128) uint32_t tail; // number of the last task that is published
  uint32_t stop;                      // the launch with this epoch leaves as soon as nothing is published or in flight
  uint32_t epoch;                     // of the launch, written before it
  uint32_t abort;                     // not 0: the scheduler faults
  uint64_t idle_ns, most_ns;          // written before a launch
  // Written by the card.
  WEIR__R_ALIGNED(128) uint32_t gone; // epoch of the last launch that has left
  WEIR__R_ALIGNED(128)
  uint64_t done[WEIR__L_SLOTS];   // at i % SLOTS: (i + 1) * 2^32 + number of the ith task that was done
  uint32_t errors[WEIR__L_SLOTS]; // of the task in each slot, once it is done: not 0: what the device runtime said
  WEIR__R_ALIGNED(128) weir__l_task ring[WEIR__L_SLOTS];
} weir__l_host;

// In the card's memory, zeroed before the first launch, but for `relay`.
typedef struct weir__l_card {
  WEIR__R_ALIGNED(128) uint32_t reports;             // tasks that were done, modulo 2^32
  WEIR__R_ALIGNED(128) uint32_t finished;            // of them, those whose report was written
  WEIR__R_ALIGNED(128) uint32_t done[WEIR__L_SLOTS]; // number of the last task done in each slot
  uint32_t flying[WEIR__L_GRAPHS];                   // number of the task that each graph was launched for
  // From one scheduler to the next.
  WEIR__R_ALIGNED(128) uint32_t relayed; // not 0: there is one before it, in the same launch
  uint32_t run;                          // how many
  uint32_t fetched;                      // number of the last task that was copied
  uint32_t epoch, ends;
  uint64_t start_ns, busy_ns;
  uint32_t held[128];             // numbers of tasks that were copied and not launched, where
  uint32_t is[128];               // this is not 0
  uint64_t relay[WEIR__L_RELAYS]; // schedulers' graphs
  WEIR__R_ALIGNED(128) weir__l_task tasks[WEIR__L_SLOTS];
} weir__l_card;

// ---------------------------------------------------------------------------------------------------------------
// The device runtime, and memory that resident/protocol_memory.h has no functions for.
#if defined(__CUDACC__) // with -rdc=true the compiler knows the device runtime's functions

WEIR__R_FUNCTION uint32_t weir__l_launch_graph(uint64_t exec, uint64_t how) {
  return (uint32_t)cudaGraphLaunch((cudaGraphExec_t)exec, (cudaStream_t)how);
}
WEIR__R_FUNCTION uint32_t weir__l_set_args(uint64_t node, const void *args, uint32_t bytes) {
  return (uint32_t)cudaGraphKernelNodeSetParam((cudaGraphDeviceNode_t)node, 0, args, bytes);
}
WEIR__R_FUNCTION uint32_t weir__l_set_grid(uint64_t node, const uint32_t groups[3]) {
  return (uint32_t)cudaGraphKernelNodeSetGridDim((cudaGraphDeviceNode_t)node, dim3(groups[0], groups[1], groups[2]));
}
WEIR__R_FUNCTION weir__r_piece weir__l_load_piece(const weir__l_task *task, uint32_t piece) {
  return weir__r_load_piece((const weir__r_task *)task, piece);
}
WEIR__R_FUNCTION weir__r_wishes weir__l_look(const weir__l_host *host) { // acquires
  return weir__r_look((const weir__r_host *)host);
}
WEIR__R_FUNCTION uint64_t weir__l_host_load_long(const uint64_t *at) {
  uint64_t value;
  asm volatile("ld.relaxed.sys.global.u64 %0, [%1];" : "=l"(value) : "l"(at) : "memory");
  return value;
}
WEIR__R_FUNCTION void weir__l_store(uint32_t *at, uint32_t value) {
  asm volatile("st.relaxed.gpu.global.u32 [%0], %1;" ::"l"(at), "r"(value) : "memory");
}
WEIR__R_FUNCTION void weir__l_fence(void) { // what this thread has seen and written is there for whoever it launches
  __threadfence();
}

#else // C threads: whoever includes this has the device runtime, if it runs a scheduler

uint32_t weir__l_launch_graph(uint64_t exec, uint64_t how);
uint32_t weir__l_set_args(uint64_t node, const void *args, uint32_t bytes);
uint32_t weir__l_set_grid(uint64_t node, const uint32_t groups[3]);

WEIR__R_FUNCTION weir__r_piece weir__l_load_piece(const weir__l_task *task, uint32_t piece) {
  WEIR__R_POINT();
  weir__r_piece value;
  memcpy(&value, (const char *)task + 16 * piece, 16);
  return value;
}
WEIR__R_FUNCTION weir__r_wishes weir__l_look(const weir__l_host *host) {
  WEIR__R_POINT();
  weir__r_wishes wishes = {.tail = __atomic_load_n(&host->tail, __ATOMIC_ACQUIRE)};
  WEIR__R_POINT();
  wishes.stop = __atomic_load_n(&host->stop, __ATOMIC_ACQUIRE);
  wishes.ask = __atomic_load_n(&host->epoch, __ATOMIC_ACQUIRE);
  WEIR__R_POINT();
  wishes.abort = __atomic_load_n(&host->abort, __ATOMIC_ACQUIRE);
  return wishes;
}
WEIR__R_FUNCTION uint64_t weir__l_host_load_long(const uint64_t *at) {
  WEIR__R_POINT();
  return __atomic_load_n(at, __ATOMIC_RELAXED);
}
WEIR__R_FUNCTION void weir__l_store(uint32_t *at, uint32_t value) {
  WEIR__R_POINT();
  __atomic_store_n(at, value, __ATOMIC_RELAXED);
}
WEIR__R_FUNCTION void weir__l_fence(void) {
  WEIR__R_POINT();
}

// The host: whether the `count`th task was reported, counting from 1, and its number.
WEIR__R_FUNCTION bool weir__l_is_reported(const weir__l_host *host, uint32_t count, uint32_t *out_number) {
  WEIR__R_POINT();
  uint64_t entry = __atomic_load_n(&host->done[(count - 1) % WEIR__L_SLOTS], __ATOMIC_ACQUIRE);
  *out_number = (uint32_t)entry;
  return (uint32_t)(entry >> 32) == count;
}

#endif

// ---------------------------------------------------------------------------------------------------------------
// A task is done: marked on the card, and reported. One thread, which has seen all that the task wrote.
WEIR__R_FUNCTION void weir__l_finish(weir__l_card *card, weir__l_host *host, uint32_t number) {
  weir__r_store_release(&card->done[number % WEIR__L_SLOTS], number);
  uint32_t before = weir__r_add(&card->reports, 1);
  weir__r_host_store_done(&host->done[before % WEIR__L_SLOTS], (uint64_t)(before + 1) << 32 | number);
  (void)weir__r_add(&card->finished, 1);
}

// The second node of a task's graph: one thread.
WEIR__R_FUNCTION void weir__l_done_of(weir__l_card *card, weir__l_host *host, uint32_t graph) {
  weir__l_finish(card, host, weir__r_load(&card->flying[graph]));
}

// ---------------------------------------------------------------------------------------------------------------
// The scheduler: all lanes of one warp. All lanes have the same, but for the tasks that they hold: those whose number's remainder by the
// number of lanes is their own.
typedef struct weir__l_scheduler {
  uint32_t fetched, epoch, ends;
  uint32_t run;    // schedulers before it in the launch
  uint32_t budget; // launches that this run may still make
  uint32_t held;   // tasks, of all lanes
  uint64_t start_ns, busy_ns;
  uint64_t refused_ns; // since when graphs refuse to be launched and none was launched; 0: they do not
  uint32_t is[WEIR__L_HELD], numbers[WEIR__L_HELD];
} weir__l_scheduler;

WEIR__R_FUNCTION uint64_t weir__l_from_long(uint64_t value) { // the first lane's
  return (uint64_t)weir__r_from((uint32_t)(value >> 32), 0) << 32 | weir__r_from((uint32_t)value, 0);
}

// Takes up what the scheduler before left, or begins.
WEIR__R_FUNCTION void weir__l_open(weir__l_scheduler *s, const weir__l_card *card, const weir__l_host *host) {
  uint32_t relayed = weir__r_load_acquire(&card->relayed), mine = 0;
  s->fetched = weir__r_load(&card->fetched);
  s->budget = WEIR__L_LAUNCHES;
  s->refused_ns = 0;
  s->held = 0;
  WEIR__R_UNROLL
  for (uint32_t k = 0; k < WEIR__L_HELD; k++) {
    uint32_t at = k * WEIR__R_LANES + weir__r_lane();
    s->is[k] = relayed ? weir__r_load(&card->is[at]) : 0;
    s->numbers[k] = weir__r_load(&card->held[at]);
    mine += s->is[k];
  }
  (void)weir__r_sum_before(mine, &s->held);
  if (relayed) {
    s->epoch = weir__r_load(&card->epoch);
    s->ends = weir__r_load(&card->ends);
    s->run = weir__r_load(&card->run);
    s->start_ns = weir__r_load_long(&card->start_ns);
    s->busy_ns = weir__r_load_long(&card->busy_ns);
    return;
  }
  s->epoch = weir__r_from(weir__l_look(host).ask, 0);
  s->ends = s->run = 0;
  s->start_ns = s->busy_ns = weir__l_from_long(weir__r_now_ns());
}

// Leaves what the next scheduler takes up; or, if there is none, what the next launch does.
WEIR__R_FUNCTION void weir__l_close(const weir__l_scheduler *s, weir__l_card *card, uint32_t relays) {
  WEIR__R_UNROLL
  for (uint32_t k = 0; k < WEIR__L_HELD; k++) {
    uint32_t at = k * WEIR__R_LANES + weir__r_lane();
    weir__l_store(&card->is[at], s->is[k]);
    weir__l_store(&card->held[at], s->numbers[k]);
  }
  if (weir__r_lane() == 0) {
    weir__l_store(&card->run, s->run + 1);
    weir__l_store(&card->fetched, s->fetched);
    weir__l_store(&card->epoch, s->epoch);
    weir__l_store(&card->ends, s->ends);
    weir__r_store_long(&card->start_ns, s->start_ns);
    weir__r_store_long(&card->busy_ns, s->busy_ns);
    weir__r_store_release(&card->relayed, relays);
  }
  weir__l_fence();
  weir__r_meet();
}

WEIR__R_FUNCTION weir__r_wishes weir__l_wishes_of(const weir__l_host *host) {
  weir__r_wishes wishes = {0, 0, 0, 0};
  if (weir__r_lane() != 0) return wishes;
  wishes = weir__l_look(host);
  if (wishes.abort != 0) weir__r_trap();
  return wishes;
}

// Whether every lane could hold one more.
WEIR__R_FUNCTION uint32_t weir__l_has_room(const weir__l_scheduler *s) {
  uint32_t has = 0;
  WEIR__R_UNROLL
  for (uint32_t k = 0; k < WEIR__L_HELD; k++) has = has || !s->is[k];
  return weir__r_mask(has) == WEIR__R_ALL_LANES;
}

// Copies what is published up to `tail`, one task for each lane at most, and holds it. There is room.
WEIR__R_FUNCTION uint32_t weir__l_fetch(weir__l_scheduler *s, weir__l_card *card, const weir__l_host *host,
                                        uint32_t tail) {
  const uint32_t pieces = sizeof(weir__l_task) / 16;
  uint32_t count = tail - s->fetched;
  if (count > WEIR__R_LANES) count = WEIR__R_LANES;
  if (count == 0) return 0;
  enum { AT_ONCE = 7 };
  for (uint32_t first = weir__r_lane(); first < count * pieces; first += AT_ONCE * WEIR__R_LANES) {
    weir__r_piece loaded[AT_ONCE];
    WEIR__R_UNROLL
    for (uint32_t j = 0; j < AT_ONCE; j++) {
      uint32_t i = first + j * WEIR__R_LANES;
      if (i < count * pieces)
        loaded[j] = weir__l_load_piece(&host->ring[(s->fetched + 1 + i / pieces) % WEIR__L_SLOTS], i % pieces);
    }
    WEIR__R_UNROLL
    for (uint32_t j = 0; j < AT_ONCE; j++) {
      uint32_t i = first + j * WEIR__R_LANES;
      uint64_t *words = (uint64_t *)&card->tasks[(s->fetched + 1 + i / pieces) % WEIR__L_SLOTS] + 2 * (i % pieces);
      if (i >= count * pieces) continue;
      words[0] = loaded[j].low;
      words[1] = loaded[j].high;
    }
  }
  weir__r_meet();
  uint32_t after = (weir__r_lane() - s->fetched - 1) % WEIR__R_LANES; // the lane's task behind the first
  uint32_t put = after >= count;
  WEIR__R_UNROLL
  for (uint32_t k = 0; k < WEIR__L_HELD; k++) {
    if (put || s->is[k]) continue;
    s->is[k] = put = 1;
    s->numbers[k] = s->fetched + 1 + after;
  }
  s->fetched += count;
  s->held += count;
  return count;
}

WEIR__R_FUNCTION uint32_t weir__l_is_ready(const weir__l_card *card, const weir__l_task *task) {
  for (uint32_t i = 0; i < task->edge_count; i++) {
    if ((int32_t)(weir__r_load_acquire(&card->done[task->edges[i] % WEIR__L_SLOTS]) - task->edges[i]) < 0) return 0;
  }
  return 1;
}

// Sets the task's kernel and launches its graph.
WEIR__R_FUNCTION uint32_t weir__l_launch(weir__l_card *card, const weir__l_task *task) {
  uint32_t error = WEIR__L_LAUNCHED;
  if (task->sets_grid) error = weir__l_set_grid(task->node, task->groups);
  if (error == WEIR__L_LAUNCHED && task->arg_bytes > 0)
    error = weir__l_set_args(task->node, task->args, task->arg_bytes);
  // STILL_RUNS is said of a launch only.
  if (error != WEIR__L_LAUNCHED) return error == WEIR__L_STILL_RUNS ? 0xffffu : error;
  weir__l_store(&card->flying[task->graph], task->number);
  weir__l_fence();
  return weir__l_launch_graph(task->exec, WEIR__L_FORGET);
}

// Launches what is ready, one task of each lane at most. Returns how many.
WEIR__R_FUNCTION uint32_t weir__l_launch_ready(weir__l_scheduler *s, weir__l_card *card, weir__l_host *host,
                                               uint64_t now) {
  uint32_t is = 0, at = 0, number = 0;
  WEIR__R_UNROLL
  for (uint32_t k = 0; k < WEIR__L_HELD; k++) {
    if (is || !s->is[k] || !weir__l_is_ready(card, &card->tasks[s->numbers[k] % WEIR__L_SLOTS])) continue;
    is = 1;
    at = k;
    number = s->numbers[k];
  }
  uint32_t mask = weir__r_mask(is), rank = weir__r_count(mask & ((1u << weir__r_lane()) - 1)), over = 0;
  uint32_t full = 0, refused = 0;
  if (mask == 0) return 0;
  if (is && rank < s->budget) {
    uint32_t error = weir__l_launch(card, &card->tasks[number % WEIR__L_SLOTS]);
    full = error == WEIR__L_TOO_MANY;
    refused = error == WEIR__L_STILL_RUNS;
    over = !refused && !full;
    if (refused && s->refused_ns != 0 && now - s->refused_ns > WEIR__L_PATIENCE_NS) over = 1;
    if (over && error != WEIR__L_LAUNCHED) { // it will not run
      host->errors[number % WEIR__L_SLOTS] = error;
      weir__l_finish(card, host, number);
    }
  }
  WEIR__R_UNROLL
  for (uint32_t k = 0; k < WEIR__L_HELD; k++) s->is[k] = s->is[k] && !(over && at == k);
  uint32_t gone = weir__r_count(weir__r_mask(over));
  s->held -= gone;
  if (gone > 0 || weir__r_mask(refused) == 0)
    s->refused_ns = 0;
  else if (s->refused_ns == 0)
    s->refused_ns = now;
  s->budget = weir__r_mask(full) != 0 ? 0 : s->budget - gone;
  return gone;
}

// Launches the next scheduler. What this one knows is the next one's from then on.
WEIR__R_FUNCTION void weir__l_relay(const weir__l_scheduler *s, weir__l_card *card, const weir__l_host *host) {
  weir__l_close(s, card, 1);
  if (weir__r_lane() != 0) return;
  uint64_t next = weir__r_load_long(&card->relay[(s->run + 1) % WEIR__L_RELAYS]);
  for (uint32_t tries = 1;; tries++) {
    uint32_t error = weir__l_launch_graph(next, WEIR__L_SIBLING);
    if (error == WEIR__L_LAUNCHED) return;
    if (error != WEIR__L_STILL_RUNS) weir__r_trap();
    if (tries % WEIR__L_ROUNDS_PER_TRY == 0) (void)weir__l_wishes_of(host);
    weir__r_pause();
  }
}

// The scheduler's whole work in one execution of its graph.
WEIR__R_FUNCTION void weir__l_schedule_run(weir__l_card *card, weir__l_host *host) {
  weir__l_scheduler s;
  weir__l_open(&s, card, host);
  uint64_t idle_ns = weir__l_from_long(weir__l_host_load_long(&host->idle_ns));
  uint64_t most_ns = weir__l_from_long(weir__l_host_load_long(&host->most_ns));
  for (uint32_t rounds = 0;; rounds++) {
    uint64_t now = weir__l_from_long(weir__r_now_ns());
    uint32_t takes = !s.ends && (s.held == 0 || rounds % WEIR__L_ROUNDS_PER_LOOK == 0) && weir__l_has_room(&s);
    uint32_t done = 0;
    weir__r_wishes wishes = {0, 0, 0, 0};
    if (takes || rounds % WEIR__L_ROUNDS_PER_TRY == 0) {
      wishes = weir__l_wishes_of(host);
      uint32_t tail = weir__r_from(wishes.tail, 0);
      weir__r_meet();
      if (takes) done = weir__l_fetch(&s, card, host, tail);
    }
    if (s.held > 0) done += weir__l_launch_ready(&s, card, host, now);
    if (s.budget == 0) {
      if (done > 0) s.busy_ns = now;
      weir__l_relay(&s, card, host);
      return;
    }
    uint32_t idle = done == 0 && s.held == 0 && weir__r_from(weir__r_load_acquire(&card->finished) == s.fetched, 0);
    if (idle) {
      uint32_t leaves = s.ends || now - s.busy_ns >= idle_ns || wishes.stop == s.epoch;
      if (weir__r_from(leaves, 0)) break;
    } else if (done > 0 || s.held == 0) {
      s.busy_ns = now;
    }
    s.ends = s.ends || s.run >= WEIR__L_MOST_RUNS || now - s.start_ns >= most_ns;
    if (done == 0) weir__r_pause();
  }
  weir__l_close(&s, card, 0);
  if (weir__r_lane() == 0) weir__r_host_store_release(&host->gone, s.epoch);
}

#endif // WEIR_DEVICE_CUDA_ONDEVICE_PROTOCOL_H
