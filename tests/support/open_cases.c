// SPDX-License-Identifier: Apache-2.0
#include "open_cases.h"

#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/allocate.h"
#include "random.h"
#include "weir/graph.h"

enum { HALF = OPEN_BYTES / 2, BUFFERS = 4, MOST_LANES = 512 };
#ifdef WEIR_SMALL_TESTS
enum { TASKS = 60, SEEDS = 2, STEPS = 12, MOST_ALLOCATIONS = 40, ALLOCATIONS_STEP = 3 };
#else
enum { TASKS = 300, SEEDS = 8, STEPS = 100, MOST_ALLOCATIONS = 40, ALLOCATIONS_STEP = 1 };
#endif

const open_rig *open_rig_now;

static weir_context *context(void) {
  return *open_rig_now->context;
}

static weir_device *device(void) {
  return weir_context_device(context(), 0);
}

static uint64_t first_seed(void) {
  const char *text = getenv("WEIR_TEST_SEED");
  return text != NULL ? strtoull(text, NULL, 0) : 1;
}

static void open_context(const char *more, const weir_context_options *options) {
  char devices[96];
  snprintf(devices, sizeof devices, "%s%s", open_rig_now->kind, more);
  open_rig_now->open(devices, options);
}

void open_good(weir_status status) {
  if (status != WEIR_OK) fail_msg("%s: %s", weir_status_name(status), weir_last_error());
}

void open_refused(weir_status status, weir_status wanted, const char *text) {
  assert_string_equal(weir_status_name(status), weir_status_name(wanted));
  if (strstr(weir_last_error(), text) == NULL) fail_msg("no '%s' in '%s'", text, weir_last_error());
}

weir_open_task *open_begin(const weir_arg *args, uint32_t count, const weir_enqueue **out_call) {
  weir_open_task *open;
  const weir_task task = {.device = device(), .args = args, .arg_count = count, .label = "op"};
  open_good(weir_task_begin(context(), &task, &open, out_call));
  return open;
}

void open_end(weir_open_task *open) {
  open_good(weir_task_end(open, NULL, 0, NULL));
}

weir_buffer *open_buffer(uint32_t value) {
  weir_buffer *buffer;
  open_good(weir_buffer_create(context(), OPEN_BYTES, &buffer));
  open_good(weir_fill(buffer, 0, OPEN_BYTES, value, NULL));
  return buffer;
}

static void expect_words(const uint32_t *words, uint64_t bytes, uint32_t wanted) {
  for (uint64_t i = 0; i < bytes / 4; i++) {
    if (words[i] != wanted) fail_msg("word %llu: %u, not %u", (unsigned long long)i, words[i], wanted);
  }
}

void open_expect(weir_buffer *buffer, uint64_t offset, uint64_t bytes, uint32_t wanted) {
  static uint32_t words[OPEN_BYTES / 4];
  open_good(weir_read(buffer, offset, bytes, words));
  expect_words(words, bytes, wanted);
}

static void fill(const weir_enqueue *call, uint32_t index, uint32_t pattern) {
  assert_true(open_rig_now->fill(call, &call->args[index], pattern));
}

static void copy(const weir_enqueue *call, uint32_t to, uint32_t from) {
  assert_true(open_rig_now->copy(call, &call->args[to], &call->args[from]));
}

static void separate(const weir_enqueue *call) {
  if (open_rig_now->separate != NULL) open_rig_now->separate(call);
}

// One task: fills the buffer.
static void fill_open(weir_buffer *buffer, uint32_t value, weir_event **out_event) {
  const weir_enqueue *call;
  const weir_arg arg = weir_writes(buffer);
  weir_open_task *open = open_begin(&arg, 1, &call);
  fill(call, 0, value);
  open_good(weir_task_end(open, NULL, 0, out_event));
}

static weir_status await(weir_event *event) {
  weir_status status = weir_event_wait(event, WEIR_FOREVER);
  weir_event_release(event);
  return status;
}

