// SPDX-License-Identifier: Apache-2.0
//
// The records of a trace: finding them, changing them, and what is dropped when memory runs out.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/allocate.h"
#include "trace/record.h"
#include "trace/trace.h"

static weir__trace *create(void) {
  weir__trace *trace = weir__trace_create();
  assert_non_null(trace);
  assert_true(weir__trace_add_device(trace, "cpu:2", 2));
  return trace;
}

static void add(weir__trace *trace, uint64_t id) {
  weir__trace_access access = {WEIR_WRITE, id, id, 0, 8, {0}, 0};
  weir__trace_wait wait = {id - 1, WEIR__HAZARD_RAW, id, 0, 8};
  weir__trace_task task = {.id = id, .accesses = &access, .access_count = 1, .waits = &wait, .wait_count = 1};
  snprintf(task.label, sizeof task.label, "task %u", (unsigned)id);
  weir__trace_add_task(trace, &task);
}

// Ids with gaps: every record is found, and nothing between them.
static void finds_tasks(void **state) {
  (void)state;
  weir__trace *trace = create();
  assert_null(weir__trace_find(trace, 0));
  for (uint64_t id = 10; id < 3000; id += 1 + id % 3) add(trace, id);
  uint64_t expected = 10;
  for (uint64_t id = 0; id < 3010; id++) {
    weir__trace_task *task = weir__trace_find(trace, id);
    if (id != expected || id >= 3000) {
      assert_null(task);
      continue;
    }
    assert_non_null(task);
    assert_int_equal(task->id, id);
    assert_int_equal(task->accesses[0].buffer, id);
    assert_int_equal(task->waits[0].task, id - 1);
    expected += 1 + id % 3;
  }
  assert_null(weir__trace_find(trace, UINT64_MAX));
  weir__trace_destroy(trace);
}

static void keeps_changes(void **state) {
  (void)state;
  weir__trace *trace = create();
  for (uint64_t id = 1; id <= 200; id++) add(trace, id);
  weir__trace_find(trace, 70)->end_ns = 12345;
  for (uint32_t i = 0; i < 100; i++) {
    weir__trace_add_span(trace, 70, &(weir__trace_span){.lane = i, .start_ns = i, .end_ns = i + 1});
  }
  weir__trace_add_span(trace, 9999, &(weir__trace_span){.lane = 1}); // not known: nothing happens
  const weir__trace_task *task = weir__trace_task_at(trace, 69);
  assert_int_equal(task->end_ns, 12345);
  assert_int_equal(task->span_count, 100);
  assert_int_equal(task->spans[99].lane, 99);
  assert_int_equal(weir__trace_dropped(trace), 0);
  weir__trace_clear(trace);
  assert_int_equal(weir__trace_task_count(trace), 0);
  assert_null(weir__trace_find(trace, 70));
  add(trace, 500);
  assert_int_equal(weir__trace_find(trace, 500)->id, 500);
  weir__trace_destroy(trace);
}

static void labels_buffers(void **state) {
  (void)state;
  weir__trace *trace = create();
  const uint64_t ids[] = {5, 9, 7, 1, 100, 8};
  for (size_t i = 0; i < 6; i++) weir__trace_add_buffer(trace, ids[i], ids[i] * 10, "first");
  weir__trace_add_buffer(trace, 7, 70, "a label that is far longer than the forty-seven bytes that a record keeps");
  weir__trace_add_buffer(trace, 8, 80, NULL);
  for (size_t i = 0; i < 6; i++) {
    const weir__trace_buffer *buffer = weir__trace_find_buffer(trace, ids[i]);
    assert_non_null(buffer);
    assert_int_equal(buffer->bytes, ids[i] * 10);
  }
  assert_string_equal(weir__trace_find_buffer(trace, 7)->label, "a label that is far longer than the forty-seven");
  assert_string_equal(weir__trace_find_buffer(trace, 8)->label, "");
  assert_string_equal(weir__trace_find_buffer(trace, 9)->label, "first");
  assert_null(weir__trace_find_buffer(trace, 6));
  weir__trace_destroy(trace);
}

// Whichever allocation fails, what is there is whole, and what is not there was counted.
static void counts_what_it_drops(void **state) {
  (void)state;
  enum { TASKS = 150, BUFFERS = 150 };
  for (uint64_t n = 1;; n++) {
    weir__trace *trace = create();
    weir__allocate_fail_at(n);
    for (uint64_t id = 1; id <= TASKS; id++) {
      add(trace, id);
      weir__trace_add_buffer(trace, id, 1, "b");
      weir__trace_add_span(trace, id, &(weir__trace_span){.lane = 1});
    }
    uint64_t complete = 0;
    for (size_t i = 0; i < weir__trace_task_count(trace); i++) {
      const weir__trace_task *task = weir__trace_task_at(trace, i);
      assert_int_equal(task->access_count, 1);
      complete += 1 + task->span_count + (weir__trace_find_buffer(trace, task->id) != NULL);
    }
    bool failed = weir__trace_dropped(trace) > 0;
    weir__allocate_fail_at(0);
    assert_int_equal(weir__trace_dropped(trace), failed ? 1 : 0);
    // A dropped task takes its span and buffer out of this count; all else loses one.
    assert_true(complete >= 3 * TASKS - 3 && (complete == 3 * TASKS) == !failed);
    weir__trace_destroy(trace);
    if (!failed) break;
  }
}

static void creation_without_memory(void **state) {
  (void)state;
  weir__allocate_fail_at(1);
  assert_null(weir__trace_create());
  weir__trace *trace = weir__trace_create();
  for (uint64_t n = 1; n <= 2; n++) {
    weir__allocate_fail_at(n);
    assert_false(weir__trace_add_device(trace, "cpu", 1));
  }
  weir__allocate_fail_at(0);
  assert_true(weir__trace_add_device(trace, "cpu", 1));
  weir__trace_destroy(trace);
  weir__trace_destroy(NULL);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(finds_tasks),
      cmocka_unit_test(keeps_changes),
      cmocka_unit_test(labels_buffers),
      cmocka_unit_test(counts_what_it_drops),
      cmocka_unit_test(creation_without_memory),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
