// SPDX-License-Identifier: Apache-2.0
//
// DESIGN. Most tasks are a function of the CPU with a few buffers, values and byte ranges, and nothing is special about them or
// their context. The way of all tasks (engine/submit.c, engine/admit.c) asks at each step about what is special: memory of
// devices, boxes, reductions, images, timelines, groups, predecessors that the task names, waiting. Here that is
// asked once, for the context, the task and each argument. What remains is the same in the same order: check, storage,
// dependences, edges, commit. Predecessors become edges where they are found.
//
// Whatever is not plain, and whatever is wrong, is left to the way of all tasks before anything has changed.
#include "engine/plain.h"

#include "engine/admit.h"
#include "engine/check.h"
#include "engine/fill.h"
#include "engine/storage.h"

enum { MOST_GROUPS_LOG2 = 20 }; // of each dimension: three make no overflow

static_assert(WEIR__PLAIN_ARGS * (sizeof(weir__access) + sizeof(void *)) <= WEIR__TASK_INLINE_PAYLOAD,
              "they fit in a slot");

void weir__plain_open(weir_context *context) {
  const weir__host *host = &context->host;
  context->devices.plain = !context->devices.polls && context->devices.checker == NULL && host->watch == NULL &&
                           (host->flags & ~(uint32_t)(WEIR_CONTEXT_NO_RENAME | WEIR_CONTEXT_REPEATS)) == 0 &&
                           context->memory.space_count == 1 && context->memory.predictor == NULL;
}

// Nothing in the context asks for more, the window has room, and nobody else is to go first.
static inline bool is_usual(const weir_context *context) {
  const weir__host *host = &context->host;
  weir__id oldest = host->window.live.oldest;
  bool odd = !context->devices.plain | (host->trace != NULL) | (context->graphs.in_flight > 0) |
             (context->failures != NULL) | (context->order.fence >= oldest) | (oldest < context->order.barrier) |
             weir__this_thread.in_task;
  return !odd && weir__window_has_room(&host->window);
}

// Whether nothing but its arguments and its device can make it another task than a plain one.
static inline bool asks_little(const weir_task *task) {
  return !((task->arg_count > WEIR__PLAIN_ARGS) | (task->args == NULL && task->arg_count > 0) |
           (task->after_count > 0) | (task->destroy != NULL) | (task->group != NULL) |
           ((task->groups[0] | task->groups[1] | task->groups[2]) >> MOST_GROUPS_LOG2 != 0) |
           ((task->kernel == NULL) == (task->host == NULL)));
}

// The device of a task; NULL: it is none of the CPU, or something is wrong.
static inline weir_device *device_of(const weir_context *context, const weir_task *task) {
  weir_kernel *kernel = task->kernel;
  weir_device *device = weir__plain_device(context, task);
  if (device == NULL || device->ops->run_ahead || device->ops->check != NULL) return NULL;
  bool chosen = kernel != NULL && task->device == NULL;
  return chosen || device->ops->has_code(device, kernel) ? device : NULL;
}

// What some access may need.
enum {
  RANGED = 1,  // it is not of a whole buffer, or its buffer is used by ranges
  REPEATS = 2, // its buffer is named twice
  BARE = 4,    // its buffer has no storage
  VALUED = 8,  // some argument is a value
};

// Arguments that are plain and right.
typedef struct plain_args {
  weir__access *accesses;
  uint32_t access_count;
  uint32_t needs;       // RANGED, ...
  uint64_t overwritten; // bit i: access i overwrites all of a buffer
} plain_args;

static inline bool is_value(const weir_arg *arg) {
  return arg->value != NULL && arg->bytes - 1 < WEIR__MAX_VALUE_BYTES;
}

// Many or large values, which need more room than a slot has. What is in the slot already moves. False: no memory.
static __attribute__((noinline)) bool move_args(weir__task *slot, uint64_t bytes, plain_args *args) {
  weir__access *accesses = weir__window_large_payload(slot, bytes);
  if (accesses == NULL) return false;
  memcpy(accesses, args->accesses, args->access_count * sizeof *accesses);
  args->accesses = accesses;
  return true;
}

