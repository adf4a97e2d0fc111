// SPDX-License-Identifier: Apache-2.0
//
// Enqueue functions on Vulkan devices: order, which the validation layer checks, too, lanes, arguments, graphs.
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "commands.h"
#include "random.h"
#include "rig.h"
#include "scale.spv.h"
#include "weir/vulkan.h"

enum {
  BUFFERS = 4,
  BYTES = 4096,
  HALF = BYTES / 2,
  TASKS = 250,
  NODES = 20,
  LAUNCHES = 8,
  MOST_LANES = 256,
  SPACE = 256
};

static weir_status count_calls(const weir_enqueue *call) {
  atomic_fetch_add((_Atomic uint32_t *)call->data, 1);
  return commands_fill_task(call);
}

// ---------------------------------------------------------------------------------------------------------------
// Order

// Functions, kernels and fills on halves of a few buffers, each half of one number; and what they come to.
typedef struct mixture {
  random_state random;
  weir_kernel *fill, *copy, *own, *scale;
  weir_buffer *buffers[BUFFERS];
  uint32_t numbers[BUFFERS][2];
} mixture;

static void open_mixture(mixture *m, uint64_t seed) {
  *m = (mixture){.random = {seed}};
  m->fill = commands_kernel("fill", &(weir_enqueue_code){.function = commands_fill_task});
  m->copy = commands_kernel("copy", &(weir_enqueue_code){.function = commands_copy_task});
  m->own = commands_kernel("own", &(weir_enqueue_code){.function = commands_scale_task});
  const weir_vulkan_constant size = {.id = 0, .bytes = 4, .u32 = 64};
  commands_good(weir_kernel_create(commands_context, "scale", &m->scale));
  commands_good(weir_kernel_set_vulkan(m->scale, &(weir_vulkan_code){scale_spv, sizeof scale_spv},
                                       &(weir_vulkan_launch){.constants = &size, .constant_count = 1}, 1));
  for (int i = 0; i < BUFFERS; i++) {
    commands_good(weir_buffer_create(commands_context, BYTES, &m->buffers[i]));
    commands_good(weir_fill(m->buffers[i], 0, BYTES, 0, NULL));
  }
}

static void add_task(weir_graph *graph, weir_kernel *of, const weir_arg *args, uint32_t count) {
  const weir_task task = {.kernel = of, .args = args, .arg_count = count, .groups = {HALF / 4 / 64}};
  commands_good(graph != NULL ? weir_graph_add(graph, &task, NULL) : weir_submit(commands_context, &task, NULL));
}

// The next task of the mixture: recorded in a graph, submitted, or neither; `counts`: in the numbers, too.
static void mix_one(mixture *m, weir_graph *graph, bool adds, bool counts) {
  uint32_t to = random_below(&m->random, BUFFERS), from = (to + random_between(&m->random, 1, BUFFERS - 1)) % BUFFERS;
  uint32_t half = random_below(&m->random, 2), value = random_below(&m->random, 1000), offset = half * HALF;
  const uint32_t count = HALF / 4;
  uint32_t result = value;
  weir_arg args[3] = {weir_writes_range(m->buffers[to], offset, HALF), weir_value(&value, sizeof value),
                      weir_value(&count, sizeof count)};
  switch (random_below(&m->random, 4)) {
  case 0:
    if (adds) add_task(graph, m->fill, args, 2);
    break;
  case 1:
    args[1] = weir_reads_range(m->buffers[from], offset, HALF);
    if (adds) add_task(graph, m->copy, args, 2);
    result = m->numbers[from][half];
    break;
  case 2:
    args[0].mode = WEIR_READ_WRITE;
    if (adds) add_task(graph, m->own, args, 2);
    result = 2 * m->numbers[to][half] + value;
    break;
  default:
    args[0].mode = WEIR_READ_WRITE;
    if (adds) add_task(graph, m->scale, args, 3);
    result = 2 * m->numbers[to][half] + value;
  }
  if (counts) m->numbers[to][half] = result;
}

static void close_mixture(mixture *m) {
  for (uint32_t i = 0; i < BUFFERS; i++)
    for (uint64_t half = 0; half < 2; half++) commands_expect(m->buffers[i], half * HALF, HALF, m->numbers[i][half]);
  commands_good(weir_finish(commands_context));
}

