// SPDX-License-Identifier: Apache-2.0
#include <stdlib.h>
#include <string.h>

#include "program.h"
#include "random.h"

enum {
  MAX_GRAPHS = 3,
  MAX_EVENTS = 64,
  FEW_GRAPH_TASKS = 8,
  MANY_GRAPH_TASKS = 150,
  MOST_PHRASE_TASKS = 12,
};

// What is alive at the present point of the program.
typedef struct generator {
  random_state random;
  const program_shape *shape;
  test_program *program;
  uint32_t buffers[PROGRAM_MAX_LIVE], buffer_count;
  uint32_t graphs[MAX_GRAPHS], graph_count;
  uint32_t events[MAX_EVENTS], event_count;
  uint64_t bytes;
} generator;

static program_operation *append(generator *g, operation_kind kind) {
  test_program *program = g->program;
  if (program->count == program->capacity) {
    program->capacity = program->capacity * 2 + 64;
    program_operation *grown = realloc(program->operations, program->capacity * sizeof *grown);
    if (grown == NULL) exit(1);
    program->operations = grown;
  }
  program_operation *operation = &program->operations[program->count++];
  memset(operation, 0, sizeof *operation);
  operation->kind = kind;
  operation->seed = random_next(&g->random);
  return operation;
}

static uint64_t bytes_of(const generator *g, uint32_t buffer) {
  return g->program->operations[buffer].bytes;
}

// Storage that a buffer needs at most in one memory. Weir rounds sizes up by a quarter at most; PROGRAM_CHURN_BYTES it
// need not round. Memory of the caller's has a copy in the memory of a card.
static uint64_t footprint(const generator *g, const program_operation *operation) {
  if (operation->wrapped && g->shape->cards == 0) return 0;
  return g->shape->churn ? PROGRAM_CHURN_BYTES : operation->bytes + operation->bytes / 4 + 64;
}

static uint32_t choose_any_size(random_state *random, const program_shape *shape) {
  if (shape->churn) return random_between(random, 1030, PROGRAM_CHURN_BYTES);
  if (shape->dense) return random_between(random, 5000, 60000);
  if (shape->boxes && random_chance(random, 70)) return random_between(random, 40, 500);
  switch (random_below(random, 12)) {
  case 0:
    return 1;
  case 1:
  case 2:
    return random_between(random, 2, 16);
  case 3:
    return random_between(random, 1000, 5000);
  case 4:
    return random_chance(random, 20) ? random_between(random, 20000, 70000) : 64;
  default:
    return random_between(random, 17, 400);
  }
}

static uint32_t choose_size(random_state *random, const program_shape *shape) {
  uint32_t size = choose_any_size(random, shape);
  return shape->largest > 0 && size > shape->largest ? shape->largest : size;
}

static void add_buffer(generator *g) {
  program_operation *operation = append(g, OPERATION_BUFFER);
  operation->bytes = choose_size(&g->random, g->shape);
  operation->wrapped = random_chance(&g->random, g->shape->boxes ? 40 : 20);
  g->buffers[g->buffer_count++] = g->program->count - 1;
  g->bytes += footprint(g, operation);
  if (g->bytes > g->program->live_bytes) g->program->live_bytes = g->bytes;
}

// Two buffers that get their storage together, from the task that fills them.
static void add_pair(generator *g) {
  uint32_t first = g->program->count, second = first + 1;
  program_task task = {.seed = random_next(&g->random), .fail_group = PROGRAM_NO_FAILURE, .groups = {1, 1, 1}};
  for (uint32_t i = first; i <= second; i++) {
    program_operation *operation = append(g, i == first ? OPERATION_BLANK : OPERATION_BUFFER_PAIR);
    operation->bytes = choose_size(&g->random, g->shape);
    operation->target = second;
    operation->source = first;
    g->buffers[g->buffer_count++] = i;
    g->bytes += footprint(g, operation);
    task.accesses[task.access_count++] =
        (program_access){.mode = WEIR_WRITE, .buffer = i, .bytes = (uint32_t)operation->bytes, .whole = true};
  }
  g->program->operations[second].task = task;
  if (g->bytes > g->program->live_bytes) g->program->live_bytes = g->bytes;
}

