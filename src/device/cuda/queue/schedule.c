// SPDX-License-Identifier: Apache-2.0
#include "device/cuda/queue/schedule.h"

#include "base/clock.h"

enum {
  // Guesses. Calls take longer where several threads make them.
  LAUNCH_NS = 5000,
  WAIT_NS = 500, // a call that has a queue wait for another one
  KERNEL_NS = 3000,
  CROSS_NS = 1000,   // from the end of a kernel until another queue has seen it
  CALL_LAUNCHES = 3, // of an enqueue function
};

// When an op would be launched, and begin, in a queue.
typedef struct guess {
  uint64_t launched_ns, start_ns;
  bool follows; // one that it comes after is in the same queue
} guess;

static uint64_t launches_of(const weir__task *task) {
  const weir__cuda_kernel *kernel = task->code;
  return kernel->head.enqueue != NULL ? CALL_LAUNCHES : kernel->count;
}

static uint64_t later(uint64_t a, uint64_t b) {
  return a > b ? a : b;
}

// A launcher makes its calls in order, and cannot have a queue wait for what is not launched yet.
static guess guess_for(const weir__cuda_device *device, uint32_t queue, uint64_t launch_ns, uint64_t now_ns,
                       uint32_t count) {
  uint32_t launcher = queue % device->launcher_count;
  uint64_t begin = later(device->launcher_free_ns[launcher], now_ns), waits = 0, ready = 0;
  guess result = {0};
  for (uint32_t i = 0; i < count; i++) {
    const weir__cuda_op *before = device->base.operations.places[i]->user;
    bool same = device->base.operations.places[i]->queue == queue;
    ready = later(ready, before->done_ns + (same ? 0 : CROSS_NS));
    if (!same) begin = later(begin, before->launched_ns);
    waits += !same;
    result.follows = result.follows || same;
  }
  result.launched_ns = begin + waits * WAIT_NS + launch_ns;
  result.start_ns = later(later(result.launched_ns, ready), device->streams[queue].free_ns);
  return result;
}

static bool is_better(const guess *a, const guess *b) {
  if (a->start_ns != b->start_ns) return a->start_ns < b->start_ns;
  if (a->launched_ns != b->launched_ns) return a->launched_ns < b->launched_ns;
  return a->follows && !b->follows;
}

uint32_t weir__cuda_schedule(weir__cuda_device *device, weir__cuda_op *op, const weir__task *task, uint32_t count) {
  uint64_t launches = launches_of(task), now = weir__clock_ns();
  guess best = guess_for(device, 0, launches * LAUNCH_NS, now, count);
  uint32_t queue = 0;
  for (uint32_t i = 1; i < weir__cuda_scheduled_queues(device); i++) {
    guess other = guess_for(device, i, launches * LAUNCH_NS, now, count);
    if (!is_better(&other, &best)) continue;
    best = other;
    queue = i;
  }
  device->launcher_free_ns[queue % device->launcher_count] = op->launched_ns = best.launched_ns;
  device->streams[queue].free_ns = op->done_ns = best.start_ns + launches * KERNEL_NS;
  return queue;
}
