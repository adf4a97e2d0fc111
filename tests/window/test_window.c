// SPDX-License-Identifier: Apache-2.0
//
// The window: one thing at a time.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/allocate.h"
#include "window/window.h"

enum { SIZE = 64, MAX_LOG = 8192 };

static weir__window window;
static weir__id ready_log[MAX_LOG];
static uint32_t ready_count;
static struct { weir__id task, predecessor; } failed_log[MAX_LOG];
static uint32_t failed_count;

static void log_ready(void *user, weir__task *task) {
  assert_ptr_equal(user, &window);
  assert_true(ready_count < MAX_LOG);
  ready_log[ready_count++] = task->id;
}

static void log_failed(void *user, weir__task *task, weir__id predecessor) {
  assert_ptr_equal(user, &window);
  assert_true(task->reads_poison);
  failed_log[failed_count].task = task->id;
  failed_log[failed_count++].predecessor = predecessor;
}

static int set_up_size(uint32_t size) {
  ready_count = failed_count = 0;
  if (!weir__window_initialize(&window, size, log_ready, &window)) return 1;
  window.upstream_failed = log_failed;
  return 0;
}

static int set_up(void **state) {
  (void)state;
  return set_up_size(SIZE);
}

static int tear_down(void **state) {
  (void)state;
  weir__allocate_fail_at(0);
  weir__window_deinitialize(&window);
  return 0;
}

static weir__task *begin(uint8_t device) {
  weir__task *task = weir__window_begin(&window);
  task->device = device;
  return task;
}

static weir__task *submit(void) {
  weir__task *task = begin(0);
  weir__window_commit(&window, task);
  return task;
}

static bool connect(weir__id predecessor, weir__task *task, bool data) {
  bool no_memory = false;
  bool first = weir__window_connect(&window, predecessor, task, data, true, &no_memory);
  assert_false(no_memory);
  return first;
}

static weir__task *submit_after(weir__id predecessor, bool data) {
  weir__task *task = begin(0);
  assert_true(connect(predecessor, task, data));
  weir__window_commit(&window, task);
  return task;
}

static void complete(weir__id id, bool failed) {
  weir__window_complete(&window, weir__window_task(&window, id), failed);
}

static void ids_count_from_one(void **state) {
  (void)state;
  assert_true(weir__window_empty(&window));
  assert_int_equal(submit()->id, 1);
  assert_int_equal(submit()->id, 2);
  assert_false(weir__window_empty(&window));
  assert_int_equal(ready_count, 2);
  assert_int_equal(ready_log[0], 1);
  assert_int_equal(ready_log[1], 2);
}

static void nothing_starts_before_commit(void **state) {
  (void)state;
  submit();
  weir__task *task = begin(0);
  connect(1, task, true);
  complete(1, false);
  assert_int_equal(ready_count, 1);
  weir__window_commit(&window, task);
  assert_int_equal(ready_count, 2);
}

static void a_task_may_be_held(void **state) {
  (void)state;
  weir__task *task = begin(0);
  task->blockers++;
  weir__window_commit(&window, task);
  assert_int_equal(ready_count, 0);
  weir__window_release(&window, task);
  assert_int_equal(ready_count, 1);
}

static void twice_the_same_predecessor_is_one_edge(void **state) {
  (void)state;
  submit();
  weir__task *task = begin(0);
  assert_true(connect(1, task, false));
  assert_false(connect(1, task, true)); // data of either counts
  assert_false(connect(1, task, false));
  weir__window_commit(&window, task);
  assert_int_equal(window.edges, 1);
  complete(1, true);
  assert_int_equal(ready_count, 2);
  assert_true(task->reads_poison);
  assert_int_equal(failed_count, 1);
}

static void twice_the_same_predecessor_past_the_inline_edges(void **state) {
  (void)state;
  submit();
  for (int i = 0; i < 30; i++) {
    weir__task *task = begin(0);
    assert_true(connect(1, task, false));
    if (i % 2 == 0) assert_false(connect(1, task, true));
    weir__window_commit(&window, task);
  }
  complete(1, true);
  assert_int_equal(ready_count, 31);
  assert_int_equal(failed_count, 15);
  for (uint32_t i = 0; i < failed_count; i++) {
    assert_int_equal(failed_log[i].task % 2, 0);
    assert_int_equal(failed_log[i].predecessor, 1);
  }
}

