// SPDX-License-Identifier: Apache-2.0
//
// The half that all in-order devices share: devices that run ahead, with a thread of their own that puts tasks into in-order
// queues and notices what is done. Whoever submits only hands tasks over (inbox.h).
//
// The life of a task, with the functions of the table in capitals: weir__in_order_push hands it to the thread, whose WORK takes it
// from the inbox and calls weir__in_order_issue, at once or later. That finds the operations of its predecessors, decides whether
// it runs, and has it ENQUEUEd: the device chooses a queue (queues.h), makes that wait for predecessors where its order does not
// imply them, launches, and puts the operation into the queue's list. WORK also calls weir__in_order_poll, which asks the device for
// the LAST_DONE of each queue, FINISHes what may be done without the lock, takes it, and REPORTs. A device that is in trouble is
// lost: what is in flight SETTLEs and fails.
#ifndef WEIR_ISSUE_IN_ORDER_H
#define WEIR_ISSUE_IN_ORDER_H

#include <pthread.h>

#include "device/host.h"
#include "issue/fences.h"
#include "issue/inbox.h"
#include "issue/opens.h"
#include "issue/operations.h"
#include "issue/requests.h"

typedef struct weir__in_order_device weir__in_order_device;

// What is a device's own. All functions are called by its thread, without the lock unless they say otherwise; those that are
// optional may be NULL.
typedef struct weir__in_order_table {
  size_t operation_bytes; // of its own struct, which begins with a weir__operation
  // How the thread waits: so many pauses in a round that found nothing, a look at the clock every so many of those.
  uint32_t pauses, rounds_per_clock;

  // Optional: the thread begins. False: it cannot work.
  bool (*begin)(weir__in_order_device *device);
  // A round: takes and issues tasks, reports what is done. Returns whether there was anything. Where there was nothing, all that
  // was enqueued and is not deferred has been submitted.
  bool (*work)(weir__in_order_device *device);
  // Optional: there was nothing to do for `spin_ns`. Returns false if the thread may sleep, or end if it is to; else the next round
  // comes at once. May wait in the driver.
  bool (*rest)(weir__in_order_device *device);
  // Optional: the thread has announced that it sleeps, and looks once more. False: there is something to do, after all. Else
  // `*out_ns` says how long it may sleep at most; UINT64_MAX: until it is woken.
  bool (*may_sleep)(weir__in_order_device *device, uint64_t *out_ns);
  // Optional: the thread ends, with nothing in flight.
  void (*end)(weir__in_order_device *device);

  // Places the operation in a queue, behind the first `count` of `operations.places`, launches its task unless its status is not
  // WEIR_OK, and appends it to the queue's list (weir__in_order_append). What cannot be launched is refused
  // (weir__in_order_refuse), and appended all the same. False: there is no memory to keep track of it, and nothing was
  // appended; then the operation, perhaps with a place, is given up.
  bool (*enqueue)(weir__in_order_device *device, weir__operation *operation, uint32_t count);
  // Optional: gives back what an operation that is given up has of the device's.
  void (*discard)(weir__in_order_device *device, weir__operation *operation);

  // Optional: asks the driver what is done, before the queues are asked for it.
  void (*look)(weir__in_order_device *device);
  // The last operation of a queue's list that is known to be done, with all before it; NULL: none. The list is not empty.
  weir__operation *(*last_done)(weir__in_order_device *device, uint32_t queue);
  // The operation is done, and what takes time is done here.
  void (*finish)(weir__in_order_device *device, weir__operation *operation);
  // The operation's task is about to be reported, with the lock held: sets times and lane of the completion if there is a timeline,
  // and gives back what the operation has. `completion` NULL: its task is NULL, and its tasks, if it has some, are
  // reported here.
  void (*report)(weir__in_order_device *device, weir__operation *operation, weir__completion *completion);
  // Submits all that was enqueued, and waits until some of it may be done.
  void (*await)(weir__in_order_device *device);

  // The device is lost for a result of the driver's: writes what that means, and how much is in flight. The lock is held.
  void (*lose)(weir__in_order_device *device, uint32_t trouble, char text[WEIR__MESSAGE_BYTES]);
  // It is lost: waits until nothing of what is in flight runs any more.
  void (*drain)(weir__in_order_device *device);

  // For devices whose fences stall: whether the caller's work is done; a device that is lost says yes. Called with the fences' lock
  // held.
  bool (*fence_is_over)(void *device, weir__external_fence *fence);
  // Optional: gives back a fence whose task is reported, or an import, in place of weir__free. With the context's lock
  // or without.
  void (*fence_destroy)(weir__in_order_device *device, weir__external_fence *fence);
} weir__in_order_table;

struct weir__in_order_device {
  weir_device device;
  const weir__in_order_table *table;
  weir__inbox inbox;
  weir__fences fences; // that stall
  weir__opens opens;   // of a device with open tasks
  weir__device_requests requests;
  _Atomic uint32_t
      trouble; // not 0: a result of the driver's for which the device is lost, as any of its threads saw it
  _Atomic bool has_failing; // some task was marked as failing: what comes after it may be, once it is launched
  _Atomic uint32_t started; // of the thread
  alignas(64) pthread_t thread;
  bool has_thread;
  // Of the thread alone.
  bool hurries;         // it sleeps, or rests, as soon as a round found nothing; set by `work`
  bool slept;           // before this round; whoever looks clears it
  uint64_t spin_ns;     // before it rests or sleeps
  uint64_t reported_ns; // when reports took the lock last
  uint64_t taken_ns;    // when `work` took tasks last
  uint32_t queue_count, next_polled;
  weir__queues *queues;            // their choice
  weir__operation_list *in_flight; // per queue
  uint32_t operation_count;        // in flight
  weir__operations operations;
  weir_status lost; // not WEIR_OK: the device is dead, and why
  char lost_text[WEIR__MESSAGE_BYTES];
};

