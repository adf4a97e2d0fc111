// SPDX-License-Identifier: Apache-2.0
//
// A mutual-exclusion lock for short critical sections, and waiting on a 32-bit word.
//
// The lock spins with growing pauses, then sleeps in the kernel (three states, as in Drepper, "Futexes are tricky",
// 2011). It is unfair on purpose: a thread that releases it and comes back at once mostly gets it again, so that the
// data it guards stays in one core's cache for many operations in a row. A thread that has waited for a millisecond is
// passed over no more: the next release hands the lock to it, or to another that has waited as long.
#ifndef WEIR_BASE_LOCK_H
#define WEIR_BASE_LOCK_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

typedef struct weir__lock {
  _Atomic uint32_t state; // WEIR__LOCK_*
} weir__lock;

enum {
  WEIR__LOCK_FREE,
  WEIR__LOCK_HELD,
  WEIR__LOCK_AWAITED,     // held, and somebody sleeps
  WEIR__LOCK_STARVES,     // held, and somebody sleeps who has waited for long
  WEIR__LOCK_HANDED,      // free for those who have waited for long, and for nobody else
  WEIR__LOCK_IGNORES = 8, // besides the first three: what its holder does with memory is ignored (base/tsan.h)
};

// Where ThreadSanitizer watches, a free lock becomes one that has it ignore what is done while it is held. None of such a lock's
// states is one that the inline functions below take, so that they pay nothing for it.
void weir__lock_ignores(weir__lock *lock);

void weir__lock_acquire_slow(weir__lock *lock);
void weir__lock_release_slow(weir__lock *lock);

static inline bool weir__lock_try(weir__lock *lock) {
  uint32_t free_state = WEIR__LOCK_FREE;
  return atomic_load_explicit(&lock->state, memory_order_relaxed) == WEIR__LOCK_FREE &&
         atomic_compare_exchange_strong_explicit(&lock->state, &free_state, WEIR__LOCK_HELD, memory_order_acquire,
                                                 memory_order_relaxed);
}

// Whether somebody had it a moment ago.
static inline bool weir__lock_is_held(const weir__lock *lock) {
  uint32_t state = atomic_load_explicit(&lock->state, memory_order_relaxed);
  return state == WEIR__LOCK_HELD || state == WEIR__LOCK_AWAITED || state == WEIR__LOCK_STARVES;
}

static inline void weir__lock_acquire(weir__lock *lock) {
  uint32_t free_state = WEIR__LOCK_FREE;
  if (!atomic_compare_exchange_strong_explicit(&lock->state, &free_state, WEIR__LOCK_HELD, memory_order_acquire,
                                               memory_order_relaxed))
    weir__lock_acquire_slow(lock);
}

// False: somebody waits for it, and weir__lock_release_slow is to be called.
static inline bool weir__lock_release_quickly(weir__lock *lock) {
  uint32_t held = WEIR__LOCK_HELD;
  return atomic_compare_exchange_strong_explicit(&lock->state, &held, WEIR__LOCK_FREE, memory_order_release,
                                                 memory_order_relaxed);
}

static inline void weir__lock_release(weir__lock *lock) {
  if (!weir__lock_release_quickly(lock)) weir__lock_release_slow(lock);
}

static inline void weir__pause(void) {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  __asm__ volatile("yield");
#endif
}

// How many cores the process may use, asked of the system once.
uint32_t weir__core_count(void);

// The core that this thread runs on now.
uint32_t weir__current_core(void);

// Whether what a thread waits for can come while it spins: it has more than one core to itself and others.
static inline bool weir__may_spin(void) {
  return weir__core_count() > 1;
}

// Sleeps while `*word` is `expected`, until woken or `timeout_ns` is over (UINT64_MAX: no limit). Returns early now and
// then: the caller checks its condition again.
void weir__sleep_on(_Atomic uint32_t *word, uint32_t expected, uint64_t timeout_ns);

// Wakes at most `count` threads that sleep on `word`.
void weir__wake(_Atomic uint32_t *word, int count);

// A full memory barrier in every thread of the process, so that frequent counterparts need none of their own: who stores,
// calls this and loads, and who stores, calls weir__barrier_light and loads, do not both miss the other's store. Returns false
// where the system cannot do it; then weir__barrier_light is no barrier.
bool weir__barrier_heavy(void);

static inline void weir__barrier_light(void) {
  atomic_signal_fence(memory_order_seq_cst);
}

#endif // WEIR_BASE_LOCK_H
