// SPDX-License-Identifier: Apache-2.0
//
// Random programs of tasks that submit tasks equal serial execution.
//
// A program is a forest. A task of a tree has some slices of buffers, all to update, and submits children that have some of
// these. So whoever submits a task on a slice has the slice: the order of all tasks on it follows from the program, though the
// trees, and branches of a tree that share no slice, run at the same time. The serial execution takes the tasks of a tree level
// by level. Leaves also read, overwrite, fill and copy slices; some tasks fail.
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "part.h"
#include "random.h"
#include "weir/graph.h"
#include "weir/group.h"

enum {
  BUFFERS = 4,
  SLICES = 4,
  UNITS = BUFFERS * SLICES,
  WORDS = 64,
  MOST_CHILDREN = 12,
  ROUNDS = 3,
  MOST_TASKS = 400
};

static const char *devices = "cpu:2";
static uint32_t programs = 40;
static bool check_mode;

typedef enum kind { KIND_HOST, KIND_FILL, KIND_COPY } kind;

typedef struct tree_node {
  kind kind;
  uint64_t seed;
  uint32_t unit_count;
  uint32_t units[UNITS];
  weir_mode modes[UNITS]; // of a leaf; else all are updated
  uint32_t child_count;
  struct tree_node *children[MOST_CHILDREN];
  bool fails, event, scratch, labelled, counted; // what else it does; `counted`: its data is destroyed
  bool recorded;                                 // a copy or fill is a graph's, which is launched once
  struct program *program;
} tree_node;

typedef struct program {
  uint64_t seed;
  tree_node *nodes;
  uint32_t count;
  weir_context *context;
  weir_buffer *buffers[BUFFERS];
  weir_group *group;
  atomic_uint refused, ran, called, destroyed, callbacks;
  uint64_t serial[UNITS][WORDS];
  bool poisoned[UNITS];
  uint32_t serial_ran, serial_destroyed, serial_tasks, serial_callbacks;
} program;

// ---------------------------------------------------------------------------------------------------------------
// Making programs

static tree_node *make_node(program *self, random_state *random, const uint32_t *units, uint32_t unit_count,
                            uint32_t depth) {
  if (self->count == MOST_TASKS) return NULL;
  tree_node *made = &self->nodes[self->count++];
  *made = (tree_node){.seed = random_next(random), .program = self, .event = random_chance(random, 30)};
  made->scratch = random_chance(random, 20);
  made->labelled = random_chance(random, 20);
  made->recorded = random_chance(random, 40);
  made->counted = random_chance(random, 20);
  bool leaf = depth == 0;
  if (leaf && random_chance(random, 30))
    made->kind = random_chance(random, 50) || unit_count < 2 ? KIND_FILL : KIND_COPY;
  uint32_t most = made->kind == KIND_FILL ? 1 : made->kind == KIND_COPY ? 2 : unit_count;
  uint32_t wanted = made->kind == KIND_COPY ? 2 : random_between(random, 1, most);
  for (uint32_t i = 0; i < unit_count && made->unit_count < wanted; i++) {
    if (unit_count - i > wanted - made->unit_count && random_chance(random, 50)) continue;
    uint32_t index = made->unit_count++;
    made->units[index] = units[i];
    made->modes[index] = leaf ? (weir_mode)random_between(random, WEIR_READ, WEIR_READ_WRITE) : WEIR_READ_WRITE;
  }
  made->fails = made->kind == KIND_HOST && random_chance(random, 3);
  uint32_t children = leaf ? 0 : random_between(random, 1, MOST_CHILDREN);
  for (uint32_t i = 0; i < children; i++) {
    tree_node *child = make_node(self, random, made->units, made->unit_count, random_below(random, depth));
    if (child == NULL) break;
    made->children[made->child_count++] = child;
  }
  return made;
}

// ---------------------------------------------------------------------------------------------------------------
// What tasks compute

