// SPDX-License-Identifier: Apache-2.0
//
// Bounds: the window's back-pressure, the memory limit, renaming.
#include <pthread.h>
#include <string.h>
#include <unistd.h>

#include "api.h"

static weir_statistics statistics_of(weir_context *context) {
  weir_statistics statistics;
  weir_context_statistics(context, &statistics);
  return statistics;
}

typedef struct submitter {
  weir_context *context;
  weir_buffer *buffer; // NULL: tasks without arguments
  unsigned tasks;
  atomic_uint submitted;
  atomic_uint refused;
} submitter;

static void *submit_many(void *user) {
  submitter *self = user;
  for (unsigned i = 0; i < self->tasks; i++) {
    weir_arg arg = weir_writes(self->buffer);
    weir_task task = {.host = api_nothing, .args = &arg, .arg_count = self->buffer != NULL};
    if (weir_submit(self->context, &task, NULL) == WEIR_OK)
      atomic_fetch_add(&self->submitted, 1);
    else
      atomic_fetch_add(&self->refused, 1);
  }
  return NULL;
}

static void await_submissions(submitter *self, unsigned count) {
  for (int i = 0; i < 20000 && atomic_load(&self->submitted) < count; i++) usleep(1000);
  assert_true(atomic_load(&self->submitted) >= count);
}

// One blocked task at the head of the window: as many can be submitted as there are slots, and no more.
static void submission_waits_for_a_full_window(uint32_t window) {
  weir_context *context = api_context("cpu:2", window, 0);
  gate door = {0};
  assert_int_equal(gate_submit(context, &door, NULL, 0, NULL), WEIR_OK);
  submitter self = {.context = context, .tasks = 3 * window};
  pthread_t thread;
  assert_int_equal(pthread_create(&thread, NULL, submit_many, &self), 0);
  await_submissions(&self, window - 1);
  while (statistics_of(context).window_waits == 0) usleep(100);
  usleep(20000);
  assert_int_equal(atomic_load(&self.submitted), window - 1);
  gate_open(&door);
  assert_int_equal(pthread_join(thread, NULL), 0);
  assert_int_equal(atomic_load(&self.submitted), 3 * window);
  assert_int_equal(weir_finish(context), WEIR_OK);
  weir_statistics statistics = statistics_of(context);
  assert_true(statistics.window_waits >= 1);
  assert_int_equal(statistics.done, 3 * window + 1);
  weir_context_release(context);
}

static void window_of_8_is_full_with_8(void **state) {
  (void)state;
  submission_waits_for_a_full_window(8);
}

static void window_of_32_is_full_with_32(void **state) {
  (void)state;
  submission_waits_for_a_full_window(32);
}

enum { NOT_YET_NS = 200000000 };

// A whole overwrite of a buffer in use: it need not wait for the reader when it is renamed. How it ended within `timeout_ns`.
static weir_status overwrite_behind_a_reader(weir_context *context, weir_buffer *buffer, gate *door,
                                             uint64_t timeout_ns) {
  weir_arg read = weir_reads(buffer), write = weir_writes(buffer);
  weir_event *event = NULL;
  assert_int_equal(gate_submit(context, door, &read, 1, NULL), WEIR_OK);
  gate_await(door, 1);
  weir_task task = {.host = api_nothing, .args = &write, .arg_count = 1};
  assert_int_equal(weir_submit(context, &task, &event), WEIR_OK);
  weir_status status = weir_event_wait(event, timeout_ns);
  weir_event_release(event);
  return status;
}

static void overwriting_a_buffer_in_use_renames_it(void **state) {
  (void)state;
  weir_context *context = api_context("cpu:2", 0, 0);
  gate door = {0};
  weir_buffer *number = api_number(context, 1);
  assert_int_equal(overwrite_behind_a_reader(context, number, &door, WEIR_FOREVER), WEIR_OK);
  assert_int_equal(statistics_of(context).renamed, 1);
  gate_open(&door);
  assert_int_equal(weir_finish(context), WEIR_OK);
  weir_context_release(context);
}