static uint32_t choose_buffer(generator *g) {
  if (g->shape->boxes && random_chance(&g->random, 60)) return g->buffers[0];
  return g->buffers[random_below(&g->random, g->buffer_count)];
}

// The shapes that tasks use in a buffer have mostly the same pitch. False: the box that was drawn does not fit.
static bool choose_box(generator *g, const program_operation *buffer, program_access *access) {
  random_state *random = &g->random;
  uint32_t size = (uint32_t)buffer->bytes, pitch = 3 + (uint32_t)(buffer->seed % 30), unit = g->shape->alignment;
  if (random_chance(random, 10)) pitch = random_between(random, 1, 40);
  if (unit > 0) pitch = (pitch + unit - 1) / unit * unit;
  if (pitch > size) return false;
  uint32_t most = size / pitch, row = random_below(random, most), column = random_below(random, pitch);
  program_box box = {.width = random_between(random, 1, pitch), .pitch = pitch, .slices = 1};
  if (random_chance(random, 60)) { // a tile
    column = random_below(random, 2) * (pitch / 2);
    row -= row % 2;
    box.width = pitch < 2 ? 1 : pitch / 2;
    box.rows = 2;
  } else {
    box.rows = random_between(random, 1, most - row);
  }
  if (random_chance(random, 25)) {
    box.slices = random_between(random, 2, 3);
    box.rows = (box.rows + 2) / 3;
  }
  box.slice_pitch = pitch * (box.rows + random_below(random, 3));
  uint32_t offset = row * pitch + column;
  if (unit > 0) offset -= offset % unit;
  uint32_t bytes = (box.slices - 1) * box.slice_pitch + (box.rows - 1) * pitch + box.width;
  if (offset + bytes > size) return false;
  access->offset = offset;
  access->bytes = bytes;
  access->box = box;
  return true;
}

static void choose_range(generator *g, uint64_t size, uint64_t *out_offset, uint64_t *out_bytes) {
  random_state *random = &g->random;
  uint32_t bytes = (uint32_t)size;
  if (g->shape->dense && random_chance(random, 97)) {
    *out_offset = random_below(random, bytes - 300);
    *out_bytes = random_between(random, 1, random_chance(random, 90) ? 40 : 300);
    return;
  }
  switch (random_below(random, 5)) {
  case 0:
  case 1: // all of it
    *out_offset = 0;
    *out_bytes = bytes;
    break;
  case 2: // one of four parts
    *out_offset = bytes / 4 * random_below(random, 4);
    *out_bytes = bytes / 4 == 0 ? bytes - *out_offset : bytes / 4;
    break;
  default:
    *out_offset = random_below(random, bytes);
    *out_bytes = random_between(random, 1, bytes - (uint32_t)*out_offset);
  }
}

static bool accesses_overlap(const program_access *a, const program_access *b) {
  for (uint32_t i = 0; i < program_rows(a); i++) {
    for (uint32_t j = 0; j < program_rows(b); j++) {
      uint32_t left = program_row(a, i), right = program_row(b, j);
      if (left < right + program_row_bytes(b) && right < left + program_row_bytes(a)) return true;
    }
  }
  return false;
}

static bool accesses_disagree(const program_access *a, const program_access *b) {
  if (a->buffer != b->buffer || (a->mode == WEIR_READ && b->mode == WEIR_READ)) return false;
  if (!accesses_overlap(a, b)) return false;
  return a->mode != b->mode || a->offset != b->offset || a->bytes != b->bytes ||
         memcmp(&a->box, &b->box, sizeof a->box) != 0;
}

static bool fits_task(const program_task *task, const program_access *access, uint32_t except) {
  for (uint32_t i = 0; i < task->access_count; i++) {
    if (i != except && accesses_disagree(&task->accesses[i], access)) return false;
  }
  return true;
}

