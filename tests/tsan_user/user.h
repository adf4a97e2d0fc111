// SPDX-License-Identifier: Apache-2.0
//
// What programs of a user's kind share here: a generator of numbers, and calls that must succeed.
#ifndef WEIR_TESTS_TSAN_USER_H
#define WEIR_TESTS_TSAN_USER_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "weir/box.h"
#include "weir/chain.h"
#include "weir/graph.h"
#include "weir/group.h"
#include "weir/pipeline.h"
#include "weir/reduce.h"
#include "weir/sim.h"
#include "weir/split.h"
#include "weir/weir.h"

enum { WORDS = 64, BYTES = WORDS * 4 };

// A program, run on a context.
typedef struct program {
  const char *name;
  void (*run)(weir_context *context);
  uint32_t flags; // of the context
} program;

static uint64_t random_state;

static inline uint32_t draw(uint32_t below) {
  random_state = random_state * 6364136223846793005u + 1442695040888963407u;
  return (uint32_t)(random_state >> 33) % below;
}

static inline void must_at(weir_status status, int line) {
  if (status == WEIR_OK) return;
  fprintf(stderr, "line %d: %s: %s\n", line, weir_status_name(status), weir_last_error());
  exit(2);
}
#define must(call) must_at((call), __LINE__)

static inline weir_kernel *kernel(weir_context *context, const char *name, weir_function function) {
  weir_kernel *made;
  must(weir_kernel_create(context, name, &made));
  must(weir_kernel_set_cpu(made, function));
  must(weir_kernel_set_sim(made, &(weir_sim_launch){.threads = 64, .us = 3}, 1));
  return made;
}

static inline weir_device *any_device(weir_context *context) {
  return weir_context_device(context, draw(weir_context_device_count(context)));
}

static inline void submit(weir_context *context, weir_function host, void *user, const weir_arg *args,
                          uint32_t arg_count, weir_event **out_event) {
  must(weir_submit(context, &(weir_task){.host = host, .user = user, .args = args, .arg_count = arg_count}, out_event));
}

static inline void maybe(weir_status status, bool succeeds) {
  if (succeeds) must(status);
}

// Adds 1 to each word of its argument, and to `user`, if there is one.
static inline void add_to(const weir_work *work) {
  uint32_t *words = work->args[0];
  for (uint32_t i = 0; i < WORDS; i++) words[i] += 1;
  if (work->user != NULL) ++*(uint32_t *)work->user;
}

// Runs the programs that the arguments name, or all: PROGRAM DEVICES SEED [NAME...].
static inline int run_programs(const program *programs, int argc, char **argv) {
  if (argc < 3) return 2;
  uint64_t seed = random_state = strtoull(argv[2], NULL, 10);
  for (const program *one = programs; one->name != NULL; one++) {
    int wanted = argc == 3;
    for (int i = 3; i < argc; i++) wanted |= strcmp(argv[i], one->name) == 0;
    if (!wanted) continue;
    fprintf(stderr, "program %s\n", one->name);
    weir_context *context;
    must(weir_context_create(&(weir_context_options){.devices = argv[1],
                                                     .seed = seed,
                                                     .window = seed % 2 == 0 ? 64 : 16,
                                                     .rename_limit = seed % 3 == 0 ? 600 : 0,
                                                     .memory_limit = seed % 5 == 0 ? 1 << 16 : 0,
                                                     .flags = one->flags},
                             &context));
    one->run(context);
    must(weir_context_release(context));
  }
  puts("done");
  return 0;
}

#endif // WEIR_TESTS_TSAN_USER_H