static void compute(const tree_node *node, uint64_t *const *args) {
  uint64_t hash = node->seed;
  for (uint32_t i = 0; i < node->unit_count; i++) {
    for (uint32_t j = 0; j < WORDS && node->modes[i] != WEIR_WRITE; j++) hash = random_mix(hash + args[i][j]);
  }
  for (uint32_t i = 0; i < node->unit_count; i++) {
    for (uint32_t j = 0; j < WORDS && node->modes[i] != WEIR_READ; j++) args[i][j] = random_mix(hash + i * WORDS + j);
  }
}

static uint32_t pattern_of(const tree_node *node) {
  return (uint32_t)node->seed;
}

static bool skipped(const program *self, const tree_node *node) {
  if (node->kind == KIND_COPY) return self->poisoned[node->units[1]];
  for (uint32_t i = 0; i < node->unit_count && node->kind == KIND_HOST; i++) {
    if (node->modes[i] != WEIR_WRITE && self->poisoned[node->units[i]]) return true;
  }
  return false;
}

static void run_serially(program *self, tree_node *node) {
  bool skip = skipped(self, node), host = node->kind == KIND_HOST;
  self->serial_tasks++;
  self->serial_destroyed += host && node->counted;
  self->serial_callbacks += node->event;
  uint64_t *args[UNITS];
  for (uint32_t i = 0; i < node->unit_count; i++) args[i] = self->serial[node->units[i]];
  if (!skip && host) {
    self->serial_ran++;
    compute(node, args);
  } else if (!skip && node->kind == KIND_FILL) {
    for (uint32_t j = 0; j < WORDS; j++) args[0][j] = (uint64_t)pattern_of(node) << 32 | pattern_of(node);
  } else if (!skip) {
    memcpy(args[0], args[1], WORDS * sizeof(uint64_t));
  }
  for (uint32_t i = 0; i < node->unit_count; i++) {
    bool writes = host ? node->modes[i] != WEIR_READ : i == 0;
    if (writes) self->poisoned[node->units[i]] = skip || node->fails;
  }
}

static void run_tree_serially(program *self, tree_node *root) {
  tree_node *queue[MOST_TASKS];
  uint32_t first = 0, last = 0;
  queue[last++] = root;
  while (first < last) {
    tree_node *next = queue[first++];
    bool ran = !skipped(self, next);
    run_serially(self, next);
    for (uint32_t i = 0; i < next->child_count && ran; i++) queue[last++] = next->children[i];
  }
}

// ---------------------------------------------------------------------------------------------------------------
// Running programs

static void submit(tree_node *node, weir_group *group);

static void count_callback(void *user, weir_status status) {
  (void)status;
  atomic_fetch_add(&((program *)user)->callbacks, 1);
}

static void destroy(void *user) {
  tree_node *self = user;
  atomic_fetch_add(&self->program->destroyed, 1);
}

static void touch_scratch(const weir_work *work) {
  memset(work->args[0], 1, WORDS * 8);
}

// A buffer of the task's own, which is gone when the task ends.
static void use_scratch(program *self) {
  weir_buffer *buffer;
  if (weir_buffer_create(self->context, WORDS * 8, &buffer) != WEIR_OK) return;
  weir_arg arg = weir_writes(buffer);
  weir_status status =
      weir_submit(self->context, &(weir_task){.host = touch_scratch, .args = &arg, .arg_count = 1}, NULL);
  if (status != WEIR_OK) atomic_fetch_add(&self->refused, 1);
  weir_buffer_release(buffer);
}

static void run(const weir_work *work) {
  tree_node *self;
  memcpy(&self, work->args[0], sizeof self);
  uint64_t *args[UNITS];
  for (uint32_t i = 0; i < self->unit_count; i++) args[i] = work->args[1 + i];
  atomic_fetch_add(&self->program->ran, 1);
  compute(self, args);
  for (uint32_t i = 0; i < self->child_count; i++) submit(self->children[i], NULL);
  if (self->scratch) use_scratch(self->program);
  if (self->fails) weir_work_fail(work, "as told");
}

static uint64_t offset_of(uint32_t unit) {
  return unit % SLICES * WORDS * sizeof(uint64_t);
}