static void add_access(generator *g, program_task *task, bool boxes) {
  program_access access = {.buffer = choose_buffer(g)};
  uint64_t offset, bytes, size = bytes_of(g, access.buffer);
  choose_range(g, size, &offset, &bytes);
  if (g->shape->alignment > 0) offset -= offset % g->shape->alignment;
  access.mode = (weir_mode)random_between(&g->random, WEIR_READ, WEIR_READ_WRITE);
  // Where tasks fail it would matter which comes first.
  if (access.mode == WEIR_READ_WRITE && !g->shape->failures && random_chance(&g->random, 60))
    access.mode = random_chance(&g->random, 50) ? WEIR_COMMUTE : WEIR_REDUCE;
  access.offset = (uint32_t)offset;
  access.bytes = (uint32_t)bytes;
  access.whole = offset + bytes == size && random_chance(&g->random, 50);
  bool box = boxes && access.mode != WEIR_REDUCE && random_chance(&g->random, 40) &&
             choose_box(g, &g->program->operations[access.buffer], &access);
  if (box) access.whole = false;
  if (fits_task(task, &access, UINT32_MAX)) task->accesses[task->access_count++] = access;
}

// Where tasks fail, tasks commute on whole buffers and only write to others: either the buffer was poisoned before all of a
// set, which are skipped then, or none of them is.
static void commute_beside_failures(generator *g, program_task *task) {
  program_access all = {.mode = WEIR_COMMUTE, .buffer = choose_buffer(g), .whole = true};
  all.bytes = (uint32_t)bytes_of(g, all.buffer);
  for (uint32_t i = 0; i < task->access_count; i++) {
    if (task->accesses[i].mode != WEIR_WRITE) return;
  }
  if (task->access_count < PROGRAM_MAX_ACCESSES && fits_task(task, &all, UINT32_MAX))
    task->accesses[task->access_count++] = all;
}

static program_task make_task(generator *g) {
  random_state *random = &g->random;
  program_task task = {.seed = random_next(random), .fail_group = PROGRAM_NO_FAILURE, .groups = {1, 1, 1}};
  task.kernel = random_below(random, PROGRAM_KERNELS);
  uint32_t wanted = random_between(random, 0, random_chance(random, 20) ? PROGRAM_MAX_ACCESSES : 3);
  if (g->shape->device_count > 0 && g->shape->boxes && random_chance(random, 40))
    task.device = random_between(random, 1, g->shape->device_count);
  // A node of a graph comes to run on the first device.
  bool boxes =
      g->shape->boxes && ((g->shape->ranges | g->shape->ranges >> (task.device > 0 ? task.device - 1 : 0)) & 1) == 0;
  for (uint32_t i = 0; i < wanted; i++) add_access(g, &task, boxes);
  if (g->shape->boxes && g->shape->failures) commute_beside_failures(g, &task);
  if (random_chance(random, 30)) {
    task.value_bytes = random_between(random, 1, random_chance(random, 10) ? 4096 : 40);
    task.value_index = random_below(random, task.access_count + 1);
  }
  if (g->shape->cards != 0 && task.value_bytes > 0) task.value_bytes = 8;
  if (random_chance(random, 30)) {
    task.groups[0] = random_below(random, 6);
    if (random_chance(random, 30)) task.groups[1] = random_below(random, 4);
    if (random_chance(random, 10)) task.groups[2] = random_below(random, 3);
  }
  if (g->shape->pauses && random_chance(random, g->shape->dense ? 100 : 25))
    task.pause = random_below(random, g->shape->dense ? 20000 : 4000);
  if (random_chance(random, 15)) task.priority = (int32_t)random_below(random, 8) + WEIR_PRIORITY_LOWEST;
  if (g->shape->device_count > 0 && !g->shape->boxes && random_chance(random, 20))
    task.device = random_between(random, 1, g->shape->device_count);
  return task;
}

