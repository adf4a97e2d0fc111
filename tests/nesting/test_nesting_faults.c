// SPDX-License-Identifier: Apache-2.0
//
// Allocation fails at the Nth call, for every N, while tasks submit tasks: a call is refused, or its task fails with OUT_OF_MEMORY,
// and all others run. Nothing leaks, nothing hangs.
#include "nesting.h"

#include "allocation_ledger.h"
#include "base/allocate.h"
#include "sweep.h"
#include "weir/graph.h"

enum { CHILDREN = 60, MOST_CALLS = 4000 };

typedef struct scene {
  weir_context *context;
  weir_group *group;
  weir_buffer *buffer;
  uint32_t failing; // allocation
  atomic_uint accepted, refused, wrong, ran, destroyed, callbacks, attached, failed;
} scene;

static bool accepted(scene *self, weir_status status) {
  if (status == WEIR_OK) return true;
  if (status != WEIR_ERROR_OUT_OF_MEMORY || strlen(weir_last_error()) == 0) atomic_fetch_add(&self->wrong, 1);
  atomic_fetch_add(&self->refused, 1);
  return false;
}

static void note_done(void *user, weir_status status) {
  scene *self = user;
  atomic_fetch_add(&self->callbacks, 1);
  if (status == WEIR_ERROR_OUT_OF_MEMORY) atomic_fetch_add(&self->failed, 1);
  if (status != WEIR_OK && status != WEIR_ERROR_OUT_OF_MEMORY && status != WEIR_ERROR_UPSTREAM_FAILED)
    atomic_fetch_add(&self->wrong, 1);
}

static void destroy(void *user) {
  scene *self = user;
  atomic_fetch_add(&self->destroyed, 1);
}

static void overwrite(const weir_work *work) {
  scene *self = work->user;
  atomic_fetch_add(&self->ran, 1);
  *(uint64_t *)work->args[0] = 1;
}

static void submit_child(scene *self, uint32_t number) {
  weir_event *event = NULL;
  uint64_t values[64] = {number};
  weir_arg args[] = {weir_writes_range(self->buffer, 8 * (number % 16), 8), weir_value(values, sizeof values)};
  weir_task task = {.host = overwrite, .user = self, .args = args, .arg_count = 2, .destroy = destroy};
  if (!accepted(self, weir_submit(self->context, &task, number % 2 == 0 ? &event : NULL))) return;
  atomic_fetch_add(&self->accepted, 1);
  if (event != NULL && accepted(self, weir_event_on_done(event, note_done, self))) atomic_fetch_add(&self->attached, 1);
  weir_event_release(event);
}

static void submit_children(const weir_work *work) {
  scene *self = work->user;
  for (uint32_t i = 0; i < CHILDREN; i++) submit_child(self, i);
  (void)accepted(self, weir_fill(self->buffer, 0, 64, 7, NULL));
  weir_buffer *buffer = NULL;
  if (!accepted(self, weir_buffer_create(self->context, 4096, &buffer))) return;
  (void)accepted(self, weir_fill(buffer, 0, WEIR_WHOLE, 7, NULL));
  weir_graph *graph = NULL;
  if (accepted(self, weir_graph_create(self->context, NULL, &graph)) &&
      accepted(self, weir_graph_fill(graph, buffer, 0, WEIR_WHOLE, 8, NULL))) {
    for (int i = 0; i < 3; i++) (void)accepted(self, weir_graph_launch(graph, NULL));
  }
  weir_graph_release(graph);
  weir_buffer_release(buffer);
}

static void play(scene *self) {
  weir_context_options options = {.devices = "cpu:2", .window = 8};
  if (!accepted(self, weir_context_create(&options, &self->context))) return;
  if (accepted(self, weir_group_create(self->context, &self->group)) &&
      accepted(self, weir_buffer_create(self->context, 128, &self->buffer))) {
    weir_task task = {.host = submit_children, .user = self, .group = self->group};
    (void)accepted(self, weir_submit(self->context, &task, NULL));
    weir_status status = weir_group_wait(self->group, WEIR_FOREVER);
    if (status != WEIR_OK && status != WEIR_ERROR_OUT_OF_MEMORY) atomic_fetch_add(&self->wrong, 1);
    weir_group_statistics counts;
    weir_group_get_statistics(self->group, &counts);
    if (counts.tasks != counts.done) atomic_fetch_add(&self->wrong, 1);
  }
  weir_status status = weir_finish(self->context);
  if (status != WEIR_OK && status != WEIR_ERROR_OUT_OF_MEMORY) atomic_fetch_add(&self->wrong, 1);
  weir_group_release(self->group);
  weir_context_release(self->context);
}

static void every_allocation_fails_once(void **state) {
  (void)state;
  for (uint64_t n = 1; n < MOST_CALLS; n = sweep_after(n)) {
    alarm(60);
    scene self = {0};
    int64_t live = ledger_live();
    uint64_t before = weir__allocate_count();
    weir__allocate_fail_at(n);
    play(&self);
    bool failed = weir__allocate_count() - before >= n;
    weir__allocate_fail_at(0);
    assert_int_equal(atomic_load(&self.wrong), 0);
    assert_int_equal(ledger_live(), live);
    assert_int_equal(atomic_load(&self.destroyed), atomic_load(&self.accepted));
    assert_int_equal(atomic_load(&self.callbacks), atomic_load(&self.attached));
    assert_true(atomic_load(&self.ran) + 1 >= atomic_load(&self.accepted)); // at most one of them failed
    if (!failed) {
      assert_int_equal(atomic_load(&self.ran), CHILDREN);
      return;
    }
  }
  fail_msg("%d allocations are not enough", MOST_CALLS);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(every_allocation_fails_once)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
