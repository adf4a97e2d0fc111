// SPDX-License-Identifier: Apache-2.0
#include "issue/placement.h"

#include "base/allocate.h"

enum {
  UNKNOWN_NS = 10000,         // of a task of which nothing is known
  REPORTED = 64,              // tasks among which the time of a report is divided, at most
  MOST_OF_EXPECTED = 4,       // a measured task counts as at most so many times what was expected
  KEEP_WEIGHT = 128,          // of moving what a task updates
  KEEP_MOST_PART = 2,         // of the longest queue: most that it counts for
  LEAST_MOVE = 64 << 10,      // bytes of a transfer that tells something about its link
  USUAL_BYTES_PER_US = 20000, // of a link of which nothing is known
};

typedef struct placed {
  uint64_t ns;        // its charge
  uint64_t end;       // of the device's charges, up to and with it
  uint64_t issued_ns; // of the device's clock
  uint8_t device;
  bool queued, moves, issued;
} placed;

typedef struct reported {
  weir__group_ns *known;
  uint64_t groups, ns;
} reported;

typedef struct device_queue {
  const void *kind;
  uint32_t model;
  uint64_t charged, done;             // of tasks
  uint64_t moves_charged, moves_done; // of transfers to the device
  uint64_t last_move_ns;              // when the last one ended
  uint32_t issued;                    // tasks of kernels that are not done
  uint64_t since_ns;                  // the last report, or when it began to work after that
  uint64_t now_ns;                    // the latest end in this report
  uint32_t report_count;
  reported report[REPORTED];
} device_queue;

struct weir__placement {
  device_queue queues[WEIR__PLACEMENT_DEVICES];
  double bytes_per_ns[WEIR__PLACEMENT_SPACES][WEIR__PLACEMENT_SPACES]; // 0: not known
  uint32_t reporting; // bit per device with a report that has not ended
  placed *slots;
};

weir__placement *weir__placement_create(uint32_t slots) {
  weir__placement *placement = weir__allocate_zeroed(sizeof *placement);
  if (placement == NULL) return NULL;
  placement->slots = weir__allocate_zeroed(slots * sizeof *placement->slots);
  if (placement->slots != NULL) return placement;
  weir__free(placement);
  return NULL;
}

void weir__placement_destroy(weir__placement *placement) {
  if (placement != NULL) weir__free(placement->slots);
  weir__free(placement);
}

void weir__placement_set_kind(weir__placement *placement, uint32_t device, const void *kind, uint32_t model) {
  placement->queues[device].kind = kind;
  placement->queues[device].model = model;
}

// The least of what is known of other devices, or of those of a kind. 0: nothing is.
static float least_known(const weir__placement *placement, const weir__group_ns known, const void *kind) {
  float least = 0;
  for (uint32_t i = 0; i < WEIR__PLACEMENT_DEVICES; i++) {
    bool counts = known[i] > 0 && (kind == NULL || placement->queues[i].kind == kind);
    if (counts && (least == 0 || known[i] < least)) least = known[i];
  }
  return least;
}

static uint64_t later(uint64_t a, uint64_t b) {
  return a > b ? a : b;
}

static uint64_t usual_move_ns(uint64_t bytes) {
  return (uint64_t)((double)bytes * 1e3 / USUAL_BYTES_PER_US);
}

uint64_t weir__placement_expected(const weir__placement *placement, const weir__group_ns known, uint32_t device,
                                  uint64_t groups, uint64_t bytes) {
  float ns = known[placement->queues[device].model];
  if (ns == 0) ns = least_known(placement, known, placement->queues[device].kind);
  if (ns == 0) ns = least_known(placement, known, NULL);
  if (ns == 0) return later(UNKNOWN_NS, usual_move_ns(bytes));
  return (uint64_t)((double)ns * (double)groups) + 1;
}

uint64_t weir__placement_move_ns(const weir__placement *placement, uint32_t from, uint32_t to, uint64_t bytes) {
  double rate = placement->bytes_per_ns[from][to];
  return rate > 0 ? (uint64_t)((double)bytes / rate) : usual_move_ns(bytes);
}

static uint64_t left_on(const device_queue *queue) {
  return queue->charged - queue->done;
}

// Of the candidate, where the longest of the queues is `longest`. What a task updates it takes along, and later tasks with it, so
// that moving this counts many times, though never for more than a part of what is queued: no device stays idle for it.
static uint64_t cost(const weir__placement *placement, const weir__candidate *candidate, uint64_t longest) {
  const device_queue *queue = &placement->queues[candidate->device];
  uint64_t moves_left = queue->moves_charged - queue->moves_done, arrives = candidate->ready_ns;
  if (candidate->moves_ns > 0) arrives = later(arrives, moves_left) + candidate->moves_ns;
  uint64_t keep = candidate->updates_ns * KEEP_WEIGHT, most = longest / KEEP_MOST_PART;
  return later(left_on(queue), arrives) + candidate->run_ns + candidate->moves_ns + (keep < most ? keep : most);
}

