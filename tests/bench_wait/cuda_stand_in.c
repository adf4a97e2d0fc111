// SPDX-License-Identifier: Apache-2.0
//
// A CUDA driver and a compiler for weir-bench-wait: those of tests/cuda, with the benchmark's kernels, whose functions
// for the CPU stand in for their CUDA code. The program loads this library in place of both (WEIR_CUDA_DRIVER,
// WEIR_NVRTC). The environment variable WAIT_WRONG has tasks write a wrong value ("value"), or a time that is too late
// ("time").
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "device/cuda/symbols.h"
#include "nvrtc_stub.h"
#include "stub.h"
#include "weir/kernel.h"

#define EXPORT __attribute__((visibility("default")))

extern const weir_kernel_code wait_task, wait_steps, wait_answer;
uint64_t wait_clock_ns(void);
void wait_yield(void);

// What any source compiles to; the resident kernel, too.
static const char image[] = "STUB\n"
                            "wait_task 32 8 8 8 8 8 8 8\n"
                            "wait_steps 1 8 8\n"
                            "wait_answer 1 8 8 8 8\n"
                            "weir__resident 1024 8 8 4 8 8\n";

enum { MOST_ARGS = 7, CELL_BYTES = 16, WORD_BYTES = 8 };

// The stub's card has another clock than the host: it began at another time.
static const uint64_t AHEAD_NS = 1500000000000000000, LATE_NS = 1000000000;

// Of what kernels read; questions are not answered while tasks run.
static _Atomic uint64_t wrong_ns;

static bool is_wrong(const char *what) {
  const char *wanted = getenv("WAIT_WRONG");
  return wanted != NULL && strcmp(wanted, what) == 0;
}

uint64_t wait_clock_ns(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return AHEAD_NS + atomic_load(&wrong_ns) + (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

void wait_yield(void) {
  sched_yield();
}

// Kernels call it, had they other arguments than parameters.
void weir_work_fail(const weir_work *work, const char *message) {
  (void)work, (void)message;
  abort();
}

static uint64_t word_of(const stub_launch *launch, uint32_t param) {
  uint64_t word;
  memcpy(&word, launch->params[param], sizeof word);
  return word;
}

// Work-groups [first, end) of a kernel whose first `buffers` parameters are buffers.
static void run(const stub_launch *launch, const weir_kernel_code *code, uint32_t buffers, uint64_t bytes,
                uint64_t first, uint64_t end) {
  void *args[MOST_ARGS];
  for (uint32_t i = 0; i < launch->param_count; i++) {
    args[i] = i < buffers ? stub_memory(launch, word_of(launch, i), bytes) : launch->params[i];
    if (args[i] == NULL) return;
  }
  weir_work work = {.args = args, .arg_count = launch->param_count, .first = first, .end = end};
  memcpy(work.groups, launch->grid, sizeof work.groups);
  code->function(&work);
}

static void run_tasks(const stub_launch *launch, uint64_t first, uint64_t end) {
  uint64_t word = word_of(launch, 6);
  if (word != 0 && stub_memory(launch, word, WORD_BYTES) == NULL) return;
  atomic_store(&wrong_ns, is_wrong("time") ? LATE_NS : 0);
  run(launch, &wait_task, 4, CELL_BYTES, first, end);
  uint64_t *out = stub_memory(launch, word_of(launch, 0), CELL_BYTES);
  if (out != NULL && is_wrong("value")) ++*out;
}

static void task(const stub_launch *launch) {
  run_tasks(launch, 0, 1);
}

static void task_group(const stub_launch *launch, uint64_t group) {
  run_tasks(launch, group, group + 1);
}

static void steps(const stub_launch *launch) {
  run(launch, &wait_steps, 1, WORD_BYTES, 0, 1);
}

static void answer(const stub_launch *launch) {
  atomic_store(&wrong_ns, 0);
  run(launch, &wait_answer, 2, WORD_BYTES, 0, 1);
}

__attribute__((constructor)) static void register_functions(void) {
  stub_register("wait_task", task);
  stub_register_groups("wait_task", task_group);
  stub_register("wait_steps", steps);
  stub_register("wait_answer", answer);
}

EXPORT nvrtcResult nvrtcGetCUBINSize(nvrtcProgram program, size_t *bytes);
EXPORT nvrtcResult nvrtcGetCUBIN(nvrtcProgram program, char *cubin);

nvrtcResult nvrtcGetCUBINSize(nvrtcProgram program, size_t *bytes) {
  (void)program;
  *bytes = sizeof image;
  return NVRTC_SUCCESS;
}

nvrtcResult nvrtcGetCUBIN(nvrtcProgram program, char *cubin) {
  (void)program;
  memcpy(cubin, image, sizeof image);
  return NVRTC_SUCCESS;
}
