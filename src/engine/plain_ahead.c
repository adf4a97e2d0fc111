// SPDX-License-Identifier: Apache-2.0
//
// DESIGN. The short way for kernels of devices that run ahead and have memory of their own, as plain.c is for the CPU. Besides
// what is asked there, all contents that the task needs are in the device's memory already, so that nothing is copied. Most
// accesses are to a buffer that is there and nowhere else: they cost what they cost on the CPU. Only those that may get
// other storage, or make copies elsewhere invalid, go through storage.c.
#include "engine/plain_inside.h"

#include "engine/admit.h"
#include "engine/arrivals.h"
#include "engine/fill.h"
#include "engine/plain_whole.h"
#include "engine/storage.h"

// Arguments that are plain, right, and need nothing that is elsewhere.
typedef struct ahead_args {
  weir__plain_args plain; // its `overwritten` is not set
  uint64_t bare;          // bit i: access i writes all of a buffer of which nothing is anywhere
  uint64_t tiny;          // bit i: it overwrites all of a tiny buffer that may be in use, and has nothing elsewhere
  uint64_t storage;       // bit i: it may need other storage, or change where the contents are
} ahead_args;

// The part of a buffer that an argument names, which is not all of it. False: it is wrong.
static inline bool take_part(const weir_arg *arg, weir__access *access) {
  uint64_t rest = access->hi - arg->offset, bytes = arg->bytes == WEIR_WHOLE ? rest : arg->bytes;
  if (arg->offset >= access->hi || bytes - 1 >= rest) return false;
  access->lo = arg->offset;
  access->hi = arg->offset + bytes;
  return true;
}

enum { ARRIVES = 16 }; // besides WEIR__PLAIN_RANGED and so on: contents of some buffer may be on their way

// What an access needs of storage.
typedef enum storage_need {
  STAYS,     // it is used as it is
  BARE,      // there is none, of a buffer of which nothing is anywhere, and all of which is written
  TINY,      // it may be in use, of a tiny buffer that has nothing else, and all of which is overwritten
  OTHER,     // the access may need some, or change where the contents are
  ELSEWHERE, // some of what it needs is in another memory
} storage_need;

// The same as the next function where the contents are elsewhere, or nowhere.
static inline storage_need need_elsewhere(const weir__access *access, bool whole) {
  const weir_buffer *buffer = access->buffer;
  bool overwrites = whole && access->mode == WEIR_WRITE;
  if (overwrites && (buffer->valid | buffer->held) == 0 && !buffer->wrapped) return BARE;
  if (buffer->parts != NULL) return ELSEWHERE;
  if (access->mode != WEIR_READ) return !buffer->wrapped && (buffer->valid == 0 || overwrites) ? OTHER : ELSEWHERE;
  if (buffer->valid != 0 && (buffer->valid & weir__space_bit(access->space)) == 0) return ELSEWHERE;
  return buffer->replicas[access->space].memory == NULL ? OTHER : STAYS;
}

static inline storage_need need_of(const weir__liveness *live, const weir__access *access, uint16_t here, bool whole) {
  const weir_buffer *buffer = access->buffer;
  if (buffer->valid != here) return need_elsewhere(access, whole);
  if (buffer->replicas[access->space].memory == NULL) return OTHER;
  if (access->mode != WEIR_WRITE) return STAYS;
  if ((buffer->held & (uint16_t)~here) != 0) return OTHER;
  if (!whole || buffer->last_use < live->oldest) return STAYS;
  return buffer->bytes <= WEIR__RENAME_TINY && buffer->held == here && buffer->parts == NULL ? TINY : OTHER;
}

// Whether an argument that is to be a buffer is one that the short way is for.
static inline bool is_usable(const weir_context *context, const weir_buffer *buffer) {
  return buffer != NULL && weir__object_is(&buffer->object, WEIR__KIND_BUFFER) && buffer->object.context == context &&
         !buffer->image;
}

