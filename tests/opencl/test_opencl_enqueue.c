// SPDX-License-Identifier: Apache-2.0
//
// Enqueue functions on OpenCL devices: order, lanes, arguments in each kind of memory, graphs, times, failures.
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "enqueued.h"
#include "random.h"

enum { BUFFERS = 4, HALF = BYTES / 2, TASKS = 300, NODES = 24, LAUNCHES = 12, MOST_LANES = 64, ROUNDS = 200 };

static const char add_source[] = "__kernel void add(__global uint *words, uint value) {\n"
                                 "  words[get_global_id(0)] += value;\n"
                                 "}\n";

static const weir_enqueue_code fill_code = {.function = enqueued_fill_task};
static const weir_enqueue_code copy_code = {.function = enqueued_copy_task};

static const char *const memories[] = {"host", "device", "objects"};

// ---------------------------------------------------------------------------------------------------------------
// Order

// Fills, copies and kernels on halves of a few buffers, each half of one number; and what they come to.
typedef struct mixture {
  random_state random;
  weir_kernel *fill, *copy, *add;
  weir_buffer *buffers[BUFFERS];
  uint32_t numbers[BUFFERS][2];
} mixture;

static void open_mixture(mixture *m, uint64_t seed) {
  *m = (mixture){.random = {seed}};
  m->fill = enqueued_kernel("fill", &fill_code);
  m->copy = enqueued_kernel("copy", &copy_code);
  assert_int_equal(weir_kernel_create(context, "add", &m->add), WEIR_OK);
  const weir_opencl_code code = {.source = add_source};
  assert_int_equal(weir_kernel_set_opencl(m->add, &code, &(weir_opencl_launch){.entry = "add"}), WEIR_OK);
  for (int i = 0; i < BUFFERS; i++) {
    assert_int_equal(weir_buffer_create(context, BYTES, &m->buffers[i]), WEIR_OK);
    assert_int_equal(weir_fill(m->buffers[i], 0, BYTES, 0, NULL), WEIR_OK);
  }
}

// One task, in a graph or submitted. `value` stays as it is until then.
static void add_task(weir_graph *graph, weir_kernel *of, const weir_arg *args, uint32_t groups) {
  const weir_task task = {.kernel = of, .args = args, .arg_count = 2, .groups = {groups}};
  weir_status status = graph != NULL ? weir_graph_add(graph, &task, NULL) : weir_submit(context, &task, NULL);
  if (status != WEIR_OK) fail_msg("%s", weir_last_error());
}

// The next task of the mixture: recorded in a graph, submitted, or neither; `counts`: in the numbers, too.
static void mix_one(mixture *m, weir_graph *graph, bool adds, bool counts) {
  uint32_t to = random_below(&m->random, BUFFERS), from = (to + random_between(&m->random, 1, BUFFERS - 1)) % BUFFERS;
  uint32_t half = random_below(&m->random, 2), value = random_below(&m->random, 1000), offset = half * HALF;
  uint32_t result = value;
  weir_arg args[2] = {weir_writes_range(m->buffers[to], offset, HALF), weir_value(&value, sizeof value)};
  switch (random_below(&m->random, 3)) {
  case 0:
    if (adds) add_task(graph, m->fill, args, 1);
    break;
  case 1:
    args[1] = weir_reads_range(m->buffers[from], offset, HALF);
    if (adds) add_task(graph, m->copy, args, 1);
    result = m->numbers[from][half];
    break;
  default:
    args[0].mode = WEIR_READ_WRITE;
    if (adds) add_task(graph, m->add, args, HALF / 4);
    result = m->numbers[to][half] + value;
  }
  if (counts) m->numbers[to][half] = result;
}

static void close_mixture(mixture *m) {
  for (uint32_t i = 0; i < BUFFERS; i++)
    for (uint64_t half = 0; half < 2; half++) enqueued_expect(m->buffers[i], half * HALF, HALF, m->numbers[i][half]);
  assert_int_equal(weir_finish(context), WEIR_OK);
}

static void tasks_are_in_order(void **state) {
  (void)state;
  for (int i = 0; i < 3; i++) {
    for (uint64_t seed = 1; seed <= 4; seed++) {
      mixture m;
      enqueued_open("opencl", memories[i], &(weir_context_options){.seed = seed});
      open_mixture(&m, seed);
      for (int j = 0; j < TASKS; j++) mix_one(&m, NULL, true, true);
      close_mixture(&m);
      enqueued_close();
    }
  }
}

