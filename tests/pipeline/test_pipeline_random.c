// SPDX-License-Identifier: Apache-2.0
//
// Random pipelines over devices give what a serial run of the same tokens gives. What a token does in a stage, how many tasks it
// submits, whether it fails, skips or is dropped, follows from its number.
// Arguments: how many pipelines, and lists of devices to take in turn.
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../support/random.h"
#include "part.h"
#include "program_cuda.h"
#include "rig.h"
#include "step.spv.h"
#include "weir/cuda.h"
#include "weir/opencl.h"
#include "weir/sim.h"
#include "weir/vulkan.h"
#if RIG_CHECKS
#include "check/check.h"
#endif

enum { WORDS = 8, BYTES = WORDS * 4, MOST_TOKENS = 60, MOST_STAGES = 6, MOST_LINES = 9, START = 7 };

static int rounds = 60;
static const char *const usual[] = {"cpu:1", "cpu:2", "sim:ideal", "cpu:1,sim:h200"};
static const char *const *lists = usual;
static int list_count = 4;

static const char source[] = "__kernel void step_words(__global uint *words, uint2 value) {\n"
                             "  uint i = get_group_id(0);\n"
                             "  words[i] = (words[i] ^ value.x) * 2654435761u + i;\n"
                             "}\n";

static const char cuda_source[] = "extern \"C\" __global__ void step_words(unsigned *words, uint2 value) {\n"
                                  "  unsigned i = blockIdx.x;\n"
                                  "  words[i] = (words[i] ^ value.x) * 2654435761u + i;\n"
                                  "}\n";

typedef struct step_value {
  uint32_t seed, fails;
} step_value;

static uint32_t step_word(uint32_t word, uint32_t seed, uint32_t i) {
  return (word ^ seed) * 2654435761u + i;
}

static void step(const weir_work *work) {
  uint32_t *words = work->args[0];
  const step_value *value = work->args[1];
  if (value->fails) {
    weir_work_fail(work, "told to");
    return;
  }
  for (uint64_t i = work->first; i < work->end; i++) words[i] = step_word(words[i], value->seed, (uint32_t)i);
}

static void step_on_stub(const stub_launch *launch) {
  uint64_t address;
  step_value value;
  memcpy(&address, launch->params[0], sizeof address);
  memcpy(&value, launch->params[1], sizeof value);
  uint32_t *words = program_stub_load()->memory(launch, address, BYTES);
  for (uint32_t i = 0; words != NULL && i < WORDS; i++) words[i] = step_word(words[i], value.seed, i);
}

// ---------------------------------------------------------------------------------------------------------------
// What tokens do

typedef enum action { GO_ON, RETURN_FAILURE, FAIL_TASK, SKIP, DROP } action;

typedef struct shape {
  uint64_t seed;
  uint64_t count;
  uint32_t stage_count, lines, threads;
  bool troubles, ordered, functions; // devices run functions, so that tasks can fail
  bool steady;                       // all tokens submit as many tasks in a stage
  bool serial[MOST_STAGES], awaits[MOST_STAGES], graph[MOST_STAGES];
} shape;

typedef struct outcome {
  bool delivered;
  weir_status status;
  bool has_result;
  uint32_t result[WORDS];
} outcome;

static uint64_t hash(const shape *s, uint64_t token, uint32_t stage) {
  return random_mix(s->seed ^ random_mix(token * 64 + stage + 1));
}

static action action_of(const shape *s, uint64_t token, uint32_t stage) {
  uint32_t dice = (uint32_t)(hash(s, token, stage) % 40);
  if (!s->troubles || dice >= 4) return GO_ON;
  if (dice == 1 && !s->functions) return GO_ON;
  return (action)(dice + 1);
}

static uint32_t tasks_of(const shape *s, uint64_t token, uint32_t stage) {
  return (uint32_t)(hash(s, s->steady ? 0 : token, stage) >> 20) % 4;
}

static uint32_t skip_of(const shape *s, uint64_t token, uint32_t stage) {
  return stage + 1 + (uint32_t)(hash(s, token, stage) >> 30) % (s->stage_count - stage);
}

static uint32_t seed_of(uint64_t token, uint32_t stage) {
  return (uint32_t)token * 131 + stage;
}

typedef struct results {
  outcome outcomes[MOST_TOKENS];
  uint32_t shared[MOST_STAGES][WORDS]; // on devices, in the order of serial stages
  uint64_t host[MOST_STAGES];
} results;

static void step_all(uint32_t *words, uint32_t seed) {
  for (uint32_t i = 0; i < WORDS; i++) words[i] = step_word(words[i], seed, i);
}