static weir_status submit_host(tree_node *node, weir_group *group, weir_event **out_event) {
  program *self = node->program;
  char label[8] = "node";
  weir_arg args[1 + UNITS];
  args[0] = weir_value(&node, sizeof node);
  for (uint32_t i = 0; i < node->unit_count; i++)
    args[1 + i] = (weir_arg){.mode = node->modes[i],
                             .buffer = self->buffers[node->units[i] / SLICES],
                             .offset = offset_of(node->units[i]),
                             .bytes = WORDS * sizeof(uint64_t)};
  weir_task task = {.host = run,
                    .user = node,
                    .args = args,
                    .arg_count = 1 + node->unit_count,
                    .label = node->labelled ? label : NULL,
                    .destroy = node->counted ? destroy : NULL,
                    .group = group};
  weir_status status = weir_submit(self->context, &task, out_event);
  memset(args, 0xee, sizeof args); // it is the caller's again
  memset(label, 'x', sizeof label);
  return status;
}

// As the only node of a graph, which is gone afterwards.
static weir_status launch(tree_node *node, weir_event **out_event) {
  program *self = node->program;
  weir_buffer *to = self->buffers[node->units[0] / SLICES];
  uint64_t bytes = WORDS * sizeof(uint64_t);
  weir_graph *graph = NULL;
  weir_status status = weir_graph_create(self->context, NULL, &graph);
  if (status == WEIR_OK && node->kind == KIND_FILL)
    status = weir_graph_fill(graph, to, offset_of(node->units[0]), bytes, pattern_of(node), NULL);
  else if (status == WEIR_OK)
    status = weir_graph_copy(graph, to, offset_of(node->units[0]), self->buffers[node->units[1] / SLICES],
                             offset_of(node->units[1]), bytes, NULL);
  if (status == WEIR_OK) status = weir_graph_launch(graph, out_event);
  weir_graph_release(graph);
  return status;
}

static void submit(tree_node *node, weir_group *group) {
  program *self = node->program;
  weir_event *event = NULL, **out_event = node->event ? &event : NULL;
  weir_buffer *to = self->buffers[node->units[0] / SLICES];
  uint64_t bytes = WORDS * sizeof(uint64_t);
  weir_status status;
  if (node->kind != KIND_HOST && node->recorded)
    status = launch(node, out_event);
  else if (node->kind == KIND_FILL)
    status = weir_fill(to, offset_of(node->units[0]), bytes, pattern_of(node), out_event);
  else if (node->kind == KIND_COPY)
    status = weir_copy(to, offset_of(node->units[0]), self->buffers[node->units[1] / SLICES], offset_of(node->units[1]),
                       bytes, out_event);
  else
    status = submit_host(node, group, out_event);
  if (status != WEIR_OK) {
    atomic_fetch_add(&self->refused, 1);
    return;
  }
  if (event == NULL) return;
  if (weir_event_on_done(event, count_callback, self) != WEIR_OK) atomic_fetch_add(&self->refused, 1);
  weir_event_release(event);
}

// Each tree has units of its own.
static void run_round(program *self, random_state *random) {
  uint32_t units[UNITS];
  for (uint32_t i = 0; i < UNITS; i++) units[i] = i;
  for (uint32_t i = UNITS - 1; i > 0; i--) {
    uint32_t j = random_below(random, i + 1), unit = units[i];
    units[i] = units[j];
    units[j] = unit;
  }
  self->count = 0;
  for (uint32_t first = 0; first < UNITS;) {
    uint32_t count = random_between(random, 1, UNITS - first);
    tree_node *root = make_node(self, random, units + first, count, random_below(random, 5));
    if (root == NULL) break;
    run_tree_serially(self, root);
    submit(root, root->kind == KIND_HOST && random_chance(random, 60) ? self->group : NULL);
    first += count;
  }
}

