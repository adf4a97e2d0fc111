// SPDX-License-Identifier: Apache-2.0
#include "program_body.h"

#include <sched.h>
#include <string.h>

#include "random.h"

body_description body_describe(const program_task *task) {
  body_description description = {.seed = task->seed, .fail_group = task->fail_group, .pause = task->pause};
  uint32_t count = 0;
  for (uint32_t i = 0; i <= task->access_count; i++) {
    if (task->value_bytes > 0 && i == task->value_index) {
      description.args[count].mode = WEIR_VALUE;
      description.args[count++].bytes = task->value_bytes;
    }
    if (i < task->access_count) {
      description.args[count].mode = task->accesses[i].mode;
      description.args[count++].bytes = task->accesses[i].bytes;
    }
  }
  description.arg_count = count;
  return description;
}

uint64_t body_group_count(const uint32_t groups[3]) {
  uint64_t count = 1;
  for (int i = 0; i < 3; i++) count *= groups[i] == 0 ? 1 : groups[i];
  return count;
}

static uint64_t hash_bytes(uint64_t hash, const unsigned char *memory, uint64_t bytes) {
  uint64_t i = 0;
  for (; i + 8 <= bytes; i += 8) {
    uint64_t word;
    memcpy(&word, memory + i, 8);
    hash = random_mix(hash + word + i);
  }
  for (; i < bytes; i++) hash = random_mix(hash + memory[i] + 256);
  return hash;
}

static void fill_slice(unsigned char *memory, uint64_t low, uint64_t high, uint64_t seed) {
  uint64_t i = low;
  for (; i + 8 <= high; i += 8) {
    uint64_t word = random_mix(seed + i);
    memcpy(memory + i, &word, 8);
  }
  for (; i < high; i++) memory[i] = (unsigned char)random_mix(seed + i);
}

void body_fill(void *memory, uint64_t bytes, uint64_t seed) {
  fill_slice(memory, 0, bytes, random_mix(seed));
}

static void take_time(uint32_t pause) {
  if (pause == 1) sched_yield();
  for (uint32_t i = 1; i < pause; i++) __asm__ volatile("" ::: "memory");
}

void body_run(void *const *args, const uint32_t groups[3], uint64_t first, uint64_t end) {
  body_description description;
  memcpy(&description, args[0], sizeof description);
  uint64_t count = body_group_count(groups);
  uint64_t common = random_mix(description.seed) + count + 31 * groups[0] + 17 * groups[1];
  for (uint32_t a = 0; a < description.arg_count; a++) {
    if (description.args[a].mode == WEIR_READ || description.args[a].mode == WEIR_VALUE)
      common = hash_bytes(common + a, args[a + 1], description.args[a].bytes);
  }
  for (uint64_t group = first; group < end; group++) {
    take_time(description.pause);
    uint64_t hash = random_mix(common + group);
    for (uint32_t a = 0; a < description.arg_count; a++) {
      if (description.args[a].mode != WEIR_READ_WRITE) continue;
      uint64_t low = description.args[a].bytes * group / count, high = description.args[a].bytes * (group + 1) / count;
      hash = hash_bytes(hash + a, (const unsigned char *)args[a + 1] + low, high - low);
    }
    for (uint32_t a = 0; a < description.arg_count; a++) {
      if (description.args[a].mode != WEIR_WRITE && description.args[a].mode != WEIR_READ_WRITE) continue;
      uint64_t low = description.args[a].bytes * group / count, high = description.args[a].bytes * (group + 1) / count;
      fill_slice(args[a + 1], low, high, hash + (uint64_t)a * 977);
    }
  }
}
