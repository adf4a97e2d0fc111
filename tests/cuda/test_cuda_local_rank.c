// SPDX-License-Identifier: Apache-2.0
//
// Which card "cuda" is in a process that a launcher started with others on this host.
#include <stdio.h>
#include <stdlib.h>

#include "share.h"

enum { CARDS = 2 };

static void expect_card(const char *devices, const char *wanted) {
  weir_context *context;
  share_ok(weir_context_create(&(weir_context_options){.devices = devices}, &context));
  assert_string_equal(weir_device_information(weir_context_device(context, 0))->name, wanted);
  weir_context_release(context);
}

static void open_driver(void) {
  setenv("WEIR_CUDA_DRIVER", CUDA_STUB, 1);
  assert_true(stub_configure(&(stub_options){.devices = CARDS, .seed = 1, .executors = 1}));
  unsetenv("OMPI_COMM_WORLD_LOCAL_RANK");
  unsetenv("MPI_LOCALRANKID");
  unsetenv("SLURM_LOCALID");
}

static void test_alone(void **state) {
  (void)state;
  open_driver();
  expect_card("cuda", "cuda:0");
  expect_card("cuda:1", "cuda:1");
}

static void test_launchers(void **state) {
  static const char *const VARIABLES[] = {"OMPI_COMM_WORLD_LOCAL_RANK", "MPI_LOCALRANKID", "SLURM_LOCALID"};
  (void)state;
  for (uint32_t i = 0; i < sizeof VARIABLES / sizeof *VARIABLES; i++) {
    open_driver();
    for (uint32_t rank = 0; rank < 2 * CARDS; rank++) {
      char number[16], wanted[16];
      snprintf(number, sizeof number, "%u", rank);
      snprintf(wanted, sizeof wanted, "cuda:%u", rank % CARDS);
      setenv(VARIABLES[i], number, 1);
      expect_card("cuda", wanted);
      expect_card("cuda:0", "cuda:0");
    }
  }
}

// What is no number is not a launcher's; mpirun in a job of Slurm counts before Slurm.
static void test_others(void **state) {
  (void)state;
  open_driver();
  for (const char *const *text = (const char *const[]){"", "-1", "1x", " 1", "99999999999", NULL}; *text != NULL;
       text++) {
    setenv("MPI_LOCALRANKID", *text, 1);
    expect_card("cuda", "cuda:0");
  }
  setenv("SLURM_LOCALID", "0", 1);
  setenv("OMPI_COMM_WORLD_LOCAL_RANK", "1", 1);
  expect_card("cuda", "cuda:1");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_alone),
      cmocka_unit_test(test_launchers),
      cmocka_unit_test(test_others),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
