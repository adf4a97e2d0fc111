// SPDX-License-Identifier: Apache-2.0
#include "engine/admit.h"

#include "device/graph.h"
#include "engine/arrivals.h"
#include "engine/boxes.h"
#include "engine/check.h"
#include "engine/external.h"
#include "engine/failures.h"
#include "engine/family.h"
#include "engine/fill.h"
#include "engine/place.h"
#include "engine/queue.h"
#include "engine/rules.h"
#include "engine/storage.h"
#include "engine/watch.h"
#include "engine/written.h"
#include "window/commute.h"

// Turns dependences into edges.
static inline void connect(weir_context *context, bool run_ahead, weir__task *task, weir__dependences *dependences) {
  weir__window *window = &context->host.window;
  bool no_memory = false;
  for (size_t i = 0; i < dependences->count && !run_ahead; i++) {
    const weir__dependence *dependence = &dependences->list[i];
    if (dependence->task != 0) weir__window_connect(window, dependence->task, task, dependence->data, true, &no_memory);
  }
  for (size_t i = 0; i < dependences->count && run_ahead; i++) {
    const weir__dependence *dependence = &dependences->list[i];
    if (dependence->task == 0) continue;
    bool same_device = weir__window_task(window, dependence->task)->device == task->device;
    bool blocks = !same_device || !weir__window_task(window, dependence->task)->issued;
    bool first = weir__window_connect(window, dependence->task, task, dependence->data, blocks, &no_memory);
    if (dependence->data && weir__window_task(window, dependence->task)->failing)
      weir__window_upstream_failed(window, task, dependence->task);
    if (first && same_device && !weir__window_add_predecessor(task, dependence->task)) no_memory = true;
  }
  if (no_memory) dependences->incomplete = true;
}

// Tells launches of graphs in flight which of their outputs this task reads.
static void note_readers(weir_context *context, const weir__task *task, const weir__dependences *dependences) {
  for (size_t i = 0; i < dependences->count; i++) {
    const weir__dependence *dependence = &dependences->list[i];
    if (!dependence->data || dependence->task == 0) continue;
    const weir__task *before = weir__window_task(&context->host.window, dependence->task);
    const weir__task_rules *rules = context->rules[before->kind];
    if (rules->note_reader != NULL)
      rules->note_reader(before, dependence, weir__dependence_box(dependences, dependence), task->id);
  }
}

// Records an access that commutes or is a box, or where contents move between memories, or where a timeline or a launch of a
// graph wants to know whose bytes a dependence is about.
static inline __attribute__((always_inline)) void record_access_inline(weir_context *context,
                                                                       const weir__access *access, weir__id id,
                                                                       bool several_spaces, bool notes_buffers) {
  weir__dependences *dependences = &context->order.dependences;
  weir_buffer *buffer = access->buffer;
  size_t before = dependences->count;
  if (several_spaces && access->mode != WEIR_WRITE)
    weir__depend_on_arrivals(context, buffer, access->space, access->lo, access->hi);
  const weir__liveness *live = &context->host.window.live;
  if (access->box != 0)
    weir__buffer_access_box(buffer, live, id, (weir_mode)access->mode, access->lo, access->hi, weir__access_box(access),
                            dependences);
  else if (access->mode == WEIR_COMMUTE)
    weir__buffer_commute(buffer, &context->order.ranges, live, id, access->lo, access->hi, dependences);
  else
    weir__buffer_access(buffer, &context->order.ranges, live, id, (weir_mode)access->mode, access->lo, access->hi,
                        dependences);
  for (size_t i = before; notes_buffers && i < dependences->count; i++) dependences->list[i].buffer = buffer->id;
}

static __attribute__((noinline)) void record_access(weir_context *context, const weir__access *access, weir__id id,
                                                    bool several_spaces, bool notes_buffers) {
  record_access_inline(context, access, id, several_spaces, notes_buffers);
}

