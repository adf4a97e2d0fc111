// SPDX-License-Identifier: Apache-2.0
//
// The plainest tasks: all their arguments are whole buffers, each named once, whose users the buffer itself remembers.
//
// DESIGN. Of the general plain way (plain.c) remains what such a task needs, and nothing of it is written down in
// between: one pass asks each buffer whether it is as said, and changes nothing that matters. A second one finds the
// hazards and fills the slot. What the slot counts (edges, ancestors) is in registers until the end. Storage is
// exchanged where the access is recorded.
#ifndef WEIR_ENGINE_PLAIN_WHOLE_H
#define WEIR_ENGINE_PLAIN_WHOLE_H

#include "engine/fill.h"
#include "engine/plain_inside.h"
#include "engine/rename.h"

// A task, and where its buffers are: in its arguments, or, if it has a form, in an array.
typedef struct weir__whole_task {
  const weir_task *asked;
  const weir_arg *args;         // its
  const weir__plain_form *form; // NULL: none
  weir_buffer *const *buffers;
} weir__whole_task;

static inline weir_buffer *weir__whole_buffer(const weir__whole_task *task, uint32_t index) {
  return task->form != NULL ? task->buffers[index] : task->args[index].buffer;
}

static inline uint64_t weir__whole_mode(const weir__whole_task *task, uint32_t index) {
  return task->form != NULL ? task->form->accesses[index].mode : weir__plain_mode(&task->args[index]);
}

// Finds out whether nothing in the context asks for more, and until when.
bool weir__whole_look(weir_context *context);

// The same, as far as it is not known.
static inline bool weir__whole_may_enter(weir_context *context) {
  const weir__window *window = &context->host.window;
  if (window->next >= window->usual_until && (context->devices.plain != WEIR__PLAIN_HOST || !weir__whole_look(context)))
    return false;
  return !weir__this_thread.in_task;
}

// Whether nothing but its arguments and its kernel can make it another task than one of these.
static inline bool weir__whole_asks_nothing(const weir_task *task) {
  uint64_t asks; // for predecessors, or a priority
  static_assert(offsetof(weir_task, priority) == offsetof(weir_task, after_count) + 4, "these two are read as one");
  memcpy(&asks, &task->after_count, sizeof asks);
  asks |= (uintptr_t)task->device | (uintptr_t)task->label | (uintptr_t)task->destroy | (uintptr_t)task->group;
  asks |= task->lock_key | (task->groups[0] | task->groups[1] | task->groups[2]) >> WEIR__PLAIN_GROUPS_LOG2;
  return asks == 0 && task->arg_count <= WEIR__PLAIN_ARGS && (task->args != NULL || task->arg_count == 0);
}

// The device of such a task; NULL: it takes no such tasks, or something is wrong.
static inline weir_device *weir__whole_device(const weir_context *context, const weir_task *task) {
  const weir_kernel *kernel = task->kernel;
  weir_device *device = context->devices.cpu;
  if (kernel != NULL) {
    if (!weir__object_is(&kernel->object, WEIR__KIND_KERNEL) || kernel->object.context != context ||
        !kernel->has_device || task->host != NULL)
      return NULL;
    device = context->host.devices[kernel->device];
  } else if (device == NULL || task->host == NULL) {
    return NULL;
  }
  return device->plain ? device : NULL;
}

// Whether an argument is read, written or updated, all of it.
static inline bool weir__whole_is(const weir_arg *arg) {
  return (weir__plain_mode(arg) - WEIR_READ <= WEIR_READ_WRITE - WEIR_READ) & ((arg->offset | ~arg->bytes) == 0);
}

// Whether nothing is special about a buffer, but for the host having storage for it.
static inline __attribute__((always_inline)) bool weir__whole_is_usual(const weir_context *context,
                                                                       const weir_buffer *buffer) {
  return buffer != NULL && weir__object_is(&buffer->object, WEIR__KIND_BUFFER) && buffer->object.context == context &&
         buffer->by_ranges == 0 && buffer->whole.odd == 0 && buffer->replicas[WEIR__HOST_SPACE].memory != NULL;
}