static void no_rename_keeps_the_hazard(void **state) {
  (void)state;
  weir_context *context = api_context("cpu:2", 0, WEIR_CONTEXT_NO_RENAME);
  gate door = {0};
  weir_buffer *number = api_number(context, 1);
  assert_int_equal(overwrite_behind_a_reader(context, number, &door, NOT_YET_NS), WEIR_TIMEOUT);
  assert_int_equal(statistics_of(context).renamed, 0);
  gate_open(&door);
  assert_int_equal(weir_finish(context), WEIR_OK);
  weir_context_release(context);
}

static void wrapped_memory_is_never_renamed(void **state) {
  (void)state;
  weir_context *context = api_context("cpu:2", 0, 0);
  gate door = {0};
  char memory[64];
  weir_buffer *wrapped = NULL;
  assert_int_equal(weir_buffer_wrap(context, memory, sizeof memory, &wrapped), WEIR_OK);
  assert_int_equal(overwrite_behind_a_reader(context, wrapped, &door, NOT_YET_NS), WEIR_TIMEOUT);
  gate_open(&door);
  assert_int_equal(weir_finish(context), WEIR_OK);
  assert_int_equal(statistics_of(context).renamed, 0);
  weir_context_release(context);
}

static void partial_overwrite_is_not_renamed(void **state) {
  (void)state;
  weir_context *context = api_context("cpu:2", 0, 0);
  gate door = {0};
  weir_buffer *buffer = api_buffer(context, 100, NULL);
  weir_arg read = weir_reads(buffer), write = weir_writes_range(buffer, 0, 99),
           right = weir_updates_range(buffer, 50, 50);
  assert_int_equal(gate_submit(context, &door, &read, 1, NULL), WEIR_OK);
  weir_event *held = api_submit_host(context, api_nothing, NULL, &write, 1);
  weir_event *behind = api_submit_host(context, api_nothing, NULL, &right, 1);
  assert_int_equal(weir_event_wait(held, 5000000), WEIR_TIMEOUT);
  assert_int_equal(weir_event_poll(behind), WEIR_PENDING);
  gate_open(&door);
  assert_int_equal(api_await(held), WEIR_OK);
  assert_int_equal(api_await(behind), WEIR_OK);
  weir_context_release(context);
}

static void disjoint_ranges_do_not_wait(void **state) {
  (void)state;
  weir_context *context = api_context("cpu:2", 0, 0);
  gate door = {0};
  weir_buffer *buffer = api_buffer(context, 100, NULL);
  weir_arg left = weir_updates_range(buffer, 0, 50), right = weir_updates_range(buffer, 50, 50);
  assert_int_equal(gate_submit(context, &door, &left, 1, NULL), WEIR_OK);
  assert_int_equal(api_await(api_submit_host(context, api_nothing, NULL, &right, 1)), WEIR_OK);
  gate_open(&door);
  weir_context_release(context);
}

static weir_context *limited_context(uint64_t limit) {
  weir_context_options options = {.devices = "cpu:2", .memory_limit = limit};
  weir_context *context = NULL;
  assert_int_equal(weir_context_create(&options, &context), WEIR_OK);
  return context;
}

enum { LARGE = 1 << 16 };

// Room for one storage of the buffer and no second one.
static void renaming_gives_way_to_the_limit(void **state) {
  (void)state;
  weir_context *context = limited_context(LARGE + LARGE / 2);
  gate door = {0};
  weir_buffer *buffer = api_buffer(context, LARGE, NULL);
  weir_arg write = weir_writes(buffer);
  api_await(api_submit_host(context, api_nothing, NULL, &write, 1));
  assert_int_equal(overwrite_behind_a_reader(context, buffer, &door, NOT_YET_NS), WEIR_TIMEOUT);
  weir_statistics statistics = statistics_of(context);
  assert_int_equal(statistics.renamed, 0);
  assert_int_equal(statistics.rename_denied, 1);
  gate_open(&door);
  assert_int_equal(weir_finish(context), WEIR_OK);
  assert_true(statistics_of(context).peak_bytes <= LARGE + LARGE / 2);
  weir_context_release(context);
}

