// SPDX-License-Identifier: Apache-2.0
#include "window/trail.h"

#include <string.h>

#include "base/allocate.h"

enum { FIRST_CAPACITY = 8, READERS_BY_THEMSELVES = 8 };

// A set of tasks that use the same bytes, with no order between them or, if they commute, one that comes about.
typedef struct users {
  uint32_t references; // stretches, and later sets
  uint16_t length;     // sets of readers of the same contents, up to this one
  uint8_t mode;        // READ, COMMUTE; else WRITE, of one task
  bool open;           // others can join, who release `sync` as well
  weir__sync *sync;
  struct users *earlier; // READ: others that read the same contents
  struct users *before;  // READ, COMMUTE: whom those that may join come after
} users;

typedef struct stretch {
  uint64_t lo, hi;
  users *users;
} stretch;

struct weir__trail {
  uint32_t serial;    // of the contents
  uint64_t storage;   // on the host; 0: none so far
  weir__sync *before; // the ends of those who used the storage for other contents
  weir__sync *now;    // the ends of those who use it for these; the block has it, too
  stretch *stretches; // ascending
  uint32_t count, capacity;
};

// ---------------------------------------------------------------------------------------------------------------
// Lists of points

static void add(weir__syncs *syncs, weir__sync *sync) {
  if (syncs->count == syncs->capacity) {
    uint32_t capacity = syncs->capacity == 0 ? FIRST_CAPACITY : 2 * syncs->capacity;
    weir__sync **larger = weir__allocate(capacity * sizeof(weir__sync *));
    if (larger == NULL) return;
    if (syncs->count > 0) memcpy(larger, syncs->list, syncs->count * sizeof(weir__sync *));
    weir__free(syncs->list);
    syncs->list = larger;
    syncs->capacity = capacity;
  }
  syncs->list[syncs->count++] = weir__sync_hold(sync);
}

void weir__watched_acquire(weir__watched *task, weir__sync *sync) {
  if (sync == NULL || sync == task->own || sync->acquired_in == task->number) return;
  sync->acquired_in = task->number;
  add(&task->acquired, sync);
}

void weir__watched_release(weir__watched *task, weir__sync *sync) {
  if (sync == NULL || sync == task->own || sync->released_in == task->number) return;
  sync->released_in = task->number;
  add(&task->released, sync);
}

static void clear(weir__syncs *syncs) {
  for (uint32_t i = 0; i < syncs->count; i++) weir__sync_drop(syncs->list[i]);
  syncs->count = 0;
}

void weir__watched_clear(weir__watched *task) {
  clear(&task->acquired);
  clear(&task->released);
  weir__sync_drop(task->own);
  task->own = NULL;
}

void weir__watched_deinitialize(weir__watched *task) {
  weir__watched_clear(task);
  weir__free(task->acquired.list);
  weir__free(task->released.list);
}

// ---------------------------------------------------------------------------------------------------------------
// Sets of users

static void drop(users *set) {
  while (set != NULL && --set->references == 0) {
    users *earlier = set->earlier;
    drop(set->before);
    weir__sync_drop(set->sync);
    weir__free(set);
    set = earlier;
  }
}

static users *hold(users *set) {
  if (set != NULL) set->references++;
  return set;
}

// All of a set's tasks.
static void acquire(weir__watched *task, const users *set) {
  for (; set != NULL; set = set->earlier) weir__watched_acquire(task, set->sync);
}

// A set of the task alone; `open`: of who else comes. NULL: no memory.
static users *create(weir__watched *task, weir_mode mode, bool open) {
  users *set = weir__allocate_zeroed(sizeof *set);
  if (set == NULL) return NULL;
  set->references = 1;
  set->mode = (uint8_t)mode;
  set->open = open;
  set->sync = open ? weir__sync_create() : weir__sync_hold(task->own);
  if (open) weir__watched_release(task, set->sync);
  return set;
}

// The next set takes the place of one, which it comes after. Nobody joins that any more, unless other stretches have it.
static users *follow(users *set, users *last) {
  if (set == NULL) return last;
  set->before = last;
  if (last == NULL || last->references > 1) return set;
  drop(last->before);
  last->before = NULL;
  return set;
}

// One more reader of the same contents.
static users *add_reader(weir__watched *task, users *last) {
  acquire(task, last->before);
  if (last->sync == task->own) return last;
  if (last->open && last->references == 1) {
    weir__watched_release(task, last->sync);
    return last;
  }
  users *set = create(task, WEIR_READ, last->length >= READERS_BY_THEMSELVES);
  if (set == NULL) return last;
  set->length = (uint16_t)(last->length + 1);
  set->before = hold(last->before);
  set->earlier = last;
  return set;
}

static users *read(weir__watched *task, users *last) {
  if (last != NULL && last->mode == WEIR_READ) return add_reader(task, last);
  acquire(task, last);
  if (last != NULL && last->sync == task->own) return last;
  return follow(create(task, WEIR_READ, false), last);
}

// Whoever commutes comes after all others of the set that came before it, which is known only then.
static users *commute(weir__watched *task, users *last) {
  if (last != NULL && last->mode == WEIR_COMMUTE) {
    acquire(task, last->before);
    acquire(task, last);
    weir__watched_release(task, last->sync);
    return last;
  }
  acquire(task, last);
  users *set = follow(create(task, WEIR_COMMUTE, true), last);
  if (set != last) acquire(task, set);
  return set;
}

// ---------------------------------------------------------------------------------------------------------------
// Stretches

