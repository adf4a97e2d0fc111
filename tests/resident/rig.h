// SPDX-License-Identifier: Apache-2.0
//
// A card of threads: each block of a launch is a thread that executes protocol.h as kernel.cu does. The host's side is a
// single thread, the caller's.
#ifndef WEIR_TESTS_RESIDENT_RIG_H
#define WEIR_TESTS_RESIDENT_RIG_H

#include <pthread.h>
#include <semaphore.h>

#include "warp.h"

typedef struct rig_options {
  uint32_t workers;          // at least 1
  uint64_t idle_ns, most_ns; // of each launch
  uint32_t base;             // the first task's number is base + 1
  uint64_t seed;             // of yields
  uint32_t yields_of_1000;   // accesses to what is shared
  uint32_t late;             // so many blocks begin only when the launch leaves
  sem_t *places;             // on the card, for blocks; NULL: as many as there are blocks
} rig_options;

// A task's function.
typedef void (*rig_function)(const weir__r_group *group);

typedef struct test_rig {
  rig_options options;
  weir__r_card *card;
  weir__r_host *host;
  uint32_t epoch;     // of the last launch
  bool resident;      // that launch was not seen to have left
  uint32_t published; // number of the last task
  uint32_t reported;  // number of tasks, from `base` on
  uint32_t ask;       // the last that was asked
  bool slot_used[WEIR__R_SLOTS];

  pthread_mutex_t lock;
  pthread_cond_t changed;
  uint32_t launched; // guarded by the lock; the last epoch
  bool quits;        // guarded by the lock
  bool faulted;      // atomic: all threads of the card end
  struct rig_block *blocks;
  // The scheduler's lanes but its first, which is its block's thread, and then the fetcher's.
  weir__r_desk desk;
  pthread_t lanes[2 * RESIDENT_LANES - 1];
  uint32_t lanes_epoch; // guarded by the lock; of the launch that they are in
  uint32_t lanes_ended; // atomic; in it
#if RESIDENT_LANES > 1
  thread_warp warps[2];
#endif
} test_rig;

void rig_create(test_rig *rig, const rig_options *options);
void rig_destroy(test_rig *rig); // at rest, or faulted

// Says what is not so, and ends the process: a card in disorder cannot be stopped. Any thread.
void rig_fail(const test_rig *rig, const char *text, uint64_t what);
#define RIG_CHECK(rig, condition, what) ((condition) ? (void)0 : rig_fail(rig, #condition, what))

// The slot for the next task, to be written and then published with others or alone; NULL: it is still in use.
weir__r_task *rig_next_slot(test_rig *rig);
// The task in rig_next_slot's slot is written. It is published with the next rig_publish.
void rig_wrote(test_rig *rig);
void rig_publish(test_rig *rig);
void rig_launch(test_rig *rig); // none is resident
// Whether the next task was reported, and its number, whose slot is free now.
bool rig_reported(test_rig *rig, uint32_t *out_number);
// Whether a launch is resident that may still do something. Where it has just left, all that it has reported is there.
bool rig_is_resident(test_rig *rig);
// Tells a resident launch to leave, and waits for it.
void rig_stop(test_rig *rig);
// Tells the launch that is resident, or if none is the next one, to abort, and waits until the card has faulted.
void rig_abort(test_rig *rig);
bool rig_has_faulted(const test_rig *rig);
// No launch is resident and all reports were seen: all on the card is as it should be.
void rig_check_at_rest(const test_rig *rig);

#endif // WEIR_TESTS_RESIDENT_RIG_H
