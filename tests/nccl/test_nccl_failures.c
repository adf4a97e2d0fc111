// SPDX-License-Identifier: Apache-2.0
//
// Collectives of which one device cannot take part: all their tasks fail, whoever waits goes on, nothing wrong is read,
// and the communicator lives on if nobody was on a card by then.
#include <sched.h>
#include <stdio.h>
#include <string.h>

#include "base/allocate.h"
#include "nccl_case.h"
#include "weir/external.h"

enum { COUNT = 16, BYTES = COUNT * 4, CONTEXTS = 50 };

static weir_status sum(weir_nccl *nccl, weir_buffer *const *buffers, weir_event **events) {
  return weir_nccl_all_reduce(nccl, buffers, 0, WEIR_WHOLE, WEIR_REDUCE_SUM, WEIR_REDUCE_U32, events);
}

static void expect_failure(weir_event *event, weir_status status, const char *text) {
  weir_status found = weir_event_wait(event, WEIR_FOREVER);
  if (found != status) fail_msg("%s: %s", weir_status_name(found), weir_event_message(event));
  if (strstr(weir_event_message(event), text) == NULL) fail_msg("no '%s' in '%s'", text, weir_event_message(event));
  weir_event_release(event);
}

static void expect_poison(weir_buffer *buffer) {
  uint32_t numbers[COUNT];
  assert_int_equal(weir_read(buffer, 0, BYTES, numbers), WEIR_ERROR_UPSTREAM_FAILED);
}

static void works_again(const share *s, weir_nccl *nccl) {
  weir_buffer *buffers[2];
  nccl_buffers(s, COUNT, 1, 2, buffers);
  share_ok(sum(nccl, buffers, NULL));
  nccl_expect(buffers[0], COUNT, 3, 2);
}

// What one device should bring is missing.
static void miss_an_input(share *s) {
  weir_nccl *nccl = nccl_make(s);
  weir_buffer *buffers[2];
  weir_event *events[2];
  nccl_buffers(s, COUNT, 1, 2, buffers);
  share_submit(s, s->broken, s->cpu, buffers[1], COUNT, 0, NULL);
  share_ok(sum(nccl, buffers, events));
  expect_failure(events[0], WEIR_ERROR_UPSTREAM_FAILED, "on cuda:1 there is nothing to take part with");
  expect_failure(events[1], WEIR_ERROR_UPSTREAM_FAILED, "broken");
  expect_poison(buffers[0]);
  expect_poison(buffers[1]);
  weir_finish(s->context);
  assert_int_equal(nccl_stub_done(), 0);
  works_again(s, nccl);
  assert_int_equal(nccl_stub_aborts(), 0);
  share_ok(weir_nccl_release(nccl));
}

static void miss_the_root(share *s) {
  weir_nccl *nccl = nccl_make(s);
  weir_buffer *buffers[2];
  weir_event *events[2];
  nccl_buffers(s, COUNT, 1, 2, buffers);
  share_submit(s, s->broken, s->cpu, buffers[0], COUNT, 0, NULL);
  share_ok(weir_nccl_broadcast(nccl, buffers, 0, WEIR_WHOLE, 0, events));
  expect_failure(events[0], WEIR_ERROR_UPSTREAM_FAILED, "broken");
  expect_failure(events[1], WEIR_ERROR_UPSTREAM_FAILED, "on cuda:0 there is nothing to take part with");
  expect_poison(buffers[1]);
  weir_finish(s->context);
  works_again(s, nccl);
  share_ok(weir_nccl_release(nccl));
}

// The first device updates the same buffer again, the second one another buffer: it must not be on its card by then.
static void follow_what_fails(share *s) {
  weir_nccl *nccl = nccl_make(s);
  for (int round = 0; round < 8; round++) {
    weir_buffer *buffers[2], *other = share_buffer(s, COUNT);
    weir_event *begin, *events[4];
    share_ok(weir_host_event_create(s->context, "begin", &begin));
    nccl_buffers(s, COUNT, 1, 2, buffers);
    share_submit(s, s->set, s->second, other, COUNT, 3, NULL);
    uint32_t count = COUNT, value = 0;
    weir_arg args[] = {weir_writes(buffers[1]), weir_value(&count, 4), weir_value(&value, 4)};
    const weir_task task = {
        .kernel = s->broken, .device = s->cpu, .args = args, .arg_count = 3, .after = &begin, .after_count = 1};
    share_ok(weir_submit(s->context, &task, NULL));
    share_ok(sum(nccl, buffers, events));
    share_ok(sum(nccl, (weir_buffer *[]){buffers[0], other}, events + 2));
    share_ok(weir_host_event_signal(begin, WEIR_OK));
    weir_event_release(begin);
    for (int i = 0; i < 4; i++) expect_failure(events[i], WEIR_ERROR_UPSTREAM_FAILED, "");
    weir_finish(s->context);
    works_again(s, nccl);
    for (int i = 0; i < 2; i++) share_ok(weir_buffer_release(buffers[i]));
    share_ok(weir_buffer_release(other));
  }
  assert_int_equal(nccl_stub_aborts(), 0);
  share_ok(weir_nccl_release(nccl));
}

