// SPDX-License-Identifier: Apache-2.0
//
// DESIGN. Most tasks are a function of the CPU with a few buffers, values and byte ranges, and nothing is special about
// them or their context. The way of all tasks (engine/submit.c, engine/admit.c) asks at each step about what is
// special: memory of devices, boxes, reductions, images, timelines, groups, predecessors that the task names, waiting.
// Here that is asked once, for the context, the task and each argument. What remains is the same in the same order:
// check, storage, dependences, edges, commit. Predecessors become edges where they are found.
//
// Whatever is not plain, and whatever is wrong, is left to the way of all tasks before anything has changed.
#include "engine/plain_inside.h"

#include "engine/admit.h"
#include "engine/check.h"
#include "engine/fill.h"
#include "engine/plain_whole.h"
#include "engine/storage.h"

void weir__plain_open(weir_context *context) {
  const weir__host *host = &context->host;
  bool usual = !context->devices.polls && context->devices.checker == NULL && host->watch == NULL &&
               (host->flags & ~(uint32_t)(WEIR_CONTEXT_NO_RENAME | WEIR_CONTEXT_REPEATS)) == 0;
  if (!usual) return;
  if (context->memory.space_count > 1)
    context->devices.plain = WEIR__PLAIN_AHEAD;
  else if (context->memory.predictor == NULL)
    context->devices.plain = WEIR__PLAIN_HOST;
  for (uint32_t i = 0; i < host->device_count; i++) {
    weir_device *device = host->devices[i];
    device->plain = context->devices.plain == WEIR__PLAIN_HOST && !device->ops->run_ahead && device->ops->check == NULL;
  }
}

// The device of a task; NULL: it is none of the CPU, or something is wrong.
static inline weir_device *device_of(const weir_context *context, const weir_task *task) {
  weir_kernel *kernel = task->kernel;
  weir_device *device = weir__plain_device(context, task);
  if (device == NULL || device->ops->run_ahead || device->ops->check != NULL) return NULL;
  bool chosen = kernel != NULL && task->device == NULL;
  return chosen || device->ops->has_code(device, kernel) ? device : NULL;
}

void weir__plain_hold(weir_context *context, const weir__plain_edges *self) {
  weir__dependences *dependences = &context->order.dependences;
  dependences->incomplete |= self->no_memory;
  dependences->unlisted_data |= self->lost_data;
  weir__hold(context, self->task, dependences);
}

// The same for accesses of a known form.
static inline bool take_form(weir_context *context, const weir__plain_form *form, weir_buffer *const *buffers,
                             weir__task *slot, weir__plain_args *out) {
  weir__access *accesses = (weir__access *)(void *)slot->payload;
  uint64_t check = ++context->checks, overwritten = 0;
  uint32_t needs = 0;
  uint32_t count = form->access_count;
  for (uint32_t i = 0; i < count; i++) {
    uint64_t mode = form->accesses[i].mode;
    if (!weir__plain_take_access(context, check, buffers[i], mode, form->accesses[i].whole, WEIR__HOST_SPACE,
                                 form->accesses[i].lo, form->accesses[i].bytes, &accesses[i], &needs))
      return false;
    if (weir__plain_overwrites(&accesses[i], mode)) overwritten |= (uint64_t)1 << i;
  }
  out->accesses = accesses;
  out->access_count = count;
  out->needs = needs;
  out->overwritten = overwritten;
  return weir__plain_is_right(out);
}

static inline __attribute__((always_inline)) void connect(void *user, weir__id task, weir__hazard hazard, bool data,
                                                          uint64_t lo, uint64_t hi) {
  weir__plain_edges *self = user;
  (void)hazard;
  (void)lo;
  (void)hi;
  bool no_memory = false;
  weir__window_connect(self->window, task, self->task, data, true, &no_memory);
  weir__plain_note_edge(self, no_memory, data);
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
                                                               weir_buffer *buffer, weir__plain_edges *self) {
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
                                                         bool ranged, weir__plain_edges *self) {
  weir_buffer *buffer = access->buffer;
  buffer->last_use = self->task->id;
  if (!ranged || !record_range(context, access, buffer, self->task->id)) record_whole(context, access, buffer, self);
  if (access->mode != WEIR_READ) buffer->valid = weir__space_bit(WEIR__HOST_SPACE);
  access->serial = buffer->serial;
  *pointer = (char *)buffer->replicas[WEIR__HOST_SPACE].memory + access->lo;
}