static void run_token_serially(const shape *s, results *r, uint64_t token) {
  uint32_t words[WORDS], go_to = 0;
  bool dropped = false, task_failed = false;
  outcome *out = &r->outcomes[token];
  for (uint32_t i = 0; i < WORDS; i++) words[i] = START;
  for (uint32_t stage = 0; stage < s->stage_count; stage++) {
    bool called = out->status == WEIR_OK && stage >= go_to;
    if (called) {
      for (uint32_t i = 0; i < tasks_of(s, token, stage); i++) step_all(words, seed_of(token, stage) + i);
      if (s->serial[stage]) {
        step_all(r->shared[stage], seed_of(token, stage));
        r->host[stage] = r->host[stage] * 31 + token;
      }
      action act = action_of(s, token, stage);
      if (act == FAIL_TASK) task_failed = true;
      if (stage + 1 == s->stage_count) {
        out->has_result = true;
        memcpy(out->result, words, BYTES);
      }
      if (act == RETURN_FAILURE) out->status = WEIR_ERROR_IO;
      if (act == SKIP) go_to = skip_of(s, token, stage);
      if (act == DROP) go_to = s->stage_count, dropped = true;
    }
    if (task_failed && out->status == WEIR_OK && (stage + 1 == s->stage_count || (called && s->awaits[stage])))
      out->status = WEIR_ERROR_TASK_FAILED;
  }
  out->delivered = !dropped || out->status != WEIR_OK;
  out->has_result &= out->status == WEIR_OK;
}

// ---------------------------------------------------------------------------------------------------------------
// The pipeline

typedef struct line_state {
  weir_buffer *buffer;
  uint32_t result[WORDS];
  _Atomic int inside;
} line_state;

typedef struct scene {
  shape shape;
  results found, expected;
  weir_context *context;
  weir_kernel *kernel;
  weir_buffer *shared[MOST_STAGES];
  line_state lines[MOST_LINES];
  uint64_t next_delivered;
} scene;

static weir_status submit_step(weir_token *token, weir_buffer *buffer, uint32_t seed, bool fails) {
  const scene *s = token->user;
  step_value value = {seed, fails};
  weir_arg args[] = {weir_updates(buffer), weir_value(&value, sizeof value)};
  weir_task task = {.kernel = s->kernel, .args = args, .arg_count = 2, .groups = {WORDS, 1, 1}};
  return weir_token_submit(token, &task);
}

static weir_status copy_result(weir_token *token, line_state *line) {
  const scene *s = token->user;
  if (s->shape.graph[token->stage]) return weir_token_copy_out(token, line->buffer, 0, WEIR_WHOLE, line->result);
  weir_event *event;
  weir_status status = weir_copy_out(line->buffer, 0, WEIR_WHOLE, line->result, &event);
  if (status != WEIR_OK) return status;
  status = weir_token_await(token, event);
  weir_event_release(event);
  return status;
}

static weir_status do_stage(weir_token *token, line_state *line) {
  scene *s = token->user;
  uint32_t stage = token->stage, seed = seed_of(token->number, stage);
  if (stage == 0) {
    if (token->number == s->shape.count) return weir_token_end_input(token);
    weir_status status = s->shape.steady ? weir_token_fill(token, line->buffer, 0, WEIR_WHOLE, START)
                                         : weir_fill(line->buffer, 0, WEIR_WHOLE, START, NULL);
    rig_check(status == WEIR_OK);
  }
  for (uint32_t i = 0; i < tasks_of(&s->shape, token->number, stage); i++)
    rig_check(submit_step(token, line->buffer, seed + i, false) == WEIR_OK);
  if (s->shape.serial[stage]) {
    rig_check(submit_step(token, s->shared[stage], seed, false) == WEIR_OK);
    s->found.host[stage] = s->found.host[stage] * 31 + token->number;
  }
  action act = action_of(&s->shape, token->number, stage);
  if (act == FAIL_TASK) rig_check(submit_step(token, line->buffer, seed, true) == WEIR_OK);
  if (stage + 1 == s->shape.stage_count) rig_check(copy_result(token, line) == WEIR_OK);
  if (act == SKIP) return weir_token_skip_to(token, skip_of(&s->shape, token->number, stage));
  if (act == DROP) return weir_token_drop(token);
  return act == RETURN_FAILURE ? weir_token_fail(token, WEIR_ERROR_IO, "told to") : WEIR_OK;
}

static weir_status stage_function(weir_token *token) {
  line_state *line = token->line_state;
  rig_check(atomic_exchange(&line->inside, 1) == 0);
  token->data = (void *)(uintptr_t)(token->number + 1);
  weir_status status = do_stage(token, line);
  atomic_store(&line->inside, 0);
  return status;
}