// Launched several times, in all queues or in one, timed or traced.
static void graphs_are_in_order(void **state) {
  (void)state;
  for (uint64_t seed = 1; seed <= 9; seed++) {
    mixture m;
    weir_graph *graph;
    uint32_t flags = seed % 3 == 1 ? WEIR_CONTEXT_TRACE : 0;
    const weir_graph_options options = {.timing = seed % 3 == 2};
    enqueued_open("opencl", memories[seed % 3], &(weir_context_options){.seed = seed, .flags = flags});
    open_mixture(&m, seed);
    assert_int_equal(weir_graph_create(context, &options, &graph), WEIR_OK);
    for (int i = 0; i < NODES; i++) mix_one(&m, graph, true, false);
    for (int i = 0; i < LAUNCHES; i++) {
      assert_int_equal(weir_graph_launch(graph, NULL), WEIR_OK);
      m.random = (random_state){seed};
      for (int j = 0; j < NODES; j++) mix_one(&m, NULL, false, true);
    }
    close_mixture(&m);
    weir_graph_calls counted;
    assert_int_equal(weir_graph_get_calls(graph, &counted), WEIR_OK);
    assert_true(counted.nodes > 0 && counted.called == LAUNCHES && counted.captured == 0);
    assert_non_null(strstr(counted.reason, "node by node"));
    assert_int_equal(weir_graph_release(graph), WEIR_OK);
    enqueued_close();
  }
}

// ---------------------------------------------------------------------------------------------------------------
// Lanes

// A workspace for each lane, and what is known of lanes.
static struct {
  uint32_t words[MOST_LANES][256];
  _Atomic uint32_t in_use[MOST_LANES], prepared[MOST_LANES], calls, shared;
  uint32_t lane_count;
} lanes;

static weir_enqueue_arg workspace(const weir_enqueue *call) {
  return (weir_enqueue_arg){.pointer = (uintptr_t)lanes.words[call->lane], .bytes = sizeof lanes.words[0]};
}

static weir_status prepare_lane(const weir_enqueue *call) {
  atomic_fetch_add(&lanes.prepared[call->lane], 1);
  const weir_enqueue_arg space = workspace(call);
  return enqueued_fill(call, &space, 0);
}

// By way of the lane's workspace, several times, so that work of two calls with the same lane would be seen.
static weir_status fill_by_workspace(const weir_enqueue *call) {
  uint32_t pattern;
  const weir_enqueue_arg space = workspace(call);
  if (call->lane >= call->lane_count || atomic_load(&lanes.prepared[call->lane]) != 1) return WEIR_ERROR_IO;
  if (atomic_fetch_add(&lanes.in_use[call->lane], 1) > 0) atomic_fetch_add(&lanes.shared, 1);
  lanes.lane_count = call->lane_count;
  atomic_fetch_add(&lanes.calls, 1);
  memcpy(&pattern, call->args[1].value, sizeof pattern);
  weir_status status = enqueued_fill(call, &space, pattern);
  for (int i = 0; i < 4 && status == WEIR_OK; i++) {
    status = enqueued_copy(call, &call->args[0], &space);
    if (status == WEIR_OK) status = enqueued_copy(call, &space, &call->args[0]);
  }
  atomic_fetch_sub(&lanes.in_use[call->lane], 1);
  return status;
}

