// SPDX-License-Identifier: Apache-2.0
#include "simulation.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "motion.kernels.h"
#include "weir/sim.h"

// What the host sends with a step.
typedef struct upload {
  int32_t order[PHYSICS_MAX_BODIES];
  physics_action actions[PHYSICS_MAX_BODIES];
  int32_t colours[PHYSICS_MAX_CONSTRAINTS + PHYSICS_MAX_BODIES];
  physics_constraint constraints[PHYSICS_MAX_CONSTRAINTS + 1]; // one more, for islands without any
} upload;

// A state as it is in a buffer: bodies, then an observation.
typedef struct state {
  physics_body bodies[PHYSICS_MAX_BODIES + 1];
} state;

// A world in flight.
typedef struct place {
  world world;
  world_record record;
  weir_buffer *states[2], *upload_buffer; // a step reads one state and writes the other
  weir_event *event;                      // of the copy of the state to `after`
  weir_device *device;
  state before, driven, after;
  upload upload;
  island_list list;
  double reward; // sum over the steps
} place;

// A thread of the host has a copy with its own result, status and worlds.
typedef struct simulation {
  const simulation_options *options;
  simulation_result *result;
  weir_context *context;
  weir_kernel *drive, *solve, *observe;
  place *places;
  int32_t first, stride; // worlds first, first + stride, ...
  weir_status status;    // of the first failure
} simulation;

static bool check(simulation *self, weir_status status) {
  if (status != WEIR_OK && self->status == WEIR_OK) {
    fprintf(stderr, "weir-bodies: %s: %s\n", weir_status_name(status), weir_last_error());
    self->status = status;
  }
  return status == WEIR_OK;
}

// Creates a kernel; `us` is what it takes on a simulated device.
static void create_kernel(simulation *self, const weir_kernel_code *code, double us, weir_kernel **out_kernel) {
  if (!check(self, weir_kernel_create_from(self->context, code, out_kernel))) return;
  weir_sim_launch launch = {
      .name = code->name, .threads = PHYSICS_ITEMS, .registers = 48, .shared_bytes = 4096, .us = us};
  check(self, weir_kernel_set_sim(*out_kernel, &launch, 1));
}

static size_t state_bytes(const simulation *self) {
  return ((size_t)self->options->bodies + 1) * sizeof(physics_body);
}

static void create_place(simulation *self, int32_t number) {
  place *made = &self->places[number];
  world_create(self->options->seed, self->options->first_world + number, self->options->bodies, &made->world);
  made->device = weir_context_device(self->context, (uint32_t)number % weir_context_device_count(self->context));
  const char *labels[2] = {"state", "other state"};
  for (int i = 0; i < 2 && self->status == WEIR_OK; i++) {
    if (!check(self, weir_buffer_create(self->context, state_bytes(self), &made->states[i]))) return;
    weir_buffer_set_label(made->states[i], labels[i]);
  }
  if (self->status != WEIR_OK) return;
  if (!check(self, weir_buffer_create(self->context, sizeof(upload), &made->upload_buffer))) return;
  weir_buffer_set_label(made->upload_buffer, "islands");
  memcpy(made->after.bodies, made->world.start, sizeof made->world.start);
  check(self, weir_copy_in(made->states[0], 0, state_bytes(self), made->after.bodies, NULL));
}

static void submit(simulation *self, place *in, int32_t step, weir_kernel *kernel, const weir_arg *args,
                   uint32_t arg_count, const char *label) {
  if (self->status != WEIR_OK) return;
  weir_task task = {.kernel = kernel,
                    .args = args,
                    .arg_count = arg_count,
                    .device = in->device,
                    .tag = (uint64_t)(in - self->places)};
  task.label = label;
  check(self, weir_submit(self->context, &task, NULL));
  self->result->tasks[step]++;
}

// Copies the used part of a field of the upload.
static void send(simulation *self, place *in, int32_t step, const void *field, size_t bytes) {
  if (self->status != WEIR_OK) return;
  uint64_t offset = (uint64_t)((const char *)field - (const char *)&in->upload);
  check(self, weir_copy_in(in->upload_buffer, offset, bytes, field, NULL));
  self->result->tasks[step]++;
}

static void fill_upload(simulation *self, place *in, int32_t step) {
  const island_list *list = &in->list;
  size_t constraints = (size_t)list->constraint_count;
  memcpy(in->upload.order, list->order, sizeof in->upload.order);
  memcpy(in->upload.colours, list->colours, (size_t)list->colour_entries * sizeof(int32_t));
  memcpy(in->upload.constraints, list->constraints, constraints * sizeof(physics_constraint));
  in->upload.constraints[constraints] = (physics_constraint){0};
  size_t used = offsetof(upload, constraints) + (constraints + 1) * sizeof(physics_constraint);
  send(self, in, step, &in->upload, used);
}