// A buffer released in use keeps its storage; the next one's first task is submitted once that is free, or gets it at
// the price of waiting for its users. Either way it comes after them.
static void new_storage_waits_for_released_storage(void **state) {
  (void)state;
  weir_context *context = limited_context(LARGE + LARGE / 2);
  gate door = {0};
  weir_buffer *first = api_buffer(context, LARGE, NULL), *second = api_buffer(context, LARGE, NULL);
  weir_arg write = weir_writes(first);
  assert_int_equal(gate_submit(context, &door, &write, 1, NULL), WEIR_OK);
  gate_await(&door, 1);
  weir_buffer_release(first);
  submitter self = {.context = context, .buffer = second, .tasks = 1};
  pthread_t thread;
  assert_int_equal(pthread_create(&thread, NULL, submit_many, &self), 0);
  usleep(20000);
  assert_int_equal(statistics_of(context).done, 0);
  gate_open(&door);
  assert_int_equal(pthread_join(thread, NULL), 0);
  assert_int_equal(atomic_load(&self.refused), 0);
  assert_int_equal(weir_finish(context), WEIR_OK);
  assert_int_equal(statistics_of(context).done, 2);
  assert_true(statistics_of(context).peak_bytes <= LARGE + LARGE / 2);
  weir_context_release(context);
}

typedef struct pair_submitter {
  weir_context *context;
  weir_buffer *first, *second;
  weir_event *event;
  weir_status status;
} pair_submitter;

static void *submit_pair(void *user) {
  pair_submitter *self = user;
  const weir_arg args[] = {weir_writes(self->first), weir_writes(self->second)};
  weir_task task = {.host = api_nothing, .args = args, .arg_count = 2};
  self->status = weir_submit(self->context, &task, &self->event);
  return NULL;
}

// A task needs storage for two buffers, and there is some, still in use, for one. When it gets both, it must wait for
// the users of the first, though it had to give it back in between.
static void storage_that_was_given_back_keeps_its_users(void **state) {
  (void)state;
  weir_context_options options = {.devices = "cpu:3", .memory_limit = 2 * LARGE};
  weir_context *context = NULL;
  assert_int_equal(weir_context_create(&options, &context), WEIR_OK);
  gate head = {0}, user = {0};
  weir_buffer *a = api_buffer(context, LARGE, NULL), *b = api_buffer(context, LARGE, NULL);
  weir_arg write = weir_writes(b);
  assert_int_equal(api_await(api_submit_host(context, api_nothing, NULL, &write, 1)), WEIR_OK);
  assert_int_equal(gate_submit(context, &head, NULL, 0, NULL), WEIR_OK);
  write = weir_writes(a);
  assert_int_equal(gate_submit(context, &user, &write, 1, NULL), WEIR_OK);
  gate_await(&user, 1);
  weir_buffer_release(a);
  pair_submitter self = {.context = context};
  self.first = api_buffer(context, LARGE, NULL);
  self.second = api_buffer(context, LARGE, NULL);
  pthread_t thread;
  assert_int_equal(pthread_create(&thread, NULL, submit_pair, &self), 0);
  while (statistics_of(context).memory_waits == 0) usleep(100);
  weir_buffer_release(b);
  gate_open(&head);
  usleep(20000);
  if (statistics_of(context).tasks == 4) { // it was submitted: it must not run yet
    usleep(20000);
    assert_int_equal(statistics_of(context).done, 2);
  }
  gate_open(&user);
  assert_int_equal(pthread_join(thread, NULL), 0);
  assert_int_equal(self.status, WEIR_OK);
  assert_int_equal(api_await(self.event), WEIR_OK);
  weir_context_release(context);
}

