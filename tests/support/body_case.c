// SPDX-License-Identifier: Apache-2.0
#include "body_case.h"

#include <stdlib.h>

#include "random.h"

enum { LARGEST = 300 };

// Bytes behind the last one of an argument that nobody may touch.
enum { MARGIN = 8 };

typedef struct body_arguments {
  void *pointers[BODY_MAX_ARGS];
  uint64_t words[BODY_MAX_ARGS]; // addresses, or the values themselves
} body_arguments;

static body_arguments make_arguments(const body_description *description, uint64_t seed) {
  body_arguments made = {0};
  for (uint32_t a = 0; a < description->arg_count; a++) {
    made.pointers[a] = program_memory(LARGEST + MARGIN);
    body_fill(made.pointers[a], LARGEST + MARGIN, seed + a);
    made.words[a] = (uintptr_t)made.pointers[a];
    if (description->args[a].mode == WEIR_VALUE) memcpy(&made.words[a], made.pointers[a], sizeof made.words[a]);
  }
  return made;
}

static body_description make_description(random_state *random, uint32_t arg_count) {
  body_description description = {.seed = random_next(random), .self = random_next(random), .arg_count = arg_count};
  description.fail_group = PROGRAM_NO_FAILURE;
  description.pause = random_below(random, 4);
  uint32_t value = random_below(random, BODY_MAX_ARGS);
  for (uint32_t a = 0; a < arg_count; a++) {
    description.args[a].mode = a == value ? WEIR_VALUE : random_between(random, WEIR_READ, WEIR_COMMUTE);
    description.args[a].bytes = a == value ? 8 : random_between(random, 1, LARGEST);
  }
  return description;
}

bool body_case_same(uint64_t seed, uint32_t arg_count, body_case_run run) {
  random_state random = {seed};
  body_description description = make_description(&random, arg_count);
  const uint32_t groups[3] = {random_between(&random, 1, 5), random_between(&random, 1, 3),
                              random_between(&random, 1, 2)};
  body_arguments wanted = make_arguments(&description, seed), found = make_arguments(&description, seed);
  body_packed packed;
  bool same = body_pack(&description, &packed);
  body_run(&description, wanted.pointers, groups, 0, body_group_count(groups));
  run(arg_count, &packed, found.words, groups);
  for (uint32_t a = 0; a < arg_count; a++) {
    same = memcmp(wanted.pointers[a], found.pointers[a], LARGEST + MARGIN) == 0 && same;
    free(wanted.pointers[a]);
    free(found.pointers[a]);
  }
  return same;
}
