// SPDX-License-Identifier: Apache-2.0
//
// The threads of a pipeline: how they find items, and how they sleep.
#include "base/clock.h"
#include "pipeline/pipeline.h"

enum {
  SPIN_ROUNDS = 200, // looks for items before sleeping, some microseconds, where items come so fast;
  FEW_ROUNDS = 10,   // elsewhere a core is worth more
  SOON_NS = 8000,    // a sleep that was as short should have been spent looking
  POLL_NS = 100000,  // a sleeper looks after devices without threads this often
  QUICK_ROUNDS = 40, // of watching others, about a microsecond,
  QUICK_TOKENS = 4,  // who are quick if so many tokens begin meanwhile
  WATCH_NS = 50000,  // who leaves the items to quick others looks again this often
  LOOKOUTS = 2,      // where a device has cores for those who wait for it
  SECOND_NS = 50000, // the second is for where items come fast only
  PAUSES_PER_CLOCK = 64,
};

_Thread_local weir__pipeline_thread *weir__pipeline_thread_now;

static void wake_one(weir_pipeline *pipeline) {
  atomic_fetch_add_explicit(&pipeline->epoch, 1, memory_order_seq_cst);
  weir__wake(&pipeline->epoch, 1);
}

// Makes an item ready. True: somebody must be woken for it.
static bool make_ready(weir_pipeline *pipeline, uint32_t item) {
  atomic_fetch_or_explicit(&pipeline->ready, 1ull << item, memory_order_seq_cst);
  return atomic_load_explicit(&pipeline->sleepers, memory_order_seq_cst) > 0 &&
         atomic_load_explicit(&pipeline->spinning, memory_order_seq_cst) == 0;
}

void weir__pipeline_publish(weir_pipeline *pipeline, uint32_t item) {
  if (make_ready(pipeline, item)) wake_one(pipeline);
}

void weir__pipeline_publish_held(weir_pipeline *pipeline, uint32_t item) {
  if (!make_ready(pipeline, item)) return;
  atomic_fetch_add_explicit(&pipeline->epoch, 1, memory_order_seq_cst);
  weir__host_wake(&pipeline->context->host, &pipeline->epoch);
}

void weir__pipeline_prewake(weir_pipeline *pipeline) {
  if (!pipeline->looks_out) return;
  atomic_fetch_add_explicit(&pipeline->epoch, 1, memory_order_seq_cst);
  weir__wake(&pipeline->epoch, LOOKOUTS);
  // Without the lock: only devices that are listed stay as they are.
  for (uint32_t i = 0; i < pipeline->context->devices.listed_count; i++) {
    weir_device *device = pipeline->context->host.devices[i];
    if (device->ops->prewake != NULL) device->ops->prewake(device);
  }
}

// Takes an item, in turns over all of them, so that none is left behind.
static uint32_t take(weir_pipeline *pipeline, weir__pipeline_thread *thread) {
  uint64_t ready = atomic_load_explicit(&pipeline->ready, memory_order_relaxed);
  while (ready != 0) {
    uint64_t behind = ready & (UINT64_MAX << thread->start);
    uint32_t item = (uint32_t)__builtin_ctzll(behind != 0 ? behind : ready);
    uint64_t rest = ready & ~(1ull << item);
    if (!atomic_compare_exchange_weak_explicit(&pipeline->ready, &ready, rest, memory_order_acq_rel,
                                               memory_order_relaxed))
      continue;
    thread->start = (item + 1) % 64;
    if (pipeline->context->host.seed != 0) thread->start = weir__random_next(&thread->random) % 64;
    // Who published the others may have counted on this thread, which is busy now.
    if (rest != 0 && atomic_load_explicit(&pipeline->sleepers, memory_order_relaxed) > 0 &&
        atomic_load_explicit(&pipeline->lookouts, memory_order_seq_cst) == 0)
      wake_one(pipeline);
    return item;
  }
  return WEIR__ITEM_NONE;
}

// Makes progress on devices without threads. False: none could make any.
static bool make_progress(weir_pipeline *pipeline) {
  weir_context *context = pipeline->context;
  if (!context->devices.polled || atomic_load_explicit(&pipeline->running, memory_order_relaxed) == 0) return false;
  bool any = false;
  weir__context_lock(context);
  for (uint32_t i = 0; i < context->host.device_count; i++) {
    weir_device *device = context->host.devices[i];
    if (device->ops->polled != NULL && device->ops->polled->progress(device)) any = true;
  }
  if (any) weir__host_completed(&context->host);
  weir__context_unlock(context);
  return any;
}

static bool is_there_something(const weir_pipeline *pipeline) {
  return atomic_load_explicit(&pipeline->ready, memory_order_seq_cst) != 0 ||
         atomic_load_explicit(&pipeline->quit, memory_order_seq_cst);
}

static bool spin(weir_pipeline *pipeline, uint32_t rounds) {
  atomic_fetch_add_explicit(&pipeline->spinning, 1, memory_order_seq_cst);
  bool found = false;
  for (uint32_t round = 0; round < rounds && !found; round++) {
    weir__pause();
    found = atomic_load_explicit(&pipeline->ready, memory_order_relaxed) != 0;
  }
  atomic_fetch_sub_explicit(&pipeline->spinning, 1, memory_order_seq_cst);
  return found;
}

