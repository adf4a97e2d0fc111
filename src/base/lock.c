// SPDX-License-Identifier: Apache-2.0
#include "base/lock.h"

#include <limits.h>
#include <linux/futex.h>
#include <linux/membarrier.h>
#include <sched.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/machine.h"
#include "base/tsan.h"

// A lock is mostly free again within a microsecond, which a longer pause would sleep through: pauses grow later.
enum { SHORTEST_PAUSE = 2, EAGER_ROUNDS = 32, LARGEST_PAUSE = 64, SPIN_ROUNDS = 70, STARVES_AFTER_NS = 1000000 };

void weir__sleep_on(_Atomic uint32_t *word, uint32_t expected, uint64_t timeout_ns) {
  struct timespec limit = {.tv_sec = (time_t)(timeout_ns / 1000000000u), .tv_nsec = (long)(timeout_ns % 1000000000u)};
  syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, expected, timeout_ns == UINT64_MAX ? NULL : &limit, NULL, 0);
}

void weir__wake(_Atomic uint32_t *word, int count) {
  syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, count, NULL, NULL, 0);
}

bool weir__barrier_heavy(void) {
  static _Atomic bool registered;
  if (!atomic_load_explicit(&registered, memory_order_acquire)) {
    if (syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0) != 0) return false;
    atomic_store_explicit(&registered, true, memory_order_release);
  }
  return syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0) == 0;
}

uint32_t weir__core_count(void) {
  static _Atomic uint32_t known;
  uint32_t count = atomic_load_explicit(&known, memory_order_relaxed);
  if (count == 0) {
    count = weir__machine_cores();
    atomic_store_explicit(&known, count, memory_order_relaxed);
  }
  return count;
}

uint32_t weir__current_core(void) {
  int core = sched_getcpu();
  return core < 0 ? 0 : (uint32_t)core;
}

// Takes the lock if this thread may. `slept`: others may sleep, too, and are not forgotten.
static bool take(weir__lock *lock, uint32_t state, bool slept, bool starves) {
  if (state != WEIR__LOCK_FREE && !(state == WEIR__LOCK_HANDED && starves)) return false;
  uint32_t taken = slept || state == WEIR__LOCK_HANDED ? WEIR__LOCK_AWAITED : WEIR__LOCK_HELD;
  return atomic_compare_exchange_strong_explicit(&lock->state, &state, taken, memory_order_acquire,
                                                 memory_order_relaxed);
}

// Sleeps until the lock may be had, unless its state is no longer `state`.
static void sleep_for(weir__lock *lock, uint32_t state, bool starves) {
  uint32_t awaited = state;
  if (starves && state != WEIR__LOCK_FREE && state != WEIR__LOCK_HANDED) awaited = WEIR__LOCK_STARVES;
  if (state == WEIR__LOCK_HELD && !starves) awaited = WEIR__LOCK_AWAITED;
  if (state == WEIR__LOCK_FREE ||
      (state != awaited && !atomic_compare_exchange_strong_explicit(&lock->state, &state, awaited, memory_order_relaxed,
                                                                    memory_order_relaxed)))
    return;
  weir__sleep_on(&lock->state, awaited, starves ? UINT64_MAX : STARVES_AFTER_NS);
}

void weir__lock_ignores(weir__lock *lock) {
  if (weir__tsan_on()) atomic_store_explicit(&lock->state, WEIR__LOCK_IGNORES | WEIR__LOCK_FREE, memory_order_relaxed);
}

// A lock that ignores: as plain as can be.
static bool ignores(const weir__lock *lock) {
  return (atomic_load_explicit(&lock->state, memory_order_relaxed) & WEIR__LOCK_IGNORES) != 0;
}

static void acquire_ignoring(weir__lock *lock) {
  uint32_t state = WEIR__LOCK_IGNORES | WEIR__LOCK_FREE, awaited = WEIR__LOCK_IGNORES | WEIR__LOCK_AWAITED;
  if (!atomic_compare_exchange_strong_explicit(&lock->state, &state, WEIR__LOCK_IGNORES | WEIR__LOCK_HELD,
                                               memory_order_acquire, memory_order_relaxed)) {
    while (atomic_exchange_explicit(&lock->state, awaited, memory_order_acquire) !=
           (WEIR__LOCK_IGNORES | WEIR__LOCK_FREE))
      weir__sleep_on(&lock->state, awaited, UINT64_MAX);
  }
  weir__tsan_ignore();
}

static void release_ignoring(weir__lock *lock) {
  weir__tsan_heed();
  uint32_t state = atomic_exchange_explicit(&lock->state, WEIR__LOCK_IGNORES | WEIR__LOCK_FREE, memory_order_release);
  if (state == (WEIR__LOCK_IGNORES | WEIR__LOCK_AWAITED)) weir__wake(&lock->state, 1);
}

void weir__lock_acquire_slow(weir__lock *lock) {
  if (ignores(lock)) {
    acquire_ignoring(lock);
    return;
  }
  uint32_t pause = SHORTEST_PAUSE;
  for (int round = 0; round < SPIN_ROUNDS && weir__may_spin(); round++) {
    for (uint32_t i = 0; i < pause; i++) weir__pause();
    if (round >= EAGER_ROUNDS && pause < LARGEST_PAUSE) pause *= 2;
    if (weir__lock_try(lock)) return;
  }
  uint64_t since = weir__clock_ns();
  bool slept = false, starves = false;
  for (;;) {
    uint32_t state = atomic_load_explicit(&lock->state, memory_order_relaxed);
    if (take(lock, state, slept, starves)) return;
    sleep_for(lock, state, starves);
    slept = true;
    starves = starves || weir__clock_ns() - since >= STARVES_AFTER_NS;
  }
}

void weir__lock_release_slow(weir__lock *lock) {
  if (ignores(lock)) {
    release_ignoring(lock);
    return;
  }
  for (;;) {
    uint32_t state = atomic_load_explicit(&lock->state, memory_order_relaxed);
    bool starves = state == WEIR__LOCK_STARVES;
    if (!atomic_compare_exchange_strong_explicit(&lock->state, &state, starves ? WEIR__LOCK_HANDED : WEIR__LOCK_FREE,
                                                 memory_order_release, memory_order_relaxed))
      continue;
    weir__wake(&lock->state, starves ? INT_MAX : 1);
    return;
  }
}
