// SPDX-License-Identifier: Apache-2.0
//
// test_boxes_random DEVICES: random programs of tasks on boxes and ranges, copies, graphs and failures give what serial
// execution gives. WEIR_TEST_SEED sets the first seed, WEIR_TEST_PROGRAMS how many there are.
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "boxes_kernels.kernels.h"
#include "boxes_mix.spv.h"
#include "boxes_program.h"
#include "part.h"
#include "program_cuda.h"
#include "weir/cuda.h"
#include "weir/graph.h"
#include "weir/sim.h"
#include "weir/vulkan.h"

#ifdef WEIR_SMALL_TESTS
enum { PROGRAMS = 100, CARD_PROGRAMS = 25 };
#else
enum { PROGRAMS = 1000, CARD_PROGRAMS = 250 };
#endif

enum { STEPS = 60, MAX_GRAPH = 6, VULKAN_UNIT = 16, SKIPPED = 77 };

static const char *devices = "cpu:2";
static uint64_t seed;

typedef struct run {
  random_state random;
  uint32_t unit, device_count;
  bool failures, graphs, host;
  weir_context *context;
  weir_kernel *kernel;
  boxes_buffer buffers[BOXES_BUFFERS];
  weir_event *events[STEPS];
  weir_status expected[STEPS];
  boxes_task graph_tasks[MAX_GRAPH];
  uint32_t graph_count;
  weir_graph *graph;
} run;

static void ok(weir_status status) {
  if (status != WEIR_OK)
    fail_msg("%s, seed %" PRIu64 ": %s: %s", devices, seed, weir_status_name(status), weir_last_error());
}

static void mix_on_stub(const stub_launch *launch) {
  const program_stub *stub = program_stub_load();
  uint64_t from, to;
  boxes_shape shape;
  memcpy(&from, launch->params[0], sizeof from);
  memcpy(&to, launch->params[1], sizeof to);
  memcpy(&shape, launch->params[2], sizeof shape);
  uint64_t read = sizeof(uint32_t) * ((uint64_t)boxes_word(&shape.from, boxes_count(&shape.from) - 1) + 1);
  uint64_t written = sizeof(uint32_t) * ((uint64_t)boxes_word(&shape.to, boxes_count(&shape.to) - 1) + 1);
  void *args[] = {stub->memory(launch, from, read), stub->memory(launch, to, written), &shape};
  if (args[0] == NULL || args[1] == NULL) return; // counted as a violation
  boxes_host(&(weir_work){.args = args, .arg_count = 3, .groups = {1, 1, 1}, .end = 1});
}

static weir_kernel *make_kernel(weir_context *context) {
  weir_kernel *kernel;
  const weir_vulkan_code code = {.words = boxes_mix_spv, .bytes = sizeof boxes_mix_spv};
  const weir_vulkan_launch launch = {0};
  const weir_sim_launch simulated = {.blocks = 4, .threads = 64, .us = 3};
  if (program_stub_load() == NULL) {
    ok(weir_kernel_create_from(context, &boxes_mix, &kernel));
  } else {
    const weir_cuda_code stub_code = {.image = "STUB\nboxes_mix 1 8 8 48\n"};
    const weir_cuda_launch in_stub = {.function = "boxes_mix", .block = {1, 1, 1}};
    program_stub_load()->register_function("boxes_mix", mix_on_stub);
    ok(weir_kernel_create(context, "boxes_mix", &kernel));
    ok(weir_kernel_set_cpu(kernel, boxes_host));
    ok(weir_kernel_set_cuda(kernel, &stub_code, &in_stub, 1));
  }
  if (strstr(devices, "sim") != NULL) ok(weir_kernel_set_sim(kernel, &simulated, 1));
  if (strstr(devices, "vulkan") != NULL) ok(weir_kernel_set_vulkan(kernel, &code, &launch, 1));
  return kernel;
}

static void make_buffers(run *r) {
  boxes_create(r->buffers, &r->random, r->unit);
  for (uint32_t i = 0; i < BOXES_BUFFERS; i++) {
    boxes_buffer *each = &r->buffers[i];
    uint64_t bytes = (uint64_t)each->words * sizeof(uint32_t);
    ok(each->wrapped ? weir_buffer_wrap(r->context, each->memory, bytes, &each->buffer)
                     : weir_buffer_create(r->context, bytes, &each->buffer));
    if (!each->wrapped) ok(weir_copy_in(each->buffer, 0, bytes, each->memory, NULL));
  }
}