static void be_cancelled(share *s) {
  weir_nccl *nccl = nccl_make(s);
  weir_event *begin, *events[2];
  weir_buffer *buffers[2];
  share_ok(weir_host_event_create(s->context, "begin", &begin));
  nccl_buffers(s, COUNT, 1, 2, buffers);
  uint32_t count = COUNT, value = 5;
  weir_arg args[] = {weir_updates(buffers[1]), weir_value(&count, 4), weir_value(&value, 4)};
  const weir_task task = {
      .kernel = s->step, .device = s->second, .args = args, .arg_count = 3, .after = &begin, .after_count = 1};
  share_ok(weir_submit(s->context, &task, NULL));
  share_ok(sum(nccl, buffers, events));
  weir_context_cancel(s->context);
  for (int i = 0; i < 2; i++) {
    assert_int_not_equal(weir_event_wait(events[i], WEIR_FOREVER), WEIR_OK);
    weir_event_release(events[i]);
  }
  share_ok(weir_host_event_signal(begin, WEIR_OK));
  weir_event_release(begin);
  weir_finish(s->context);
  assert_int_equal(nccl_stub_done(), 0);
  works_again(s, nccl);
  share_ok(weir_nccl_release(nccl));
}

// A collective of which not all tasks can be submitted: each buffer is as it was, or poisoned. Whether a task is met depends on
// what other threads allocate meanwhile.
static uint32_t tasks_without_memory;

static void run_out_of_memory(share *s) {
  weir_nccl *nccl = nccl_make(s);
  for (uint64_t n = 1; n < 30; n++) {
    weir_event *events[2];
    weir_buffer *buffers[2];
    nccl_buffers(s, COUNT, 1, 2, buffers);
    share_submit(s, s->step, s->cuda, buffers[0], COUNT, 0, NULL);
    weir__allocate_fail_at(n);
    weir_status status = weir_nccl_broadcast(nccl, buffers, 0, WEIR_WHOLE, 1, events);
    weir__allocate_fail_at(0);
    if (status != WEIR_OK) assert_int_equal(status, WEIR_ERROR_OUT_OF_MEMORY);
    for (int i = 0; i < 2; i++) {
      if (status == WEIR_OK) share_await(events[i]);
      if (status == WEIR_OK || events[i] == NULL) continue;
      tasks_without_memory++;
      expect_failure(events[i], WEIR_ERROR_OUT_OF_MEMORY, "no memory");
    }
    uint32_t numbers[COUNT];
    weir_status found = weir_read(buffers[0], 0, BYTES, numbers);
    if (found != WEIR_ERROR_UPSTREAM_FAILED) share_ok(found);
    for (uint32_t i = 0; status != WEIR_OK && found == WEIR_OK && i < COUNT; i++)
      assert_int_equal(numbers[i], stepped(1 + i, 0));
    for (int i = 0; i < 2; i++) share_ok(weir_buffer_release(buffers[i]));
  }
  weir_finish(s->context);
  works_again(s, nccl);
  share_ok(weir_nccl_release(nccl));
}

static void test_before_the_card(void **state) {
  (void)state;
  nccl_run(NULL, miss_an_input);
  nccl_run(&(weir_context_options){.queues = 1}, miss_an_input);
  nccl_run(NULL, miss_the_root);
  nccl_run(NULL, follow_what_fails);
  nccl_run(NULL, be_cancelled);
  for (int i = 0; i < CONTEXTS && tasks_without_memory == 0; i++) nccl_run(NULL, run_out_of_memory);
  assert_true(tasks_without_memory > 0);
}

// ---------------------------------------------------------------------------------------------------------------
// Once a partner is on its card

