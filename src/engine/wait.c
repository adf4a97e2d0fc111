// SPDX-License-Identifier: Apache-2.0
//
// Waiting for tasks.
#include <sched.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "engine/external.h"
#include "engine/family.h"
#include "engine/process.h"
#include "engine/profile.h"
#include "engine/watch.h"
#include "window/commute.h"

// A context with devices that have no threads looks after them this often while it waits for other devices.
// Who waits for a result spins for about as long as it takes to wake a thread up on an idle core; who waits for room to submit
// more, while workers are busy, does so briefly.
// A thread that waits until a deadline tries to submit what is held back each SETTLE_NS.
enum { SPINS_AT_ONCE = 50, POLL_NS = 100000, SPIN_NS = 50000, BRIEF_SPIN_NS = 4000, SETTLE_NS = 1000000 };

static void add_waiter(weir_context *context, weir__waiter *waiter) {
  waiter->next = context->waiting.first;
  context->waiting.first = waiter;
  if (waiter->target < context->waiting.wake_at) context->waiting.wake_at = waiter->target;
}

static void remove_waiter(weir_context *context, weir__waiter *waiter) {
  for (weir__waiter **link = &context->waiting.first; *link != NULL; link = &(*link)->next) {
    if (*link == waiter) {
      *link = waiter->next;
      return;
    }
  }
}

// Makes progress on devices without threads. False: none could make any.
static bool progress(weir_context *context) {
  bool any = false;
  for (uint32_t i = 0; i < context->host.device_count; i++) {
    weir_device *device = context->host.devices[i];
    if (device->ops->polled != NULL && device->ops->polled->progress(device)) any = true;
  }
  if (any) weir__host_completed(&context->host);
  return any;
}

// Whether this thread keeps a worker that is awake from its core.
static bool is_in_the_way(const weir_context *context) {
  return atomic_load_explicit(&context->host.worker_cores, memory_order_relaxed) >> weir__current_core() % 64 & 1;
}

// The same of the only worker that is awake: nothing is done while this thread spins.
static bool keeps_all_waiting(const weir_context *context) {
  uint32_t core = weir__current_core();
  return atomic_load_explicit(&context->host.worker_cores, memory_order_relaxed) == (uint64_t)1 << core % 64 &&
         atomic_load_explicit(&context->host.worker_core, memory_order_relaxed) == core;
}

// The first part of every wait, as waking up takes longer than most of what is waited for: spins while the word is `value`,
// for `longest_ns` and until the deadline (0: none) at most. False: it is `value` still.
static bool spin_while(const weir_context *context, const _Atomic uint32_t *word, uint32_t value, uint64_t longest_ns,
                       uint64_t deadline_ns) {
  uint64_t start = 0;
  if (keeps_all_waiting(context)) return false;
  if (longest_ns < context->host.spin_ns) longest_ns = context->host.spin_ns;
  while (weir__may_spin()) {
    for (int i = 0; i < SPINS_AT_ONCE; i++) {
      if (atomic_load_explicit(word, memory_order_acquire) != value) return true;
      weir__pause();
    }
    uint64_t now = weir__clock_ns();
    if (start == 0) start = now;
    if (now - start >= longest_ns || (deadline_ns != 0 && now >= deadline_ns) || is_in_the_way(context)) break;
  }
  return false;
}

static void begin_wait(weir_context *context) {
  atomic_fetch_add_explicit(&context->host.waiters, 1, memory_order_relaxed);
}

static void end_wait(weir_context *context) {
  atomic_fetch_sub_explicit(&context->host.waiters, 1, memory_order_relaxed);
}

