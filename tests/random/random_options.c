// SPDX-License-Identifier: Apache-2.0
#include "random_options.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "device/enqueue.h"
#include "program_calls.h"
#include "program_opencl.h"
#include "program_vulkan.h"
#include "random.h"

// Any list of devices, as it is given.
uint32_t random_queues;
bool random_resident, random_automatic, random_repeats, random_crowded, random_placed, random_boxes;
uint64_t random_evictions;
uint64_t random_repeated;

enum { CALL_SCRATCH_BYTES = 512 }; // more than an enqueue function for CUDA wants

static const weir_issue ways[] = {WEIR_ISSUE_AUTO, WEIR_ISSUE_QUEUES, WEIR_ISSUE_GRAPHS};

static void choose_listed(random_run *run, random_state *random, const char *devices, program_shape *shape) {
  run->options.context.devices = devices;
  shape->host_tasks = strstr(devices, "cpu") != NULL;
  uint32_t count = 0;
  for (const char *name = devices; name != NULL; name = strchr(name, ',')) {
    if (*name == ',') name++;
    bool cuda = strncmp(name, "cuda", 4) == 0, vulkan = strncmp(name, "vulkan", 6) == 0;
    bool opencl = strncmp(name, "opencl", 6) == 0;
    if (cuda || vulkan || opencl) shape->cards |= 1u << count;
    if (vulkan || opencl || (cuda && program_stub_load() == NULL)) shape->ranges |= 1u << count;
    if (run->options.calls && (vulkan || opencl)) shape->calls |= 1u << count;
    run->options.cuda = run->options.cuda || cuda;
    run->options.vulkan = run->options.vulkan || vulkan;
    run->options.opencl = run->options.opencl || opencl;
    count++;
  }
  if (run->options.vulkan) {
    shape->alignment = PROGRAM_VULKAN_ALIGNMENT;
    shape->largest = PROGRAM_VULKAN_LARGEST;
  }
  const char *memory = getenv("WEIR_OPENCL_MEMORY");
  if (run->options.opencl && memory != NULL && strcmp(memory, "objects") == 0)
    shape->alignment = PROGRAM_OPENCL_ALIGNMENT;
  shape->device_count = shape->cards != 0 ? count : random_below(random, 2);
  if (shape->cards == 0) return;
  run->options.context.issue = ways[random_below(random, 3)];
  run->options.context.queues = random_below(random, 6);
  if (random_queues != 0) run->options.context.queues = random_queues;
  run->options.resident = random_resident || random_automatic;
  if (random_resident) run->options.context.issue = WEIR_ISSUE_RESIDENT;
  if (random_automatic) run->options.context.issue = WEIR_ISSUE_AUTO;
  run->stub.devices = 2;
  run->stub.seed = random_next(random);
  run->stub.manual = random_chance(random, 40);
  run->stub.executors = random_between(random, 1, 3);
  run->stub.no_peers = random_chance(random, 30);
}

static void choose_devices(random_run *run, random_state *random, const char *device, program_shape *shape) {
  static const struct {
    const char *devices;
    uint32_t count;
    bool cpu;
  } choices[] = {{"sim:ideal+memory_mib=64,sim:h200+memory_mib=64", 2, false},
                 {"sim:h200+memory_mib=64+peer_gbs=100,sim:plain+memory_mib=64+peer_gbs=50,cpu:1", 3, true},
                 {"sim:ideal", 1, false},
                 {"sim:h200", 1, false},
                 {"sim:ideal,sim:h200", 2, false},
                 {"sim:ideal,cpu:2", 2, true},
                 {"cpu:1,sim:h200", 2, true},
                 {"cpu:2,sim:h200,cpu:1", 3, true},
                 {"sim:ideal,sim:h200,sim:plain,sim:plain+speed=3", 4, false},
                 {"sim:h200+auto_graphs=1", 1, false},
                 {"sim:h200+auto_graphs=1,cpu:2", 2, true}};
  if (strcmp(device, "sim") != 0) {
    choose_listed(run, random, device, shape);
    return;
  }
  // The first two have memory of their own.
  uint32_t choice = random_below(random, random_crowded ? 2 : sizeof choices / sizeof choices[0]);
  run->options.context.devices = choices[choice].devices;
  run->options.simulated = true;
  run->own_memory = strstr(choices[choice].devices, "memory_mib") != NULL;
  run->options.context.issue = ways[random_below(random, 3)];
  run->options.context.queues = random_below(random, 6);
  shape->host_tasks = choices[choice].cpu;
  shape->device_count = choices[choice].count;
}

// Memory for one copy on its way between a device and memory that it does not reach.
static uint64_t staging_bytes(const random_run *run) {
  uint64_t largest = 0;
  for (uint32_t i = 0; i < run->program.count; i++) {
    const program_operation *operation = &run->program.operations[i];
    bool buffer = operation->kind == OPERATION_BUFFER || operation->kind == OPERATION_BLANK ||
                  operation->kind == OPERATION_BUFFER_PAIR;
    if (buffer && operation->bytes > largest) largest = operation->bytes;
  }
  bool stages = run->options.cuda || run->options.vulkan || run->options.opencl;
  return stages ? largest + largest / 4 + 64 : 0;
}

