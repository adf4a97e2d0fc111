// SPDX-License-Identifier: Apache-2.0
//
// Open tasks on CUDA: order with all other tasks, buffers that their work makes, threads, failures and misuse. On the driver of
// stub/, in random orders, with every way to issue.
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/allocate.h"
#include "part.h"
#include "random.h"
#include "share.h"
#include "weir/enqueue.h"
#include "weir/graph.h"

enum { COUNT = 64, BYTES = COUNT * 4, SOON = 20000000 };

static void put(const share *s, CUfunction function, void *stream, uint64_t pointer, uint32_t count, uint32_t value) {
  void *parameters[] = {&pointer, &count, &value};
  CUcontext current = NULL;
  s->driver->cuCtxGetCurrent(&current);
  if (current == NULL) share_good(s->driver->cuCtxSetCurrent(s->primary));
  share_good(s->driver->cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, stream, parameters, NULL));
}

static weir_open_task *begin(const share *s, weir_buffer *buffer, weir_mode mode, const weir_enqueue **call) {
  weir_open_task *open;
  weir_arg args[] = {mode == WEIR_WRITE  ? weir_writes(buffer)
                     : mode == WEIR_READ ? weir_reads(buffer)
                                         : weir_updates(buffer)};
  share_ok(weir_task_begin(s->context, &(weir_task){.args = args, .arg_count = 1, .label = "op"}, &open, call));
  return open;
}

// One task of the caller's own: data[i] = data[i] * 3 + value.
static void step_open(const share *s, weir_buffer *buffer, uint32_t value, weir_event **event) {
  const weir_enqueue *call;
  weir_open_task *open = begin(s, buffer, WEIR_READ_WRITE, &call);
  put(s, s->own_step, call->queue, call->args[0].pointer, COUNT, value);
  share_ok(weir_task_end(open, NULL, 0, event));
}

static void expect_read(weir_buffer *buffer, uint32_t value, const uint32_t *steps, uint32_t step_count) {
  uint32_t numbers[COUNT];
  share_ok(weir_read(buffer, 0, BYTES, numbers));
  share_expect(numbers, COUNT, value, steps, step_count);
}

// ---------------------------------------------------------------------------------------------------------------
// Order

static void come_in_their_turn(share *s) {
  enum { ROUNDS = 12 };
  weir_buffer *buffer = share_buffer(s, COUNT), *out = share_buffer(s, COUNT);
  uint32_t steps[4 * ROUNDS], count = 0;
  static uint32_t copies[ROUNDS][COUNT];
  share_submit(s, s->set, s->cuda, buffer, COUNT, 7, NULL);
  for (uint32_t i = 0; i < ROUNDS; i++) {
    share_submit(s, s->step, s->cuda, buffer, COUNT, steps[count++] = i, NULL);
    const weir_enqueue *call;
    weir_open_task *open = begin(s, buffer, WEIR_READ_WRITE, &call);
    assert_true(call->lane < call->lane_count && call->arg_count == 1 && call->args[0].bytes == BYTES);
    assert_false(call->capturing);
    // What comes after it waits for its end, also if it is submitted before that.
    share_submit(s, s->step, i % 3 == 0 ? s->cpu : s->cuda, buffer, COUNT, i + 100, NULL);
    put(s, s->own_step, call->queue, call->args[0].pointer, COUNT, steps[count++] = i + 50);
    steps[count++] = i + 100;
    share_ok(weir_task_end(open, NULL, 0, NULL));
    step_open(s, buffer, steps[count++] = i + 200, NULL);
    share_ok(weir_copy_out(buffer, 0, BYTES, copies[i], NULL));
    if (i % 4 == 0) share_sum(s, s->cuda, out, buffer, buffer, COUNT, NULL);
  }
  share_ok(weir_finish(s->context));
  for (uint32_t i = 0; i < ROUNDS; i++) share_expect(copies[i], COUNT, 7, steps, 4 * (i + 1));
}

