// SPDX-License-Identifier: Apache-2.0
#include "engine/place.h"

#include <string.h>

#include "engine/transfer.h"
#include "issue/placement.h"

static_assert((int)WEIR__PLACEMENT_DEVICES == (int)WEIR__MAX_DEVICES, "each device has a queue");
static_assert((int)WEIR__PLACEMENT_SPACES == (int)WEIR__MAX_SPACES, "each pair of spaces has a link");

// Simulated devices have speeds of their own, which their names say.
static bool are_alike(const weir_device *a, const weir_device *b) {
  return a->ops == b->ops && strcmp(a->description, b->description) == 0 &&
         (a->ops->code != WEIR__CODE_SIM || strcmp(a->name, b->name) == 0);
}

static uint32_t model_of(const weir_context *context, uint32_t device) {
  uint32_t model = 0;
  while (!are_alike(context->host.devices[model], context->host.devices[device])) model++;
  return model;
}

bool weir__place_open(weir_context *context) {
  if (!(context->host.flags & WEIR_CONTEXT_PLACE) || context->devices.checker != NULL) return true;
  context->placement = weir__placement_create(context->host.window.size);
  for (uint32_t i = 0; i < context->host.device_count && context->placement != NULL; i++)
    weir__placement_set_kind(context->placement, i, context->host.devices[i]->ops, model_of(context, i));
  return context->placement != NULL;
}

static size_t slot_of(const weir_context *context, weir__id id) {
  return (size_t)(id & context->host.window.live.mask);
}

// What a task reads and where, as far as placing it goes.
typedef struct asked {
  weir_context *context;
  uint32_t space;
  uint64_t ready_ns, moves_ns, updates_ns;
  uint64_t fresh; // bytes of buffers without storage in the space
  uint64_t bytes; // that it accesses
} asked;

static void await_writer(void *user, uint64_t lo, uint64_t hi, weir__segment *segment) {
  asked *self = user;
  weir__id writer = weir__segment_last_writer(segment);
  (void)lo;
  (void)hi;
  if (!weir__live(&self->context->host.window.live, writer)) return;
  uint64_t left = weir__placement_left(self->context->placement, slot_of(self->context, writer));
  if (left > self->ready_ns) self->ready_ns = left;
}

static uint64_t move_ns(const weir_context *context, uint32_t from, uint32_t to, uint64_t bytes) {
  const weir__placement *placement = context->placement;
  if (weir__is_near(context, from, to)) return weir__placement_move_ns(placement, from, to, bytes);
  return weir__placement_move_ns(placement, from, WEIR__HOST_SPACE, bytes) +
         weir__placement_move_ns(placement, WEIR__HOST_SPACE, to, bytes);
}

// From the nearest of the spaces that have the bytes.
static uint64_t bring_ns(const weir_context *context, uint16_t spaces, uint32_t to, uint64_t bytes) {
  uint64_t least = UINT64_MAX;
  for (; spaces != 0; spaces &= (uint16_t)(spaces - 1)) {
    uint64_t ns = move_ns(context, (uint32_t)__builtin_ctz(spaces), to, bytes);
    if (ns < least) least = ns;
  }
  return least;
}

static void ask_range(asked *self, weir_buffer *buffer, uint64_t lo, uint64_t hi) {
  weir__buffer_visit(buffer, lo, hi, await_writer, self);
  if (self->context->memory.space_count == 1 || buffer->valid == 0) return;
  uint16_t lost = weir__lost_spaces(self->context);
  for (uint64_t at = lo, end; at < hi; at = end) {
    uint16_t spaces = (uint16_t)(weir__buffer_spaces(buffer, at, &end) & ~lost);
    if (end > hi) end = hi;
    if (spaces != 0 && !(spaces & weir__space_bit(self->space)))
      self->moves_ns += bring_ns(self->context, spaces, self->space, end - at);
  }
}

// False: something is wrong with the argument.
static bool ask(asked *self, const weir_arg *arg) {
  if (arg->mode == WEIR_VALUE) return true;
  weir_buffer *buffer = arg->buffer;
  if (buffer == NULL || !weir__object_is(&buffer->object, WEIR__KIND_BUFFER) ||
      buffer->object.context != self->context || arg->offset >= buffer->bytes)
    return false;
  uint64_t bytes = arg->shape == WEIR_RANGE ? arg->bytes : WEIR_WHOLE;
  if (bytes > buffer->bytes - arg->offset) bytes = buffer->bytes - arg->offset;
  if (buffer->replicas[self->space].memory == NULL) self->fresh += buffer->bytes;
  self->bytes += bytes;
  uint64_t before = self->moves_ns;
  if (arg->mode != WEIR_WRITE && bytes > 0) ask_range(self, buffer, arg->offset, arg->offset + bytes);
  if (arg->mode != WEIR_READ) self->updates_ns += self->moves_ns - before;
  return true;
}