static void submit_island(simulation *self, place *in, int32_t step, const island *part, weir_buffer *next) {
  int32_t constraints = part->constraint_count > 0 ? part->constraint_count : 1;
  weir_arg args[] = {
      weir_updates_range(next, (uint64_t)part->first_body * sizeof(physics_body),
                         (uint64_t)part->body_count * sizeof(physics_body)),
      weir_reads_range(in->upload_buffer,
                       offsetof(upload, constraints) + (uint64_t)part->first_constraint * sizeof(physics_constraint),
                       (uint64_t)constraints * sizeof(physics_constraint)),
      weir_reads_range(in->upload_buffer, offsetof(upload, colours) + (uint64_t)part->first_colour * sizeof(int32_t),
                       (uint64_t)(part->colour_count + 1) * sizeof(int32_t)),
      weir_value(&part->body_count, sizeof part->body_count),
      weir_value(&part->colour_count, sizeof part->colour_count),
      weir_value(&in->world.rules, sizeof in->world.rules)};
  char label[32] = "island";
  if (self->options->flags & WEIR_CONTEXT_TRACE) snprintf(label, sizeof label, "island of %d", part->body_count);
  submit(self, in, step, self->solve, args, 6, label);
  if (part->body_count > self->result->most_bodies) self->result->most_bodies = part->body_count;
}

// Finds what the next step of a world is made of, from the state that is on the host.
static bool plan_step(simulation *self, place *in, int32_t number, int32_t step) {
  const world *at = &in->world;
  memcpy(&in->before, &in->after, sizeof in->before);
  world_choose_actions(at, self->options->seed, self->options->first_world + number, step, in->upload.actions);
  world_drive(at, in->before.bodies, in->upload.actions, in->driven.bodies);
  if (islands_find(in->driven.bodies, at->count, at->joints, at->joint_count, &at->rules, &in->list)) return true;
  fprintf(stderr, "weir-bodies: world %d, step %d: more contacts than fit\n", self->options->first_world + number,
          step);
  self->status = WEIR_ERROR_TASK_FAILED;
  return false;
}

// Submits a step that was planned.
static void submit_step(simulation *self, int32_t number, int32_t step) {
  place *in = &self->places[number];
  weir_buffer *from = in->states[step % 2], *next = in->states[1 - step % 2];
  uint64_t bytes = (uint64_t)in->world.count * sizeof(physics_body);
  fill_upload(self, in, step);
  weir_arg drive_args[] = {
      weir_reads_range(from, 0, bytes),
      weir_reads_range(in->upload_buffer, offsetof(upload, order), (uint64_t)in->world.count * sizeof(int32_t)),
      weir_reads_range(in->upload_buffer, offsetof(upload, actions), sizeof in->upload.actions),
      weir_writes_range(next, 0, bytes),
      weir_value(&in->world.count, sizeof in->world.count),
      weir_value(&in->world.rules, sizeof in->world.rules)};
  submit(self, in, step, self->drive, drive_args, 6, "drive");
  for (int32_t i = 0; i < in->list.count; i++) submit_island(self, in, step, &in->list.islands[i], next);
  weir_arg observe_args[] = {
      weir_reads_range(next, 0, bytes), weir_writes_range(next, bytes, sizeof(physics_observation)),
      weir_value(&in->world.count, sizeof in->world.count), weir_value(&in->world.rules, sizeof in->world.rules)};
  submit(self, in, step, self->observe, observe_args, 4, "observe");
  if (self->status != WEIR_OK) return;
  check(self, weir_copy_out(next, 0, state_bytes(self), in->after.bodies, &in->event));
  self->result->tasks[step]++;
  self->result->islands[step] += in->list.count;
}

// Different for any two states that differ in one number only, and in practice for all others.
static uint64_t digest(const void *bytes, size_t count) {
  uint64_t hash = 0xcbf29ce484222325u, word;
  for (size_t i = 0; i < count; i += sizeof word) {
    memcpy(&word, (const char *)bytes + i, sizeof word);
    hash = (hash ^ word) * 0x9e3779b97f4a7c15u;
    hash ^= hash >> 32;
  }
  return hash;
}

