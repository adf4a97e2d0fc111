// SPDX-License-Identifier: Apache-2.0
//
// Launchers: threads that make the calls that launch. A call takes microseconds, most of them outside of any lock of the
// driver's, so that a few threads with streams of their own launch more together than one. Each executes its ops in the
// order in which they were placed, and waits for others to have recorded the events that its ops wait for, or to have launched what
// is before them in their queue; since an op waits only for ops that were placed before it, this cannot go round in a circle.
// Recorded graphs all go to the first launcher: the driver launches them one at a time, whoever asks.
#include "base/allocate.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/tsan.h"
#include "device/cuda/cuda_device.h"

enum { RING = 4096, PAUSES_PER_CLOCK = 256 };

struct weir__cuda_launcher {
  weir__cuda_device *device;
  uint32_t index, count; // of launchers
  pthread_t thread;
  weir__cuda_op *ring[RING];
  alignas(64) _Atomic uint64_t pushed; // by the device's thread
  alignas(64) _Atomic uint64_t taken;  // by the launcher
  _Atomic uint32_t sleeping;           // 1: it sleeps on this word
  _Atomic bool stopping;
  _Atomic uint32_t state;
};

static void wake(weir__cuda_launcher *launcher) {
  if (atomic_load_explicit(&launcher->sleeping, memory_order_seq_cst) == 0) return;
  if (atomic_exchange_explicit(&launcher->sleeping, 0, memory_order_seq_cst) == 1) weir__wake(&launcher->sleeping, 1);
}

void weir__cuda_launchers_wake(weir__cuda_device *device) {
  for (uint32_t i = 0; i < device->launcher_count; i++) wake(device->launchers[i]);
}

void weir__cuda_launcher_push(weir__cuda_launcher *launcher, weir__cuda_op *op) {
  uint64_t at = atomic_load_explicit(&launcher->pushed, memory_order_relaxed);
  while (at - atomic_load_explicit(&launcher->taken, memory_order_acquire) == RING) weir__pause();
  launcher->ring[at % RING] = op;
  atomic_store_explicit(&launcher->pushed, at + 1, memory_order_seq_cst);
  wake(launcher);
}

void weir__cuda_launcher_drain(const weir__cuda_launcher *launcher) {
  uint64_t pushed = atomic_load_explicit(&launcher->pushed, memory_order_relaxed);
  while (atomic_load_explicit(&launcher->taken, memory_order_acquire) != pushed) weir__pause();
}

static bool must_sleep(weir__cuda_launcher *launcher, uint64_t taken) {
  atomic_store_explicit(&launcher->sleeping, 1, memory_order_seq_cst);
  bool work = atomic_load_explicit(&launcher->pushed, memory_order_seq_cst) != taken ||
              atomic_load_explicit(&launcher->stopping, memory_order_seq_cst);
  if (work) atomic_store_explicit(&launcher->sleeping, 0, memory_order_relaxed);
  return !work;
}

// The driver takes long for the first calls of a thread, and for the first use of a stream. So both come before any task.
static void prepare(weir__cuda_device *device, void *user) {
  const weir__cuda_launcher *launcher = user;
  for (uint32_t i = launcher->index; i < device->queue_count; i += launcher->count) weir__cuda_use_stream(device, i);
}

static void *launcher_main(void *argument) {
  weir__cuda_launcher *launcher = argument;
  weir__cuda_device *device = launcher->device;
  weir__this_thread.in_task = true;
  if (!weir__cuda_begin_thread(device, &launcher->state, prepare, launcher)) return NULL;
  uint64_t taken = 0, idle_since = 0;
  for (uint32_t rounds = 0;; rounds++) {
    if (atomic_load_explicit(&launcher->pushed, memory_order_acquire) != taken) {
      weir__cuda_execute(device, launcher->ring[taken % RING]);
      atomic_store_explicit(&launcher->taken, ++taken, memory_order_release);
      idle_since = 0;
      continue;
    }
    if (atomic_load_explicit(&launcher->stopping, memory_order_acquire)) return NULL;
    weir__pause();
    if (rounds % PAUSES_PER_CLOCK != 0) continue;
    uint64_t now = weir__clock_ns();
    if (idle_since == 0) idle_since = now;
    if (now - idle_since < device->base.spin_ns || !must_sleep(launcher, taken)) continue;
    weir__sleep_on(&launcher->sleeping, 1, UINT64_MAX);
    atomic_store_explicit(&launcher->sleeping, 0, memory_order_relaxed);
    idle_since = 0;
  }
}

weir_status weir__cuda_launchers_start(weir__cuda_device *device, uint32_t count) {
  for (uint32_t i = 0; i < count; i++) {
    weir__cuda_launcher *launcher = weir__allocate_zeroed(sizeof *launcher);
    if (launcher != NULL) {
      launcher->device = device;
      launcher->index = i;
      launcher->count = count;
    }
    if (launcher == NULL || !weir__allocate_permit() ||
        weir__thread_create(&launcher->thread, launcher_main, launcher) != 0) {
      weir__free(launcher);
      return weir__error(WEIR_ERROR_OUT_OF_MEMORY, "device cuda: no thread to launch with");
    }
    weir_status status = weir__cuda_await_thread(&launcher->state, launcher->thread);
    if (status != WEIR_OK) {
      weir__free(launcher);
      return status;
    }
    device->launchers[device->launcher_count++] = launcher;
  }
  return WEIR_OK;
}

void weir__cuda_launchers_stop(weir__cuda_device *device) {
  while (device->launcher_count > 0) {
    weir__cuda_launcher *launcher = device->launchers[--device->launcher_count];
    atomic_store_explicit(&launcher->stopping, true, memory_order_seq_cst);
    wake(launcher);
    pthread_join(launcher->thread, NULL);
    weir__free(launcher);
  }
}