// Of several accesses to one buffer only such are taken that need no storage, do not overwrite it, and agree.
static __attribute__((noinline)) bool repeats_are_right(const ahead_args *args) {
  const weir__plain_args *plain = &args->plain;
  uint64_t needs = args->bare | args->tiny | args->storage;
  for (uint32_t i = 0; i < plain->access_count; i++) {
    const weir__access *access = &plain->accesses[i];
    if ((needs >> i & 1) == 0 && !weir__plain_overwrites(access, access->mode)) continue;
    for (uint32_t j = 0; j < plain->access_count; j++) {
      if (j != i && plain->accesses[j].buffer == access->buffer) return false;
    }
  }
  return weir__ranges_agree(plain->accesses, plain->access_count);
}

// Puts the accesses in `space` where they stay, in the slot of the next task. False: an argument is not plain, is wrong
// or needs something that is elsewhere, or there is no memory.
static inline __attribute__((always_inline)) bool take_args(weir_context *context, const weir_task *task,
                                                            uint32_t space, weir__task *slot, ahead_args *out) {
  const weir__liveness *live = &context->host.window.live;
  weir__access *const first = (weir__access *)(void *)slot->payload, *access = first;
  uint16_t here = weir__space_bit(space);
  uint64_t check = ++context->checks, values = 0, bare = 0, tiny = 0, storage = 0;
  uint32_t needs = 0;
  const weir_arg *arg = task->args; // NULL where there are none
  for (uint32_t left = task->arg_count; left > 0; left--, arg++) {
    uint64_t mode = weir__plain_mode(arg);
    if (mode == WEIR_VALUE) {
      if (!weir__plain_take_value(arg, &values, &needs)) return false;
      continue;
    }
    weir_buffer *buffer = arg->buffer;
    if (mode > WEIR_READ_WRITE || !is_usable(context, buffer)) return false;
    uint64_t bytes = buffer->bytes;
    *access = (weir__access){.buffer = buffer, .hi = bytes, .mode = (uint8_t)mode, .space = (uint8_t)space};
    bool whole = true;
    if (arg->offset != 0 || (arg->bytes != bytes && arg->bytes != WEIR_WHOLE)) {
      if (!take_part(arg, access)) return false;
      whole = false;
      needs |= WEIR__PLAIN_RANGED;
    }
    if (buffer->by_ranges != 0) {
      if (buffer->boxed | buffer->reducing) return false;
      needs |= WEIR__PLAIN_RANGED;
    }
    if (buffer->named == check) needs |= WEIR__PLAIN_REPEATS;
    buffer->named = check;
    if (buffer->replicas[space].arrival >= live->oldest) needs |= ARRIVES;
    storage_need need = need_of(live, access, here, whole);
    if (need != STAYS) {
      uint64_t bit = (uint64_t)1 << (access - first);
      if (need == ELSEWHERE) return false;
      *(need == BARE ? &bare : need == TINY ? &tiny : &storage) |= bit;
    }
    access++;
  }
  uint32_t count = (uint32_t)(access - first);
  out->plain.accesses = first;
  out->plain.access_count = count;
  out->plain.needs = needs;
  out->bare = bare;
  out->tiny = tiny;
  out->storage = storage;
  if ((needs & WEIR__PLAIN_REPEATS) && !repeats_are_right(out)) return false;
  if (!(needs & WEIR__PLAIN_VALUED)) return true; // the accesses and pointers of so few fit in
  uint64_t room = count * sizeof *access + task->arg_count * sizeof(void *) + values;
  return room <= WEIR__TASK_INLINE_PAYLOAD || weir__plain_move(slot, room, &out->plain);
}

static inline __attribute__((always_inline)) void connect(void *user, weir__id id, weir__hazard hazard, bool data,
                                                          uint64_t lo, uint64_t hi) {
  weir__plain_edges *self = user;
  (void)hazard;
  (void)lo;
  (void)hi;
  bool no_memory = false;
  const weir__task *before = weir__window_task(self->window, id);
  bool same_device = before->device == self->task->device, blocks = !same_device || !before->issued;
  bool first = weir__window_connect(self->window, id, self->task, data, blocks, &no_memory);
  if (data && before->failing) weir__window_upstream_failed(self->window, self->task, id);
  if (first && same_device && !weir__window_add_predecessor(self->task, id)) no_memory = true;
  weir__plain_note_edge(self, no_memory, data);
}

