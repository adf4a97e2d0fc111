// SPDX-License-Identifier: Apache-2.0
#include <stdlib.h>
#include <string.h>

#include "program_body.h"
#include "program_cuda.h"
#include "program_enqueue.h"
#include "program_opencl.h"
#include "program_runner.h"
#include "weir/batch.h"
#include "weir/sim.h"

static _Atomic bool packed;

void runner_set_packed(bool now_packed) {
  atomic_store(&packed, now_packed);
}

bool runner_is_packed(void) {
  return atomic_load(&packed);
}

body_description runner_description(const void *arg) {
  body_description description;
  if (!atomic_load(&packed)) {
    memcpy(&description, arg, sizeof description);
    return description;
  }
  body_packed few;
  memcpy(&few, arg, sizeof few);
  body_unpack(&few, &description);
  return description;
}

// Of a node of a graph, `self` is the address of the task, and 1.
static uint64_t self_of_node(const program_task *task) {
  return (uintptr_t)task + 1;
}

static submission *submission_of(const body_description *description) {
  return description->self % 2 != 0 ? NULL : (submission *)(uintptr_t)description->self;
}

const program_task *runner_task(const body_description *description) {
  const submission *self = submission_of(description);
  if (description->self % 2 != 0) return (const program_task *)(uintptr_t)(description->self - 1);
  return self == NULL ? NULL : self->task;
}

// The first argument of a task, which is used before the next one is made.
static weir_arg describe(runner *r, const body_description *description) {
  if (!atomic_load(&packed)) return weir_value(description, sizeof *description);
  if (!body_pack(description, &r->packed)) {
    fprintf(stderr, "a task is too large for a packed description\n");
    abort();
  }
  return weir_value(&r->packed, sizeof r->packed);
}

void runner_run_groups(void *const *args, uint32_t arg_count, const uint32_t groups[3], uint64_t first, uint64_t end) {
  body_description description = runner_description(args[0]);
  submission *self = submission_of(&description);
  const program_task *task = runner_task(&description);
  uint64_t count = body_group_count(groups);
  bool good = arg_count == description.arg_count + 1 && first < end && end <= count;
  if (self != NULL) {
    if (!good || self->groups_total != count) atomic_store(&self->bad_call, true);
    for (int i = 0; i < PROGRAM_MAX_AFTER && self->after[i] != NULL; i++) {
      submission *before = self->after[i];
      if (atomic_load(&before->groups_done) < before->groups_total) atomic_store(&self->after_missing[i], true);
    }
  }
  if (good && task != NULL)
    body_run_boxes(&description, task, args + 1, groups, first, end);
  else if (good)
    body_run(&description, args + 1, groups, first, end);
  if (self != NULL) atomic_fetch_add(&self->groups_done, end - first);
}

static void run_function(const weir_work *work) {
  body_description description = runner_description(work->args[0]);
  if (work->user != NULL && work->user != (void *)(uintptr_t)description.self)
    weir_work_fail(work, "another task's user");
  runner_run_groups(work->args, work->arg_count, work->groups, work->first, work->end);
  if (description.fail_group >= work->first && description.fail_group < work->end) weir_work_fail(work, "as told");
}

static bool has_cards(const runner *r) {
  return r->options->cuda || r->options->vulkan || r->options->opencl;
}

// What a form says to each kind of device.
typedef struct kernel_form {
  uint32_t vulkan, opencl, args;
} kernel_form;

// Kernels of a card have fixed numbers and kinds of arguments, besides the description. A form stands for these; it is 0 where
// no device is a card, and the number of arguments where all are CUDA's. With Vulkan and OpenCL it is made of the forms of both.
static uint32_t form_of(const runner *r, const program_task *task) {
  if (r->options->vulkan && r->options->opencl)
    return PROGRAM_OPENCL_PLACES * program_vulkan_form(task) + program_opencl_form(task) % PROGRAM_OPENCL_PLACES;
  if (r->options->vulkan) return program_vulkan_form(task);
  if (r->options->opencl) return program_opencl_form(task);
  return r->options->cuda ? task->access_count + (task->value_bytes > 0) : 0;
}