// An access to [lo, lo + bytes) of a buffer, or, if `whole`, to all of it. False: it is not plain, or wrong.
static inline __attribute__((always_inline)) bool take_access(weir_context *context, uint64_t check,
                                                              weir_buffer *buffer, uint64_t mode, bool whole,
                                                              uint64_t lo, uint64_t bytes, weir__access *access,
                                                              uint32_t *needs) {
  if (buffer == NULL || !weir__object_is(&buffer->object, WEIR__KIND_BUFFER) || buffer->object.context != context)
    return false;
  uint64_t hi = buffer->bytes;
  if (!whole) {
    uint64_t rest = hi - lo;
    if (bytes == WEIR_WHOLE) bytes = rest;
    if (lo >= hi || bytes - 1 >= rest) return false;
    if (bytes != hi) *needs |= RANGED;
    hi = lo + bytes;
  }
  if (buffer->by_ranges != 0) {
    if (buffer->boxed | buffer->reducing) return false;
    *needs |= RANGED;
  }
  if (buffer->replicas[WEIR__HOST_SPACE].memory == NULL) *needs |= BARE;
  if (buffer->named == check) *needs |= REPEATS;
  buffer->named = check;
  *access = (weir__access){.buffer = buffer, .lo = lo, .hi = hi, .mode = (uint8_t)mode};
  return true;
}

// Whether an access overwrites all of its buffer.
static inline bool overwrites(const weir__access *access, uint64_t mode) {
  return mode == WEIR_WRITE && access->hi - access->lo == access->buffer->bytes;
}

static inline bool is_right(const plain_args *args) {
  return !(args->needs & REPEATS) || (args->overwritten == 0 && weir__ranges_agree(args->accesses, args->access_count));
}

// Puts the accesses where they stay, in the slot of the next task. False: an argument is not plain, or wrong, or there is no
// memory.
static inline bool take_args(weir_context *context, const weir_task *task, weir__task *slot, plain_args *out) {
  weir__access *const first = (weir__access *)(void *)slot->payload, *access = first;
  uint64_t check = ++context->checks, values = 0, overwritten = 0;
  uint32_t needs = 0;
  const weir_arg *arg = task->args;
  for (uint32_t left = task->arg_count; left > 0; left--, arg++) {
    uint64_t mode = weir__plain_mode(arg);
    if (mode == WEIR_VALUE) {
      if (!is_value(arg)) return false;
      values += arg->bytes + 8 + 15;
      needs |= VALUED;
      continue;
    }
    bool whole = arg->offset == 0 && arg->bytes == WEIR_WHOLE;
    if (mode > WEIR_READ_WRITE) return false;
    if (!take_access(context, check, arg->buffer, mode, whole, arg->offset, arg->bytes, access, &needs)) return false;
    if (overwrites(access, mode)) overwritten |= (uint64_t)1 << (access - first);
    access++;
  }
  out->accesses = first;
  out->access_count = (uint32_t)(access - first);
  out->needs = needs;
  out->overwritten = overwritten;
  if (!is_right(out)) return false;
  if (!(needs & VALUED)) return true; // the accesses and pointers of so few fit in
  uint64_t room = out->access_count * sizeof *access + task->arg_count * sizeof(void *) + values;
  return room <= WEIR__TASK_INLINE_PAYLOAD || move_args(slot, room, out);
}

// The same for accesses of a known form.
static inline bool take_form(weir_context *context, const weir__plain_form *form, weir_buffer *const *buffers,
                             weir__task *slot, plain_args *out) {
  weir__access *accesses = (weir__access *)(void *)slot->payload;
  uint64_t check = ++context->checks, overwritten = 0;
  uint32_t needs = 0;
  uint32_t count = form->access_count;
  for (uint32_t i = 0; i < count; i++) {
    uint64_t mode = form->accesses[i].mode;
    if (!take_access(context, check, buffers[i], mode, form->accesses[i].whole, form->accesses[i].lo,
                     form->accesses[i].bytes, &accesses[i], &needs))
      return false;
    if (overwrites(&accesses[i], mode)) overwritten |= (uint64_t)1 << i;
  }
  out->accesses = accesses;
  out->access_count = count;
  out->needs = needs;
  out->overwritten = overwritten;
  return is_right(out);
}

// Where predecessors become edges.
typedef struct edges {
  weir__window *window;
  weir__task *task;
  bool no_memory; // an edge could not be made
  bool lost_data; // it would have brought data, and is not listed
} edges;

static inline __attribute__((always_inline)) void connect(void *user, weir__id task, weir__hazard hazard, bool data,
                                                          uint64_t lo, uint64_t hi) {
  edges *self = user;
  (void)hazard;
  (void)lo;
  (void)hi;
  bool no_memory = false;
  weir__window_connect(self->window, task, self->task, data, true, &no_memory);
  if (__builtin_expect(no_memory, false)) {
    self->no_memory = true;
    self->lost_data |= data;
  }
}