// Whether all buffers are usual, and none is named twice, or large and overwritten while it is in use.
static inline __attribute__((always_inline)) bool weir__whole_is_one(weir_context *context,
                                                                     const weir__whole_task *task, uint32_t count) {
  uint64_t check = ++context->checks;
  for (uint32_t i = 0; i < count; i++) {
    if (task->form == NULL && !weir__whole_is(&task->args[i])) return false;
    weir_buffer *buffer = weir__whole_buffer(task, i);
    if (!weir__whole_is_usual(context, buffer) || buffer->named == check) return false;
    if (weir__whole_mode(task, i) == WEIR_WRITE && buffer->bytes > WEIR__RENAME_TINY &&
        buffer->last_use >= context->host.window.live.oldest)
      return false;
    buffer->named = check;
  }
  return true;
}

// What becomes of a task while its accesses are recorded.
typedef struct weir__whole_slot {
  weir_context *context;
  weir__task *task;
  weir__id id;
  uint32_t edge; // to this task
  uint32_t blockers;
  uint64_t ancestors;
  uint32_t lacks; // WEIR__WHOLE_*
} weir__whole_slot;

// There was no memory for an edge, for one that brings data, or to note a reader.
enum { WEIR__WHOLE_LACKS_EDGE = 1, WEIR__WHOLE_LACKS_DATA = 2, WEIR__WHOLE_LACKS_READER = 4 };

// The same as weir__window_connect.
static inline __attribute__((always_inline)) void weir__whole_connect(weir__whole_slot *self, weir__id predecessor,
                                                                      bool data) {
  weir__window *window = &self->context->host.window;
  weir__task *before = weir__window_task(window, predecessor);
  if (__builtin_expect(before->mark == self->id, false)) {
    if (data) *weir__window_newest_edge(before) |= WEIR__EDGE_DATA;
    return;
  }
  uint32_t edge = self->edge | (data ? WEIR__EDGE_DATA : 0), count = before->successor_count;
  if (__builtin_expect(count < WEIR__TASK_INLINE_SUCCESSORS, true)) {
    before->successors[count] = edge;
    before->successor_count = count + 1;
  } else if (!weir__window_push_edge(window, before, edge)) {
    self->lacks |= WEIR__WHOLE_LACKS_EDGE | (data ? WEIR__WHOLE_LACKS_DATA : 0);
    return;
  }
  before->mark = self->id;
  uint64_t distance = self->id - predecessor; // see weir__ancestors_behind
  if (distance <= 64) self->ancestors |= (before->ancestors << 1 | 1) << (distance - 1);
  self->blockers++;
}

static inline __attribute__((always_inline)) void weir__whole_read(weir__whole_slot *self, weir__segment *segment) {
  if (weir__live(&self->context->host.window.live, segment->writer)) weir__whole_connect(self, segment->writer, true);
  uint32_t count = segment->reader_count, capacity = segment->reader_capacity;
  if (__builtin_expect(count == capacity, false)) {
    const weir__liveness *live = &self->context->host.window.live;
    if (!weir__segment_make_room(segment, live, self->context->order.dependences.arrays)) {
      self->lacks |= WEIR__WHOLE_LACKS_READER;
      return;
    }
    count = segment->reader_count;
    capacity = segment->reader_capacity;
  }
  (capacity > WEIR__SEGMENT_INLINE_READERS ? segment->readers.many : segment->readers.few)[count] = self->id;
  segment->reader_count = count + 1;
}

static inline __attribute__((always_inline)) void weir__whole_write(weir__whole_slot *self, weir__segment *segment,
                                                                    bool reads) {
  uint32_t count = segment->reader_count;
  bool reader_in_flight = false;
  if (count > 0) {
    const weir__id *reader = weir__segment_readers(segment), *end = reader + count;
    for (; reader != end; reader++) {
      if (!weir__live(&self->context->host.window.live, *reader)) continue;
      weir__whole_connect(self, *reader, false);
      reader_in_flight = true;
    }
  }
  if ((reads || !reader_in_flight) && weir__live(&self->context->host.window.live, segment->writer))
    weir__whole_connect(self, segment->writer, reads);
  segment->writer = self->id;
  segment->reader_count = 0;
}

// Other storage for a tiny buffer, where no block is easily found. The access has its place in the slot. What it must
// wait for is listed in order.dependences.
__attribute__((cold)) void weir__whole_rename(weir_context *context, const weir_task *asked, weir__task *slot,
                                              weir__access *access);