static kernel_form split_form(const runner *r, uint32_t form) {
  kernel_form split = {.vulkan = form, .opencl = form, .args = form};
  if (r->options->vulkan && r->options->opencl) {
    split.vulkan = form / PROGRAM_OPENCL_PLACES;
    split.opencl = PROGRAM_OPENCL_PLACES * program_vulkan_args(split.vulkan) + form % PROGRAM_OPENCL_PLACES;
  }
  if (r->options->vulkan)
    split.args = program_vulkan_args(split.vulkan);
  else if (r->options->opencl)
    split.args = program_opencl_args(split.opencl);
  return split;
}

static weir_kernel *create_kernel(runner *r, uint32_t number, uint32_t form) {
  static const char *const names[PROGRAM_KERNELS] = {"alpha", "beta", "gamma"};
  kernel_form split = split_form(r, form);
  weir_kernel *kernel = NULL;
  weir_status status = weir_kernel_create(r->context, names[number], &kernel);
  if (status == WEIR_OK) status = weir_kernel_set_cpu(kernel, run_function);
  if (status == WEIR_OK && r->options->cuda && r->options->enqueues && number == 0)
    status = program_enqueue_set(kernel, r->options->scratch, r->options->pure, r->options->refusal);
  else if (status == WEIR_OK && r->options->cuda)
    status = program_cuda_set(kernel, split.args, atomic_load(&packed),
                              r->options->resident && number >= PROGRAM_FIRST_RESIDENT);
  bool calls = r->options->calls && number == PROGRAM_CALLED;
  if (status == WEIR_OK && r->options->vulkan)
    status =
        calls ? program_vulkan_set_call(kernel, split.vulkan, &r->calls) : program_vulkan_set(kernel, split.vulkan);
  if (status == WEIR_OK && r->options->opencl)
    status =
        calls ? program_opencl_set_call(kernel, split.opencl, &r->calls) : program_opencl_set(kernel, split.opencl);
  if (status == WEIR_OK && r->options->simulated) {
    weir_sim_launch launches[PROGRAM_KERNELS];
    for (uint32_t i = 0; i <= number; i++) {
      launches[i] = (weir_sim_launch){.name = names[number], .blocks = i * 40, .threads = 64u << i, .registers = 32};
      launches[i].us = 1.5 + 3 * i;
    }
    status = weir_kernel_set_sim(kernel, launches, number + 1);
  }
  if (status == WEIR_OK) return kernel;
  weir_kernel_release(kernel);
  if (!r->options->refusals || status != WEIR_ERROR_OUT_OF_MEMORY)
    runner_fail(r, "kernel %s: %s", names[number], weir_last_error());
  return NULL;
}

// A work-group for each byte.
static void combine_bytes(const weir_work *work) {
  unsigned char *to = work->args[0];
  const unsigned char *from = work->args[1];
  for (uint64_t i = work->first; i < work->end; i++) to[i] = (unsigned char)(to[i] + from[i]);
}

static void create_combine(runner *r) {
  static const weir_sim_launch launch = {.name = "combine", .threads = 64, .us = 1};
  weir_kernel *kernel = NULL;
  weir_status status = weir_kernel_create(r->context, "combine", &kernel);
  if (status == WEIR_OK) status = weir_kernel_set_cpu(kernel, combine_bytes);
  if (status == WEIR_OK && r->options->simulated) status = weir_kernel_set_sim(kernel, &launch, 1);
  if (status != WEIR_OK && !(r->options->refusals && status == WEIR_ERROR_OUT_OF_MEMORY))
    runner_fail(r, "kernel combine: %s", weir_last_error());
  if (status != WEIR_OK) weir_kernel_release(kernel);
  r->combine = status == WEIR_OK ? kernel : NULL;
}

void runner_create_kernels(runner *r) {
  create_combine(r);
  for (uint32_t i = 0; i < PROGRAM_KERNELS && !has_cards(r); i++) r->kernels[i][0] = create_kernel(r, i, 0);
}