static void test_order(void **state) {
  (void)state;
  share_run("cpu:2,cuda", come_in_their_turn);
  share_run_with(&(weir_context_options){.devices = "cpu:2,cuda", .flags = WEIR_CONTEXT_IN_ORDER}, come_in_their_turn);
  share_run_with(&(weir_context_options){.devices = "cpu:2,cuda", .flags = WEIR_CONTEXT_TRACE, .window = 8},
                 come_in_their_turn);
  share_run_with(&(weir_context_options){.devices = "cpu:2,cuda", .queues = 1}, come_in_their_turn);
  share_run_with(&(weir_context_options){.devices = "cpu:1,cuda", .flags = WEIR_CONTEXT_CHECK}, come_in_their_turn);
}

// Independent ones do not wait for each other, and a task that holds up one buffer holds up no other.
static void wait_for_their_own_only(share *s) {
  weir_buffer *held = share_buffer(s, COUNT), *free_one = share_buffer(s, COUNT);
  share_submit(s, s->set, s->cuda, held, COUNT, 1, NULL);
  share_submit(s, s->set, s->cuda, free_one, COUNT, 1, NULL);
  share_ok(weir_finish(s->context));
  share_submit(s, s->held, s->cuda, held, COUNT, 2, NULL);
  weir_event *event;
  step_open(s, free_one, 3, &event); // the card would not come to this if it waited for `held`
  assert_int_equal(share_await(event), WEIR_OK);
  // One that depends on it begins all the same: only the card waits.
  step_open(s, held, 4, &event);
  assert_int_equal(weir_event_poll(event), WEIR_PENDING);
  share_open();
  assert_int_equal(share_await(event), WEIR_OK);
  expect_read(held, 1, (uint32_t[]){2, 4}, 2);
  expect_read(free_one, 1, (uint32_t[]){3}, 1);
}

static void test_overlap(void **state) {
  (void)state;
  share_run("cuda", wait_for_their_own_only);
}

// A host task with a full window behind an open task: submissions queue, and nobody waits for the thread that must end it.
static void submit_into_a_full_window(share *s) {
  weir_buffer *buffer = share_buffer(s, COUNT);
  uint32_t steps[41] = {5};
  const weir_enqueue *call;
  share_submit(s, s->set, s->cuda, buffer, COUNT, 1, NULL);
  weir_open_task *open = begin(s, buffer, WEIR_READ_WRITE, &call);
  for (uint32_t i = 1; i <= 40; i++) share_submit(s, s->step, s->cuda, buffer, COUNT, steps[i] = i, NULL);
  put(s, s->own_step, call->queue, call->args[0].pointer, COUNT, 5);
  share_ok(weir_task_end(open, NULL, 0, NULL));
  share_ok(weir_finish(s->context));
  expect_read(buffer, 1, steps, 41);
}

static void test_full_window(void **state) {
  (void)state;
  share_run_with(&(weir_context_options){.devices = "cuda", .window = 8}, submit_into_a_full_window);
}

// ---------------------------------------------------------------------------------------------------------------
// Buffers that the work makes

static weir_buffer *wrap_new(const share *s, CUdeviceptr *memory) {
  weir_buffer *buffer;
  if (*memory == 0) *memory = share_allocate(s, COUNT);
  share_ok(weir_buffer_wrap_cuda(s->cuda, *memory, BYTES, &buffer));
  return buffer;
}

static void results_are_made_in_between(share *s) {
  enum { ROUNDS = 10 };
  weir_buffer *in = share_buffer(s, COUNT), *made[ROUNDS];
  CUdeviceptr memory[ROUNDS] = {0};
  static uint32_t copies[ROUNDS][COUNT];
  share_submit(s, s->set, s->cuda, in, COUNT, 1, NULL);
  for (uint32_t i = 0; i < ROUNDS; i++) {
    const weir_enqueue *call;
    weir_open_task *open = begin(s, i == 0 ? in : made[i - 1], WEIR_READ, &call);
    made[i] = wrap_new(s, &memory[i]);
    void *parameters[] = {&memory[i], (void *)&call->args[0].pointer, (void *)&call->args[0].pointer,
                          &(uint32_t){COUNT}};
    CUfunction sum;
    share_good(s->driver->cuModuleGetFunction(&sum, s->module, "sum"));
    share_good(s->driver->cuLaunchKernel(sum, 1, 1, 1, 1, 1, 1, 0, call->queue, parameters, NULL));
    weir_arg arg = weir_writes(made[i]);
    share_ok(weir_task_end(open, &arg, 1, NULL));
    share_ok(weir_copy_out(made[i], 0, BYTES, copies[i], NULL));
    if (i > 0) share_ok(weir_buffer_release(made[i - 1]));
  }
  share_ok(weir_finish(s->context));
  for (uint32_t i = 0; i < ROUNDS; i++)
    for (uint32_t j = 0; j < COUNT; j++) assert_int_equal(copies[i][j], (1 + j) << (i + 1));
  for (uint32_t i = 0; i < ROUNDS; i++) share_free(s, memory[i]);
}

