// SPDX-License-Identifier: Apache-2.0
//
// Tasks of the checker's own on a card: its functions, copies, and runs of tasks that are checked. Parts of card.c only.
#ifndef WEIR_CHECK_CARD_LAUNCH_H
#define WEIR_CHECK_CARD_LAUNCH_H

#include "check/checker.h"
#include "check/table.h"

enum {
  WEIR__CARD_MOST_LAUNCHES = 2 * WEIR__CHECK_BATCH + 8,
  WEIR__CARD_MOST_REGIONS = 8192, // of one launch
  WEIR__CARD_WORDS_BYTES = 256,   // a word for each task of a batch
};

// What a bench has in host memory.
typedef struct weir__card_record {
  unsigned char junk[2][WEIR__JUNK_BYTES];         // on its way to the card
  weir__card_region more[WEIR__CARD_MOST_REGIONS]; // too
  uint32_t marks[WEIR__CARD_WORDS_BYTES / 4]; // written by the card: for each task the token if something is suspicious
} weir__card_record;

// Regions for the next launches; those of the table come first.
typedef struct weir__card_regions {
  weir__card_table table;
  weir__card_record *record;
  uint64_t longest; // stretch that a work-group gets
  bool full;        // there were too many
} weir__card_regions;

// Tasks that are in flight, in order.
typedef struct weir__card_launches {
  weir__checker *checker;
  weir_device *device;
  weir__check_bench *bench;
  weir__card_regions regions;
  weir_event *events[WEIR__CARD_MOST_LAUNCHES];
  uint32_t count;
  weir__check_job own;     // their context, and status and message of the first one that failed or was not submitted
  bool refused;            // one was not submitted, and those behind it neither
  uint32_t commit;         // which one it is; UINT32_MAX: none, or it was not submitted
  weir_status commit_ends; // how it ended; UPSTREAM_FAILED: it did nothing
} weir__card_launches;

// No launches yet for a device of the job's.
void weir__card_begin(weir__card_launches *all, weir__checker *checker, const weir__check_job *job);

// Makes the bench's buffers, but for the one for arenas, and uploads junk. Returns the status of `own`.
weir_status weir__card_make_bench(weir__card_launches *all);

// Makes the bench's buffer that large at least. False: no memory; the job has the status.
bool weir__card_make_arenas(weir__check_bench *bench, weir__check_job *job, uint64_t bytes);

// Begins a list of regions of `bytes` bytes together, and adds one, cut up.
void weir__card_clear(weir__card_launches *all, uint64_t bytes);
void weir__card_add(weir__card_launches *all, const weir__card_region *region);
bool weir__card_has_room(const weir__card_launches *all); // for one more, however long

// Where the regions are more than a table has room for, uploads them.
void weir__card_upload(weir__card_launches *all);

// The checker's functions for the regions: each task's arenas lie in the first `bytes` bytes of the bench's buffer.
void weir__card_prepare(weir__card_launches *all, uint64_t bytes);
void weir__card_compare(weir__card_launches *all, uint64_t bytes);
void weir__card_commit(weir__card_launches *all, uint64_t bytes);

// A run of a job's in its arena, which begins at `base`.
void weir__card_run(weir__card_launches *all, weir__check_job *job, uint64_t base);

// All of an arena to and from host memory.
void weir__card_copy_in(weir__card_launches *all, uint64_t bytes, const void *memory);
void weir__card_copy_out(weir__card_launches *all, uint64_t bytes, void *memory);

// Waits for all. Returns the status of `own`.
weir_status weir__card_finish(weir__card_launches *all);

// The job failed as `own` did, if that failed, unless it failed already.
void weir__card_fail(const weir__card_launches *all, weir__check_job *job);

#endif // WEIR_CHECK_CARD_LAUNCH_H