static void wait_for_all(program *self, random_state *random) {
  weir_status status = random_chance(random, 50) ? weir_group_wait(self->group, WEIR_FOREVER) : WEIR_OK;
  if (status != WEIR_OK && status != WEIR_ERROR_TASK_FAILED && status != WEIR_ERROR_UPSTREAM_FAILED)
    fail_msg("group: %s", weir_last_error());
  status = weir_finish(self->context);
  if (status != WEIR_OK && status != WEIR_ERROR_TASK_FAILED && status != WEIR_ERROR_UPSTREAM_FAILED)
    fail_msg("finish: %s", weir_last_error());
  assert_int_equal(atomic_load(&self->refused), 0);
  assert_int_equal(atomic_load(&self->ran), self->serial_ran);
  assert_int_equal(atomic_load(&self->destroyed), self->serial_destroyed);
  assert_int_equal(atomic_load(&self->callbacks), self->serial_callbacks);
  weir_group_statistics counts;
  weir_group_get_statistics(self->group, &counts);
  assert_int_equal(counts.tasks, counts.done);
}

static void compare(program *self) {
  for (uint32_t unit = 0; unit < UNITS; unit++) {
    uint64_t found[WORDS];
    weir_status status = weir_read(self->buffers[unit / SLICES], offset_of(unit), sizeof found, found);
    if (self->poisoned[unit] != (status == WEIR_ERROR_UPSTREAM_FAILED) || (status != WEIR_OK && !self->poisoned[unit]))
      fail_msg("unit %u: %s", unit, weir_status_name(status));
    if (status == WEIR_OK && memcmp(found, self->serial[unit], sizeof found) != 0) fail_msg("unit %u differs", unit);
  }
}

static void run_program(uint64_t seed) {
  static tree_node nodes[MOST_TASKS];
  random_state random = {seed};
  static program self;
  memset(&self, 0, sizeof self);
  self.seed = seed;
  self.nodes = nodes;
  uint64_t buffer_bytes = SLICES * WORDS * sizeof(uint64_t);
  uint32_t limit = random_below(&random, 3);
  weir_context_options options = {.devices = devices, .window = 8u << random_below(&random, 4), .seed = seed};
  if (random_chance(&random, 15)) options.flags |= WEIR_CONTEXT_IN_ORDER;
  if (random_chance(&random, 30)) options.flags |= WEIR_CONTEXT_NO_RENAME;
  if (check_mode) options.flags |= WEIR_CONTEXT_CHECK;
  if (limit == 0) options.memory_limit = (BUFFERS + 2) * buffer_bytes * 2;
  if (weir_context_create(&options, &self.context) != WEIR_OK) {
    printf("skipped: %s\n", weir_last_error());
    exit(77);
  }
  for (uint32_t i = 0; i < BUFFERS; i++) {
    uint64_t zeros[SLICES * WORDS] = {0};
    assert_int_equal(weir_buffer_create(self.context, buffer_bytes, &self.buffers[i]), WEIR_OK);
    assert_int_equal(weir_copy_in(self.buffers[i], 0, WEIR_WHOLE, zeros, NULL), WEIR_OK);
    assert_int_equal(weir_finish(self.context), WEIR_OK);
  }
  assert_int_equal(weir_group_create(self.context, &self.group), WEIR_OK);
  for (int round = 0; round < ROUNDS; round++) {
    run_round(&self, &random);
    wait_for_all(&self, &random);
  }
  compare(&self);
  weir_group_release(self.group);
  weir_context_release(self.context);
}

static void programs_equal_serial_execution(void **state) {
  (void)state;
  const char *seed = getenv("WEIR_TEST_SEED");
  uint64_t first = seed != NULL ? strtoull(seed, NULL, 10) * 1000003 : 1;
  for (uint64_t i = first; i < first + programs; i++) {
    alarm(120);
    if (getenv("WEIR_TEST_VERBOSE") != NULL) fprintf(stderr, "program %" PRIu64 "\n", i);
    run_program(i);
  }
}

int main(int argc, char **argv) {
  if (argc > 1) devices = argv[1];
  if (argc > 2) programs = part_count((uint32_t)atoi(argv[2]));
  check_mode = argc > 3 && strcmp(argv[3], "check") == 0;
  const struct CMUnitTest tests[] = {cmocka_unit_test(programs_equal_serial_execution)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