// Scratch memory of enqueue functions: each node of a graph has its own, single tasks wait for it. Where it is the host's memory it has
// room to be aligned.
static uint64_t scratch_bytes(const random_run *run) {
  uint64_t count = 1;
  for (uint32_t i = 0; i < run->program.count; i++) {
    const program_operation *operation = &run->program.operations[i];
    for (uint32_t j = 0; j < operation->task_count; j++) count += operation->tasks[j].kernel == PROGRAM_CALLED;
  }
  const uint64_t bytes = PROGRAM_SCRATCH_BYTES + WEIR__ENQUEUE_ALIGNMENT;
  return run->options.calls ? count * (bytes + bytes / 4 + 64) : 0;
}

static uint64_t block_bytes(const test_program *program, uint32_t buffer) {
  uint64_t bytes = program->operations[buffer].bytes;
  return bytes + bytes / 4 + 64;
}

// What a task needs at once in a memory: its buffers, each in a block that is rounded up.
static uint64_t needed_bytes(const test_program *program, const program_task *task) {
  uint64_t bytes = 0;
  for (uint32_t i = 0; i < task->access_count; i++) {
    bool again = false;
    for (uint32_t j = 0; j < i; j++) again |= task->accesses[j].buffer == task->accesses[i].buffer;
    if (!again) bytes += block_bytes(program, task->accesses[i].buffer);
  }
  return bytes;
}

// The most that anything of the program needs at once in a memory. There are no graphs.
static uint64_t most_needed_bytes(const test_program *program) {
  uint64_t most = 0;
  for (uint32_t i = 0; i < program->count; i++) {
    const program_operation *operation = &program->operations[i];
    uint64_t bytes = 0;
    if (operation->kind == OPERATION_TASK) bytes = needed_bytes(program, &operation->task);
    if (operation->kind == OPERATION_BUFFER || operation->kind == OPERATION_BLANK) bytes = block_bytes(program, i);
    if (operation->kind == OPERATION_BUFFER_PAIR)
      bytes = block_bytes(program, i) + block_bytes(program, operation->source);
    if (operation->kind == OPERATION_COPY)
      bytes = block_bytes(program, operation->buffer) + block_bytes(program, operation->source);
    if (bytes > most) most = bytes;
  }
  return most;
}

// Of contexts that have no trace cache the program would say nothing about it.
static void open_trace_cache(random_run *run, random_state *random, const program_shape *shape) {
  weir_context_options *context = &run->options.context;
  bool by_default = shape->cards == 0 && !run->options.simulated && random_chance(random, 25);
  context->flags &= WEIR_CONTEXT_NO_RENAME;
  if (!by_default) context->flags |= WEIR_CONTEXT_REPEATS;
  context->issue = WEIR_ISSUE_AUTO;
  context->seed = random_next(random) | 1; // short runs are followed
  run->options.repeated = &random_repeated;
}

// Tasks that name no device may go to any. Those that may go to a card cannot fail.
static void place_tasks(random_run *run, random_state *random) {
  run->options.context.flags |= WEIR_CONTEXT_PLACE;
  run->options.placed = true;
  bool cards = run->options.cuda || run->options.vulkan || run->options.opencl;
  for (uint32_t i = 0; i < run->program.count; i++) {
    program_operation *operation = &run->program.operations[i];
    bool task = operation->kind == OPERATION_TASK || operation->kind == OPERATION_BUFFER_PAIR;
    if (!task || operation->task.kernel == PROGRAM_HOST) continue;
    if (random_chance(random, 80)) operation->task.device = 0;
    if (cards && operation->task.device == 0) operation->task.fail_group = PROGRAM_NO_FAILURE;
  }
}

