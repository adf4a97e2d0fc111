// SPDX-License-Identifier: Apache-2.0
//
// Stages whose jobs become graphs: that they do, that values and memory are each token's own, what happens when jobs change,
// and when they fail.
#include <sched.h>
#include <stdatomic.h>
#include <string.h>

#include "base/allocate.h"
#include "rig.h"
#include "weir/sim.h"

enum { LINES = 3, CELLS = 16, BYTES = CELLS * 4, MOST_TOKENS = 200 };

typedef struct line_state {
  weir_buffer *in, *middle, *out;
  uint32_t given[CELLS], found[CELLS];
} line_state;

typedef struct scene scene;
struct scene {
  weir_context *context;
  weir_kernel *add, *fail, *count_groups;
  line_state lines[LINES];
  uint64_t count;
  uint32_t (*times)(uint64_t token); // how often the token's job adds: its shape
  bool (*fails)(uint64_t token);     // a task of it fails
  bool refuses;                      // every third token's stage fails when half of its job is said
  weir_device *device;               // that every second task of a job names
  uint32_t delivered, failed;
};

static _Atomic uint32_t begun; // tokens

static void add(const weir_work *work) {
  uint32_t *cells = work->args[0], value;
  memcpy(&value, work->args[1], sizeof value);
  for (uint64_t i = work->first; i < work->end; i++) cells[i] += value;
}

static void fails(const weir_work *work) {
  weir_work_fail(work, "told to");
}

static uint32_t always_five(uint64_t token) {
  (void)token;
  return 5;
}

static uint32_t once(uint64_t token) {
  (void)token;
  return 1;
}

static uint32_t by_token(uint64_t token) {
  return (uint32_t)(token * 2654435761u >> 7) % 6;
}

static uint32_t changes_once(uint64_t token) {
  return token < MOST_TOKENS / 2 ? 3 : 4;
}

static bool never(uint64_t token) {
  (void)token;
  return false;
}

static bool every_fifth(uint64_t token) {
  return token % 5 == 2;
}

static weir_status open_line(void *user, uint32_t number, void **out_state) {
  scene *s = user;
  line_state *line = &s->lines[number];
  *out_state = line;
  rig_ok(weir_buffer_create(s->context, BYTES, &line->in));
  rig_ok(weir_buffer_create(s->context, BYTES, &line->middle));
  rig_ok(weir_buffer_create(s->context, BYTES, &line->out));
  return WEIR_OK;
}

static void close_line(void *user, uint32_t number, void *state) {
  (void)user, (void)number;
  line_state *line = state;
  rig_ok(weir_buffer_release(line->in));
  rig_ok(weir_buffer_release(line->middle));
  rig_ok(weir_buffer_release(line->out));
}

static weir_status begin(weir_token *token) {
  const scene *s = token->user;
  line_state *line = token->line_state;
  if (token->number == s->count) return weir_token_end_input(token);
  atomic_fetch_add(&begun, 1);
  for (uint32_t i = 0; i < CELLS; i++) line->given[i] = (uint32_t)token->number * 1000 + i;
  return WEIR_OK;
}

// in -> middle, to which `times` values are added -> out; and one fill, of the last cell.
static weir_status job(weir_token *token) {
  const scene *s = token->user;
  line_state *line = token->line_state;
  uint32_t number = (uint32_t)token->number;
  weir_status status = weir_token_copy_in(token, line->in, 0, WEIR_WHOLE, line->given);
  if (status == WEIR_OK) status = weir_token_copy(token, line->middle, 0, line->in, 0, BYTES);
  if (s->refuses && token->number % 3 == 1) return weir_token_fail(token, WEIR_ERROR_IO, "refused");
  for (uint32_t i = 0; i < s->times(token->number) && status == WEIR_OK; i++) {
    uint32_t value = number + i;
    weir_arg args[] = {weir_updates(line->middle), weir_value(&value, sizeof value)};
    weir_task task = {.kernel = s->add, .args = args, .arg_count = 2, .groups = {CELLS}};
    if (i % 2 == 1) task.device = s->device;
    status = weir_token_submit(token, &task);
  }
  if (s->fails(token->number) && status == WEIR_OK) {
    weir_arg arg = weir_updates(line->middle);
    status = weir_token_submit(token, &(weir_task){.kernel = s->fail, .args = &arg, .arg_count = 1});
  }
  if (status == WEIR_OK) status = weir_token_copy(token, line->out, 0, line->middle, 0, WEIR_WHOLE);
  if (status == WEIR_OK) status = weir_token_fill(token, line->out, BYTES - 4, 4, number * 7);
  return status == WEIR_OK ? weir_token_copy_out(token, line->out, 0, WEIR_WHOLE, line->found) : status;
}