// One that reads all of a buffer whose contents are where the task runs. The most frequent case is asked about at once: what wrote
// them is done, and so is who read them last.
static inline void record_settled(weir_context *context, weir__access *access, weir__id id) {
  const weir__liveness *live = &context->host.window.live;
  weir_buffer *buffer = access->buffer;
  weir__segment *users = &buffer->whole;
  access->serial = buffer->serial;
  bool usual = (users->odd == 0) & (users->writer < live->oldest) & (users->reader_count == 1) &
               (users->reader_capacity <= WEIR__SEGMENT_INLINE_READERS) &
               (buffer->replicas[access->space].arrival < live->oldest);
  if (!usual || users->readers.few[0] >= live->oldest) {
    record_access(context, access, id, context->memory.space_count > 1, true);
    return;
  }
  users->readers.few[0] = buffer->last_use = id;
}

// The accesses of a graph's launch, which are many.
static __attribute__((noinline)) void record_launch(weir_context *context, const weir__request *request, weir__id id) {
  bool several_spaces = context->memory.space_count > 1;
  uint32_t unsettled = request->run->unsettled;
  for (uint32_t i = 0; i < unsettled; i++) {
    weir__access *access = &request->accesses[i];
    weir__storage_bind_quickly(context, request, i);
    record_access_inline(context, access, id, several_spaces, true);
    access->serial = access->buffer->serial;
  }
  for (uint32_t i = unsettled; i < request->checked.access_count; i++)
    record_settled(context, &request->accesses[i], id);
  weir__depend_on_task(context, &context->order.dependences, request->run->after, WEIR__HAZARD_STORAGE);
}

// Predecessors that the task names.
static __attribute__((noinline, cold)) void find_after(weir_context *context, const weir_task *asked, weir__id id) {
  for (uint32_t i = 0; i < asked->after_count; i++) {
    for (weir__id after = asked->after[i]->task; after <= asked->after[i]->last; after++)
      weir__depend_on_task(context, &context->order.dependences, after, WEIR__HAZARD_AFTER);
  }
  weir__task *task = weir__window_task(&context->host.window, id);
  weir_device *device = task->kind == WEIR__TASK_KERNEL ? context->host.devices[task->device] : NULL;
  weir__externals_await(context, task, device, asked->after, asked->after_count);
  // The launch of a graph names only one that writes to the same memory by itself.
  if (task->run == NULL) weir__contents_await(context, task, asked->after, asked->after_count);
}

// Records the accesses, and collects all predecessors.
static inline void find_hazards(weir_context *context, const weir__request *request, weir__id id) {
  context->order.dependences.exact = (request->run != NULL) | (context->graphs.in_flight > 0);
  if (__builtin_expect(request->run != NULL, false)) {
    record_launch(context, request, id);
    if (request->task->after_count > 0) find_after(context, request->task, id);
    return;
  }
  const weir__liveness *live = &context->host.window.live;
  weir__dependences *dependences = &context->order.dependences;
  bool several_spaces = context->memory.space_count > 1;
  bool notes_buffers = context->host.trace != NULL || context->graphs.in_flight > 0 || context->failures != NULL;
  bool rare = several_spaces | notes_buffers | (request->checked.box_count > 0) | request->checked.commutes;
  int64_t needs_storage = (int64_t)request->checked.needs_storage; // the last bit stands for all further ones
  for (uint32_t i = 0; i < request->checked.access_count; i++) {
    weir__access *access = &request->accesses[i];
    weir_buffer *buffer = access->buffer;
    if (needs_storage & 1) weir__storage_bind(context, request, i);
    needs_storage >>= 1; // the last bit stays
    if (rare)
      record_access(context, access, id, several_spaces, notes_buffers);
    else
      weir__buffer_access(buffer, &context->order.ranges, live, id, (weir_mode)access->mode, access->lo, access->hi,
                          dependences);
    access->serial = buffer->serial;
  }
  if (__builtin_expect(request->task->after_count > 0, false)) find_after(context, request->task, id);
}

// What is copied the next time goes there, too, if no task wants it elsewhere.
static void note_copy(const weir__access *access) {
  weir_buffer *buffer = access->buffer;
  buffer->copied_in = buffer->last_use;
  if (buffer->brought == WEIR__HOST_SPACE && weir__access_is_whole(access, buffer->bytes))
    buffer->brought = access->space;
}

