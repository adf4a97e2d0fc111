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
#include "engine/storage.h"

// Whether an access needs nothing that is elsewhere. `*out_storage`: it may need storage, or change where the contents are.
static inline bool is_here(const weir__access *access, const weir__liveness *live, bool *out_storage) {
  const weir_buffer *buffer = access->buffer;
  const weir__replica *replica = &buffer->replicas[access->space];
  uint16_t here = weir__space_bit(access->space);
  bool whole = access->hi - access->lo == buffer->bytes;
  if (buffer->image) return false;
  *out_storage = replica->memory == NULL;
  if (buffer->valid == here) {
    bool others = (buffer->held & ~here) != 0, in_use = whole && buffer->last_use >= live->oldest;
    *out_storage |= access->mode == WEIR_WRITE && (others | in_use);
    return true;
  }
  if (buffer->parts != NULL) return false;
  if (access->mode == WEIR_READ) return buffer->valid == 0 || (buffer->valid & here) != 0;
  *out_storage = true;
  return !buffer->wrapped && (buffer->valid == 0 || (access->mode == WEIR_WRITE && whole));
}

// The accesses for which that is so, a bit each. False: some access needs more.
static inline bool find_here(const weir__plain_args *args, const weir__liveness *live, uint64_t *out_storage) {
  uint64_t found = 0;
  for (uint32_t i = 0; i < args->access_count; i++) {
    bool storage;
    if (!is_here(&args->accesses[i], live, &storage)) return false;
    found |= (uint64_t)storage << i;
  }
  *out_storage = found;
  return found == 0 || !(args->needs & WEIR__PLAIN_REPEATS);
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

static inline __attribute__((always_inline)) void record(weir_context *context, weir__access *access,
                                                         weir__plain_edges *self) {
  weir_buffer *buffer = access->buffer;
  const weir__liveness *live = &self->window->live;
  weir__dependences *dependences = &context->order.dependences;
  weir__id id = self->task->id;
  if (access->mode != WEIR_WRITE) weir__depend_on_arrivals(context, buffer, access->space, access->lo, access->hi);
  buffer->last_use = id;
  if (buffer->ranged || access->hi - access->lo != buffer->bytes)
    weir__buffer_access_range(buffer, &context->order.ranges, live, id, (weir_mode)access->mode, access->lo, access->hi,
                              dependences);
  else if (access->mode == WEIR_READ)
    weir__segment_read_to(&buffer->whole, live, id, access->lo, access->hi, dependences, connect, self);
  else
    weir__segment_write_to(&buffer->whole, live, id, access->mode == WEIR_READ_WRITE, access->lo, access->hi,
                           dependences, connect, self);
  access->serial = buffer->serial;
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

// Takes the task in. False: memory is short.
static bool admit(weir_context *context, const weir_task *asked, weir_device *device, const weir__plain_args *args,
                  uint64_t storage, weir_event **out_event) {
  weir__window *window = &context->host.window;
  if ((args->needs & WEIR__PLAIN_RANGED) && !weir__range_pool_reserve(&context->order.ranges, args->access_count))
    return false;
  if (context->memory.predictor != NULL) weir__predictor_note(context->memory.predictor, asked);
  weir__request request = {.task = asked, .accesses = args->accesses, .fresh = context->order.fresh};
  request.checked.access_count = args->access_count;
  request.checked.needs_storage = storage;
  if (storage != 0 && !weir__storage_find_at_once(context, &request)) return false;
  weir_event *event = out_event != NULL ? weir__event_take(context, window->next, NULL) : NULL;
  if (out_event != NULL) {
    if (event == NULL) {
      weir__storage_give_back(context, &request, args->access_count);
      return false;
    }
    *out_event = event;
  }
  weir__task *task = begin(context, asked, device, args, event);
  if (asked->label != NULL) weir__context_keep_label(context, task, asked->label);
  weir__dependences *dependences = &context->order.dependences;
  weir__dependences_clear(dependences);
  for (uint64_t left = storage; left != 0; left &= left - 1)
    weir__storage_bind(context, &request, (uint32_t)__builtin_ctzll(left));
  weir__plain_edges self = {.window = window, .task = task};
  for (uint32_t i = 0; i < args->access_count; i++) record(context, &args->accesses[i], &self);
  for (size_t i = 0; i < dependences->count; i++) {
    const weir__dependence *dependence = &dependences->list[i];
    if (dependence->task != 0) connect(&self, dependence->task, WEIR__HAZARD_AFTER, dependence->data, 0, 0);
  }
  weir__fill_args(task, asked, args->accesses, (void **)(void *)(args->accesses + args->access_count));
  context->host.statistics.tasks++;
  if (self.no_memory | dependences->incomplete | dependences->unrecorded) weir__plain_hold(context, &self);
  commit(context, device, task);
  return true;
}

bool weir__submit_plain_ahead(weir_context *context, const weir_task *task, weir_event **out_event) {
  const weir__window *window = &context->host.window;
  if (!weir__plain_is_usual(context) || !weir__plain_asks_little(task) || task->kernel == NULL) return false;
  weir_device *device = weir__plain_device(context, task);
  if (device == NULL || !device->ops->run_ahead || device->space == WEIR__HOST_SPACE) return false;
  if (task->device != NULL && !device->ops->has_code(device, task->kernel)) return false;
  weir__plain_args args;
  uint64_t storage;
  weir__task *slot = weir__window_task(window, window->next);
  if (!weir__plain_take_args(context, task, device->space, slot, &args) || !find_here(&args, &window->live, &storage))
    return false;
  if (device->ops->check != NULL && device->ops->check(device, task) != WEIR_OK) return false;
  return admit(context, task, device, &args, storage, out_event);
}
