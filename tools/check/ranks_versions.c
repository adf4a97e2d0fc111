// SPDX-License-Identifier: Apache-2.0
//
// Goes through the calls in the order of the common sequence, and notes for each byte of a shared buffer which call wrote
// it last, and which version each rank has. A message takes the sender's version to the receiver. What a call reads or a
// rank sends must be the last version.
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "check/ranks.h"

// A task that is a call, or an end of a message; or bytes that other tasks wrote, as a call says.
typedef struct step {
  uint64_t call, rank;
  uint32_t task, written; // UINT32_MAX: it is the other
  bool done;
} step;

typedef struct versions {
  weir__ranks *ranks;
  step *steps;
  size_t step_count;
  uint64_t *shared; // numbers of shared buffers, in order
  size_t shared_count;
  weir__intervals *all;   // by shared buffer: `writer` is a task, or, behind all tasks, one of the timeline's `written`
  weir__intervals *local; // the same, by buffer of a rank
} versions;

static const weir__checker *checker_of(const versions *self) {
  return self->ranks->checker;
}

static int compare_steps(const void *a, const void *b) {
  const step *x = a, *y = b;
  if (x->call != y->call) return x->call < y->call ? -1 : 1;
  if (x->rank != y->rank) return x->rank < y->rank ? -1 : 1;
  if (x->task != y->task) return x->task < y->task ? -1 : 1;
  return x->written < y->written ? -1 : x->written > y->written;
}

static int compare_numbers(const void *a, const void *b) {
  uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
  return x < y ? -1 : x > y;
}

static void collect_steps(versions *self) {
  const weir__checker *checker = checker_of(self);
  for (uint32_t i = 0; i < checker->task_count; i++) {
    const weir__timeline_task *task = checker->tasks[i].seen;
    if (task->call.number == 0) continue;
    self->steps[self->step_count++] = (step){task->call.number, weir__rank_of(task), i, UINT32_MAX, false};
  }
  for (uint32_t i = 0; i < checker->timeline->written_count; i++) {
    const weir__timeline_written *written = &checker->timeline->written[i];
    self->steps[self->step_count++] = (step){written->call, written->rank, UINT32_MAX, i, false};
  }
  qsort(self->steps, self->step_count, sizeof *self->steps, compare_steps);
}

static void collect_shared(versions *self) {
  const weir__timeline *timeline = checker_of(self)->timeline;
  size_t count = 0;
  for (size_t i = 0; i < timeline->access_count; i++) self->shared[count++] = timeline->accesses[i].shared;
  for (size_t i = 0; i < timeline->written_count; i++) self->shared[count++] = timeline->written[i].shared;
  qsort(self->shared, count, sizeof *self->shared, compare_numbers);
  for (size_t i = 0; i < count; i++) {
    if (self->shared_count == 0 || self->shared[self->shared_count - 1] != self->shared[i])
      self->shared[self->shared_count++] = self->shared[i];
  }
}

static weir__intervals *all_of(versions *self, uint64_t shared) {
  const uint64_t *found = bsearch(&shared, self->shared, self->shared_count, sizeof shared, compare_numbers);
  return &self->all[found - self->shared];
}

static weir__intervals *local_of(versions *self, uint64_t buffer) {
  return &self->local[weir__ranks_buffer(checker_of(self)->stream, buffer)];
}

// ---------------------------------------------------------------------------------------------------------------

// Describes who wrote a version.
static void describe_writer(const versions *self, uint32_t writer, size_t size, char *text) {
  const weir__checker *checker = checker_of(self);
  char task[WEIR__TASK_TEXT];
  if (writer == WEIR__NO_ACCESS) {
    snprintf(text, size, "nobody");
  } else if (writer < checker->task_count) {
    snprintf(text, size, "%s", weir__check_describe(checker, writer, task));
  } else {
    const weir__timeline_written *written = &checker->timeline->written[writer - checker->task_count];
    snprintf(text, size, "rank %" PRIu64 ", as call %" PRIu64 " says", written->rank, written->call);
  }
}

