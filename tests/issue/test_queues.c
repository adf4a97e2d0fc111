// SPDX-License-Identifier: Apache-2.0
//
// Queue choice: on every graph of up to 5 tasks, on 1 to 4 queues, with tasks done early or late, the order of the queues
// and the waits imply every predecessor, no wait is implied by the rest, and every event can be recorded where it must.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "base/allocate.h"
#include "issue/queues.h"

enum { MAX_TASKS = 5, MAX_QUEUES = 4 };

typedef struct test_scene {
  weir__queues *queues;
  weir__queue_task *tasks[MAX_TASKS]; // NULL: done
  uint32_t queue_of[MAX_TASKS];
  uint32_t after[MAX_TASKS]; // bit set: tasks that are done when this one starts, as the device sees it
  uint32_t last[MAX_QUEUES]; // last task in each queue; MAX_TASKS: none
  uint32_t done, recorded, count;
  uint32_t predecessors[MAX_TASKS]; // bit sets
} test_scene;

static uint32_t index_of(const test_scene *scene, const weir__queue_task *task) {
  for (uint32_t i = 0; i < scene->count; i++) {
    if (scene->tasks[i] == task) return i;
  }
  fail_msg("a task that nobody issued, or that is done");
  return 0;
}

static uint32_t with_ancestors(const test_scene *scene, uint32_t task) {
  return scene->after[task] | 1u << task;
}

static void check_records(test_scene *scene, const weir__queue_choice *choice) {
  for (uint32_t i = 0; i < choice->record_count; i++) {
    uint32_t task = index_of(scene, choice->records[i]);
    assert_int_equal(scene->last[scene->queue_of[task]], task); // else the event would stand for more
    assert_false(scene->recorded & 1u << task);
    scene->recorded |= 1u << task;
  }
  for (uint32_t i = 0; i < choice->wait_count; i++) {
    assert_true(scene->recorded & 1u << index_of(scene, choice->waits[i]));
  }
}

// What comes before a task in `queue` that waits for all of the choice's waits but one.
static uint32_t implied_without(const test_scene *scene, const weir__queue_choice *choice, uint32_t left_out) {
  uint32_t last = scene->last[choice->queue];
  uint32_t before = last < MAX_TASKS ? with_ancestors(scene, last) : 0;
  for (uint32_t i = 0; i < choice->wait_count; i++) {
    if (i != left_out) before |= with_ancestors(scene, index_of(scene, choice->waits[i]));
  }
  return before;
}

static void issue(test_scene *scene, uint32_t task, uint32_t queue_count) {
  weir__queue_task *predecessors[2 * MAX_TASKS];
  uint32_t count = 0;
  for (uint32_t i = 0; i < task; i++) {
    if (!(scene->predecessors[task] & 1u << i) || scene->done & 1u << i) continue;
    predecessors[count++] = scene->tasks[i];
    if (task % 2 == 1) predecessors[count++] = scene->tasks[i]; // named twice
  }
  bool follows = false;
  for (uint32_t i = 0; i < count; i++)
    follows |= scene->last[predecessors[i]->queue] == index_of(scene, predecessors[i]);
  weir__queue_choice choice = weir__queues_issue(scene->queues, predecessors, count, WEIR__ANY_QUEUE);
  assert_non_null(choice.task);
  assert_true(choice.queue < queue_count);
  check_records(scene, &choice);
  if (queue_count == 1) assert_int_equal(choice.record_count + choice.wait_count, 0);
  uint32_t before = implied_without(scene, &choice, UINT32_MAX);
  assert_int_equal(scene->predecessors[task] & ~(before | scene->done), 0);
  for (uint32_t i = 0; i < choice.wait_count; i++) {
    assert_false(implied_without(scene, &choice, i) & 1u << index_of(scene, choice.waits[i]));
  }
  uint32_t last = scene->last[choice.queue];
  bool last_in_flight = last < MAX_TASKS && !(scene->done & 1u << last);
  if (follows) assert_true(last_in_flight && scene->predecessors[task] & 1u << last);
  for (uint32_t i = 0; !follows && last_in_flight && i < queue_count; i++) {
    assert_true(scene->last[i] < MAX_TASKS && !(scene->done & 1u << scene->last[i])); // else that queue was idle
  }
  scene->tasks[task] = choice.task;
  scene->queue_of[task] = choice.queue;
  scene->after[task] = before;
  scene->last[choice.queue] = task;
  scene->count = task + 1;
}

static void finish(test_scene *scene, uint32_t task) {
  if (scene->done & 1u << task) return;
  weir__queues_done(scene->queues, scene->tasks[task]);
  scene->tasks[task] = NULL;
  scene->done |= 1u << task;
}

// A task is done `lag` issues later, and all that comes before it.
static void finish_some(test_scene *scene, uint32_t issued, uint32_t lag) {
  if (issued < lag) return;
  uint32_t task = issued - lag;
  for (uint32_t i = 0; i < task; i++) {
    if (scene->after[task] & 1u << i) finish(scene, i);
  }
  finish(scene, task);
}