static void tasks_are_in_order(void **state) {
  (void)state;
  static const uint32_t flags[] = {0, WEIR_CONTEXT_TRACE, WEIR_CONTEXT_NO_RENAME, WEIR_CONTEXT_IN_ORDER};
  for (uint32_t seed = 1; seed <= 8; seed++) {
    mixture m;
    commands_open(&(weir_context_options){.seed = seed, .queues = seed % 3, .flags = flags[seed % 4]});
    open_mixture(&m, seed);
    for (int i = 0; i < TASKS; i++) mix_one(&m, NULL, true, true);
    close_mixture(&m);
    commands_close();
  }
}

// Launched several times, also while single tasks are in flight.
static void graphs_are_in_order(void **state) {
  (void)state;
  for (uint32_t seed = 1; seed <= 6; seed++) {
    mixture m;
    weir_graph *graph;
    const weir_graph_options options = {.timing = seed % 3 == 2, .queue = seed % 2};
    const uint32_t flags = seed % 3 == 1 ? WEIR_CONTEXT_TRACE : 0;
    commands_open(&(weir_context_options){.seed = seed, .queues = seed % 3, .flags = flags});
    open_mixture(&m, seed);
    commands_good(weir_graph_create(commands_context, &options, &graph));
    for (int i = 0; i < NODES; i++) mix_one(&m, graph, true, false);
    random_state others = {1000 + seed};
    for (int i = 0; i < LAUNCHES; i++) {
      commands_good(weir_graph_launch(graph, NULL));
      m.random = (random_state){seed};
      for (int j = 0; j < NODES; j++) mix_one(&m, NULL, false, true);
      m.random = others;
      for (int j = 0; j < 5; j++) mix_one(&m, NULL, true, true);
      others = m.random;
    }
    close_mixture(&m);
    commands_good(weir_graph_release(graph));
    commands_close();
  }
}

// ---------------------------------------------------------------------------------------------------------------
// Lanes

// Workspaces, one for each lane, in a VkBuffer of the caller's. Two calls with the same lane and no barrier between
// them are found by the validation layer.
static struct {
  rig_buffer buffer;
  _Atomic uint32_t prepared[MOST_LANES], calls, wrong;
} space;

static void make_space(void) {
  const weir_device_info *info = weir_device_information(commands_device);
  memset(space.prepared, 0, sizeof space.prepared);
  space.calls = space.wrong = 0;
  vulkan_rig rig = {.calls = commands_calls};
  char reason[256];
  rig.driver = weir__vulkan_driver_load(reason, sizeof reason);
  weir__vulkan_find_facts(rig.driver, rig.driver->devices[0], &rig.facts);
  rig.device = commands_vk_device();
  space.buffer = rig_make_buffer(&rig, (VkDeviceSize)info->enqueue_lanes * SPACE);
}

static void free_space(void) {
  weir_finish(commands_context);
  vulkan_rig rig = {.calls = commands_calls, .device = commands_vk_device()};
  rig_free_buffer(&rig, &space.buffer);
}

static weir_status prepare_lane(const weir_enqueue *call) {
  atomic_fetch_add(&space.prepared[call->lane], 1);
  return WEIR_OK;
}

static weir_status fill_by_workspace(const weir_enqueue *call) {
  const weir_enqueue_arg own = {
      .handle = (uint64_t)space.buffer.buffer, .offset = (uint64_t)call->lane * SPACE, .bytes = SPACE};
  uint32_t value;
  memcpy(&value, call->args[1].value, sizeof value);
  atomic_fetch_add(&space.calls, 1);
  if (call->lane >= call->lane_count || atomic_load(&space.prepared[call->lane]) != 1)
    atomic_fetch_add(&space.wrong, 1);
  commands_fill(call, &own, value);
  commands_barrier(call);
  commands_copy(call, &call->args[0], &own);
  return WEIR_OK;
}

enum { OUTPUTS = 24 };

static void submit_outputs(weir_graph *graph, weir_kernel *fill, weir_buffer *const *outputs, uint32_t first) {
  for (uint32_t i = 0; i < OUTPUTS; i++) {
    uint32_t value = first + i;
    const weir_arg args[] = {weir_writes(outputs[i]), weir_value(&value, sizeof value)};
    add_task(graph, fill, args, 2);
  }
}

