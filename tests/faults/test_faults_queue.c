// SPDX-License-Identifier: Apache-2.0
//
// A task that was accepted fails because it cannot enter: what it should have written is poisoned, and that alone, and who uses those
// bytes is still waited for.
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "engine/context.h"
#include "engine/queue.h"
#include "gate.h"
#include "weir/box.h"

enum { BYTES = 240 };

static const uint64_t HUNG_NS = 60000000000;

static _Atomic uint32_t overwritten;

static void overwrite(const weir_work *work) {
  (void)work;
  atomic_store(&overwritten, 1);
}

static void fail_task(weir_context *context, weir_arg arg) {
  const weir_task task = {.args = &arg, .arg_count = 1};
  weir__host_lock(&context->host);
  weir__queue_fail(context, &task, NULL, WEIR_ERROR_OUT_OF_MEMORY);
  weir__host_unlock(&context->host);
}

static weir_status copy(weir_buffer *buffer, uint64_t offset, uint64_t bytes) {
  static unsigned char memory[BYTES];
  weir_event *event;
  assert_int_equal(weir_copy_out(buffer, offset, bytes, memory, &event), WEIR_OK);
  weir_status status = weir_event_wait(event, HUNG_NS);
  weir_event_release(event);
  return status;
}

// `box`: the buffer is used by boxes.
static void check(const weir_box *box) {
  weir_context *context;
  weir_buffer *buffer;
  gate door = {0};
  atomic_store(&overwritten, 0);
  const weir_context_options options = {.devices = "cpu:2", .flags = WEIR_CONTEXT_NO_RENAME};
  assert_int_equal(weir_context_create(&options, &context), WEIR_OK);
  assert_int_equal(weir_buffer_create(context, BYTES, &buffer), WEIR_OK);
  static const unsigned char zeros[BYTES];
  assert_int_equal(weir_copy_in(buffer, 0, BYTES, zeros, NULL), WEIR_OK);
  const weir_arg read = box == NULL ? weir_reads_range(buffer, 40, 80) : weir_reads_box(buffer, 40, box);
  assert_int_equal(gate_submit(context, &door, &read, 1, NULL), WEIR_OK);
  gate_await(&door, 1);
  fail_task(context, weir_writes_range(buffer, 60, 40));
  const weir_arg written = weir_writes_range(buffer, 70, 20);
  const weir_task task = {.host = overwrite, .args = &written, .arg_count = 1};
  assert_int_equal(weir_submit(context, &task, NULL), WEIR_OK);
  for (int i = 0; i < 2000; i++) sched_yield();
  assert_int_equal(atomic_load(&overwritten), 0);
  assert_int_equal(copy(buffer, 0, 60), WEIR_OK);
  assert_int_equal(copy(buffer, 100, BYTES - 100), WEIR_OK);
  assert_int_equal(copy(buffer, 60, 10), WEIR_ERROR_UPSTREAM_FAILED);
  assert_int_equal(copy(buffer, 90, 10), WEIR_ERROR_UPSTREAM_FAILED);
  gate_open(&door);
  assert_int_equal(copy(buffer, 70, 20), WEIR_OK);
  assert_int_equal(atomic_load(&overwritten), 1);
  assert_int_equal(weir_finish(context), WEIR_ERROR_OUT_OF_MEMORY);
  weir_context_release(context);
}

static void of_ranges(void **state) {
  (void)state;
  check(NULL);
}

static void of_boxes(void **state) {
  (void)state;
  check(&(weir_box){.width = 5, .pitch = 10, .rows = 8});
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(of_ranges), cmocka_unit_test(of_boxes)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
