// SPDX-License-Identifier: Apache-2.0
#include "device/cuda/graph/steady.h"

#include <string.h>

#include "base/allocate.h"

enum {
  WAYS = 4,
  TASK_SETS = 1 << 14, // of so many that are remembered
  BATCH_SETS = 1 << 10,
  FUNCTIONS = 64,
  EPOCH = 1 << 15, // tasks
  MOST_LEVEL = 7,
  FEWEST_AGAIN = 4,   // a part of those that were looked at
  PROBE = 1024,       // so many are looked at in any case
  CAPTURES = 1 << 13, // most of the account
  TASKS_FOR_ONE = 64,
  IN_TESTS = 32, // times as few
};

typedef struct function_record {
  uint64_t epoch;  // of the last task
  uint32_t looked; // tasks in that
  uint32_t again;  // tasks in launches of graphs that were there
  uint32_t level;  // tasks are looked at in epochs whose number is a multiple of 2 to the power of this
} function_record;

struct weir__cuda_steady {
  uint64_t tasks[TASK_SETS][WAYS]; // hashes, the last that was met first; 0: none
  uint64_t batches[BATCH_SETS][WAYS];
  function_record functions[FUNCTIONS]; // functions whose addresses collide share one
  uint64_t task_count;
  uint32_t epoch_tasks;
  uint32_t captures, most_captures; // the account
};

weir__cuda_steady *weir__cuda_steady_create(uint64_t seed) {
  uint32_t share = seed == 0 ? 1 : IN_TESTS;
  weir__cuda_steady *steady = weir__allocate_sparse(sizeof *steady); // most programs have no pure functions
  if (steady == NULL) return NULL;
  steady->epoch_tasks = EPOCH / share;
  steady->captures = steady->most_captures = CAPTURES / share;
  return steady;
}

void weir__cuda_steady_destroy(weir__cuda_steady *steady) {
  weir__free_sparse(steady, sizeof *steady);
}

static uint64_t mix(uint64_t hash, uint64_t word) {
  hash = (hash ^ word) * 0xff51afd7ed558ccdu;
  return hash ^ hash >> 32;
}

static uint64_t mix_bytes(uint64_t hash, const void *bytes, uint64_t count) {
  const unsigned char *at = bytes;
  uint64_t word = 0;
  for (; count >= sizeof word; count -= sizeof word, at += sizeof word) {
    memcpy(&word, at, sizeof word);
    hash = mix(hash, word);
  }
  word = 0;
  if (count > 0) memcpy(&word, at, count);
  return mix(hash, word ^ count << 56);
}

uint64_t weir__cuda_steady_hash(const weir__task *task) {
  uint64_t hash = mix_bytes((uintptr_t)task->code, task->groups, sizeof task->groups);
  hash = mix(hash, (uintptr_t)task->user);
  for (uint32_t i = 0; i < task->arg_count; i++)
    hash = weir__task_is_value(task, i) ? mix_bytes(hash, task->args[i], weir__task_value_bytes(task, i))
                                        : mix(hash, (uintptr_t)task->args[i]);
  return hash | 1;
}

static function_record *record_of(weir__cuda_steady *steady, const weir__task *task) {
  return &steady->functions[mix(0, (uintptr_t)task->code) % FUNCTIONS];
}

static bool has_few(const function_record *record) {
  return record->again < record->looked / FEWEST_AGAIN;
}

static void begin_epoch(function_record *record, uint64_t epoch) {
  bool few = has_few(record);
  if (record->looked > 0) record->level = !few ? 0 : record->level < MOST_LEVEL ? record->level + 1 : MOST_LEVEL;
  *record = (function_record){.epoch = epoch, .level = record->level};
}

// Whether it was in the table, of so many sets; it is now, in place of the one of its set that was not met for longest.
static bool remember(uint64_t (*table)[WAYS], uint32_t sets, uint64_t hash) {
  uint64_t *set = table[(hash >> 8) % sets], moved = hash;
  for (uint32_t i = 0; i < WAYS; i++) {
    uint64_t here = set[i];
    set[i] = moved;
    if (here == hash) return true;
    moved = here;
  }
  return false;
}

bool weir__cuda_steady_task(weir__cuda_steady *steady, const weir__task *task) {
  function_record *record = record_of(steady, task);
  uint64_t epoch = steady->task_count++ / steady->epoch_tasks;
  if (steady->task_count % TASKS_FOR_ONE == 0 && steady->captures < steady->most_captures) steady->captures++;
  if (record->epoch != epoch) begin_epoch(record, epoch);
  if (epoch % ((uint64_t)1 << record->level) != 0 || (record->looked >= PROBE && has_few(record))) return false;
  record->looked++;
  return remember(steady->tasks, TASK_SETS, weir__cuda_steady_hash(task));
}

bool weir__cuda_steady_batch(weir__cuda_steady *steady, uint64_t hash, uint32_t calls) {
  bool again = remember(steady->batches, BATCH_SETS, hash);
  return again && steady->captures >= calls;
}

void weir__cuda_steady_made(weir__cuda_steady *steady, uint32_t calls) {
  steady->captures -= calls < steady->captures ? calls : steady->captures;
}

void weir__cuda_steady_again(weir__cuda_steady *steady, const weir__task *task) {
  record_of(steady, task)->again++;
}

void weir__cuda_steady_pays(weir__cuda_steady *steady, uint32_t calls) {
  steady->captures += calls;
}