// The kernel for a task. Those of a card are made when needed.
static weir_kernel *kernel_for(runner *r, const program_task *task) {
  uint32_t form = form_of(r, task);
  weir_kernel **kernel = &r->kernels[task->kernel][form];
  if (*kernel == NULL && has_cards(r)) *kernel = create_kernel(r, task->kernel, form);
  return *kernel;
}

// The argument of access number `number` of a task, to the buffer that is operation `buffer`.
static weir_arg argument(runner *r, const program_access *access, uint32_t number, uint32_t buffer) {
  weir_arg arg = {.mode = access->mode, .buffer = r->buffers[buffer], .offset = access->offset};
  const program_box *box = &access->box;
  if (box->width == 0) {
    arg.bytes = access->whole ? WEIR_WHOLE : access->bytes;
    return arg;
  }
  r->boxes[number] = (weir_box){.width = box->width,
                                .pitch = box->pitch,
                                .rows = box->rows,
                                .slice_pitch = box->slice_pitch,
                                .slices = box->slices};
  arg.shape = WEIR_BOX;
  arg.value = &r->boxes[number];
  return arg;
}

// The arguments of a task: its description, its accesses and perhaps a second value.
static uint32_t make_args(runner *r, const program_task *task, const body_description *description,
                          unsigned char *value, weir_arg *args) {
  if (task->value_bytes > 0) body_fill(value, task->value_bytes, task->seed);
  args[0] = describe(r, description);
  uint32_t next = 0;
  for (uint32_t i = 0; i < description->arg_count; i++) {
    if (description->args[i].mode == WEIR_VALUE) {
      args[i + 1] = weir_value(value, task->value_bytes);
      continue;
    }
    const program_access *access = &task->accesses[next++];
    args[i + 1] = argument(r, access, next - 1, access->buffer);
    if (access->mode != WEIR_REDUCE) continue;
    r->reduces = true;
    r->reductions[next - 1] = (weir_reduction){.combine = r->combine, .groups = {access->bytes, 1, 1}};
    args[i + 1].value = &r->reductions[next - 1];
    if (r->combine == NULL) args[i + 1].mode = WEIR_COMMUTE;
  }
  return description->arg_count + 1;
}

static weir_task make_task(runner *r, const program_task *task, const weir_arg *args, uint32_t arg_count) {
  weir_task made = {.args = args, .arg_count = arg_count, .priority = task->priority};
  if (!task->plain) made.tag = task->seed;
  if (task->seed % 4 == 0) made.label = "random";
  for (int i = 0; i < 3; i++) made.groups[i] = task->groups[i];
  if (task->kernel == PROGRAM_HOST) {
    made.host = run_function;
    if (!task->plain) made.lock_key = task->seed % 3;
  } else
    made.kernel = kernel_for(r, task);
  if (task->device > 0) made.device = weir_context_device(r->context, task->device - 1);
  return made;
}

// Whether what runs on the device cannot write to the host's memory.
static bool is_apart(weir_device *device) {
  const char *kind = weir_device_information(device)->kind;
  return strcmp(kind, "vulkan") == 0 || strcmp(kind, "opencl") == 0 ||
         (strcmp(kind, "cuda") == 0 && program_stub_load() == NULL);
}

// Whether a task runs, or may run, there.
static bool is_uncounted(const runner *r, const program_task *task) {
  if (task->kernel == PROGRAM_HOST) return false;
  if (task->device > 0 || !r->options->placed)
    return is_apart(weir_context_device(r->context, task->device > 0 ? task->device - 1 : 0));
  for (uint32_t i = 0; i < weir_context_device_count(r->context); i++) {
    if (is_apart(weir_context_device(r->context, i))) return true;
  }
  return false;
}

static void on_done(void *user, weir_status status) {
  submission *self = user;
  atomic_store(&self->callback_status, (int)status);
  atomic_fetch_add(&self->callbacks, 1);
}

