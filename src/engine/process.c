// SPDX-License-Identifier: Apache-2.0
#include "engine/process.h"

#include <pthread.h>

#include "base/error.h"

static struct {
  weir__lock lock;
  weir_context *first;
  bool handled; // fork calls the functions below
} list;

static void lock_all(void) {
  weir__lock_acquire(&list.lock);
  for (weir_context *each = list.first; each != NULL; each = each->next_of_process)
    weir__lock_acquire(&each->host.lock);
}

static void unlock_all(void) {
  for (weir_context *each = list.first; each != NULL; each = each->next_of_process)
    weir__lock_release(&each->host.lock);
  weir__lock_release(&list.lock);
}

// Nobody waits for a lock in the child, whatever its state says.
static void free_lock(weir__lock *lock) {
  uint32_t state = atomic_load_explicit(&lock->state, memory_order_relaxed);
  atomic_store_explicit(&lock->state, state & WEIR__LOCK_IGNORES, memory_order_release);
}

static void disown_all(void) {
  while (list.first != NULL) {
    weir_context *context = list.first;
    list.first = context->next_of_process;
    context->next_of_process = NULL;
    atomic_store_explicit(&context->host.foreign, true, memory_order_relaxed);
    atomic_store_explicit(&context->host.many_buffers, true, memory_order_relaxed); // submissions look closer
    context->repeating.held = false; // who submits it may be a thread of the parent's
    free_lock(&context->host.lock);
  }
  free_lock(&list.lock);
  // The task is the parent's.
  weir__this_thread.in_task = false;
  weir__this_thread.event = NULL;
  weir__this_thread.open = NULL;
  weir__this_thread.origin = NULL;
}

void weir__process_enter(weir_context *context) {
  weir__lock_acquire(&list.lock);
  context->next_of_process = list.first;
  list.first = context;
  bool first = !list.handled;
  list.handled = true;
  weir__lock_release(&list.lock);
  if (first) (void)pthread_atfork(lock_all, unlock_all, disown_all); // without memory for it, forks are as they come
}

void weir__process_leave(weir_context *context) {
  weir__lock_acquire(&list.lock);
  weir_context **link = &list.first;
  while (*link != NULL && *link != context) link = &(*link)->next_of_process;
  if (*link != NULL) *link = context->next_of_process;
  weir__lock_release(&list.lock);
}

weir_status weir__refuse_foreign(const char *what) {
  return weir__error(WEIR_ERROR_INVALID_ARGUMENT,
                     "%s: the context is that of the process which this one was forked from; its threads are not here, "
                     "and a forked process makes a context of its own",
                     what);
}

weir_status weir__check_waiter(const weir_context *context, const char *what) {
  if (weir__this_thread.in_task) return weir__error(WEIR_ERROR_INVALID_ARGUMENT, "%s: %s", what, weir__thread_place());
  return weir__is_foreign(context) ? weir__refuse_foreign(what) : WEIR_OK;
}