// Sleeps until the waiter's word is 1 or the deadline (0: none) has passed. Spins for `spin_ns` first.
static void sleep_until(const weir_context *context, weir__waiter *waiter, uint64_t spin_ns, uint64_t deadline_ns) {
  if (spin_while(context, &waiter->word, 0, spin_ns, deadline_ns)) return;
  uint32_t spinning = 0;
  if (!atomic_compare_exchange_strong_explicit(&waiter->word, &spinning, 2, memory_order_acq_rel, memory_order_acquire))
    return;
  while (atomic_load_explicit(&waiter->word, memory_order_acquire) != 1) {
    uint64_t left = UINT64_MAX;
    if (deadline_ns != 0) {
      uint64_t now = weir__clock_ns();
      if (now >= deadline_ns) return;
      left = deadline_ns - now;
    }
    weir__sleep_on(&waiter->word, 2, left);
  }
}

uint64_t weir__deadline_after(uint64_t timeout_ns) {
  if (timeout_ns == WEIR_FOREVER) return 0;
  uint64_t now = weir__clock_ns();
  return timeout_ns > UINT64_MAX - 1 - now ? 0 : now + timeout_ns;
}

uint64_t weir__left_until(uint64_t deadline_ns) {
  if (deadline_ns == 0) return WEIR_FOREVER;
  uint64_t now = weir__clock_ns();
  return deadline_ns > now ? deadline_ns - now : 0;
}

void weir__context_flush(weir_context *context) {
  for (uint32_t i = 0; i < context->host.device_count; i++) {
    if (context->host.devices[i]->ops->flush != NULL) context->host.devices[i]->ops->flush(context->host.devices[i]);
  }
}

// Who makes progress calls the callbacks at once: what they submit comes before what happens later.
static void call_what_is_due(weir_context *context) {
  if (!context->host.notices.due || (context->host.notices.calling && !(context->host.notices.due & WEIR__DUE_QUEUE)))
    return;
  weir__context_unlock(context);
  weir__context_lock_again(context);
}

static bool wait_for(weir_context *context, weir__id target, uint64_t spin_ns, uint64_t timeout_ns) {
  if (context->host.window.live.oldest >= target) return true;
  uint64_t deadline = weir__deadline_after(timeout_ns);
  bool in_time = true;
  while (context->host.window.live.oldest < target) {
    if (context->devices.polled && progress(context)) {
      call_what_is_due(context);
      continue;
    }
    in_time = deadline == 0 || weir__clock_ns() < deadline;
    if (!in_time) break;
    weir__waiter waiter = {.target = target};
    add_waiter(context, &waiter);
    bool polled = context->devices.polled;
    begin_wait(context);
    weir__context_unlock(context);
    sleep_until(context, &waiter, spin_ns, polled ? weir__clock_ns() + POLL_NS : deadline);
    end_wait(context);
    weir__context_lock_again(context);
    remove_waiter(context, &waiter);
  }
  return in_time;
}

bool weir__context_wait(weir_context *context, weir__id target, uint64_t timeout_ns) {
  return wait_for(context, target, BRIEF_SPIN_NS, timeout_ns);
}

bool weir__context_wait_on(weir_context *context, weir__waiter *waiter, uint64_t deadline_ns) {
  while (atomic_load_explicit(&waiter->word, memory_order_acquire) != 1) {
    if (deadline_ns != 0 && weir__clock_ns() >= deadline_ns) return false;
    if (context->devices.polled && progress(context)) {
      weir__context_unlock(context);
      weir__context_lock_again(context);
      continue;
    }
    bool polled = context->devices.polled;
    begin_wait(context);
    weir__context_unlock(context);
    sleep_until(context, waiter, BRIEF_SPIN_NS, polled ? weir__clock_ns() + POLL_NS : deadline_ns);
    end_wait(context);
    weir__context_lock_again(context);
    uint32_t slept = 2;
    atomic_compare_exchange_strong_explicit(&waiter->word, &slept, 0, memory_order_relaxed, memory_order_relaxed);
  }
  return true;
}

// Sleeps without the lock for a while.
static void rest(weir_context *context, uint64_t ns) {
  _Atomic uint32_t nobody = 0;
  weir__context_unlock(context);
  weir__sleep_on(&nobody, 0, ns);
  weir__context_lock_again(context);
}