static uint32_t expected(const scene *s, uint64_t token, uint32_t cell) {
  uint32_t number = (uint32_t)token, sum = number * 1000 + cell;
  for (uint32_t i = 0; i < s->times(token); i++) sum += number + i;
  return cell == CELLS - 1 ? number * 7 : sum;
}

static void deliver(weir_token *token) {
  scene *s = token->user;
  const line_state *line = token->line_state;
  s->delivered++;
  bool refused = s->refuses && token->number % 3 == 1;
  if (refused || s->fails(token->number)) {
    rig_check(token->status == (refused ? WEIR_ERROR_IO : WEIR_ERROR_TASK_FAILED));
    rig_check(strstr(token->message, refused ? "refused" : "told to") != NULL);
    s->failed++;
    return;
  }
  rig_check(token->status == WEIR_OK);
  for (uint32_t i = 0; i < CELLS; i++) rig_check(line->found[i] == expected(s, token->number, i));
}

static void fill_in(scene *s) {
  if (s->times == NULL) s->times = always_five;
  if (s->fails == NULL) s->fails = never;
  if (s->count == 0) s->count = MOST_TOKENS;
  const weir_sim_launch launch = {.threads = 64, .us = 2};
  rig_ok(weir_kernel_create(s->context, "add", &s->add));
  rig_ok(weir_kernel_set_cpu(s->add, add));
  rig_ok(weir_kernel_set_sim(s->add, &launch, 1));
  rig_ok(weir_kernel_create(s->context, "fail", &s->fail));
  rig_ok(weir_kernel_set_cpu(s->fail, fails));
  rig_ok(weir_kernel_set_sim(s->fail, &launch, 1));
}

// Runs the scene and returns what the pipeline says of it.
static weir_pipeline_statistics play_with(scene *s, weir_stage_function function, uint32_t flags) {
  s->delivered = s->failed = 0;
  weir_stage stages[] = {{.function = begin, .user = s},
                         {.function = function, .user = s, .flags = flags, .name = "job"}};
  weir_pipeline *pipeline = rig_pipeline(s->context, &(weir_pipeline_options){.stages = stages,
                                                                              .stage_count = 2,
                                                                              .lines = LINES,
                                                                              .threads = 2,
                                                                              .deliver = deliver,
                                                                              .open_line = open_line,
                                                                              .close_line = close_line,
                                                                              .user = s});
  weir_status status = weir_pipeline_run(pipeline, WEIR_FOREVER);
  assert_int_equal(status == WEIR_OK, s->failed == 0);
  assert_int_equal(s->delivered, s->count);
  weir_pipeline_statistics statistics;
  rig_ok(weir_pipeline_get_statistics(pipeline, &statistics));
  rig_ok(weir_pipeline_release(pipeline));
  rig_ok(weir_finish(s->context));
  rig_no_problems();
  return statistics;
}

static weir_pipeline_statistics play(const char *devices, scene s, uint32_t flags) {
  s.context = rig_context(devices, 0);
  fill_in(&s);
  weir_pipeline_statistics statistics = play_with(&s, job, flags);
  weir_context_release(s.context);
  return statistics;
}

static const char *const places[] = {"cpu:1", "cpu:2", "sim:ideal", "sim:h200", "cpu:2,sim:ideal"};
enum { PLACES = sizeof places / sizeof places[0] };