static void refuse_other_buffers(share *s) {
  weir_buffer *old = share_buffer(s, COUNT), *plain, *made, *used;
  CUdeviceptr memory = 0, other = 0;
  const weir_enqueue *call;
  share_submit(s, s->set, s->cuda, old, COUNT, 1, NULL);
  weir_open_task *open = begin(s, old, WEIR_READ_WRITE, &call);
  plain = share_buffer(s, COUNT);
  made = wrap_new(s, &memory);
  used = wrap_new(s, &other);
  share_submit(s, s->set, s->cuda, used, COUNT, 1, NULL);
  share_submit(s, s->held, s->cuda, used, COUNT, 1, NULL);
  weir_arg arg = weir_reads(old);
  share_refused(weir_task_end(open, &arg, 1, NULL), WEIR_ERROR_INVALID_ARGUMENT, "made before the task began");
  arg = weir_writes(plain);
  share_refused(weir_task_end(open, &arg, 1, NULL), WEIR_ERROR_INVALID_ARGUMENT, "only buffers on memory of");
  arg = weir_writes(used);
  share_refused(weir_task_end(open, &arg, 1, NULL), WEIR_ERROR_INVALID_ARGUMENT, "another task uses it already");
  arg = weir_auto(made);
  share_refused(weir_task_end(open, &arg, 1, NULL), WEIR_ERROR_INVALID_ARGUMENT, "its mode must be");
  arg = weir_writes_range(made, 8, BYTES);
  share_refused(weir_task_end(open, &arg, 1, NULL), WEIR_ERROR_INVALID_ARGUMENT, "leaves the buffer");
  weir_arg twice[] = {weir_writes(made), weir_reads(made)};
  share_refused(weir_task_end(open, twice, 2, NULL), WEIR_ERROR_INVALID_ARGUMENT, "named twice");
  share_refused(weir_task_end(open, NULL, 1, NULL), WEIR_ERROR_INVALID_ARGUMENT, "args is NULL");
  share_open();
  // It is still open, and an end that is right ends it.
  weir_event *event;
  share_ok(weir_task_end(open, twice, 1, &event));
  assert_int_equal(share_await(event), WEIR_OK);
  share_ok(weir_finish(s->context));
  share_free(s, memory);
  share_free(s, other);
}

// What an abandoned task should have written is missing: what it named at its beginning. Its work is done before that.
static void abandoned_tasks_fail(share *s) {
  weir_buffer *buffer = share_buffer(s, COUNT);
  const weir_enqueue *call;
  weir_event *reader;
  share_submit(s, s->set, s->cuda, buffer, COUNT, 1, NULL);
  weir_open_task *open = begin(s, buffer, WEIR_READ_WRITE, &call);
  put(s, s->own_step, call->queue, call->args[0].pointer, COUNT, 5);
  share_submit(s, s->step, s->cuda, buffer, COUNT, 1, &reader);
  share_refused(weir_task_abandon(open, WEIR_OK, NULL), WEIR_ERROR_INVALID_ARGUMENT, "is no failure");
  share_ok(weir_task_abandon(open, WEIR_ERROR_TASK_FAILED, "the operator threw"));
  assert_int_equal(weir_event_wait(reader, WEIR_FOREVER), WEIR_ERROR_UPSTREAM_FAILED);
  weir_event_release(reader);
  share_refused(weir_finish(s->context), WEIR_ERROR_TASK_FAILED, "open task: the operator threw");
  // A task that reads poison is not begun, and nothing is open then.
  weir_arg arg = weir_reads(buffer);
  weir_status status =
      weir_task_begin(s->context, &(weir_task){.args = &arg, .arg_count = 1, .label = "late"}, &open, &call);
  share_refused(status, WEIR_ERROR_UPSTREAM_FAILED, "'late'");
  assert_null(open);
  assert_int_equal(weir_finish(s->context), WEIR_ERROR_UPSTREAM_FAILED); // as of any task that was skipped
}

