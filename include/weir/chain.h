// SPDX-License-Identifier: Apache-2.0
//
// Chains: kernels that one item after another goes through, each on a device of its own, with a bounded pool of buffers
// between them. docs/guide/stages.md says when a chain suits, and when a split launch does (weir/split.h).
//
// An item is one task for each stage, submitted in the order of the stages. The tasks are in order with all other
// tasks. While stage 2 has an item, stage 1 has the next one. A stage passes its results to later stages through a
// *link*: buffers of the chain that items take in turn. At most `depth` items are between two neighbouring stages,
// counted from the start of the first stage to the end of the second. A stage that is further ahead waits for room. If
// two stages work in different memories, the contents are moved.
//
// A stage that fails, fails its item and no other. Later stages of the item that read the outputs of the failed stage
// are skipped.
#ifndef WEIR_CHAIN_H
#define WEIR_CHAIN_H

#include "weir/weir.h"

#ifdef __cplusplus
extern "C" {
#endif

// A chain. Its members are private.
typedef struct weir_chain weir_chain;

enum {
  WEIR_CHAIN_MOST_STAGES = 32,
  WEIR_CHAIN_MOST_DEPTH = 1024,
  WEIR_CHAIN_MOST_LINKS = 256,
};

// ---------------------------------------------------------------------------------------------------------------
// Stages

// Source of a stage's argument.
typedef enum weir_chain_source {
  WEIR_CHAIN_FIXED = 0, // `arg`, the same for every item
  WEIR_CHAIN_ITEM = 1,  // argument number `index` of weir_chain_submit
  WEIR_CHAIN_LINK = 2,  // all of link number `index`; `arg.mode` is WRITE in one stage, and READ in later ones
} weir_chain_source;

// An argument of a stage.
typedef struct weir_chain_arg {
  weir_chain_source source;
  weir_arg arg; // a value is copied when the chain is created
  uint32_t index;
  uint64_t reserved[2]; // 0
} weir_chain_arg;

// Make an argument of each source. A fixed buffer that a stage updates keeps contents from item to item. Such a stage
// runs one item after the other, in their order. Other stages may run several items at once if their device can.
WEIR_API weir_chain_arg weir_chain_fixed(weir_arg arg);
WEIR_API weir_chain_arg weir_chain_item_arg(uint32_t index);
WEIR_API weir_chain_arg weir_chain_writes(uint32_t link);
WEIR_API weir_chain_arg weir_chain_reads(uint32_t link);

// A stage: a task for each item, as for weir_submit.
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

// Options of a chain. A member that is 0 has its default, if it has one.
typedef struct weir_chain_options {
  const weir_chain_stage *stages; // 1 to WEIR_CHAIN_MOST_STAGES
  uint32_t stage_count;
  const uint64_t *link_bytes; // size of each link in bytes
  uint32_t link_count;        // up to WEIR_CHAIN_MOST_LINKS
  uint32_t depth;             // most items between two neighbouring stages, to WEIR_CHAIN_MOST_DEPTH; default 2
  // Most items of the chain that are submitted and not done; UINT32_MAX: no limit. Default: depth * (stage_count + 1),
  // as many as fill the chain, with a pool before its first and behind its last stage.
  uint32_t in_flight;
} weir_chain_options;

// Creates a chain. After the call nothing that the options point to is needed, except kernels, fixed buffers and users.
// A link has `depth` buffers for each step from the stage that writes it to the last stage that reads it. A buffer gets
// storage at its first use, and keeps it.
// Errors: as weir_submit; INVALID_ARGUMENT (a number out of its range; a link that is not written by one stage and read
// by later ones; a number of an item's argument that no stage uses although a higher one is used), NO_CODE, RELEASED,
// OUT_OF_RANGE, OUT_OF_MEMORY. The text names the stage.
WEIR_API weir_status weir_chain_create_sized(weir_context *context, const weir_chain_options *options,
                                             size_t options_size, weir_chain **out_chain);
static inline weir_status weir_chain_create(weir_context *context_, const weir_chain_options *options_,
                                            weir_chain **out_chain_) {
  return weir_chain_create_sized(context_, options_, sizeof *options_, out_chain_);
}

// Releases a chain, at any time; items in flight finish. `chain` may be NULL.
// Errors: RELEASED.
WEIR_API weir_status weir_chain_release(weir_chain *chain);

// ---------------------------------------------------------------------------------------------------------------
// Items

// An item. The caller may free all that the struct points to after the submission.
typedef struct weir_chain_item {
  const weir_arg *args;     // arguments of source ITEM, by their numbers
  uint32_t arg_count;       // as many as the stages use
  weir_event *const *after; // tasks that must end before the first stage, as for weir_submit
  uint32_t after_count;
  uint64_t tag; // of all its tasks
} weir_chain_item;

// Submits an item. Like weir_submit, the call waits while the window or the context's memory is full; it also waits
// while `in_flight` items of the chain are on their way. `item` may be NULL: no arguments. If `out_event` is not NULL,
// it gets an event, which the caller releases. The event is done when all stages of the item are. Its status is that of
// the first stage that failed or was skipped, which its message names.
// Several threads may submit; each item is submitted whole. In a task or callback the call fails with OUT_OF_MEMORY
// where it would wait, also for a thread that is submitting an item.
// Errors, which submit nothing: as weir_submit, for any stage, which the text names. Only if memory runs out in the
// middle of an item, its first stages run, the others do not, and the item counts as failed.
WEIR_API weir_status weir_chain_submit_sized(weir_chain *chain, const weir_chain_item *item, size_t item_size,
                                             weir_event **out_event);
static inline weir_status weir_chain_submit(weir_chain *chain_, const weir_chain_item *item_, weir_event **out_event_) {
  return weir_chain_submit_sized(chain_, item_, sizeof *item_, out_event_);
}

// ---------------------------------------------------------------------------------------------------------------
// Statistics

// Work of a stage. Times are in nanoseconds of its device (weir_device_time). Times of two stages are comparable if
// both run on real devices, or both on the same device. On a device that does not record times of single tasks, a task
// starts when nothing holds it back, so busy_ns includes its transfers.
typedef struct weir_chain_stage_statistics {
  weir_device *device;
  uint64_t done;             // items that it completed
  uint64_t failed;           // items in which it failed
  uint64_t skipped;          // items in which it was skipped
  uint64_t busy_ns;          // sum over its items, which may overlap
  uint64_t input_ns;         // time without an item: none was submitted, or the stage before was not done
  uint64_t room_ns;          // time with an item while `depth` items were between it and the next stage
  uint64_t start_ns, end_ns; // start of its first item, and end of its last
  uint64_t reserved[2];      // 0
} weir_chain_stage_statistics;

// Counts of a chain, and the work of its stages.
typedef struct weir_chain_statistics {
  uint64_t submitted; // items that were submitted
  uint64_t done;      // items whose stages all ended, with or without success
  uint64_t failed;    // items that failed
  uint32_t in_flight, most_in_flight;
  uint32_t stage_count;
  weir_chain_stage_statistics stages[WEIR_CHAIN_MOST_STAGES];
} weir_chain_statistics;

// Reads the statistics of a chain. Does not wait.
// Errors: INVALID_ARGUMENT, RELEASED; then all members are 0.
WEIR_API weir_status weir_chain_get_statistics_sized(weir_chain *chain, weir_chain_statistics *out_statistics,
                                                     size_t statistics_size);
static inline weir_status weir_chain_get_statistics(weir_chain *chain_, weir_chain_statistics *out_statistics_) {
  return weir_chain_get_statistics_sized(chain_, out_statistics_, sizeof *out_statistics_);
}

#ifdef __cplusplus
}
#endif
#endif // WEIR_CHAIN_H
