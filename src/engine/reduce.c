// SPDX-License-Identifier: Apache-2.0
#include "engine/reduce.h"

#include <stdio.h>
#include <string.h>

#include "base/allocate.h"
#include "base/error.h"
#include "engine/buffer.h"
#include "engine/copy.h"
#include "engine/reduce_element.h"
#include "engine/submit.h"
#include "window/commute.h"

enum { MOST_COPIES = 7, MOST_OPEN = 64, LIMIT_PART = 4 };

// What must be equal for two tasks to add to the same copies. Zeroed before it is filled in, and compared as bytes.
typedef struct reduction_key {
  uint64_t lo, hi;
  weir_buffer *buffer;
  weir_kernel *combine;
  uint32_t groups[3];
  weir_reduce_operation operation;
  weir_reduce_type type;
  uint32_t padding;
  unsigned char identity[WEIR__IDENTITY_BYTES];
} reduction_key;

typedef struct weir__reduction {
  struct weir__reduction *next;
  reduction_key key;
  weir_device *device; // whose tasks fill the copies, and which combines them
  bool combining;      // no more tasks add to the copies
  uint32_t copy_count;
  weir_buffer *copies[MOST_COPIES];
} weir__reduction;

static uint64_t end_of(const weir_arg *arg) {
  return arg->bytes == WEIR_WHOLE ? arg->buffer->bytes : arg->offset + arg->bytes;
}

static void make_key(const weir_arg *arg, reduction_key *out_key) {
  const weir_reduction *reduction = arg->value;
  memset(out_key, 0, sizeof *out_key);
  out_key->lo = arg->offset;
  out_key->hi = end_of(arg);
  out_key->buffer = arg->buffer;
  out_key->combine = reduction->combine;
  for (int i = 0; i < 3; i++) out_key->groups[i] = reduction->groups[i];
  out_key->operation = reduction->operation;
  if (reduction->operation != WEIR_REDUCE_KERNEL) out_key->type = reduction->type;
  weir__reduce_identity(reduction, out_key->identity);
}

static bool is_open(const weir__reduction *self, const reduction_key *key) {
  return memcmp(&self->key, key, sizeof *key) == 0;
}

static weir__reduction *find(const weir_context *context, const reduction_key *key) {
  weir__reduction *self = context->reductions.first;
  while (self != NULL && !is_open(self, key)) self = self->next;
  return self;
}

static uint64_t size_of(const weir__reduction *self) {
  return self->key.hi - self->key.lo;
}

static void remove_reduction(weir_context *context, weir__reduction *self) {
  weir__reduction **link = &context->reductions.first;
  while (*link != self) link = &(*link)->next;
  *link = self->next;
  context->reductions.count--;
  bool other = false;
  for (const weir__reduction *rest = context->reductions.first; rest != NULL; rest = rest->next)
    other |= rest->key.buffer == self->key.buffer;
  self->key.buffer->reducing = other;
  weir__free(self);
}

static void drop_copy(weir_context *context, weir__reduction *self) {
  context->reductions.bytes -= size_of(self);
  weir__buffer_let_go(self->copies[--self->copy_count]);
}

static void forget(weir_context *context, weir_buffer *buffer) {
  weir__reduction *next;
  for (weir__reduction *self = context->reductions.first; self != NULL; self = next) {
    next = self->next;
    if (self->key.buffer != buffer) continue;
    while (self->copy_count > 0) drop_copy(context, self);
    remove_reduction(context, self);
  }
}

void weir__reduce_destroy(weir_context *context) {
  while (context->reductions.first != NULL) {
    weir__reduction *self = context->reductions.first;
    context->reductions.first = self->next;
    weir__free(self);
  }
}

static bool on_host(const weir__reduction *self) {
  return self->key.operation != WEIR_REDUCE_KERNEL && self->device->space == WEIR__HOST_SPACE;
}

static weir__reduce_work work_of(const weir__reduction *self) {
  weir__reduce_work work = {
      .bytes = size_of(self), .operation = (uint32_t)self->key.operation, .type = (uint32_t)self->key.type};
  memcpy(work.identity, self->key.identity, sizeof work.identity);
  return work;
}

// Submits a task of Weir's own, in one attempt.
static weir__admit_result submit(weir_context *context, const weir__submission *by, const weir_task *task,
                                 weir_status *out_status) {
  weir__submission submission = {.task = task,
                                 .origin = by->origin,
                                 .reserved = by->reserved,
                                 .ticket = by->ticket,
                                 .may_queue = by->may_queue,
                                 .queued = by->queued,
                                 .unchecked = task->host != NULL,
                                 .kernel_checked = true};
  return weir__submit_once(context, &submission, true, NULL, out_status);
}