// Where the bytes of a copy are, as far as they are in buffers.
static void fill_move(const weir__request *request) {
  for (uint32_t i = 0; i < request->checked.access_count; i++) {
    const weir__access *access = &request->accesses[i];
    char *first = (char *)access->buffer->replicas[access->space].memory + access->lo;
    if (access->mode == WEIR_READ) {
      request->move->source = first;
    } else {
      request->move->destination = first;
      note_copy(access);
    }
  }
}

static inline void fill_task(const weir__request *request, weir__task *task) {
  weir__fill_asked(task, request->task, request->device);
  if (task->kernel != NULL) task->code = weir__kernel_code(task->kernel, request->device);
  task->accesses = request->accesses;
  task->access_count = request->checked.access_count;
  task->asked = request->asked;
  task->kind = (uint8_t)request->kind;
  task->run = request->run;
  task->move = request->move;
  task->guest = request->submission->guest;
}

void weir__hold(weir_context *context, weir__task *task, const weir__dependences *dependences) {
  context->order.hold = task->id + 1;
  weir__queue_update(context);
  if (!dependences->incomplete || context->host.window.live.oldest == task->id) return;
  task->blockers++;
  context->stalled.task = task;
  context->stalled.listed = !dependences->unlisted_data;
  context->stalled.failed_before = context->host.statistics.failed;
}

// A task that waits for nothing goes to its run-ahead device at once; nobody waits for its issue yet.
static inline void commit_run_ahead(weir_context *context, weir_device *device, weir__task *task) {
  if (task->blockers > 1 || context->host.trace != NULL ||
      (context->host.flags & (WEIR__CONTEXT_PROFILES | WEIR_CONTEXT_PLACE)) || context->ready.first != NULL) {
    weir__window_commit(&context->host.window, task);
    weir__context_issue_ready(context);
    if (task->awaits) weir__host_release(&context->host, task); // see weir__externals_await
    return;
  }
  context->host.window.next++;
  task->blockers = 0;
  task->issued = true; // first, for the device's thread may read the task from then on
  device->ops->issue(device, task);
  weir__window_fetch_ahead(&context->host.window);
}

static __attribute__((noinline)) void read_poison(weir_context *context, weir__task *task,
                                                  const weir__dependences *dependences) {
  task->reads_poison = true;
  size_t first = 0;
  while (first < dependences->count && (dependences->list[first].task != 0 || !dependences->list[first].data)) first++;
  const weir__dependence *bytes = first < dependences->count ? &dependences->list[first] : &(weir__dependence){0};
  weir__failures_blame(context, task, dependences->poisoned, bytes->buffer, bytes->lo, bytes->hi);
}

// What few contexts want. It stands where all dependences are known but that on a fence.
static __attribute__((noinline)) void follow(weir_context *context, const weir__request *request, weir__task *task) {
  weir__dependences *dependences = &context->order.dependences;
  if ((context->host.flags & WEIR_CONTEXT_IN_ORDER) && request->submission->aside == NULL) {
    weir__depend_on_task(context, dependences, context->order.last, WEIR__HAZARD_AFTER);
    context->order.last = task->id;
  }
  if (context->host.watch != NULL) weir__watch_admit(context, request, task, dependences);
  if (context->placement != NULL) weir__place_queued(context, task);
}

// The last part: edges, arguments, timeline, and off it goes.
static inline __attribute__((always_inline)) void commit(weir_context *context, const weir__request *request,
                                                         weir__task *task) {
  weir__dependences *dependences = &context->order.dependences;
  bool aside = request->submission->aside != NULL;
  if (context->host.flags & (WEIR_CONTEXT_IN_ORDER | WEIR__CONTEXT_WATCHED | WEIR_CONTEXT_PLACE))
    follow(context, request, task);
  if (context->order.fence != 0 && !aside)
    weir__depend_on_task(context, dependences, context->order.fence, WEIR__HAZARD_AFTER);
  if (dependences->poisoned != 0) read_poison(context, task, dependences);
  if (request->task->label != NULL) weir__context_keep_label(context, task, request->task->label);
  bool run_ahead = request->device->ops->run_ahead;
  connect(context, run_ahead, task, dependences);
  if (context->graphs.in_flight > 0) note_readers(context, task, dependences);
  if (request->kind <= WEIR__TASK_OPEN)
    weir__fill_args(task, request->task, request->accesses, request->pointers);
  else if (context->rules[request->kind]->bind != NULL)
    context->rules[request->kind]->bind(context, task, dependences);
  if (context->host.trace != NULL) weir__trace_admitted(context, request, task, dependences);
  if (dependences->incomplete || dependences->unrecorded) weir__hold(context, task, dependences);
  if (run_ahead)
    commit_run_ahead(context, request->device, task);
  else
    weir__window_commit(&context->host.window, task);
  task->guest = NULL;
}