// ---------------------------------------------------------------------------------------------------------------
// Order

// Open tasks, fills and copies on halves of a few buffers, each half of one number; and what they come to.
typedef struct mixture {
  random_state random;
  weir_buffer *buffers[BUFFERS];
  uint32_t numbers[BUFFERS][2];
} mixture;

static void expect_mode(const weir_enqueue_arg *arg, weir_mode mode) {
  assert_int_equal(arg->bytes, HALF);
  assert_int_equal(arg->mode, mode);
}

// A task that comes after what is open; it is a child of that, since this thread has it.
static void submit_behind(mixture *m, uint32_t to, uint32_t half, uint32_t value) {
  open_good(weir_fill(m->buffers[to], half * HALF, HALF, value, NULL));
  m->numbers[to][half] = value;
}

static void mix_open(mixture *m, uint32_t to, uint32_t from, uint32_t half) {
  const uint32_t value = random_below(&m->random, 1000), offset = half * HALF;
  const weir_arg args[] = {weir_writes_range(m->buffers[to], offset, HALF),
                           weir_updates_range(m->buffers[from], offset, HALF)};
  const weir_enqueue *call;
  bool copies = random_chance(&m->random, 60), refills = copies && random_chance(&m->random, 30);
  weir_open_task *open = open_begin(args, copies ? 2 : 1, &call);
  assert_true(call->lane < call->lane_count && call->lane_count <= MOST_LANES);
  assert_int_equal(call->arg_count, copies ? 2 : 1);
  expect_mode(&call->args[0], WEIR_WRITE);
  bool is_filled = random_chance(&m->random, 20);
  uint32_t result = copies ? m->numbers[from][half] : value;
  m->numbers[to][half] = result;
  if (refills) m->numbers[from][half] = value;
  if (is_filled) submit_behind(m, to, half, value + 1);
  if (copies) copy(call, 0, 1);
  if (refills) separate(call);
  if (refills) fill(call, 1, value);
  if (!copies) fill(call, 0, value);
  open_end(open);
}

static void mix_one(mixture *m) {
  uint32_t to = random_below(&m->random, BUFFERS), from = (to + random_between(&m->random, 1, BUFFERS - 1)) % BUFFERS;
  uint32_t half = random_below(&m->random, 2), value = random_below(&m->random, 1000), offset = half * HALF;
  switch (random_below(&m->random, 4)) {
  case 0:
    submit_behind(m, to, half, value);
    break;
  case 1:
    open_good(weir_copy(m->buffers[to], offset, m->buffers[from], offset, HALF, NULL));
    m->numbers[to][half] = m->numbers[from][half];
    break;
  default:
    mix_open(m, to, from, half);
  }
}

static void mix(uint64_t seed) {
  enum { COPIES = 8 };
  static uint32_t copies[COPIES][HALF / 4];
  uint32_t wanted[COPIES], count = 0;
  mixture m = {.random = {seed}};
  for (int i = 0; i < BUFFERS; i++) m.buffers[i] = open_buffer(0);
  for (uint32_t i = 0; i < TASKS; i++) {
    mix_one(&m);
    if (i % (TASKS / COPIES) != 0 || count == COPIES) continue;
    uint32_t from = random_below(&m.random, BUFFERS);
    wanted[count] = m.numbers[from][0];
    open_good(weir_copy_out(m.buffers[from], 0, HALF, copies[count++], NULL));
  }
  open_good(weir_finish(context()));
  for (uint32_t i = 0; i < count; i++) expect_words(copies[i], HALF, wanted[i]);
  for (uint32_t i = 0; i < BUFFERS; i++)
    for (uint32_t half = 0; half < 2; half++) open_expect(m.buffers[i], half * HALF, HALF, m.numbers[i][half]);
}

