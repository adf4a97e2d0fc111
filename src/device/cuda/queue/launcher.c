// SPDX-License-Identifier: Apache-2.0
//
// Launchers: threads that make the calls that launch. A call takes microseconds, most of them outside of any lock of the
// driver's, so that a few threads with streams of their own launch more together than one. The ops of each are in a ring, in the
// order in which they were placed. Whoever holds the ring launches its first op, once others have launched what that waits for, and
// what is before it in its queue. An op waits only for ops that were placed before it, so there is always one that can be launched.
// Recorded graphs all go to the first launcher: the driver launches them one at a time, whoever asks.
//
// A launcher that the system has taken its core from holds no ring, unless it was within a call. Others that wait, or have nothing
// to do, find that its ring does not get on for a while, and launch what is in it. Not sooner: a launcher that slept has a core
// soon, and keeps it for longer than one that has spun, and may lose its own within a call.
#include "base/allocate.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/tsan.h"
#include "device/cuda/cuda_device.h"

enum { RING = 4096, PAUSES_PER_CLOCK = 256, PAUSES_PER_LOOK = 512, HELP_AFTER_NS = 100000, MOST_HELPED = 8 };

struct weir__cuda_launcher {
  weir__cuda_device *device;
  uint32_t index, count; // of launchers
  pthread_t thread;
  bool started;
  weir__cuda_op *ring[RING];
  alignas(64) _Atomic uint64_t pushed; // by the device's thread
  uint64_t taken_once;                 // what that thread last saw of `taken`
  alignas(64) _Atomic uint64_t taken;  // by who held the ring
  _Atomic bool held;
  alignas(64) _Atomic uint32_t sleeping; // 1: it sleeps on this word
  _Atomic bool stopping;
  _Atomic uint32_t state;
  weir__cuda_looks looks; // of this thread at the others
};

static void wake(weir__cuda_launcher *launcher) {
  if (atomic_load_explicit(&launcher->sleeping, memory_order_seq_cst) == 0) return;
  if (atomic_exchange_explicit(&launcher->sleeping, 0, memory_order_seq_cst) == 1) weir__wake(&launcher->sleeping, 1);
}

void weir__cuda_launchers_wake(weir__cuda_device *device) {
  for (uint32_t i = 0; i < device->launcher_count; i++) wake(device->launchers[i]);
}

// Whether an op is in the ring, and nobody launches it.
static bool is_left(const weir__cuda_launcher *launcher, uint64_t taken) {
  return atomic_load_explicit(&launcher->pushed, memory_order_acquire) != taken &&
         !atomic_load_explicit(&launcher->held, memory_order_relaxed);
}

// Launches the first op of the ring, if it can be. Returns whether it did. `*out_blocker`: what must be launched before, if anything.
static bool launch_first(weir__cuda_launcher *launcher, weir__cuda_wait *out_blocker) {
  out_blocker->number = 0;
  if (!is_left(launcher, atomic_load_explicit(&launcher->taken, memory_order_relaxed)) ||
      atomic_exchange_explicit(&launcher->held, true, memory_order_acquire))
    return false;
  uint64_t taken = atomic_load_explicit(&launcher->taken, memory_order_relaxed);
  bool any = atomic_load_explicit(&launcher->pushed, memory_order_acquire) != taken;
  weir__cuda_op *first = launcher->ring[taken % RING];
  bool good = any && weir__cuda_can_execute(launcher->device, first, out_blocker);
  if (good) {
    weir__cuda_execute(launcher->device, first);
    atomic_store_explicit(&launcher->taken, taken + 1, memory_order_release);
  }
  atomic_store_explicit(&launcher->held, false, memory_order_release);
  return good;
}

bool weir__cuda_launchers_help(weir__cuda_device *device, weir__cuda_looks *looks) {
  bool any = false;
  uint64_t now = weir__clock_ns();
  for (uint32_t i = 0; i < device->launcher_count; i++) {
    weir__cuda_launcher *launcher = device->launchers[i];
    weir__cuda_look *last = &looks->at[i];
    uint64_t taken = atomic_load_explicit(&launcher->taken, memory_order_relaxed);
    bool left = is_left(launcher, taken);
    if (!left || last->since_ns == 0 || last->taken != taken) {
      *last = (weir__cuda_look){.taken = taken, .since_ns = left ? now : 0};
      continue;
    }
    if (now - last->since_ns < HELP_AFTER_NS) continue;
    weir__cuda_wait blocker;
    for (uint32_t j = 0; j < MOST_HELPED && launch_first(launcher, &blocker); j++) any = true;
    last->taken = atomic_load_explicit(&launcher->taken, memory_order_relaxed); // the next look goes on
  }
  return any;
}

// One step of a wait by the device's thread.
static void pause_and_help(weir__cuda_device *device, uint32_t pauses) {
  weir__pause();
  if (pauses % PAUSES_PER_LOOK == 0) weir__cuda_launchers_help(device, &device->looks);
}

void weir__cuda_await_issued(weir__cuda_device *device, const weir__cuda_queue *queue, uint64_t number) {
  for (uint32_t pauses = 1; !weir__cuda_is_issued(queue, number); pauses++) pause_and_help(device, pauses);
}