typedef enum weir__whole_storage {
  WEIR__WHOLE_STAYS, // where it is
  WEIR__WHOLE_OTHER, // and no users
  WEIR__WHOLE_LACKS, // no block is easily found
} weir__whole_storage;

// Other storage for a buffer that is in use and overwritten, which is tiny then: see weir__storage_exchange.
static inline __attribute__((always_inline)) weir__whole_storage weir__whole_exchange(weir__whole_slot *self,
                                                                                      weir_buffer *buffer) {
  weir_context *context = self->context;
  const weir__liveness *live = &context->host.window.live;
  weir__replica *replica = &buffer->replicas[WEIR__HOST_SPACE];
  if (replica->block == NULL || buffer->wrapped || buffer->kept || (context->host.flags & WEIR_CONTEXT_NO_RENAME) != 0)
    return WEIR__WHOLE_STAYS;
  if (!weir__live(live, buffer->whole.writer) && weir__segment_idle(&buffer->whole, live)) return WEIR__WHOLE_STAYS;
  weir__pool *pool = &context->memory.pools[WEIR__HOST_SPACE];
  if (pool->waiting_bytes + buffer->bytes > pool->waiting_limit) return WEIR__WHOLE_LACKS;
  weir__buffer_note_users(buffer, replica->block);
  weir__block *fresh = weir__pool_exchange(pool, replica->block, live);
  if (fresh == NULL) return WEIR__WHOLE_LACKS;
  replica->block = fresh;
  replica->memory = fresh->memory;
  replica->storage = fresh->number;
  buffer->serial++;
  context->host.statistics.renamed++;
  return WEIR__WHOLE_OTHER;
}

// A buffer that is in use and overwritten.
static inline __attribute__((always_inline)) void weir__whole_overwrite(weir__whole_slot *self, const weir_task *asked,
                                                                        weir_buffer *buffer, weir__access *access) {
  weir__whole_storage storage = weir__whole_exchange(self, buffer);
  if (__builtin_expect(storage == WEIR__WHOLE_LACKS, false)) {
    const weir__dependences *dependences = &self->context->order.dependences;
    weir__whole_rename(self->context, asked, self->task, access);
    for (size_t i = 0; i < dependences->count; i++) weir__whole_connect(self, dependences->list[i].task, false);
    if (dependences->incomplete) self->lacks |= WEIR__WHOLE_LACKS_EDGE;
  }
  if (storage != WEIR__WHOLE_OTHER) {
    weir__whole_write(self, &buffer->whole, false);
    return;
  }
  buffer->whole.writer = self->id;
  buffer->whole.reader_count = 0;
}

static inline __attribute__((always_inline)) void weir__whole_record(weir__whole_slot *self,
                                                                     const weir__whole_task *task, uint32_t index,
                                                                     weir__access *access, void **pointer) {
  weir_buffer *buffer = weir__whole_buffer(task, index);
  uint64_t mode = weir__whole_mode(task, index);
  access->buffer = buffer;
  access->lo = 0;
  access->hi = buffer->bytes;
  access->mode = (uint8_t)mode;
  access->space = WEIR__HOST_SPACE;
  access->box = 0;
  if (mode == WEIR_READ) {
    weir__whole_read(self, &buffer->whole);
  } else {
    if (mode == WEIR_WRITE && buffer->last_use >= self->context->host.window.live.oldest)
      weir__whole_overwrite(self, task->asked, buffer, access);
    else
      weir__whole_write(self, &buffer->whole, mode == WEIR_READ_WRITE);
    buffer->valid = weir__space_bit(WEIR__HOST_SPACE);
  }
  buffer->last_use = self->id;
  access->serial = buffer->serial;
  *pointer = buffer->replicas[WEIR__HOST_SPACE].memory;
}

// Memory ran out for an edge or a reader.
__attribute__((cold)) void weir__whole_hold(weir_context *context, weir__task *task, uint32_t lacks);

// Makes the slot's line that most tasks leave as it is say nothing.
static inline void weir__whole_make_usual(weir__task *task) {
  task->event = NULL;
  task->tag = 0;
  task->run = NULL;
  task->move = NULL;
  task->accesses = (weir__access *)(void *)task->payload;
  task->groups[0] = task->groups[1] = task->groups[2] = 1;
  task->usual = true;
}