// A task that names no device runs on the first.
static bool may_fail(const generator *g, const program_task *task) {
  if (!g->shape->failures) return false;
  for (uint32_t i = 0; i < task->access_count; i++) {
    if (task->accesses[i].mode == WEIR_COMMUTE) return false;
  }
  uint32_t device = task->device == 0 ? 0 : task->device - 1;
  return task->kernel == PROGRAM_HOST || (g->shape->cards >> device & 1) == 0 ||
         (task->kernel == PROGRAM_CALLED && (g->shape->calls >> device & 1) != 0);
}

static void choose_event(generator *g, program_operation *operation) {
  operation->callback = random_chance(&g->random, 10);
  operation->event = operation->callback || random_chance(&g->random, 20);
  if (operation->event && g->event_count < MAX_EVENTS) g->events[g->event_count++] = g->program->count - 1;
}

static void choose_after(generator *g, program_operation *operation) {
  if (g->event_count == 0 || !random_chance(&g->random, 15)) return;
  operation->after_count = random_between(&g->random, 1, PROGRAM_MAX_AFTER);
  for (uint32_t i = 0; i < operation->after_count; i++)
    operation->after[i] = g->events[random_below(&g->random, g->event_count)];
}

static void add_task(generator *g) {
  program_task task = make_task(g);
  if (g->shape->host_tasks && random_chance(&g->random, 15)) {
    task.kernel = PROGRAM_HOST;
    task.device = 0;
    task.groups[0] = task.groups[1] = task.groups[2] = 1;
  }
  if (may_fail(g, &task) && random_chance(&g->random, 6))
    task.fail_group = random_below(&g->random, (task.groups[0] > 0 ? task.groups[0] : 1));
  if (g->shape->groups && random_chance(&g->random, 30)) task.group = random_between(&g->random, 1, PROGRAM_GROUPS);
  program_operation *operation = append(g, OPERATION_TASK);
  operation->task = task;
  choose_after(g, operation);
  choose_event(g, operation);
}

static void add_copy(generator *g) {
  static const operation_kind kinds[] = {OPERATION_COPY_IN, OPERATION_COPY_OUT, OPERATION_COPY, OPERATION_FILL};
  uint32_t buffer = choose_buffer(g), source = choose_buffer(g);
  uint64_t offset, bytes;
  choose_range(g, bytes_of(g, buffer), &offset, &bytes);
  program_operation *operation = append(g, kinds[random_below(&g->random, g->shape->boxes ? 4 : 3)]);
  operation->buffer = buffer;
  operation->offset = offset;
  operation->bytes = bytes;
  if (operation->kind == OPERATION_FILL) {
    operation->offset -= offset % 4;
    operation->bytes -= bytes % 4;
    if (operation->bytes == 0) operation->kind = OPERATION_COPY_IN, operation->bytes = 1;
  }
  if (operation->kind == OPERATION_COPY) {
    uint64_t room = bytes_of(g, source);
    operation->source = source;
    if (operation->bytes > room) operation->bytes = room;
    operation->source_offset = random_below(&g->random, (uint32_t)(room - operation->bytes) + 1);
    bool overlap = source == buffer && operation->source_offset < offset + operation->bytes &&
                   offset < operation->source_offset + operation->bytes;
    if (overlap) operation->kind = OPERATION_COPY_OUT;
  }
  choose_event(g, operation);
}

static void add_group_wait(generator *g) {
  program_operation *operation = append(g, OPERATION_GROUP_WAIT);
  operation->target = random_below(&g->random, PROGRAM_GROUPS);
  operation->callback = random_chance(&g->random, 30);
}

static void add_event_operation(generator *g) {
  if (g->event_count == 0) return;
  uint32_t index = random_below(&g->random, g->event_count), choice = random_below(&g->random, 10);
  operation_kind kind = choice < 3 ? OPERATION_EVENT_WAIT : choice < 6 ? OPERATION_EVENT_POLL : OPERATION_EVENT_RELEASE;
  program_operation *operation = append(g, kind);
  operation->target = g->events[index];
  static const uint64_t timeouts[] = {0, 1000, 100000, WEIR_FOREVER};
  operation->timeout_ns = timeouts[random_below(&g->random, 4)];
  if (kind == OPERATION_EVENT_RELEASE) g->events[index] = g->events[--g->event_count];
}