void open_cases_order(void **state) {
  (void)state;
  static const uint32_t flags[] = {0, WEIR_CONTEXT_TRACE, WEIR_CONTEXT_NO_RENAME, WEIR_CONTEXT_IN_ORDER};
  for (uint32_t i = 0; i < 4 * SEEDS; i++) {
    uint64_t seed = first_seed() * 1000 + i;
    const weir_context_options options = {
        .seed = seed, .queues = i % 3, .flags = flags[i % 4], .window = i % 5 == 4 ? 8 : 0};
    print_message("seed %llu\n", (unsigned long long)seed);
    open_context(i % 2 == 0 ? "" : ",cpu:1", &options);
    mix(seed);
    open_rig_now->close();
  }
}

// ---------------------------------------------------------------------------------------------------------------
// What an open task holds back, and what not

typedef struct others {
  weir_buffer *held, *free_one;
  weir_event *behind;
} others;

// While another thread has its task open.
static void *use_others(void *argument) {
  others *o = argument;
  weir_event *event;
  for (uint32_t i = 0; i < 20; i++) fill_open(o->free_one, i, NULL);
  fill_open(o->free_one, 7, &event);
  assert_int_equal(await(event), WEIR_OK);
  open_expect(o->free_one, 0, OPEN_BYTES, 7);
  assert_int_equal(weir_event_poll(o->behind), WEIR_PENDING);
  return NULL;
}

void open_cases_others_go_on(void **state) {
  (void)state;
  for (uint32_t queues = 0; queues < 3; queues++) {
    pthread_t thread;
    const weir_enqueue *call;
    open_context("", &(weir_context_options){.queues = queues});
    others o = {.held = open_buffer(1), .free_one = open_buffer(2)};
    const weir_arg arg = weir_writes(o.held);
    weir_open_task *open = open_begin(&arg, 1, &call);
    fill(call, 0, 5);
    weir_buffer *copied = open_buffer(0);
    open_good(weir_copy(copied, 0, o.held, 0, OPEN_BYTES, &o.behind));
    assert_int_equal(pthread_create(&thread, NULL, use_others, &o), 0);
    pthread_join(thread, NULL);
    open_end(open);
    assert_int_equal(await(o.behind), WEIR_OK);
    open_expect(copied, 0, OPEN_BYTES, 5);
    open_rig_now->close();
  }
}

// Submissions queue, and nobody waits for the thread that must end the task.
void open_cases_full_window(void **state) {
  (void)state;
  const weir_enqueue *call;
  open_context("", &(weir_context_options){.window = 8});
  weir_buffer *buffer = open_buffer(1);
  const weir_arg arg = weir_updates(buffer);
  weir_open_task *open = open_begin(&arg, 1, &call);
  for (uint32_t i = 1; i <= 40; i++) open_good(weir_fill(buffer, 0, HALF, i, NULL));
  fill(call, 0, 5);
  open_end(open);
  open_good(weir_finish(context()));
  open_expect(buffer, 0, HALF, 40);
  open_expect(buffer, HALF, HALF, 5);
  open_rig_now->close();
}

// ---------------------------------------------------------------------------------------------------------------
// Failures

static void abandon(weir_buffer *buffer) {
  const weir_enqueue *call;
  weir_event *reader;
  const weir_arg arg = weir_updates(buffer);
  weir_buffer *to = open_buffer(3);
  weir_open_task *open = open_begin(&arg, 1, &call);
  fill(call, 0, 5);
  open_good(weir_copy(to, 0, buffer, 0, OPEN_BYTES, &reader));
  open_refused(weir_task_abandon(open, WEIR_OK, NULL), WEIR_ERROR_INVALID_ARGUMENT, "is no failure");
  open_good(weir_task_abandon(open, WEIR_ERROR_IO, "the operator threw"));
  assert_int_equal(await(reader), WEIR_ERROR_UPSTREAM_FAILED);
  open_refused(weir_finish(context()), WEIR_ERROR_IO, "open task: the operator threw");
}

