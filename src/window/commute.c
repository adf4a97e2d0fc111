// SPDX-License-Identifier: Apache-2.0
#include "window/commute.h"

#include <string.h>

#include "base/allocate.h"

enum { FIRST_CAPACITY = 4, MOST_STRETCHES = 32 };

static bool overlap(const weir__access *access, uint64_t lo, uint64_t hi) {
  return access->lo < hi && lo < access->hi;
}

static bool reserve(weir_buffer *buffer, uint32_t more) {
  weir__commuters *old = buffer->commuters;
  uint32_t needed = old == NULL ? more : old->expected + more;
  if (old != NULL && needed <= old->capacity) return true;
  uint32_t capacity = old == NULL ? FIRST_CAPACITY : old->capacity;
  while (capacity < needed) capacity *= 2;
  weir__commuters *larger = weir__allocate(sizeof *larger + capacity * sizeof larger->list[0]);
  if (larger == NULL) return false;
  *larger = old == NULL ? (weir__commuters){0} : *old;
  if (old != NULL) memcpy(larger->list, old->list, old->count * sizeof old->list[0]);
  larger->capacity = capacity;
  weir__free(old);
  buffer->commuters = larger;
  return true;
}

bool weir__commute_reserve(const weir__access *accesses, uint32_t count) {
  for (uint32_t i = 0; i < count; i++) {
    if (accesses[i].mode == WEIR_COMMUTE && !reserve(accesses[i].buffer, count)) return false;
  }
  return true;
}

void weir__commute_expect(weir__task *task) {
  task->commutes = WEIR__COMMUTES_OUTSIDE;
  task->blockers++;
  for (uint32_t i = 0; i < task->access_count; i++)
    if (task->accesses[i].mode == WEIR_COMMUTE) task->accesses[i].buffer->commuters->expected++;
}

// Bytes of a task's range that no later task has overwritten.
typedef struct stretches {
  uint64_t lo[MOST_STRETCHES], hi[MOST_STRETCHES];
  uint32_t count;
} stretches;

static void remove_bytes(stretches *self, uint64_t lo, uint64_t hi) {
  for (uint32_t i = 0; i < self->count; i++) {
    if (self->lo[i] >= hi || lo >= self->hi[i]) continue;
    uint64_t end = self->hi[i];
    self->hi[i] = lo > self->lo[i] ? lo : self->lo[i];
    if (hi >= end) continue;
    // What does not fit stays with what is before it: a task more is skipped, but none too few.
    bool first = self->hi[i] == self->lo[i], fits = self->count < MOST_STRETCHES;
    if (first) self->lo[i] = hi;
    if (first || !fits) self->hi[i] = end;
    if (first || !fits) continue;
    self->lo[self->count] = hi;
    self->hi[self->count++] = end;
  }
}

static bool touches(const stretches *self, const weir__access *access) {
  for (uint32_t i = 0; i < self->count; i++) {
    if (self->lo[i] < self->hi[i] && overlap(access, self->lo[i], self->hi[i])) return true;
  }
  return false;
}

static bool has_predecessor(const weir__task *task, weir__id id) {
  for (uint32_t i = 0; i < task->predecessor_count; i++) {
    if (task->predecessors[i] == id) return true;
  }
  return false;
}

// Puts the task behind one that has entered before it. False: no memory.
static bool follow(weir__window *window, weir__id id, weir__task *task, bool run_ahead) {
  weir__task *before = weir__window_task(window, id);
  bool same_device = run_ahead && before->device == task->device;
  bool blocks = !same_device || !before->issued;
  bool listed = same_device && !has_predecessor(task, id);
  if (listed && !weir__window_add_predecessor(task, id)) return false;
  if (!weir__window_connect_late(window, before, task, blocks)) {
    task->predecessor_count -= listed;
    return false;
  }
  if (before->failing) weir__window_upstream_failed(window, task, id);
  return true;
}

static bool overwrites(const weir__access *access, const weir_buffer *buffer, uint32_t serial) {
  bool writes = access->mode == WEIR_WRITE || access->mode == WEIR_READ_WRITE;
  return writes && access->buffer == buffer && access->serial == serial;
}

// How many accesses of a task are known. They stay in its slot until that is another task's. A launch that is done may have none there,
// for lack of memory.
static uint32_t known_accesses(const weir__window *window, const weir__task *task) {
  const void *accesses = task->accesses;
  bool in_slot = accesses == task->payload || accesses == task->large_payload;
  return in_slot || weir__live(&window->live, task->id) ? task->access_count : 0;
}

