// SPDX-License-Identifier: Apache-2.0
//
// Random graphs against brute force: which nodes come before which, what is left out of the edges, and what is poisoned and what
// is written where tasks and nodes fail, as if all ran one after another.
#include <stdatomic.h>
#include <string.h>

#include "api.h"
#include "graph/plan.h"
#include "part.h"
#include "random.h"
#include "weir/box.h"
#include "weir/graph.h"
#include "weir/sim.h"

enum { BUFFERS = 3, BYTES = 48, ARGS = 3, MOST = 320, WORDS = MOST / 64, SMALL = 40, PARTS = 4 };

typedef struct place {
  uint32_t buffer, offset;
  weir_mode mode;
  weir_box box;
  uint64_t mask; // of its bytes
} place;

typedef struct step {
  place places[ARGS];
  uint32_t place_count, number;
  bool fails;
  uint64_t reads[BUFFERS], writes[BUFFERS];
} step;

static struct {
  random_state random;
  weir_context *context;
  weir_kernel *kernel;
  weir_buffer *buffers[BUFFERS];
  uint64_t poison[BUFFERS];
  uint8_t bytes[BUFFERS][BYTES];
} self;

static uint32_t below(uint32_t bound) {
  return random_below(&self.random, bound);
}

static uint64_t bits(uint32_t lo, uint32_t count) {
  return ((UINT64_C(1) << count) - 1) << lo;
}

static uint64_t row_offset(const weir_box *box, uint64_t row) {
  return row / box->rows * box->slice_pitch + row % box->rows * box->pitch;
}

static place make_place(bool boxes) {
  place made = {.buffer = below(BUFFERS), .mode = (weir_mode[]){WEIR_READ, WEIR_WRITE, WEIR_READ_WRITE}[below(3)]};
  weir_box *box = &made.box;
  *box = (weir_box){.width = 1 + below(4), .rows = 1, .slices = 1};
  if (boxes && below(3) == 0) {
    box->pitch = box->width + below(3);
    box->rows = 1 + below(3);
    if (below(3) == 0) {
      box->slices = 2;
      box->slice_pitch = box->rows * box->pitch + below(3);
    }
  } else if (below(4) == 0) {
    box->width = 1 + below(BYTES - 1);
  }
  uint64_t last = row_offset(box, box->rows * box->slices - 1) + box->width;
  made.offset = below((uint32_t)(BYTES - last + 1));
  for (uint64_t row = 0; row < box->rows * box->slices; row++)
    made.mask |= bits(made.offset + (uint32_t)row_offset(box, row), (uint32_t)box->width);
  return made;
}

static step make_step(uint32_t number, bool boxes, uint32_t one_fails_of) {
  step made = {.number = number, .fails = one_fails_of > 0 && below(one_fails_of) == 0};
  for (uint32_t i = 0, wanted = 1 + below(ARGS); i < wanted; i++) {
    place added = make_place(boxes);
    if ((made.reads[added.buffer] | made.writes[added.buffer]) & added.mask) continue;
    if (added.mode != WEIR_WRITE) made.reads[added.buffer] |= added.mask;
    if (added.mode != WEIR_READ) made.writes[added.buffer] |= added.mask;
    made.places[made.place_count++] = added;
  }
  return made;
}

static void run_step(const weir_work *work) {
  const step *mine = work->user;
  if (mine->fails) {
    weir_work_fail(work, "on purpose");
    return;
  }
  uint8_t sum = (uint8_t)mine->number;
  for (int writing = 0; writing < 2; writing++) {
    for (uint32_t i = 0; i < mine->place_count; i++) {
      const place *at = &mine->places[i];
      if (at->mode == (writing ? WEIR_READ : WEIR_WRITE)) continue;
      uint8_t *first = work->args[i];
      for (uint64_t row = 0; row < at->box.rows * at->box.slices; row++) {
        for (uint64_t j = 0; j < at->box.width; j++) {
          uint8_t *byte = first + row_offset(&at->box, row) + j;
          if (writing)
            *byte = sum;
          else
            sum = (uint8_t)(sum + *byte);
        }
      }
    }
  }
}

