// SPDX-License-Identifier: Apache-2.0
//
// The bound between stages, proved from timelines: no more than `depth` items are between two stages, two items never use one buffer
// of a link at the same time, and each such buffer has one storage in each memory. Usage: PROGRAM [DEVICES...]. OpenCL devices have
// clocks of their own: with them only the storage is looked at.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "check/timeline.h"
#include "pipeline/chain.h"
#include "random.h"
#include "rig.h"

enum { STAGES = 4, LINKS = 3, ITEMS = 40, OUTPUTS = 5, MOST_SPACES = 16, SPACE_SHIFT = 48 };

static const char *devices = "cpu:1,cpu:1,cpu:2";
static bool one_clock = true;

static weir_function mix_words;

// The kernel of the rig, after a while that differs from stage to stage and item to item.
static void dawdle(const weir_work *work) {
  const rig_value *value = work->args[4];
  random_state random = {value->seed};
  if (work->first == 0) {
    for (volatile uint32_t i = random_below(&random, 20000); i > 0;) i = i - 1;
  }
  mix_words(work);
}

// Link 0 leads from stage 0 to 1, link 1 from 2 to 3, link 2 from 0 to 3; none from 1 to 2. Stages write the buffers 1 to 5 of
// the item, too.
static weir_chain *make_chain(weir_context *context, weir_kernel *kernel, weir_buffer *fixed_buffer, uint32_t depth) {
  const weir_chain_arg fixed = weir_chain_fixed(weir_reads(fixed_buffer)), value = weir_chain_item_arg(0);
  const weir_chain_arg args[STAGES][RIG_ARGS] = {
      {weir_chain_writes(0), weir_chain_writes(2), fixed, fixed, value},
      {weir_chain_item_arg(1), weir_chain_item_arg(2), weir_chain_reads(0), fixed, value},
      {weir_chain_writes(1), weir_chain_item_arg(3), fixed, fixed, value},
      {weir_chain_item_arg(4), weir_chain_item_arg(5), weir_chain_reads(1), weir_chain_reads(2), value}};
  weir_chain_stage stages[STAGES];
  const char *const labels[STAGES] = {"stage 0", "stage 1", "stage 2", "stage 3"};
  const uint64_t bytes[LINKS] = {RIG_BYTES, RIG_BYTES, RIG_BYTES};
  for (uint32_t i = 0; i < STAGES; i++) {
    stages[i] = (weir_chain_stage){.kernel = kernel,
                                   .device = weir_context_device(context, i % weir_context_device_count(context)),
                                   .groups = {RIG_WORDS, 1, 1},
                                   .args = args[i],
                                   .arg_count = RIG_ARGS,
                                   .label = labels[i]};
  }
  weir_chain_options options = {.stages = stages,
                                .stage_count = STAGES,
                                .link_bytes = bytes,
                                .link_count = LINKS,
                                .depth = depth,
                                .in_flight = UINT32_MAX};
  weir_chain *chain = NULL;
  rig_ok(weir_chain_create(context, &options, &chain));
  return chain;
}

static uint32_t stage_of(const weir__timeline_task *task) {
  return strncmp(task->label, "stage ", 6) == 0 ? (uint32_t)(task->label[6] - '0') : UINT32_MAX;
}

typedef struct times {
  uint64_t start_ns, end_ns;
} times;

// The most items between the start of a stage and the end of the next, over all times.
static uint32_t most_between(times found[STAGES][ITEMS], uint32_t stage) {
  uint32_t most = 0;
  for (uint32_t i = 0; i < ITEMS; i++) { // it is reached when some item starts
    uint32_t count = 0;
    for (uint32_t k = 0; k < ITEMS; k++)
      count +=
          found[stage][k].start_ns <= found[stage][i].start_ns && found[stage][i].start_ns < found[stage + 1][k].end_ns;
    if (count > most) most = count;
  }
  return most;
}

static void check_between(const weir__timeline *timeline, uint32_t depth) {
  static times found[STAGES][ITEMS];
  uint32_t tasks = 0;
  for (size_t i = 0; i < timeline->task_count; i++) {
    const weir__timeline_task *task = &timeline->tasks[i];
    uint32_t stage = stage_of(task);
    if (stage == UINT32_MAX) continue;
    found[stage][task->tag] = (times){task->start_ns, task->end_ns};
    tasks++;
  }
  assert_int_equal(tasks, STAGES * ITEMS);
  for (uint32_t stage = 0; stage + 1 < STAGES; stage++) {
    for (uint32_t i = 0; i < ITEMS; i++) assert_true(found[stage][i].end_ns <= found[stage + 1][i].start_ns);
    uint32_t most = most_between(found, stage);
    if (most > depth) fail_msg("%u items between stages %u and %u, with a depth of %u", most, stage, stage + 1, depth);
  }
}

