// SPDX-License-Identifier: Apache-2.0
//
// Lanes of enqueue functions in graphs: on random graphs, calls with the same lane are in order, and no more lanes are
// used than are of use. On a tiled Cholesky factorisation, what lanes add to the order takes no longer than no lanes at
// all.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/allocate.h"
#include "device/cuda/graph/capture.h"
#include "random.h"

enum { MOST = 1024, MOST_EDGES = 8 * MOST, LANES = WEIR__CUDA_SET_LANES, SET = 2, QUEUES = 18 };

typedef struct scene {
  weir__host host;
  weir__cuda_device device;
  weir__enqueue enqueue;
  weir__cuda_call_step calls[MOST];
  uint32_t count, order[MOST], predecessors[MOST_EDGES];
  uint64_t first[MOST + 1];
  double time[MOST];
} scene;

static scene *make_scene(void) {
  scene *s = calloc(1, sizeof *s);
  assert_non_null(s);
  s->device.base.device.host = &s->host;
  s->device.queue_count = QUEUES;
  return s;
}

static void add_step(scene *s, bool calls, double time) {
  s->calls[s->count] = (weir__cuda_call_step){.enqueue = calls ? &s->enqueue : NULL};
  s->time[s->count++] = time;
  s->first[s->count] = s->first[s->count - 1];
}

// The step that was added last comes after this one.
static void add_edge(scene *s, uint32_t predecessor) {
  assert_true(s->first[s->count] < MOST_EDGES && predecessor < s->count - 1);
  s->predecessors[s->first[s->count]++] = predecessor;
}

static void assign(scene *s) {
  assert_true(weir__cuda_assign_lanes(&s->device, s->calls, s->count, s->first, s->predecessors, SET, s->order));
}

// ---------------------------------------------------------------------------------------------------------------
// What holds for all

static bool calls(const scene *s, uint32_t step) {
  return s->calls[step].enqueue != NULL;
}

// Returns how many lanes there are. Calls of one lane are in order, by edges and those that were added for lanes.
static uint32_t check(const scene *s) {
  static bool before[MOST][MOST];
  static uint32_t place[MOST];
  uint32_t used = 0, last[LANES], base = QUEUES + WEIR__CUDA_LATE_QUEUES + SET * LANES;
  memset(before, 0, sizeof before);
  memset(place, 0xff, sizeof place);
  for (uint32_t i = 0; i < LANES; i++) last[i] = UINT32_MAX;
  for (uint32_t k = 0; k < s->count; k++) {
    uint32_t step = s->order[k];
    assert_true(step < s->count && place[step] == UINT32_MAX);
    place[step] = k;
    for (uint64_t j = s->first[step]; j < s->first[step + 1]; j++) {
      uint32_t p = s->predecessors[j];
      assert_true(place[p] < k);
      for (uint32_t i = 0; i < s->count; i++) before[step][i] = before[step][i] || before[p][i];
      before[step][p] = true;
    }
    if (!calls(s, step)) continue;
    uint32_t lane = s->calls[step].lane - base, after = s->calls[step].after;
    assert_true(lane < LANES);
    used += last[lane] == UINT32_MAX;
    // An edge is added where it is needed, and only there.
    if (last[lane] == UINT32_MAX || before[step][last[lane]]) {
      assert_int_equal(after, WEIR__CUDA_NO_STEP);
    } else {
      assert_int_equal(after, last[lane]);
      for (uint32_t i = 0; i < s->count; i++) before[step][i] = before[step][i] || before[after][i];
      before[step][after] = true;
    }
    last[lane] = step;
  }
  return used;
}

static void test_random(void **state) {
  (void)state;
  const char *given = getenv("WEIR_TEST_SEED");
  random_state random = {.value = given != NULL ? strtoull(given, NULL, 10) : 1};
  print_message("seed %llu\n", (unsigned long long)random.value);
#ifdef WEIR_SMALL_TESTS
  enum { GRAPHS = 60 };
#else
  enum { GRAPHS = 600 };
#endif
  for (uint32_t round = 0; round < GRAPHS; round++) {
    scene *s = make_scene();
    s->host.seed = round % 3 == 0 ? 0 : round;
    uint32_t count = 1 + random_below(&random, 150), reach = 1 + random_below(&random, 40);
    for (uint32_t i = 0; i < count; i++) {
      add_step(s, random_below(&random, 4) != 0, 1);
      for (uint32_t edges = random_below(&random, 4); edges > 0 && i > 0; edges--)
        add_edge(s, i - 1 - random_below(&random, i < reach ? i : reach));
    }
    assign(s);
    assert_true(check(s) <= LANES);
    free(s);
  }
}

// Takes turns with memory that is not there.
static void test_memory(void **state) {
  (void)state;
  scene *s = make_scene();
  for (uint32_t i = 0; i < 20; i++) add_step(s, true, 1);
  for (uint64_t nth = 1; nth <= 4; nth++) {
    weir__allocate_fail_at(nth);
    assert_false(weir__cuda_assign_lanes(&s->device, s->calls, s->count, s->first, s->predecessors, SET, s->order));
  }
  weir__allocate_fail_at(0);
  assign(s);
  free(s);
}

// ---------------------------------------------------------------------------------------------------------------
// How many lanes

static uint32_t lanes_of(scene *s) {
  assign(s);
  uint32_t used = check(s);
  free(s);
  return used;
}

