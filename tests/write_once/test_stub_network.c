// SPDX-License-Identifier: Apache-2.0
//
// The network of examples/dynroute on the CUDA device, without a card: on the driver of tests/cuda/stub, which executes what
// nothing orders in random order. The layers' functions for the CPU stand in for their CUDA code. Results are those of the
// CPU device, to the bit, in order and out of order.
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "layers.kernels.h"
#include "network.h"
#include "stub_code.h"
#include "weights.h"

// In place of the embedded text: the functions, their greatest blocks and the bytes of their parameters, as the stub
// wants them.
const char layers_kernels_source[] = "STUB\nrelu 256 8 8\nadd 256 8 8 8\njoin 256 8 8 8 4\ndepthwise 256 8 8 8 4\n"
                                     "pointwise 256 8 8 8 8 4 4 4\naverage 256 8 8 4\ngate 256 8 8 8 4 4\n";

enum { SEEDS = 6 };

static const network_shape shape = {.channels = 64, .size = 8, .cells = 5, .seed = 3};

static const weir_kernel_code *code_of(const char *name) {
  const weir_kernel_code *const layers[] = {&relu, &add, &join, &depthwise, &pointwise, &average, &gate};
  for (size_t i = 0; i < sizeof layers / sizeof *layers; i++) {
    if (strcmp(layers[i]->name, name) == 0) return layers[i];
  }
  return NULL;
}

static void run_layer(const stub_launch *launch) {
  stub_run_code(launch, code_of(launch->name));
}

static void run_group(const stub_launch *launch, uint64_t group) {
  stub_run_groups(launch, code_of(launch->name), group, group + 1);
}

static void run_network(const char *device, uint32_t flags, weir_issue issue, const float *image,
                        network_result *out_result) {
  network *net;
  assert_int_equal(network_create(&shape, device, flags, issue, &net), WEIR_OK);
  for (int pass = 0; pass < 3; pass++) assert_true(network_run(net, image, out_result));
  network_release(net);
}

static void test_same_bits(void **state) {
  (void)state;
  float image[NETWORK_IMAGE_CHANNELS * 64];
  uint64_t random = 5;
  for (size_t i = 0; i < sizeof image / sizeof *image; i++) image[i] = random_number(&random);
  size_t bytes = (size_t)network_map_count(&shape) * sizeof(float);
  network_result expected = {.map = malloc(bytes)}, result = {.map = malloc(bytes)};
  assert_true(expected.map && result.map);
  run_network("cpu:2", 0, WEIR_ISSUE_AUTO, image, &expected);
  for (uint64_t seed = 1; seed <= SEEDS; seed++) {
    assert_true(stub_configure(&(stub_options){.seed = seed, .executors = (uint32_t)(seed % 3)}));
    bool resident = seed % 2 == 0;
    run_network("cuda", seed == 1 ? WEIR_CONTEXT_IN_ORDER : 0, resident ? WEIR_ISSUE_RESIDENT : WEIR_ISSUE_AUTO, image,
                &result);
    assert_string_equal(stub_violation_text(), "");
    assert_true(resident || stub_executed() >= 3 * result.tasks);
    assert_memory_equal(result.routes, expected.routes, sizeof expected.routes);
    if (memcmp(result.map, expected.map, bytes) != 0) fail_msg("other results with seed %u", (unsigned)seed);
    memset(result.map, 0, bytes);
  }
  free(expected.map);
  free(result.map);
}

int main(void) {
  setenv("WEIR_CUDA_DRIVER", CUDA_STUB, 1);
  setenv("WEIR_NVRTC", NVRTC_STUB, 1);
  setenv("WEIR_CACHE", "", 1); // none
  const char *const names[] = {"relu", "add", "join", "depthwise", "pointwise", "average", "gate"};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    stub_register(names[i], run_layer);
    stub_register_groups(names[i], run_group);
  }
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_same_bits)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