// What combines `copy`. The arguments are the caller's: updated, read, and a value.
static weir_task combining_task(const weir_context *context, const weir__reduction *self, weir_buffer *copy,
                                const weir__reduce_work *work, weir_arg args[3]) {
  args[0] =
      (weir_arg){.mode = WEIR_COMMUTE, .buffer = self->key.buffer, .offset = self->key.lo, .bytes = size_of(self)};
  args[1] = (weir_arg){.mode = WEIR_READ, .buffer = copy, .bytes = WEIR_WHOLE};
  args[2] = (weir_arg){.mode = WEIR_VALUE, .value = work, .bytes = sizeof *work};
  weir_task task = {.args = args, .arg_count = 2, .label = "combine", .device = self->device};
  if (on_host(self)) {
    task.host = weir__reduce_combine;
    task.arg_count = 3;
    task.device = context->devices.copier;
    return task;
  }
  task.kernel = self->key.combine;
  for (int i = 0; i < 3; i++) task.groups[i] = self->key.groups[i];
  return task;
}

// Submits what combines the last copy. ADMITTED: it is gone.
static weir__admit_result combine_one(weir_context *context, const weir__submission *by, weir__reduction *self,
                                      weir_status *out_status) {
  self->combining = true;
  weir_arg args[3];
  weir__reduce_work work = work_of(self);
  weir_task task = combining_task(context, self, self->copies[self->copy_count - 1], &work, args);
  weir__admit_result result = submit(context, by, &task, out_status);
  if (result != WEIR__ADMITTED) return result;
  drop_copy(context, self);
  if (self->copy_count == 0) remove_reduction(context, self);
  return result;
}

// All copies. RETRY: they are gone, or the lock was released.
static weir__admit_result combine(weir_context *context, const weir__submission *by, weir__reduction *self,
                                  weir_status *out_status) {
  weir__admit_result result = WEIR__ADMITTED;
  for (uint32_t left = self->copy_count; left > 0 && result == WEIR__ADMITTED; left--)
    result = combine_one(context, by, self, out_status);
  return result == WEIR__REFUSED ? result : WEIR__RETRY;
}

static bool combine_matching(weir_context *context, const weir__submission *by, const weir_kernel *kernel,
                             weir_status *out_status) {
  weir__reduction *next;
  for (weir__reduction *self = context->reductions.first; self != NULL; self = next) {
    next = self->next;
    if (kernel != NULL && self->key.combine != kernel) continue;
    weir__admit_result result = WEIR__ADMITTED;
    for (uint32_t left = self->copy_count; left > 0 && result == WEIR__ADMITTED; left--)
      result = combine_one(context, by, self, out_status);
    if (result != WEIR__ADMITTED) return false;
  }
  return true;
}

static bool combine_all(weir_context *context, const weir__submission *by, const weir_kernel *kernel,
                        weir_status *out_status) {
  *out_status = WEIR_OK;
  // What combines may itself wait for memory, where this is called again.
  if (context->reductions.combining) return false;
  // Else those that wait for memory would have new copies made.
  if (kernel == NULL) context->reductions.none_before = context->host.window.next + context->host.window.size;
  context->reductions.combining = true;
  bool all = combine_matching(context, by, kernel, out_status);
  context->reductions.combining = false;
  return all;
}

// The argument that an access belongs to.
static const weir_arg *arg_of(const weir_task *task, uint32_t access) {
  const weir_arg *arg = task->args;
  for (;; arg++) {
    if (arg->mode != WEIR_VALUE && access-- == 0) return arg;
  }
}

static bool goes_on(const weir__reduction *self, const weir_task *task, uint32_t access) {
  const weir_arg *arg = task == NULL ? NULL : arg_of(task, access);
  if (arg == NULL || arg->mode != WEIR_REDUCE) return false;
  reduction_key key;
  make_key(arg, &key);
  return is_open(self, &key);
}

weir__admit_result weir__reduce_combine_for(weir_context *context, const weir__submission *by, const weir_task *task,
                                            const weir__access *accesses, uint32_t count, weir_status *out_status) {
  for (uint32_t i = 0; i < count; i++) {
    const weir__access *access = &accesses[i];
    if (!access->buffer->reducing) continue;
    for (weir__reduction *self = context->reductions.first; self != NULL; self = self->next) {
      if (self->key.buffer != access->buffer || self->key.lo >= access->hi || access->lo >= self->key.hi) continue;
      if (!goes_on(self, task, i)) return combine(context, by, self, out_status);
    }
  }
  return WEIR__ADMITTED;
}

