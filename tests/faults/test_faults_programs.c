// SPDX-License-Identifier: Apache-2.0
//
// Random programs with a failing allocation: what Weir refuses is left out, and the rest must still equal serial
// execution. For each program one N after the other is tried (support/sweep.h) until it goes through.
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "allocation_ledger.h"
#include "base/allocate.h"
#include "program_run.h"
#include "sweep.h"

static uint64_t base_seed = 1;
static bool on_cards;      // that are too small for all buffers; Weir places tasks
static uint64_t evictions; // from these cards

static program_options options_for(uint64_t seed) {
  static const char *const devices[] = {"cpu:1", "sim:ideal", "cpu:3", "cpu:2", "sim:h200,cpu:1"};
  static const uint32_t windows[] = {8, 32, 64};
  program_options options = {.refusals = true};
  options.context.devices = devices[seed % 5];
  options.simulated = true;
  options.context.window = windows[seed / 3 % 3];
  options.context.seed = seed % 2 == 0 ? seed : 0;
  if (seed % 4 == 0) options.context.flags |= WEIR_CONTEXT_TRACE;
  options.abandon = seed % 7 == 0;
  if (!on_cards) return options;
  options.context.devices = "sim:h200+memory_mib=64,sim:ideal+memory_mib=64+peer_gbs=10";
  options.context.flags |= WEIR_CONTEXT_PLACE;
  options.evictions = &evictions;
  return options;
}

// Runs a program with the Nth allocation failing, once. False: it needs fewer. `*out_differs`: its results are not those of
// the reference, as `message` says, and it was to be compared.
static bool run_once(uint64_t seed, uint64_t n, bool *out_differs, char message[PROGRAM_MESSAGE_BYTES]) {
  program_shape shape = {
      .length = 20 + (uint32_t)(seed % 60), .host_tasks = seed % 5 != 1 && !on_cards, .graphs = seed % 2 == 1};
  shape.failures = seed % 3 == 0;
  test_program program;
  program_generate(&program, seed, &shape);
  program_options options = options_for(seed);
  if (on_cards) options.context.device_memory_limit = program.live_bytes / 2 + 1; // what is too large is refused
  int64_t live = ledger_live();
  alarm(60);
  uint64_t before = weir__allocate_count();
  weir__allocate_fail_at(n);
  bool good = program_run(&program, &options, message);
  weir__allocate_fail_at(0);
  bool reached = weir__allocate_count() - before >= n;
  program_deinitialize(&program);
  // A simulated device allocates when it gets a task, which then fails: all that depends on it differs.
  bool simulated = strstr(options.context.devices, "sim") != NULL;
  *out_differs = !good && !(simulated && reached);
  if (ledger_live() != live)
    fail_msg("seed %" PRIu64 ", allocation %" PRIu64 " failed: %" PRId64 " leaked", seed, n, ledger_live() - live);
  return reached;
}

// Where memory is too short to note what a task reads, and tasks fail meanwhile, the task is skipped even if none of them
// was one of its own. Whether they do is a matter of timing, so a program in which tasks fail must differ every time.
static bool run_with_failure(uint64_t seed, uint64_t n) {
  char message[PROGRAM_MESSAGE_BYTES];
  int runs = seed % 3 == 0 ? 5 : 1;
  bool differs = true, reached = false;
  for (int run = 0; run < runs && differs; run++) reached = run_once(seed, n, &differs, message);
  if (differs) fail_msg("seed %" PRIu64 ", allocation %" PRIu64 " failed: %s", seed, n, message);
  return reached;
}

static void programs_go_on_without_what_was_refused(void **state) {
  (void)state;
  const char *programs = getenv("WEIR_TEST_PROGRAMS");
  uint64_t count = programs != NULL ? strtoull(programs, NULL, 10) / 100 + 2 : 30;
  run_with_failure(base_seed, 0); // what the process allocates once and keeps
  for (uint64_t i = 0; i < count; i++) {
    for (uint64_t n = 1; run_with_failure(base_seed + i, n);) n = sweep_after(n);
  }
}

static void programs_on_full_cards_go_on_too(void **state) {
  (void)state;
  on_cards = true;
  run_with_failure(base_seed, 0);
  for (uint64_t i = 0; i < 12; i++) {
    for (uint64_t n = 1; run_with_failure(base_seed + i, n);) n = sweep_after(n);
  }
  assert_true(evictions > 0);
}

int main(void) {
  if (getenv("WEIR_TEST_SEED") != NULL) base_seed = strtoull(getenv("WEIR_TEST_SEED"), NULL, 10);
  const struct CMUnitTest tests[] = {cmocka_unit_test(programs_go_on_without_what_was_refused),
                                     cmocka_unit_test(programs_on_full_cards_go_on_too)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