// What follows a call that submits.
static void submitted(runner *r, uint32_t index, weir_status status, weir_event *event, const char *call) {
  const program_operation *operation = &r->program->operations[index];
  submission *self = &r->submissions[index];
  if (status != WEIR_OK && event != NULL) runner_fail(r, "#%u: %s failed but gave an event", index, call);
  if (!runner_accept(r, index, status, call)) return;
  r->submit_count++;
  self->event = event;
  if (!operation->event) return;
  if (event == NULL) {
    runner_fail(r, "#%u: %s gave no event", index, call);
    return;
  }
  if (!operation->callback) return;
  status = weir_event_on_done(event, on_done, self);
  self->callback_attached = status == WEIR_OK;
  if (status != WEIR_OK && !(r->options->refusals && status == WEIR_ERROR_OUT_OF_MEMORY))
    runner_fail(r, "#%u: weir_event_on_done: %s", index, weir_last_error());
}

// Whether the task is an open one: a kernel on a card.
static bool is_open(const runner *r, const program_task *task) {
  if (!r->options->opens || task->kernel == PROGRAM_HOST || task->seed % 4 != 0) return false;
  const weir_device *device = weir_context_device(r->context, task->device > 0 ? task->device - 1 : 0);
  return weir_device_information(device)->enqueue_lanes > 0;
}

// Puts the task's work on its queue.
static weir_status put_open(runner *r, const program_task *asked, const weir_enqueue *call) {
  const char *kind = weir_device_information(call->device)->kind;
  kernel_form split = split_form(r, form_of(r, asked));
  if (strcmp(kind, "opencl") == 0) return program_opencl_open(call, asked->groups, split.opencl, &r->calls);
  if (strcmp(kind, "vulkan") == 0) return program_vulkan_open(call, asked->groups, split.vulkan, &r->calls);
  program_enqueue_open(call, asked->groups);
  return WEIR_OK;
}

static weir_status submit_open(runner *r, const program_task *asked, const weir_task *task, weir_event **out_event) {
  weir_open_task *open;
  const weir_enqueue *call;
  weir_task begun = *task;
  begun.kernel = NULL;
  if (begun.device == NULL) begun.device = weir_context_device(r->context, 0);
  weir_status status = weir_task_begin(r->context, &begun, &open, &call);
  if (status != WEIR_OK) return status;
  status = put_open(r, asked, call);
  if (status != WEIR_OK) runner_fail(r, "an open task: its work cannot be put on the queue");
  return status == WEIR_OK ? weir_task_end(open, NULL, 0, out_event) : weir_task_abandon(open, status, NULL);
}

// Prepares the task, and names its buffers and values then.
static weir_status submit_prepared(runner *r, const weir_task *task, weir_event **out_event) {
  weir_buffer *buffers[PROGRAM_MAX_ACCESSES + 2];
  const void *values[PROGRAM_MAX_ACCESSES + 2];
  weir_arg args[PROGRAM_MAX_ACCESSES + 2];
  uint32_t buffer_count = 0, value_count = 0;
  for (uint32_t i = 0; i < task->arg_count; i++) {
    args[i] = task->args[i];
    if (args[i].mode == WEIR_VALUE)
      values[value_count++] = args[i].value;
    else
      buffers[buffer_count++] = args[i].buffer;
    args[i].buffer = NULL;
    args[i].value = NULL;
  }
  weir_task nameless = *task;
  nameless.args = args;
  weir_prepared *prepared;
  weir_status status = weir_prepare(r->context, &nameless, &prepared);
  if (status != WEIR_OK) return status;
  status = weir_prepared_submit(prepared, buffers, values, out_event);
  if (weir_prepared_release(prepared) != WEIR_OK) runner_fail(r, "a prepared task is not released");
  return status;
}

static bool can_be_prepared(const weir_task *task) {
  for (uint32_t i = 0; i < task->arg_count; i++) {
    if (task->args[i].mode > WEIR_COMMUTE || task->args[i].shape != WEIR_RANGE) return false;
  }
  return task->after_count == 0 && task->group == NULL;
}

// A task enters by one of the calls that submit one.
static weir_status submit_by_some_call(runner *r, const program_task *asked, const weir_task *task,
                                       weir_event **out_event) {
  uint64_t way = asked->seed / 4 % 4;
  if (way == 0) return weir_submit_many(r->context, task, 1, out_event, NULL);
  if (way == 1 && can_be_prepared(task)) return submit_prepared(r, task, out_event);
  return weir_submit(r->context, task, out_event);
}