static uint32_t chains(uint32_t width, uint32_t length) {
  scene *s = make_scene();
  for (uint32_t i = 0; i < width * length; i++) {
    add_step(s, true, 1);
    if (i >= width) add_edge(s, i - width);
  }
  return lanes_of(s);
}

// Blocks of branches of one to four calls that are joined.
static uint32_t blocks(uint32_t branches) {
  scene *s = make_scene();
  uint32_t join = UINT32_MAX;
  for (uint32_t block = 0; block < 5; block++) {
    uint32_t ends[LANES];
    for (uint32_t i = 0; i < branches; i++) {
      for (uint32_t j = 0; j <= i % 4; j++) {
        add_step(s, true, 1);
        if (j > 0) add_edge(s, s->count - 2);
        if (j == 0 && join != UINT32_MAX) add_edge(s, join);
      }
      ends[i] = s->count - 1;
    }
    add_step(s, true, 1);
    for (uint32_t i = 0; i < branches; i++) add_edge(s, ends[i]);
    join = s->count - 1;
  }
  return lanes_of(s);
}

// A chain of 100 of which each call has one beside it, and nothing after that.
static uint32_t chain_with_twigs(void) {
  scene *s = make_scene();
  for (uint32_t i = 0; i < 200; i++) {
    add_step(s, true, 1);
    if (i >= 2) add_edge(s, (i - 2) / 2 * 2);
  }
  return lanes_of(s);
}

static void test_numbers(void **state) {
  (void)state;
  assert_int_equal(chains(1, 50), 1);
  assert_int_equal(chains(5, 20), 5);
  assert_int_equal(chains(12, 20), 12);
  assert_int_equal(chains(60, 5), LANES);
  assert_int_equal(blocks(4), 4);
  assert_int_equal(blocks(11), 11);
  assert_int_equal(chain_with_twigs(), 8); // two are of use; so few cost little
}

// ---------------------------------------------------------------------------------------------------------------
// How long

enum { TILES = 16, AT_ONCE = 16 };

static uint32_t tile(uint32_t i, uint32_t j) {
  return i * (i + 1) / 2 + j;
}

static void update(scene *s, uint32_t *last, double time, uint32_t out, uint32_t a, uint32_t b) {
  add_step(s, true, time);
  if (a != UINT32_MAX) add_edge(s, last[a]);
  if (b != UINT32_MAX) add_edge(s, last[b]);
  if (last[out] != UINT32_MAX) add_edge(s, last[out]);
  last[out] = s->count - 1;
}

// The factorisation, with these times of its kernels.
static scene *cholesky(double potrf, double trsm, double gemm) {
  scene *s = make_scene();
  uint32_t last[TILES * (TILES + 1) / 2], none = UINT32_MAX;
  memset(last, 0xff, sizeof last);
  for (uint32_t k = 0; k < TILES; k++) {
    update(s, last, potrf, tile(k, k), none, none);
    for (uint32_t i = k + 1; i < TILES; i++) update(s, last, trsm, tile(i, k), tile(k, k), none);
    for (uint32_t i = k + 1; i < TILES; i++) {
      for (uint32_t j = k + 1; j < i; j++) update(s, last, gemm, tile(i, j), tile(i, k), tile(j, k));
      update(s, last, gemm, tile(i, i), tile(i, k), none);
    }
  }
  return s;
}

// When all is done, on a card that runs so many at the same time, in the order in which they become ready.
static double run(const scene *s, bool lanes) {
  static uint32_t waits[MOST], queue[MOST], running[AT_ONCE];
  double ends[AT_ONCE], now = 0;
  uint32_t begun = 0, ready = 0, busy = 0;
  for (uint32_t i = 0; i < s->count; i++) {
    waits[i] = (uint32_t)(s->first[i + 1] - s->first[i]) + (lanes && s->calls[i].after != WEIR__CUDA_NO_STEP);
    if (waits[i] == 0) queue[ready++] = i;
  }
  while (begun < ready || busy > 0) {
    for (; busy < AT_ONCE && begun < ready; busy++) {
      running[busy] = queue[begun++];
      ends[busy] = now + s->time[running[busy]];
    }
    uint32_t next = 0;
    for (uint32_t i = 1; i < busy; i++)
      if (ends[i] < ends[next]) next = i;
    uint32_t done = running[next];
    now = ends[next];
    running[next] = running[--busy];
    ends[next] = ends[busy];
    for (uint32_t i = 0; i < s->count; i++) {
      for (uint64_t j = s->first[i]; j < s->first[i + 1]; j++)
        if (s->predecessors[j] == done && --waits[i] == 0) queue[ready++] = i;
      if (lanes && s->calls[i].after == done && --waits[i] == 0) queue[ready++] = i;
    }
  }
  assert_int_equal(ready, s->count);
  return now;
}

static void test_cholesky(void **state) {
  (void)state;
  static const double TIMES[][3] = {{1, 1, 1}, {8, 2, 1}, {4, 4, 1}};
  for (size_t i = 0; i < sizeof TIMES / sizeof TIMES[0]; i++) {
    scene *s = cholesky(TIMES[i][0], TIMES[i][1], TIMES[i][2]);
    assign(s);
    assert_int_equal(check(s), LANES);
    assert_true(run(s, true) <= run(s, false));
    free(s);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_random), cmocka_unit_test(test_memory),
                                     cmocka_unit_test(test_numbers), cmocka_unit_test(test_cholesky)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