void weir__commit(weir_context *context, const weir__request *request, weir__task *task) {
  fill_task(request, task);
  commit(context, request, task);
}

// What check mode wants to know of a task.
static __attribute__((noinline)) void note_check(weir_context *context, const weir__request *request,
                                                 const weir__task *task) {
  if (request->submission->aside != NULL) {
    context->order.aside++;
    return;
  }
  for (uint32_t i = 0; request->device != context->devices.checker && i < task->access_count; i++) {
    const weir__access *access = &task->accesses[i];
    if (access->mode != WEIR_READ)
      weir__written_add_box(access->buffer, access->lo, access->hi, weir__access_box(access));
  }
}

// Memory that cannot be foreseen to suffice.
static bool reserve(weir_context *context, const weir__request *request) {
  uint32_t count = request->checked.access_count;
  weir__range_pool *ranges = &context->order.ranges;
  uint32_t maps = request->run != NULL ? request->run->plan->buffer_count : count;
  if (!weir__range_pool_reserve_many(ranges, count, maps)) return false;
  if (request->checked.commutes && !weir__commute_reserve(request->accesses, count)) return false;
  bool boxes = ranges->boxes.map_count > 0 || request->checked.box_count > 0;
  return !boxes || weir__prepare_boxes(context, request->accesses, count);
}

// The task enters when it is released, if nothing else holds it then. One that stays open is told so.
static __attribute__((noinline)) void commit_commuting(weir_context *context, const weir__request *request,
                                                       weir__task *task) {
  if (request->kind == WEIR__TASK_OPEN) {
    task->commutes = WEIR__STAYS_OPEN;
    task->blockers++;
  } else {
    context->commuted = true;
    weir__commute_expect(task);
  }
  weir__commit(context, request, task);
  weir__host_release(&context->host, task);
}

weir__admit_result weir__admit(weir_context *context, const weir__request *request, weir_event **out_event,
                               weir_status *out_status) {
  weir__window *window = &context->host.window;
  if (request->checked.ranged && !reserve(context, request))
    return weir__no_memory(request->submission, "arguments", out_status);
  if (request->checked.needs_storage != 0) {
    weir__admit_result result = weir__storage_find(context, request, out_status);
    if (result != WEIR__ADMITTED) return result;
  }
  weir_event *event = NULL;
  if (out_event != NULL) {
    bool queued = request->submission->event != NULL;
    event = queued ? request->submission->event : weir__event_take(context, window->next, request->submission->target);
    if (event == NULL) {
      if (request->checked.needs_storage != 0)
        weir__storage_give_back(context, request, weir__storage_accesses(request));
      return weir__no_memory(request->submission, "event", out_status);
    }
    if (queued)
      event->task = event->last = window->next;
    else if (request->task->destroy != NULL)
      weir__event_own(event, request->task->destroy, request->task->user);
    if (request->submission->family != NULL) weir__family_join(event, request->submission->family);
    *out_event = event;
  }
  weir__task *task = weir__window_begin(window);
  fill_task(request, task);
  task->event = event;
  if ((event != NULL && event->dropped) || (request->submission->held && context->repeating.cancelled))
    task->dropped = true;
  weir__dependences_clear(&context->order.dependences);
  find_hazards(context, request, task->id);
  if (request->move != NULL) fill_move(request);
  if (context->devices.checker != NULL) note_check(context, request, task);
  context->host.statistics.tasks++;
  if (request->checked.commutes)
    commit_commuting(context, request, task);
  else
    commit(context, request, task);
  return WEIR__ADMITTED;
}