static void test_same_jobs(void **state) {
  (void)state;
  for (int i = 0; i < PLACES; i++) {
    weir_pipeline_statistics parallel = play(places[i], (scene){0}, WEIR_STAGE_GRAPH | WEIR_STAGE_PARALLEL);
    assert_int_equal(parallel.graph_jobs, MOST_TOKENS);
    assert_int_equal(parallel.task_jobs, 0);
    weir_pipeline_statistics serial = play(places[i], (scene){0}, WEIR_STAGE_GRAPH);
    assert_int_equal(serial.graph_jobs, MOST_TOKENS);
  }
}

static void test_without_graphs(void **state) {
  (void)state;
  for (int i = 0; i < PLACES; i++) {
    weir_pipeline_statistics statistics = play(places[i], (scene){.times = by_token}, WEIR_STAGE_PARALLEL);
    assert_int_equal(statistics.graph_jobs, 0);
    assert_int_equal(statistics.task_jobs, 0);
  }
}

static void test_jobs_of_all_shapes(void **state) {
  (void)state;
  for (int i = 0; i < PLACES; i++) {
    weir_pipeline_statistics statistics = play(places[i], (scene){.times = by_token}, WEIR_STAGE_GRAPH);
    assert_int_equal(statistics.graph_jobs + statistics.task_jobs, MOST_TOKENS);
    assert_true(statistics.graph_jobs >= 1); // the first
    assert_true(statistics.task_jobs >= 1);
  }
}

// After the change each line has two jobs task by task, and is back to graphs.
static void test_jobs_change_once(void **state) {
  (void)state;
  for (int i = 0; i < PLACES; i++) {
    weir_pipeline_statistics statistics = play(places[i], (scene){.times = changes_once}, WEIR_STAGE_GRAPH);
    assert_int_equal(statistics.graph_jobs + statistics.task_jobs, MOST_TOKENS);
    assert_true(statistics.task_jobs <= 2 * LINES);
  }
}

static void test_tasks_fail(void **state) {
  (void)state;
  for (int i = 0; i < PLACES; i++) {
    weir_pipeline_statistics statistics = play(places[i], (scene){.fails = every_fifth}, WEIR_STAGE_GRAPH);
    assert_int_equal(statistics.failed, MOST_TOKENS / 5);
    weir_pipeline_statistics fives =
        play(places[i], (scene){.fails = every_fifth, .times = by_token}, WEIR_STAGE_GRAPH | WEIR_STAGE_PARALLEL);
    assert_int_equal(fives.failed, MOST_TOKENS / 5);
  }
}

// What a stage said before it failed is done all the same.
static void test_stages_fail(void **state) {
  (void)state;
  const uint64_t refused = (MOST_TOKENS + 1) / 3;
  for (int i = 0; i < PLACES; i++) {
    weir_pipeline_statistics statistics = play(places[i], (scene){.refuses = true}, WEIR_STAGE_GRAPH);
    assert_int_equal(statistics.failed, refused);
    assert_int_equal(statistics.task_jobs, refused);
    assert_int_equal(statistics.graph_jobs, MOST_TOKENS - refused);
  }
}

// No graph takes tasks of two devices.
static void test_two_devices(void **state) {
  (void)state;
  scene s = {.context = rig_context("cpu:1,cpu:1", 0)};
  s.device = weir_context_device(s.context, 1);
  fill_in(&s);
  weir_pipeline_statistics statistics = play_with(&s, job, WEIR_STAGE_GRAPH);
  assert_int_equal(statistics.graph_jobs, 0);
  assert_int_equal(statistics.task_jobs, MOST_TOKENS);
  weir_context_release(s.context);
}

static weir_status small_job(weir_token *token) {
  const scene *s = token->user;
  line_state *line = token->line_state;
  uint32_t value = 3;
  weir_arg args[] = {weir_updates(line->middle), weir_value(&value, sizeof value)};
  for (uint32_t i = 0; i < CELLS; i++) line->found[i] = expected(s, token->number, i);
  return weir_token_submit(token, &(weir_task){.kernel = s->add, .args = args, .arg_count = 2, .groups = {CELLS}});
}

