// SPDX-License-Identifier: Apache-2.0
//
// Lanes of enqueue functions in graphs (capture.h).
//
// DESIGN. Calls that share a lane are in order, so lanes are chosen by a schedule: list scheduling on as many
// processors as there are lanes, the longest path to the end first (R. L. Graham, "Bounds on multiprocessing timing
// anomalies", 1969; Adam, Chandy and Dickson, "A comparison of list schedules for parallel processing systems", 1974).
// All steps count as equally long, since nobody knows better. Edges for a lane then go from what is early in the
// schedule to what is late, and have the card begin what is urgent first, as its own order of what is ready does not.
// In the order of recording they would hold what is urgent back behind all that was recorded before. A lane costs the
// caller a library's handle and workspace: beyond the first few, another one is used only where the schedule has more
// calls at the same time.
#include "base/allocate.h"
#include "device/cuda/graph/capture.h"

enum { LANES = WEIR__CUDA_SET_LANES, FEW = 8, NONE = -1 };

// Per step and lane: the turn, from 1, of the last call in that lane that comes before the step, or is the step. 0:
// none.
typedef uint32_t lane_row[LANES];

typedef struct lane {
  uint32_t step, turn; // of its last call; turn 0: it was not used yet
  bool taken;          // in this round
} lane;

typedef struct schedule {
  weir__cuda_call_step *calls;
  uint32_t count;
  const uint64_t *first; // the edges, as weir__cuda_assign_lanes gets them
  const uint32_t *predecessors;
  uint64_t *first_successor; // and the other way
  uint32_t *successors;
  uint32_t *waits; // per step: predecessors that are not done
  uint32_t *ranks; // per step: steps of the longest path from it to the end
  lane_row *rows;
  uint32_t *ready; // calls: a heap, the one with the longest path on top
  uint32_t ready_count;
  uint32_t *others; // ready steps that are no calls, and need no lane
  uint32_t other_count;
  uint32_t *order; // steps by turn
  uint32_t done;
  uint32_t base, most, used; // lanes: number of the first one; how many there are; how many have a call
  lane lanes[LANES];
} schedule;

// ---------------------------------------------------------------------------------------------------------------
// What is ready

static bool is_before(const schedule *s, uint32_t a, uint32_t b) {
  return s->ranks[a] != s->ranks[b] ? s->ranks[a] > s->ranks[b] : a < b;
}

static void swap(uint32_t *a, uint32_t *b) {
  uint32_t other = *a;
  *a = *b;
  *b = other;
}

static void push(schedule *s, uint32_t step) {
  uint32_t at = s->ready_count++;
  s->ready[at] = step;
  for (; at > 0 && is_before(s, s->ready[at], s->ready[(at - 1) / 2]); at = (at - 1) / 2)
    swap(&s->ready[at], &s->ready[(at - 1) / 2]);
}

static uint32_t pop(schedule *s) {
  uint32_t step = s->ready[0], at = 0;
  s->ready[0] = s->ready[--s->ready_count];
  for (uint32_t child = 1; child < s->ready_count; child = 2 * at + 1) {
    if (child + 1 < s->ready_count && is_before(s, s->ready[child + 1], s->ready[child])) child++;
    if (!is_before(s, s->ready[child], s->ready[at])) break;
    swap(&s->ready[at], &s->ready[child]);
    at = child;
  }
  return step;
}

static void make_ready(schedule *s, uint32_t step) {
  if (s->calls[step].enqueue != NULL)
    push(s, step);
  else
    s->others[s->other_count++] = step;
}

static void take_turn(schedule *s, uint32_t step) {
  s->order[s->done++] = step;
}

// What the step alone held back is ready for the next round.
static void release(schedule *s, uint32_t step) {
  for (uint64_t i = s->first_successor[step]; i < s->first_successor[step + 1]; i++)
    if (--s->waits[s->successors[i]] == 0) make_ready(s, s->successors[i]);
}