static void failure_follows_data_only(void **state) {
  (void)state;
  submit();
  weir__task *reader = submit_after(1, true);
  weir__task *other = submit_after(1, false);
  complete(1, true);
  assert_true(reader->reads_poison);
  assert_false(other->reads_poison);
  assert_int_equal(failed_count, 1);
  assert_int_equal(failed_log[0].task, 2);
  assert_int_equal(failed_log[0].predecessor, 1);
  assert_int_equal(ready_count, 3);
}

static void nobody_has_to_listen_to_failures(void **state) {
  (void)state;
  window.upstream_failed = NULL;
  submit();
  weir__task *reader = submit_after(1, true);
  complete(1, true);
  assert_true(reader->reads_poison);
}

// Successors past the 8 inline edges, past one chunk of 13, and past one slab of 255 chunks.
static void many_successors(void **state) {
  (void)state;
  enum { LARGE = 8192 };
  const uint32_t counts[] = {1, 7, 8, 9, 20, 21, 22, 34, 35, 100, 4000};
  tear_down(NULL);
  for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++) {
    assert_int_equal(set_up_size(LARGE), 0);
    submit();
    for (uint32_t next = 0; next < counts[i]; next++) submit_after(1, next % 3 == 0);
    assert_int_equal(ready_count, 1);
    complete(1, true);
    assert_int_equal(ready_count, 1 + counts[i]);
    assert_int_equal(failed_count, (counts[i] + 2) / 3);
    bool seen[LARGE] = {false};
    for (uint32_t task = 0; task < ready_count; task++) {
      assert_false(seen[ready_log[task]]);
      seen[ready_log[task]] = true;
    }
    if (i + 1 < sizeof counts / sizeof counts[0]) tear_down(NULL);
  }
}

static void chunks_are_used_again(void **state) {
  (void)state;
  uint64_t allocations = 0;
  for (int round = 0; round < 1000; round++) {
    weir__id first = submit()->id;
    for (int i = 0; i < 40; i++) submit_after(first, false);
    for (weir__id task = first; task <= first + 40; task++) complete(task, false);
    ready_count = 0;
    if (round == 0) allocations = weir__allocate_count();
  }
  assert_int_equal(weir__allocate_count(), allocations);
}

static void retires_in_order(void **state) {
  (void)state;
  for (int i = 0; i < 4; i++) submit();
  complete(3, false);
  complete(2, false);
  assert_int_equal(window.live.oldest, 1);
  assert_false(weir__live(&window.live, 3));
  assert_true(weir__live(&window.live, 1));
  complete(1, false);
  assert_int_equal(window.live.oldest, 4);
  complete(4, false);
  assert_int_equal(window.live.oldest, 5);
  assert_true(weir__window_empty(&window));
}

static void full_until_the_oldest_retires(void **state) {
  (void)state;
  for (int i = 0; i < SIZE; i++) {
    assert_false(weir__window_full(&window, 0));
    submit();
  }
  assert_true(weir__window_full(&window, 0));
  for (weir__id task = 2; task <= SIZE; task++) complete(task, false);
  assert_true(weir__window_full(&window, 0));
  complete(1, false);
  assert_false(weir__window_full(&window, 0));
  assert_true(weir__window_empty(&window));
}

static void old_ids_are_done_for_ever(void **state) {
  (void)state;
  for (weir__id task = 1; task <= 10 * SIZE; task++) {
    assert_int_equal(submit()->id, task);
    for (weir__id older = task > 2 * SIZE ? task - 2 * SIZE : 1; older < task; older++)
      assert_false(weir__live(&window.live, older));
    assert_true(weir__live(&window.live, task));
    assert_false(weir__live(&window.live, 0));
    complete(task, false);
    ready_count = 0;
  }
}

static void edges_that_do_not_block(void **state) {
  (void)state;
  submit();
  weir__task *task = begin(0);
  bool no_memory = false;
  assert_true(weir__window_connect(&window, 1, task, true, false, &no_memory));
  weir__window_commit(&window, task);
  assert_int_equal(ready_count, 2); // at once
  complete(1, true);
  assert_true(task->reads_poison); // and hears of the failure
  assert_int_equal(ready_count, 2);
}

static void issuing_lets_the_same_device_go_on(void **state) {
  (void)state;
  weir__task *first = submit();
  weir__task *same = submit_after(1, true);
  weir__task *other = begin(1);
  connect(1, other, true);
  weir__window_commit(&window, other);
  for (int i = 0; i < 20; i++) submit_after(1, false);
  weir__window_issued(&window, first);
  assert_int_equal(ready_count, 22); // all but `other`
  assert_int_equal(ready_log[1], same->id);
  complete(1, true);
  assert_int_equal(ready_count, 23);
  assert_int_equal(ready_log[22], other->id);
  assert_true(same->reads_poison && other->reads_poison);
}

