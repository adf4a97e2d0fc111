// SPDX-License-Identifier: Apache-2.0
//
// Operations: taken, given back, found by their tasks; lists; memory that is missing.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/allocate.h"
#include "device/host.h"
#include "issue/operations.h"

enum { WINDOW = 16, MANY = 1000 };

typedef struct own {
  weir__operation head;
  uint64_t values[5];
} own;

static void nothing_is_ready(void *user, weir__task *task) {
  (void)user;
  (void)task;
}

static void test_taken(void **state) {
  (void)state;
  weir__operations operations = {0};
  weir__operation *taken[MANY];
  assert_true(weir__operations_initialize(&operations, sizeof(own), WINDOW));
  for (uint64_t i = 0; i < MANY; i++) {
    taken[i] = weir__operations_take(&operations);
    assert_non_null(taken[i]);
    own *mine = (own *)(void *)taken[i];
    for (int j = 0; j < 5; j++) assert_int_equal(mine->values[j], 0);
    for (int j = 0; j < 5; j++) mine->values[j] = i;
    memset(taken[i]->message, (int)(i % 256), WEIR__MESSAGE_BYTES);
  }
  for (uint64_t i = 0; i < MANY; i++) { // none overlaps another
    const own *mine = (const own *)(const void *)taken[i];
    for (int j = 0; j < 5; j++) assert_int_equal(mine->values[j], i);
    assert_int_equal((unsigned char)taken[i]->message[WEIR__MESSAGE_BYTES - 1], i % 256);
  }
  taken[3]->status = WEIR_ERROR_TASK_FAILED;
  weir__operations_give(&operations, taken[3]);
  assert_ptr_equal(weir__operations_take(&operations), taken[3]);
  assert_int_equal(taken[3]->status, WEIR_OK);
  weir__operations_deinitialize(&operations);
}

// An operation is that of its task until the slot's next task.
static void test_found(void **state) {
  (void)state;
  weir__window window = {0};
  weir__operations operations = {0};
  assert_true(weir__window_initialize(&window, WINDOW, nothing_is_ready, NULL));
  assert_true(weir__operations_initialize(&operations, sizeof(own), WINDOW));
  weir__operation *first = weir__operations_take(&operations), *second = weir__operations_take(&operations);
  weir__queue_task first_place, second_place;
  first->place = &first_place;
  second->place = &second_place;
  window.tasks[5].id = 5;
  window.tasks[6].id = WINDOW + 6;
  weir__operations_set(&operations, 5, first);
  weir__operations_set(&operations, WINDOW + 6, second);
  assert_ptr_equal(weir__operations_find(&operations, &window, 5), first);
  assert_ptr_equal(weir__operations_find(&operations, &window, WINDOW + 6), second);
  assert_null(weir__operations_find(&operations, &window, WINDOW + 5));
  assert_null(weir__operations_find(&operations, &window, 7));
  weir__id predecessors[] = {7, 5, WINDOW + 5, WINDOW + 6};
  const weir__task task = {.predecessors = predecessors, .predecessor_count = 4};
  uint32_t count = 0;
  assert_true(weir__operations_find_predecessors(&operations, &window, &task, &count));
  assert_int_equal(count, 2);
  assert_ptr_equal(operations.places[0], &first_place);
  assert_ptr_equal(operations.places[1], &second_place);
  weir__operations_set(&operations, 5, NULL);
  assert_null(weir__operations_find(&operations, &window, 5));
  weir__operations_deinitialize(&operations);
  weir__window_deinitialize(&window);
}

static void test_places(void **state) {
  (void)state;
  weir__operations operations = {0};
  weir__queue_task place;
  assert_true(weir__operations_initialize(&operations, sizeof(own), WINDOW));
  operations.places[0] = &place;
  for (uint32_t count = 1; count < 5000; count *= 3) {
    assert_true(weir__operations_reserve_places(&operations, count));
    assert_ptr_equal(operations.places[0], &place);
    operations.places[count] = &place; // there is room for one more
  }
  weir__allocate_fail_at(1);
  assert_false(weir__operations_reserve_places(&operations, MANY * MANY));
  weir__allocate_fail_at(0);
  assert_ptr_equal(operations.places[0], &place);
  weir__operations_deinitialize(&operations);
}

static void test_list(void **state) {
  (void)state;
  weir__operation operations[3] = {0};
  weir__operation_list list = {0};
  for (int round = 0; round < 2; round++) {
    for (int i = 0; i < 3; i++) weir__operation_list_append(&list, &operations[i]);
    assert_ptr_equal(list.last, &operations[2]);
    for (int i = 0; i < 3; i++) assert_ptr_equal(weir__operation_list_pop(&list), &operations[i]);
    assert_null(list.first);
    assert_null(list.last);
  }
}

// Each allocation fails once: what could be made is given back.
static void test_no_memory(void **state) {
  (void)state;
  uint64_t failures = 0;
  for (uint64_t n = 1;; n++) {
    weir__operations operations = {0};
    weir__allocate_fail_at(n);
    bool good =
        weir__operations_initialize(&operations, sizeof(own), WINDOW) && weir__operations_take(&operations) != NULL;
    weir__allocate_fail_at(0);
    weir__operations_deinitialize(&operations);
    if (good) break;
    failures++;
  }
  assert_int_equal(failures, 3); // slots, places, a slab
}

int main(void) {
  const struct CMUnitTest all[] = {
      cmocka_unit_test(test_taken), cmocka_unit_test(test_found),     cmocka_unit_test(test_places),
      cmocka_unit_test(test_list),  cmocka_unit_test(test_no_memory),
  };
  return cmocka_run_group_tests(all, NULL, NULL);
}