// Whether the task commutes with another one on bytes that nothing between the two writes. On a device that runs ahead a task
// may enter though what it comes after, and what comes before that, is in flight, and what comes after a task may be found
// done before it: by tasks of other devices, too.
static bool meets(const weir__window *window, const weir__task *task, const weir__access *access,
                  const weir__commuter *other, bool run_ahead) {
  if (other->serial != access->serial || !overlap(access, other->lo, other->hi)) return false;
  if (!run_ahead && weir__window_task(window, other->task)->device == task->device) return true;
  uint64_t lo = access->lo > other->lo ? access->lo : other->lo, hi = access->hi < other->hi ? access->hi : other->hi;
  stretches left = {.lo = {lo}, .hi = {hi}, .count = 1};
  for (weir__id id = task->id - 1; id > other->task && touches(&left, access); id--) {
    const weir__task *between = weir__window_task(window, id);
    for (uint32_t j = 0, count = known_accesses(window, between); j < count; j++) {
      const weir__access *its = &between->accesses[j];
      if (overwrites(its, access->buffer, access->serial)) remove_bytes(&left, its->lo, its->hi);
    }
  }
  return touches(&left, access);
}

static bool follow_all(weir__window *window, weir__task *task, const weir__access *access, bool run_ahead) {
  const weir__commuters *commuters = access->buffer->commuters;
  for (uint32_t i = 0; i < commuters->count; i++) {
    const weir__commuter *other = &commuters->list[i];
    if (!meets(window, task, access, other, run_ahead)) continue;
    if (!follow(window, other->task, task, run_ahead)) return false;
  }
  return true;
}

// Adds the task, in the place of those that are behind it now wherever they are looked for.
static void add(weir__commuters *commuters, weir__id task, const weir__access *access) {
  uint32_t kept = 0;
  for (uint32_t i = 0; i < commuters->count; i++) {
    const weir__commuter *other = &commuters->list[i];
    bool covered = other->serial == access->serial && access->lo <= other->lo && other->hi <= access->hi;
    if (!covered) commuters->list[kept++] = *other;
  }
  commuters->list[kept++] =
      (weir__commuter){.task = task, .lo = access->lo, .hi = access->hi, .serial = access->serial};
  commuters->count = kept;
}

bool weir__commute_enter(weir__window *window, weir__task *task, bool run_ahead, bool *out_no_memory) {
  *out_no_memory = false;
  for (uint32_t i = 0; i < task->access_count && !*out_no_memory; i++) {
    if (task->accesses[i].mode == WEIR_COMMUTE)
      *out_no_memory = !follow_all(window, task, &task->accesses[i], run_ahead);
  }
  if (*out_no_memory) return false;
  task->commutes = WEIR__COMMUTES_ENTERED;
  for (uint32_t i = 0; i < task->access_count; i++) {
    if (task->accesses[i].mode == WEIR_COMMUTE) add(task->accesses[i].buffer->commuters, task->id, &task->accesses[i]);
  }
  return task->blockers == 0;
}

// Marks a task that is not done if it commutes on the bytes that are left, and takes away what it overwrites. Returns whether
// it takes away some: what comes after it is no longer told by its range alone.
static bool mark(weir__window *window, weir__task *task, const weir__access *failed, weir__id failed_task,
                 stretches *left) {
  bool ends = false;
  for (uint32_t i = 0, count = known_accesses(window, task); i < count; i++) {
    const weir__access *access = &task->accesses[i];
    if (access->buffer != failed->buffer || access->serial != failed->serial || !touches(left, access)) continue;
    if (access->mode == WEIR_COMMUTE && task->commutes == WEIR__COMMUTES_OUTSIDE)
      weir__window_upstream_failed(window, task, failed_task);
    if (task->id < failed_task || !overwrites(access, failed->buffer, failed->serial)) continue;
    ends = true;
    remove_bytes(left, access->lo, access->hi);
  }
  return ends;
}

// Tasks with a smaller id that have not entered commute on the same contents: nothing that overwrites is between.
static void mark_all(weir__window *window, const weir__task *task, const weir__access *access) {
  weir__commuters *commuters = access->buffer->commuters;
  bool marked = commuters->marked.serial == access->serial && commuters->marked.lo == access->lo &&
                commuters->marked.hi == access->hi && task->id < commuters->marked.end;
  if (marked) return;
  stretches left = {.lo = {access->lo}, .hi = {access->hi}, .count = 1};
  weir__id end = 0;
  for (weir__id id = window->live.oldest; id < window->next; id++) {
    if (id == task->id || (id < task->id && !weir__live(&window->live, id))) continue;
    bool ends = mark(window, weir__window_task(window, id), access, task->id, &left);
    if (ends && end == 0) end = id;
  }
  commuters->marked.serial = access->serial;
  commuters->marked.lo = access->lo;
  commuters->marked.hi = access->hi;
  commuters->marked.end = end != 0 ? end : window->next;
}

static void leave(weir__commuters *commuters, weir__id task) {
  uint32_t kept = 0;
  for (uint32_t i = 0; i < commuters->count; i++) {
    if (commuters->list[i].task != task) commuters->list[kept++] = commuters->list[i];
  }
  commuters->count = kept;
  commuters->expected--;
}

void weir__commute_leave(weir__window *window, weir__task *task, bool failed) {
  for (uint32_t i = 0; i < task->access_count; i++) {
    const weir__access *access = &task->accesses[i];
    if (access->mode != WEIR_COMMUTE) continue;
    leave(access->buffer->commuters, task->id);
    if (failed) mark_all(window, task, access);
  }
}
