// SPDX-License-Identifier: Apache-2.0
//
// The Nth call of the driver fails, for every N, in a scenario of tasks, copies and graphs: nothing leaks, nothing hangs,
// what is reported as done is right, and what is not says why.
#include "cuda_faults.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { BUFFERS = 3, ROUNDS = 6, NODES = 4, MANY = 20000 };

typedef struct scenario {
  weir_context *context;
  weir_kernel *mix;
  weir_buffer *buffers[BUFFERS], *wrapped;
  weir_graph *graph;
  weir_event *events[2]; // of the copies out
  uint32_t input[WORDS], outputs[2][WORDS], memory[WORDS];
} scenario;

// The calls up to the first that is refused: then a program gives up.
static weir_status submit_round(scenario *s, uint32_t round) {
  weir_arg args[3];
  weir_task task = faults_task(s->mix, args, s->buffers[(round + 1) % 2], s->buffers[round % 2], &round);
  return weir_submit(s->context, &task, NULL);
}

static weir_status record(scenario *s) {
  weir_status status = weir_graph_create(s->context, &s->graph);
  for (uint32_t i = 0; i < NODES && status == WEIR_OK; i++) {
    weir_arg args[3];
    weir_task task = faults_task(s->mix, args, s->buffers[i % 2 == 0 ? 2 : 0], s->buffers[i % 2 == 0 ? 0 : 2], &i);
    status = weir_graph_add(s->graph, &task, NULL);
  }
  return status;
}

static weir_status play(scenario *s) {
  weir_status status = faults_mix_kernel(s->context, &s->mix);
  for (int i = 0; i < BUFFERS && status == WEIR_OK; i++)
    status = weir_buffer_create(s->context, sizeof s->input, &s->buffers[i]);
  if (status == WEIR_OK) status = weir_buffer_wrap(s->context, s->memory, sizeof s->memory, &s->wrapped);
  if (status == WEIR_OK) status = weir_copy_in(s->buffers[0], 0, sizeof s->input, s->input, NULL);
  for (uint32_t i = 0; i < ROUNDS && status == WEIR_OK; i++) status = submit_round(s, i);
  if (status == WEIR_OK) status = record(s);
  for (int i = 0; i < 2 && status == WEIR_OK; i++) status = weir_graph_launch(s->graph, NULL);
  weir_arg args[3];
  uint32_t value = 77;
  weir_task task = faults_task(s->mix, args, s->wrapped, s->buffers[0], &value);
  if (status == WEIR_OK) status = weir_submit(s->context, &task, NULL);
  if (status == WEIR_OK) status = weir_copy_out(s->buffers[0], 0, sizeof s->input, s->outputs[0], &s->events[0]);
  if (status == WEIR_OK) status = weir_copy_out(s->wrapped, 0, sizeof s->input, s->outputs[1], &s->events[1]);
  return status;
}

static uint32_t expected(uint32_t input, int output) {
  for (uint32_t i = 0; i < ROUNDS; i++) input = faults_mixed(input, i);
  for (uint32_t i = 0; i < 2 * NODES; i++) input = faults_mixed(input, i % NODES);
  return output == 0 ? input : faults_mixed(input, 77);
}

static bool is_documented(weir_status status) {
  return status == WEIR_ERROR_OUT_OF_MEMORY || status == WEIR_ERROR_UNAVAILABLE || status == WEIR_ERROR_DEVICE_LOST ||
         status == WEIR_ERROR_TASK_FAILED || status == WEIR_ERROR_UPSTREAM_FAILED;
}