// ---------------------------------------------------------------------------------------------------------------
// Lanes

static void inherit(lane_row row, const lane_row from) {
  for (uint32_t i = 0; i < LANES; i++)
    if (from[i] > row[i]) row[i] = from[i];
}

// The lane whose last call comes before the step anyway, the latest such one. NONE: there is none.
static int find_follower(const schedule *s, uint32_t step) {
  int best = NONE;
  for (uint32_t i = 0; i < s->used; i++) {
    const lane *l = &s->lanes[i];
    bool follows = !l->taken && s->rows[step][i] == l->turn;
    if (follows && (best == NONE || l->turn > s->lanes[best].turn)) best = (int)i;
  }
  return best;
}

// A lane that was not used yet, as long as few are, or when all others are taken; else the one that has been free for
// longest.
static int find_free(const schedule *s) {
  int best = NONE;
  if (s->used < FEW && s->used < s->most) return (int)s->used;
  for (uint32_t i = 0; i < s->used; i++) {
    const lane *l = &s->lanes[i];
    if (!l->taken && (best == NONE || l->turn < s->lanes[best].turn)) best = (int)i;
  }
  return best != NONE ? best : (int)s->used;
}

static void use(schedule *s, uint32_t step, uint32_t index) {
  lane *l = &s->lanes[index];
  weir__cuda_call_step *call = &s->calls[step];
  bool in_order = l->turn == 0 || s->rows[step][index] == l->turn;
  call->lane = s->base + index;
  call->after = in_order ? WEIR__CUDA_NO_STEP : l->step;
  if (!in_order) inherit(s->rows[step], s->rows[l->step]);
  if (l->turn == 0) s->used++;
  take_turn(s, step);
  *l = (lane){.step = step, .turn = s->done, .taken = true};
  s->rows[step][index] = l->turn;
}

// Calls of a round have different lanes. Those that can follow what they come after do so, before others take its lane.
static void place_calls(schedule *s, const uint32_t *calls, uint32_t count) {
  int places[LANES];
  for (uint32_t i = 0; i < s->used; i++) s->lanes[i].taken = false;
  for (uint32_t i = 0; i < count; i++) {
    places[i] = find_follower(s, calls[i]);
    if (places[i] != NONE) s->lanes[places[i]].taken = true;
  }
  for (uint32_t i = 0; i < count; i++) use(s, calls[i], (uint32_t)(places[i] != NONE ? places[i] : find_free(s)));
}

static void join_rows(schedule *s, uint32_t step) {
  for (uint64_t i = s->first[step]; i < s->first[step + 1]; i++) inherit(s->rows[step], s->rows[s->predecessors[i]]);
}

// A round: what is ready, and has a lane or needs none.
static void run_round(schedule *s) {
  uint32_t calls[LANES], count = 0, begin = s->done;
  while (count < s->most && s->ready_count > 0) calls[count++] = pop(s);
  for (uint32_t i = 0; i < count; i++) join_rows(s, calls[i]);
  place_calls(s, calls, count);
  for (uint32_t i = 0; i < s->other_count; i++) {
    join_rows(s, s->others[i]);
    take_turn(s, s->others[i]);
  }
  s->other_count = 0;
  for (uint32_t i = begin, end = s->done; i < end; i++) release(s, s->order[i]);
}

// ---------------------------------------------------------------------------------------------------------------

static bool allocate(schedule *s) {
  size_t count = s->count;
  s->first_successor = weir__allocate_zeroed((count + 2) * sizeof *s->first_successor);
  s->successors = weir__allocate((s->first[count] - s->first[0] + 1) * sizeof *s->successors);
  s->rows = weir__allocate_zeroed(count * sizeof *s->rows);
  s->waits = weir__allocate_zeroed(4 * count * sizeof *s->waits);
  if (s->first_successor == NULL || s->successors == NULL || s->rows == NULL || s->waits == NULL) return false;
  s->ranks = s->waits + count;
  s->ready = s->ranks + count;
  s->others = s->ready + count;
  return true;
}