// Waits until what was held back is submitted: mostly a slot of the window has to come free. The lock is held before and after.
// False: not until the deadline.
static bool await_submitted(weir_context *context, uint64_t deadline_ns) {
  for (;;) {
    bool submitted = !context->repeating.held || context->repeating.settle(context, false);
    weir__context_flush(context);
    if (submitted) return true;
    uint64_t left = weir__left_until(deadline_ns);
    if (left == 0) return false;
    if (context->devices.polled && progress(context))
      call_what_is_due(context);
    else
      rest(context, left < SETTLE_NS ? left : SETTLE_NS);
  }
}

static weir_status report_failure(weir_context *context) {
  weir_status status = context->failure.status;
  if (status == WEIR_OK) return WEIR_OK;
  context->failure.status = WEIR_OK;
  return weir__error_of_task(status, context->failure.task, "%s", context->failure.text);
}

// The oldest task that is not done waits for no other.
static weir_status time_is_over(const weir_context *context) {
  if (weir__window_empty(&context->host.window))
    return weir__error(WEIR_TIMEOUT, "finish: the time is over; tasks that were held back could not be submitted yet");
  char oldest[WEIR__MESSAGE_BYTES];
  const weir__task *task = weir__window_task(&context->host.window, context->host.window.live.oldest);
  weir__context_describe(context, task, oldest);
  const char *awaited = weir__externals_awaited(context, task->id);
  return weir__error(WEIR_TIMEOUT, "finish: the time is over; the oldest task that is not done is %s%s%s%s", oldest,
                     task->commutes == WEIR__STAYS_OPEN ? ", which was begun and has not been ended" : "",
                     awaited != NULL ? ", which waits for " : "", awaited != NULL ? awaited : "");
}

// The time of the first device. The lock is held.
static uint64_t time_now(const weir_context *context) {
  return context->host.devices[0]->ops->time(context->host.devices[0]);
}

uint64_t weir__host_wait_begin(weir_context *context) {
  if (context->host.trace == NULL) return 0;
  weir__context_lock_again(context);
  uint64_t now = time_now(context);
  weir__context_unlock(context);
  return now;
}

// The lock is held.
static void note_wait(weir_context *context, weir__trace_cause cause, weir__id task, bool reached, uint64_t start_ns) {
  weir__trace_add_host_wait(context->host.trace, &(weir__trace_host_wait){.cause = cause,
                                                                          .reached = reached,
                                                                          .task = task,
                                                                          .after = context->host.window.next - 1,
                                                                          .thread = (uint64_t)gettid(),
                                                                          .start_ns = start_ns,
                                                                          .end_ns = time_now(context)});
}

bool weir__submission_wait(weir_context *context, weir__trace_cause cause, weir__id target, uint64_t timeout_ns) {
  if (context->host.trace == NULL) return weir__context_wait(context, target, timeout_ns);
  uint64_t start_ns = time_now(context);
  bool reached = weir__context_wait(context, target, timeout_ns);
  note_wait(context, cause, 0, reached, start_ns);
  return reached;
}

void weir__host_wait_end(weir_context *context, weir__trace_cause cause, weir__id task, bool reached,
                         uint64_t start_ns) {
  if (context->host.trace == NULL) return;
  weir__context_lock_again(context);
  note_wait(context, cause, task, reached, start_ns);
  weir__context_unlock(context);
}

// Waits until what was noted of tasks so far is delivered. The lock is held before and after. False: not until the deadline.
static bool await_profile(weir_context *context, uint64_t deadline_ns) {
  while (context->profile->delivers || context->profile->noted.count > 0) {
    if (deadline_ns != 0 && weir__clock_ns() >= deadline_ns) return false;
    weir__context_unlock(context); // which delivers, unless another thread does
    sched_yield();
    weir__context_lock_again(context);
  }
  return true;
}