// The item of a transfer is that of the task which brought about what it moves: the newest writer before it.
static void check_buffer(const weir__timeline *timeline, const weir_buffer *buffer, uint32_t users) {
  uint64_t end_before = 0, end = 0, item = UINT64_MAX;
  uint64_t storages[MOST_SPACES] = {0};
  uint32_t found = 0;
  for (size_t i = 0; i < timeline->task_count; i++) { // in the order of submission
    const weir__timeline_task *task = &timeline->tasks[i];
    for (uint32_t k = 0; k < task->access_count; k++) {
      const weir__timeline_access *access = &timeline->accesses[task->access_first + k];
      if (access->buffer != buffer->id) continue;
      uint64_t *storage = &storages[access->storage >> SPACE_SHIFT];
      if (*storage == 0) *storage = access->storage;
      assert_int_equal(access->storage, *storage);
      if (access->mode == WEIR_WRITE) {
        assert_true(item != task->tag);
        item = task->tag;
        end_before = end;
        found++;
      }
      if (one_clock && task->start_ns < end_before)
        fail_msg("item %llu uses buffer %llu '%s' before the item in front is done with it", (unsigned long long)item,
                 (unsigned long long)buffer->id, buffer->label);
      if (task->end_ns > end) end = task->end_ns;
    }
  }
  assert_int_equal(found, users);
}

static int by_id(const void *left, const void *right) {
  const weir__timeline_task *a = left, *b = right;
  return a->id < b->id ? -1 : a->id > b->id;
}

static void check_timeline(const char *path, const weir_chain *chain, uint32_t depth) {
  char message[256];
  weir__timeline *timeline = NULL;
  if (weir__timeline_read(path, message, sizeof message, &timeline) != WEIR_OK) fail_msg("%s", message);
  qsort(timeline->tasks, timeline->task_count, sizeof *timeline->tasks, by_id);
  if (one_clock) check_between(timeline, depth);
  for (uint32_t i = 0; i < LINKS; i++) {
    uint32_t count = chain->links[i].buffer_count;
    assert_int_equal(count, i == 2 ? depth * 3 : depth); // that link has three steps
    for (uint32_t k = 0; k < count; k++)
      check_buffer(timeline, chain->links[i].buffers[k], ITEMS / count + (k < ITEMS % count));
  }
  weir__timeline_destroy(timeline);
}

static void run(uint32_t depth, uint64_t seed, uint32_t flags) {
  char path[] = "/tmp/weir_chain_XXXXXX.json";
  int file = mkstemps(path, 5);
  assert_true(file >= 0);
  close(file);
  weir_context *context = NULL;
  rig_ok(weir_context_create(
      &(weir_context_options){.devices = devices, .seed = seed, .flags = WEIR_CONTEXT_TRACE | flags}, &context));
  weir_kernel *kernel = rig_kernel(context, "mix");
  mix_words = rig_function();
  rig_ok(weir_kernel_set_cpu(kernel, dawdle));
  weir_buffer *fixed = NULL, *outs[OUTPUTS];
  rig_ok(weir_buffer_create(context, RIG_BYTES, &fixed));
  rig_ok(weir_fill(fixed, 0, RIG_BYTES, 17, NULL));
  weir_chain *chain = make_chain(context, kernel, fixed, depth);
  for (uint32_t i = 0; i < OUTPUTS; i++) rig_ok(weir_buffer_create(context, RIG_BYTES, &outs[i]));
  for (uint32_t i = 0; i < ITEMS; i++) {
    rig_value value = {.seed = (uint32_t)(seed * ITEMS + i)};
    weir_arg args[OUTPUTS + 1] = {weir_value(&value, sizeof value)};
    for (uint32_t k = 0; k < OUTPUTS; k++) args[k + 1] = weir_writes(outs[k]);
    rig_ok(weir_chain_submit(chain, &(weir_chain_item){.args = args, .arg_count = OUTPUTS + 1, .tag = i}, NULL));
  }
  rig_ok(weir_trace_save(context, path, NULL));
  rig_ok(weir_finish(context));
  check_timeline(path, chain, depth);
  unlink(path);
  weir_context_release(context);
}

static void the_bound_holds(void **state) {
  (void)state;
  for (uint32_t depth = 1; depth <= 4; depth++) {
    for (uint64_t seed = 0; seed < 5; seed++) run(depth, seed, seed == 4 ? WEIR_CONTEXT_NO_RENAME : 0);
  }
}

int main(int argc, char **argv) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(the_bound_holds)};
  int failed = 0, i = 1;
  do {
    if (i < argc) devices = argv[i];
    one_clock = strstr(devices, "opencl") == NULL;
    rig_need(devices);
    failed += cmocka_run_group_tests(tests, NULL, NULL);
  } while (++i < argc);
  return failed;
}