// Where a memory is full, others give way to what is new there.
static uint64_t eviction_ns(const weir_context *context, uint32_t space, uint64_t fresh) {
  if (space == WEIR__HOST_SPACE) return 0;
  const weir__pool *pool = &context->memory.pools[space];
  uint64_t most = context->memory.devices[space]->memory_bytes;
  if (most == 0 || most > pool->limit) most = pool->limit;
  uint64_t used = pool->bytes - pool->free_bytes;
  return used > most || fresh > most - used ? move_ns(context, space, WEIR__HOST_SPACE, fresh) : 0;
}

// Images, and wrapped memory of a device that others do not reach, are used where they are.
static bool may_go(const weir_context *context, const weir_task *task, uint32_t space) {
  for (uint32_t i = 0; i < task->arg_count; i++) {
    const weir_arg *arg = &task->args[i];
    if (arg->mode == WEIR_VALUE || !arg->buffer->wrapped || arg->buffer->home == space) continue;
    if (arg->buffer->image || !weir__is_direct(context, space, arg->buffer->home)) return false;
  }
  return true;
}

static bool can_run(const weir_device *device, const weir_task *task) {
  return !device->lost && device->ops->has_code(device, task->kernel) &&
         (device->ops->check == NULL || device->ops->check(device, task) <= WEIR_PENDING);
}

static uint64_t groups_of(const uint32_t groups[3]) {
  uint64_t count = 1;
  for (int i = 0; i < 3; i++) count *= groups[i] == 0 ? 1 : groups[i];
  return count;
}

weir_device *weir__place(weir_context *context, const weir_task *task) {
  weir_kernel *kernel = task->kernel;
  if (!weir__object_is(&kernel->object, WEIR__KIND_KERNEL) || kernel->object.context != context || task->host != NULL ||
      task->arg_count > WEIR_MAX_ARGS || (task->args == NULL && task->arg_count > 0))
    return NULL;
  weir__candidate candidates[WEIR__MAX_DEVICES];
  uint32_t count = 0;
  for (uint32_t i = 0; i < context->devices.listed_count; i++) {
    weir_device *device = context->host.devices[i];
    if (!can_run(device, task)) continue;
    asked about = {.context = context, .space = device->space};
    for (uint32_t j = 0; j < task->arg_count; j++) {
      if (!ask(&about, &task->args[j])) return NULL;
    }
    if (!may_go(context, task, device->space)) continue;
    candidates[count++] =
        (weir__candidate){.device = i,
                          .run_ns = weir__placement_expected(context->placement, kernel->group_ns, i,
                                                             groups_of(task->groups), about.bytes),
                          .ready_ns = about.ready_ns,
                          .updates_ns = about.updates_ns,
                          .moves_ns = about.moves_ns + eviction_ns(context, device->space, about.fresh)};
  }
  if (count == 0) return NULL;
  return context->host.devices[candidates[weir__placement_choose(context->placement, candidates, count)].device];
}

weir_device *weir__place_contents(const weir_context *context, uint64_t bytes) {
  weir_device *best = NULL;
  uint64_t least = UINT64_MAX;
  for (uint32_t space = 1; space < context->memory.space_count; space++) {
    const weir__pool *pool = &context->memory.pools[space];
    weir_device *device = context->memory.devices[space];
    uint64_t used = pool->bytes - pool->free_bytes;
    if (device->lost || used >= least || eviction_ns(context, space, bytes) > 0) continue;
    least = used;
    best = device;
  }
  return best;
}

static uint64_t bytes_of(const weir__task *task) {
  uint64_t bytes = 0;
  for (uint32_t i = 0; i < task->access_count; i++) bytes += task->accesses[i].hi - task->accesses[i].lo;
  return bytes;
}

void weir__place_queued(weir_context *context, const weir__task *task) {
  size_t slot = slot_of(context, task->id);
  if (task->kind == WEIR__TASK_TRANSFER) {
    const weir__move *move = task->move;
    uint64_t ns = weir__placement_move_ns(context->placement, move->source_space, move->destination_space, move->bytes);
    weir__placement_queue(context->placement, slot, task->device, ns, true);
  } else if (task->kind == WEIR__TASK_KERNEL) {
    uint64_t ns = weir__placement_expected(context->placement, task->kernel->group_ns, task->device,
                                           groups_of(task->groups), bytes_of(task));
    weir__placement_queue(context->placement, slot, task->device, ns, false);
  }
}

static uint64_t now_on(const weir_context *context, const weir__task *task) {
  weir_device *device = context->host.devices[task->device];
  return device->ops->time(device);
}

void weir__place_issued(weir_context *context, const weir__task *task) {
  weir__placement_issue(context->placement, slot_of(context, task->id), now_on(context, task));
}

void weir__place_done(weir_context *context, const weir__task *task, const weir__completion *completion) {
  size_t slot = slot_of(context, task->id);
  uint64_t now_ns = completion->end_ns != 0 ? completion->end_ns : now_on(context, task);
  if (task->kind == WEIR__TASK_TRANSFER)
    weir__placement_moved(context->placement, slot, task->move->source_space, task->move->destination_space,
                          completion->status == WEIR_OK ? task->move->bytes : 0, now_ns);
  else if (task->kind == WEIR__TASK_KERNEL)
    weir__placement_done(context->placement, slot, completion->status == WEIR_OK ? &task->kernel->group_ns : NULL,
                         groups_of(task->groups), now_ns);
}