// Records an access, whose address it returns. `special`: the buffer may be used by ranges, or contents be on their way.
static inline __attribute__((always_inline)) void *record(weir_context *context, weir__access *access, uint32_t space,
                                                          bool special, weir__plain_edges *self) {
  weir_buffer *buffer = access->buffer;
  const weir__liveness *live = &self->window->live;
  weir__dependences *dependences = &context->order.dependences;
  weir__id id = self->task->id;
  if (special && access->mode != WEIR_WRITE) weir__depend_on_arrivals(context, buffer, space, access->lo, access->hi);
  buffer->last_use = id;
  if (special && (buffer->ranged || access->hi - access->lo != buffer->bytes))
    weir__buffer_access_range(buffer, &context->order.ranges, live, id, (weir_mode)access->mode, access->lo, access->hi,
                              dependences);
  else if (access->mode == WEIR_READ)
    weir__segment_read_to(&buffer->whole, live, id, access->lo, access->hi, dependences, connect, self);
  else
    weir__segment_write_to(&buffer->whole, live, id, access->mode == WEIR_READ_WRITE, access->lo, access->hi,
                           dependences, connect, self);
  if (access->mode != WEIR_READ) buffer->valid = weir__space_bit(space); // as it is, but if it had no storage
  access->serial = buffer->serial;
  return (char *)buffer->replicas[space].memory + access->lo;
}

static inline __attribute__((always_inline)) void record_all(weir_context *context, const weir__plain_args *args,
                                                             uint32_t space, void **pointers, bool special,
                                                             weir__plain_edges *self) {
  weir__access *access = args->accesses, *end = access + args->access_count;
  for (void **pointer = pointers; access != end; access++, pointer++)
    *pointer = record(context, access, space, special, self);
}

static inline weir__task *begin(weir_context *context, const weir_task *asked, const weir_device *device,
                                const weir__plain_args *args, weir_event *event) {
  weir__task *task = weir__window_begin(&context->host.window);
  weir__fill_asked(task, asked, device);
  task->code = weir__kernel_code(asked->kernel, device);
  task->accesses = args->accesses;
  task->access_count = args->access_count;
  task->asked = WEIR__NO_CHECK;
  task->kind = WEIR__TASK_KERNEL;
  task->run = NULL;
  task->move = NULL;
  task->event = event;
  return task;
}

// To the device at once, if the task waits for nothing.
static inline void commit(weir_context *context, weir_device *device, weir__task *task) {
  weir__window *window = &context->host.window;
  if (task->blockers > 1 || context->ready.first != NULL) {
    weir__window_commit(window, task);
    weir__context_issue_ready(context);
    return;
  }
  window->next++;
  task->blockers = 0;
  task->issued = true; // first, for the device's thread may read the task from then on
  device->ops->issue(device, task);
  weir__window_fetch_ahead(window);
}

// The accesses whose storage is found and bound as that of any task.
static inline weir__request request_of(weir_context *context, const weir_task *asked, const ahead_args *args) {
  return (weir__request){.task = asked,
                         .accesses = args->plain.accesses,
                         .checked.access_count = args->plain.access_count,
                         .checked.needs_storage = args->storage,
                         .fresh = context->order.fresh};
}

static __attribute__((noinline)) bool find_others(weir_context *context, const weir_task *asked,
                                                  const ahead_args *args) {
  const weir__request request = request_of(context, asked, args);
  return weir__storage_find_at_once(context, &request);
}

static __attribute__((cold)) void give_back_others(weir_context *context, const weir_task *asked,
                                                   const ahead_args *args) {
  const weir__request request = request_of(context, asked, args);
  weir__storage_give_back(context, &request, args->plain.access_count);
}

static __attribute__((noinline)) void bind_others(weir_context *context, const weir_task *asked,
                                                  const ahead_args *args) {
  const weir__request request = request_of(context, asked, args);
  for (uint64_t left = args->storage; left != 0; left &= left - 1)
    weir__storage_bind(context, &request, (uint32_t)__builtin_ctzll(left));
}

// Storage for buffers that have nothing yet; a task that is not taken in after all leaves it.
static inline bool give_storage(weir_context *context, const ahead_args *args) {
  for (uint64_t left = args->bare; left != 0; left &= left - 1) {
    uint32_t i = (uint32_t)__builtin_ctzll(left);
    const weir__access *access = &args->plain.accesses[i];
    weir__block *block = weir__storage_take_bare(context, access->buffer, access->space, i);
    if (block == NULL) return false;
    weir__buffer_set_storage(access->buffer, access->space, block);
  }
  return true;
}