static void model_step(const step *mine) {
  uint8_t sum = (uint8_t)mine->number;
  bool bad = mine->fails;
  for (uint32_t i = 0; i < BUFFERS; i++) {
    bad = bad || (self.poison[i] & mine->reads[i]) != 0;
    for (uint32_t j = 0; j < BYTES; j++) {
      if (mine->reads[i] >> j & 1) sum = (uint8_t)(sum + self.bytes[i][j]);
    }
  }
  for (uint32_t i = 0; i < BUFFERS; i++) {
    self.poison[i] = bad ? self.poison[i] | mine->writes[i] : self.poison[i] & ~mine->writes[i];
    for (uint32_t j = 0; j < BYTES && !bad; j++) {
      if (mine->writes[i] >> j & 1) self.bytes[i][j] = sum;
    }
  }
}

static void set_args(const step *mine, weir_arg *args) {
  for (uint32_t i = 0; i < mine->place_count; i++) {
    const place *at = &mine->places[i];
    weir_buffer *buffer = self.buffers[at->buffer];
    bool box = at->box.rows * at->box.slices > 1;
    if (at->mode == WEIR_READ)
      args[i] =
          box ? weir_reads_box(buffer, at->offset, &at->box) : weir_reads_range(buffer, at->offset, at->box.width);
    else if (at->mode == WEIR_WRITE)
      args[i] =
          box ? weir_writes_box(buffer, at->offset, &at->box) : weir_writes_range(buffer, at->offset, at->box.width);
    else
      args[i] =
          box ? weir_updates_box(buffer, at->offset, &at->box) : weir_updates_range(buffer, at->offset, at->box.width);
  }
}

static void give(weir_graph *graph, step *mine) {
  weir_arg args[ARGS];
  set_args(mine, args);
  weir_task task = {.kernel = self.kernel, .user = mine, .args = args, .arg_count = mine->place_count};
  weir_status status = graph != NULL ? weir_graph_add(graph, &task, NULL) : weir_submit(self.context, &task, NULL);
  if (status != WEIR_OK) fail_msg("%s", weir_last_error());
}

// ---------------------------------------------------------------------------------------------------------------

static bool conflict(const step *a, const step *b) {
  uint64_t common = 0;
  for (uint32_t i = 0; i < BUFFERS; i++)
    common |= (a->writes[i] & (b->reads[i] | b->writes[i])) | (a->reads[i] & b->writes[i]);
  return common != 0;
}

static uint64_t wanted[MOST][WORDS], found[MOST][WORDS];

static void join(uint64_t (*before)[WORDS], uint32_t node, uint32_t predecessor) {
  for (uint32_t i = 0; i < WORDS; i++) before[node][i] |= before[predecessor][i];
  before[node][predecessor / 64] |= UINT64_C(1) << predecessor % 64;
}

// Whether other predecessors of the node come after this one.
static bool is_implied(const weir__graph_plan *plan, uint32_t node, uint32_t predecessor) {
  for (uint32_t i = 0; i < plan->nodes[node].predecessor_count; i++) {
    uint32_t other = plan->predecessors[plan->nodes[node].first_predecessor + i];
    if (found[other][predecessor / 64] >> predecessor % 64 & 1) return true;
  }
  return false;
}

static void check_plan(const weir_graph *graph, const step *steps, uint32_t count) {
  const weir__graph_plan *plan = graph->plan;
  memset(wanted, 0, sizeof wanted);
  memset(found, 0, sizeof found);
  for (uint32_t i = 0; i < count; i++) {
    for (uint32_t j = 0; j < i; j++) {
      if (conflict(&steps[j], &steps[i])) join(wanted, i, j);
    }
    const weir__graph_node *node = &plan->nodes[i];
    for (uint32_t j = 0; j < node->predecessor_count; j++) {
      uint32_t predecessor = plan->predecessors[node->first_predecessor + j];
      assert_true(predecessor < i && conflict(&steps[predecessor], &steps[i]));
      if (count <= SMALL) assert_false(is_implied(plan, i, predecessor));
      join(found, i, predecessor);
    }
    assert_memory_equal(wanted[i], found[i], sizeof wanted[i]);
  }
}