static bool graph_uses(const program_operation *graph, uint32_t buffer) {
  for (uint32_t t = 0; t < graph->task_count; t++) {
    for (uint32_t a = 0; a < graph->tasks[t].access_count; a++) {
      if (graph->tasks[t].accesses[a].buffer == buffer) return true;
    }
  }
  return false;
}

static void release_buffer(generator *g) {
  if (g->buffer_count < 2 || g->shape->dense) return;
  uint32_t index = random_below(&g->random, g->buffer_count), buffer = g->buffers[index];
  for (uint32_t i = g->graph_count; i-- > 0;) {
    const program_operation *graph = &g->program->operations[g->graphs[i]];
    if (!graph->changed && !graph_uses(graph, buffer)) continue;
    append(g, OPERATION_GRAPH_RELEASE)->target = g->graphs[i];
    g->graphs[i] = g->graphs[--g->graph_count];
  }
  append(g, OPERATION_BUFFER_RELEASE)->buffer = buffer;
  g->buffers[index] = g->buffers[--g->buffer_count];
  g->bytes -= footprint(g, &g->program->operations[buffer]);
}

// A graph cannot be launched any more once a kernel of it was released.
static void renew_kernel(generator *g) {
  while (g->graph_count > 0) append(g, OPERATION_GRAPH_RELEASE)->target = g->graphs[--g->graph_count];
  append(g, OPERATION_KERNEL_RENEW)->target = random_below(&g->random, PROGRAM_KERNELS);
}

static void add_graph(generator *g) {
  uint32_t most = random_chance(&g->random, g->shape->boxes ? 40 : 15) ? MANY_GRAPH_TASKS : FEW_GRAPH_TASKS;
  uint32_t count = random_between(&g->random, 1, most);
  program_task *tasks = program_memory(count * sizeof *tasks);
  uint32_t device = 0;
  if (g->shape->boxes && g->shape->ranges == 0 && g->shape->device_count > 0)
    device = random_below(&g->random, g->shape->device_count + 1);
  for (uint32_t i = 0; i < count; i++) {
    tasks[i] = make_task(g);
    tasks[i].device = device; // all tasks of a graph run on one device
    if (may_fail(g, &tasks[i]) && random_below(&g->random, count + 10) == 0) tasks[i].fail_group = 0;
  }
  program_operation *operation = append(g, OPERATION_GRAPH);
  operation->tasks = tasks;
  operation->task_count = count;
  g->graphs[g->graph_count++] = g->program->count - 1;
}

// Changes the recorded tasks as the graph will see them, so that later changes are made to what it then holds.
static bool change_buffer(generator *g, program_operation *graph, uint32_t node, uint32_t access) {
  program_access changed = graph->tasks[node].accesses[access];
  changed.buffer = choose_buffer(g);
  if ((uint64_t)changed.offset + changed.bytes > bytes_of(g, changed.buffer)) return false;
  changed.whole = false;
  if (!fits_task(&graph->tasks[node], &changed, access)) return false;
  uint32_t target = (uint32_t)(graph - g->program->operations);
  program_operation *operation = append(g, OPERATION_GRAPH_SET_BUFFER);
  operation->target = target;
  operation->node = node;
  operation->access = access;
  operation->buffer = changed.buffer;
  return true;
}