// Records an access, unless it is to all of a buffer that is used as a whole.
static inline bool record_range(weir_context *context, const weir__access *access, weir_buffer *buffer, weir__id id) {
  const weir__liveness *live = &context->host.window.live;
  weir__dependences *dependences = &context->order.dependences;
  bool part = access->hi - access->lo != buffer->bytes;
  if (!part && !buffer->ranged) return false;
  if (!part || !buffer->ranged)
    weir__buffer_access_range(buffer, &context->order.ranges, live, id, (weir_mode)access->mode, access->lo, access->hi,
                              dependences);
  else if (access->mode == WEIR_READ)
    weir__range_map_read(&buffer->map, live, id, access->lo, access->hi, dependences);
  else
    weir__range_map_write(&buffer->map, live, id, access->mode == WEIR_READ_WRITE, access->lo, access->hi, dependences);
  return true;
}

static inline __attribute__((always_inline)) void record_whole(weir_context *context, const weir__access *access,
                                                               weir_buffer *buffer, edges *self) {
  const weir__liveness *live = &self->window->live;
  weir__dependences *dependences = &context->order.dependences;
  weir__id id = self->task->id;
  if (access->mode == WEIR_READ)
    weir__segment_read_to(&buffer->whole, live, id, access->lo, access->hi, dependences, connect, self);
  else
    weir__segment_write_to(&buffer->whole, live, id, access->mode == WEIR_READ_WRITE, access->lo, access->hi,
                           dependences, connect, self);
}

// And puts the access's address into `pointer`.
static inline __attribute__((always_inline)) void record(weir_context *context, weir__access *access, void **pointer,
                                                         bool ranged, edges *self) {
  weir_buffer *buffer = access->buffer;
  buffer->last_use = self->task->id;
  if (!ranged || !record_range(context, access, buffer, self->task->id)) record_whole(context, access, buffer, self);
  if (access->mode != WEIR_READ) buffer->valid = weir__space_bit(WEIR__HOST_SPACE);
  access->serial = buffer->serial;
  *pointer = (char *)buffer->replicas[WEIR__HOST_SPACE].memory + access->lo;
}

static inline __attribute__((always_inline)) void record_all(weir_context *context, const plain_args *args,
                                                             void **pointers, bool ranged, edges *self) {
  weir__access *access = args->accesses, *end = access + args->access_count;
  for (void **pointer = pointers; access != end; access++, pointer++) record(context, access, pointer, ranged, self);
}

// Predecessors that were listed: of ranges, of storage, of sets.
static inline void connect_listed(const weir__dependences *dependences, edges *self) {
  for (size_t i = 0; i < dependences->count; i++) {
    const weir__dependence *dependence = &dependences->list[i];
    if (dependence->task != 0)
      weir__window_connect(self->window, dependence->task, self->task, dependence->data, true, &self->no_memory);
  }
}

// Memory ran out. What became an edge at once is not listed.
static __attribute__((noinline, cold)) void hold(weir_context *context, const edges *self) {
  weir__dependences *dependences = &context->order.dependences;
  dependences->incomplete |= self->no_memory;
  dependences->unlisted_data |= self->lost_data;
  weir__hold(context, self->task, dependences);
}

static inline __attribute__((always_inline)) weir__task *begin(weir_context *context, const weir_task *asked,
                                                               const weir_device *device, const plain_args *args,
                                                               weir_event *event) {
  weir__task *task = weir__window_begin_alone(&context->host.window);
  weir__fill_asked(task, asked, device);
  task->accesses = args->accesses;
  task->access_count = args->access_count;
  task->asked = WEIR__NO_CHECK;
  task->kind = asked->kernel != NULL ? WEIR__TASK_KERNEL : WEIR__TASK_HOST;
  task->run = NULL;
  task->move = NULL;
  task->event = event;
  return task;
}

// Storage for buffers that have none, as far as there is some without waiting; a task that is not admitted after all leaves it.
static __attribute__((noinline)) bool give_storage(weir_context *context, const plain_args *args) {
  weir__pool *pool = &context->memory.pools[WEIR__HOST_SPACE];
  for (uint32_t i = 0; i < args->access_count; i++) {
    weir_buffer *buffer = args->accesses[i].buffer;
    if (buffer->replicas[WEIR__HOST_SPACE].memory != NULL) continue;
    weir__block *block;
    if (weir__pool_take(pool, buffer->bytes, &context->host.window.live, &block) != WEIR__POOL_OK) return false;
    weir__buffer_set_storage(buffer, WEIR__HOST_SPACE, block);
  }
  return true;
}

// Other storage for large buffers that are overwritten while they are in use. It is never waited for here, since they have some.
static __attribute__((noinline)) void rename_large(weir_context *context, const weir_task *task,
                                                   const plain_args *args) {
  weir_status status;
  weir__request request = {.task = task, .accesses = args->accesses, .fresh = context->order.fresh};
  request.checked.access_count = args->access_count;
  request.checked.needs_storage = args->overwritten;
  (void)weir__storage_find(context, &request, &status);
  for (uint32_t i = 0; i < args->access_count; i++) {
    if (args->overwritten >> i & 1) weir__storage_bind(context, &request, i);
  }
}