static void check_bytes(const char *devices, uint64_t seed) {
  (void)weir_finish(self.context);
  for (uint32_t i = 0; i < BUFFERS; i++) {
    for (uint32_t j = 0; j < BYTES; j++) {
      uint8_t byte = 0;
      bool poisoned = self.poison[i] >> j & 1;
      weir_status status = api_read(self.buffers[i], j, 1, &byte);
      if (status != (poisoned ? WEIR_ERROR_UPSTREAM_FAILED : WEIR_OK))
        fail_msg("%s, seed %u, buffer %u, byte %u: %s", devices, (uint32_t)seed, i, j, weir_status_name(status));
      if (!poisoned && byte != self.bytes[i][j])
        fail_msg("%s, seed %u, buffer %u, byte %u: %u, not %u", devices, (uint32_t)seed, i, j, byte, self.bytes[i][j]);
    }
  }
}

static void set_up(const char *devices, uint64_t seed) {
  self.random = (random_state){seed};
  self.context = api_context(devices, 0, 0);
  self.kernel = api_kernel(self.context, "step", run_step);
  assert_int_equal(weir_kernel_set_sim(self.kernel, &(weir_sim_launch){.us = 1, .threads = 32}, 1), WEIR_OK);
  memset(self.poison, 0, sizeof self.poison);
  memset(self.bytes, 0, sizeof self.bytes);
  for (uint32_t i = 0; i < BUFFERS; i++) {
    self.buffers[i] = api_buffer(self.context, BYTES, NULL);
    assert_int_equal(weir_fill(self.buffers[i], 0, BYTES, 0, NULL), WEIR_OK);
  }
}

static void run_program(const char *devices, uint64_t seed) {
  static step steps[PARTS][MOST], tasks[PARTS];
  set_up(devices, seed);
  uint32_t fails = below(3) == 0 ? 0 : 4 + below(20);
  uint32_t part_count = 1 + below(PARTS), counts[PARTS];
  weir_graph *graphs[PARTS];
  for (uint32_t part = 0; part < part_count; part++) {
    counts[part] = below(20) == 0 ? MOST : 1 + below(SMALL);
    bool boxes = below(2) == 0;
    assert_int_equal(weir_graph_create(self.context, NULL, &graphs[part]), WEIR_OK);
    for (uint32_t i = 0; i < counts[part]; i++) {
      steps[part][i] = make_step(i + 1, boxes, fails);
      give(graphs[part], &steps[part][i]);
    }
    assert_int_equal(weir_graph_build(graphs[part]), WEIR_OK);
    check_plan(graphs[part], steps[part], counts[part]);
    tasks[part] = make_step(100 + part, false, 2);
  }
  for (uint32_t part = 0; part < part_count; part++) {
    give(NULL, &tasks[part]);
    model_step(&tasks[part]);
    for (uint32_t launch = 0, launches = 1 + below(2); launch < launches; launch++) {
      assert_int_equal(weir_graph_launch(graphs[part], NULL), WEIR_OK);
      for (uint32_t i = 0; i < counts[part]; i++) model_step(&steps[part][i]);
    }
  }
  check_bytes(devices, seed);
  weir_context_release(self.context);
}

static void graphs_are_as_one_after_another(void **state) {
  (void)state;
  test_part some = part_of(300);
  for (uint64_t seed = 1 + some.first; seed <= some.end; seed++) {
    run_program("cpu:3", seed);
    run_program("sim:ideal", seed);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(graphs_are_as_one_after_another)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
