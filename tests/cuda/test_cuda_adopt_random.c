// SPDX-License-Identifier: Apache-2.0
//
// Random graphs that are adopted have the results of their nodes one at a time, in between other tasks, with every way to issue.
// What is said of each node is the truth, in random pieces, or nothing.
#include <stdlib.h>
#include <string.h>

#include "adopt.h"
#include "random.h"

enum { AREAS = 3, WORDS = 192, MOST_RANGE = 24, LAUNCHES = 3, CPU_TASKS = 40 };

#ifdef WEIR_SMALL_TESTS
enum { GRAPHS = 6, MOST_NODES = 60 };
#else
enum { GRAPHS = 40, MOST_NODES = 200 };
#endif

typedef enum op_kind { STEP, SET, SUM, COPY, FILL, OPS } op_kind;

// Words [to, to + count) of an area, and what they are made of.
typedef struct op {
  op_kind kind;
  uint32_t to_area, to, count, value;
  uint32_t from_area[2], from[2];
} op;

// Area 0 is the graph's alone, 1 is a buffer of the caller's, and of 2 a part is.
typedef struct world {
  share *s;
  random_state random;
  CUdeviceptr memory[AREAS];
  uint32_t model[AREAS][WORDS];
  weir_buffer *buffers[2];
  uint32_t part, part_words; // of area 2
} world;

static uint32_t below(world *w, uint32_t bound) {
  return random_below(&w->random, bound);
}

static CUdeviceptr address(const world *w, uint32_t area, uint32_t word) {
  return w->memory[area] + word * sizeof(uint32_t);
}

static op random_op(world *w) {
  op o = {.kind = (op_kind)below(w, OPS), .count = 1 + below(w, MOST_RANGE), .value = below(w, 1000)};
  o.to_area = below(w, AREAS);
  o.to = below(w, WORDS - o.count + 1);
  for (int i = 0; i < 2; i++) {
    o.from_area[i] = below(w, AREAS);
    o.from[i] = below(w, WORDS - o.count + 1);
  }
  bool overlaps = o.from_area[0] == o.to_area && o.from[0] < o.to + o.count && o.to < o.from[0] + o.count;
  if (o.kind == COPY && overlaps) o.kind = SUM;
  return o;
}

static void apply(world *w, const op *o) {
  uint32_t *to = w->model[o->to_area] + o->to;
  const uint32_t *a = w->model[o->from_area[0]] + o->from[0], *b = w->model[o->from_area[1]] + o->from[1];
  for (uint32_t i = 0; i < o->count; i++) {
    if (o->kind == STEP) to[i] = stepped(to[i], o->value);
    if (o->kind == SET) to[i] = o->value + i;
    if (o->kind == SUM) to[i] = a[i] + b[i];
    if (o->kind == COPY) to[i] = a[i];
    if (o->kind == FILL) to[i] = o->value;
  }
}

static void add_node(const world *w, chain *c, const op *o) {
  CUdeviceptr to = address(w, o->to_area, o->to), a = address(w, o->from_area[0], o->from[0]),
              b = address(w, o->from_area[1], o->from[1]);
  switch (o->kind) {
  case STEP:
    chain_step(c, to, o->count, o->value);
    break;
  case SET:
    chain_set(c, to, o->count, o->value);
    break;
  case SUM:
    chain_sum(c, to, a, b, o->count);
    break;
  case COPY:
    chain_copy(c, to, a, o->count * sizeof(uint32_t));
    break;
  case FILL:
  case OPS:
    chain_fill(c, to, o->count, o->value);
    break;
  }
}

// In one piece, or two that may overlap where that says the same.
static void say(world *w, chain *c, CUdeviceptr pointer, uint32_t words, weir_mode mode) {
  uint32_t cut = below(w, words + 1), again = mode == WEIR_WRITE || cut == 0 ? 0 : below(w, cut);
  if (below(w, 2) == 0) {
    chain_say(c, pointer, words * sizeof(uint32_t), mode);
    return;
  }
  chain_say(c, pointer + (cut - again) * sizeof(uint32_t), (words - cut + again) * sizeof(uint32_t), mode);
  chain_say(c, pointer, cut * sizeof(uint32_t), mode);
}

static void describe(world *w, chain *c, const op *o) {
  bool known = o->kind == COPY || o->kind == FILL, more = below(w, 8) == 0; // more than the truth
  if (below(w, 10) == 0 || (known && below(w, 2) == 0)) return;
  say(w, c, address(w, o->to_area, o->to), o->count, o->kind == STEP || more ? WEIR_READ_WRITE : WEIR_WRITE);
  for (uint32_t i = 0; i < (o->kind == SUM ? 2 : o->kind == COPY ? 1 : 0); i++)
    say(w, c, address(w, o->from_area[i], o->from[i]), o->count, WEIR_READ);
}

