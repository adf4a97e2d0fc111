// SPDX-License-Identifier: Apache-2.0
//
// Items leave a heap by their times, and those of one time in the order in which they came, however adding and taking
// alternate.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "cluster/heap.h"
#include "random.h"

enum { ITEMS = 300, TIMES = 40 };

typedef struct model {
  double at[ITEMS];
  bool there[ITEMS];
  uint32_t added;
} model;

static uint32_t first_of(const model *m) {
  uint32_t first = UINT32_MAX;
  for (uint32_t i = 0; i < m->added; i++) {
    if (m->there[i] && (first == UINT32_MAX || m->at[i] < m->at[first])) first = i;
  }
  return first;
}

static void add(weir__cluster_heap *heap, model *m, random_state *random) {
  static const double scales[] = {0, 1e-9, 0.75, 1e300};
  m->at[m->added] = random_below(random, TIMES) * scales[random_below(random, 4)];
  m->there[m->added] = true;
  assert_true(weir__cluster_heap_add(heap, m->at[m->added], (weir__cluster_item){.index = m->added}));
  m->added++;
}

static void take(weir__cluster_heap *heap, model *m) {
  uint32_t first = first_of(m);
  weir__cluster_item item = weir__cluster_heap_take(heap);
  assert_int_equal(item.index, first);
  assert_true(weir__cluster_item_at(&item) == m->at[first]);
  m->there[first] = false;
}

static void test_order(void **state) {
  (void)state;
  for (uint64_t seed = 1; seed <= 30; seed++) {
    random_state random = {seed};
    weir__cluster_heap heap = {0};
    model m = {.added = 0};
    while (m.added < ITEMS) {
      if (heap.count > 0 && random_chance(&random, 40))
        take(&heap, &m);
      else
        add(&heap, &m, &random);
    }
    while (heap.count > 0) take(&heap, &m);
    assert_int_equal(first_of(&m), UINT32_MAX);
    free(heap.items);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_order)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