static void lanes_keep_workspaces_apart(void **state) {
  (void)state;
  enum { MANY_OUTPUTS = 32 };
  weir_buffer *outputs[MANY_OUTPUTS];
  memset(&lanes, 0, sizeof lanes);
  enqueued_open("opencl", "host", &(weir_context_options){.queues = 5});
  weir_kernel *fill =
      enqueued_kernel("fill", &(weir_enqueue_code){.function = fill_by_workspace, .prepare = prepare_lane});
  for (int i = 0; i < MANY_OUTPUTS; i++)
    assert_int_equal(weir_buffer_create(context, sizeof lanes.words[0], &outputs[i]), WEIR_OK);
  for (uint32_t i = 0; i < 10 * MANY_OUTPUTS; i++)
    enqueued_submit_fill(fill, outputs[i % MANY_OUTPUTS], 0, sizeof lanes.words[0], i, NULL);
  for (uint32_t i = 0; i < MANY_OUTPUTS; i++)
    enqueued_expect(outputs[i], 0, sizeof lanes.words[0], 9 * MANY_OUTPUTS + i);
  assert_int_equal(atomic_load(&lanes.calls), 10 * MANY_OUTPUTS);
  assert_int_equal(atomic_load(&lanes.shared), 0);
  assert_int_equal(lanes.lane_count, 5 + 8); // with those of open tasks
  assert_int_equal(weir_device_information(device)->enqueue_lanes, 5 + 8);
  enqueued_close();
}

// ---------------------------------------------------------------------------------------------------------------
// Scratch memory

enum { SCRATCH = 1000, OUTPUTS = 16 };

// By way of scratch memory, several times, so that somebody else's use of it would be seen.
static weir_status fill_by_scratch(const weir_enqueue *call) {
  uint32_t pattern;
  weir_enqueue_arg scratch = call->scratch;
  if (call->arg_count != 2 || scratch.bytes != SCRATCH || scratch.value != NULL) return WEIR_ERROR_IO;
  if ((scratch.pointer + scratch.offset) % 256 != 0 || (scratch.handle == 0) == (scratch.pointer == 0))
    return WEIR_ERROR_OUT_OF_RANGE;
  memcpy(&pattern, call->args[1].value, sizeof pattern);
  weir_status status = enqueued_fill(call, &scratch, pattern);
  for (int i = 0; i < 4 && status == WEIR_OK; i++) {
    status = enqueued_copy(call, &call->args[0], &scratch);
    if (status == WEIR_OK) status = enqueued_copy(call, &scratch, &call->args[0]);
  }
  return status;
}

static void scratch_memory(void **state) {
  (void)state;
  for (int i = 0; i < 3; i++) {
    weir_buffer *outputs[2][OUTPUTS];
    weir_graph *graph;
    // Of what all have together there is room for some only.
    enqueued_open("opencl", memories[i], &(weir_context_options){.queues = 4, .memory_limit = 100000});
    weir_kernel *fill =
        enqueued_kernel("fill", &(weir_enqueue_code){.function = fill_by_scratch, .scratch_bytes = SCRATCH});
    assert_int_equal(weir_graph_create(context, NULL, &graph), WEIR_OK);
    for (uint32_t j = 0; j < OUTPUTS; j++) {
      const uint32_t value = 500 + j;
      for (int k = 0; k < 2; k++) assert_int_equal(weir_buffer_create(context, SCRATCH, &outputs[k][j]), WEIR_OK);
      const weir_arg args[] = {weir_writes(outputs[1][j]), weir_value(&value, sizeof value)};
      add_task(graph, fill, args, 1);
    }
    for (uint32_t j = 0; j < 12 * OUTPUTS; j++) {
      enqueued_submit_fill(fill, outputs[0][j % OUTPUTS], 0, SCRATCH, j, NULL);
      if (j % 50 == 0 && weir_graph_launch(graph, NULL) != WEIR_OK) fail_msg("%s", weir_last_error());
    }
    for (uint32_t j = 0; j < OUTPUTS; j++) {
      enqueued_expect(outputs[0][j], 0, SCRATCH, 11 * OUTPUTS + j);
      enqueued_expect(outputs[1][j], 0, SCRATCH, 500 + j);
    }
    assert_int_equal(weir_graph_release(graph), WEIR_OK);
    enqueued_close();
  }
}

// ---------------------------------------------------------------------------------------------------------------
// Arguments

static struct {
  weir_enqueue call;
  weir_enqueue_arg args[20];
  unsigned char value[12];
  weir_box box;
} seen;

static weir_status look(const weir_enqueue *call) {
  seen.call = *call;
  memcpy(seen.args, call->args, call->arg_count * sizeof seen.args[0]);
  for (uint32_t i = 0; i < call->arg_count; i++) {
    if (call->args[i].value != NULL) memcpy(seen.value, call->args[i].value, sizeof seen.value);
    if (call->args[i].box != NULL) seen.box = *call->args[i].box;
  }
  return WEIR_OK;
}