// Buffers that are overwritten get other storage, if tasks in flight use what they have.
static inline void rename(weir_context *context, const weir_task *task, const plain_args *args) {
  uint64_t left = args->overwritten;
  while (left != 0 && weir__storage_exchange(context, args->accesses[__builtin_ctzll(left)].buffer)) left &= left - 1;
  if (left == 0) return;
  plain_args large = *args;
  large.overwritten = left;
  rename_large(context, task, &large);
}

// Takes the task in. False, as below, where memory is short.
static inline __attribute__((always_inline)) bool admit(weir_context *context, const weir_task *asked,
                                                        weir_device *device, const plain_args *args,
                                                        weir_event **out_event) {
  weir__window *window = &context->host.window;
  if ((args->needs & RANGED) && !weir__range_pool_reserve(&context->order.ranges, args->access_count)) return false;
  if ((args->needs & BARE) && !give_storage(context, args)) return false;
  weir_event *event = out_event != NULL ? weir__event_take(context, window->next, NULL) : NULL;
  if (out_event != NULL) {
    if (event == NULL) return false;
    *out_event = event;
  }
  weir__task *task = begin(context, asked, device, args, event);
  if (asked->label != NULL) weir__context_keep_label(context, task, asked->label);
  weir__dependences *dependences = &context->order.dependences;
  weir__dependences_clear(dependences);
  if (args->overwritten != 0) rename(context, asked, args);
  edges self = {.window = window, .task = task};
  void **pointers = (void **)(void *)(args->accesses + args->access_count);
  if (args->needs & RANGED)
    record_all(context, args, pointers, true, &self);
  else // a loop that calls nothing in most cases
    record_all(context, args, pointers, false, &self);
  if (dependences->count > 0) connect_listed(dependences, &self);
  task->args = pointers;
  if (args->needs & VALUED) weir__fill_args(task, asked, args->accesses, pointers);
  context->host.statistics.tasks++;
  if (self.no_memory | dependences->incomplete | dependences->unrecorded) hold(context, &self);
  window->next++;
  if (--task->blockers == 0) device->ops->issue(device, task);
  return true;
}

bool weir__submit_plain(weir_context *context, const weir_task *task, weir_event **out_event) {
  const weir__window *window = &context->host.window;
  if (!is_usual(context) || !asks_little(task)) return false;
  weir_device *device = device_of(context, task);
  if (device == NULL) return false;
  plain_args args;
  if (!take_args(context, task, weir__window_task(window, window->next), &args)) return false;
  return admit(context, task, device, &args, out_event);
}

void weir__plain_prepare(const weir_task *task, weir__plain_form *out_form) {
  *out_form = (weir__plain_form){.plain = asks_little(task)};
  for (uint32_t i = 0; i < task->arg_count && out_form->plain; i++) {
    const weir_arg *arg = &task->args[i];
    uint64_t mode = weir__plain_mode(arg);
    if (mode == WEIR_VALUE) {
      out_form->valued = true;
      continue;
    }
    if (mode > WEIR_READ_WRITE) out_form->plain = false;
    uint32_t index = out_form->access_count++;
    out_form->accesses[index].lo = arg->offset;
    out_form->accesses[index].bytes = arg->bytes;
    out_form->accesses[index].mode = (uint8_t)mode;
    out_form->accesses[index].whole = arg->offset == 0 && arg->bytes == WEIR_WHOLE;
  }
}

// Room for the pointers, and for the values of a task that has some. False: an address is missing, or there is no memory.
static bool take_values(const weir_task *task, weir__task *slot, plain_args *args) {
  uint64_t room = args->access_count * sizeof *args->accesses + task->arg_count * sizeof(void *);
  for (uint32_t i = 0; i < task->arg_count; i++) {
    if (task->args[i].mode != WEIR_VALUE) continue;
    if (task->args[i].value == NULL) return false;
    room += task->args[i].bytes + 8 + 15;
  }
  args->needs |= VALUED;
  return room <= WEIR__TASK_INLINE_PAYLOAD || move_args(slot, room, args);
}

bool weir__submit_prepared(weir_context *context, const weir_task *task, const weir__plain_form *form,
                           weir_buffer *const *buffers, weir_event **out_event) {
  const weir__window *window = &context->host.window;
  if (!form->plain || !is_usual(context)) return false;
  weir_device *device = device_of(context, task);
  if (device == NULL) return false;
  weir__task *slot = weir__window_task(window, window->next);
  plain_args args;
  if (!take_form(context, form, buffers, slot, &args)) return false;
  if (form->valued && !take_values(task, slot, &args)) return false;
  return admit(context, task, device, &args, out_event);
}
