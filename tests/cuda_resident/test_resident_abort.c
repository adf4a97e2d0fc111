// SPDX-License-Identifier: Apache-2.0
//
// Resident issue on the stub driver: devices that are given up because a task does not end, or at any other time.
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <time.h>

#include "part.h"
#include "random.h"
#include "rig.h"

#ifdef WEIR_SMALL_TESTS
enum { SEEDS = 16, RACES = 20 };
#else
enum { SEEDS = 30, RACES = 60 };
#endif

static void nap(uint64_t ns) {
  nanosleep(&(struct timespec){.tv_nsec = (long)ns}, NULL);
}

static _Atomic bool begun;

// Runs until the context of the driver's is lost, as nothing else ends it.
static void endless_group(const stub_launch *launch, uint64_t group) {
  (void)group;
  atomic_store(&begun, true);
  while (!stub_is_lost(launch)) nap(50000);
}

static void endless_launch(const stub_launch *launch) {
  endless_group(launch, 0);
}

static weir_kernel *make_endless(rig *r) {
  return rig_make_kernel(r, "endless", "STUB\nendless 64 8\n", true);
}

static weir_event *submit_task(rig *r, weir_kernel *kernel) {
  weir_event *event = NULL;
  weir_arg args[] = {weir_updates(r->buffers[0])};
  weir_task task = {.kernel = kernel, .args = args, .arg_count = 1};
  assert_int_equal(weir_submit(r->context, &task, &event), WEIR_OK);
  return event;
}

static void await_begin(void) {
  while (!atomic_load(&begun)) nap(100000);
}

static weir_event *submit_endless(rig *r, weir_kernel **out_kernel) {
  *out_kernel = make_endless(r);
  atomic_store(&begun, false);
  return submit_task(r, *out_kernel);
}

static void submit_some(rig *r, uint32_t count) {
  for (uint32_t i = 0; i < count; i++) rig_submit(r, RIG_MIX, i % RIG_BUFFERS, (i + 1) % RIG_BUFFERS, i, NULL);
}

static void abort_device(rig *r) {
  if (weir_cuda_abort(r->device) != WEIR_OK) fail_msg("%s", weir_last_error());
}

static bool is_lost(weir_status status) {
  return status == WEIR_ERROR_DEVICE_LOST || status == WEIR_ERROR_UPSTREAM_FAILED;
}

static void expect_lost(weir_event *event) {
  assert_true(is_lost(weir_event_wait(event, WEIR_FOREVER)));
  weir_event_release(event);
}

// Two buffers of zeros, and a task that updates the first.
static void make_buffers(weir_context *context, weir_buffer *buffers[2]) {
  static const uint32_t zeros[RIG_WORDS] = {0};
  for (int i = 0; i < 2; i++) {
    assert_int_equal(weir_buffer_create(context, sizeof zeros, &buffers[i]), WEIR_OK);
    assert_int_equal(weir_copy_in(buffers[i], 0, sizeof zeros, zeros, NULL), WEIR_OK);
  }
}

static weir_status run_on(rig *r, weir_device *device, weir_buffer *const buffers[2]) {
  weir_event *event = NULL;
  const uint32_t value = 1;
  weir_arg args[] = {weir_updates(buffers[0]), weir_reads(buffers[1]), weir_value(&value, sizeof value)};
  weir_task task = {
      .kernel = r->kernels[RIG_MIX], .args = args, .arg_count = 3, .groups = {RIG_GROUPS, 1, 1}, .device = device};
  assert_int_equal(weir_submit(r->context, &task, &event), WEIR_OK);
  weir_status status = weir_event_wait(event, WEIR_FOREVER);
  weir_event_release(event);
  return status;
}

static void expect_nothing_runs(rig *r) {
  weir_buffer *buffers[2];
  make_buffers(r->context, buffers);
  assert_true(is_lost(run_on(r, r->device, buffers)));
  for (int i = 0; i < 2; i++) weir_buffer_release(buffers[i]);
  assert_true(is_lost(weir_finish(r->context)));
}

static void expect_new_context_works(uint64_t seed, const weir_context_options *options) {
  rig r;
  rig_begin(&r, seed, options);
  submit_some(&r, 20);
  rig_end(&r);
}

// Of a context's seed depends how long the kernel stays, and of the stub's in how many threads it is.
static weir_context_options options_of(uint64_t seed) {
  static const uint64_t seeds[] = {0, 1, 3, 5, 15};
  return (weir_context_options){.seed = seeds[seed % 5], .flags = seed % 4 == 1 ? WEIR_CONTEXT_TRACE : 0};
}