static void test_made(void **state) {
  (void)state;
  share_run("cuda", results_are_made_in_between);
  share_run("cuda", refuse_other_buffers);
  share_run("cuda", abandoned_tasks_fail);
  share_run_with(&(weir_context_options){.devices = "cuda", .flags = WEIR_CONTEXT_TRACE}, results_are_made_in_between);
  share_run_with(&(weir_context_options){.devices = "cuda", .flags = WEIR_CONTEXT_TRACE}, abandoned_tasks_fail);
}

// ---------------------------------------------------------------------------------------------------------------
// Threads

static void *try_from_elsewhere(void *argument) {
  void **pair = argument;
  share *s = pair[0];
  weir_open_task *open = pair[1];
  share_refused(weir_task_end(open, NULL, 0, NULL), WEIR_ERROR_INVALID_ARGUMENT, "this thread has no open task");
  share_refused(weir_context_release(s->context), WEIR_ERROR_INVALID_ARGUMENT, "'op'");
  share_refused(weir_finish_for(s->context, 1000), WEIR_TIMEOUT, "'op' (tag 0) on cuda:0, which was begun");
  return NULL;
}

static void may_not_wait(share *s) {
  weir_buffer *buffer = share_buffer(s, COUNT);
  const weir_enqueue *call, *second_call;
  weir_open_task *second;
  weir_event *event;
  uint32_t numbers[COUNT];
  pthread_t thread;
  share_submit(s, s->set, s->cuda, buffer, COUNT, 1, NULL);
  share_ok(weir_finish(s->context));
  weir_open_task *open = begin(s, buffer, WEIR_READ_WRITE, &call);
  share_submit(s, s->step, s->cuda, buffer, COUNT, 1, &event);
  share_refused(weir_finish(s->context), WEIR_ERROR_INVALID_ARGUMENT, "while this thread has an open task");
  share_refused(weir_event_wait(event, WEIR_FOREVER), WEIR_ERROR_INVALID_ARGUMENT, "has an open task");
  share_refused(weir_read(buffer, 0, BYTES, numbers), WEIR_ERROR_INVALID_ARGUMENT, "has an open task");
  share_refused(weir_context_release(s->context), WEIR_ERROR_INVALID_ARGUMENT, "has an open task");
  share_refused(weir_cuda_stream_waits_for_tasks(s->cuda, s->stream, NULL), WEIR_ERROR_INVALID_ARGUMENT, "open task");
  share_refused(weir_task_begin(s->context, &(weir_task){.label = "second"}, &second, &second_call),
                WEIR_ERROR_INVALID_ARGUMENT, "'second' (tag 0): this thread has an open task already");
  void *pair[] = {s, open};
  assert_int_equal(pthread_create(&thread, NULL, try_from_elsewhere, pair), 0);
  pthread_join(thread, NULL);
  put(s, s->own_step, call->queue, call->args[0].pointer, COUNT, 5);
  share_ok(weir_task_end(open, NULL, 0, NULL));
  assert_int_equal(share_await(event), WEIR_OK);
  share_ok(weir_finish(s->context));
  expect_read(buffer, 1, (uint32_t[]){5, 1}, 2);
  share_refused(weir_task_end(open, NULL, 0, NULL), WEIR_ERROR_INVALID_ARGUMENT, "this thread has no open task");
}

static weir_buffer *left_buffer;

static void *leave_open(void *argument) {
  share *s = argument;
  const weir_enqueue *call;
  begin(s, left_buffer, WEIR_READ_WRITE, &call);
  put(s, s->own_step, call->queue, call->args[0].pointer, COUNT, 5);
  s->driver->cuCtxSetCurrent(NULL);
  return NULL;
}