static void submit_look(weir_kernel *looker, const weir_arg *args, uint32_t count, void *user) {
  const weir_task task = {.kernel = looker, .args = args, .arg_count = count, .groups = {3, 0, 2}, .user = user};
  if (weir_submit(context, &task, NULL) != WEIR_OK) fail_msg("%s", weir_last_error());
  assert_int_equal(weir_finish(context), WEIR_OK);
}

static void arguments_are_the_devices_own(void **state) {
  (void)state;
  int data = 0;
  const weir_box box = {.width = 8, .pitch = 64, .rows = 5};
  for (int i = 0; i < 3; i++) {
    weir_buffer *buffer;
    unsigned char value[12] = "twelve bytes";
    enqueued_open("opencl", memories[i], &(weir_context_options){.queues = 3});
    weir_kernel *looker = enqueued_kernel("look", &(weir_enqueue_code){.function = look, .data = &data});
    assert_int_equal(weir_buffer_create(context, BYTES, &buffer), WEIR_OK);
    assert_int_equal(weir_fill(buffer, 0, BYTES, 0, NULL), WEIR_OK);
    // A range from any byte on, even where memory is objects.
    const weir_arg args[] = {weir_reads_range(buffer, 1001, 500), weir_value(value, sizeof value),
                             weir_updates_box(buffer, 2000, &box)};
    submit_look(looker, args, 3, &value);
    assert_ptr_equal(seen.call.device, device);
    assert_non_null(seen.call.queue);
    assert_non_null(seen.call.native_context);
    assert_int_equal(seen.call.arg_count, 3);
    assert_true(seen.call.groups[0] == 3 && seen.call.groups[1] == 1 && seen.call.groups[2] == 2);
    assert_true(seen.call.lane < 3 && seen.call.lane_count == 3 + 8);
    assert_ptr_equal(seen.call.user, &value);
    assert_ptr_equal(seen.call.data, &data);
    assert_false(seen.call.capturing);
    assert_memory_equal(seen.value, value, sizeof value);
    assert_int_equal(seen.args[1].bytes, sizeof value);
    assert_int_equal(seen.args[0].bytes, 500);
    assert_int_equal(seen.args[0].mode, WEIR_READ);
    assert_int_equal(seen.args[2].bytes, 4 * 64 + 8);
    assert_non_null(seen.args[2].box);
    assert_true(seen.box.width == 8 && seen.box.pitch == 64 && seen.box.rows == 5);
    bool objects = strcmp(memories[i], "objects") == 0;
    assert_int_equal(seen.args[0].handle != 0, objects);
    assert_int_equal(seen.args[0].pointer == 0, objects);
    assert_int_equal(objects ? seen.args[0].offset : 0, objects ? 1001 % FAULT_LOADER_ALIGNMENT % 128 : 0);
    enqueued_close();
  }
}

// More arguments than fit on the stack, of which all are right.
static weir_status fill_all(const weir_enqueue *call) {
  weir_status status = WEIR_OK;
  for (uint32_t i = 0; i < call->arg_count && status == WEIR_OK; i++)
    status = enqueued_fill(call, &call->args[i], 100 + i);
  return status;
}

static void many_arguments(void **state) {
  (void)state;
  enum { MANY = 40 };
  for (int i = 0; i < 3; i++) {
    weir_buffer *buffers[MANY];
    weir_arg args[MANY];
    enqueued_open("opencl", memories[i], NULL);
    weir_kernel *fill = enqueued_kernel("fill all", &(weir_enqueue_code){.function = fill_all});
    for (int j = 0; j < MANY; j++) {
      assert_int_equal(weir_buffer_create(context, 64, &buffers[j]), WEIR_OK);
      args[j] = weir_writes(buffers[j]);
    }
    const weir_task task = {.kernel = fill, .args = args, .arg_count = MANY};
    assert_int_equal(weir_submit(context, &task, NULL), WEIR_OK);
    for (uint32_t j = 0; j < MANY; j++) enqueued_expect(buffers[j], 0, 64, 100 + j);
    enqueued_close();
  }
}