static weir_status wrong_job(weir_token *token) {
  line_state *line = token->line_state;
  static uint32_t memory[CELLS];
  rig_check(weir_token_copy_in(token, line->in, 8, BYTES, memory) == WEIR_ERROR_OUT_OF_RANGE);
  rig_check(strstr(weir_last_error(), "buffer") != NULL);
  rig_check(weir_token_copy_in(token, line->in, 0, BYTES, NULL) == WEIR_ERROR_INVALID_ARGUMENT);
  rig_check(weir_token_copy_out(token, NULL, 0, BYTES, memory) == WEIR_ERROR_INVALID_ARGUMENT);
  rig_check(weir_token_copy(token, line->in, 0, line->in, 4, 8) == WEIR_ERROR_INVALID_ARGUMENT);
  rig_check(weir_token_fill(token, line->in, 1, 4, 0) == WEIR_ERROR_INVALID_ARGUMENT);
  weir_arg arg = weir_reads_range(line->in, BYTES, 8);
  const scene *s = token->user;
  rig_check(weir_token_submit(token, &(weir_task){.kernel = s->fail, .args = &arg, .arg_count = 1}) ==
            WEIR_ERROR_OUT_OF_RANGE);
  rig_check(weir_token_submit(token, NULL) == WEIR_ERROR_INVALID_ARGUMENT);
  return job(token);
}

// What is refused is refused at once, and the rest of the job is as if it had not been said.
static void test_wrong_jobs(void **state) {
  (void)state;
  for (int i = 0; i < PLACES; i++) {
    for (uint32_t flags = 0; flags <= WEIR_STAGE_GRAPH; flags += WEIR_STAGE_GRAPH) {
      scene s = {.context = rig_context(places[i], 0)};
      fill_in(&s);
      play_with(&s, wrong_job, flags);
      weir_context_release(s.context);
    }
  }
}

// Once lines have their graphs, a task that none of them would take: its arguments are not there.
static weir_status job_without_args(weir_token *token) {
  const scene *s = token->user;
  line_state *line = token->line_state;
  uint32_t value = 1;
  weir_arg args[] = {weir_updates(line->middle), weir_value(&value, sizeof value)};
  weir_task task = {.kernel = s->add, .args = args, .arg_count = 2, .groups = {CELLS}}, bare = task;
  bare.args = NULL;
  weir_status status = weir_token_submit(token, &task);
  if (token->number >= MOST_TOKENS / 2) {
    rig_check(weir_token_submit(token, &bare) == WEIR_ERROR_INVALID_ARGUMENT);
    rig_check(strstr(weir_last_error(), "args is NULL") != NULL);
  }
  for (uint32_t i = 0; i < CELLS; i++) line->found[i] = expected(s, token->number, i);
  return status == WEIR_OK ? weir_token_submit(token, &task) : status;
}

static void test_jobs_without_args(void **state) {
  (void)state;
  scene s = {.context = rig_context("cpu:1", 0)};
  fill_in(&s);
  weir_pipeline_statistics statistics = play_with(&s, job_without_args, WEIR_STAGE_GRAPH);
  assert_int_equal(statistics.graph_jobs, MOST_TOKENS / 2);
  weir_context_release(s.context);
}

static _Atomic uint64_t groups_done;

static void count_groups(const weir_work *work) {
  atomic_fetch_add(&groups_done, work->end - work->first);
}

// Numbers of work-groups that differ are another shape, also where their sum is 1 in 32 bits.
static weir_status job_of_many_groups(weir_token *token) {
  const scene *s = token->user;
  line_state *line = token->line_state;
  weir_task task = {.kernel = s->count_groups, .groups = {token->number < MOST_TOKENS / 2 ? 2 : UINT32_MAX}};
  weir_status status = weir_token_submit(token, &task);
  for (uint32_t i = 0; i < CELLS; i++) line->found[i] = expected(s, token->number, i);
  return status == WEIR_OK ? weir_token_submit(token, &task) : status;
}

static void test_jobs_of_many_groups(void **state) {
  (void)state;
  scene s = {.context = rig_context("sim:ideal", 0)};
  const weir_sim_launch launch = {.threads = 64, .blocks = 1, .us = 2};
  fill_in(&s);
  rig_ok(weir_kernel_create(s.context, "count", &s.count_groups));
  rig_ok(weir_kernel_set_cpu(s.count_groups, count_groups));
  rig_ok(weir_kernel_set_sim(s.count_groups, &launch, 1));
  atomic_store(&groups_done, 0);
  play_with(&s, job_of_many_groups, WEIR_STAGE_GRAPH);
  assert_int_equal(atomic_load(&groups_done), (uint64_t)MOST_TOKENS * (2ull + UINT32_MAX));
  weir_context_release(s.context);
}

