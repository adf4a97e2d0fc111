// SPDX-License-Identifier: Apache-2.0
//
// From what was recorded of tasks: two tokens never use one line's buffer at a time, and at most as many tokens as lines are in
// flight. A buffer that is planted, so that lines share it, is found.
#include <string.h>

#include "engine/context.h"
#include "rig.h"

enum { TOKENS = 60, LINES = 4, STAGES = 3, CELLS = 16 };

typedef struct scene {
  weir_context *context;
  weir_kernel *kernel;
  weir_buffer *buffers[LINES];
  bool planted; // line 1 takes the buffer of line 0
} scene;

static void spin(const weir_work *work) {
  uint32_t *cells = work->args[0];
  for (volatile uint32_t i = 0; i < 3000; i++) cells[i % CELLS] += i;
}

static weir_status submit(weir_token *token) {
  const scene *s = token->user;
  if (token->stage == 0 && token->number == TOKENS) return weir_token_end_input(token);
  uint32_t line = s->planted && token->line == 1 ? 0 : token->line;
  weir_arg arg = token->stage == 0 ? weir_writes(s->buffers[line]) : weir_updates(s->buffers[line]);
  weir_task task = {.kernel = s->kernel, .args = &arg, .arg_count = 1, .tag = token->number + 1};
  return weir_token_submit(token, &task);
}

typedef struct use {
  uint64_t token, first_ns, last_ns; // from the submission of its first task to the end of its last
  uint64_t buffer;
} use;

// What tokens did with buffers, a row each.
static uint32_t collect(const scene *s, use uses[TOKENS]) {
  const weir__trace *trace = s->context->host.trace;
  assert_int_equal(weir__trace_dropped(trace), 0);
  memset(uses, 0, TOKENS * sizeof *uses);
  uint32_t tasks = 0;
  for (size_t i = 0; i < weir__trace_task_count(trace); i++) {
    const weir__trace_task *task = weir__trace_task_at(trace, i);
    assert_true(task->done && task->access_count == 1);
    use *u = &uses[task->tag - 1];
    if (u->token == 0) *u = (use){.token = task->tag, .first_ns = task->submit_ns, .buffer = task->accesses[0].buffer};
    assert_int_equal(u->buffer, task->accesses[0].buffer);
    if (task->end_ns > u->last_ns) u->last_ns = task->end_ns;
    tasks++;
  }
  return tasks;
}

static bool overlap(const use *a, const use *b) {
  return a->first_ns < b->last_ns && b->first_ns < a->last_ns;
}

// Pairs of tokens that use one buffer at a time.
static uint32_t count_shared(const use uses[TOKENS]) {
  uint32_t count = 0;
  for (uint32_t a = 0; a < TOKENS; a++) {
    for (uint32_t b = a + 1; b < TOKENS; b++) count += uses[a].buffer == uses[b].buffer && overlap(&uses[a], &uses[b]);
  }
  return count;
}

static uint32_t most_in_flight(const use uses[TOKENS]) {
  uint32_t most = 0;
  for (uint32_t a = 0; a < TOKENS; a++) { // it is reached when some token begins
    uint32_t count = 0;
    for (uint32_t b = 0; b < TOKENS; b++)
      count += uses[b].first_ns <= uses[a].first_ns && uses[a].first_ns < uses[b].last_ns;
    if (count > most) most = count;
  }
  return most;
}

// Returns pairs of tokens that share a buffer.
static uint32_t play(bool planted, uint64_t seed, uint32_t flags) {
  scene s = {.planted = planted};
  rig_ok(weir_context_create(
      &(weir_context_options){.devices = "cpu:1", .seed = seed, .flags = WEIR_CONTEXT_TRACE | flags}, &s.context));
  rig_ok(weir_kernel_create(s.context, "spin", &s.kernel));
  rig_ok(weir_kernel_set_cpu(s.kernel, spin));
  for (uint32_t i = 0; i < LINES; i++) rig_ok(weir_buffer_create(s.context, CELLS * 4, &s.buffers[i]));
  weir_stage stages[STAGES];
  for (uint32_t i = 0; i < STAGES; i++)
    stages[i] = (weir_stage){.function = submit, .user = &s, .flags = i == 1 ? WEIR_STAGE_PARALLEL : 0};
  weir_pipeline *pipeline = rig_pipeline(
      s.context, &(weir_pipeline_options){.stages = stages, .stage_count = STAGES, .lines = LINES, .threads = 2});
  rig_ok(weir_pipeline_run(pipeline, WEIR_FOREVER));
  rig_ok(weir_finish(s.context));
  use uses[TOKENS];
  assert_int_equal(collect(&s, uses), TOKENS * STAGES);
  assert_true(most_in_flight(uses) <= LINES);
  uint32_t shared = count_shared(uses);
  weir_context_release(s.context);
  return shared;
}

static void test_lines_have_their_own(void **state) {
  (void)state;
  for (uint64_t seed = 0; seed < 6; seed++)
    assert_int_equal(play(false, seed, seed % 2 ? WEIR_CONTEXT_NO_RENAME : 0), 0);
}

static void test_planted_buffer_is_found(void **state) {
  (void)state;
  uint32_t found = 0;
  for (uint64_t seed = 0; seed < 6; seed++) found += play(true, seed, 0);
  assert_true(found > 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_lines_have_their_own),
                                     cmocka_unit_test(test_planted_buffer_is_found)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