static void check(const scenario *s, const char *what) {
  for (int i = 0; i < 2; i++) {
    weir_status status = weir_event_wait(s->events[i], WEIR_FOREVER);
    if (status != WEIR_OK) {
      if (stub_failed() == NULL)
        faults_wrong("%s: output %d: %s, though no call failed", what, i, weir_status_name(status));
      if (!is_documented(status)) faults_wrong("%s: output %d: %s", what, i, weir_status_name(status));
      if (weir_event_message(s->events[i])[0] == '\0') faults_wrong("%s: output %d fails without a word", what, i);
      continue;
    }
    int same = 0;
    while (same < WORDS && s->outputs[i][same] == expected(s->input[same], i)) same++;
    if (same < WORDS) faults_wrong("%s: output %d is wrong", what, i);
  }
}

static void release(scenario *s) {
  for (int i = 0; i < 2; i++) weir_event_release(s->events[i]);
  weir_graph_release(s->graph);
  for (int i = 0; i < BUFFERS; i++) weir_buffer_release(s->buffers[i]);
  weir_buffer_release(s->wrapped);
  weir_kernel_release(s->mix);
  weir_context_release(s->context);
}

// Runs the scenario with the Nth call of the driver failing. False: it makes fewer.
static bool run(const weir_context_options *options, uint64_t seed, uint64_t n, int result) {
  char what[160];
  snprintf(what, sizeof what, "%s, issue mode %d, seed %llu, call %llu gives %d", options->devices, (int)options->issue,
           (unsigned long long)seed, (unsigned long long)n, result);
  stub_options stub = {.seed = seed, .manual = seed % 2 == 0, .memory = 1 << 26};
  if (!stub_configure(&stub)) fail_msg("%s: a context is left from before", what);
  scenario s = {0};
  for (uint32_t i = 0; i < WORDS; i++) s.input[i] = i * 2654435761u;
  alarm(60);
  stub_fail_nth(NULL, n, result);
  weir_status status = weir_context_create(options, &s.context);
  if (status == WEIR_OK) status = play(&s);
  if (status != WEIR_OK && !is_documented(status)) faults_wrong("%s: %s", what, weir_status_name(status));
  if (status != WEIR_OK && weir_last_error()[0] == '\0') faults_wrong("%s: refused without a word", what);
  if (status == WEIR_OK) check(&s, what);
  release(&s);
  alarm(0);
  const char *failed = stub_failed();
  if (failed != NULL) snprintf(what + strlen(what), sizeof what - strlen(what), " (%s)", failed);
  if (status != WEIR_OK && failed == NULL) faults_wrong("%s: %s though no call failed", what, weir_last_error());
  faults_check_driver(what);
  return failed != NULL;
}

// Every mode with both ways of execution; a timeline is kept in one mode.
static void sweep(const char *devices, int result, uint32_t traced) {
  static const weir_issue ways[] = {WEIR_ISSUE_AUTO, WEIR_ISSUE_QUEUES, WEIR_ISSUE_GRAPHS};
  for (uint32_t way = 0; way < 3; way++) {
    uint64_t seed = way + traced;
    weir_context_options options = {.devices = devices, .issue = ways[way], .queues = way + 1};
    if (way == traced) options.flags = WEIR_CONTEXT_TRACE;
    uint64_t n = 1;
    while (n < MANY && run(&options, seed, n, result)) n++;
    assert_true(n > 50 && n < MANY); // all calls came up
  }
  faults_expect_none();
}

static void no_memory(void **state) {
  (void)state;
  sweep("cuda", 2, 1);
  sweep("cuda,cpu:1", 2, 2);
}

static void errors_of_the_operating_system(void **state) {
  (void)state;
  sweep("cuda,cpu:1", 304, 0);
}

static void errors_that_lose_the_device(void **state) {
  (void)state;
  sweep("cuda", 700, 2);
  sweep("cuda,cpu:1", 719, 1);
}

int main(void) {
  faults_use_stub();
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(no_memory),
      cmocka_unit_test(errors_of_the_operating_system),
      cmocka_unit_test(errors_that_lose_the_device),
  };
  return cmocka_run_group_tests_name("CUDA: failing calls", tests, NULL, NULL);
}
