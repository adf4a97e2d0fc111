// SPDX-License-Identifier: Apache-2.0
#include "cases.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pattern.h"
#include "stream/stream.h"
#include "timing.h"

enum {
  LAYER_BUFFERS = 512,
  LAYER_BYTES = 128,
  LAYER_INPUTS = 3,
  UNIT = 64,
  UNITS_OF_RANGE = 4,
  UNITS_PER_SQUARE = 288
};

// Room for a program of so many buffers, tasks and accesses.
typedef struct room {
  weir__plan_buffer *buffers;
  weir__plan_task *tasks;
  weir__plan_access *accesses;
} room;

static room make_room(uint32_t buffers, uint32_t tasks, size_t accesses) {
  return (room){gpu_memory(buffers, sizeof(weir__plan_buffer)), gpu_memory(tasks, sizeof(weir__plan_task)),
                gpu_memory(accesses, sizeof(weir__plan_access))};
}

static void check(weir_status status, const char *name) {
  if (status == WEIR_OK) return;
  fprintf(stderr, "weir-bench-window: the hazards of %s cannot be found: status %d\n", name, (int)status);
  exit(1);
}

static void find_graph(window_case *which) {
  weir__plan_hazards hazards;
  weir__plan_mode mode = which->renames ? WEIR__PLAN_BUFFER : WEIR__PLAN_ADDRESS;
  check(weir__plan_find_hazards(&which->program, mode, &hazards), which->name);
  check(weir__plan_hazard_graph(which->program.task_count, &hazards, which->renames, &which->graph), which->name);
  weir__plan_hazards_free(&hazards);
}

static bool overwrites(const weir__plan_program *program, const weir__plan_access *access) {
  return access->mode == WEIR_WRITE && access->offset == 0 && access->bytes == program->buffers[access->buffer].bytes;
}

// Where ranges are in memory: a new version of a buffer is behind all others.
static void place(window_case *which) {
  const weir__plan_program *program = &which->program;
  uint64_t *bases = gpu_memory(program->buffer_count, sizeof *bases), end = UNIT;
  for (uint32_t i = 0; i < program->buffer_count; i++) {
    bases[i] = which->renames ? end : program->buffers[i].address;
    end += program->buffers[i].bytes;
  }
  which->tasks = gpu_memory(program->task_count, sizeof *which->tasks);
  for (uint32_t t = 0; t < program->task_count; t++) {
    const weir__plan_task *task = &program->tasks[t];
    window_case_task *placed = &which->tasks[t];
    for (int written = 1; written >= 0; written--) {
      for (uint32_t a = 0; a < task->access_count; a++) {
        const weir__plan_access *access = &task->accesses[a];
        if ((access->mode != WEIR_READ) != written) continue;
        if (which->renames && overwrites(program, access)) {
          bases[access->buffer] = end;
          end += access->bytes;
        }
        uint64_t lo = bases[access->buffer] + access->offset;
        placed->range[placed->ranges++] = (window_memory){lo, lo + access->bytes};
        placed->writes += (uint32_t)written;
      }
    }
    if (placed->ranges > which->most_ranges) which->most_ranges = placed->ranges;
  }
  free(bases);
}

static void finish(window_case *which) {
  find_graph(which);
  place(which);
}

void window_case_layers(uint32_t tasks, uint32_t width, window_case *out_case) {
  *out_case = (window_case){.renames = true};
  snprintf(out_case->name, sizeof out_case->name, "layers, %u wide", width);
  room made = make_room(LAYER_BUFFERS, tasks, (size_t)tasks * (1 + LAYER_INPUTS));
  for (uint32_t i = 0; i < LAYER_BUFFERS; i++)
    made.buffers[i] = (weir__plan_buffer){LAYER_BYTES, (uint64_t)(i + 1) * LAYER_BYTES};
  weir__plan_access *next = made.accesses;
  uint64_t seed = (uint64_t)width << 40 | 1u << 20;
  for (uint32_t t = 0; t < tasks; t++) {
    uint32_t layer = t / width;
    uint64_t bits = weir__bench_random(&seed);
    made.tasks[t] = (weir__plan_task){next, 1 + LAYER_INPUTS, false};
    *next++ = (weir__plan_access){WEIR_WRITE, layer % 2 + 2 * (t % width), 0, LAYER_BYTES};
    for (int i = 0; i < LAYER_INPUTS; i++) {
      uint32_t column = (uint32_t)((bits >> 16 * i) % width);
      *next++ = (weir__plan_access){WEIR_READ, (layer + 1) % 2 + 2 * column, 0, LAYER_BYTES};
    }
  }
  out_case->program = (weir__plan_program){made.buffers, LAYER_BUFFERS, made.tasks, tasks};
  finish(out_case);
}