static void a_task_never_ends(void **state) {
  (void)state;
  test_part some = part_of(SEEDS);
  for (uint64_t seed = 1 + some.first; seed <= some.end; seed++) {
    rig r;
    weir_context_options options = options_of(seed);
    rig_begin(&r, seed, &options);
    weir_kernel *kernel;
    weir_event *later = NULL, *plain = NULL;
    submit_some(&r, 20);
    assert_int_equal(weir_finish(r.context), WEIR_OK); // the only worker may be the one that it gets
    weir_event *endless = submit_endless(&r, &kernel);
    submit_some(&r, 20);
    rig_submit(&r, RIG_MIX, 0, 1, 1, &later);
    rig_submit(&r, RIG_PLAIN, 0, 1, 2, &plain);
    // Long enough for the launch's time to be over; or so short that the task may not be on the card.
    assert_int_equal(weir_finish_for(r.context, seed % 2 == 0 ? 100000 : 60000000), WEIR_TIMEOUT);
    if (strstr(weir_last_error(), "'endless'") == NULL) fail_msg("%s", weir_last_error());
    if (seed % 2 == 1) await_begin();
    abort_device(&r);
    if (seed % 4 == 0) abort_device(&r);
    assert_int_equal(weir_event_wait(endless, WEIR_FOREVER), WEIR_ERROR_DEVICE_LOST);
    if (seed % 2 == 1 && strstr(weir_event_message(endless), "weir_cuda_abort was called") == NULL)
      fail_msg("%s", weir_event_message(endless));
    weir_event_release(endless);
    expect_lost(later);
    expect_lost(plain);
    if (seed % 3 != 0) assert_int_equal(weir_finish(r.context), WEIR_ERROR_DEVICE_LOST);
    if (seed % 3 == 1) expect_nothing_runs(&r);
    abort_device(&r);
    weir_kernel_release(kernel);
    rig_release(&r);
    expect_new_context_works(seed, &options);
  }
}

// The ring is full, and the scheduler holds as much as it can.
static void many_tasks_are_behind_it(void **state) {
  (void)state;
  for (uint64_t seed = 1; seed <= 4; seed++) {
    rig r;
    weir_context_options options = {.window = 2048, .seed = seed % 2 == 0 ? 3 : 0};
    rig_begin(&r, seed, &options);
    weir_kernel *kernel;
    weir_event_release(submit_endless(&r, &kernel));
    for (uint32_t i = 0; i < 1600; i++) rig_submit(&r, RIG_MIX, i % 2, 2 + i % 3, i, NULL);
    assert_int_equal(weir_finish_for(r.context, 100000000), WEIR_TIMEOUT);
    abort_device(&r);
    assert_int_equal(weir_finish(r.context), WEIR_ERROR_DEVICE_LOST);
    weir_kernel_release(kernel);
    rig_release(&r);
  }
}

static void *finish(void *argument) {
  rig *r = argument;
  assert_int_equal(weir_finish(r->context), WEIR_ERROR_DEVICE_LOST);
  return NULL;
}

static void others_wait_for_it(void **state) {
  (void)state;
  for (uint64_t seed = 1; seed <= 4; seed++) {
    rig r;
    rig_begin(&r, seed, NULL);
    weir_kernel *kernel;
    weir_event *endless = submit_endless(&r, &kernel);
    submit_some(&r, 10);
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, finish, &r), 0);
    assert_int_equal(weir_event_wait(endless, 5000000), WEIR_TIMEOUT);
    abort_device(&r);
    pthread_join(thread, NULL);
    weir_event_release(endless);
    weir_kernel_release(kernel);
    rig_release(&r);
  }
}

// Code that comes late: the device's thread waits in the driver until the kernel has left, which it never does.
static void the_thread_waits_for_the_driver(void **state) {
  (void)state;
  for (uint64_t seed = 1; seed <= 4; seed++) {
    rig r;
    rig_begin(&r, seed, NULL);
    weir_kernel *kernel, *late;
    weir_event_release(submit_endless(&r, &kernel));
    await_begin(); // else the late code could be there before the task that never ends
    late = rig_make_kernel(&r, "mix", "STUB\nmix 65 8 8 4\n", true);
    uint32_t value = 3;
    weir_arg args[] = {weir_updates(r.buffers[3]), weir_reads(r.buffers[4]), weir_value(&value, sizeof value)};
    weir_task task = {.kernel = late, .args = args, .arg_count = 3, .groups = {RIG_GROUPS, 1, 1}};
    weir_event *event = NULL;
    assert_int_equal(weir_submit(r.context, &task, &event), WEIR_OK);
    submit_some(&r, 10);
    assert_int_equal(weir_event_wait(event, 5000000), WEIR_TIMEOUT);
    abort_device(&r);
    expect_lost(event);
    assert_int_equal(weir_finish(r.context), WEIR_ERROR_DEVICE_LOST);
    weir_kernel_release(kernel);
    weir_kernel_release(late);
    rig_release(&r);
  }
}