// A thread that ends takes its task with it.
static void threads_end_with_one(share *s) {
  pthread_t thread;
  left_buffer = share_buffer(s, COUNT);
  share_submit(s, s->set, s->cuda, left_buffer, COUNT, 1, NULL);
  assert_int_equal(pthread_create(&thread, NULL, leave_open, s), 0);
  pthread_join(thread, NULL);
  share_refused(weir_finish(s->context), WEIR_ERROR_TASK_FAILED, "its thread ended without weir_task_end");
  share_submit(s, s->set, s->cuda, left_buffer, COUNT, 2, NULL);
  expect_read(left_buffer, 2, NULL, 0);
}

static void from_a_task(const weir_work *work) {
  const share *s = work->user;
  weir_open_task *open;
  const weir_enqueue *call;
  share_refused(weir_task_begin(s->context, &(weir_task){.device = s->cuda}, &open, &call), WEIR_ERROR_INVALID_ARGUMENT,
                "called from a task or callback");
}

static void are_checked(share *s) {
  weir_open_task *open;
  const weir_enqueue *call;
  share_refused(weir_task_begin(s->context, &(weir_task){.kernel = s->set}, &open, &call), WEIR_ERROR_INVALID_ARGUMENT,
                "neither kernel nor function");
  share_refused(weir_task_begin(s->context, &(weir_task){.device = s->cpu}, &open, &call), WEIR_ERROR_UNAVAILABLE,
                "devices of kind 'cpu' have no open tasks");
  share_refused(weir_task_begin(s->context, &(weir_task){.arg_count = 1}, &open, &call), WEIR_ERROR_INVALID_ARGUMENT,
                "args is NULL");
  weir_arg bad = {.mode = WEIR_READ};
  share_refused(weir_task_begin(s->context, &(weir_task){.args = &bad, .arg_count = 1}, &open, &call),
                WEIR_ERROR_INVALID_ARGUMENT, "argument 0");
  share_refused(weir_task_begin(s->context, NULL, &open, &call), WEIR_ERROR_INVALID_ARGUMENT, "the task is NULL");
  share_refused(weir_task_end(NULL, NULL, 0, NULL), WEIR_ERROR_INVALID_ARGUMENT, "the open task is NULL");
  share_ok(weir_submit(s->context, &(weir_task){.host = from_a_task, .user = s}, NULL));
  share_ok(weir_finish(s->context));
}

static void test_threads(void **state) {
  (void)state;
  share_run("cpu:1,cuda", may_not_wait);
  share_run("cuda", threads_end_with_one);
  share_run("cpu:1,cuda", are_checked);
}

// ---------------------------------------------------------------------------------------------------------------
// Many threads, more than there are queues for them: each buffer gets the steps of its users in the order of their beginnings

enum { THREADS = 12, SHARED = 5 };
#ifdef WEIR_SMALL_TESTS
enum { STEPS = 25 };
#else
enum { STEPS = 100 };
#endif

typedef struct worker {
  share *s;
  weir_buffer **buffers;
  uint64_t seed;
} worker;

static atomic_uint total[SHARED]; // of additions, which commute in the model

static void *work_at_random(void *argument) {
  worker *w = argument;
  const share *s = w->s;
  random_state random = {.value = w->seed};
  for (uint32_t i = 0; i < STEPS; i++) {
    uint32_t first = random_below(&random, SHARED), second = random_below(&random, SHARED);
    const weir_enqueue *call;
    weir_open_task *open;
    weir_arg args[] = {weir_updates(w->buffers[first]), weir_updates(w->buffers[second])};
    uint32_t count = first == second ? 1 : 2;
    if (random_chance(&random, 30)) {
      uint32_t where = random_below(&random, SHARED);
      share_submit(s, s->step, random_chance(&random, 20) ? s->cpu : s->cuda, w->buffers[where], COUNT, 1, NULL);
      atomic_fetch_add(&total[where], 1);
    }
    share_ok(weir_task_begin(s->context, &(weir_task){.args = args, .arg_count = count}, &open, &call));
    for (uint32_t k = 0; k < count; k++) put(s, s->own_step, call->queue, call->args[k].pointer, COUNT, 1);
    if (random_chance(&random, 10)) sched_yield();
    share_ok(weir_task_end(open, NULL, 0, NULL));
    atomic_fetch_add(&total[first], 1);
    if (count == 2) atomic_fetch_add(&total[second], 1);
  }
  s->driver->cuCtxSetCurrent(NULL);
  return NULL;
}