static weir_status copy_image(const weir_enqueue *call) {
  const size_t origin[3] = {0}, region[3] = {4, 4, 1};
  if (!call->args[0].image || !call->args[1].image || call->args[2].image) return WEIR_ERROR_IO;
  cl_int result = clEnqueueCopyImage(call->queue, (cl_mem)(uintptr_t)call->args[1].handle,
                                     (cl_mem)(uintptr_t)call->args[0].handle, origin, origin, region, 0, NULL, NULL);
  return result == CL_SUCCESS ? enqueued_fill(call, &call->args[2], 5) : WEIR_ERROR_TASK_FAILED;
}

static void images_are_images(void **state) {
  (void)state;
  weir_buffer *image, *second, *bytes;
  enqueued_open("opencl", "device", NULL);
  weir_kernel *copies = enqueued_kernel("copy image", &(weir_enqueue_code){.function = copy_image});
  const weir_image_info info = {
      .dimensions = 2, .width = 4, .height = 4, .channels = 4, .type = WEIR_IMAGE_UNORM8, .storage = true};
  assert_int_equal(weir_image_create(device, &info, &image), WEIR_OK);
  assert_int_equal(weir_image_create(device, &info, &second), WEIR_OK);
  assert_int_equal(weir_buffer_create(context, 64, &bytes), WEIR_OK);
  uint32_t texels[16];
  for (int i = 0; i < 16; i++) texels[i] = 77;
  assert_int_equal(weir_copy_in(image, 0, WEIR_WHOLE, texels, NULL), WEIR_OK);
  const weir_arg args[] = {weir_writes(second), weir_reads(image), weir_writes(bytes)};
  assert_int_equal(weir_submit(context, &(weir_task){.kernel = copies, .args = args, .arg_count = 3}, NULL), WEIR_OK);
  enqueued_expect(second, 0, 64, 77);
  enqueued_expect(bytes, 0, 64, 5);
  enqueued_close();
}

// ---------------------------------------------------------------------------------------------------------------
// The caller's own kernel, in a cl_context of the caller's

static weir_status add_by_own_kernel(const weir_enqueue *call) {
  cl_mem memory = (cl_mem)(uintptr_t)call->args[0].handle;
  const size_t words = call->args[0].bytes / 4;
  if (call->native_context != mine.context || call->args[0].offset != 0) return WEIR_ERROR_IO;
  cl_int result = clSetKernelArg(mine.kernel, 0, sizeof memory, &memory);
  if (result == CL_SUCCESS) result = clSetKernelArg(mine.kernel, 1, sizeof(uint32_t), call->args[1].value);
  if (result == CL_SUCCESS)
    result = clEnqueueNDRangeKernel(call->queue, mine.kernel, 1, NULL, &words, NULL, 0, NULL, NULL);
  return result == CL_SUCCESS ? WEIR_OK : WEIR_ERROR_TASK_FAILED;
}

static void own_kernels_on_own_objects(void **state) {
  (void)state;
  weir_buffer *buffer;
  cl_mem memory = make_zeros();
  weir_kernel *own = enqueued_kernel("own", &(weir_enqueue_code){.function = add_by_own_kernel});
  assert_int_equal(weir_buffer_wrap_opencl(device, memory, 0, BYTES, &buffer), WEIR_OK);
  for (uint32_t i = 0; i < ROUNDS; i++) {
    const weir_arg args[] = {weir_updates(buffer), weir_value(&i, sizeof i)};
    assert_int_equal(weir_submit(context, &(weir_task){.kernel = own, .args = args, .arg_count = 2}, NULL), WEIR_OK);
    weir_event_release(add_words(buffer, 0, WORDS, 1));
  }
  weir_arg all[] = {weir_updates(buffer)};
  assert_int_equal(weir_submit(context, &(weir_task){.host = add_on_host, .args = all, .arg_count = 1}, NULL), WEIR_OK);
  assert_int_equal(weir_finish(context), WEIR_OK);
  expect_words(memory, ROUNDS * (ROUNDS - 1) / 2 + ROUNDS + 100);
  weir_buffer_release(buffer);
  weir_kernel_release(own);
  clReleaseMemObject(memory);
}

// ---------------------------------------------------------------------------------------------------------------
// Times

static struct {
  uint64_t starts, ends, last_end;
  bool good;
} times;