static inline __attribute__((always_inline)) void record_all(weir_context *context, const weir__plain_args *args,
                                                             void **pointers, bool ranged, weir__plain_edges *self) {
  weir__access *access = args->accesses, *end = access + args->access_count;
  for (void **pointer = pointers; access != end; access++, pointer++) record(context, access, pointer, ranged, self);
}

// Predecessors that were listed: of ranges, of storage, of sets.
static inline void connect_listed(const weir__dependences *dependences, weir__plain_edges *self) {
  for (size_t i = 0; i < dependences->count; i++) {
    const weir__dependence *dependence = &dependences->list[i];
    if (dependence->task != 0)
      weir__window_connect(self->window, dependence->task, self->task, dependence->data, true, &self->no_memory);
  }
}

static inline __attribute__((always_inline)) weir__task *begin(weir_context *context, const weir_task *asked,
                                                               const weir_device *device, const weir__plain_args *args,
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

// Storage for buffers that have none, as far as there is some without waiting; a task that is not admitted after all
// leaves it.
static __attribute__((noinline)) bool give_storage(weir_context *context, const weir__plain_args *args) {
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

// Other storage for large buffers that are overwritten while they are in use. It is never waited for here, since they
// have some.
static __attribute__((noinline)) void rename_large(weir_context *context, const weir_task *task,
                                                   const weir__plain_args *args) {
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
static inline void rename(weir_context *context, const weir_task *task, const weir__plain_args *args) {
  uint64_t left = args->overwritten;
  while (left != 0 && weir__storage_exchange(context, args->accesses[__builtin_ctzll(left)].buffer)) left &= left - 1;
  if (left == 0) return;
  weir__plain_args large = *args;
  large.overwritten = left;
  rename_large(context, task, &large);
}

// Takes the task in. False, as below, where memory is short.
static inline __attribute__((always_inline)) bool admit(weir_context *context, const weir_task *asked,
                                                        weir_device *device, const weir__plain_args *args,
                                                        weir_event **out_event) {
  weir__window *window = &context->host.window;
  if ((args->needs & WEIR__PLAIN_RANGED) && !weir__range_pool_reserve(&context->order.ranges, args->access_count))
    return false;
  if ((args->needs & WEIR__PLAIN_BARE) && !give_storage(context, args)) return false;
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
  weir__plain_edges self = {.window = window, .task = task};
  void **pointers = (void **)(void *)(args->accesses + args->access_count);
  if (args->needs & WEIR__PLAIN_RANGED)
    record_all(context, args, pointers, true, &self);
  else // a loop that calls nothing in most cases
    record_all(context, args, pointers, false, &self);
  if (dependences->count > 0) connect_listed(dependences, &self);
  task->args = pointers;
  if (args->needs & WEIR__PLAIN_VALUED) weir__fill_args(task, asked, args->accesses, pointers);
  context->host.statistics.tasks++;
  if (self.no_memory | dependences->incomplete | dependences->unrecorded) weir__plain_hold(context, &self);
  window->next++;
  if (--task->blockers == 0) device->ops->issue(device, task);
  return true;
}

bool weir__whole_look(weir_context *context) {
  weir__window *window = &context->host.window;
  if (!weir__plain_is_usual(context)) return false;
  window->usual_until = window->live.oldest + window->size - window->kept - window->reserved;
  return true;
}

void weir__whole_rename(weir_context *context, const weir_task *asked, weir__task *slot, weir__access *access) {
  weir__access *first = (weir__access *)(void *)slot->payload;
  uint32_t index = (uint32_t)(access - first);
  const weir__plain_args up_to_this = {
      .accesses = first, .access_count = index + 1, .overwritten = (uint64_t)1 << index};
  weir__dependences_clear(&context->order.dependences);
  rename_large(context, asked, &up_to_this);
}

void weir__whole_hold(weir_context *context, weir__task *task, uint32_t lacks) {
  const weir__plain_edges edges = {.task = task,
                                   .no_memory = (lacks & WEIR__WHOLE_LACKS_EDGE) != 0,
                                   .lost_data = (lacks & WEIR__WHOLE_LACKS_DATA) != 0};
  weir__dependences_clear(&context->order.dependences);
  context->order.dependences.unrecorded = (lacks & WEIR__WHOLE_LACKS_READER) != 0;
  weir__plain_hold(context, &edges);
}

bool weir__submit_plain_other(weir_context *context, const weir_task *task, weir_device *device,
                              weir_event **out_event) {
  const weir__window *window = &context->host.window;
  if (device == NULL) {
    if (!weir__plain_is_usual(context) || !weir__plain_asks_little(task)) return false;
    device = device_of(context, task);
    if (device == NULL) return false;
  }
  weir__plain_args args;
  if (!weir__plain_take_args(context, task, WEIR__HOST_SPACE, weir__window_task(window, window->next), &args))
    return false;
  return admit(context, task, device, &args, out_event);
}

bool weir__submit_plain(weir_context *context, const weir_task *task, weir_event **out_event) {
  weir_device *device;
  return weir__submit_whole(context, task, out_event, &device) ||
         weir__submit_plain_other(context, task, device, out_event);
}

void weir__plain_prepare(const weir_task *task, weir__plain_form *out_form) {
  *out_form = (weir__plain_form){.plain = weir__plain_asks_little(task), .whole = weir__whole_asks_nothing(task)};
  for (uint32_t i = 0; i < task->arg_count && out_form->plain; i++) {
    const weir_arg *arg = &task->args[i];
    uint64_t mode = weir__plain_mode(arg);
    if (mode == WEIR_VALUE) {
      out_form->valued = true;
      out_form->whole = false;
      continue;
    }
    if (mode > WEIR_READ_WRITE) out_form->plain = false;
    uint32_t index = out_form->access_count++;
    out_form->accesses[index].lo = arg->offset;
    out_form->accesses[index].bytes = arg->bytes;
    out_form->accesses[index].mode = (uint8_t)mode;
    out_form->accesses[index].whole = arg->offset == 0 && arg->bytes == WEIR_WHOLE;
    out_form->whole &= out_form->accesses[index].whole;
  }
}

// Room for the pointers, and for the values of a task that has some. False: an address is missing, or there is no
// memory.
static bool take_values(const weir_task *task, weir__task *slot, weir__plain_args *args) {
  uint64_t room = args->access_count * sizeof *args->accesses + task->arg_count * sizeof(void *);
  for (uint32_t i = 0; i < task->arg_count; i++) {
    if (task->args[i].mode != WEIR_VALUE) continue;
    if (task->args[i].value == NULL) return false;
    room += task->args[i].bytes + 8 + 15;
  }
  args->needs |= WEIR__PLAIN_VALUED;
  return room <= WEIR__TASK_INLINE_PAYLOAD || weir__plain_move(slot, room, args);
}

static __attribute__((noinline)) bool submit_form(weir_context *context, const weir_task *task,
                                                  const weir__plain_form *form, weir_buffer *const *buffers,
                                                  weir_event **out_event) {
  const weir__window *window = &context->host.window;
  if (context->devices.plain != WEIR__PLAIN_HOST || !weir__plain_is_usual(context)) return false;
  weir_device *device = device_of(context, task);
  if (device == NULL) return false;
  weir__task *slot = weir__window_task(window, window->next);
  weir__plain_args args;
  if (!take_form(context, form, buffers, slot, &args)) return false;
  if (form->valued && !take_values(task, slot, &args)) return false;
  return admit(context, task, device, &args, out_event);
}

bool weir__submit_prepared(weir_context *context, const weir_task *task, const weir__plain_form *form,
                           weir_buffer *const *buffers, weir_event **out_event) {
  if (!form->plain) return false;
  const weir__whole_task whole = {.asked = task, .form = form, .buffers = buffers};
  weir_device *device;
  if (form->whole && weir__whole_may_enter(context) && (device = weir__whole_device(context, task)) != NULL &&
      weir__whole_is_one(context, &whole, form->access_count))
    return weir__whole_admit(context, &whole, form->access_count, device, out_event);
  return submit_form(context, task, form, buffers, out_event);
}