// Waits for a world's step and checks it.
static void end_step(simulation *self, int32_t number, int32_t step) {
  place *in = &self->places[number];
  if (!check(self, weir_event_wait(in->event, WEIR_FOREVER))) return;
  weir_event_release(in->event);
  in->event = NULL;
  self->result->digests[(size_t)step * (size_t)self->options->worlds + (size_t)number] =
      digest(in->after.bodies, state_bytes(self));
  physics_observation seen;
  memcpy(&seen, &in->after.bodies[in->world.count], sizeof seen);
  in->reward += (double)seen.reward;
  char text[200];
  if (world_check_step(&in->world, in->before.bodies, in->upload.actions, in->driven.bodies, &in->list,
                       in->after.bodies, &seen, &in->record, text, sizeof text)) {
    return;
  }
  if (self->status == WEIR_OK)
    fprintf(stderr, "weir-bodies: world %d, step %d: %s\n", self->options->first_world + number, step, text);
  self->status = WEIR_ERROR_TASK_FAILED;
}

static void begin_step(simulation *self, int32_t number, int32_t step) {
  place *in = &self->places[number];
  if (!plan_step(self, in, number, step)) return;
  if (number == 0 && self->options->look) {
    self->options->look(self->options->user, step, &in->world, in->before.bodies, &in->list);
  }
  submit_step(self, number, step);
}

// Runs the first step of a world on each device and forgets it, so that all devices have built the kernels.
static void warm_up(simulation *self) {
  uint32_t devices = weir_context_device_count(self->context);
  for (int32_t i = 0; i < self->options->worlds && (uint32_t)i < devices && self->status == WEIR_OK; i++) {
    place *in = &self->places[i];
    if (plan_step(self, in, i, 0)) submit_step(self, i, 0);
    if (self->status == WEIR_OK) check(self, weir_event_wait(in->event, WEIR_FOREVER));
    weir_event_release(in->event);
    in->event = NULL;
    memcpy(in->after.bodies, in->world.start, sizeof in->world.start);
  }
  self->result->tasks[0] = 0;
  self->result->islands[0] = 0;
}

static double time_now(simulation *self) {
  return 1e-9 * (double)weir_device_time(weir_context_device(self->context, 0));
}

static void *run_worlds(void *user) {
  simulation *self = user;
  int32_t steps = self->options->steps;
  for (int32_t step = 0; step <= steps; step++) {
    for (int32_t i = self->first; i < self->options->worlds; i += self->stride) {
      if (step > 0 && self->status == WEIR_OK) end_step(self, i, step - 1);
      if (step < steps && self->status == WEIR_OK) begin_step(self, i, step);
    }
  }
  return NULL;
}

// Gives a thread of the host its worlds, and a result of its own to count in.
static bool create_part(const simulation *self, int32_t first, int32_t stride, simulation_result *result,
                        simulation *out_part) {
  size_t steps = (size_t)self->options->steps;
  *out_part = *self;
  out_part->first = first;
  out_part->stride = stride;
  out_part->result = result;
  result->digests = self->result->digests;
  result->tasks = calloc(steps, sizeof *result->tasks);
  result->islands = calloc(steps, sizeof *result->islands);
  return result->tasks && result->islands;
}

// Adds what a thread counted.
static void add_part(simulation *self, const simulation *part) {
  const simulation_result *from = part->result;
  if (self->status == WEIR_OK) self->status = part->status;
  for (int32_t step = 0; step < self->options->steps; step++) {
    self->result->tasks[step] += from->tasks[step];
    self->result->islands[step] += from->islands[step];
  }
  if (from->most_bodies > self->result->most_bodies) self->result->most_bodies = from->most_bodies;
}

// Runs the parts, the first in this thread.
static bool run_parts(simulation *parts, pthread_t *handles, int32_t threads) {
  int32_t started = 1;
  while (started < threads && pthread_create(&handles[started], NULL, run_worlds, &parts[started]) == 0) started++;
  run_worlds(&parts[0]);
  for (int32_t i = 1; i < started; i++) pthread_join(handles[i], NULL);
  return started == threads;
}

static void run_threads(simulation *self, int32_t threads) {
  simulation *parts = calloc((size_t)threads, sizeof *parts);
  simulation_result *results = calloc((size_t)threads, sizeof *results);
  pthread_t *handles = calloc((size_t)threads, sizeof *handles);
  bool good = parts && results && handles;
  for (int32_t i = 0; i < threads && good; i++) good = create_part(self, i, threads, &results[i], &parts[i]);
  if (self->options->start) self->options->start(self->options->user);
  double start = time_now(self);
  good = good && run_parts(parts, handles, threads);
  self->result->seconds = time_now(self) - start;
  for (int32_t i = 0; i < threads && good; i++) add_part(self, &parts[i]);
  for (int32_t i = 0; i < threads && results; i++) {
    free(results[i].tasks);
    free(results[i].islands);
  }
  free(parts);
  free(results);
  free(handles);
  if (good) return;
  fprintf(stderr, "weir-bodies: no memory, or no thread\n");
  self->status = WEIR_ERROR_OUT_OF_MEMORY;
}