// Nothing was ever published, or all is done: with the kernel still on the card, or not.
static void nothing_is_in_flight(void **state) {
  (void)state;
  test_part some = part_of(SEEDS);
  for (uint64_t seed = 1 + some.first; seed <= some.end; seed++) {
    rig r;
    weir_context_options options = options_of(seed);
    rig_begin(&r, seed, &options);
    if (seed % 3 != 0) submit_some(&r, 10);
    assert_int_equal(weir_finish(r.context), WEIR_OK);
    if (seed % 3 == 1) rig_wait_until_idle();
    abort_device(&r);
    assert_int_equal(weir_finish(r.context), WEIR_OK);
    if (seed % 2 == 0) expect_nothing_runs(&r);
    rig_release(&r);
    expect_new_context_works(seed, &options);
  }
}

// Without the resident kernel on the card there is no fault: what is in queues comes to its end.
static void a_queue_has_work(void **state) {
  (void)state;
  rig r;
  rig_begin(&r, 1, NULL);
  atomic_store(&rig_gate, false);
  rig_submit(&r, RIG_PLAIN_GATE, 0, 1, 1, NULL);
  assert_int_equal(weir_finish_for(r.context, 5000000), WEIR_TIMEOUT);
  rig_wait_until_left();
  abort_device(&r);
  assert_int_equal(weir_finish_for(r.context, 20000000), WEIR_TIMEOUT);
  atomic_store(&rig_gate, true);
  assert_int_equal(weir_finish(r.context), WEIR_ERROR_DEVICE_LOST);
  rig_release(&r);
}

// Another card of the context goes on.
static void another_device_goes_on(void **state) {
  (void)state;
  for (uint64_t seed = 1; seed <= 6; seed++) {
    rig r;
    rig_begin(&r, seed, &(weir_context_options){.devices = "cuda:0,cuda:1"});
    weir_device *second = weir_context_device(r.context, 1);
    uint32_t words[RIG_WORDS];
    weir_buffer *buffers[2];
    weir_kernel *kernel;
    make_buffers(r.context, buffers);
    assert_int_equal(run_on(&r, second, buffers), WEIR_OK);
    weir_event *endless = submit_endless(&r, &kernel);
    abort_device(&r);
    assert_int_equal(run_on(&r, second, buffers), WEIR_OK);
    expect_lost(endless);
    assert_int_equal(run_on(&r, second, buffers), WEIR_OK);
    assert_int_equal(weir_copy_out(buffers[0], 0, sizeof words, words, NULL), WEIR_OK);
    assert_int_equal(weir_finish(r.context), WEIR_ERROR_DEVICE_LOST);
    for (int i = 0; i < RIG_WORDS; i++) assert_int_equal(words[i], 13);
    for (int i = 0; i < 2; i++) weir_buffer_release(buffers[i]);
    weir_kernel_release(kernel);
    rig_release(&r);
  }
}

// Another context has the same card, and so the same context of the driver's: it loses the card, too, and no other.
static void another_context_loses_the_card(void **state) {
  (void)state;
  for (uint64_t seed = 1; seed <= 6; seed++) {
    rig r, other = {0};
    rig_begin(&r, seed, NULL);
    weir_context_options options = {.devices = "cuda", .issue = seed % 2 ? WEIR_ISSUE_RESIDENT : WEIR_ISSUE_QUEUES};
    assert_int_equal(weir_context_create(&options, &other.context), WEIR_OK);
    other.device = weir_context_device(other.context, 0);
    other.kernels[RIG_MIX] = rig_make_kernel(&other, "mix", "STUB\nmix 64 8 8 4\n", true);
    weir_buffer *buffers[2];
    make_buffers(other.context, buffers);
    assert_int_equal(weir_finish(other.context), WEIR_OK);
    weir_kernel *kernel;
    weir_event *endless = submit_endless(&r, &kernel);
    await_begin();
    abort_device(&r);
    expect_lost(endless);
    assert_true(is_lost(run_on(&other, other.device, buffers)));
    assert_true(is_lost(weir_finish(other.context)));
    for (int i = 0; i < 2; i++) weir_buffer_release(buffers[i]);
    weir_kernel_release(other.kernels[RIG_MIX]);
    weir_context_release(other.context);
    weir_kernel_release(kernel);
    rig_release(&r);
    expect_new_context_works(seed, NULL);
  }
}