static void open_context(run *r) {
  static const uint32_t windows[] = {0, 8, 32};
  static const weir_issue ways[] = {WEIR_ISSUE_AUTO, WEIR_ISSUE_QUEUES, WEIR_ISSUE_GRAPHS};
  random_state *random = &r->random;
  const weir_context_options options = {.devices = devices,
                                        .window = windows[random_below(random, 3)],
                                        .queues = random_below(random, 4),
                                        .issue = ways[random_below(random, 3)],
                                        .memory_limit = random_chance(random, 30) ? 200000 : 0,
                                        .seed = random_chance(random, 50) ? random_next(random) | 1 : 0,
                                        .flags = random_chance(random, 20) ? WEIR_CONTEXT_TRACE : 0};
  const program_stub *stub = program_stub_load();
  const stub_options stub_way = {.devices = 2, .seed = seed, .manual = random_chance(random, 40), .executors = 2};
  if (stub != NULL) assert_true(stub->configure(&stub_way));
  ok(weir_context_create(&options, &r->context));
  r->device_count = weir_context_device_count(r->context);
  r->kernel = make_kernel(r->context);
}

static weir_status submit(run *r, const boxes_task *task, weir_event **out_event) {
  boxes_shape shape;
  weir_box boxes[2];
  weir_arg args[3];
  boxes_args(r->buffers, task, &shape, boxes, args);
  weir_task made = {.args = args, .arg_count = 3, .tag = task->seed};
  if (task->host)
    made.host = boxes_host;
  else
    made.kernel = r->kernel;
  if (task->device > 0) made.device = weir_context_device(r->context, task->device - 1);
  weir_status status = weir_submit(r->context, &made, out_event);
  memset(boxes, 0xa5, sizeof boxes); // nothing of this is needed after submission
  memset(args, 0xa5, sizeof args);
  memset(&shape, 0xa5, sizeof shape);
  return status;
}

static void add_task(run *r, uint32_t step) {
  boxes_task task;
  if (!boxes_choose(r->buffers, &r->random, r->unit, &task)) return;
  task.host = r->host && random_chance(&r->random, 25);
  task.fails = task.host && r->failures && random_chance(&r->random, 20);
  if (!task.host && random_chance(&r->random, 60)) task.device = random_between(&r->random, 1, r->device_count);
  r->expected[step] = boxes_run(r->buffers, &task);
  ok(submit(r, &task, &r->events[step]));
}

// Copies all of a buffer, or a range of it, from another one; or fills it.
static void add_copy(run *r, uint32_t step) {
  boxes_buffer *to = &r->buffers[random_below(&r->random, BOXES_BUFFERS)];
  boxes_buffer *from = &r->buffers[random_below(&r->random, BOXES_BUFFERS)];
  uint32_t first = random_below(&r->random, to->words), count = random_between(&r->random, 1, to->words - first);
  if (random_chance(&r->random, 30)) first = 0, count = to->words;
  uint64_t bytes = count * sizeof(uint32_t), at = first * sizeof(uint32_t);
  bool copies = from != to && count <= from->words && random_chance(&r->random, 70), poisoned = false;
  for (uint32_t i = 0; copies && i < count; i++) poisoned |= from->poisoned[i];
  for (uint32_t i = 0; i < count; i++) {
    to->poisoned[first + i] = poisoned;
    if (!poisoned) to->expected[first + i] = copies ? from->expected[i] : (uint32_t)seed;
  }
  r->expected[step] = poisoned ? WEIR_ERROR_UPSTREAM_FAILED : WEIR_OK;
  ok(copies ? weir_copy(to->buffer, at, from->buffer, 0, bytes, &r->events[step])
            : weir_fill(to->buffer, at, bytes, (uint32_t)seed, &r->events[step]));
}

static void record_graph(run *r) {
  ok(weir_graph_create(r->context, &(weir_graph_options){0}, &r->graph));
  uint32_t device = random_between(&r->random, 0, r->device_count), wanted = random_between(&r->random, 1, MAX_GRAPH);
  for (uint32_t i = 0; i < wanted; i++) {
    boxes_task *task = &r->graph_tasks[r->graph_count];
    if (!boxes_choose(r->buffers, &r->random, r->unit, task)) continue;
    boxes_shape shape;
    weir_box boxes[2];
    weir_arg args[3];
    boxes_args(r->buffers, task, &shape, boxes, args);
    weir_task made = {.kernel = r->kernel, .args = args, .arg_count = 3, .tag = task->seed};
    if (device > 0) made.device = weir_context_device(r->context, device - 1);
    ok(weir_graph_add(r->graph, &made, NULL));
    memset(boxes, 0xa5, sizeof boxes);
    r->graph_count++;
  }
}

static void launch_graph(run *r, uint32_t step) {
  if (r->graph == NULL) record_graph(r);
  if (r->graph_count == 0) return;
  for (uint32_t i = 0; i < r->graph_count; i++) boxes_run(r->buffers, &r->graph_tasks[i]);
  ok(weir_graph_launch(r->graph, &r->events[step]));
}