static void check(const world *w) {
  uint32_t numbers[WORDS];
  for (uint32_t i = 0; i < AREAS; i++) {
    share_read(w->s, numbers, w->memory[i], WORDS);
    for (uint32_t j = 0; j < WORDS; j++)
      if (numbers[j] != w->model[i][j])
        fail_msg("seed %llu: word %u of area %u is %u, not %u", (unsigned long long)w->random.value, j, i, numbers[j],
                 w->model[i][j]);
  }
}

// A task on one of the caller's buffers, on one of the devices.
static void submit_other(world *w, uint32_t *cpu_tasks) {
  uint32_t which = below(w, 2), words = which == 0 ? WORDS : w->part_words, value = below(w, 1000);
  uint32_t *model = which == 0 ? w->model[1] : w->model[2] + w->part, count = 1 + below(w, words);
  bool on_cpu = below(w, 4) == 0 && (*cpu_tasks)++ < CPU_TASKS;
  share_submit(w->s, w->s->step, on_cpu ? w->s->cpu : w->s->cuda, w->buffers[which], count, value, NULL);
  for (uint32_t i = 0; i < count; i++) model[i] = stepped(model[i], value);
}

static void run_graph(world *w, uint32_t *cpu_tasks) {
  static chain c;
  op ops[MOST_NODES];
  uint32_t count = 1 + below(w, MOST_NODES);
  weir_graph *graph;
  chain_begin(w->s, &c);
  for (uint32_t i = 0; i < count; i++) {
    ops[i] = random_op(w);
    add_node(w, &c, &ops[i]);
    describe(w, &c, &ops[i]);
  }
  graph =
      chain_adopt(&c, (weir_cuda_adopt_options){.buffers = w->buffers, .buffer_count = 2, .timing = below(w, 4) == 0});
  for (uint32_t i = 0; i < LAUNCHES; i++) {
    for (uint32_t j = below(w, 3); j > 0; j--) submit_other(w, cpu_tasks);
    share_ok(weir_graph_launch(graph, NULL));
    for (uint32_t j = 0; j < count; j++) apply(w, &ops[j]);
    if (below(w, 3) == 0) share_ok(weir_finish(w->s->context));
  }
  if (below(w, 2) == 0) share_ok(weir_finish(w->s->context));
  share_ok(weir_graph_release(graph)); // perhaps in flight
  share_ok(weir_finish(w->s->context));
  check(w);
}

static void random_graphs(share *s) {
  const char *text = getenv("WEIR_TEST_SEED");
  world w = {.s = s, .random = {text != NULL ? strtoull(text, NULL, 0) : 1}, .part = 40, .part_words = 60};
  uint32_t cpu_tasks = 0;
  w.random.value += 977 * (uint64_t)s->issue;
  for (uint32_t i = 0; i < AREAS; i++) {
    w.memory[i] = share_allocate(s, WORDS);
    share_write(s, w.memory[i], w.model[i], WORDS);
  }
  share_ok(weir_buffer_wrap_cuda(s->cuda, w.memory[1], sizeof w.model[1], &w.buffers[0]));
  share_ok(weir_buffer_wrap_cuda(s->cuda, address(&w, 2, w.part), w.part_words * sizeof(uint32_t), &w.buffers[1]));
  for (uint32_t i = 0; i < GRAPHS; i++) run_graph(&w, &cpu_tasks);
  for (uint32_t i = 0; i < 2; i++) share_ok(weir_buffer_release(w.buffers[i]));
  for (uint32_t i = 0; i < AREAS; i++) share_free(s, w.memory[i]);
}

static void test_random(void **state) {
  (void)state;
  share_run("cuda,cpu:2", random_graphs);
}

static void test_resident(void **state) {
  (void)state;
  share_run_with(&(weir_context_options){.devices = "cuda,cpu:2", .issue = WEIR_ISSUE_RESIDENT}, random_graphs);
}

static void test_traced(void **state) {
  (void)state;
  share_run_with(&(weir_context_options){.devices = "cuda,cpu:2", .flags = WEIR_CONTEXT_TRACE}, random_graphs);
}

static void test_in_order(void **state) {
  (void)state;
  share_run_with(&(weir_context_options){.devices = "cuda,cpu:2", .flags = WEIR_CONTEXT_IN_ORDER}, random_graphs);
}

static void test_checked(void **state) {
  (void)state;
  share_run_with(&(weir_context_options){.devices = "cuda,cpu:2", .flags = WEIR_CONTEXT_CHECK}, random_graphs);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_random), cmocka_unit_test(test_resident),
                                     cmocka_unit_test(test_traced), cmocka_unit_test(test_in_order),
                                     cmocka_unit_test(test_checked)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