static void turn_edges(schedule *s) {
  uint64_t *at = s->first_successor + 1; // where the next successor of each step goes; then where the last one is
  for (uint64_t i = s->first[0]; i < s->first[s->count]; i++) at[s->predecessors[i] + 1]++;
  for (uint32_t i = 0; i < s->count; i++) at[i + 1] += at[i];
  for (uint32_t i = 0; i < s->count; i++)
    for (uint64_t j = s->first[i]; j < s->first[i + 1]; j++) s->successors[at[s->predecessors[j]]++] = i;
}

static void rank(schedule *s) {
  for (uint32_t i = s->count; i-- > 0;) {
    for (uint64_t j = s->first_successor[i]; j < s->first_successor[i + 1]; j++)
      if (s->ranks[s->successors[j]] > s->ranks[i]) s->ranks[i] = s->ranks[s->successors[j]];
    s->ranks[i]++;
  }
}

uint32_t weir__cuda_take_set(weir__cuda_device *device) {
  return atomic_fetch_add_explicit(&device->next_set, 1, memory_order_relaxed) % WEIR__CUDA_LANE_SETS;
}

bool weir__cuda_assign_lanes(weir__cuda_device *device, weir__cuda_call_step *calls, uint32_t count,
                             const uint64_t *first, const uint32_t *predecessors, uint32_t set, uint32_t *out_order) {
  uint64_t seed = device->base.device.host->seed;
  schedule s = {.calls = calls,
                .count = count,
                .first = first,
                .predecessors = predecessors,
                .order = out_order,
                .base = device->queue_count + WEIR__CUDA_LATE_QUEUES + set * LANES,
                .most = seed == 0 ? LANES : 1 + (uint32_t)(5 * seed % LANES)};
  bool good = allocate(&s);
  if (good) {
    turn_edges(&s);
    rank(&s);
    for (uint32_t i = 0; i < count; i++) {
      s.waits[i] = (uint32_t)(first[i + 1] - first[i]);
      if (s.waits[i] == 0) make_ready(&s, i);
    }
    while (s.done < count) run_round(&s);
  }
  weir__free(s.first_successor);
  weir__free(s.successors);
  weir__free(s.rows);
  weir__free(s.waits);
  return good;
}

CUresult weir__cuda_begin_set(weir__cuda_device *device, uint32_t set, CUstream stream) {
  CUevent event = device->sets[set];
  return event == NULL ? CUDA_SUCCESS : device->driver->cuStreamWaitEvent(stream, event, CU_EVENT_WAIT_DEFAULT);
}

CUresult weir__cuda_end_set(weir__cuda_device *device, uint32_t set, CUstream stream) {
  const weir__cuda_driver *driver = device->driver;
  CUevent event = device->sets[set];
  CUresult result = event == NULL ? driver->cuEventCreate(&event, CU_EVENT_DISABLE_TIMING) : CUDA_SUCCESS;
  if (result == CUDA_SUCCESS) {
    result = driver->cuEventRecord(event, stream);
    if (result != CUDA_SUCCESS && device->sets[set] == NULL)
      driver->cuEventDestroy(event);
    else
      device->sets[set] = event;
  }
  // Without an event for it, the next launch with these lanes must find this one done.
  return result == CUDA_SUCCESS ? result : driver->cuStreamSynchronize(stream);
}

void weir__cuda_sets_destroy(weir__cuda_device *device) {
  for (uint32_t i = 0; i < WEIR__CUDA_LANE_SETS; i++)
    if (device->sets[i] != NULL) device->driver->cuEventDestroy(device->sets[i]);
  if (device->capture.stream != NULL) device->driver->cuStreamDestroy(device->capture.stream);
}