// A changed graph is described by the tasks of its operation as recorded; each graph is changed at most once by buffer,
// so that the generator need not follow the changes.
static void change_graph(generator *g, uint32_t index) {
  uint32_t target = g->graphs[index];
  program_operation *graph = &g->program->operations[target];
  uint32_t node = random_below(&g->random, graph->task_count);
  if (random_chance(&g->random, 60) || graph->changed) {
    program_operation *operation = append(g, OPERATION_GRAPH_SET_VALUE);
    operation->target = target;
    operation->node = node;
    return;
  }
  if (random_chance(&g->random, 50)) {
    uint32_t accesses = graph->tasks[node].access_count;
    if (accesses == 0 || !change_buffer(g, graph, node, random_below(&g->random, accesses))) return;
  } else {
    uint32_t old = choose_buffer(g), replacement = choose_buffer(g);
    if (!graph_uses(graph, old) || graph_uses(graph, replacement) || bytes_of(g, replacement) < bytes_of(g, old))
      return;
    program_operation *operation = append(g, OPERATION_GRAPH_REPLACE);
    operation->target = target;
    operation->source = old;
    operation->buffer = replacement;
  }
  g->program->operations[target].changed = true; // appending may have moved the operation
}

static void add_graph_operation(generator *g) {
  if (g->graph_count == 0 || (g->graph_count < MAX_GRAPHS && random_chance(&g->random, 20))) {
    add_graph(g);
    return;
  }
  uint32_t index = random_below(&g->random, g->graph_count), choice = random_below(&g->random, 10);
  if (choice < 5) {
    program_operation *operation = append(g, OPERATION_GRAPH_LAUNCH);
    operation->target = g->graphs[index];
    choose_event(g, operation);
  } else if (choice < 9) {
    change_graph(g, index);
  } else {
    append(g, OPERATION_GRAPH_RELEASE)->target = g->graphs[index];
    g->graphs[index] = g->graphs[--g->graph_count];
  }
}

static void replace_a_buffer(generator *g) {
  release_buffer(g);
  if (random_chance(&g->random, 60) || g->buffer_count + 2 > PROGRAM_MAX_LIVE)
    add_buffer(g);
  else
    add_pair(g);
}

// Tasks that come together several times.
typedef struct phrase {
  program_task tasks[MOST_PHRASE_TASKS];
  uint32_t count;
} phrase;

static void make_phrase(generator *g, phrase *made) {
  made->count = random_between(&g->random, 2, MOST_PHRASE_TASKS);
  for (uint32_t i = 0; i < made->count; i++) {
    program_task *task = &made->tasks[i];
    *task = make_task(g);
    task->plain = true;
    task->priority = 0;
    if (random_chance(&g->random, 90)) task->device = 0;
    for (uint32_t j = 0; j < task->access_count; j++) {
      if (task->accesses[j].mode > WEIR_READ_WRITE) task->accesses[j].mode = WEIR_READ_WRITE;
    }
  }
}

// A new buffer takes the place of one of the phrase's, which may be released at once.
static void exchange_buffer(generator *g, phrase *changed) {
  const program_task *task = &changed->tasks[random_below(&g->random, changed->count)];
  if (task->access_count == 0 || g->buffer_count == PROGRAM_MAX_LIVE || g->shape->dense) return;
  uint32_t old = task->accesses[0].buffer, fresh = g->program->count;
  uint64_t bytes = bytes_of(g, old);
  program_operation *operation = append(g, OPERATION_BUFFER);
  operation->bytes = bytes;
  g->buffers[g->buffer_count++] = fresh;
  g->bytes += footprint(g, operation);
  if (g->bytes > g->program->live_bytes) g->program->live_bytes = g->bytes;
  for (uint32_t i = 0; i < changed->count; i++) {
    for (uint32_t j = 0; j < changed->tasks[i].access_count; j++) {
      if (changed->tasks[i].accesses[j].buffer == old) changed->tasks[i].accesses[j].buffer = fresh;
    }
  }
}

static void say_task(generator *g, const program_task *said) {
  program_operation *operation = append(g, OPERATION_TASK);
  operation->task = *said;
  operation->task.seed = (random_next(&g->random) & ~(uint64_t)3) | (said->seed & 3); // the label is the same
  if (may_fail(g, said) && random_chance(&g->random, 2)) operation->task.fail_group = 0;
}