static void report(versions *self, uint32_t task, const weir__timeline_access *access, const weir__interval *has,
                   const weir__interval *last) {
  char text[WEIR__TASK_TEXT], own[200], right[200];
  const char *memory = weir__timeline_memory_name(checker_of(self)->timeline, access->memory);
  uint64_t lo = has->lo > last->lo ? has->lo : last->lo, hi = has->hi < last->hi ? has->hi : last->hi;
  bool sends = checker_of(self)->tasks[task].seen->call.direction == WEIR__TIMELINE_SENDS;
  describe_writer(self, has->writer, sizeof own, own);
  describe_writer(self, last->writer, sizeof right, right);
  weir__check_add(self->ranks->checker,
                  "VERSION broken: %s %s shared buffer %" PRIu64 " [%" PRIu64 ", %" PRIu64
                  ")%s%s as it was written by %s, but the last to write it was %s",
                  weir__check_describe(checker_of(self), task, text), sends ? "sends" : "reads", access->shared, lo, hi,
                  access->memory > 0 ? " on " : "", access->memory > 0 ? memory : "", own, right);
}

// Compares what a rank has with the last versions. One finding for each access.
static bool compare(versions *self, uint32_t task, const weir__timeline_access *access) {
  weir__intervals *local = local_of(self, access->buffer), *all = all_of(self, access->shared);
  uint64_t lo = access->offset, hi = lo + access->bytes;
  if (!weir__intervals_take(local, lo, hi) || !weir__intervals_take(all, lo, hi)) return false;
  for (size_t i = 0, k = 0; i < local->taken_count && k < all->taken_count;) {
    const weir__interval *has = &local->taken[i], *last = &all->taken[k];
    self->ranks->checker->report->hazards++;
    if (has->writer != last->writer) {
      report(self, task, access, has, last);
      break;
    }
    uint64_t has_hi = has->hi, last_hi = last->hi;
    i += has_hi <= last_hi;
    k += last_hi <= has_hi;
  }
  return weir__intervals_put(local) && weir__intervals_put(all);
}

static bool set(weir__intervals *map, uint64_t lo, uint64_t hi, uint32_t writer) {
  if (!weir__intervals_take(map, lo, hi)) return false;
  for (size_t i = 0; i < map->taken_count; i++) map->taken[i].writer = writer;
  return weir__intervals_put(map);
}

static bool send(versions *self, uint32_t task) {
  weir__rank_message *message = &self->ranks->messages[self->ranks->message_of[task]];
  const weir__timeline_access *access = message->sent;
  weir__intervals *local = local_of(self, access->buffer);
  if (!compare(self, task, access)) return false;
  if (!weir__intervals_take(local, access->offset, access->offset + access->bytes)) return false;
  message->carried = malloc(local->taken_count * sizeof *message->carried);
  if (!message->carried) return false;
  message->carried_count = local->taken_count;
  for (size_t i = 0; i < local->taken_count; i++) message->carried[i] = local->taken[i];
  return weir__intervals_put(local);
}

static bool receive(versions *self, uint32_t task, const weir__timeline_access *access) {
  const weir__rank_message *message = &self->ranks->messages[self->ranks->message_of[task]];
  weir__intervals *local = local_of(self, access->buffer);
  bool good = true;
  for (size_t i = 0; good && i < message->carried_count; i++)
    good = set(local, message->carried[i].lo, message->carried[i].hi, message->carried[i].writer);
  return good;
}

static bool run_call(versions *self, uint32_t index, const weir__timeline_task *task) {
  const weir__timeline_access *accesses = &checker_of(self)->timeline->accesses[task->access_first];
  bool good = true;
  for (uint32_t i = 0; good && i < task->access_count; i++) {
    if (accesses[i].mode != WEIR_WRITE && accesses[i].shared != 0) good = compare(self, index, &accesses[i]);
  }
  for (uint32_t i = 0; good && i < task->access_count; i++) {
    if (accesses[i].mode == WEIR_READ || accesses[i].shared == 0) continue;
    uint64_t lo = accesses[i].offset, hi = lo + accesses[i].bytes;
    good =
        set(local_of(self, accesses[i].buffer), lo, hi, index) && set(all_of(self, accesses[i].shared), lo, hi, index);
  }
  return good;
}