static void lanes_keep_workspaces_apart(void **state) {
  (void)state;
  for (uint32_t queues = 0; queues < 3; queues++) {
    weir_buffer *outputs[2][OUTPUTS];
    weir_graph *graph;
    commands_open(&(weir_context_options){.queues = queues, .seed = queues});
    make_space();
    weir_kernel *fill =
        commands_kernel("fill", &(weir_enqueue_code){.function = fill_by_workspace, .prepare = prepare_lane});
    for (int i = 0; i < 2 * OUTPUTS; i++)
      commands_good(weir_buffer_create(commands_context, SPACE, &outputs[i / OUTPUTS][i % OUTPUTS]));
    commands_good(weir_graph_create(commands_context, NULL, &graph));
    submit_outputs(graph, fill, outputs[1], 7000);
    for (uint32_t i = 0; i < 6; i++) {
      submit_outputs(NULL, fill, outputs[0], i * 100);
      commands_good(weir_graph_launch(graph, NULL));
    }
    for (uint32_t i = 0; i < OUTPUTS; i++) {
      commands_expect(outputs[0][i], 0, SPACE, 500 + i);
      commands_expect(outputs[1][i], 0, SPACE, 7000 + i);
    }
    assert_int_equal(atomic_load(&space.wrong), 0);
    assert_true(atomic_load(&space.calls) >= 7 * OUTPUTS);
    commands_good(weir_graph_release(graph));
    free_space();
    commands_close();
  }
}

// Tasks and launches that do not depend on each other, in one lane of the device and in several.
static void lanes_of_tasks_and_graphs(void **state) {
  (void)state;
  enum { TURNS = 24 };
  for (uint32_t queues = 1; queues <= 3; queues += 2) {
    weir_buffer *outputs[2 * TURNS];
    weir_graph *graphs[TURNS];
    commands_open(&(weir_context_options){.queues = queues});
    make_space();
    weir_kernel *fill =
        commands_kernel("fill", &(weir_enqueue_code){.function = fill_by_workspace, .prepare = prepare_lane});
    for (int i = 0; i < 2 * TURNS; i++) commands_good(weir_buffer_create(commands_context, SPACE, &outputs[i]));
    for (uint32_t i = 0; i < TURNS; i++) {
      const weir_arg args[] = {weir_writes(outputs[TURNS + i]), weir_value(&i, sizeof i)};
      commands_good(weir_graph_create(commands_context, NULL, &graphs[i]));
      add_task(graphs[i], fill, args, 2);
      commands_good(weir_graph_build(graphs[i]));
    }
    for (uint32_t round = 0; round < 3; round++) {
      for (uint32_t i = 0; i < TURNS; i++) {
        const weir_arg args[] = {weir_writes(outputs[i]), weir_value(&i, sizeof i)};
        add_task(NULL, fill, args, 2);
        commands_good(weir_graph_launch(graphs[i], NULL));
      }
      commands_good(weir_finish(commands_context));
    }
    for (uint32_t i = 0; i < 2 * TURNS; i++) commands_expect(outputs[i], 0, SPACE, i % TURNS);
    assert_int_equal(atomic_load(&space.wrong), 0);
    for (uint32_t i = 0; i < TURNS; i++) commands_good(weir_graph_release(graphs[i]));
    free_space();
    commands_close();
  }
}

static uint64_t lanes_called; // a bit for each

static weir_status note_lane(const weir_enqueue *call) {
  lanes_called |= (uint64_t)1 << call->lane;
  return commands_fill_task(call);
}

// A recording is for the lane of the device that it was made for: in another one the function is called again, with a
// lane of that.
static void recordings_keep_to_their_lane(void **state) {
  (void)state;
  enum { OTHERS = 7, MOST_ROUNDS = 1000 };
  weir_buffer *outputs[1 + OTHERS];
  weir_graph *graph;
  const uint32_t value = 3;
  commands_open(&(weir_context_options){.queues = 2});
  weir_kernel *fill = commands_kernel("fill", &(weir_enqueue_code){.function = commands_fill_task});
  weir_kernel *noted = commands_kernel("noted", &(weir_enqueue_code){.function = note_lane});
  for (int i = 0; i <= OTHERS; i++) commands_good(weir_buffer_create(commands_context, SPACE, &outputs[i]));
  const weir_arg args[] = {weir_writes(outputs[0]), weir_value(&value, sizeof value)};
  commands_good(weir_graph_create(commands_context, NULL, &graph));
  add_task(graph, noted, args, 2);
  commands_good(weir_graph_launch(graph, NULL));
  commands_good(weir_finish(commands_context));
  uint64_t first = lanes_called;
  assert_true(first != 0 && (first & (first - 1)) == 0);
  // The lanes of the device have equally many: now and then the launch goes to the other one.
  for (uint32_t round = 0; round < MOST_ROUNDS && lanes_called == first; round++) {
    for (int i = 1; i <= OTHERS; i++) {
      const weir_arg others[] = {weir_writes(outputs[i]), weir_value(&value, sizeof value)};
      add_task(NULL, fill, others, 2);
    }
    commands_good(weir_graph_launch(graph, NULL));
    commands_good(weir_finish(commands_context));
  }
  assert_true(lanes_called != first);
  commands_expect(outputs[0], 0, SPACE, value);
  commands_good(weir_graph_release(graph));
  commands_close();
}