static bool is_alive(const generator *g, const program_task *task) {
  for (uint32_t i = 0; i < task->access_count; i++) {
    bool found = false;
    for (uint32_t j = 0; j < g->buffer_count; j++) found = found || g->buffers[j] == task->accesses[i].buffer;
    if (!found) return false;
  }
  return true;
}

// Something else in between, which may release a buffer of the phrase's.
static void interrupt(generator *g) {
  switch (random_below(&g->random, 5)) {
  case 0:
    append(g, OPERATION_FINISH);
    break;
  case 1:
    add_task(g);
    break;
  case 2:
    release_buffer(g);
    break;
  default:
    add_copy(g);
  }
}

// The task before which something else happens; UINT32_MAX: none. Where phrases break at each position, they come three times first,
// and whole in between.
static uint32_t choose_odd(generator *g, const phrase *said, uint32_t time) {
  if (g->shape->breaks) return time < 3 || time % 2 == 0 ? UINT32_MAX : (time - 3) / 2;
  return random_chance(&g->random, 30) ? random_below(&g->random, said->count) : UINT32_MAX;
}

static void add_phrase(generator *g) {
  phrase said;
  make_phrase(g, &said);
  uint32_t times = g->shape->breaks ? 2 * said.count + 4 : random_between(&g->random, 2, 8);
  for (uint32_t t = 0; t < times; t++) {
    if (random_chance(&g->random, 40)) append(g, OPERATION_FINISH);
    uint32_t odd = choose_odd(g, &said, t);
    for (uint32_t i = 0; i < said.count; i++) {
      if (i == odd && random_chance(&g->random, 30)) continue;
      if (i == odd) interrupt(g);
      if (g->buffer_count == 0 || !is_alive(g, &said.tasks[i])) return;
      say_task(g, &said.tasks[i]);
      if (i + 1 == said.count) choose_event(g, &g->program->operations[g->program->count - 1]);
    }
    if (random_chance(&g->random, 30)) exchange_buffer(g, &said);
  }
}

static void add_operation(generator *g) {
  if (g->shape->phrases && g->buffer_count > 0 && random_chance(&g->random, g->shape->breaks ? 60 : 15)) {
    add_phrase(g);
    return;
  }
  if (g->shape->dense && random_chance(&g->random, 95)) { // hardly ever wait, so that much is in flight
    if (random_chance(&g->random, 80))
      add_task(g);
    else
      add_copy(g);
    return;
  }
  if (g->shape->groups && random_chance(&g->random, 4)) {
    add_group_wait(g);
    return;
  }
  uint32_t choice = random_between(&g->random, g->shape->dense ? 8 : 0, 99);
  if (g->shape->churn && g->buffer_count > 2 && random_chance(&g->random, 20))
    replace_a_buffer(g);
  else if (g->buffer_count == 0 || (choice < 6 && g->buffer_count < PROGRAM_MAX_LIVE))
    add_buffer(g);
  else if (choice < 8 && g->buffer_count + 2 <= PROGRAM_MAX_LIVE)
    add_pair(g);
  else if (choice < 60)
    add_task(g);
  else if (choice < 76)
    add_copy(g);
  else if (choice < 84)
    add_event_operation(g);
  else if (choice < 88)
    release_buffer(g);
  else if (choice < 89)
    append(g, OPERATION_FINISH);
  else if (choice < 90)
    renew_kernel(g);
  else if (g->shape->graphs)
    add_graph_operation(g);
  else
    add_task(g);
}

void program_generate(test_program *out_program, uint64_t seed, const program_shape *shape) {
  *out_program = (test_program){.seed = seed, .device_count = shape->device_count};
  generator g = {.random = {seed}, .shape = shape, .program = out_program};
  uint32_t buffers = random_between(&g.random, 1, shape->dense ? 2 : 6);
  for (uint32_t i = 0; i < buffers; i++) add_buffer(&g);
  while (out_program->count < shape->length) add_operation(&g);
  out_program->dropped = program_memory(out_program->count * sizeof(bool));
}
