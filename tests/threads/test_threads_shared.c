// SPDX-License-Identifier: Apache-2.0
//
// Eight threads submit tasks on the same buffers: nothing is lost, and there is one order that all buffers agree on.
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "crowd.h"
#include "weir/graph.h"

enum { TASKS = 200, LOGS = 3, ENTRIES = CROWD * TASKS };

// What a log buffer holds: numbers of tasks in the order in which they ran, thread * TASKS + number in the thread.
typedef struct task_log {
  uint64_t count;
  uint32_t entries[ENTRIES];
} task_log;

static void append(const weir_work *work) {
  uint32_t entry;
  memcpy(&entry, work->args[0], sizeof entry);
  for (uint32_t i = 1; i < work->arg_count; i++) {
    task_log *log = work->args[i];
    log->entries[log->count++] = entry;
  }
}

typedef struct shared {
  weir_context *context;
  weir_kernel *kernel;
  weir_buffer *logs[LOGS];
  atomic_uint failed;
} shared;

static void submit_appends(void *user, uint32_t number) {
  shared *self = user;
  for (uint32_t i = 0; i < TASKS; i++) {
    uint32_t entry = number * TASKS + i, set = entry * 2654435761u >> 29; // which of the logs
    weir_arg args[LOGS + 1] = {weir_value(&entry, sizeof entry)};
    uint32_t count = 1;
    for (uint32_t log = 0; log < LOGS; log++) {
      if (set >> log & 1) args[count++] = weir_updates(self->logs[log]);
    }
    weir_task task = {.kernel = self->kernel, .args = args, .arg_count = count};
    if (weir_submit(self->context, &task, NULL) != WEIR_OK) atomic_fetch_add(&self->failed, 1);
  }
}

// Position of every task in a log; UINT32_MAX: not there.
static void find_positions(const task_log *log, uint32_t positions[ENTRIES]) {
  memset(positions, 0xff, ENTRIES * sizeof *positions);
  for (uint64_t i = 0; i < log->count; i++) {
    assert_true(log->entries[i] < ENTRIES);
    assert_true(positions[log->entries[i]] == UINT32_MAX);
    positions[log->entries[i]] = (uint32_t)i;
  }
}

static void check_logs(task_log logs[LOGS]) {
  static uint32_t positions[LOGS][ENTRIES];
  for (uint32_t i = 0; i < LOGS; i++) find_positions(&logs[i], positions[i]);
  for (uint32_t entry = 0; entry < ENTRIES; entry++) {
    uint32_t set = entry * 2654435761u >> 29;
    for (uint32_t i = 0; i < LOGS; i++) assert_int_equal(positions[i][entry] != UINT32_MAX, set >> i & 1);
  }
  for (uint32_t i = 0; i < LOGS; i++) {
    for (uint32_t j = 0; j < LOGS; j++) {
      uint32_t last = 0;
      for (uint64_t at = 0; at < logs[i].count; at++) { // the tasks of log i, seen in log j
        uint32_t position = positions[j][logs[i].entries[at]];
        if (position == UINT32_MAX) continue;
        assert_true(last == 0 || position >= last);
        last = position;
      }
    }
    for (uint32_t thread = 0; thread < CROWD; thread++) { // each thread's tasks keep their order
      uint32_t last = 0;
      for (uint32_t task = 0; task < TASKS; task++) {
        uint32_t position = positions[i][thread * TASKS + task];
        if (position == UINT32_MAX) continue;
        assert_true(last == 0 || position > last);
        last = position;
      }
    }
  }
}

static void all_buffers_agree_on_one_order(void **state) {
  (void)state;
  static const uint32_t windows[] = {8, 32, 1024};
  static task_log logs[LOGS];
  for (uint32_t i = 0; i < CROWD_CONTEXTS; i++) {
    alarm(120);
    shared self = {.context = crowd_context(i, windows[(i + i / 3) % 3], 0)};
    assert_int_equal(weir_kernel_create(self.context, "append", &self.kernel), WEIR_OK);
    assert_int_equal(weir_kernel_set_cpu(self.kernel, append), WEIR_OK);
    memset(logs, 0, sizeof logs);
    for (int log = 0; log < LOGS; log++) {
      assert_int_equal(weir_buffer_create(self.context, sizeof logs[log], &self.logs[log]), WEIR_OK);
      assert_int_equal(weir_copy_in(self.logs[log], 0, sizeof logs[log], &logs[log], NULL), WEIR_OK);
    }
    assert_int_equal(weir_finish(self.context), WEIR_OK);
    crowd_run(submit_appends, &self);
    assert_int_equal(atomic_load(&self.failed), 0);
    for (int log = 0; log < LOGS; log++)
      assert_int_equal(weir_copy_out(self.logs[log], 0, sizeof logs[log], &logs[log], NULL), WEIR_OK);
    assert_int_equal(weir_finish(self.context), WEIR_OK);
    check_logs(logs);
    weir_context_release(self.context);
  }
}

static void bump(const weir_work *work) {
  *(uint64_t *)work->args[0] += 1;
}

typedef struct graph_crowd {
  weir_context *context;
  weir_graph *graph;
  atomic_uint failed;
} graph_crowd;

static void launch_graph(void *user, uint32_t number) {
  (void)number;
  graph_crowd *self = user;
  for (int i = 0; i < 50; i++) {
    if (weir_graph_launch(self->graph, NULL) != WEIR_OK) atomic_fetch_add(&self->failed, 1);
  }
}

static void one_graph_is_launched_by_all(void **state) {
  (void)state;
  for (uint32_t i = 0; i < CROWD_CONTEXTS; i++) {
    alarm(120);
    graph_crowd self = {.context = crowd_context(i, 32, 0)};
    weir_kernel *kernel = NULL;
    weir_buffer *number = NULL;
    uint64_t value = 0;
    assert_int_equal(weir_kernel_create(self.context, "bump", &kernel), WEIR_OK);
    assert_int_equal(weir_kernel_set_cpu(kernel, bump), WEIR_OK);
    assert_int_equal(weir_buffer_wrap(self.context, &value, sizeof value, &number), WEIR_OK);
    assert_int_equal(weir_graph_create(self.context, NULL, &self.graph), WEIR_OK);
    weir_arg arg = weir_updates(number);
    weir_task task = {.kernel = kernel, .args = &arg, .arg_count = 1};
    for (int node = 0; node < 3; node++) assert_int_equal(weir_graph_add(self.graph, &task, NULL), WEIR_OK);
    crowd_run(launch_graph, &self);
    assert_int_equal(weir_finish(self.context), WEIR_OK);
    assert_int_equal(atomic_load(&self.failed), 0);
    assert_int_equal(value, 3 * 50 * CROWD);
    weir_context_release(self.context);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(all_buffers_agree_on_one_order),
      cmocka_unit_test(one_graph_is_launched_by_all),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