// The group of a task; NULL: it is in none.
static weir_group *group_for(runner *r, const program_task *task) {
  if (task->group == 0) return NULL;
  weir_group **group = &r->groups[task->group - 1];
  if (*group != NULL) return *group;
  weir_status status = weir_group_create(r->context, group);
  if (status != WEIR_OK && !(r->options->refusals && status == WEIR_ERROR_OUT_OF_MEMORY))
    runner_fail(r, "weir_group_create: %s", weir_last_error());
  return *group;
}

static void submit_task(runner *r, uint32_t index) {
  const program_operation *operation = &r->program->operations[index];
  submission *self = &r->submissions[index];
  body_description description = body_describe(&operation->task);
  description.self = (uintptr_t)self;
  self->task = &operation->task;
  unsigned char value[4096];
  weir_arg args[PROGRAM_MAX_ACCESSES + 2];
  uint32_t arg_count = make_args(r, &operation->task, &description, value, args);
  weir_task task = make_task(r, &operation->task, args, arg_count);
  if (task.kernel == NULL && task.host == NULL) {
    r->program->dropped[index] = true;
    return;
  }
  weir_event *after[PROGRAM_MAX_AFTER], *event = NULL;
  for (uint32_t i = 0; i < operation->after_count; i++) {
    submission *before = &r->submissions[operation->after[i]];
    if (before->event == NULL) continue;
    self->after[task.after_count] = before;
    after[task.after_count++] = before->event;
  }
  task.after = after;
  task.group = group_for(r, &operation->task);
  self->group = task.group == NULL ? 0 : operation->task.group;
  if (!operation->task.plain) task.user = self;
  self->groups_total = body_group_count(operation->task.groups);
  self->uncounted = is_uncounted(r, &operation->task);
  weir_event **out_event = operation->event ? &event : NULL;
  weir_status status = is_open(r, &operation->task) ? submit_open(r, &operation->task, &task, out_event)
                                                    : submit_by_some_call(r, &operation->task, &task, out_event);
  memset(args, 0xa5, sizeof args); // nothing of this is needed after submission
  memset(value, 0xa5, sizeof value);
  memset(&description, 0xa5, sizeof description);
  memset(&r->packed, 0xa5, sizeof r->packed);
  memset(r->boxes, 0xa5, sizeof r->boxes);
  submitted(r, index, status, event, "weir_submit");
}

static void submit_copy(runner *r, uint32_t index) {
  const program_operation *o = &r->program->operations[index];
  submission *self = &r->submissions[index];
  weir_event *event = NULL, **out_event = o->event ? &event : NULL;
  weir_buffer *buffer = r->buffers[o->buffer];
  weir_status status;
  if (o->kind == OPERATION_COPY) {
    weir_buffer *source = r->buffers[o->source];
    status = weir_copy(buffer, o->offset, source, o->source_offset, o->bytes, out_event);
    submitted(r, index, status, event, "weir_copy");
    return;
  }
  if (o->kind == OPERATION_FILL) {
    status = weir_fill(buffer, o->offset, o->bytes, (uint32_t)o->seed, out_event);
    submitted(r, index, status, event, "weir_fill");
    return;
  }
  self->memory = program_memory(o->bytes);
  if (o->kind == OPERATION_COPY_IN) {
    body_fill(self->memory, o->bytes, o->seed);
    status = weir_copy_in(buffer, o->offset, o->bytes, self->memory, out_event);
    submitted(r, index, status, event, "weir_copy_in");
  } else {
    memset(self->memory, REFERENCE_UNTOUCHED, o->bytes);
    status = weir_copy_out(buffer, o->offset, o->bytes, self->memory, out_event);
    submitted(r, index, status, event, "weir_copy_out");
  }
}