// Waits until no more than `most` ops are in the ring.
static void await_taken(weir__cuda_launcher *launcher, uint64_t most) {
  uint64_t pushed = atomic_load_explicit(&launcher->pushed, memory_order_relaxed);
  for (uint32_t pauses = 1;; pauses++) {
    launcher->taken_once = atomic_load_explicit(&launcher->taken, memory_order_acquire);
    if (pushed - launcher->taken_once <= most) return;
    pause_and_help(launcher->device, pauses);
  }
}

void weir__cuda_launcher_push(weir__cuda_launcher *launcher, weir__cuda_op *op) {
  uint64_t at = atomic_load_explicit(&launcher->pushed, memory_order_relaxed);
  if (at - launcher->taken_once == RING) await_taken(launcher, RING - 1);
  launcher->ring[at % RING] = op;
  atomic_store_explicit(&launcher->pushed, at + 1, memory_order_seq_cst);
  wake(launcher);
}

void weir__cuda_launcher_drain(weir__cuda_launcher *launcher) {
  await_taken(launcher, 0);
}

static bool has_ops(const weir__cuda_launcher *launcher) {
  return atomic_load_explicit(&launcher->pushed, memory_order_seq_cst) !=
         atomic_load_explicit(&launcher->taken, memory_order_relaxed);
}

static bool must_sleep(weir__cuda_launcher *launcher) {
  atomic_store_explicit(&launcher->sleeping, 1, memory_order_seq_cst);
  bool work = has_ops(launcher) || atomic_load_explicit(&launcher->stopping, memory_order_seq_cst);
  if (work) atomic_store_explicit(&launcher->sleeping, 0, memory_order_relaxed);
  return !work;
}

// The driver takes long for the first calls of a thread, and for the first use of a stream. So both come before any task.
static void prepare(weir__cuda_device *device, void *user) {
  const weir__cuda_launcher *launcher = user;
  for (uint32_t i = launcher->index; i < device->queue_count; i += launcher->count) weir__cuda_use_stream(device, i);
}

// Waits for a while. False: there is no blocker, or it is still not launched.
static bool is_soon_issued(const weir__cuda_device *device, const weir__cuda_wait *blocker) {
  if (blocker->number == 0) return false;
  for (uint32_t pauses = 0; pauses < PAUSES_PER_LOOK; pauses++) {
    if (weir__cuda_is_issued(&device->streams[blocker->queue], blocker->number)) return true;
    weir__pause();
  }
  return false;
}

static void *launcher_main(void *argument) {
  weir__cuda_launcher *launcher = argument;
  weir__cuda_device *device = launcher->device;
  weir__this_thread.in_task = true;
  if (!weir__cuda_begin_thread(device, &launcher->state, prepare, launcher)) return NULL;
  uint64_t idle_since = 0;
  for (uint32_t rounds = 0;; rounds++) {
    weir__cuda_wait blocker;
    bool any = launch_first(launcher, &blocker) || is_soon_issued(device, &blocker);
    if (!any && (blocker.number > 0 || rounds % PAUSES_PER_LOOK == 0))
      any = weir__cuda_launchers_help(device, &launcher->looks);
    if (any || has_ops(launcher)) {
      idle_since = 0;
      if (!any) weir__pause();
      continue;
    }
    if (atomic_load_explicit(&launcher->stopping, memory_order_acquire)) return NULL;
    weir__pause();
    if (rounds % PAUSES_PER_CLOCK != 0) continue;
    uint64_t now = weir__clock_ns();
    if (idle_since == 0) idle_since = now;
    if (now - idle_since < device->base.spin_ns || !must_sleep(launcher)) continue;
    weir__sleep_on(&launcher->sleeping, 1, UINT64_MAX);
    atomic_store_explicit(&launcher->sleeping, 0, memory_order_relaxed);
    idle_since = 0;
  }
}

static weir_status start(weir__cuda_launcher *launcher) {
  if (!weir__allocate_permit() || weir__thread_create(&launcher->thread, launcher_main, launcher) != 0)
    return weir__error(WEIR_ERROR_OUT_OF_MEMORY, "device cuda: no thread to launch with");
  weir_status status = weir__cuda_await_thread(&launcher->state, launcher->thread);
  launcher->started = status == WEIR_OK;
  return status;
}

// All are there before the first one runs, since they look at each other.
weir_status weir__cuda_launchers_start(weir__cuda_device *device, uint32_t count) {
  for (uint32_t i = 0; i < count; i++) {
    weir__cuda_launcher *launcher = weir__allocate_zeroed(sizeof *launcher);
    if (launcher == NULL) return weir__error(WEIR_ERROR_OUT_OF_MEMORY, "device cuda: no memory for launchers");
    launcher->device = device;
    launcher->index = i;
    launcher->count = count;
    device->launchers[device->launcher_count++] = launcher;
  }
  weir_status status = WEIR_OK;
  for (uint32_t i = 0; i < count && status == WEIR_OK; i++) status = start(device->launchers[i]);
  return status;
}

void weir__cuda_launchers_stop(weir__cuda_device *device) {
  for (uint32_t i = 0; i < device->launcher_count; i++) {
    atomic_store_explicit(&device->launchers[i]->stopping, true, memory_order_seq_cst);
    wake(device->launchers[i]);
  }
  for (uint32_t i = 0; i < device->launcher_count; i++)
    if (device->launchers[i]->started) pthread_join(device->launchers[i]->thread, NULL);
  while (device->launcher_count > 0) weir__free(device->launchers[--device->launcher_count]);
}