static void note(void *user, const weir_profile_event *event) {
  static uint64_t start;
  (void)user;
  if (strcmp(event->label, "fill") != 0 || event->what == WEIR_PROFILE_READY) return;
  if (event->what == WEIR_PROFILE_START) {
    times.starts++;
    start = event->time_ns;
    return;
  }
  times.ends++;
  times.good = times.good && event->status == WEIR_OK && event->time_ns >= start;
}

static void times_are_those_of_the_work(void **state) {
  (void)state;
  enum { LARGE = 64 << 20 };
  weir_buffer *buffer;
  times.good = true;
  enqueued_open("opencl", "host", &(weir_context_options){.flags = WEIR_CONTEXT_TRACE, .profile = note});
  weir_kernel *fill = enqueued_kernel("fill", &fill_code);
  assert_int_equal(weir_buffer_create(context, LARGE, &buffer), WEIR_OK);
  for (uint32_t i = 0; i < 5; i++) enqueued_submit_fill(fill, buffer, 0, LARGE, i, NULL);
  assert_int_equal(weir_finish(context), WEIR_OK);
  assert_true(times.good);
  assert_int_equal(times.starts, 5);
  assert_int_equal(times.ends, 5);
  enqueued_close();
}

// ---------------------------------------------------------------------------------------------------------------
// Failures

static weir_status refuse(const weir_enqueue *call) {
  weir_enqueue_fail(call, "on purpose");
  return WEIR_ERROR_TASK_FAILED;
}

// Copies back to the caller's memory are skipped, and may be done before the task is known to have failed.
static void a_failure_is_the_tasks_own(void **state) {
  (void)state;
  enqueued_open("opencl", "device", &(weir_context_options){.queues = BUFFERS});
  weir_kernel *fill = enqueued_kernel("fill", &fill_code);
  weir_kernel *fails = enqueued_kernel("fails", &(weir_enqueue_code){.function = refuse});
  static uint32_t memory[ROUNDS][BUFFERS];
  weir_buffer *own, *wrapped[ROUNDS][BUFFERS];
  weir_event *events[ROUNDS];
  assert_int_equal(weir_buffer_create(context, BYTES, &own), WEIR_OK);
  for (uint32_t i = 0; i < ROUNDS; i++) {
    weir_arg args[BUFFERS + 1];
    for (uint32_t j = 0; j < BUFFERS; j++) {
      assert_int_equal(weir_buffer_wrap(context, &memory[i][j], sizeof memory[i][j], &wrapped[i][j]), WEIR_OK);
      args[j] = weir_writes(wrapped[i][j]);
    }
    args[BUFFERS] = weir_reads(own);
    enqueued_submit_fill(fill, own, 0, BYTES, i, NULL);
    const weir_task task = {.kernel = fails, .args = args, .arg_count = BUFFERS + 1};
    if (weir_submit(context, &task, &events[i]) != WEIR_OK) fail_msg("%s", weir_last_error());
  }
  for (uint32_t i = 0; i < ROUNDS; i++) {
    assert_int_equal(weir_event_wait(events[i], WEIR_FOREVER), WEIR_ERROR_TASK_FAILED);
    assert_non_null(strstr(weir_last_error(), "on purpose"));
    weir_event_release(events[i]);
    for (uint32_t j = 0; j < BUFFERS; j++) weir_buffer_release(wrapped[i][j]);
  }
  assert_int_equal(weir_finish(context), WEIR_ERROR_TASK_FAILED);
  weir_buffer_release(own);
  weir_kernel_release(fill);
  weir_kernel_release(fails);
  enqueued_close();
}

int main(void) {
  fault_loader_use_or_skip(FAULT_LOADER);
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(tasks_are_in_order),
      cmocka_unit_test(graphs_are_in_order),
      cmocka_unit_test(lanes_keep_workspaces_apart),
      cmocka_unit_test(scratch_memory),
      cmocka_unit_test(arguments_are_the_devices_own),
      cmocka_unit_test(many_arguments),
      cmocka_unit_test(images_are_images),
      cmocka_unit_test_setup_teardown(own_kernels_on_own_objects, caller_open_context, caller_close_context),
      cmocka_unit_test(times_are_those_of_the_work),
      cmocka_unit_test(a_failure_is_the_tasks_own),
  };
  return cmocka_run_group_tests_name("OpenCL: enqueue functions", tests, caller_open, caller_close);
}