static void is_aborted(const share *s, weir_nccl *nccl) {
  weir_buffer *buffers[2];
  nccl_buffers(s, COUNT, 1, 2, buffers);
  share_refused(sum(nccl, buffers, NULL), WEIR_ERROR_UNAVAILABLE, "the communicator was aborted: ");
  share_ok(weir_nccl_release(nccl));
  assert_int_equal(nccl_stub_aborts(), 2);
}

// NCCL refuses one device's call, and the other one waits for it: behind that, others do.
static void be_refused(share *s) {
  weir_nccl *nccl = nccl_make(s);
  weir_event *events[2], *later[2];
  weir_buffer *buffers[2];
  nccl_buffers(s, COUNT, 1, 2, buffers);
  nccl_stub_fail_nth("ncclAllReduce", 2, 2);
  share_ok(sum(nccl, buffers, events));
  share_submit(s, s->step, s->cuda, buffers[0], COUNT, 1, &later[0]);
  share_submit(s, s->step, s->second, buffers[1], COUNT, 1, &later[1]);
  uint32_t refused = 0;
  for (int i = 0; i < 2; i++) {
    assert_int_equal(weir_event_wait(events[i], WEIR_FOREVER), WEIR_ERROR_TASK_FAILED);
    refused += strstr(weir_event_message(events[i]), "NCCL refuses: system error: as the test wanted") != NULL;
    weir_event_release(events[i]);
    expect_failure(later[i], WEIR_ERROR_UPSTREAM_FAILED, "all-reduce");
    expect_poison(buffers[i]);
  }
  assert_true(refused >= 1); // a call that waits for its partner on the host is refused, too
  weir_finish(s->context);
  is_aborted(s, nccl);
}

// A communicator's first call waits on the host.
static void be_refused_while_connecting(share *s) {
  nccl_stub_connect(true);
  be_refused(s);
}

static void meet_an_error(share *s) {
  weir_nccl *nccl = nccl_make(s);
  weir_event *begin, *events[2];
  weir_buffer *buffers[2];
  share_ok(weir_host_event_create(s->context, "begin", &begin));
  nccl_buffers(s, COUNT, 1, 2, buffers);
  uint32_t count = COUNT, value = 5;
  weir_arg args[] = {weir_updates(buffers[1]), weir_value(&count, 4), weir_value(&value, 4)};
  const weir_task task = {
      .kernel = s->step, .device = s->second, .args = args, .arg_count = 3, .after = &begin, .after_count = 1};
  share_ok(weir_submit(s->context, &task, NULL));
  share_ok(sum(nccl, buffers, events));
  nccl_stub_async_error(2);
  while (nccl_stub_aborts() < 2) sched_yield();
  share_ok(weir_host_event_signal(begin, WEIR_OK));
  weir_event_release(begin);
  for (int i = 0; i < 2; i++) expect_failure(events[i], WEIR_ERROR_TASK_FAILED, "NCCL met system error");
  weir_finish(s->context);
  is_aborted(s, nccl);
}

// The card itself is lost, with its part on it or before.
static void lose_a_card(share *s) {
  weir_nccl *nccl = nccl_make(s);
  weir_event *events[2];
  weir_buffer *buffers[2], *other = share_buffer(s, COUNT);
  nccl_buffers(s, COUNT, 1, 2, buffers);
  share_submit(s, s->broken, s->second, other, COUNT, 0, NULL);
  for (int k = 0; k < 3; k++) {
    if (sum(nccl, buffers, events) != WEIR_OK) break; // it was aborted by then
    for (int i = 0; i < 2; i++) {
      weir_event_wait(events[i], WEIR_FOREVER);
      weir_event_release(events[i]);
    }
  }
  weir_finish(s->context);
  uint32_t numbers[COUNT];
  weir_status status = weir_read(buffers[0], 0, BYTES, numbers);
  assert_true(status == WEIR_ERROR_UPSTREAM_FAILED || status == WEIR_OK);
  for (uint32_t i = 0; status == WEIR_OK && i < COUNT; i++) // as it was, or a whole number of sums
    assert_true(numbers[i] == 1 + i || numbers[i] % (3 + 2 * i) == 0);
  share_ok(weir_nccl_release(nccl));
}

static void test_on_the_card(void **state) {
  (void)state;
  nccl_run(NULL, be_refused);
  nccl_run(&(weir_context_options){.queues = 1}, be_refused);
  nccl_run(NULL, be_refused_while_connecting);
  nccl_run(NULL, meet_an_error);
  nccl_run(NULL, lose_a_card);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_before_the_card), cmocka_unit_test(test_on_the_card)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