static inline weir__in_order_device *weir__in_order_of(weir_device *device) {
  return (weir__in_order_device *)(void *)device;
}

// ---------------------------------------------------------------------------------------------------------------
// in_order.c: the device, whose `device` and `table` are set, and all else is zero.

// With `queue_count` queues, of which the last `special` are only used by tasks that ask for them. False: no memory.
bool weir__in_order_initialize(weir__in_order_device *device, uint32_t queue_count, uint32_t special);
// The same with room for `more` queues, which come later, behind the others, for tasks that ask for them: by its thread.
bool weir__in_order_initialize_wide(weir__in_order_device *device, uint32_t queue_count, uint32_t special,
                                    uint32_t more);
void weir__in_order_widen(weir__in_order_device *device, uint32_t more);
// The thread has ended, or never began.
void weir__in_order_deinitialize(weir__in_order_device *device);

// Begins and ends the thread. When it ends all tasks are done.
weir_status weir__in_order_start(weir__in_order_device *device);
void weir__in_order_stop(weir__in_order_device *device);

// Functions of the device's table (device.h): `issue`, `flush`, `prewake`, `stall`.
void weir__in_order_push(weir_device *device, weir__task *task);
void weir__in_order_flush(weir_device *device);
void weir__in_order_prewake(weir_device *device);
void weir__in_order_stall(weir_device *device, weir__external_fence *fence);

// ---------------------------------------------------------------------------------------------------------------
// in_order_issue.c: by the thread.

// Puts a task into a queue, or reports it as failed for want of memory, and returns NULL.
weir__operation *weir__in_order_issue(weir__in_order_device *device, weir__task *task);
// There is no memory to keep track of the task: it is reported as failed once all that is in flight is done. `operation` (may be
// NULL) is given up.
void weir__in_order_fail(weir__in_order_device *device, weir__operation *operation, weir__task *task);

static inline weir__operation *weir__in_order_find(const weir__in_order_device *device, weir__id id) {
  return weir__operations_find(&device->operations, &device->device.host->window, id);
}

// Puts a placed operation, and that of the task, behind the others of its queue.
void weir__in_order_append(weir__in_order_device *device, weir__operation *operation);

// Whether what the operation's task should have written is missing. A copy back that is skipped has lost nothing.
static inline bool weir__in_order_is_missed(const weir__operation *operation) {
  return operation->status != WEIR_OK && !(operation->task->move != NULL && operation->task->move->write_back);
}

// A task will not end well: who reads what it should have written must know before that is launched. Any thread of the
// device's, as the next.
void weir__in_order_mark_failing(weir__in_order_device *device, weir__task *task);
// Nothing can be launched for the operation, whose task fails: "launch: TEXT".
void weir__in_order_refuse(weir__in_order_device *device, weir__operation *operation, weir_status status,
                           const char *what, const char *text);

// ---------------------------------------------------------------------------------------------------------------
// in_order_complete.c: by the thread, unless said otherwise.

// Reports what is done: of all queues, or of one of them in turn. Returns whether anything was.
bool weir__in_order_poll(weir__in_order_device *device, bool all);
// Whether reports may take the context's lock now. False: tasks come in, and reports did so a moment ago. The lock, and all that it
// guards, comes from the core of the thread that submits, which must fetch it again: so there are few reports, each of many tasks,
// at most 10 us apart, or 2 us where somebody waits.
bool weir__in_order_may_report(weir__in_order_device *device);
// Reports a queue's operations up to this one, which are done.
void weir__in_order_report_up_to(weir__in_order_device *device, uint32_t queue, const weir__operation *last);
// Lets tasks go on whose fences are over, and reports imports. Returns whether there were any.
bool weir__in_order_serve_fences(weir__in_order_device *device);
// Waits for all that is in flight, and reports it; or for what is in one queue.
void weir__in_order_drain(weir__in_order_device *device);
void weir__in_order_drain_queue(weir__in_order_device *device, uint32_t queue);

// The driver failed for good: the thread will lose the device. Any thread of the device's.
static inline void weir__in_order_trouble(weir__in_order_device *device, uint32_t result) {
  uint32_t none = 0;
  atomic_compare_exchange_strong_explicit(&device->trouble, &none, result, memory_order_acq_rel, memory_order_relaxed);
}
void weir__in_order_lose(weir__in_order_device *device, uint32_t trouble);
// Whether the device is not lost: it is after trouble.
static inline bool weir__in_order_is_well(weir__in_order_device *device) {
  uint32_t trouble = atomic_load_explicit(&device->trouble, memory_order_acquire);
  if (trouble != 0 && device->lost == WEIR_OK) weir__in_order_lose(device, trouble);
  return device->lost == WEIR_OK;
}
// Reports what is in flight on a device that is lost. Returns whether there was anything.
bool weir__in_order_report_lost(weir__in_order_device *device);

// Not earlier than the task was submitted, and ended not before it started. There is a timeline.
void weir__in_order_set_times(const weir__in_order_device *device, const weir__task *task, uint64_t start_ns,
                              uint64_t end_ns, weir__completion *completion);

void weir__in_order_fence_destroy(weir__in_order_device *device, weir__external_fence *fence);
// Gives back imports that are left when the thread has ended.
void weir__in_order_forget_fences(weir__in_order_device *device);

#endif // WEIR_ISSUE_IN_ORDER_H
