// SPDX-License-Identifier: Apache-2.0
//
// Random programs on random clusters: alike in each run, not quicker than any bound, and not slower than one after the
// other.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "part.h"
#include "random.h"
#include "sequence.h"

enum { BUFFERS = 12, BYTES = 64, TASKS = 60, PROGRAMS = 400 };

static double random_us(random_state *random) {
  return random_chance(random, 30) ? 0 : random_below(random, 5000) / 1000.0;
}

static weir__cluster_settings random_settings(random_state *random) {
  return (weir__cluster_settings){.ranks_per_node = random_between(random, 1, 3),
                                  .workers = random_between(random, 1, 3),
                                  .cores = random_below(random, 5),
                                  .oversubscribe = random_between(random, 1, 3),
                                  .jitter = random_below(random, 3) / 2.0,
                                  .skip = random_below(random, 2),
                                  .submit_us = random_us(random),
                                  .pass_us = random_us(random),
                                  .buffer_us = random_us(random),
                                  .task_us = random_us(random),
                                  .send_us = random_us(random),
                                  .receive_us = random_us(random),
                                  .copy_gbs = random_us(random),
                                  .latency_us = random_us(random),
                                  .gbs = random_us(random),
                                  .switch_gbs = random_us(random),
                                  .local_latency_us = random_us(random),
                                  .local_gbs = random_us(random)};
}

static void add_task(weir__cluster_program *program, random_state *random) {
  static const weir_mode modes[] = {WEIR_READ, WEIR_WRITE, WEIR_READ_WRITE, WEIR_COMMUTE};
  weir__plan_access accesses[ACCESSES];
  uint32_t count = random_below(random, 5), buffer = random_below(random, 3);
  for (uint32_t i = 0; i < count; i++, buffer += random_between(random, 1, 2)) {
    uint32_t first = random_chance(random, 60) ? 0 : random_below(random, BYTES);
    accesses[i] =
        (weir__plan_access){modes[random_below(random, 4)], buffer, first,
                            first == 0 && random_chance(random, 70) ? BYTES : random_between(random, 1, BYTES - first)};
  }
  weir__cluster_program_task(program, accesses, count, 1000 * random_us(random), random_chance(random, 10));
}

static weir__cluster_program random_program(random_state *random) {
  weir__cluster_program program;
  uint32_t ranks = random_chance(random, 10) ? 70 : random_between(random, 1, 6);
  assert_true(weir__cluster_program_create(&program, ranks));
  for (uint32_t i = 0; i < BUFFERS; i++) weir__cluster_program_buffer(&program, BYTES, random_below(random, ranks));
  for (uint32_t i = 0; i < TASKS; i++) add_task(&program, random);
  assert_true(weir__cluster_program_end(&program));
  return program;
}

// What everything takes, one after the other.
static double sum_us(const weir__cluster_program *program, const weir__cluster_settings *settings) {
  double us = program->rank_count * ((double)TASKS * settings->pass_us + BUFFERS * settings->buffer_us);
  for (uint32_t i = 0; i < program->op_count; i++)
    us += settings->submit_us + settings->task_us + (1 + settings->jitter) * program->ops[i].ns / 1000;
  double bytes_us = 0;
  for (uint32_t i = 0; i < program->message_count; i++) {
    double ns = 0, wire = (double)program->messages[i].bytes + 64;
    if (settings->copy_gbs > 0) ns += 2 * (double)program->messages[i].bytes / settings->copy_gbs;
    if (settings->gbs > 0) ns += 2 * wire / settings->gbs;
    if (settings->switch_gbs > 0) ns += 2 * wire / settings->switch_gbs;
    if (settings->local_gbs > 0) ns += wire / settings->local_gbs;
    bytes_us +=
        ns / 1000 + settings->send_us + settings->receive_us + settings->latency_us + settings->local_latency_us;
  }
  return us + bytes_us;
}

static void check_program(uint32_t seed) {
  random_state random = {seed};
  weir__cluster_program program = random_program(&random);
  weir__cluster_settings settings = random_settings(&random);
  uint32_t window = random_chance(&random, 30) ? random_between(&random, 1, 4) : 64;
  weir__cluster_result first, again;
  memset(&first, 0, sizeof first);
  memset(&again, 0, sizeof again);
  assert_int_equal(weir__cluster_run(&program, &settings, window, &first), WEIR_OK);
  assert_int_equal(weir__cluster_run(&program, &settings, window, &again), WEIR_OK);
  check_us(again.makespan_us, first.makespan_us);
  assert_int_equal(again.events, first.events);
  for (int i = 0; i < WEIR__CLUSTER_LIMITS; i++) {
    check_us(again.bounds_us[i], first.bounds_us[i]);
    if (first.bounds_us[i] > first.makespan_us * (1 + 1e-9))
      fail_msg("seed %u: bound %d is %g us, and the run took %g us", seed, i, first.bounds_us[i], first.makespan_us);
  }
  double most = sum_us(&program, &settings);
  if (first.makespan_us > most * (1 + 1e-9))
    fail_msg("seed %u: %g us, and all took %g us", seed, first.makespan_us, most);
  weir__cluster_program_free(&program);
}

static void test_programs(void **state) {
  (void)state;
  test_part part = part_of(PROGRAMS);
  for (uint32_t seed = part.first; seed < part.end; seed++) check_program(seed);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_programs)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