void window_case_random(uint32_t tasks, uint32_t ranges, uint64_t seed, window_case *out_case) {
  *out_case = (window_case){.renames = false};
  snprintf(out_case->name, sizeof out_case->name, "random, %u ranges", ranges);
  room made = make_room(1, tasks, (size_t)tasks * ranges);
  uint64_t units = (uint64_t)UNITS_PER_SQUARE * ranges * ranges;
  made.buffers[0] = (weir__plan_buffer){units * UNIT, UNIT};
  weir__plan_access *next = made.accesses;
  for (uint32_t t = 0; t < tasks; t++) {
    weir__plan_access *first = next;
    made.tasks[t] = (weir__plan_task){.accesses = first, .access_count = ranges};
    while (next < first + ranges) {
      uint64_t bits = weir__bench_random(&seed), length = 1 + bits % UNITS_OF_RANGE;
      uint64_t lo = (bits >> 8 & 0xffffffff) % (units - length + 1);
      weir_mode mode = (bits >> 48) % 3 > 0 ? WEIR_READ : (bits >> 40 & 1) ? WEIR_WRITE : WEIR_READ_WRITE;
      bool apart = true; // from the task's other ranges
      for (const weir__plan_access *other = first; other < next; other++)
        apart = apart && (other->offset >= (lo + length) * UNIT || other->offset + other->bytes <= lo * UNIT);
      if (apart) *next++ = (weir__plan_access){mode, 0, lo * UNIT, length * UNIT};
    }
  }
  out_case->program = (weir__plan_program){made.buffers, 1, made.tasks, tasks};
  finish(out_case);
}

bool window_case_stream(const char *path, bool renames, window_case *out_case) {
  char message[512];
  weir__stream *stream = NULL;
  *out_case = (window_case){.renames = renames};
  if (weir__stream_read(path, message, sizeof message, &stream) != WEIR_OK) {
    fprintf(stderr, "weir-bench-window: %s\n", message);
    return false;
  }
  snprintf(out_case->name, sizeof out_case->name, "%s, by %s", stream->name, renames ? "buffer" : "address");
  size_t accesses = 0;
  bool fits = true;
  for (uint32_t t = 0; t < stream->task_count; t++) {
    accesses += stream->tasks[t].access_count;
    fits = fits && stream->tasks[t].access_count <= WINDOW_CASE_RANGES;
  }
  if (!fits || stream->task_count == 0) {
    fprintf(stderr, "weir-bench-window: %s: no tasks, or one with more than %d ranges\n", path, WINDOW_CASE_RANGES);
    weir__stream_destroy(stream);
    return false;
  }
  room made = make_room(stream->buffer_count, stream->task_count, accesses);
  weir__plan_access *next = made.accesses;
  for (uint32_t i = 0; i < stream->buffer_count; i++)
    made.buffers[i] = (weir__plan_buffer){stream->buffers[i].bytes, stream->buffers[i].address};
  for (uint32_t t = 0; t < stream->task_count; t++) {
    const weir__stream_task *task = &stream->tasks[t];
    made.tasks[t] = (weir__plan_task){next, task->access_count, false};
    for (uint32_t a = 0; a < task->access_count; a++) {
      const weir__stream_access *access = &task->accesses[a];
      *next++ = (weir__plan_access){access->mode, access->buffer, access->offset, access->bytes};
    }
  }
  out_case->program = (weir__plan_program){made.buffers, stream->buffer_count, made.tasks, stream->task_count};
  weir__stream_destroy(stream);
  finish(out_case);
  return true;
}

void window_case_free(window_case *which) {
  const weir__plan_program *program = &which->program;
  weir__plan_graph_free(&which->graph);
  // The program's parts are constant to who looks at them.
  if (program->task_count > 0) free((void *)(uintptr_t)program->tasks[0].accesses);
  free((void *)(uintptr_t)program->tasks);
  free((void *)(uintptr_t)program->buffers);
  free(which->tasks);
  *which = (window_case){.renames = false};
}

static bool conflict(const window_case_task *old, const window_case_task *fresh) {
  for (uint32_t i = 0; i < old->ranges; i++) {
    for (uint32_t j = 0; j < fresh->ranges; j++) {
      bool one_writes = i < old->writes || j < fresh->writes;
      if (one_writes && old->range[i].lo < fresh->range[j].hi && fresh->range[j].lo < old->range[i].hi) return true;
    }
  }
  return false;
}

uint32_t window_case_predecessors(const window_case *which, uint32_t task, uint32_t live, uint32_t *out_numbers) {
  uint32_t count = 0;
  for (uint32_t before = task < live ? 0 : task - live; before < task; before++)
    if (conflict(&which->tasks[before], &which->tasks[task])) out_numbers[count++] = before;
  return count;
}
