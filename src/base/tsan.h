// SPDX-License-Identifier: Apache-2.0
//
// What ThreadSanitizer is told where a program was built with it and the library was not (docs/inside/thread-sanitizer.md).
//
// ThreadSanitizer sees the program's accesses, and no atomic operation of this library's. So it is told each order that
// Weir promises, by sync points, and it is kept from taking others for granted: each function of the caller's runs in a
// fiber of ThreadSanitizer's, with a stack of its own, which it takes for a thread that nobody waits for. What the library
// itself does with memory is ignored.
#ifndef WEIR_BASE_TSAN_H
#define WEIR_BASE_TSAN_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

extern _Atomic bool weir__tsan_is_on;

// Whether ThreadSanitizer watches the program; what follows does nothing if it does not. It is always off in a library that
// was built with ThreadSanitizer itself, which then sees everything.
static inline bool weir__tsan_on(void) {
  return __builtin_expect(atomic_load_explicit(&weir__tsan_is_on, memory_order_relaxed), false);
}

// Looks for ThreadSanitizer in the process, the first time. The environment variable WEIR_TSAN=0 keeps it off.
void weir__tsan_find(void);

// A point in the program's order, or several. An address is all there is to it.
typedef char weir__point;

// All that was before a release of a point comes before what follows its acquisition, in ThreadSanitizer's eyes.
void weir__tsan_acquire(weir__point *point);
void weir__tsan_release(weir__point *point);

// The calling thread reads or writes bytes of the caller's.
void weir__tsan_access(const void *memory, uint64_t bytes, bool writes);

// ThreadSanitizer ignores the calling thread's accesses from weir__tsan_ignore to weir__tsan_heed. Pairs nest.
void weir__tsan_ignore(void);
void weir__tsan_heed(void);

// Calls a function in a fiber. On another stack.
void weir__tsan_call(void (*function)(void *argument), void *argument);

// The same for a function that only acquires and releases, on this stack.
void weir__tsan_note(void (*function)(void *argument), void *argument);

// A thread of the library's, as pthread_create makes it.
int weir__thread_create(pthread_t *out_thread, void *(*main)(void *argument), void *argument);

// ---------------------------------------------------------------------------------------------------------------

// Points that a task has, or several tasks together, counted by those who will acquire or release them. Who holds the context's
// lock counts.
typedef struct weir__sync {
  uint32_t references;
  weir__point start; // released by who submits the task, acquired where it starts
  weir__point end;   // released where it ends, acquired by who comes after it
  weir__point told;  // released by who attaches a callback and where one ends, acquired where one starts
  uint64_t acquired_in, released_in; // the list that has it already
  uint64_t passed_in;                // the end that has looked at it already
  struct weir__watched *unfinished;  // its task, from admission to completion; NULL: none
} weir__sync;

// NULL: no memory, and an order that ThreadSanitizer does not learn of.
weir__sync *weir__sync_create(void);
void weir__sync_drop(weir__sync *sync);

static inline weir__sync *weir__sync_hold(weir__sync *sync) {
  if (sync != NULL) sync->references++;
  return sync;
}

#endif // WEIR_BASE_TSAN_H