static void run(uint32_t task_count, uint32_t edges, uint32_t queue_count, uint32_t lag) {
  test_scene scene = {.queues = weir__queues_create(queue_count, 0)};
  assert_non_null(scene.queues);
  for (uint32_t i = 0; i < MAX_QUEUES; i++) scene.last[i] = MAX_TASKS;
  for (uint32_t i = 1, bit = 0; i < task_count; i++) {
    for (uint32_t j = 0; j < i; j++, bit++) scene.predecessors[i] |= (edges >> bit & 1) << j;
  }
  for (uint32_t i = 0; i < task_count; i++) {
    issue(&scene, i, queue_count);
    finish_some(&scene, i, lag);
  }
  weir__queues_destroy(scene.queues);
}

static void all_small_graphs(void **state) {
  (void)state;
  for (uint32_t tasks = 1; tasks <= MAX_TASKS; tasks++) {
    for (uint32_t edges = 0; edges < 1u << tasks * (tasks - 1) / 2; edges++) {
      for (uint32_t queues = 1; queues <= MAX_QUEUES; queues++) {
        for (uint32_t lag = 1; lag <= tasks; lag++) run(tasks, edges, queues, lag);
      }
    }
  }
}

static void a_chain_stays_in_its_queue(void **state) {
  (void)state;
  weir__queues *queues = weir__queues_create(4, 0);
  weir__queue_task *last = weir__queues_issue(queues, NULL, 0, WEIR__ANY_QUEUE).task;
  for (int i = 0; i < 100; i++) {
    weir__queue_choice choice = weir__queues_issue(queues, &last, 1, WEIR__ANY_QUEUE);
    assert_int_equal(choice.queue, last->queue);
    assert_int_equal(choice.wait_count, 0);
    last = choice.task;
  }
  weir__queues_destroy(queues);
}

static void independent_tasks_use_all_queues(void **state) {
  (void)state;
  weir__queues *queues = weir__queues_create(4, 0);
  uint32_t used[4] = {0};
  for (int i = 0; i < 40; i++) used[weir__queues_issue(queues, NULL, 0, WEIR__ANY_QUEUE).queue]++;
  for (int i = 0; i < 4; i++) assert_int_equal(used[i], 10);
  weir__queues_destroy(queues);
}

// Behind a task that stalls its queue comes only what comes after it, whatever others want, until it is done.
static void who_stalls_is_alone(void **state) {
  (void)state;
  enum { QUEUES = 4, SPECIAL = 1 };
  weir__queues *queues = weir__queues_create(QUEUES, SPECIAL);
  assert_non_null(queues);
  weir__queue_task *before = weir__queues_issue(queues, NULL, 0, 2).task;
  assert_int_equal(weir__queues_quietest(queues, 0, 3), 0);
  assert_int_equal(weir__queues_quietest(queues, 2, 3), 2);
  weir__queue_task *stalls = weir__queues_issue(queues, NULL, 0, 2).task;
  weir__queues_stall(queues, stalls);
  assert_int_equal(weir__queues_quietest(queues, 2, 3), WEIR__ANY_QUEUE);
  for (uint32_t i = 0; i < 40; i++) {
    weir__queue_choice choice =
        weir__queues_issue(queues, i % 4 == 0 ? &before : NULL, i % 4 == 0, i % 3 == 0 ? 2 : WEIR__ANY_QUEUE);
    assert_int_not_equal(choice.queue, 2);
    assert_in_range(choice.queue, 0, 1);
  }
  assert_int_equal(weir__queues_issue(queues, &stalls, 1, WEIR__ANY_QUEUE).queue, 2);
  weir__queues_done(queues, before);
  assert_int_equal(weir__queues_quietest(queues, 2, 3), WEIR__ANY_QUEUE);
  weir__queues_done(queues, stalls);
  assert_int_equal(weir__queues_issue(queues, NULL, 0, WEIR__ANY_QUEUE).queue, 2);
  assert_int_equal(weir__queues_issue(queues, NULL, 0, 2).queue, 2);
  weir__queues_destroy(queues);
}

static void memory_that_fails_changes_nothing(void **state) {
  (void)state;
  for (uint64_t n = 1; n <= 4; n++) {
    weir__allocate_fail_at(n);
    weir__queues *queues = weir__queues_create(2, 0);
    weir__queue_choice choice = {0};
    if (queues != NULL) choice = weir__queues_issue(queues, NULL, 0, WEIR__ANY_QUEUE);
    weir__allocate_fail_at(0);
    if (queues == NULL) continue;
    if (choice.task == NULL) choice = weir__queues_issue(queues, NULL, 0, WEIR__ANY_QUEUE);
    assert_non_null(choice.task);
    assert_int_equal(choice.task->sequence, 1);
    weir__queues_destroy(queues);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(all_small_graphs),
      cmocka_unit_test(a_chain_stays_in_its_queue),
      cmocka_unit_test(independent_tasks_use_all_queues),
      cmocka_unit_test(who_stalls_is_alone),
      cmocka_unit_test(memory_that_fails_changes_nothing),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
