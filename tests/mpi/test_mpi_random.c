// SPDX-License-Identifier: Apache-2.0
//
// Random programs on 1 to 4 ranks that are threads, with and without failures, equal serial execution byte for byte. The
// argument "opencl" or "cuda" gives each rank such a device beside its worker, "mixed" gives ranks different ones. CUDA is
// the stub driver.
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "mpi_program.h"
#include "part.h"
#include "rank_threads.h"

enum { JOBS = 200, DEVICE_JOBS = 20, PROGRAMS = 10 }; // the last of a job

// Programs of a job, one after the other.
static void body(rank_run *run) {
  for (uint64_t i = 0; i < PROGRAMS && run->text[0] == '\0'; i++) {
    uint64_t seed = run->seed * PROGRAMS + i;
    const char *text = mpi_program_run(run->context, run->mpi, seed, seed % 2 == 1);
    weir_mpi_statistics counts;
    weir_mpi_get_statistics(run->mpi, &counts);
    run->direct_sent = counts.direct_sent;
    run->direct_received = counts.direct_received;
    if (text[0] != '\0') snprintf(run->text, sizeof run->text, "seed %llu: %s", (unsigned long long)seed, text);
  }
}

// Messages of device memory in all jobs, and jobs of several ranks.
static uint64_t direct_sent, direct_received, jobs;

static void run_jobs(uint32_t whole) {
  test_part part = part_of(whole);
  bool halves = part_divisor() > 1;
  for (uint64_t i = part.first; i < part.end; i++) {
    if (halves && (i / MPI_RANKS + part_random()) % 2 == 0) continue;
    rank_run runs[MPI_RANKS];
    uint32_t size = 1 + (uint32_t)(i % MPI_RANKS);
    const weir_mpi_options options = {.piece_bytes = i % 3 == 0 ? 256 : 0,
                                      .send_limit = i % 5 == 0   ? 100
                                                    : i % 5 == 1 ? 500
                                                                 : 0,
                                      .direct_bytes = i % 2 == 0 ? 1 : 100,
                                      .direct = WEIR_MPI_DIRECT_ALWAYS};
    rank_threads_run(runs, size, i + 1, &options, body);
    jobs += size > 1;
    for (uint32_t r = 0; r < size; r++) {
      direct_sent += runs[r].direct_sent;
      direct_received += runs[r].direct_received;
      if (runs[r].text[0] != '\0') fail_msg("%u ranks: %s", size, runs[r].text);
      if (runs[r].released != WEIR_OK) fail_msg("%u ranks: job %d: rank %u: %s", size, (int)i, r, runs[r].end);
    }
  }
}

static void test_random(void **state) {
  (void)state;
  run_jobs(JOBS);
}

static void test_random_devices(void **state) {
  (void)state;
  run_jobs(DEVICE_JOBS);
  bool has_cards = strstr(rank_threads_devices[1], "cuda") != NULL;
  if (has_cards && jobs < 4) return; // a few may have none
  assert_int_equal(direct_sent > 0, has_cards);
  assert_int_equal(direct_received > 0, has_cards);
}

int main(int argc, char **argv) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_random)};
  const struct CMUnitTest device_tests[] = {cmocka_unit_test(test_random_devices)};
  if (argc < 2) return cmocka_run_group_tests(tests, NULL, NULL);
  return rank_threads_choose(argv[1]) ? cmocka_run_group_tests(device_tests, NULL, NULL) : 77;
}