// Submits what fills a new buffer; without that the buffer is given back.
static void fill_buffer(runner *r, uint32_t index) {
  const program_operation *operation = &r->program->operations[index];
  weir_status status;
  if (operation->kind == OPERATION_BUFFER_PAIR) {
    body_description description = body_describe(&operation->task);
    weir_arg args[PROGRAM_MAX_ACCESSES + 2];
    uint32_t arg_count = make_args(r, &operation->task, &description, NULL, args);
    weir_task task = make_task(r, &operation->task, args, arg_count);
    status = task.kernel == NULL ? WEIR_ERROR_OUT_OF_MEMORY : weir_submit(r->context, &task, NULL);
  } else {
    status = weir_copy_in(r->buffers[index], 0, operation->bytes, r->wrapped[index], NULL);
  }
  if (runner_accept(r, index, status, "filling a buffer")) {
    r->submit_count++;
    return;
  }
  weir_buffer_release(r->buffers[index]);
  r->buffers[index] = NULL;
}

static void create_buffer(runner *r, uint32_t index) {
  const program_operation *operation = &r->program->operations[index];
  unsigned char *memory = program_memory(operation->bytes);
  body_fill(memory, operation->bytes, operation->seed);
  r->wrapped[index] = memory;
  weir_status status = operation->wrapped ? weir_buffer_wrap(r->context, memory, operation->bytes, &r->buffers[index])
                                          : weir_buffer_create(r->context, operation->bytes, &r->buffers[index]);
  if (!runner_accept(r, index, status, "creating a buffer")) return;
  if (!operation->wrapped && operation->kind != OPERATION_BLANK) fill_buffer(r, index);
}

static void create_graph(runner *r, uint32_t index) {
  const program_operation *operation = &r->program->operations[index];
  weir_status status = weir_graph_create(r->context, NULL, &r->graphs[index]);
  for (uint32_t i = 0; i < operation->task_count && status == WEIR_OK; i++) {
    body_description description = body_describe(&operation->tasks[i]);
    description.self = self_of_node(&operation->tasks[i]);
    unsigned char value[4096];
    weir_arg args[PROGRAM_MAX_ACCESSES + 2];
    uint32_t arg_count = make_args(r, &operation->tasks[i], &description, value, args), node = UINT32_MAX;
    weir_task task = make_task(r, &operation->tasks[i], args, arg_count);
    status = task.kernel == NULL ? WEIR_ERROR_OUT_OF_MEMORY : weir_graph_add(r->graphs[index], &task, &node);
    if (status == WEIR_OK && node != i) runner_fail(r, "#%u: node %u got number %u", index, i, node);
  }
  if (runner_accept(r, index, status, "recording a graph")) return;
  weir_graph_release(r->graphs[index]);
  r->graphs[index] = NULL;
}

static uint32_t argument_of_access(const program_task *task, uint32_t access) {
  return 1 + access + (task->value_bytes > 0 && task->value_index <= access ? 1 : 0);
}

static void change_graph(runner *r, uint32_t index) {
  const program_operation *o = &r->program->operations[index];
  weir_graph *graph = r->graphs[o->target];
  const program_task *task = &r->program->operations[o->target].tasks[o->node];
  weir_status status;
  if (o->kind == OPERATION_GRAPH_REPLACE) {
    status = weir_graph_replace_buffer(graph, r->buffers[o->source], r->buffers[o->buffer]);
  } else if (o->kind == OPERATION_GRAPH_SET_VALUE) {
    program_task changed = *task;
    changed.seed = o->seed;
    body_description description = body_describe(&changed);
    description.self = self_of_node(task);
    weir_arg arg = describe(r, &description);
    status = weir_graph_set_arg(graph, o->node, 0, &arg);
    if (status == WEIR_OK && task->value_bytes > 0) {
      unsigned char value[4096];
      body_fill(value, task->value_bytes, changed.seed);
      arg = weir_value(value, task->value_bytes);
      status = weir_graph_set_arg(graph, o->node, 1 + task->value_index, &arg);
    }
  } else {
    const program_access *access = &task->accesses[o->access];
    weir_arg arg = argument(r, access, o->access, o->buffer);
    status = weir_graph_set_arg(graph, o->node, argument_of_access(task, o->access), &arg);
  }
  runner_accept(r, index, status, "changing a graph");
}

