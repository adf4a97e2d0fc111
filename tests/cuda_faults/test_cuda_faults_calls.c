// SPDX-License-Identifier: Apache-2.0
//
// The Nth call of the driver fails, for every N, in a scenario of tasks, copies and graphs: nothing leaks, nothing hangs,
// what is reported as done is right, and what is not says why.
#include "cuda_faults.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sweep.h"

enum { MANY = 20000 };

// Runs the scenario with the Nth call of the driver failing. False: it makes fewer.
static bool run(const weir_context_options *options, uint64_t seed, uint64_t n, int result) {
  char what[160];
  snprintf(what, sizeof what, "%s, issue mode %d, seed %llu, call %llu gives %d", options->devices, (int)options->issue,
           (unsigned long long)seed, (unsigned long long)n, result);
  stub_options stub = {.seed = seed, .manual = seed % 2 == 0, .memory = 1 << 26};
  if (!stub_configure(&stub)) fail_msg("%s: a context is left from before", what);
  faults_scenario s = {.make_kernel = faults_mix_kernel, .failed = stub_failed};
  alarm(60);
  stub_fail_nth(NULL, n, result);
  weir_status status = faults_play(&s, options, what);
  if (status == WEIR_OK) faults_check(&s, what);
  faults_release(&s);
  alarm(0);
  const char *failed = stub_failed();
  if (failed != NULL) snprintf(what + strlen(what), sizeof what - strlen(what), " (%s)", failed);
  if (status != WEIR_OK && failed == NULL) faults_wrong("%s: %s though no call failed", what, weir_last_error());
  faults_check_driver(what);
  return failed != NULL;
}

// Every mode with both ways of execution; a timeline is kept in one mode. The context's seed brings launching threads.
static void sweep_with(const char *devices, int result, uint32_t traced, uint64_t context_seed, uint64_t card_bytes) {
  static const weir_issue ways[] = {WEIR_ISSUE_AUTO, WEIR_ISSUE_QUEUES, WEIR_ISSUE_GRAPHS, WEIR_ISSUE_RESIDENT};
  static uint32_t sweeps; // each with another way, where a run of the suite takes one
  bool takes_all = part_divisor() == 1;
  uint32_t first = takes_all ? 0 : (part_random() % 4 + sweeps++) % 4, end = takes_all ? 4 : first + 1;
  for (uint32_t way = first; way < end; way++) {
    faults_let_fit(ways[way] == WEIR_ISSUE_RESIDENT);
    uint64_t seed = way + traced;
    weir_context_options options = {.devices = devices, .issue = ways[way], .queues = way + 1, .seed = context_seed};
    options.device_memory_limit = card_bytes;
    if (way == traced) options.flags = WEIR_CONTEXT_TRACE;
    // The resident kernel's threads take longer: there each sweep takes every third call.
    uint64_t skipped = ways[way] == WEIR_ISSUE_RESIDENT ? 2 : 0, n = 1 + seed % (skipped + 1);
    while (n < MANY && run(&options, seed, n, result)) n = sweep_after(n + skipped);
    assert_true(n > 50 && n < MANY); // all calls came up
  }
  faults_expect_none();
}

static void sweep(const char *devices, int result, uint32_t traced, uint64_t context_seed) {
  sweep_with(devices, result, traced, context_seed, 0);
}

// A card that holds the two buffers of a task and no more: buffers are copied to the host, and fetched back.
static void errors_on_a_full_card(void **state) {
  (void)state;
  enum { BUFFER = WORDS * 4, BLOCK = BUFFER + BUFFER / 4 };
  sweep_with("cuda", 304, 1, 2, 2 * BLOCK);
  sweep_with("cuda,cpu:1", 2, 2, 0, 2 * BLOCK);
}

static void no_memory(void **state) {
  (void)state;
  sweep("cuda", 2, 1, 0);
  sweep("cuda,cpu:1", 2, 2, 0);
}

static void errors_of_the_operating_system(void **state) {
  (void)state;
  sweep("cuda,cpu:1", 304, 0, 0);
}

static void errors_in_launching_threads(void **state) {
  (void)state;
  sweep("cuda", 2, 3, 1);
  sweep("cuda,cpu:1", 304, 0, 3);
}

static void errors_that_lose_the_device(void **state) {
  (void)state;
  sweep("cuda", 700, 2, 0);
  sweep("cuda,cpu:1", 719, 1, 2);
}

int main(void) {
  faults_use_stub();
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(no_memory),
      cmocka_unit_test(errors_on_a_full_card),
      cmocka_unit_test(errors_of_the_operating_system),
      cmocka_unit_test(errors_in_launching_threads),
      cmocka_unit_test(errors_that_lose_the_device),
  };
  return cmocka_run_group_tests_name("CUDA: failing calls", tests, NULL, NULL);
}