static void deliver(weir_token *token) {
  scene *s = token->user;
  line_state *line = token->line_state;
  outcome *out = &s->found.outcomes[token->number];
  rig_check(atomic_exchange(&line->inside, 1) == 0);
  if (s->shape.ordered) {
    rig_check(token->number >= s->next_delivered);
    s->next_delivered = token->number + 1;
  }
  rig_check(!out->delivered);
  out->delivered = true;
  out->status = token->status;
  out->has_result = s->expected.outcomes[token->number].has_result;
  if (out->has_result) memcpy(out->result, line->result, BYTES);
  atomic_store(&line->inside, 0);
}

static weir_status open_line(void *user, uint32_t line, void **out_state) {
  scene *s = user;
  *out_state = &s->lines[line];
  return weir_buffer_create(s->context, BYTES, &s->lines[line].buffer);
}

static void close_line(void *user, uint32_t line, void *state) {
  (void)user, (void)line;
  rig_ok(weir_buffer_release(((line_state *)state)->buffer));
}

// ---------------------------------------------------------------------------------------------------------------
// A round

static bool has_device(weir_context *context, const char *kind) {
  for (uint32_t i = 0; i < weir_context_device_count(context); i++) {
    if (strcmp(weir_device_information(weir_context_device(context, i))->kind, kind) == 0) return true;
  }
  return false;
}

// On the stub driver, or a real one.
static void set_cuda(weir_kernel *kernel) {
  weir_cuda_code code = {.source = cuda_source};
  const program_stub *stub = program_stub_load();
  if (stub != NULL) {
    stub->register_function("step_words", step_on_stub);
    code = (weir_cuda_code){.image = "STUB\nstep_words 2 8 8\n"};
  }
  rig_ok(weir_kernel_set_cuda(kernel, &code, &(weir_cuda_launch){.function = "step_words", .block = {1, 1, 1}}, 1));
}

static void make_kernel(scene *s) {
  const weir_sim_launch launch = {.threads = 64, .us = 5};
  rig_ok(weir_kernel_create(s->context, "step", &s->kernel));
  rig_ok(weir_kernel_set_cpu(s->kernel, step));
  rig_ok(weir_kernel_set_sim(s->kernel, &launch, 1));
  bool opencl = has_device(s->context, "opencl"), vulkan = has_device(s->context, "vulkan");
  bool cuda = has_device(s->context, "cuda");
  if (cuda) set_cuda(s->kernel);
  if (opencl)
    rig_ok(weir_kernel_set_opencl(s->kernel, &(weir_opencl_code){.source = source},
                                  &(weir_opencl_launch){.entry = "step_words"}));
  if (vulkan)
    rig_ok(weir_kernel_set_vulkan(s->kernel, &(weir_vulkan_code){.words = step_spv, .bytes = sizeof step_spv},
                                  &(weir_vulkan_launch){0}, 1));
  s->shape.functions = !opencl && !vulkan && !cuda;
}

static void make_shape(random_state *random, shape *s) {
  s->seed = random_next(random);
  s->count = random_below(random, MOST_TOKENS + 1);
  s->stage_count = random_between(random, 1, MOST_STAGES);
  s->lines = random_between(random, 1, MOST_LINES);
  s->threads = random_between(random, 1, 4);
  s->troubles = random_chance(random, 60);
  s->ordered = random_chance(random, 60);
  s->steady = random_chance(random, 50);
  for (uint32_t i = 0; i < s->stage_count; i++) {
    s->serial[i] = i == 0 || random_chance(random, 50);
    s->awaits[i] = random_chance(random, 40);
    s->graph[i] = random_chance(random, 50);
  }
}

static void run_pipeline(scene *s, random_state *random) {
  weir_stage stages[MOST_STAGES];
  uint32_t devices = weir_context_device_count(s->context);
  for (uint32_t i = 0; i < s->shape.stage_count; i++) {
    uint32_t flags = (s->shape.serial[i] ? 0u : WEIR_STAGE_PARALLEL) | (s->shape.awaits[i] ? WEIR_STAGE_AWAIT : 0u) |
                     (s->shape.graph[i] ? WEIR_STAGE_GRAPH : 0u);
    stages[i] = (weir_stage){.function = stage_function,
                             .user = s,
                             .flags = flags,
                             .device = weir_context_device(s->context, random_below(random, devices + 1))};
  }
  weir_pipeline_options options = {.stages = stages,
                                   .stage_count = s->shape.stage_count,
                                   .lines = s->shape.lines,
                                   .threads = s->shape.threads,
                                   .flags = s->shape.ordered ? 0 : WEIR_PIPELINE_UNORDERED,
                                   .deliver = deliver,
                                   .open_line = open_line,
                                   .close_line = close_line,
                                   .user = s};
  weir_pipeline *pipeline = rig_pipeline(s->context, &options);
  weir_status status = weir_pipeline_run(pipeline, WEIR_FOREVER), expected = WEIR_OK;
  uint64_t failed = 0;
  for (uint64_t i = 0; i < s->shape.count; i++) {
    if (s->expected.outcomes[i].status != WEIR_OK) expected = s->expected.outcomes[i].status, failed++;
  }
  assert_int_equal(status == WEIR_OK, expected == WEIR_OK);
  weir_pipeline_statistics statistics;
  rig_ok(weir_pipeline_get_statistics(pipeline, &statistics));
  assert_int_equal(statistics.tokens, s->shape.count);
  assert_int_equal(statistics.failed, failed);
  rig_ok(weir_pipeline_release(pipeline));
}