static void await_event(runner *r, uint32_t index) {
  const program_operation *operation = &r->program->operations[index];
  const program_operation *target = &r->program->operations[operation->target];
  submission *self = &r->submissions[operation->target];
  if (self->event == NULL) return;
  weir_status status = weir_event_wait(self->event, operation->timeout_ns);
  if (status == WEIR_TIMEOUT && operation->timeout_ns != WEIR_FOREVER) return;
  self->waited = status;
  if (target->kind != OPERATION_COPY_OUT) return;
  self->bytes_at_wait = runner_hash(self->memory, target->bytes);
  self->hashed = true;
}

static void renew_kernel(runner *r, uint32_t number) {
  weir_kernel *old = r->combine;
  create_combine(r);
  weir_status released = weir_kernel_release(old);
  if (released != WEIR_OK && !(r->options->refusals && released == WEIR_ERROR_OUT_OF_MEMORY))
    runner_fail(r, "weir_kernel_release: %s", weir_last_error());
  for (uint32_t i = 0; i < PROGRAM_FORMS; i++) {
    if (r->kernels[number][i] == NULL && (has_cards(r) || i > 0)) continue;
    weir_kernel *kernel = create_kernel(r, number, i);
    if (kernel == NULL) continue;
    if (weir_kernel_release(r->kernels[number][i]) != WEIR_OK)
      runner_fail(r, "weir_kernel_release: %s", weir_last_error());
    r->kernels[number][i] = kernel;
  }
}

// A cancellation changes nothing: all tasks of the group are done, and later ones are not cancelled.
static void wait_for_group(runner *r, uint32_t index) {
  const program_operation *operation = &r->program->operations[index];
  weir_group *group = r->groups[operation->target];
  if (group == NULL) return;
  r->finish_statuses[index] = weir_group_wait(group, WEIR_FOREVER);
  if (operation->callback && weir_group_cancel(group) != WEIR_OK)
    runner_fail(r, "#%u: weir_group_cancel: %s", index, weir_last_error());
}

void runner_perform(runner *r, uint32_t index) {
  const program_operation *operation = &r->program->operations[index];
  submission *target = &r->submissions[operation->target];
  weir_event *event = NULL;
  weir_status status;
  switch (operation->kind) {
  case OPERATION_BUFFER:
  case OPERATION_BLANK:
  case OPERATION_BUFFER_PAIR:
    create_buffer(r, index);
    break;
  case OPERATION_BUFFER_RELEASE:
    status = weir_buffer_release(r->buffers[operation->buffer]);
    if (status != WEIR_OK) runner_fail(r, "#%u: weir_buffer_release: %s", index, weir_last_error());
    r->buffers[operation->buffer] = NULL;
    break;
  case OPERATION_TASK:
    submit_task(r, index);
    break;
  case OPERATION_COPY_IN:
  case OPERATION_COPY_OUT:
  case OPERATION_COPY:
  case OPERATION_FILL:
    submit_copy(r, index);
    break;
  case OPERATION_EVENT_WAIT:
    await_event(r, index);
    break;
  case OPERATION_EVENT_POLL:
    if (target->event != NULL) target->polled = weir_event_poll(target->event);
    break;
  case OPERATION_EVENT_RELEASE:
    weir_event_release(target->event);
    target->event = NULL;
    break;
  case OPERATION_FINISH:
    r->finish_statuses[index] = weir_finish(r->context);
    break;
  case OPERATION_GROUP_WAIT:
    wait_for_group(r, index);
    break;
  case OPERATION_KERNEL_RENEW:
    renew_kernel(r, operation->target);
    break;
  case OPERATION_GRAPH:
    create_graph(r, index);
    break;
  case OPERATION_GRAPH_SET_VALUE:
  case OPERATION_GRAPH_SET_BUFFER:
  case OPERATION_GRAPH_REPLACE:
    change_graph(r, index);
    break;
  case OPERATION_GRAPH_LAUNCH:
    status = weir_graph_launch(r->graphs[operation->target], operation->event ? &event : NULL);
    submitted(r, index, status, event, "weir_graph_launch");
    break;
  case OPERATION_GRAPH_RELEASE:
    status = weir_graph_release(r->graphs[operation->target]);
    if (status != WEIR_OK) runner_fail(r, "#%u: weir_graph_release: %s", index, weir_last_error());
    r->graphs[operation->target] = NULL;
    break;
  }
}
