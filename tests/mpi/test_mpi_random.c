// SPDX-License-Identifier: Apache-2.0
//
// Random programs on 1 to 4 ranks that are threads, with and without failures, equal serial execution byte for byte. The
// argument "opencl" gives each rank an OpenCL device beside its worker.
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
    if (text[0] != '\0') snprintf(run->text, sizeof run->text, "seed %llu: %s", (unsigned long long)seed, text);
  }
}

static void run_jobs(uint32_t whole) {
#ifdef WEIR_PLAIN_TESTS
  test_part part = {0, whole};
#else
  test_part part = part_of(whole);
#endif
  for (uint64_t i = part.first; i < part.end; i++) {
    rank_run runs[MPI_RANKS];
    uint32_t size = 1 + (uint32_t)(i % MPI_RANKS);
    const weir_mpi_options options = {.piece_bytes = i % 3 == 0 ? 256 : 0, .send_limit = i % 5 == 0 ? 100 : 0};
    rank_threads_run(runs, size, i + 1, &options, body);
    for (uint32_t r = 0; r < size; r++) {
      if (runs[r].text[0] != '\0') fail_msg("%u ranks: %s", size, runs[r].text);
      assert_int_equal(runs[r].released, WEIR_OK);
    }
  }
}

static void test_random(void **state) {
  (void)state;
  run_jobs(JOBS);
}

static void test_random_devices(void **state) {
  (void)state;
  rank_threads_devices = "cpu:1,opencl:0";
  run_jobs(DEVICE_JOBS);
}

int main(int argc, char **argv) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_random)};
  const struct CMUnitTest device_tests[] = {cmocka_unit_test(test_random_devices)};
  if (argc < 2 || strcmp(argv[1], "opencl") != 0) return cmocka_run_group_tests(tests, NULL, NULL);
  weir_context *context;
  const weir_context_options options = {.devices = "cpu:1,opencl:0"};
  if (weir_context_create(&options, &context) != WEIR_OK) {
    printf("%s\n", weir_last_error());
    return 77;
  }
  weir_context_release(context);
  return cmocka_run_group_tests(device_tests, NULL, NULL);
}