static void check_buffer(run *r, const boxes_buffer *buffer) {
  uint32_t *found = calloc(buffer->words, sizeof *found);
  assert_non_null(found);
  for (uint32_t first = 0, end; first < buffer->words; first = end) {
    for (end = first; end < buffer->words && buffer->poisoned[end] == buffer->poisoned[first];) end++;
    uint64_t bytes = (end - first) * sizeof(uint32_t);
    weir_status status = weir_read(buffer->buffer, first * sizeof(uint32_t), bytes, found + first);
    weir_status wanted = buffer->poisoned[first] ? WEIR_ERROR_UPSTREAM_FAILED : WEIR_OK;
    if (status != wanted)
      fail_msg("%s, seed %" PRIu64 ": buffer %d, words [%u, %u): %s, not %s", devices, seed, (int)(buffer - r->buffers),
               first, end, weir_status_name(status), weir_status_name(wanted));
    for (uint32_t i = first; i < end && wanted == WEIR_OK; i++) {
      if (found[i] != buffer->expected[i] || (buffer->wrapped && buffer->memory[i] != found[i]))
        fail_msg("%s, seed %" PRIu64 ": buffer %d, word %u: %u, memory %u, expected %u", devices, seed,
                 (int)(buffer - r->buffers), i, found[i], buffer->memory[i], buffer->expected[i]);
    }
  }
  free(found);
}

static void check(run *r) {
  for (uint32_t step = 0; step < STEPS; step++) {
    if (r->events[step] == NULL) continue;
    weir_status status = weir_event_wait(r->events[step], WEIR_FOREVER);
    if (status != r->expected[step])
      fail_msg("%s, seed %" PRIu64 ": step %u ended with %s, not %s: %s", devices, seed, step, weir_status_name(status),
               weir_status_name(r->expected[step]), weir_event_message(r->events[step]));
    weir_event_release(r->events[step]);
  }
  weir_finish(r->context);
  for (uint32_t i = 0; i < BOXES_BUFFERS; i++) check_buffer(r, &r->buffers[i]);
}

static void run_program(void) {
  run r = {.random = {seed}, .unit = strstr(devices, "vulkan") != NULL ? VULKAN_UNIT : 1};
  r.host = strstr(devices, "cpu") != NULL;
  r.failures = r.host && random_chance(&r.random, 40);
  r.graphs = !r.failures && random_chance(&r.random, 50);
  open_context(&r);
  make_buffers(&r);
  for (uint32_t step = 0; step < STEPS; step++) {
    uint32_t dice = random_below(&r.random, 100);
    if (dice < 10 && r.graphs)
      launch_graph(&r, step);
    else if (dice < 20)
      add_copy(&r, step);
    else if (dice < 22)
      weir_finish(r.context);
    else
      add_task(&r, step);
  }
  check(&r);
  weir_graph_release(r.graph);
  for (uint32_t i = 0; i < BOXES_BUFFERS; i++) ok(weir_buffer_release(r.buffers[i].buffer));
  weir_kernel_release(r.kernel);
  weir_context_release(r.context);
  boxes_destroy(r.buffers);
  const program_stub *stub = program_stub_load();
  if (stub != NULL && stub->violations() > 0)
    fail_msg("%s, seed %" PRIu64 ": wrong use of the driver: %s", devices, seed, stub->violation_text());
}

static void programs_equal_serial_execution(void **state) {
  (void)state;
  const char *given = getenv("WEIR_TEST_SEED");
  uint64_t first = given == NULL ? 1 : strtoull(given, NULL, 10);
  const char *programs = getenv("WEIR_TEST_PROGRAMS");
  bool card = strstr(devices, "vulkan") != NULL || strstr(devices, "opencl") != NULL;
  uint64_t count = programs != NULL ? strtoull(programs, NULL, 10) : part_count(card ? CARD_PROGRAMS : PROGRAMS);
  for (seed = first; seed < first + count; seed++) run_program();
}

int main(int argc, char **argv) {
  if (argc > 1) devices = argv[1];
  weir_context *context;
  if (program_stub_load() != NULL && !program_stub_load()->configure(&(stub_options){.devices = 2})) return 1;
  if (weir_context_create(&(weir_context_options){.devices = devices}, &context) == WEIR_ERROR_UNAVAILABLE) {
    fprintf(stderr, "%s\n", weir_last_error());
    return SKIPPED;
  }
  weir_context_release(context);
  const struct CMUnitTest tests[] = {cmocka_unit_test(programs_equal_serial_execution)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