// Also of a task that depends on one that fails while both are open.
static void fail_while_open(weir_buffer *buffer) {
  const weir_arg arg = weir_reads(buffer);
  const weir_enqueue *call;
  weir_open_task *open;
  const weir_task task = {.device = device(), .args = &arg, .arg_count = 1, .label = "late"};
  open_refused(weir_task_begin(context(), &task, &open, &call), WEIR_ERROR_UPSTREAM_FAILED, "'late'");
  assert_null(open);
  assert_null(call);
  assert_int_equal(weir_finish(context()), WEIR_ERROR_UPSTREAM_FAILED); // as of any task that was skipped
}

void open_cases_failures(void **state) {
  (void)state;
  for (uint32_t i = 0; i < 3; i++) {
    open_context("", &(weir_context_options){.flags = i == 1 ? WEIR_CONTEXT_TRACE : 0, .queues = i});
    weir_buffer *buffer = open_buffer(1);
    abandon(buffer);
    fail_while_open(buffer);
    fill_open(buffer, 6, NULL);
    open_expect(buffer, 0, OPEN_BYTES, 6);
    open_good(weir_finish(context()));
    open_rig_now->close();
  }
}

// ---------------------------------------------------------------------------------------------------------------
// The thread that has it

static void *try_from_elsewhere(void *argument) {
  weir_open_task *open = argument;
  char text[96];
  snprintf(text, sizeof text, "'op' (tag 0) on %s", weir_device_information(device())->name);
  open_refused(weir_task_end(open, NULL, 0, NULL), WEIR_ERROR_INVALID_ARGUMENT, "this thread has no open task");
  open_refused(weir_context_release(context()), WEIR_ERROR_INVALID_ARGUMENT, "'op'");
  open_refused(weir_finish_for(context(), 1000), WEIR_TIMEOUT, text);
  return NULL;
}

static void may_not_wait(weir_buffer *buffer) {
  const weir_enqueue *call, *second_call;
  weir_open_task *second;
  weir_event *event;
  pthread_t thread;
  uint32_t word;
  const weir_arg arg = weir_updates(buffer);
  open_good(weir_finish(context()));
  weir_open_task *open = open_begin(&arg, 1, &call);
  open_good(weir_fill(buffer, 0, HALF, 9, &event));
  open_refused(weir_finish(context()), WEIR_ERROR_INVALID_ARGUMENT, "while this thread has an open task");
  open_refused(weir_event_wait(event, WEIR_FOREVER), WEIR_ERROR_INVALID_ARGUMENT, "has an open task");
  open_refused(weir_read(buffer, 0, 4, &word), WEIR_ERROR_INVALID_ARGUMENT, "has an open task");
  open_refused(weir_task_begin(context(), &(weir_task){.device = device()}, &second, &second_call),
               WEIR_ERROR_INVALID_ARGUMENT, "this thread has an open task already");
  assert_int_equal(pthread_create(&thread, NULL, try_from_elsewhere, open), 0);
  pthread_join(thread, NULL);
  fill(call, 0, 4);
  open_end(open);
  assert_int_equal(await(event), WEIR_OK);
  open_expect(buffer, 0, HALF, 9);
  open_expect(buffer, HALF, HALF, 4);
}

static void *leave_open(void *argument) {
  const weir_enqueue *call;
  const weir_arg arg = weir_updates(argument);
  open_begin(&arg, 1, &call);
  fill(call, 0, 5);
  return NULL;
}

// A thread that ends takes its task with it.
static void ends_with_one(weir_buffer *buffer) {
  pthread_t thread;
  assert_int_equal(pthread_create(&thread, NULL, leave_open, buffer), 0);
  pthread_join(thread, NULL);
  open_refused(weir_finish(context()), WEIR_ERROR_TASK_FAILED, "its thread ended without weir_task_end");
  open_good(weir_fill(buffer, 0, OPEN_BYTES, 2, NULL));
  open_expect(buffer, 0, OPEN_BYTES, 2);
}