// Of the users of a segment: those that commute now.
typedef struct user_count {
  const weir__liveness *live;
  uint32_t most;
} user_count;

static void count_users(void *user, uint64_t lo, uint64_t hi, weir__segment *segment) {
  (void)lo;
  (void)hi;
  user_count *self = user;
  uint32_t count = 0;
  const weir__id *readers = weir__segment_readers(segment);
  for (uint32_t i = 0; segment->commutes && i < segment->reader_count; i++) {
    bool is_set = (readers[i] & WEIR__READER_TAG) == WEIR__READER_COMMUTES;
    count += is_set && weir__live(self->live, weir__reader_task(readers[i]));
  }
  if (count > self->most) self->most = count;
}

// How many tasks one that adds to the buffer itself might wait for.
static uint32_t load_of_buffer(const weir_context *context, const reduction_key *key) {
  user_count users = {.live = &context->host.window.live};
  weir__buffer_visit(key->buffer, key->lo, key->hi, count_users, &users);
  return users.most;
}

static uint32_t load_of_copy(const weir_buffer *copy) {
  return copy->commuters == NULL ? 0 : copy->commuters->expected;
}

static bool repeats_4_bytes(const unsigned char identity[WEIR__IDENTITY_BYTES]) {
  return memcmp(identity, identity + 4, WEIR__IDENTITY_BYTES - 4) == 0;
}

static bool can_combine(const reduction_key *key, const weir_device *device) {
  if (device->space == WEIR__HOST_SPACE && key->operation != WEIR_REDUCE_KERNEL) return true;
  bool fills = device->space == WEIR__HOST_SPACE || ((key->hi - key->lo) % 4 == 0 && repeats_4_bytes(key->identity));
  return fills && key->combine != NULL && device->ops->has_code(device, key->combine);
}

static bool has_room(const weir_context *context, uint32_t space, uint64_t bytes) {
  const weir__pool *pool = &context->memory.pools[space];
  uint64_t rounded = bytes + bytes / 4, most = pool->limit / LIMIT_PART;
  if (pool->waiting_limit < most) most = pool->waiting_limit;
  uint64_t held = pool->bytes - pool->free_bytes;
  return context->reductions.bytes + rounded <= most && held + rounded <= pool->limit;
}

// Whether tasks of this reduction may have one more copy, besides `copies`.
static bool may_have_copy(const weir_context *context, const weir__submission *submission, const reduction_key *key,
                          const weir_device *device, uint32_t copies) {
  const weir_buffer *buffer = key->buffer;
  bool plain = submission->reserved == 0 && submission->aside == NULL && submission->device == NULL;
  bool in_turn = (context->host.flags & WEIR_CONTEXT_IN_ORDER) || context->devices.checker != NULL;
  bool here = buffer->valid == weir__space_bit(device->space) && buffer->parts == NULL;
  return plain && !in_turn && here && !buffer->wrapped && !weir__this_thread.in_task && copies < MOST_COPIES &&
         copies + 1 < device->lanes && context->host.window.next >= context->reductions.none_before &&
         (copies > 0 || context->reductions.count < MOST_OPEN) && can_combine(key, device) &&
         has_room(context, device->space, key->hi - key->lo);
}

static weir__admit_result clear(weir_context *context, const weir__submission *by, const weir__reduction *self,
                                weir_buffer *copy, weir_status *out_status) {
  if (self->device->space != WEIR__HOST_SPACE) {
    uint32_t pattern;
    memcpy(&pattern, self->key.identity, sizeof pattern);
    return weir__fill_once(context, by, self->device, copy, pattern, out_status);
  }
  weir__reduce_work work = work_of(self);
  weir_arg args[] = {{.mode = WEIR_WRITE, .buffer = copy, .bytes = WEIR_WHOLE},
                     {.mode = WEIR_VALUE, .value = &work, .bytes = sizeof work}};
  weir_task task = {
      .host = weir__reduce_clear, .args = args, .arg_count = 2, .label = "identity", .device = context->devices.copier};
  return submit(context, by, &task, out_status);
}