static void what_never_fits_is_refused(void **state) {
  (void)state;
  weir_context *context = limited_context(LARGE);
  weir_buffer *first = api_buffer(context, LARGE / 2 + 1000, NULL), *second = api_buffer(context, LARGE, "too large");
  weir_arg args[] = {weir_writes(first)};
  assert_int_equal(api_await(api_submit_host(context, api_nothing, NULL, args, 1)), WEIR_OK);
  args[0] = weir_writes(second);
  weir_task task = {.host = api_nothing, .args = args, .arg_count = 1};
  api_expect(weir_submit(context, &task, NULL), WEIR_ERROR_OUT_OF_MEMORY, "too large", "65536", NULL);
  weir_buffer_release(first);
  assert_int_equal(weir_submit(context, &task, NULL), WEIR_OK); // now there is room
  assert_int_equal(weir_finish(context), WEIR_OK);
  weir_context_release(context);
}

// Many sizes one after another under a limit: idle storage of one size makes room for the next.
static void idle_storage_makes_room(void **state) {
  (void)state;
  weir_context *context = limited_context(LARGE);
  for (uint64_t bytes = 100; bytes < LARGE * 4 / 5; bytes += 997) {
    weir_buffer *buffer = api_buffer(context, bytes, NULL);
    weir_arg write = weir_writes(buffer);
    weir_event_release(api_submit_host(context, api_nothing, NULL, &write, 1));
    weir_buffer_release(buffer);
  }
  assert_int_equal(weir_finish(context), WEIR_OK);
  assert_true(statistics_of(context).peak_bytes <= LARGE);
  weir_context_release(context);
}

// Overwrites its buffer late: after the task that sets the flag, if that does not wait for it.
static void fill_late(const weir_work *work) {
  atomic_bool *other_ran = work->user;
  for (int i = 0; i < 2000 && !atomic_load(other_ran); i++) usleep(10);
  memset(work->args[0], 0xaa, LARGE);
}

static void fill_half(const weir_work *work) {
  memset(work->args[0], 0x11, LARGE / 2);
  if (work->user != NULL) atomic_store((atomic_bool *)work->user, true);
}

// Two tasks write the halves of a buffer whose storage somebody else still uses: both must wait for that.
static void halves_wait_for_released_storage(void **state) {
  (void)state;
  static unsigned char bytes[LARGE];
  weir_context *context = limited_context(LARGE + LARGE / 2);
  weir_buffer *released = api_buffer(context, LARGE, NULL), *buffer = api_buffer(context, LARGE, NULL);
  atomic_bool ran = false;
  weir_arg write = weir_writes(released), left = weir_writes_range(buffer, 0, LARGE / 2),
           right = weir_writes_range(buffer, LARGE / 2, LARGE / 2);
  weir_event_release(api_submit_host(context, fill_late, &ran, &write, 1));
  weir_buffer_release(released);
  weir_event_release(api_submit_host(context, fill_half, NULL, &left, 1));
  weir_event_release(api_submit_host(context, fill_half, &ran, &right, 1));
  assert_int_equal(api_read(buffer, 0, LARGE, bytes), WEIR_OK);
  for (int i = 0; i < LARGE; i++) assert_int_equal(bytes[i], 0x11);
  weir_context_release(context);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(window_of_8_is_full_with_8),
      cmocka_unit_test(window_of_32_is_full_with_32),
      cmocka_unit_test(overwriting_a_buffer_in_use_renames_it),
      cmocka_unit_test(no_rename_keeps_the_hazard),
      cmocka_unit_test(wrapped_memory_is_never_renamed),
      cmocka_unit_test(partial_overwrite_is_not_renamed),
      cmocka_unit_test(disjoint_ranges_do_not_wait),
      cmocka_unit_test(renaming_gives_way_to_the_limit),
      cmocka_unit_test(new_storage_waits_for_released_storage),
      cmocka_unit_test(storage_that_was_given_back_keeps_its_users),
      cmocka_unit_test(what_never_fits_is_refused),
      cmocka_unit_test(idle_storage_makes_room),
      cmocka_unit_test(halves_wait_for_released_storage),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