void open_cases_thread(void **state) {
  (void)state;
  open_context(",cpu:1", NULL);
  weir_buffer *buffer = open_buffer(1);
  may_not_wait(buffer);
  ends_with_one(buffer);
  const weir_enqueue *call;
  open_end(open_begin(NULL, 0, &call)); // of nothing
  open_good(weir_finish(context()));
  open_rig_now->close();
}

// ---------------------------------------------------------------------------------------------------------------
// Many threads, more than tasks that can be open: pairs of buffers that each task gives one number

enum { THREADS = 12, PAIRS = 4 };

static struct {
  weir_buffer *pairs[PAIRS][2];
  _Atomic uint32_t in_use[MOST_LANES];
} shared;

// Gives the first pair the number, and the second pair what the first one had.
static void pass_on(uint32_t first, uint32_t second, uint32_t value) {
  const weir_enqueue *call;
  weir_arg args[4];
  for (int i = 0; i < 2; i++) {
    args[i] = weir_updates(shared.pairs[first][i]);
    args[2 + i] = weir_writes(shared.pairs[second][i]);
  }
  weir_open_task *open = open_begin(args, 4, &call);
  assert_int_equal(atomic_fetch_add(&shared.in_use[call->lane], 1), 0);
  copy(call, 2, 0);
  copy(call, 3, 1);
  separate(call);
  fill(call, 0, value);
  sched_yield();
  separate(call);
  copy(call, 1, 0);
  atomic_fetch_sub(&shared.in_use[call->lane], 1);
  open_end(open);
}

static void *work_at_random(void *argument) {
  random_state random = {.value = (uintptr_t)argument};
  for (uint32_t i = 0; i < STEPS; i++) {
    uint32_t first = random_below(&random, PAIRS), second = (first + random_between(&random, 1, PAIRS - 1)) % PAIRS;
    if (random_chance(&random, 20)) {
      const weir_arg args[] = {weir_reads(shared.pairs[first][0]), weir_writes(shared.pairs[first][1])};
      const weir_enqueue *call;
      weir_open_task *open = open_begin(args, 2, &call);
      copy(call, 1, 0);
      open_end(open);
      continue;
    }
    pass_on(first, second, random_below(&random, 1000));
  }
  return NULL;
}

static void many_threads(uint64_t seed, const weir_context_options *options) {
  static uint32_t words[2][OPEN_BYTES / 4];
  pthread_t threads[THREADS];
  open_context("", options);
  for (int i = 0; i < PAIRS; i++)
    for (int j = 0; j < 2; j++) shared.pairs[i][j] = open_buffer(0);
  for (uint64_t i = 0; i < THREADS; i++)
    assert_int_equal(pthread_create(&threads[i], NULL, work_at_random, (void *)(uintptr_t)(seed * 100 + i)), 0);
  for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
  open_good(weir_finish(context()));
  for (int i = 0; i < PAIRS; i++) {
    for (int j = 0; j < 2; j++) open_good(weir_read(shared.pairs[i][j], 0, OPEN_BYTES, words[j]));
    expect_words(words[1], OPEN_BYTES, words[0][0]);
    assert_memory_equal(words[0], words[1], OPEN_BYTES);
  }
  open_rig_now->close();
}

void open_cases_many_threads(void **state) {
  (void)state;
  uint64_t seed = first_seed();
  many_threads(seed, &(weir_context_options){.seed = seed, .queues = 3});
  many_threads(seed + 1, &(weir_context_options){.seed = seed, .window = 8});
  many_threads(seed + 2, &(weir_context_options){.seed = seed, .queues = 1, .flags = WEIR_CONTEXT_TRACE});
}

