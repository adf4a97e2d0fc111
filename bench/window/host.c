// SPDX-License-Identifier: Apache-2.0
#include "host.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/allocate.h"
#include "clock.h"
#include "timing.h"
#include "window/buffer.h"

enum { STEP = 64, SUBMIT_WINDOW = 1024, SUBMIT_LEAST = 16384, FIND_LEAST = 4096 };

// ---------------------------------------------------------------------------------------------------------------
// Lengths made small

// A first or last byte of an access, or of a buffer.
typedef struct point {
  uint32_t buffer;
  uint64_t at;
} point;

static int by_place(const void *left, const void *right) {
  const point *a = left, *b = right;
  if (a->buffer != b->buffer) return a->buffer < b->buffer ? -1 : 1;
  return (a->at > b->at) - (a->at < b->at);
}

static point place_of(const window_case *which, uint32_t buffer, uint64_t offset) {
  if (which->renames) return (point){buffer, offset};
  return (point){0, which->program.buffers[buffer].address + offset};
}

// So many steps from the buffer's first point.
static uint64_t steps_of(const point *points, size_t count, point sought) {
  const point *found = bsearch(&sought, points, count, sizeof *points, by_place), *first = found;
  while (first > points && first[-1].buffer == found->buffer) first--;
  return (uint64_t)(found - first) * STEP;
}

static size_t without_doubles(point *points, size_t count) {
  size_t kept = 0;
  qsort(points, count, sizeof *points, by_place);
  for (size_t i = 0; i < count; i++)
    if (kept == 0 || by_place(&points[kept - 1], &points[i]) != 0) points[kept++] = points[i];
  return kept;
}

static size_t count_accesses(const weir__plan_program *program) {
  size_t count = 0;
  for (uint32_t t = 0; t < program->task_count; t++) count += program->tasks[t].access_count;
  return count;
}

void window_host_open(const window_case *which, window_host *out_host) {
  const weir__plan_program *program = &which->program;
  size_t access_count = count_accesses(program), count = 0;
  const weir__plan_access *old = program->tasks[0].accesses; // of all tasks, one behind the other
  *out_host = (window_host){.which = which, .buffer_count = which->renames ? program->buffer_count : 1};
  out_host->bytes = gpu_memory(out_host->buffer_count, sizeof *out_host->bytes);
  out_host->accesses = gpu_memory(access_count, sizeof *out_host->accesses);
  out_host->args = gpu_memory(access_count, sizeof *out_host->args);
  point *points = gpu_memory(2 * (access_count + program->buffer_count), sizeof *points);
  for (uint32_t i = 0; i < program->buffer_count; i++) {
    points[count++] = place_of(which, i, 0);
    points[count++] = place_of(which, i, program->buffers[i].bytes);
  }
  for (size_t a = 0; a < access_count; a++) {
    points[count++] = place_of(which, old[a].buffer, old[a].offset);
    points[count++] = place_of(which, old[a].buffer, old[a].offset + old[a].bytes);
  }
  count = without_doubles(points, count);
  for (uint32_t i = 0; i < program->buffer_count; i++) {
    point end = place_of(which, i, program->buffers[i].bytes);
    uint64_t bytes = steps_of(points, count, end);
    if (bytes > out_host->bytes[end.buffer]) out_host->bytes[end.buffer] = bytes;
  }
  for (size_t a = 0; a < access_count; a++) {
    point lo = place_of(which, old[a].buffer, old[a].offset),
          hi = place_of(which, old[a].buffer, old[a].offset + old[a].bytes);
    uint64_t offset = steps_of(points, count, lo), bytes = steps_of(points, count, hi) - offset;
    out_host->accesses[a] = (weir__plan_access){old[a].mode, lo.buffer, offset, bytes};
    out_host->args[a] = (weir_arg){.mode = old[a].mode, .offset = offset, .bytes = bytes};
  }
  free(points);
}

void window_host_close(window_host *host) {
  free(host->bytes);
  free(host->accesses);
  free(host->args);
  *host = (window_host){.which = NULL};
}

// ---------------------------------------------------------------------------------------------------------------
// Hazards alone

typedef struct finder {
  weir_buffer *buffers;
  weir__range_pool ranges;
  weir__hits hits;
  weir__liveness live;
  weir__id *marks; // of each task in flight, by its slot: the last one that has it in its list
} finder;

static void need(bool good) {
  if (good) return;
  fprintf(stderr, "weir-bench-window: no memory\n");
  exit(1);
}

static void finder_open(finder *f, const window_host *host, uint32_t live) {
  *f = (finder){.live = {.oldest = 1, .mask = live - 1}};
  f->buffers = weir__allocate_zeroed(host->buffer_count * sizeof *f->buffers);
  f->live.done = weir__allocate_zeroed(live);
  f->marks = weir__allocate_zeroed(live * sizeof *f->marks);
  need(f->buffers != NULL && f->live.done != NULL && f->marks != NULL);
  weir__range_pool_initialize(&f->ranges);
  weir__hits_initialize(&f->hits);
  f->hits.arrays = &f->ranges.arrays;
  for (uint32_t i = 0; i < host->buffer_count; i++) {
    f->buffers[i].bytes = host->bytes[i];
    weir__segment_initialize(&f->buffers[i].whole);
  }
}