static bool run_step(versions *self, const step *one) {
  const weir__checker *checker = checker_of(self);
  if (one->task == UINT32_MAX) {
    const weir__timeline_written *written = &checker->timeline->written[one->written];
    uint32_t writer = (uint32_t)checker->task_count + one->written;
    uint64_t lo = written->offset, hi = lo + written->bytes;
    return set(local_of(self, written->buffer), lo, hi, writer) && set(all_of(self, written->shared), lo, hi, writer);
  }
  const weir__timeline_task *task = checker->tasks[one->task].seen;
  const weir__timeline_access *access = &checker->timeline->accesses[task->access_first];
  if (task->call.direction == WEIR__TIMELINE_SENDS) return send(self, one->task);
  if (task->call.direction == WEIR__TIMELINE_RECEIVES) return receive(self, one->task, access);
  return run_call(self, one->task, task);
}

static bool is_message(const versions *self, const step *one) {
  return one->task != UINT32_MAX &&
         checker_of(self)->tasks[one->task].seen->call.direction != WEIR__TIMELINE_NO_MESSAGE;
}

// A receive whose send has not been looked at.
static bool must_wait(const versions *self, const step *one) {
  if (checker_of(self)->tasks[one->task].seen->call.direction != WEIR__TIMELINE_RECEIVES) return false;
  return self->ranks->messages[self->ranks->message_of[one->task]].carried == NULL;
}

// The messages of a call, each rank's in its order, and each receive after its send: a rank may send on what it got.
static bool run_messages(versions *self, step *steps, size_t count, bool *out_progress) {
  uint64_t waits = UINT64_MAX; // the rank
  *out_progress = false;
  for (size_t i = 0; i < count; i++) {
    if (steps[i].done || !is_message(self, &steps[i]) || steps[i].rank == waits) continue;
    if (must_wait(self, &steps[i])) {
      waits = steps[i].rank;
      continue;
    }
    if (!run_step(self, &steps[i])) return false;
    steps[i].done = *out_progress = true;
  }
  return true;
}

static bool follow_call(versions *self, step *steps, size_t count) {
  bool progress = true;
  while (progress) {
    if (!run_messages(self, steps, count, &progress)) return false;
  }
  for (size_t i = 0; i < count; i++) {
    char text[WEIR__TASK_TEXT];
    if (!is_message(self, &steps[i])) {
      if (!run_step(self, &steps[i])) return false;
    } else if (!steps[i].done) {
      weir__check_add(self->ranks->checker, "MESSAGE: %s waits for itself by way of other messages",
                      weir__check_describe(checker_of(self), steps[i].task, text));
      return true;
    }
  }
  return true;
}

static bool follow(versions *self) {
  for (size_t first = 0, end; first < self->step_count; first = end) {
    for (end = first; end < self->step_count && self->steps[end].call == self->steps[first].call;) end++;
    if (!follow_call(self, &self->steps[first], end - first)) return false;
  }
  return true;
}

bool weir__ranks_versions(weir__ranks *ranks) {
  const weir__timeline *timeline = ranks->checker->timeline;
  uint32_t buffers = ranks->checker->stream->buffer_count;
  size_t most = timeline->access_count + timeline->written_count + 1;
  versions self = {.ranks = ranks,
                   .steps = malloc((timeline->task_count + timeline->written_count + 1) * sizeof(step)),
                   .shared = malloc(most * sizeof(uint64_t))};
  bool good = self.steps != NULL && self.shared != NULL;
  if (good) collect_steps(&self);
  if (good) collect_shared(&self);
  self.all = calloc(self.shared_count + 1, sizeof *self.all);
  self.local = calloc((size_t)buffers + 1, sizeof *self.local);
  good = good && self.all != NULL && self.local != NULL && follow(&self);
  for (size_t i = 0; self.all && i < self.shared_count; i++) weir__intervals_destroy(&self.all[i]);
  for (size_t i = 0; self.local && i < buffers; i++) weir__intervals_destroy(&self.local[i]);
  free(self.all);
  free(self.local);
  free(self.steps);
  free(self.shared);
  return good;
}