void random_run_make(random_run *out_run, uint64_t seed, const char *device) {
  static const uint32_t windows[] = {0, 8, 32, 8192};
  *out_run = (random_run){0};
  random_state random = {~seed};
  program_shape shape = {.length = random_between(&random, 10, random_chance(&random, 25) ? 220 : 80)};
  shape.dense = random_chance(&random, 2) && !random_repeats && !random_boxes;
  if (shape.dense) shape.length = random_between(&random, 500, 5000);
  out_run->options.calls = random_chance(&random, 50);
  choose_devices(out_run, &random, device, &shape);
  shape.pauses = random_chance(&random, 50);
  shape.failures = random_chance(&random, 30);
  shape.graphs = random_chance(&random, random_boxes ? 60 : 40) && !random_crowded;
  shape.boxes = random_boxes;
  if (random_placed && shape.ranges != 0) shape.ranges = UINT32_MAX;
  shape.phrases = random_chance(&random, 60) || random_repeats;
  shape.breaks = random_repeats;
  shape.churn = !shape.dense && random_chance(&random, 20);
  shape.groups = seed % 3 == 0; // drawn nowhere, so that the other programs stay as they are
  program_generate(&out_run->program, seed, &shape);

  weir_context_options *context = &out_run->options.context;
  context->window = windows[random_below(&random, 4)];
  if (random_boxes && random_chance(&random, 50)) context->window = 8;
  if (random_chance(&random, 25)) context->flags |= WEIR_CONTEXT_NO_RENAME;
  if (shape.phrases && random_chance(&random, 80)) context->flags |= WEIR_CONTEXT_REPEATS;
  if (random_chance(&random, 5)) context->flags |= WEIR_CONTEXT_IN_ORDER;
  if (random_chance(&random, shape.phrases ? 3 : 10)) context->flags |= WEIR_CONTEXT_TRACE;
  if (random_chance(&random, 50) || random_automatic) context->seed = random_next(&random) | 1;
  if (random_repeats) open_trace_cache(out_run, &random, &shape);
  if (random_chance(&random, shape.churn ? 90 : 30)) {
    uint64_t room = random_chance(&random, 50) ? 0 : 1280 * (uint64_t)random_below(&random, 20);
    context->memory_limit = out_run->program.live_bytes + staging_bytes(out_run) + scratch_bytes(out_run) + room;
  }
  if (out_run->own_memory) context->memory_limit = 0; // wrapped memory has copies
  if (random_placed) place_tasks(out_run, &random);
  // Cards hold less than the program has. A launch of a graph may need all of it at once.
  if (random_crowded) {
    if (!random_repeats) context->flags &= ~(uint32_t)WEIR_CONTEXT_REPEATS;
    context->memory_limit = 0;
    context->device_memory_limit = most_needed_bytes(&out_run->program) + CALL_SCRATCH_BYTES + scratch_bytes(out_run) +
                                   256 * (uint64_t)random_below(&random, 8);
  }
  out_run->options.abandon = random_chance(&random, 15) && !(out_run->options.calls && shape.calls != 0);
  if (!out_run->options.cuda && shape.cards != 0)
    out_run->options.opens = !shape.failures && !out_run->options.abandon && random_chance(&random, 40);
  if (!out_run->options.cuda || program_stub_load() == NULL) return;
  out_run->options.enqueues = random_chance(&random, 60);
  out_run->options.pure = random_chance(&random, 60);
  out_run->options.scratch = context->memory_limit == 0 && random_chance(&random, 50);
  // What open tasks of other cards need is released while the context is there.
  bool other_cards = (shape.cards & (shape.cards - 1)) != 0;
  out_run->options.opens = !shape.failures && !(out_run->options.abandon && other_cards) && random_chance(&random, 40);
  if (random_chance(&random, 40)) out_run->options.refusal = random_between(&random, 1, 2);
}

void random_run_print(const random_run *run, FILE *file) {
  const weir_context_options *context = &run->options.context;
  fprintf(file,
          "program of %u operations on %s, window %u, memory limit %" PRIu64 ", of cards %" PRIu64 ", seed %" PRIu64
          ", %u queues, issue mode %d%s%s%s%s\n",
          run->program.count, context->devices, context->window, context->memory_limit, context->device_memory_limit,
          context->seed, context->queues, (int)context->issue,
          context->flags & WEIR_CONTEXT_NO_RENAME ? ", no renaming" : "",
          context->flags & WEIR_CONTEXT_IN_ORDER ? ", in order" : "",
          context->flags & WEIR_CONTEXT_TRACE ? ", traced" : "", run->options.abandon ? ", abandoned" : "");
  if (run->options.enqueues)
    fprintf(file, "an enqueue function%s%s%s\n", run->options.scratch ? " with scratch memory" : "",
            run->options.pure ? ", pure" : "",
            run->options.refusal == 0   ? ""
            : run->options.refusal == 1 ? ", not captured"
                                        : ", which fails in a capture");
  if (run->options.opens) fprintf(file, "open tasks\n");
  if (run->options.calls) fprintf(file, "kernel %d is an enqueue function on Vulkan and OpenCL\n", PROGRAM_CALLED);
  program_print(&run->program, file);
}

bool random_run_once(random_run *run, char message[PROGRAM_MESSAGE_BYTES]) {
  const program_stub *stub = run->options.cuda ? program_stub_load() : NULL;
  if (stub != NULL && !stub->configure(&run->stub)) {
    snprintf(message, PROGRAM_MESSAGE_BYTES, "the stub driver has a context left from before");
    return false;
  }
  run->options.evictions = &random_evictions;
  if (!program_run(&run->program, &run->options, message)) return false;
  if (stub == NULL) return true;
  if (stub->violations() > 0)
    snprintf(message, PROGRAM_MESSAGE_BYTES, "wrong use of the driver: %s", stub->violation_text());
  else if (stub->live_count() > 0)
    snprintf(message, PROGRAM_MESSAGE_BYTES, "%" PRIu64 " of the driver's objects are left", stub->live_count());
  return message[0] == '\0';
}

weir_context *random_keep_devices(const char *device) {
  if (strstr(device, "cuda") == NULL || program_stub_load() != NULL) return NULL;
  weir_context_options options = {.devices = device};
  weir_context *keeper = NULL;
  if (weir_context_create(&options, &keeper) != WEIR_OK) fprintf(stderr, "%s: %s\n", device, weir_last_error());
  return keeper;
}