static weir__reduction *open(weir_context *context, const reduction_key *key, weir_device *device) {
  weir__reduction *self = weir__allocate_zeroed(sizeof *self);
  if (self == NULL) return NULL;
  self->key = *key;
  self->device = device;
  self->next = context->reductions.first;
  context->reductions.first = self;
  context->reductions.count++;
  context->reductions.forget = forget;
  context->reductions.combine_all = combine_all;
  key->buffer->reducing = true;
  return self;
}

// Whether the device takes the kernel that would combine the copy, and its arguments: later would be too late.
static weir_status check_combine(const weir_context *context, const weir__reduction *self, weir_buffer *copy) {
  if (on_host(self) || self->device->ops->check == NULL) return WEIR_OK;
  weir_arg args[3];
  weir__reduce_work work = work_of(self);
  weir_task task = combining_task(context, self, copy, &work, args);
  return self->device->ops->check(self->device, &task);
}

// Makes a copy, filled with identities. ADMITTED: it is there. RETRY: not now. REFUSED: it cannot be had; OK: nothing has
// changed, or else the reduction is wrong.
static weir__admit_result add_copy(weir_context *context, const weir__submission *by, const reduction_key *key,
                                   weir_device *device, weir_status *out_status) {
  weir__reduction made = {.key = *key, .device = device};
  weir_buffer *copy = weir__buffer_new(context, key->hi - key->lo);
  if (copy == NULL) return WEIR__REFUSED;
  snprintf(copy->label, sizeof copy->label, "copy of %.30s", key->buffer->label);
  // Its storage is there at once, or it is done without.
  weir__block *block = NULL;
  weir__pool *pool = &context->memory.pools[device->space];
  if (weir__pool_take(pool, copy->bytes, &context->host.window.live, &block) != WEIR__POOL_OK) {
    weir__buffer_let_go(copy);
    context->reductions.none_before = context->host.window.next + context->host.window.size;
    return WEIR__REFUSED;
  }
  weir__buffer_set_storage(copy, device->space, block);
  *out_status = check_combine(context, &made, copy);
  if (*out_status != WEIR_OK) {
    weir__buffer_let_go(copy);
    return WEIR__REFUSED;
  }
  weir_status status;
  weir__admit_result result = clear(context, by, &made, copy, &status);
  weir__reduction *self = NULL;
  if (result == WEIR__ADMITTED) {
    self = find(context, key);
    if (self == NULL) self = open(context, key, device);
  }
  if (self == NULL) {
    weir__buffer_let_go(copy);
    if (result == WEIR__RETRY) return WEIR__RETRY;
    context->reductions.none_before = context->host.window.next + context->host.window.size;
    return result == WEIR__ADMITTED ? WEIR__RETRY : WEIR__REFUSED;
  }
  self->copies[self->copy_count++] = copy;
  context->reductions.bytes += size_of(self);
  return WEIR__ADMITTED;
}

// Where a task adds to by one of its arguments. RETRY: a copy was made.
static weir__admit_result place(weir_context *context, const weir__submission *submission, weir_device *device,
                                weir_arg *arg, weir_status *out_status) {
  reduction_key key;
  make_key(arg, &key);
  weir__reduction *self = find(context, &key);
  if (self != NULL && (self->combining || self->device->space != device->space)) return WEIR__ADMITTED;
  uint32_t best = load_of_buffer(context, &key), copies = self == NULL ? 0 : self->copy_count;
  weir_buffer *target = NULL;
  for (uint32_t i = 0; i < copies; i++) {
    uint32_t load = load_of_copy(self->copies[i]);
    if (load >= best) continue;
    best = load;
    target = self->copies[i];
  }
  if (best > 0 && may_have_copy(context, submission, &key, device, copies)) {
    weir__admit_result result = add_copy(context, submission, &key, device, out_status);
    if (result != WEIR__REFUSED) return WEIR__RETRY;
    if (*out_status != WEIR_OK) return WEIR__REFUSED;
  }
  if (target != NULL) *arg = (weir_arg){.mode = WEIR_COMMUTE, .buffer = target, .bytes = WEIR_WHOLE};
  return WEIR__ADMITTED;
}

weir__admit_result weir__reduce_place(weir_context *context, const weir__submission *submission, weir_device *device,
                                      weir_arg *args, uint32_t arg_count, weir_status *out_status) {
  *out_status = WEIR_OK;
  for (uint32_t i = 0; i < arg_count; i++) {
    if (args[i].mode != WEIR_REDUCE || args[i].reserved != 0) continue;
    weir__admit_result result = place(context, submission, device, &args[i], out_status);
    if (result != WEIR__ADMITTED) return result;
  }
  return WEIR__ADMITTED;
}