static void many_threads(share *s) {
  weir_buffer *buffers[SHARED];
  pthread_t threads[THREADS];
  worker workers[THREADS];
  for (uint32_t i = 0; i < SHARED; i++) {
    atomic_store(&total[i], 0);
    buffers[i] = share_buffer(s, COUNT);
    share_submit(s, s->set, s->cuda, buffers[i], COUNT, i, NULL);
  }
  const char *text = getenv("WEIR_TEST_SEED");
  for (uint64_t i = 0; i < THREADS; i++) {
    workers[i] = (worker){.s = s, .buffers = buffers, .seed = i + (text != NULL ? strtoull(text, NULL, 0) : 1) * 100};
    assert_int_equal(pthread_create(&threads[i], NULL, work_at_random, &workers[i]), 0);
  }
  for (uint32_t i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
  share_ok(weir_finish(s->context));
  for (uint32_t i = 0; i < SHARED; i++) {
    uint32_t numbers[COUNT];
    share_ok(weir_read(buffers[i], 0, BYTES, numbers));
    for (uint32_t j = 0; j < COUNT; j++) {
      uint32_t wanted = i + j;
      for (uint32_t k = 0; k < atomic_load(&total[i]); k++) wanted = stepped(wanted, 1);
      assert_int_equal(numbers[j], wanted);
    }
  }
}

static void test_many_threads(void **state) {
  (void)state;
  share_run("cpu:2,cuda", many_threads);
  share_run_with(&(weir_context_options){.devices = "cpu:2,cuda", .window = 8}, many_threads);
}

// ---------------------------------------------------------------------------------------------------------------
// Misuse of the queue, and loss

static void leave_in_a_capture(share *s) {
  weir_buffer *buffer = share_buffer(s, COUNT);
  const weir_enqueue *call;
  share_submit(s, s->set, s->cuda, buffer, COUNT, 1, NULL);
  weir_open_task *open = begin(s, buffer, WEIR_READ_WRITE, &call);
  share_good(s->driver->cuStreamBeginCapture(call->queue, CU_STREAM_CAPTURE_MODE_RELAXED));
  put(s, s->own_step, call->queue, call->args[0].pointer, COUNT, 5);
  share_ok(weir_task_end(open, NULL, 0, NULL));
  share_refused(weir_finish(s->context), WEIR_ERROR_TASK_FAILED, "its queue was being captured when it ended");
  share_submit(s, s->set, s->cuda, buffer, COUNT, 1, NULL);
  step_open(s, buffer, 6, NULL);
  expect_read(buffer, 1, (uint32_t[]){6}, 1);
}

static void lose(share *s, bool inside) {
  weir_buffer *buffer = share_buffer(s, COUNT);
  const weir_enqueue *call;
  weir_event *event;
  share_submit(s, s->set, s->cuda, buffer, COUNT, 1, NULL);
  weir_open_task *open = begin(s, buffer, WEIR_READ_WRITE, &call);
  if (inside) {
    stub_fail_nth("cuLaunchKernel", 1, CUDA_ERROR_ILLEGAL_ADDRESS);
    uint64_t pointer = call->args[0].pointer;
    uint32_t count = 1;
    void *parameters[] = {&pointer, &count, &count};
    s->driver->cuLaunchKernel(s->own_step, 1, 1, 1, 1, 1, 1, 0, call->queue, parameters, NULL);
  } else {
    share_good(s->driver->cuStreamDestroy(call->queue));
  }
  share_ok(weir_task_end(open, NULL, 0, &event));
  assert_int_equal(weir_event_wait(event, WEIR_FOREVER), WEIR_ERROR_DEVICE_LOST);
  const char *text = inside ? "the device was lost: CUDA_ERROR_ILLEGAL_ADDRESS" : "its queue was lost";
  if (strstr(weir_event_message(event), text) == NULL) fail_msg("%s", weir_event_message(event));
  weir_event_release(event);
  weir_finish(s->context);
  weir_arg arg = weir_writes(buffer);
  weir_status status = weir_task_begin(s->context, &(weir_task){.args = &arg, .arg_count = 1}, &open, &call);
  if (status == WEIR_OK) share_ok(weir_task_end(open, NULL, 0, NULL));
  if (status == WEIR_OK) status = weir_finish(s->context);
  assert_int_equal(status, WEIR_ERROR_DEVICE_LOST);
}

static void lose_inside(share *s) {
  lose(s, true);
}

static void lose_queue(share *s) {
  lose(s, false);
}

// Cancelled while it is open: it ran, so it counts as done, and what has not started is skipped.
static void cancelled_while_open(share *s) {
  weir_buffer *buffer = share_buffer(s, COUNT);
  const weir_enqueue *call;
  weir_event *event, *later;
  share_submit(s, s->set, s->cuda, buffer, COUNT, 1, NULL);
  share_ok(weir_finish(s->context));
  weir_open_task *open = begin(s, buffer, WEIR_READ_WRITE, &call);
  share_submit(s, s->step, s->cuda, buffer, COUNT, 1, &later);
  weir_context_cancel(s->context);
  put(s, s->own_step, call->queue, call->args[0].pointer, COUNT, 5);
  share_ok(weir_task_end(open, NULL, 0, &event));
  assert_int_equal(share_await(event), WEIR_OK);
  assert_int_equal(share_await(later), WEIR_ERROR_CANCELLED);
  weir_finish(s->context);
}

static void test_misuse(void **state) {
  (void)state;
  share_run("cuda", leave_in_a_capture);
  share_run("cuda", lose_inside);
  share_run("cuda", lose_queue);
  share_run_with(&(weir_context_options){.devices = "cuda", .flags = WEIR_CONTEXT_TRACE}, lose_inside);
  share_run_with(&(weir_context_options){.devices = "cuda", .flags = WEIR_CONTEXT_TRACE}, lose_queue);
  share_run("cuda", cancelled_while_open);
}

// Each call of the driver fails in turn, once or from then on: tasks end well and are right, or fail; nothing hangs or is left.
// The same with allocations of Weir's own.
static uint64_t failing;
static bool failing_allocation;

static void begin_failing(void) {
  if (failing_allocation)
    weir__allocate_fail_at(failing);
  else
    stub_fail_nth(NULL, failing, failing % 5 == 0 ? CUDA_ERROR_UNKNOWN : CUDA_ERROR_OUT_OF_MEMORY);
}

static bool submit_step(const share *s, weir_buffer *buffer, uint32_t value) {
  uint32_t count = COUNT;
  weir_arg args[] = {weir_updates(buffer), weir_value(&count, sizeof count), weir_value(&value, sizeof value)};
  return weir_submit(s->context, &(weir_task){.kernel = s->step, .args = args, .arg_count = 3}, NULL) == WEIR_OK;
}

static void with_a_failure(share *s) {
  weir_buffer *buffer = share_buffer(s, COUNT);
  uint32_t numbers[COUNT], steps[6], step_count = 0;
  bool good = true;
  share_submit(s, s->set, s->cuda, buffer, COUNT, 1, NULL);
  share_ok(weir_finish(s->context));
  begin_failing();
  for (uint32_t i = 0; i < 3; i++) {
    weir_open_task *open;
    const weir_enqueue *call;
    weir_arg arg = weir_updates(buffer);
    weir_event *event;
    good = submit_step(s, buffer, steps[step_count++] = i) && good;
    weir_status status = weir_task_begin(s->context, &(weir_task){.args = &arg, .arg_count = 1}, &open, &call);
    good = good && status == WEIR_OK;
    if (status != WEIR_OK) continue;
    uint64_t pointer = call->args[0].pointer;
    uint32_t count = COUNT, value = steps[step_count++] = 10 + i;
    void *parameters[] = {&pointer, &count, &value};
    CUresult result = s->driver->cuLaunchKernel(s->own_step, 1, 1, 1, 1, 1, 1, 0, call->queue, parameters, NULL);
    good = good && result == CUDA_SUCCESS;
    if (result != CUDA_SUCCESS) {
      share_ok(weir_task_abandon(open, WEIR_ERROR_TASK_FAILED, "the driver refused"));
      continue;
    }
    share_ok(weir_task_end(open, NULL, 0, &event));
    good = share_await(event) == WEIR_OK && good;
  }
  stub_fail_nth(NULL, 0, CUDA_SUCCESS);
  weir__allocate_fail_at(0);
  weir_status status = weir_finish(s->context);
  if (status == WEIR_OK && good && weir_read(buffer, 0, BYTES, numbers) == WEIR_OK)
    share_expect(numbers, COUNT, 1, steps, step_count);
}

static void test_failing_calls(void **state) {
  (void)state;
#ifdef WEIR_SMALL_TESTS
  uint32_t stride = 3 * part_divisor();
#else
  uint32_t stride = 1;
#endif
  for (failing = 1 + part_offset(stride); failing < 90; failing += stride)
    share_run_with(&(weir_context_options){.devices = "cuda", .queues = 3, .flags = failing % 2 * WEIR_CONTEXT_TRACE},
                   with_a_failure);
  failing_allocation = true;
  for (failing = 1 + part_offset(stride); failing < 40; failing += stride)
    share_run_with(&(weir_context_options){.devices = "cuda", .queues = 3, .flags = failing % 2 * WEIR_CONTEXT_TRACE},
                   with_a_failure);
  failing_allocation = false;
}

static uint32_t unissued;

// There is no memory to keep track of the task when it is issued: it fails once its work is over, and not before.
static void work_without_memory(share *s) {
  const weir_enqueue *call;
  weir_event *event;
  weir_open_task *open = begin(s, share_buffer(s, COUNT), WEIR_WRITE, &call); // the first task: nothing is kept
  put(s, s->own_held, call->queue, call->args[0].pointer, COUNT, 5);
  weir__allocate_fail_at(failing);
  share_ok(weir_task_end(open, NULL, 0, &event));
  assert_int_equal(weir_event_wait(event, SOON), WEIR_TIMEOUT);
  weir__allocate_fail_at(0);
  share_open();
  unissued += share_await(event) != WEIR_OK;
  weir_finish(s->context);
}

static void test_work_without_memory(void **state) {
  (void)state;
  unissued = 0;
  for (failing = 1; failing < 8; failing++)
    share_run_with(&(weir_context_options){.devices = "cuda", .issue = WEIR_ISSUE_QUEUES}, work_without_memory);
  assert_true(unissued > 0);
}

// ---------------------------------------------------------------------------------------------------------------
// Other devices, graphs behind and before

static void among_graphs_and_devices(share *s) {
  weir_buffer *buffer = share_buffer(s, COUNT);
  weir_graph *graph;
  uint32_t value = 3, count = COUNT, steps[12], step_count = 0;
  weir_arg args[] = {weir_updates(buffer), weir_value(&count, sizeof count), weir_value(&value, sizeof value)};
  share_ok(weir_graph_create(s->context, NULL, &graph));
  share_ok(
      weir_graph_add(graph, &(weir_task){.kernel = s->step, .device = s->cuda, .args = args, .arg_count = 3}, NULL));
  share_submit(s, s->set, s->second, buffer, COUNT, 1, NULL);
  for (uint32_t i = 0; i < 4; i++) {
    step_open(s, buffer, steps[step_count++] = 20 + i, NULL);
    share_ok(weir_graph_launch(graph, NULL));
    steps[step_count++] = 3;
    share_submit(s, s->step, s->second, buffer, COUNT, steps[step_count++] = i, NULL);
  }
  share_ok(weir_graph_release(graph));
  expect_read(buffer, 1, steps, step_count);
}

static void test_devices(void **state) {
  (void)state;
  share_run("cpu:1,cuda:0,cuda:1", among_graphs_and_devices);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_order),   cmocka_unit_test(test_overlap),       cmocka_unit_test(test_full_window),
      cmocka_unit_test(test_made),    cmocka_unit_test(test_threads),       cmocka_unit_test(test_many_threads),
      cmocka_unit_test(test_misuse),  cmocka_unit_test(test_failing_calls), cmocka_unit_test(test_work_without_memory),
      cmocka_unit_test(test_devices),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