// ---------------------------------------------------------------------------------------------------------------
// Scratch memory. What two calls do there at once is found by the validation layer.

static weir_status fill_by_scratch(const weir_enqueue *call) {
  const weir_enqueue_arg *scratch = &call->scratch;
  uint32_t value;
  if (call->arg_count != 2 || scratch->bytes != SPACE || scratch->handle == 0 || scratch->offset % 256 != 0)
    return WEIR_ERROR_IO;
  memcpy(&value, call->args[1].value, sizeof value);
  commands_fill(call, scratch, value);
  commands_barrier(call);
  commands_copy(call, &call->args[0], scratch);
  return WEIR_OK;
}

static void scratch_memory(void **state) {
  (void)state;
  for (uint32_t queues = 0; queues < 3; queues++) {
    weir_buffer *outputs[2][OUTPUTS];
    weir_graph *graph;
    // Of what all have together there is room for some only.
    commands_open(&(weir_context_options){.queues = queues, .memory_limit = 100 * SPACE});
    weir_kernel *fill =
        commands_kernel("fill", &(weir_enqueue_code){.function = fill_by_scratch, .scratch_bytes = SPACE});
    for (int i = 0; i < 2 * OUTPUTS; i++)
      commands_good(weir_buffer_create(commands_context, SPACE, &outputs[i / OUTPUTS][i % OUTPUTS]));
    commands_good(weir_graph_create(commands_context, NULL, &graph));
    submit_outputs(graph, fill, outputs[1], 7000);
    for (uint32_t i = 0; i < 8; i++) {
      submit_outputs(NULL, fill, outputs[0], i * 100);
      commands_good(weir_graph_launch(graph, NULL));
    }
    for (uint32_t i = 0; i < OUTPUTS; i++) {
      commands_expect(outputs[0][i], 0, SPACE, 700 + i);
      commands_expect(outputs[1][i], 0, SPACE, 7000 + i);
    }
    commands_good(weir_graph_release(graph));
    commands_close();
  }
}

// ---------------------------------------------------------------------------------------------------------------
// Arguments

static struct {
  weir_enqueue call;
  weir_enqueue_arg args[4];
  weir_box box;
} seen;

static weir_status look(const weir_enqueue *call) {
  seen.call = *call;
  memcpy(seen.args, call->args, call->arg_count * sizeof seen.args[0]);
  seen.box = call->args[2].box != NULL ? *call->args[2].box : (weir_box){0};
  return WEIR_OK;
}

static void arguments_are_the_devices_own(void **state) {
  (void)state;
  int data = 0, user = 0, value = 0;
  const weir_box box = {.width = 8, .pitch = 64, .rows = 5};
  weir_buffer *buffer, *image;
  commands_open(NULL);
  weir_kernel *looker = commands_kernel("look", &(weir_enqueue_code){.function = look, .data = &data});
  const weir_image_info info = {
      .dimensions = 2, .width = 4, .height = 4, .channels = 1, .type = WEIR_IMAGE_FLOAT32, .storage = true};
  commands_good(weir_buffer_create(commands_context, BYTES, &buffer));
  commands_good(weir_fill(buffer, 0, BYTES, 0, NULL));
  commands_good(weir_image_create(commands_device, &info, &image));
  const weir_arg args[] = {weir_reads_range(buffer, 1001, 500), weir_value(&value, sizeof value),
                           weir_updates_box(buffer, 2000, &box), weir_writes(image)};
  const weir_task task = {.kernel = looker, .args = args, .arg_count = 4, .groups = {3, 0, 2}, .user = &user};
  commands_good(weir_submit(commands_context, &task, NULL));
  commands_good(weir_finish(commands_context));
  assert_ptr_equal(seen.call.device, commands_device);
  assert_ptr_equal(seen.call.native_context, commands_vk_device());
  assert_int_equal(seen.call.arg_count, 4);
  assert_true(seen.call.groups[0] == 3 && seen.call.groups[1] == 1 && seen.call.groups[2] == 2);
  assert_int_equal(seen.call.lane_count, weir_device_information(commands_device)->enqueue_lanes);
  assert_true(seen.call.lane < seen.call.lane_count);
  assert_ptr_equal(seen.call.user, &user);
  assert_ptr_equal(seen.call.data, &data);
  assert_true(seen.args[0].handle != 0 && seen.args[0].pointer == 0);
  assert_int_equal(seen.args[0].bytes, 500);
  assert_int_equal(seen.args[2].offset - seen.args[0].offset, 2000 - 1001);
  assert_true(seen.box.width == 8 && seen.box.pitch == 64 && seen.box.rows == 5);
  assert_true(seen.args[3].image && seen.args[3].handle != 0 && seen.args[3].view != 0);
  assert_false(seen.args[0].image);
  commands_close();
}