typedef struct abort_thread {
  rig *rig;
  uint64_t seed;
} abort_thread;

static void *abort_some_time(void *argument) {
  const abort_thread *self = argument;
  random_state random = {self->seed};
  if (random_chance(&random, 80)) nap(random_below(&random, 2000000));
  weir_status status = weir_cuda_abort(self->rig->device);
  assert_int_equal(status, WEIR_OK);
  return NULL;
}

// While tasks are submitted, launched, done; the kernel comes and goes meanwhile.
static void at_any_time(void **state) {
  (void)state;
  test_part some = part_of(RACES);
  for (uint64_t seed = 1 + some.first; seed <= some.end; seed++) {
    rig r;
    random_state random = {seed};
    weir_context_options options = options_of(seed);
    rig_begin(&r, seed, &options);
    abort_thread aborter = {&r, random_next(&random)};
    pthread_t thread;
    uint32_t tasks = random_below(&random, 300),
             endless = random_chance(&random, 50) ? random_below(&random, 300) : 300;
    weir_kernel *kernel = make_endless(&r);
    assert_int_equal(pthread_create(&thread, NULL, abort_some_time, &aborter), 0);
    for (uint32_t i = 0; i < tasks; i++) {
      uint32_t to = random_below(&random, RIG_BUFFERS), from = (to + 1) % RIG_BUFFERS;
      if (i == endless) weir_event_release(submit_task(&r, kernel));
      weir_status status =
          rig_submit_after(&r, random_chance(&random, 15) ? RIG_PLAIN : RIG_MIX, to, from, i, NULL, 0, NULL);
      if (status != WEIR_OK) assert_int_equal(status, WEIR_ERROR_DEVICE_LOST);
      if (random_chance(&random, 5)) nap(random_below(&random, 300000)); // it may leave
    }
    if (random_chance(&random, 50)) {
      weir_status status = weir_finish(r.context);
      assert_true(status == WEIR_OK || is_lost(status));
    }
    pthread_join(thread, NULL);
    if (random_chance(&random, 20)) expect_nothing_runs(&r);
    weir_kernel_release(kernel);
    rig_release(&r);
    if (seed % 4 == 0) expect_new_context_works(seed, &options);
  }
}

static void it_is_refused(void **state) {
  (void)state;
  assert_int_equal(weir_cuda_abort(NULL), WEIR_ERROR_INVALID_ARGUMENT);
  assert_non_null(strstr(weir_last_error(), "NULL"));
  rig r;
  rig_begin(&r, 1, &(weir_context_options){.devices = "cuda,cpu:1"});
  assert_int_equal(weir_cuda_abort(weir_context_device(r.context, 1)), WEIR_ERROR_INVALID_ARGUMENT);
  assert_non_null(strstr(weir_last_error(), "is no CUDA device"));
  submit_some(&r, 10);
  rig_end(&r);
  rig_begin(&r, 1, &(weir_context_options){.issue = WEIR_ISSUE_QUEUES});
  assert_int_equal(weir_cuda_abort(r.device), WEIR_ERROR_INVALID_ARGUMENT);
  assert_non_null(strstr(weir_last_error(), "WEIR_ISSUE_RESIDENT"));
  submit_some(&r, 10);
  rig_end(&r);
}

int main(void) {
  rig_use_stub();
  stub_register("endless", endless_launch);
  stub_register_groups("endless", endless_group);
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_task_never_ends),
      cmocka_unit_test(many_tasks_are_behind_it),
      cmocka_unit_test(others_wait_for_it),
      cmocka_unit_test(the_thread_waits_for_the_driver),
      cmocka_unit_test(nothing_is_in_flight),
      cmocka_unit_test(a_queue_has_work),
      cmocka_unit_test(another_device_goes_on),
      cmocka_unit_test(another_context_loses_the_card),
      cmocka_unit_test(at_any_time),
      cmocka_unit_test(it_is_refused),
  };
  return cmocka_run_group_tests_name("resident issue: a device is given up", tests, NULL, NULL);
}
