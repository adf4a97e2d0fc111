// SPDX-License-Identifier: Apache-2.0
#include "crowd.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

typedef struct member {
  pthread_t thread;
  pthread_barrier_t *start;
  crowd_function function;
  void *user;
  uint32_t number;
} member;

static void *run_member(void *user) {
  member *self = user;
  pthread_barrier_wait(self->start);
  self->function(self->user, self->number);
  return NULL;
}

void crowd_run(crowd_function function, void *user) {
  member members[CROWD];
  pthread_barrier_t start;
  pthread_barrier_init(&start, NULL, CROWD);
  for (uint32_t i = 0; i < CROWD; i++) {
    members[i] = (member){.start = &start, .function = function, .user = user, .number = i};
    if (pthread_create(&members[i].thread, NULL, run_member, &members[i]) != 0) abort();
  }
  for (uint32_t i = 0; i < CROWD; i++) pthread_join(members[i].thread, NULL);
  pthread_barrier_destroy(&start);
}

weir_context *crowd_context(uint32_t number, uint32_t window, uint64_t memory_limit) {
  static const char *const devices[] = {"cpu:1", "cpu:2",     "cpu:5",          "cpu:1",          "cpu:2",
                                        "cpu:5", "sim:ideal", "sim:h200,cpu:2", "cpu:2,sim:ideal"};
  weir_context_options options = {.devices = devices[number], .window = window, .seed = number >= 3 ? number : 0};
  options.memory_limit = memory_limit;
  weir_context *context = NULL;
  if (weir_context_create(&options, &context) != WEIR_OK) {
    fprintf(stderr, "context on %s: %s\n", options.devices, weir_last_error());
    abort();
  }
  return context;
}