static void payloads(void **state) {
  (void)state;
  weir__task *task = weir__window_task(&window, window.next);
  assert_ptr_equal(weir__window_payload(task, 0), task->payload);
  assert_ptr_equal(weir__window_payload(task, WEIR__TASK_INLINE_PAYLOAD), task->payload);
  const size_t sizes[] = {WEIR__TASK_INLINE_PAYLOAD + 1, 1000, 100000, 400};
  for (size_t i = 0; i < 4; i++) {
    unsigned char *payload = weir__window_payload(task, sizes[i]);
    assert_non_null(payload);
    assert_int_equal((uintptr_t)payload % 16, 0);
    memset(payload, 0xaa, sizes[i]);
  }
  uint64_t allocations = weir__allocate_count();
  for (int i = 0; i < 3 * SIZE; i++) { // the slot keeps it
    complete(submit()->id, false);
    ready_count = 0;
  }
  assert_non_null(weir__window_payload(task, 100000));
  assert_int_equal(weir__allocate_count(), allocations);
}

// Room for a task that is then refused belongs to no task; it must be freed all the same.
static void payload_of_a_refused_task_is_freed(void **state) {
  (void)state;
  assert_non_null(weir__window_payload(weir__window_task(&window, window.next), 5000));
  tear_down(NULL);
  assert_int_equal(set_up(NULL), 0);
  for (int i = 0; i < SIZE - 1; i++) complete(submit()->id, false);
  assert_non_null(weir__window_payload(weir__window_task(&window, window.next), 5000)); // slot 0
}

static void no_memory_for_a_payload(void **state) {
  (void)state;
  weir__task *task = weir__window_task(&window, 1);
  unsigned char *payload = weir__window_payload(task, 1000);
  assert_non_null(payload);
  weir__allocate_fail_at(1);
  assert_null(weir__window_payload(task, 1000000));
  assert_ptr_equal(weir__window_payload(task, 1000), payload);
}

static void no_memory_for_an_edge(void **state) {
  (void)state;
  submit();
  for (int i = 0; i < WEIR__TASK_INLINE_SUCCESSORS; i++) submit_after(1, true);
  weir__task *task = begin(0);
  bool no_memory = false;
  weir__allocate_fail_at(1);
  assert_false(weir__window_connect(&window, 1, task, true, true, &no_memory));
  assert_true(no_memory);
  assert_int_equal(window.edges, WEIR__TASK_INLINE_SUCCESSORS);
  assert_int_equal(task->blockers, 1);
  no_memory = false;
  assert_true(weir__window_connect(&window, 1, task, true, true, &no_memory)); // there is memory again
  assert_false(no_memory);
  weir__window_commit(&window, task);
  complete(1, true);
  assert_int_equal(ready_count, WEIR__TASK_INLINE_SUCCESSORS + 2);
  assert_true(task->reads_poison);
}

static void no_memory_for_a_window(void **state) {
  (void)state;
  weir__window other;
  for (uint64_t n = 1;; n++) {
    weir__allocate_fail_at(n);
    bool made = weir__window_initialize(&other, SIZE, log_ready, &window);
    weir__allocate_fail_at(0);
    if (made) {
      assert_int_equal(n, 3); // the tasks, and which are done
      weir__window_deinitialize(&other);
      break;
    }
    assert_null(other.tasks);
  }
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
  const struct CMUnitTest tests[] = {
      TEST(ids_count_from_one),
      TEST(nothing_starts_before_commit),
      TEST(a_task_may_be_held),
      TEST(twice_the_same_predecessor_is_one_edge),
      TEST(twice_the_same_predecessor_past_the_inline_edges),
      TEST(failure_follows_data_only),
      TEST(nobody_has_to_listen_to_failures),
      TEST(many_successors),
      TEST(chunks_are_used_again),
      TEST(retires_in_order),
      TEST(full_until_the_oldest_retires),
      TEST(old_ids_are_done_for_ever),
      TEST(edges_that_do_not_block),
      TEST(issuing_lets_the_same_device_go_on),
      TEST(payloads),
      TEST(payload_of_a_refused_task_is_freed),
      TEST(no_memory_for_a_payload),
      TEST(no_memory_for_an_edge),
      TEST(no_memory_for_a_window),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
