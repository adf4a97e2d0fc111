// SPDX-License-Identifier: Apache-2.0
//
// The timeline of one process is proved without a stream: task 1 writes, the launch 2 of a graph updates by two nodes, and task 3
// reads. A task may name the same bytes twice. Of a launch whose nodes have no times of their own, the whole is a task.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "check/check.h"

enum { FIRST, NODE, NEXT_NODE, LAST, TASKS };

#define TIMES(start, end) "\"submit_ns\":0,\"ready_ns\":0,\"start_ns\":" #start ",\"end_ns\":" #end
#define EVENT(category, label, id, times, accesses, waits)                                                             \
  "{\"name\":\"" label "\",\"cat\":\"" category "\",\"ph\":\"X\",\"args\":{\"id\":" #id                                \
  ",\"tag\":0,\"status\":\"WEIR_OK\"," times ",\"accesses\":[" accesses "],\"waits\":[" waits "]}}"
#define ACCESS(mode) "{\"mode\":\"" mode "\",\"buffer\":1,\"storage\":5,\"offset\":0,\"bytes\":8}"
#define WAIT(task) "{\"task\":" #task ",\"hazard\":\"RAW\"}"

static const char text[] =
    "{\"weir\":{\"version\":1,\"dropped\":0,\"devices\":[{\"name\":\"cpu:2\"}]},\"traceEvents\":[" EVENT(
        "task", "first", 1, TIMES(0, 10), ACCESS("write") "," ACCESS("write"),
        "") "," EVENT("graph", "graph", 2, TIMES(10, 30), ACCESS("read_write"),
                      WAIT(1)) "," EVENT("task", "last", 3, TIMES(30, 40), ACCESS("read"),
                                         WAIT(2)) "," EVENT("task", "node", 1000002000000, TIMES(10, 20),
                                                            ACCESS("read_write"),
                                                            "") "," EVENT("task", "next", 1000002000001, TIMES(20, 30),
                                                                          ACCESS("read_write"),
                                                                          WAIT(1000002000000)) "]}";

static weir__check_report report;

// In the order of program.
static weir__timeline *make(void) {
  char message[256];
  weir__timeline *timeline = NULL;
  if (weir__timeline_read_memory("x", text, sizeof text - 1, message, sizeof message, &timeline) != WEIR_OK)
    fail_msg("%s", message);
  weir__timeline_task last = timeline->tasks[1];
  timeline->tasks[1] = timeline->tasks[2];
  timeline->tasks[2] = timeline->tasks[3];
  timeline->tasks[LAST] = last;
  return timeline;
}

static void set_times(weir__timeline_task *task, uint64_t start_ns, uint64_t end_ns) {
  task->start_ns = start_ns;
  task->end_ns = end_ns;
}

static void leave(weir__timeline *t) {
  (void)t;
}
static void plant_untimed(weir__timeline *t) {
  set_times(&t->tasks[NODE], 10, 30);
  set_times(&t->tasks[NEXT_NODE], 10, 30);
}
static void plant_no_nodes(weir__timeline *t) {
  t->tasks[NODE] = t->tasks[LAST];
  t->task_count = 2;
}
static void plant_order(weir__timeline *t) {
  set_times(&t->tasks[NEXT_NODE], 15, 25);
}
static void plant_late_launch(weir__timeline *t) {
  t->launches[0].end_ns = 35;
}
static void plant_no_launch(weir__timeline *t) {
  t->launch_count = 0;
}
static void plant_early_reader(weir__timeline *t) {
  plant_untimed(t);
  t->waits[t->tasks[LAST].wait_first].task = 1;
  t->tasks[LAST].start_ns = 20;
}
static void plant_early_launch(weir__timeline *t) {
  plant_no_nodes(t);
  t->launches[0].start_ns = 5;
}
static void plant_part(weir__timeline *t) {
  t->part_of = 2;
}

static const struct {
  const char *name;
  void (*plant)(weir__timeline *timeline);
  weir__check_result result;
  uint64_t tasks;
  const char *finding;
} plants[] = {
    {"right", leave, WEIR__CHECK_PROVED, TASKS, ""},
    {"nodes without times", plant_untimed, WEIR__CHECK_PROVED, 3, ""},
    {"no nodes", plant_no_nodes, WEIR__CHECK_PROVED, 3, ""},
    {"nodes in another order", plant_order, WEIR__CHECK_BROKEN, TASKS,
     "RAW broken: task 'node' (id 1000002000000) updates buffer 1 [0, 8) in storage 5 from 10 to 20 ns; task 'next'"},
    {"launch ends late", plant_late_launch, WEIR__CHECK_BROKEN, TASKS,
     "WAIT broken: task 'last' (id 3) starts at 30 ns, but waits (RAW) for the launch of graph 'graph', which ends at "
     "35"},
    {"no launch", plant_no_launch, WEIR__CHECK_BROKEN, TASKS,
     "WAIT: task 'last' (id 3) waits (RAW) for a task with id 2, which is not in the timeline"},
    {"reader before the end of a launch", plant_early_reader, WEIR__CHECK_BROKEN, 3,
     "RAW broken: task 'graph' (id 2) updates buffer 1 [0, 8) in storage 5 from 10 to 30 ns; task 'last' (id 3) reads"},
    {"launch before the end of a writer", plant_early_launch, WEIR__CHECK_BROKEN, 3,
     "RAW broken: task 'first' (id 1) writes buffer 1 [0, 8) in storage 5 from 0 to 10 ns; task 'graph' (id 2) "
     "updates"},
    {"one of several ranks", plant_part, WEIR__CHECK_BAD_INPUT, 0, "that of one of several ranks"},
};

static void test_process(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof plants / sizeof *plants; i++) {
    weir__timeline *timeline = make();
    plants[i].plant(timeline);
    weir__check_result result = weir__check_ranks_alone(timeline, NULL, &report);
    if (result != plants[i].result || strstr(report.text, plants[i].finding) == NULL)
      fail_msg("%s: not \"%s\", but:\n%s", plants[i].name, plants[i].finding, report.text);
    assert_int_equal(report.tasks, plants[i].tasks);
    weir__timeline_destroy(timeline);
  }
}

int main(void) {
  const struct CMUnitTest all[] = {cmocka_unit_test(test_process)};
  return cmocka_run_group_tests(all, NULL, NULL);
}