static void test_jobs_of_one_task(void **state) {
  (void)state;
  scene s = {.context = rig_context("cpu:2", 0), .times = once};
  fill_in(&s);
  weir_pipeline_statistics statistics = play_with(&s, small_job, WEIR_STAGE_GRAPH);
  assert_int_equal(statistics.graph_jobs, 0);
  assert_int_equal(statistics.task_jobs, MOST_TOKENS);
  weir_context_release(s.context);
}

// Holds the first token until all lines have one.
static void deliver_when_all_begun(weir_token *token) {
  while (atomic_load(&begun) < LINES) sched_yield();
  deliver(token);
}

// Once each line has its graph, tokens allocate nothing.
static void test_no_allocation(void **state) {
  (void)state;
  const char *const devices[] = {"cpu:1", "cpu:2"};
  for (int i = 0; i < 2; i++) {
    scene s = {.context = rig_context(devices[i], 0)};
    fill_in(&s);
    weir_stage stages[] = {{.function = begin, .user = &s}, {.function = job, .user = &s, .flags = WEIR_STAGE_GRAPH}};
    weir_pipeline *pipeline = rig_pipeline(s.context, &(weir_pipeline_options){.stages = stages,
                                                                               .stage_count = 2,
                                                                               .lines = LINES,
                                                                               .threads = 2,
                                                                               .deliver = deliver_when_all_begun,
                                                                               .open_line = open_line,
                                                                               .close_line = close_line,
                                                                               .user = &s});
    atomic_store(&begun, 0);
    rig_ok(weir_pipeline_run(pipeline, WEIR_FOREVER));
    s.count += MOST_TOKENS;
    uint64_t before = weir__allocate_count();
    rig_ok(weir_pipeline_run(pipeline, WEIR_FOREVER));
    assert_int_equal(weir__allocate_count(), before);
    weir_pipeline_statistics statistics;
    rig_ok(weir_pipeline_get_statistics(pipeline, &statistics));
    assert_int_equal(statistics.graph_jobs, 2 * MOST_TOKENS);
    rig_ok(weir_pipeline_release(pipeline));
    weir_context_release(s.context);
    rig_no_problems();
  }
}

// A pipeline that is released while it runs, and one that is left to its context.
static void test_release(void **state) {
  (void)state;
  for (int kept = 0; kept < 2; kept++) {
    scene s = {.context = rig_context("cpu:2", 0), .count = UINT64_MAX};
    fill_in(&s);
    weir_stage stages[] = {{.function = begin, .user = &s}, {.function = job, .user = &s, .flags = WEIR_STAGE_GRAPH}};
    weir_pipeline *pipeline = rig_pipeline(s.context, &(weir_pipeline_options){.stages = stages,
                                                                               .stage_count = 2,
                                                                               .lines = LINES,
                                                                               .open_line = open_line,
                                                                               .close_line = close_line,
                                                                               .user = &s});
    rig_ok(weir_pipeline_start(pipeline));
    weir_pipeline_statistics statistics = {0};
    while (statistics.graph_jobs < 20) rig_ok(weir_pipeline_get_statistics(pipeline, &statistics));
    if (!kept) rig_ok(weir_pipeline_release(pipeline));
    weir_context_release(s.context);
    rig_no_problems();
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_same_jobs),
      cmocka_unit_test(test_without_graphs),
      cmocka_unit_test(test_jobs_of_all_shapes),
      cmocka_unit_test(test_jobs_change_once),
      cmocka_unit_test(test_tasks_fail),
      cmocka_unit_test(test_stages_fail),
      cmocka_unit_test(test_two_devices),
      cmocka_unit_test(test_wrong_jobs),
      cmocka_unit_test(test_jobs_without_args),
      cmocka_unit_test(test_jobs_of_many_groups),
      cmocka_unit_test(test_jobs_of_one_task),
      cmocka_unit_test(test_no_allocation),
      cmocka_unit_test(test_release),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