// Looks for items as long as who waits for the context's devices spins, since waking a thread takes longer than many a job: a
// thread, or two where items come fast, as one of them works while the next item comes. False: there are enough of them, or there
// was no item. Nor is there one for this thread where tokens begin so fast that they are left to others.
static bool look_out(weir_pipeline *pipeline) {
  if (!pipeline->looks_out || atomic_load_explicit(&pipeline->running, memory_order_relaxed) == 0) return false;
  bool found = false;
  atomic_fetch_add_explicit(&pipeline->spinning, 1, memory_order_seq_cst);
  uint32_t others = atomic_fetch_add_explicit(&pipeline->lookouts, 1, memory_order_seq_cst);
  if (others < LOOKOUTS) {
    uint64_t begun = 0, end_ns = 0, now_ns = 0;
    for (uint32_t round = 0; !found && now_ns <= end_ns; round++) {
      found = atomic_load_explicit(&pipeline->ready, memory_order_relaxed) != 0;
      if (!found) weir__pause();
      if (round % PAUSES_PER_CLOCK != 0) continue;
      if (atomic_load_explicit(&pipeline->quit, memory_order_relaxed)) break;
      begun = atomic_load_explicit(&pipeline->next_number, memory_order_relaxed);
      now_ns = weir__clock_ns();
      if (end_ns == 0) end_ns = now_ns + (others == 0 ? pipeline->context->host.spin_ns : SECOND_NS);
    }
    bool quick = pipeline->thread_count > 1 && !atomic_load_explicit(&pipeline->waits, memory_order_relaxed) &&
                 atomic_load_explicit(&pipeline->next_number, memory_order_relaxed) - begun >= QUICK_TOKENS;
    found = found && !quick;
  }
  atomic_fetch_sub_explicit(&pipeline->lookouts, 1, memory_order_seq_cst);
  atomic_fetch_sub_explicit(&pipeline->spinning, 1, memory_order_seq_cst);
  return found;
}

// Whether tokens begin so fast that handing their data to another core would take longer than the stages do. Then items are left
// to the threads that have them.
static bool others_are_quick(const weir_pipeline *pipeline) {
  if (pipeline->thread_count == 1 || pipeline->context->host.seed != 0) return false;
  // Tokens that come back from a device together begin together, but that is soon over.
  if (pipeline->looks_out && atomic_load_explicit(&pipeline->waits, memory_order_relaxed)) return false;
  if (atomic_load_explicit(&pipeline->ready, memory_order_relaxed) == 0) return false;
  uint64_t before = atomic_load_explicit(&pipeline->next_number, memory_order_relaxed);
  for (int round = 0; round < QUICK_ROUNDS; round++) weir__pause();
  return atomic_load_explicit(&pipeline->next_number, memory_order_relaxed) - before >= QUICK_TOKENS;
}

// Rests for a short time, as one who spins: nobody is woken meanwhile.
static void watch(weir_pipeline *pipeline) {
  uint32_t epoch = atomic_load_explicit(&pipeline->epoch, memory_order_seq_cst);
  atomic_fetch_add_explicit(&pipeline->spinning, 1, memory_order_seq_cst);
  weir__sleep_on(&pipeline->epoch, epoch, WATCH_NS);
  atomic_fetch_sub_explicit(&pipeline->spinning, 1, memory_order_seq_cst);
}

static void sleep_for_items(weir_pipeline *pipeline, weir__pipeline_thread *thread) {
  bool polls = pipeline->context->devices.polled && atomic_load_explicit(&pipeline->running, memory_order_relaxed) != 0;
  uint32_t epoch = atomic_load_explicit(&pipeline->epoch, memory_order_seq_cst);
  atomic_fetch_add_explicit(&pipeline->sleepers, 1, memory_order_seq_cst);
  if (!is_there_something(pipeline)) {
    uint64_t start = weir__clock_ns();
    weir__sleep_on(&pipeline->epoch, epoch, polls ? POLL_NS : UINT64_MAX);
    thread->spin_rounds = weir__clock_ns() - start < SOON_NS ? SPIN_ROUNDS : FEW_ROUNDS;
  }
  atomic_fetch_sub_explicit(&pipeline->sleepers, 1, memory_order_seq_cst);
}

void *weir__pipeline_thread_main(void *argument) {
  weir__pipeline_thread *thread = argument;
  weir_pipeline *pipeline = thread->pipeline;
  weir__pipeline_thread_now = thread;
  bool idle = true;
  thread->spin_rounds = FEW_ROUNDS;
  for (;;) {
    if (idle && others_are_quick(pipeline)) {
      watch(pipeline);
      continue;
    }
    uint32_t item = take(pipeline, thread);
    idle = item == WEIR__ITEM_NONE;
    if (!idle) {
      weir__pipeline_work(pipeline, thread, item);
    } else if (atomic_load_explicit(&pipeline->quit, memory_order_acquire)) {
      return NULL;
    } else if (!make_progress(pipeline)) {
      idle = !look_out(pipeline);
      if (idle && !spin(pipeline, thread->spin_rounds)) sleep_for_items(pipeline, thread);
    }
  }
}

void weir__pipeline_flush(weir_pipeline *pipeline) {
  weir_context *context = pipeline->context;
  if (!context->devices.flushes) return;
  weir__context_lock(context);
  weir__context_flush(context);
  weir__context_unlock(context);
}