static void run_steps(simulation *self) {
  warm_up(self);
  if (!check(self, weir_finish(self->context))) return;
  weir_trace_clear(self->context);
  int32_t threads = self->options->threads > 1 ? self->options->threads : 1;
  run_threads(self, threads < self->options->worlds ? threads : self->options->worlds);
}

static void keep_results(simulation *self) {
  simulation_result *result = self->result;
  const simulation_options *options = self->options;
  for (int32_t i = 0; i < options->worlds; i++) {
    const world_record *record = &self->places[i].record;
    if (record->overlap > result->record.overlap) result->record.overlap = record->overlap;
    if (record->stretch > result->record.stretch) result->record.stretch = record->stretch;
    if (record->gain > result->record.gain) result->record.gain = record->gain;
    result->record.action_work += record->action_work;
    result->reward += self->places[i].reward / ((double)options->worlds * (double)options->steps);
    memcpy(result->states + (size_t)i * (size_t)options->bodies, self->places[i].after.bodies,
           (size_t)options->bodies * sizeof(physics_body));
  }
  place *first = &self->places[0];
  if (options->look && plan_step(self, first, 0, options->steps)) {
    options->look(options->user, options->steps, &first->world, first->before.bodies, &first->list);
  }
}

static bool allocate(simulation *self) {
  size_t worlds = (size_t)self->options->worlds, steps = (size_t)self->options->steps;
  simulation_result *result = self->result;
  self->places = calloc(worlds, sizeof *self->places);
  result->digests = calloc(worlds * steps, sizeof *result->digests);
  result->states = calloc(worlds * (size_t)self->options->bodies, sizeof *result->states);
  result->tasks = calloc(steps, sizeof *result->tasks);
  result->islands = calloc(steps, sizeof *result->islands);
  if (self->places && result->digests && result->states && result->tasks && result->islands) return true;
  fprintf(stderr, "weir-bodies: no memory\n");
  self->status = WEIR_ERROR_OUT_OF_MEMORY;
  return false;
}

static void run_context(simulation *self) {
  create_kernel(self, &drive, 2, &self->drive);
  create_kernel(self, &solve, 10, &self->solve);
  create_kernel(self, &observe, 3, &self->observe);
  for (int32_t i = 0; i < self->options->worlds && self->status == WEIR_OK; i++) create_place(self, i);
  if (self->status == WEIR_OK) run_steps(self);
  if (self->status == WEIR_OK) keep_results(self);
  if (self->status == WEIR_OK && self->options->timeline) {
    check(self, weir_trace_save(self->context, self->options->timeline, "Islands of bodies"));
  }
  if (self->status != WEIR_OK) self->status = WEIR_ERROR_TASK_FAILED;
}

weir_status simulation_run(const simulation_options *options, simulation_result *out_result) {
  *out_result = (simulation_result){0};
  simulation self = {.options = options, .result = out_result};
  if (allocate(&self)) {
    uint64_t window = (uint64_t)options->worlds * (uint64_t)(options->bodies + 8);
    weir_context_options context_options = {.devices = options->devices,
                                            .flags = options->flags,
                                            .issue = options->issue,
                                            .window = window < 1024    ? 1024
                                                      : window > 65536 ? 65536
                                                                       : (uint32_t)window};
    if (check(&self, weir_context_create(&context_options, &self.context))) run_context(&self);
  }
  weir_context_release(self.context); // waits for what is in flight; takes kernels, buffers and events with it
  free(self.places);
  return self.status;
}

void simulation_result_release(simulation_result *result) {
  free(result->digests);
  free(result->states);
  free(result->tasks);
  free(result->islands);
  *result = (simulation_result){0};
}

bool simulation_same(const simulation_options *options, const simulation_result *a, const simulation_result *b,
                     int32_t *out_step, int32_t *out_world) {
  size_t worlds = (size_t)options->worlds, count = worlds * (size_t)options->steps;
  *out_step = options->steps - 1;
  *out_world = 0;
  for (size_t i = 0; i < count; i++) {
    if (a->digests[i] == b->digests[i]) continue;
    *out_step = (int32_t)(i / worlds);
    *out_world = (int32_t)(i % worlds);
    return false;
  }
  return memcmp(a->states, b->states, worlds * (size_t)options->bodies * sizeof(physics_body)) == 0;
}