uint32_t weir__placement_choose(const weir__placement *placement, const weir__candidate *candidates, uint32_t count) {
  uint32_t best = 0;
  uint64_t least = UINT64_MAX, longest = 0;
  for (uint32_t i = 0; i < count; i++) longest = later(longest, left_on(&placement->queues[candidates[i].device]));
  for (uint32_t i = 0; i < count; i++) {
    uint64_t ns = cost(placement, &candidates[i], longest);
    if (ns >= least) continue;
    least = ns;
    best = i;
  }
  return best;
}

void weir__placement_queue(weir__placement *placement, size_t slot, uint32_t device, uint64_t ns, bool moves) {
  device_queue *queue = &placement->queues[device];
  uint64_t *charged = moves ? &queue->moves_charged : &queue->charged;
  *charged += ns;
  placement->slots[slot] =
      (placed){.ns = ns, .end = *charged, .device = (uint8_t)device, .queued = true, .moves = moves};
}

uint64_t weir__placement_left(const weir__placement *placement, size_t slot) {
  const placed *self = &placement->slots[slot];
  if (!self->queued) return 0;
  const device_queue *queue = &placement->queues[self->device];
  uint64_t done = self->moves ? queue->moves_done : queue->done;
  return self->end > done ? self->end - done : 0;
}

void weir__placement_issue(weir__placement *placement, size_t slot, uint64_t now_ns) {
  placed *self = &placement->slots[slot];
  if (!self->queued || self->issued) return;
  device_queue *queue = &placement->queues[self->device];
  self->issued = true;
  self->issued_ns = now_ns;
  if (!self->moves && queue->issued++ == 0) queue->since_ns = later(queue->since_ns, now_ns);
}

// Down at once, since what was slow at first is never tried again otherwise; up by steps, since what was slow once may not be.
static void learn(float *known, double ns) {
  if (*known == 0)
    *known = (float)ns;
  else if (ns < (double)*known)
    *known = (float)(((double)*known + ns) / 2);
  else
    *known += ((float)(ns > MOST_OF_EXPECTED * (double)*known ? MOST_OF_EXPECTED * (double)*known : ns) - *known) / 8;
}

static void end_report(device_queue *queue) {
  uint64_t expected = 0;
  for (uint32_t i = 0; i < queue->report_count; i++) expected += queue->report[i].ns;
  double factor =
      queue->now_ns > queue->since_ns ? (double)(queue->now_ns - queue->since_ns) / (double)later(expected, 1) : 0;
  for (uint32_t i = 0; i < queue->report_count; i++) {
    const reported *task = &queue->report[i];
    if (factor > 0) learn(&(*task->known)[queue->model], factor * (double)task->ns / (double)later(task->groups, 1));
  }
  queue->since_ns = later(queue->since_ns, queue->now_ns);
  queue->report_count = 0;
}

void weir__placement_done(weir__placement *placement, size_t slot, weir__group_ns *known, uint64_t groups,
                          uint64_t now_ns) {
  placed *self = &placement->slots[slot];
  if (!self->queued) return;
  uint32_t device = self->device;
  device_queue *queue = &placement->queues[device];
  self->queued = false;
  queue->done += self->ns;
  if (self->issued) queue->issued--;
  queue->now_ns = later(queue->now_ns, now_ns);
  placement->reporting |= 1U << device;
  if (known == NULL || !self->issued) return;
  if (queue->report_count == REPORTED) end_report(queue);
  queue->report[queue->report_count++] = (reported){.known = known, .groups = groups, .ns = self->ns};
}

void weir__placement_moved(weir__placement *placement, size_t slot, uint32_t from, uint32_t to, uint64_t bytes,
                           uint64_t now_ns) {
  placed *self = &placement->slots[slot];
  if (!self->queued) return;
  device_queue *queue = &placement->queues[self->device];
  self->queued = false;
  queue->moves_done += self->ns;
  uint64_t began = later(self->issued_ns, queue->last_move_ns);
  queue->last_move_ns = later(queue->last_move_ns, now_ns);
  if (bytes < LEAST_MOVE || !self->issued || now_ns <= began) return;
  double rate = (double)bytes / (double)(now_ns - began), *known = &placement->bytes_per_ns[from][to];
  *known = rate > *known ? rate : *known + (rate - *known) / 64;
}

void weir__placement_end_report(weir__placement *placement) {
  for (; placement->reporting != 0; placement->reporting &= placement->reporting - 1) {
    end_report(&placement->queues[__builtin_ctz(placement->reporting)]);
  }
}