// The first stretch that ends behind `at`.
static uint32_t find(const struct weir__trail *trail, uint64_t at) {
  uint32_t low = 0, high = trail->count;
  while (low < high) {
    uint32_t middle = low + (high - low) / 2;
    if (trail->stretches[middle].hi <= at)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

// Makes room for one more at `index`. False: no memory.
static bool insert(struct weir__trail *trail, uint32_t index, uint64_t lo, uint64_t hi, users *set) {
  if (trail->count == trail->capacity) {
    uint32_t capacity = trail->capacity == 0 ? FIRST_CAPACITY : 2 * trail->capacity;
    stretch *larger = weir__allocate(capacity * sizeof *larger);
    if (larger == NULL) {
      drop(set);
      return false;
    }
    if (trail->count > 0) memcpy(larger, trail->stretches, trail->count * sizeof *larger);
    weir__free(trail->stretches);
    trail->stretches = larger;
    trail->capacity = capacity;
  }
  memmove(trail->stretches + index + 1, trail->stretches + index, (trail->count++ - index) * sizeof(stretch));
  trail->stretches[index] = (stretch){.lo = lo, .hi = hi, .users = set};
  return true;
}

// Has a stretch begin at `at`, if one has the byte.
static void cut(struct weir__trail *trail, uint64_t at) {
  uint32_t index = find(trail, at);
  if (index == trail->count || trail->stretches[index].lo >= at) return;
  stretch whole = trail->stretches[index];
  if (insert(trail, index, whole.lo, at, hold(whole.users))) trail->stretches[index + 1].lo = at;
}

static void overwrite(struct weir__trail *trail, weir__watched *task, uint64_t lo, uint64_t hi) {
  uint32_t first = find(trail, lo), end = first;
  for (; end < trail->count && trail->stretches[end].lo < hi; end++) {
    acquire(task, trail->stretches[end].users);
    drop(trail->stretches[end].users);
  }
  memmove(trail->stretches + first, trail->stretches + end, (trail->count - end) * sizeof(stretch));
  trail->count -= end - first;
  users *set = create(task, WEIR_WRITE, false);
  if (set != NULL) insert(trail, first, lo, hi, set);
}

static void join(struct weir__trail *trail, weir__watched *task, weir_mode mode, uint64_t lo, uint64_t hi) {
  users *(*next)(weir__watched * task, users * last) = mode == WEIR_READ ? read : commute;
  uint32_t index = find(trail, lo);
  for (uint64_t at = lo; at < hi; index++) {
    bool gap = index == trail->count || trail->stretches[index].lo > at;
    if (gap) {
      uint64_t end = index == trail->count || trail->stretches[index].lo > hi ? hi : trail->stretches[index].lo;
      users *set = next(task, NULL);
      if (set == NULL || !insert(trail, index, at, end, set)) return;
    } else {
      trail->stretches[index].users = next(task, trail->stretches[index].users);
    }
    at = trail->stretches[index].hi;
  }
}

static void use(struct weir__trail *trail, weir__watched *task, weir_mode mode, uint64_t lo, uint64_t hi) {
  cut(trail, lo);
  cut(trail, hi);
  if (mode == WEIR_READ || mode == WEIR_COMMUTE)
    join(trail, task, mode, lo, hi);
  else
    overwrite(trail, task, lo, hi);
}

// ---------------------------------------------------------------------------------------------------------------
// Trails

static void forget_users(struct weir__trail *trail) {
  for (uint32_t i = 0; i < trail->count; i++) drop(trail->stretches[i].users);
  trail->count = 0;
}

static void forget_storage(struct weir__trail *trail) {
  weir__sync_drop(trail->before);
  weir__sync_drop(trail->now);
  trail->before = trail->now = NULL;
}

void weir__trail_destroy(struct weir__trail *trail) {
  if (trail == NULL) return;
  forget_users(trail);
  forget_storage(trail);
  weir__free(trail->stretches);
  weir__free(trail);
}

// The buffer has other storage on the host. What the process's heap gave is new to ThreadSanitizer; a device's may have been
// given back to the device and taken again.
static void take_storage(struct weir__trail *trail, const weir__replica *replica, weir__sync *all) {
  forget_storage(trail);
  trail->storage = replica->storage;
  weir__block *block = replica->block;
  if (block == NULL) return; // the caller's memory
  trail->before = block->users_sync != NULL ? block->users_sync : block->from_heap ? NULL : weir__sync_hold(all);
  trail->now = weir__sync_create();
  block->users_sync = weir__sync_hold(trail->now);
}

void weir__trail_note(weir__watched *task, const weir__access *access, weir__sync *all) {
  weir_buffer *buffer = access->buffer;
  if (buffer->trail == NULL) buffer->trail = weir__allocate_zeroed(sizeof *buffer->trail);
  struct weir__trail *trail = buffer->trail;
  if (trail == NULL) return;
  if (trail->serial != buffer->serial) {
    forget_users(trail);
    trail->storage = 0; // other contents, even if the storage is the same
  }
  trail->serial = buffer->serial;
  if (access->space == WEIR__HOST_SPACE) {
    const weir__replica *host = &buffer->replicas[WEIR__HOST_SPACE];
    bool same = host->storage == trail->storage && (host->block == NULL || host->block->users_sync == trail->now);
    if (!same) take_storage(trail, host, all);
    weir__watched_acquire(task, trail->before);
    weir__watched_release(task, trail->now);
  }
  const weir_box *box = weir__access_box(access);
  for (uint64_t row = 0; row < weir__box_row_count(box); row++) {
    uint64_t end, at = weir__box_row(access->lo, access->hi, box, row, &end);
    use(trail, task, (weir_mode)access->mode, at, end);
  }
}