// All of the slot but what the accesses make of it.
static inline __attribute__((always_inline)) void weir__whole_fill(const weir__whole_slot *self, const weir_task *asked,
                                                                   const weir_device *device, weir_event *event,
                                                                   uint32_t count) {
  weir__task *task = self->task;
  task->id = self->id;
  task->successor_count = 0;
  task->device = (uint8_t)device->index;
  task->commutes = 0;
  task->issued = task->failing = task->labelled = task->awaits = false;
  if (__builtin_expect(!task->usual, false)) weir__whole_make_usual(task);
  atomic_store_explicit(&task->dropped, false, memory_order_relaxed);
  atomic_store_explicit(&task->reads_poison, false, memory_order_relaxed);
  weir_kernel *kernel = asked->kernel;
  task->function = asked->host;
  task->kind = WEIR__TASK_HOST;
  task->kernel = kernel;
  if (kernel != NULL) {
    task->function = kernel->function;
    task->kind = WEIR__TASK_KERNEL;
    kernel->object.last_use = self->id;
  }
  task->user = asked->user;
  task->arg_count = task->access_count = count;
  task->args = (void **)(void *)((weir__access *)(void *)task->payload + count);
  task->priority = 0;
  task->lock_class = 0;
  task->asked = WEIR__NO_CHECK;
  if ((asked->groups[0] | asked->groups[1] | asked->groups[2] | asked->tag | (uintptr_t)event) == 0) return;
  weir__fill_groups(task, asked);
  task->tag = asked->tag;
  task->event = event;
  task->usual = false;
}

// Takes in a task for which this is so. False: there is no memory for its event, and nothing has changed.
static inline __attribute__((always_inline)) bool weir__whole_admit(weir_context *context, const weir__whole_task *task,
                                                                    uint32_t count, weir_device *device,
                                                                    weir_event **out_event) {
  weir__window *window = &context->host.window;
  weir__whole_slot self = {.context = context, .id = window->next};
  weir_event *event = NULL;
  if (out_event != NULL) {
    event = weir__event_take(context, self.id, NULL);
    if (event == NULL) return false;
    *out_event = event;
  }
  uint32_t slot = (uint32_t)self.id & window->live.mask;
  self.task = &window->tasks[slot];
  self.edge = slot << WEIR__EDGE_BITS | WEIR__EDGE_BLOCKS;
  window->live.done[slot] = 0;
  weir__whole_fill(&self, task->asked, device, event, count);
  weir__access *access = (weir__access *)(void *)self.task->payload;
  void **pointer = (void **)(void *)(access + count);
  for (uint32_t i = 0; i < count; i++) weir__whole_record(&self, task, i, access++, pointer++);
  self.task->blockers = self.blockers;
  self.task->ancestors = self.ancestors;
  if (__builtin_expect(self.lacks != 0, false)) weir__whole_hold(context, self.task, self.lacks);
  context->host.statistics.tasks++;
  window->edges += self.blockers;
  window->next = self.id + 1;
  if (self.task->blockers == 0) device->ops->issue(device, self.task);
  return true;
}

// Submits a task that is plain and none of these, as weir__submit_plain. `device`: what weir__submit_whole has found.
bool weir__submit_plain_other(weir_context *context, const weir_task *task, weir_device *device,
                              weir_event **out_event);

// Submits a task that is one of these. False: it is another one, and nothing has changed. `*out_device` is its device
// then, if it is plain but for its accesses, else NULL.
static inline __attribute__((always_inline)) bool weir__submit_whole(weir_context *context, const weir_task *task,
                                                                     weir_event **out_event, weir_device **out_device) {
  *out_device = NULL;
  if (!weir__whole_may_enter(context) || !weir__whole_asks_nothing(task)) return false;
  weir_device *device = weir__whole_device(context, task);
  *out_device = device;
  const weir__whole_task whole = {.asked = task, .args = task->args};
  return device != NULL && weir__whole_is_one(context, &whole, task->arg_count) &&
         weir__whole_admit(context, &whole, task->arg_count, device, out_event);
}

#endif // WEIR_ENGINE_PLAIN_WHOLE_H
