// SPDX-License-Identifier: Apache-2.0
//
// A chain of stages: kernels that one item after another goes through, each on a device of its own, with a bounded pool of
// buffers between them. docs/guide/stages.md says when to take one, and when to split a launch instead (weir/split.h).
//
// An item is one task for each stage, submitted in the order of the stages, so that it is in order with all else that is
// submitted. Stage 2 of an item follows its stage 1, and meanwhile stage 1 has the next item. What a stage hands on goes through a
// *link*: buffers of the chain's, which items take in turn. At most `depth` items are between two neighbouring stages, from the
// start of the first to the end of the second; a stage that is ahead waits for room. If the two work in different memories, the
// contents are moved.
//
// A stage that fails, fails its item and no other. Later stages of the item that read what it should have written are skipped.
#ifndef WEIR_CHAIN_H
#define WEIR_CHAIN_H

#include "weir/weir.h"

#ifdef __cplusplus
extern "C" {
#endif

// A chain. Only functions look into it.
typedef struct weir_chain weir_chain;

enum {
  WEIR_CHAIN_MOST_STAGES = 32,
  WEIR_CHAIN_MOST_DEPTH = 1024,
  WEIR_CHAIN_MOST_LINKS = 256,
};

// ---------------------------------------------------------------------------------------------------------------
// Stages

// Where an argument of a stage comes from.
typedef enum weir_chain_source {
  WEIR_CHAIN_FIXED = 0, // `arg`, the same for every item
  WEIR_CHAIN_ITEM = 1,  // number `index` of the arguments of weir_chain_submit
  WEIR_CHAIN_LINK = 2,  // link number `index`, all of it; `arg.mode` is WRITE in one stage, and READ in later ones
} weir_chain_source;

// An argument of a stage.
typedef struct weir_chain_arg {
  weir_chain_source source;
  weir_arg arg; // a value is copied when the chain is created
  uint32_t index;
  uint64_t reserved[2]; // 0
} weir_chain_arg;

// Arguments in short. A fixed buffer that a stage updates holds what it keeps from item to item; such a stage does one item after
// the other, in their order, while others may do several at once if their device can.
WEIR_API weir_chain_arg weir_chain_fixed(weir_arg arg);
WEIR_API weir_chain_arg weir_chain_item_arg(uint32_t index);
WEIR_API weir_chain_arg weir_chain_writes(uint32_t link);
WEIR_API weir_chain_arg weir_chain_reads(uint32_t link);

// A stage: a task as for weir_submit, once for each item.
typedef struct weir_chain_stage {
  weir_kernel *kernel; // this, or
  weir_function host;  // this
  void *user;
  weir_device *device; // NULL: the context's first device that the kernel has code for
  uint32_t groups[3];
  const weir_chain_arg *args;
  uint32_t arg_count;
  int32_t priority;
  const char *label;
  uint64_t reserved[2]; // 0
} weir_chain_stage;

// Options. Zero in a field means its default, where there is one.
typedef struct weir_chain_options {
  const weir_chain_stage *stages; // 1 to WEIR_CHAIN_MOST_STAGES
  uint32_t stage_count;
  const uint64_t *link_bytes; // of each link
  uint32_t link_count;        // up to WEIR_CHAIN_MOST_LINKS
  uint32_t depth;             // items between two neighbouring stages at most, to WEIR_CHAIN_MOST_DEPTH; default 2
  uint32_t in_flight;         // items of the chain at most that are submitted and not done; UINT32_MAX: no limit;
                              // default: depth * (stage_count + 1), as many as fill it with a pool before and behind it
} weir_chain_options;

// Creates a chain. Nothing that the options point to is needed afterwards, except kernels, fixed buffers and `user`.
// A link has `depth` buffers for each step from the stage that writes it to the last one that reads it. They get storage when they
// are first used, and keep it.
// Errors: INVALID_ARGUMENT (a number out of its range; a link that is not written by one stage and read by later ones; a number
// of an item's argument that no stage has, below one that is used; and as weir_submit), NO_CODE, RELEASED, OUT_OF_RANGE,
// OUT_OF_MEMORY. The text names the stage.
WEIR_API weir_status weir_chain_create_sized(weir_context *context, const weir_chain_options *options,
                                             size_t options_size, weir_chain **out_chain);
static inline weir_status weir_chain_create(weir_context *context_, const weir_chain_options *options_,
                                            weir_chain **out_chain_) {
  return weir_chain_create_sized(context_, options_, sizeof *options_, out_chain_);
}

// Releases a chain, at any time: items in flight finish. NULL is allowed. Errors: RELEASED.
WEIR_API weir_status weir_chain_release(weir_chain *chain);

// ---------------------------------------------------------------------------------------------------------------
// Items

// What one item brings along.
typedef struct weir_chain_item {
  const weir_arg *args;     // as many as the stages use; nothing that they point to is needed after submission
  uint32_t arg_count;       //
  weir_event *const *after; // the first stage starts when these are done, as for weir_submit
  uint32_t after_count;
  uint64_t tag; // of all its tasks
} weir_chain_item;

// Submits an item. Does not wait for kernels, but as weir_submit does for a full window or memory, and until fewer than
// `in_flight` items of the chain are on their way. `item` may be NULL: no arguments. `out_event` may be NULL; otherwise its event is
// done when all stages of the item are, with the status of its first stage that did not end well, and a message that names it.
// Several threads may submit: items are whole, in some order. In a task or callback it fails with OUT_OF_MEMORY rather than wait,
// also if another thread waits in the middle of an item.
// Refused, with nothing changed: as weir_submit, for any stage, which the text names. Only if memory runs out in the middle, the
// first stages may have been submitted: these run, the others do not, and the item counts as failed.
WEIR_API weir_status weir_chain_submit_sized(weir_chain *chain, const weir_chain_item *item, size_t item_size,
                                             weir_event **out_event);
static inline weir_status weir_chain_submit(weir_chain *chain_, const weir_chain_item *item_, weir_event **out_event_) {
  return weir_chain_submit_sized(chain_, item_, sizeof *item_, out_event_);
}

// ---------------------------------------------------------------------------------------------------------------
// What happened

// What a stage did. Times are in nanoseconds of its device (weir_device_time), which can be compared with those of the stages around
// it if both are real devices, or both the same one. Where a device notes no times of single tasks, a task counts as begun
// when nothing held it back any more, so that busy_ns has its transfers, too.
typedef struct weir_chain_stage_statistics {
  weir_device *device;
  uint64_t done;             // items that it did
  uint64_t failed;           // items in which it failed
  uint64_t skipped;          // items in which it was skipped
  uint64_t busy_ns;          // sum over its items; some may run side by side
  uint64_t input_ns;         // it had no item, because none was submitted or the stage before was not done
  uint64_t room_ns;          // it had an item, but `depth` of them were between it and the next stage
  uint64_t start_ns, end_ns; // of its first item, and of its last
  uint64_t reserved[2];      // 0
} weir_chain_stage_statistics;

// What a chain did.
typedef struct weir_chain_statistics {
  uint64_t submitted;
  uint64_t done; // all stages ended, one way or the other
  uint64_t failed;
  uint32_t in_flight, most_in_flight;
  uint32_t stage_count;
  weir_chain_stage_statistics stages[WEIR_CHAIN_MOST_STAGES];
} weir_chain_statistics;

// Errors: INVALID_ARGUMENT, RELEASED; then all is 0.
WEIR_API weir_status weir_chain_get_statistics_sized(weir_chain *chain, weir_chain_statistics *out_statistics,
                                                     size_t statistics_size);
static inline weir_status weir_chain_get_statistics(weir_chain *chain_, weir_chain_statistics *out_statistics_) {
  return weir_chain_get_statistics_sized(chain_, out_statistics_, sizeof *out_statistics_);
}

#ifdef __cplusplus
}
#endif
#endif // WEIR_CHAIN_H