// ---------------------------------------------------------------------------------------------------------------
// Cancelled, among others, without memory

// Cancelled while it is open: it counts as started, and what has not is skipped.
void open_cases_cancelled(void **state) {
  (void)state;
  const weir_enqueue *call;
  weir_event *event, *later;
  open_context("", NULL);
  weir_buffer *buffer = open_buffer(1), *to = open_buffer(2);
  open_good(weir_finish(context()));
  const weir_arg arg = weir_updates(buffer);
  weir_open_task *open = open_begin(&arg, 1, &call);
  open_good(weir_copy(to, 0, buffer, 0, OPEN_BYTES, &later));
  weir_context_cancel(context());
  fill(call, 0, 5);
  open_good(weir_task_end(open, NULL, 0, &event));
  assert_int_equal(await(event), WEIR_OK);
  assert_int_equal(await(later), WEIR_ERROR_CANCELLED);
  weir_finish(context());
  open_rig_now->close();
}

static void add_one(const weir_work *work) {
  uint32_t *words = work->args[0];
  for (uint32_t i = 0; i < OPEN_BYTES / 4; i++) words[i]++;
}

void open_cases_graphs_and_devices(void **state) {
  (void)state;
  weir_graph *graph;
  open_context(",cpu:1", NULL);
  weir_buffer *buffer = open_buffer(1), *to = open_buffer(0), *last = open_buffer(0);
  open_good(weir_graph_create(context(), NULL, &graph));
  open_good(weir_graph_copy(graph, to, 0, buffer, 0, OPEN_BYTES, NULL));
  for (uint32_t i = 0; i < 6; i++) {
    const weir_enqueue *call;
    const weir_arg args[] = {weir_writes(last), weir_reads(to)}, arg = weir_updates(buffer);
    fill_open(buffer, 10 * i, NULL);
    open_good(weir_submit(context(), &(weir_task){.host = add_one, .args = &arg, .arg_count = 1}, NULL));
    open_good(weir_graph_launch(graph, NULL));
    weir_open_task *open = open_begin(args, 2, &call);
    copy(call, 0, 1);
    open_end(open);
    open_expect(last, 0, OPEN_BYTES, 10 * i + 1);
  }
  open_good(weir_graph_release(graph));
  open_rig_now->close();
}

// Tasks end well and are right, or fail, while one allocation of Weir's own fails.
static void with_a_failure(uint64_t n) {
  bool good = true;
  weir_buffer *buffer = open_buffer(1), *to = open_buffer(2);
  open_good(weir_finish(context()));
  weir__allocate_fail_at(n);
  for (uint32_t i = 0; i < 3; i++) {
    weir_open_task *open;
    const weir_enqueue *call;
    weir_event *event;
    const weir_arg arg = weir_writes(buffer);
    const weir_task task = {.device = device(), .args = &arg, .arg_count = 1};
    weir_status status = weir_task_begin(context(), &task, &open, &call);
    if (status == WEIR_OK) {
      fill(call, 0, 20 + i);
      open_good(weir_task_end(open, NULL, 0, &event));
      status = await(event);
    }
    if (status == WEIR_OK) status = weir_copy(to, 0, buffer, 0, OPEN_BYTES, NULL);
    good = good && status == WEIR_OK;
  }
  weir__allocate_fail_at(0);
  weir_status finished = weir_finish(context());
  if (!good || finished != WEIR_OK) return;
  open_expect(buffer, 0, OPEN_BYTES, 22);
  open_expect(to, 0, OPEN_BYTES, 22);
}

void open_cases_no_memory(void **state) {
  (void)state;
  for (uint64_t n = 1; n < MOST_ALLOCATIONS; n += ALLOCATIONS_STEP) {
    open_context("", &(weir_context_options){.flags = n % 2 == 0 ? WEIR_CONTEXT_TRACE : 0});
    with_a_failure(n);
    open_rig_now->close();
  }
}