// ---------------------------------------------------------------------------------------------------------------
// Recordings

static void submit_counted(weir_graph *graph, uint32_t value) {
  const weir_arg arg = weir_value(&value, sizeof value);
  commands_good(weir_graph_set_arg(graph, 0, 1, &arg));
  commands_good(weir_graph_launch(graph, NULL));
  commands_good(weir_finish(commands_context));
}

static weir_status fill_with_five(const weir_enqueue *call) {
  commands_fill(call, &call->args[0], 5);
  return WEIR_OK;
}

// A launch like one before it does not call the function again, unless that says so.
static void recordings_are_used_again(void **state) {
  (void)state;
  for (uint32_t flags = 0; flags <= WEIR_ENQUEUE_NO_CAPTURE; flags++) {
    weir_buffer *buffer;
    weir_graph *graph;
    _Atomic uint32_t calls = 0;
    uint32_t value = 1;
    commands_open(NULL);
    weir_kernel *fill =
        commands_kernel("fill", &(weir_enqueue_code){.function = count_calls, .data = &calls, .flags = flags});
    commands_good(weir_buffer_create(commands_context, SPACE, &buffer));
    commands_good(weir_graph_create(commands_context, NULL, &graph));
    const weir_arg args[] = {weir_writes(buffer), weir_value(&value, sizeof value)};
    add_task(graph, fill, args, 2);
    for (int i = 0; i < 10; i++) submit_counted(graph, 1);
    uint32_t before = calls;
    assert_true(flags == 0 ? before >= 1 && before <= 3 : before == 10);
    for (int i = 0; i < 5; i++) submit_counted(graph, 1);
    assert_int_equal(calls - before, flags == 0 ? 0 : 5);
    submit_counted(graph, 2);
    assert_int_equal(calls - before, flags == 0 ? 1 : 6);
    commands_expect(buffer, 0, SPACE, 2);
    weir_graph_calls counted;
    commands_good(weir_graph_get_calls(graph, &counted));
    assert_int_equal(counted.nodes, 1);
    assert_int_equal(flags == 0 ? counted.captured : counted.called, calls);
    assert_int_equal(counted.made, counted.captured);
    assert_int_equal(counted.reason[0] == '\0', flags == 0);
    // The kernel gets another function.
    before = calls;
    commands_good(weir_kernel_set_enqueue(fill, "vulkan", &(weir_enqueue_code){.function = fill_with_five}));
    submit_counted(graph, 2);
    commands_expect(buffer, 0, SPACE, 5);
    assert_int_equal(calls, before);
    commands_good(weir_graph_release(graph));
    commands_close();
  }
}

int main(void) {
  rig_skip_without_device();
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(tasks_are_in_order),
      cmocka_unit_test(graphs_are_in_order),
      cmocka_unit_test(lanes_keep_workspaces_apart),
      cmocka_unit_test(lanes_of_tasks_and_graphs),
      cmocka_unit_test(recordings_keep_to_their_lane),
      cmocka_unit_test(scratch_memory),
      cmocka_unit_test(arguments_are_the_devices_own),
      cmocka_unit_test(recordings_are_used_again),
  };
  return cmocka_run_group_tests_name("Vulkan: enqueue functions", tests, NULL, NULL);
}