weir_status weir_finish_for(weir_context *context, uint64_t timeout_ns) {
  if (context == NULL) return weir__error(WEIR_ERROR_INVALID_ARGUMENT, "finish: the context is NULL");
  weir_status status = weir__check_waiter(context, "finish");
  if (status != WEIR_OK) return status;
  uint64_t deadline = weir__deadline_after(timeout_ns), start_ns = weir__host_wait_begin(context);
  bool submitted = weir__context_lock_until(context, deadline);
  weir__context_flush(context);
  if (!submitted) submitted = await_submitted(context, deadline);
  weir__id target = context->host.window.next;
  bool done = submitted && wait_for(context, target, SPIN_NS, weir__left_until(deadline));
  status = done ? WEIR_OK : time_is_over(context);
  if (done && !weir__family_wait(context, NULL, target, deadline))
    status = weir__error(WEIR_TIMEOUT, "finish: the time is over; all tasks are done, but not a launch of a graph, or "
                                       "what tasks submitted");
  bool reached = status == WEIR_OK;
  if (reached && context->profile != NULL && !await_profile(context, deadline)) {
    status =
        weir__error(WEIR_TIMEOUT, "finish: the time is over; all tasks are done, but a profile is not delivered yet");
    reached = false;
  }
  if (reached) weir__watch_acquire_all(context);
  if (reached) status = report_failure(context);
  weir__context_unlock(context);
  weir__host_wait_end(context, WEIR__TRACE_FINISH, 0, reached, start_ns);
  return status;
}

weir_status weir_finish(weir_context *context) {
  return weir_finish_for(context, WEIR_FOREVER);
}

// True: the event may be done now.
static bool poll_devices(weir_event *event) {
  weir_context *context = event->object.context;
  weir__context_lock_at_once(context);
  bool any = atomic_load_explicit(&event->status, memory_order_acquire) != WEIR_PENDING || progress(context);
  weir__context_unlock(context);
  return any;
}

// Submits what is held back, with a deadline only as much of it as need not wait, and has devices begin. The event that the caller
// waits for needs none of it. False: some is held back still.
static bool flush_until(weir_context *context, uint64_t deadline_ns) {
  bool submitted = weir__context_lock_until(context, deadline_ns);
  weir__context_flush(context);
  weir__context_unlock(context);
  return submitted;
}

weir_status weir__event_await(weir_event *event, uint64_t timeout_ns) {
  weir_status status = (weir_status)atomic_load_explicit(&event->status, memory_order_acquire);
  if (status != WEIR_PENDING) {
    weir__watch_acquire(event->sync);
    return status;
  }
  weir_context *context = event->object.context;
  status = weir__check_waiter(context, "event wait");
  if (status != WEIR_OK) return status;
  uint64_t deadline = weir__deadline_after(timeout_ns);
  bool submitted = true;
  if (context->devices.flushes || atomic_load_explicit(&context->host.held, memory_order_relaxed) > 0)
    submitted = flush_until(context, deadline);
  begin_wait(context);
  if (!context->devices.polled) spin_while(context, &event->status, WEIR_PENDING, SPIN_NS, deadline);
  atomic_fetch_add_explicit(&event->sleepers, 1, memory_order_seq_cst);
  while ((status = (weir_status)atomic_load_explicit(&event->status, memory_order_seq_cst)) == WEIR_PENDING) {
    if (context->devices.polled && poll_devices(event)) continue;
    uint64_t left = context->devices.polled ? POLL_NS : submitted ? UINT64_MAX : SETTLE_NS;
    if (deadline != 0) {
      uint64_t now = weir__clock_ns();
      if (now >= deadline) break;
      if (deadline - now < left) left = deadline - now;
    }
    weir__sleep_on(&event->status, WEIR_PENDING, left);
    if (!submitted) submitted = flush_until(context, deadline);
  }
  atomic_fetch_sub_explicit(&event->sleepers, 1, memory_order_relaxed);
  end_wait(context);
  if (status == WEIR_PENDING) return WEIR_TIMEOUT;
  weir__watch_acquire(event->sync);
  return status;
}
