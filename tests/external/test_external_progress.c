// SPDX-License-Identifier: Apache-2.0
//
// Workers without a task look after work outside Weir: the event is signalled, and the task behind it run, by them alone;
// and a function that was taken back is called no more.
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <unistd.h>

#include "api.h"
#include "weir/external.h"

// Work outside, which has ended when it was looked at so often.
typedef struct outside {
  weir_context *context;
  weir_event *event;
  atomic_uint looks, wanted; // 0: never
  uint64_t again_ns;
  pthread_t looked; // by
  weir_status nested;
} outside;

static uint64_t look(void *user) {
  outside *work = user;
  unsigned looks = atomic_fetch_add(&work->looks, 1) + 1;
  if (looks != atomic_load(&work->wanted)) return work->again_ns;
  work->looked = pthread_self();
  work->nested = weir_context_set_progress(work->context, NULL, NULL);
  assert_int_equal(weir_host_event_signal(work->event, WEIR_OK), WEIR_OK);
  return WEIR_FOREVER;
}

static void note_thread(const weir_work *work) {
  *(pthread_t *)work->user = pthread_self();
}

// Nobody but the worker runs anything, whether it stays awake between two looks or sleeps.
static void test_signals(void **state) {
  (void)state;
  for (uint64_t again_ns = 0; again_ns < 300000; again_ns += 100000) {
    weir_context *context = api_context("cpu:1", 64, 0);
    outside work = {.context = context, .wanted = 20, .again_ns = again_ns};
    pthread_t ran = pthread_self();
    assert_int_equal(weir_host_event_create(context, "outside", &work.event), WEIR_OK);
    assert_int_equal(weir_context_set_progress(context, look, &work), WEIR_OK);
    const weir_task task = {.host = note_thread, .user = &ran, .after = &work.event, .after_count = 1};
    weir_event *done;
    assert_int_equal(weir_submit(context, &task, &done), WEIR_OK);
    assert_int_equal(api_await(api_submit_host(context, api_nothing, NULL, NULL, 0)),
                     WEIR_OK); // the worker is awake now
    assert_int_equal(api_await(done), WEIR_OK);
    assert_int_equal(weir_context_set_progress(context, NULL, NULL), WEIR_OK);
    assert_true(pthread_equal(ran, work.looked));
    assert_int_equal(work.nested, WEIR_ERROR_INVALID_ARGUMENT);
    weir_event_release(work.event);
    weir_context_release(context);
  }
}

static void test_refused(void **state) {
  (void)state;
  weir_context *context = api_context("cpu:1", 64, 0);
  outside work = {.context = context};
  api_expect(weir_context_set_progress(NULL, look, &work), WEIR_ERROR_INVALID_ARGUMENT, "context is NULL", NULL);
  assert_int_equal(weir_context_set_progress(context, NULL, NULL), WEIR_OK);
  assert_int_equal(weir_context_set_progress(context, look, &work), WEIR_OK);
  api_expect(weir_context_set_progress(context, look, &work), WEIR_ERROR_INVALID_ARGUMENT, "another function", NULL);
  api_expect(weir_context_release(context), WEIR_ERROR_INVALID_ARGUMENT, "weir_context_set_progress", NULL);
  assert_int_equal(weir_context_set_progress(context, NULL, NULL), WEIR_OK);
  assert_int_equal(weir_context_release(context), WEIR_OK);
}

// Functions come and go while two workers run tasks; the data of each is freed behind it.
static void test_comes_and_goes(void **state) {
  (void)state;
  weir_context *context = api_context("cpu:2", 64, 0);
  unsigned called = 0;
  for (int i = 0; i < 300; i++) {
    outside *work = calloc(1, sizeof *work);
    assert_non_null(work);
    work->again_ns = i % 3 == 0 ? 0 : i % 3 == 1 ? 2000 : WEIR_FOREVER;
    assert_int_equal(weir_context_set_progress(context, look, work), WEIR_OK);
    for (int k = 0; k < 3; k++) weir_event_release(api_submit_host(context, api_nothing, NULL, NULL, 0));
    if (i % 4 == 0) assert_int_equal(weir_finish(context), WEIR_OK);
    if (i % 8 == 0) usleep(200);
    assert_int_equal(weir_context_set_progress(context, NULL, NULL), WEIR_OK);
    called += work->looks;
    free(work);
  }
  assert_true(called > 0);
  weir_context_release(context);
}

typedef struct stay {
  weir_context *context;
  atomic_bool inside, left;
} stay;

static uint64_t stay_long(void *user) {
  stay *self = user;
  atomic_store(&self->inside, true);
  usleep(50000);
  atomic_store(&self->left, true);
  return WEIR_FOREVER;
}

static void *take_back(void *user) {
  stay *self = user;
  assert_int_equal(weir_context_set_progress(self->context, NULL, NULL), WEIR_OK);
  assert_true(atomic_load(&self->left));
  return NULL;
}

// Who gives another function while one is being taken back waits, too, until that has returned.
static void test_given_while_taken_back(void **state) {
  (void)state;
  stay first = {.context = api_context("cpu:1", 64, 0)};
  outside second = {.context = first.context, .again_ns = WEIR_FOREVER};
  assert_int_equal(weir_context_set_progress(first.context, stay_long, &first), WEIR_OK);
  assert_int_equal(api_await(api_submit_host(first.context, api_nothing, NULL, NULL, 0)), WEIR_OK);
  while (!atomic_load(&first.inside)) sched_yield();
  pthread_t thread;
  assert_int_equal(pthread_create(&thread, NULL, take_back, &first), 0);
  while (weir_context_set_progress(first.context, look, &second) != WEIR_OK) sched_yield();
  assert_true(atomic_load(&first.left));
  pthread_join(thread, NULL);
  assert_int_equal(weir_context_set_progress(first.context, NULL, NULL), WEIR_OK);
  assert_int_equal(weir_context_release(first.context), WEIR_OK);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_signals), cmocka_unit_test(test_refused),
                                     cmocka_unit_test(test_comes_and_goes),
                                     cmocka_unit_test(test_given_while_taken_back)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