// Other storage for tiny buffers. It is never waited for, since they have some.
static __attribute__((noinline)) void rename_tiny(weir_context *context, const weir_task *asked,
                                                  const ahead_args *args) {
  for (uint64_t left = args->tiny; left != 0; left &= left - 1) {
    uint32_t i = (uint32_t)__builtin_ctzll(left);
    const weir__access *access = &args->plain.accesses[i];
    if (weir__storage_rename_tiny(context, access->buffer, access->space, i)) continue;
    ahead_args one = *args;
    one.storage = (uint64_t)1 << i;
    if (find_others(context, asked, &one)) bind_others(context, asked, &one);
  }
}

// Takes the task in. False: memory is short.
static inline bool admit(weir_context *context, const weir_task *asked, weir_device *device, const ahead_args *args,
                         weir_event **out_event) {
  weir__window *window = &context->host.window;
  const weir__plain_args *plain = &args->plain;
  if ((plain->needs & WEIR__PLAIN_RANGED) && !weir__range_pool_reserve(&context->order.ranges, plain->access_count))
    return false;
  if (context->memory.predictor != NULL) weir__predictor_note(context->memory.predictor, asked);
  if (!give_storage(context, args) || (args->storage != 0 && !find_others(context, asked, args))) return false;
  weir_event *event = out_event != NULL ? weir__event_take(context, window->next, NULL) : NULL;
  if (out_event != NULL) {
    if (event == NULL) {
      if (args->storage != 0) give_back_others(context, asked, args);
      return false;
    }
    *out_event = event;
  }
  weir__task *task = begin(context, asked, device, plain, event);
  if (asked->label != NULL) weir__context_keep_label(context, task, asked->label);
  weir__dependences *dependences = &context->order.dependences;
  weir__dependences_clear(dependences);
  if (args->storage != 0) bind_others(context, asked, args);
  if (args->tiny != 0) rename_tiny(context, asked, args);
  weir__plain_edges self = {.window = window, .task = task};
  void **pointers = (void **)(void *)(plain->accesses + plain->access_count);
  if (plain->needs & (WEIR__PLAIN_RANGED | ARRIVES))
    record_all(context, plain, device->space, pointers, true, &self);
  else // a loop that calls nothing in most cases
    record_all(context, plain, device->space, pointers, false, &self);
  for (size_t i = 0; i < dependences->count; i++) {
    const weir__dependence *dependence = &dependences->list[i];
    if (dependence->task != 0) connect(&self, dependence->task, WEIR__HAZARD_AFTER, dependence->data, 0, 0);
  }
  task->args = pointers;
  if (plain->needs & WEIR__PLAIN_VALUED) weir__fill_args(task, asked, plain->accesses, pointers);
  context->host.statistics.tasks++;
  if (__builtin_expect(self.no_memory | dependences->incomplete | dependences->unrecorded, false)) {
    const weir__plain_edges lacking = self; // which stays in registers so
    weir__plain_hold(context, &lacking);
  }
  commit(context, device, task);
  return true;
}

// Nothing in the context asks for more, which is known until something does or the window is full.
static inline bool may_enter(weir_context *context) {
  const weir__window *window = &context->host.window;
  return (window->next < window->usual_until || weir__whole_look(context)) && !weir__this_thread.in_task;
}

bool weir__submit_plain_ahead(weir_context *context, const weir_task *task, weir_event **out_event) {
  const weir__window *window = &context->host.window;
  if (!may_enter(context) || !weir__plain_asks_little(task) || task->kernel == NULL) return false;
  weir_device *device = weir__plain_device(context, task);
  if (device == NULL || !device->ops->run_ahead || device->space == WEIR__HOST_SPACE) return false;
  if (task->device != NULL && !device->ops->has_code(device, task->kernel)) return false;
  ahead_args args;
  weir__task *slot = weir__window_task(window, window->next);
  if (!take_args(context, task, device->space, slot, &args)) return false;
  if (device->ops->check != NULL && device->ops->check(device, task) != WEIR_OK) return false;
  return admit(context, task, device, &args, out_event);
}