static void compare(const scene *s) {
  for (uint64_t i = 0; i < s->shape.count; i++) {
    const outcome *found = &s->found.outcomes[i], *expected = &s->expected.outcomes[i];
    if (found->delivered != expected->delivered) fail_msg("token %d: delivered: %d", (int)i, found->delivered);
    if (!found->delivered) continue;
    if (found->status != expected->status)
      fail_msg("token %d: %s, not %s", (int)i, weir_status_name(found->status), weir_status_name(expected->status));
    assert_int_equal(found->has_result, expected->has_result);
    if (found->has_result) assert_memory_equal(found->result, expected->result, BYTES);
  }
  for (uint32_t i = 0; i < s->shape.stage_count; i++) {
    if (!s->shape.serial[i]) continue;
    assert_memory_equal(s->found.shared[i], s->expected.shared[i], BYTES);
    assert_int_equal(s->found.host[i], s->expected.host[i]);
  }
}

// The checker proves the timeline, where it was built.
static void check_timeline(weir_context *context) {
#if RIG_CHECKS
  char path[] = "/tmp/weir-pipeline-XXXXXX.json";
  int file = mkstemps(path, 5);
  assert_true(file >= 0);
  close(file);
  rig_ok(weir_trace_save(context, path, "random"));
  weir__check_report report;
  if (weir__check_pipelines_file(path, NULL, &report) != WEIR__CHECK_PROVED) fail_msg("%s", report.text);
  unlink(path);
#else
  (void)context;
#endif
}

static void play(uint64_t seed, const char *devices) {
  static scene s;
  memset(&s, 0, sizeof s);
  random_state random = {seed};
  uint64_t disturb = random_chance(&random, 70) ? seed : 0;
  bool traces = RIG_CHECKS && seed / 4 % 3 == 0;
  s.context = traces ? rig_tracing_context(devices, disturb) : rig_context(devices, disturb);
  make_shape(&random, &s.shape);
  make_kernel(&s);
  for (uint64_t i = 0; i < s.shape.count; i++) run_token_serially(&s.shape, &s.expected, i);
  for (uint32_t i = 0; i < s.shape.stage_count; i++) {
    rig_ok(weir_buffer_create(s.context, BYTES, &s.shared[i]));
    rig_ok(weir_fill(s.shared[i], 0, WEIR_WHOLE, 0, NULL));
  }
  run_pipeline(&s, &random);
  for (uint32_t i = 0; i < s.shape.stage_count; i++)
    rig_ok(weir_copy_out(s.shared[i], 0, WEIR_WHOLE, s.found.shared[i], NULL));
  (void)weir_finish(s.context); // failed tasks are reported here, too
  compare(&s);
  if (traces) check_timeline(s.context);
  weir_context_release(s.context);
  const program_stub *stub = program_stub_load();
  if (stub != NULL && stub->violations() > 0) fail_msg("%s", stub->violation_text());
  rig_no_problems();
}

static void test_random(void **state) {
  (void)state;
  for (int round = 0; round < rounds; round++) {
    uint64_t seed = rig_seed() * 1000003 + (uint64_t)round;
    const char *devices = lists[round % list_count];
    print_message("seed %llu on %s\n", (unsigned long long)seed, devices);
    play(seed, devices);
  }
}

// Ends the program if a device is missing.
static void need(const char *devices) {
  weir_context *context = NULL;
  weir_status status = weir_context_create(&(weir_context_options){.devices = devices}, &context);
  weir_context_release(context);
  if (status == WEIR_OK) return;
  printf("skipped: %s\n", weir_last_error());
  exit(77);
}

int main(int argc, char **argv) {
  if (argc > 1) rounds = (int)part_count((uint32_t)atoi(argv[1]));
  if (argc > 2) {
    lists = (const char *const *)&argv[2];
    list_count = argc - 2;
    if (rounds < list_count) rounds = list_count;
  }
  for (int i = 0; i < list_count; i++) need(lists[i]);
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_random)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
