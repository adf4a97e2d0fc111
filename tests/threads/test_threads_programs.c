// SPDX-License-Identifier: Apache-2.0
//
// Random programs in eight threads at once, on buffers of their own in one context.
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

#include "crowd.h"
#include "part.h"
#include "program_run.h"

typedef struct session {
  weir_context *context;
  uint64_t first_seed;
  uint32_t programs; // per thread
  bool host_tasks, churn;
  atomic_uint failed;
} session;

static void run_programs(void *user, uint32_t number) {
  session *self = user;
  program_options options = {.shared = self->context, .simulated = true};
  for (uint32_t i = 0; i < self->programs; i++) {
    uint64_t seed = self->first_seed + number * 1000003u + i;
    program_shape shape = {.length = 40 + (uint32_t)(seed % 60), .host_tasks = self->host_tasks, .churn = self->churn};
    shape.graphs = seed % 3 == 0;
    shape.failures = seed % 4 == 1;
    shape.pauses = seed % 2 == 0;
    test_program program;
    program_generate(&program, seed, &shape);
    char message[PROGRAM_MESSAGE_BYTES];
    if (!program_run(&program, &options, message)) {
      fprintf(stderr, "seed %" PRIu64 ": %s\n", seed, message);
      atomic_fetch_add(&self->failed, 1);
    }
    program_deinitialize(&program);
  }
}

static void programs_side_by_side_equal_serial_execution(void **state) {
  (void)state;
  static const uint32_t windows[] = {8, 32, 1024};
  const char *programs = getenv("WEIR_TEST_PROGRAMS"), *seed = getenv("WEIR_TEST_SEED");
  uint32_t per_thread = programs != NULL ? (uint32_t)strtoul(programs, NULL, 10) / 100 + 1 : part_count(20);
  for (uint32_t i = 0; i < CROWD_CONTEXTS + CROWD_SIMULATED; i++) {
    alarm(120);
    uint64_t limit = i % 2 == 0 ? 0 : CROWD * PROGRAM_MAX_LIVE * PROGRAM_CHURN_BYTES; // no more than what lives
    session all = {.context = crowd_context(i, windows[(i + i / 3) % 3], limit),
                   .host_tasks = i != CROWD_CONTEXTS,
                   .churn = limit > 0};
    all.first_seed = (seed != NULL ? strtoull(seed, NULL, 10) : 1) + i * 7;
    all.programs = per_thread;
    crowd_run(run_programs, &all);
    weir_context_release(all.context);
    assert_int_equal(atomic_load(&all.failed), 0);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(programs_side_by_side_equal_serial_execution)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