static void finder_close(finder *f, const window_host *host) {
  for (uint32_t i = 0; i < host->buffer_count; i++) {
    if (f->buffers[i].ranged) weir__range_map_deinitialize(&f->buffers[i].map);
    weir__segment_deinitialize(&f->buffers[i].whole);
  }
  weir__hits_deinitialize(&f->hits);
  weir__range_pool_deinitialize(&f->ranges);
  weir__free(f->buffers);
  weir__free(f->live.done);
  weir__free(f->marks);
}

// As weir__buffer_drop_storage, of which users are a part.
static void forget_users(weir_buffer *buffer) {
  if (buffer->ranged) {
    weir__range_map_deinitialize(&buffer->map);
    buffer->ranged = false;
  }
  weir__segment_reset(&buffer->whole);
}

static void find(finder *f, bool renames, const weir__plan_access *accesses, uint32_t count, weir__id id,
                 window_host_list *list) {
  weir__hits_clear(&f->hits);
  need(weir__range_pool_reserve(&f->ranges, count));
  for (uint32_t a = 0; a < count; a++) {
    weir_buffer *buffer = &f->buffers[accesses[a].buffer];
    uint64_t lo = accesses[a].offset, hi = lo + accesses[a].bytes;
    if (renames && accesses[a].mode == WEIR_WRITE && accesses[a].bytes == buffer->bytes &&
        !weir__buffer_idle(buffer, &f->live))
      forget_users(buffer);
    weir__buffer_access(buffer, &f->ranges, &f->live, id, accesses[a].mode, lo, hi, &f->hits);
  }
  list->count = 0;
  for (size_t i = 0; i < f->hits.count; i++) {
    weir__id before = f->hits.list[i].task;
    if (before == 0 || f->marks[before & f->live.mask] == id) continue;
    f->marks[before & f->live.mask] = id;
    if (list->count < WINDOW_HOST_EDGES) list->edges[list->count] = (uint32_t)(before - 1);
    list->count++;
  }
}

static double find_all(finder *f, const window_host *host, uint32_t live, weir__id first, window_host_list *lists) {
  const weir__plan_program *program = &host->which->program;
  const weir__plan_access *next = host->accesses;
  double begin = weir__bench_seconds();
  for (uint32_t t = 0; t < program->task_count; t++) {
    weir__id id = first + t;
    f->live.oldest = id > live ? id - live : 1;
    find(f, host->which->renames, next, program->tasks[t].access_count, id, &lists[t]);
    next += program->tasks[t].access_count;
  }
  return weir__bench_seconds() - begin;
}

double window_host_find(const window_host *host, uint32_t live, window_host_list *out_lists) {
  const uint32_t tasks = host->which->program.task_count, passes = (FIND_LEAST + tasks - 1) / tasks;
  window_host_list *again = gpu_memory(tasks, sizeof *again);
  finder f;
  finder_open(&f, host, live);
  find_all(&f, host, live, 1, out_lists);
  weir__id next = 1 + (weir__id)tasks;
  double seconds = 0;
  for (uint32_t pass = 0; pass <= passes; pass++, next += tasks) {
    double taken = find_all(&f, host, live, next, again);
    if (pass > 0) seconds += taken;
  }
  need(!f.hits.incomplete && !f.hits.unrecorded);
  finder_close(&f, host);
  free(again);
  return seconds / passes;
}

// ---------------------------------------------------------------------------------------------------------------
// A whole submission

static void no_work(const weir_work *work) {
  (void)work;
}

static weir_status submit_all(window_host *host, weir_context *context, weir_kernel *kernel, double *out_seconds) {
  const weir__plan_program *program = &host->which->program;
  const uint32_t passes = (SUBMIT_LEAST + program->task_count - 1) / program->task_count;
  weir_status status = WEIR_OK;
  double begin = weir__bench_seconds();
  for (uint32_t pass = 0; pass < passes; pass++) {
    const weir_arg *next = host->args;
    for (uint32_t t = 0; t < program->task_count && status == WEIR_OK; t++) {
      const weir_task task = {.kernel = kernel, .args = next, .arg_count = program->tasks[t].access_count};
      status = weir_submit(context, &task, NULL);
      next += task.arg_count;
    }
  }
  if (status == WEIR_OK) status = weir_finish(context);
  *out_seconds = (weir__bench_seconds() - begin) / passes;
  return status;
}

weir_status window_host_submit(window_host *host, uint32_t rounds, double *out_seconds) {
  weir_context *context = NULL;
  weir_kernel *kernel = NULL;
  const weir_context_options options = {
      .devices = "null", .window = SUBMIT_WINDOW, .flags = host->which->renames ? 0 : WEIR_CONTEXT_NO_RENAME};
  weir_buffer **buffers = gpu_memory(host->buffer_count, sizeof *buffers);
  weir_status status = weir_context_create(&options, &context);
  if (status == WEIR_OK) status = weir_kernel_create(context, "none", &kernel);
  if (status == WEIR_OK) status = weir_kernel_set_cpu(kernel, no_work);
  for (uint32_t i = 0; i < host->buffer_count && status == WEIR_OK; i++)
    status = weir_buffer_create(context, host->bytes[i], &buffers[i]);
  size_t count = count_accesses(&host->which->program);
  for (size_t a = 0; a < count; a++) host->args[a].buffer = buffers[host->accesses[a].buffer];
  double first = 0;
  if (status == WEIR_OK) status = submit_all(host, context, kernel, &first);
  for (uint32_t round = 0; round < rounds && status == WEIR_OK; round++)
    status = submit_all(host, context, kernel, &out_seconds[round]);
  weir_context_release(context);
  free(buffers);
  return status;
}
