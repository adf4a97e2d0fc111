// SPDX-License-Identifier: Apache-2.0
//
// A chain from inside.
//
// An item's tasks are submitted one after another with the context's lock held, which is released in between only if there is
// something to wait for; then `submitting` keeps others out. Item number k has *slot* k mod depth. Stage i of an item comes
// after its stage i - 1, and after stage i + 1 of the item before it in the same slot: so no more than `depth` items are between
// stages i and i + 1. That also bounds how many items are between the ends of a link that passes over stages, and so a link with
// `depth` buffers for each of its steps never holds anybody back. The buffers of a link keep their storage (weir_buffer.kept): they
// are not renamed, which would make the pool as large as the number of items in flight.
//
// All of it is guarded by the context's lock, also what follows when a stage is done (done.c).
#ifndef WEIR_PIPELINE_CHAIN_H
#define WEIR_PIPELINE_CHAIN_H

#include "engine/context.h"
#include "weir/chain.h"

typedef struct weir__chain_stage {
  weir_chain_stage given; // `args` are the chain's; `label` is `label_text` or NULL
  char label_text[WEIR__LABEL_BYTES];
  weir_device *device;
  weir_event **events; // by slot: of the newest item; NULL: none yet
  uint64_t *ends;      // by slot: when the newest item that is done was
  weir_chain_stage_statistics statistics;
} weir__chain_stage;

typedef struct weir__chain_link {
  uint64_t bytes;
  uint32_t writer, last_reader; // stages
  uint32_t buffer_count;
  weir_buffer **buffers;
} weir__chain_link;

// One stage of an item.
typedef struct weir__chain_part {
  struct weir__chain_item *item;
  uint32_t stage;
  weir_event *event; // the chain's reference is that of weir__chain_stage.events
} weir__chain_part;

typedef struct weir__chain_item {
  struct weir__chain_item *next;
  weir_chain *chain;
  uint64_t number;
  uint64_t submit_ns; // in the time of the first stage's device
  uint64_t ready_ns;  // end of its last stage that is done
  uint32_t left;      // stages that are not done
  uint32_t failed_stage;
  weir_status status;
  weir_event *event;
  char message[WEIR__MESSAGE_BYTES];
  weir__chain_part parts[]; // by stage
} weir__chain_item;

struct weir_chain {
  weir__object object;
  uint32_t stage_count, link_count, depth, most_in_flight;
  uint32_t item_arg_count;
  weir__chain_stage *stages;
  weir__chain_link *links;
  weir_chain_arg *args; // of all stages
  unsigned char *values;
  weir_buffer **buffers; // of all links
  weir_event **events;   // of all stages
  uint64_t *ends;
  weir_arg *task_args; // for one stage
  weir__access *accesses;
  bool submitting;                // some thread is in the middle of an item
  bool closed;                    // released by the caller; items are in flight
  _Atomic uint32_t turn;          // changes when `submitting` ends
  uint32_t turn_waiters;          // threads that wait for that
  uint64_t next_item;             // number
  weir__chain_item *first, *last; // in flight, oldest first
  weir__chain_item *free_items;
  weir_chain_statistics statistics; // but for the stages'
};

// Frees a chain that was released and has no items any more. The lock is held.
void weir__chain_close(weir_chain *chain);

// Called with the lock held when a part's task is done.
void weir__chain_part_done(void *part, weir_status status);

// Counts `parts` parts of an item as done; ends it with the last. The lock is held.
void weir__chain_item_progress(weir__chain_item *item, uint32_t parts);

#endif // WEIR_PIPELINE_CHAIN_H
