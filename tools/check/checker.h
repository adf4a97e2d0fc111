// SPDX-License-Identifier: Apache-2.0
//
// What the steps of a check share. Steps say false when memory ran out; what they find goes to the report.
#ifndef WEIR_CHECK_CHECKER_H
#define WEIR_CHECK_CHECKER_H

#include <stdbool.h>

#include "check/check.h"
#include "check/intervals.h"
#include "check/timeline.h"

#define WEIR__END_OF_STREAM UINT32_MAX // as a task: who reads what is left when all is done

// A task of the program: the stream's task `index`, in pass `pass`.
typedef struct weir__checked_task {
  const weir__timeline_task *seen;
  const weir__stream_task *planned;
  uint32_t pass, index;
} weir__checked_task;

// An access. Those of tasks stand in program order, so that an index tells what comes first in the program.
typedef struct weir__checked_access {
  uint32_t task;   // index in the checker's tasks
  uint32_t buffer; // of the stream
  weir_mode mode;
  uint64_t object;  // what its bytes belong to: accesses of one object mean the same bytes by the same offsets
  uint64_t storage; // where they are
  uint64_t memory;  // whose storage: as in weir__timeline_access
  uint64_t lo, hi;  // bytes of the object, and of the storage
  uint64_t offset;  // of `lo` in the stream's buffer
  uint64_t start_ns, end_ns;
  size_t first_flow; // what it reads from whom
  size_t flow_count;
  bool brings; // a write by a transfer: of what the access before it reads, whose flows it has, too
} weir__checked_access;

// Bytes [lo, hi) that an access reads, and who wrote them in the program: WEIR__NO_ACCESS: nobody.
typedef struct weir__flow {
  uint64_t lo, hi;
  uint32_t writer;
  uint32_t first; // if nobody did: the first access that reads them
  bool reported;  // it is broken, and the report says so
} weir__flow;

// Bytes [lo, hi) of an object that were read before anyone wrote them, and when that first happened.
typedef struct weir__initial_read {
  uint64_t object, lo, hi, start_ns;
} weir__initial_read;

typedef struct weir__checker {
  const weir__stream *stream;
  const weir__timeline *timeline;
  weir__check_options options;
  weir__check_report *report;
  weir__checked_task *tasks; // in program order
  size_t task_count;
  weir__checked_access *accesses; // of the tasks, then of the end of the stream
  size_t access_count, access_capacity;
  weir__flow *flows;
  size_t flow_count, flow_capacity;
  weir__initial_read *initial; // by object and lo
  size_t initial_count, initial_capacity;
  bool by_address; // one object holds everything: bytes are told apart by address
  bool kept;
  weir__intervals map;
} weir__checker;

// For sorting accesses by group, then time, then program order.
typedef struct weir__access_order {
  uint64_t group, start_ns, end_ns;
  uint32_t access;
} weir__access_order;

void weir__check_sort(weir__access_order *order, size_t count);

// Adds a finding: the result is "broken".
void weir__check_add(weir__checker *checker, const char *format, ...) __attribute__((format(printf, 2, 3)));

// Adds a finding on two accesses of the bytes [lo, hi) of their storages.
void weir__check_add_conflict(weir__checker *checker, const char *hazard, uint32_t first, uint32_t second, uint64_t lo,
                              uint64_t hi, const char *why);

// Puts, in a storage's map, what an access writes, or brings.
bool weir__check_put(weir__checker *checker, uint32_t access);

// Describes a task in `text`, which is returned.
#define WEIR__TASK_TEXT 128
const char *weir__check_describe(const weir__checker *checker, uint32_t task, char text[WEIR__TASK_TEXT]);

// Notes what the accesses of an object read that nobody wrote; objects come in growing order. The map is used up.
bool weir__check_note_initial(weir__checker *checker, const weir__access_order *accesses, size_t count);

// The first time at which some byte of [lo, hi) was so read; UINT64_MAX: never.
uint64_t weir__check_initial_ns(const weir__checker *checker, uint64_t object, uint64_t lo, uint64_t hi);

// The steps, in this order. What follows the first three needs that they found nothing.
bool weir__check_presence(weir__checker *checker);    // every task of every pass: there once, done, at possible times?
bool weir__check_accesses(weir__checker *checker);    // are the accesses the stream's, and where they should lie?
bool weir__check_commute(weir__checker *checker);     // puts tasks that commute in the order in which they ran
bool weir__check_program(weir__checker *checker);     // who writes, in the program, what is read?
bool weir__check_replicas(weir__checker *checker);    // was it there, written or brought by a transfer?
bool weir__check_storage_use(weir__checker *checker); // each storage over time: is it still there, is there a race?
bool weir__check_waits(weir__checker *checker);       // host waits, and what the timeline says that tasks waited for

// Whether a task ended well, at possible times.
void weir__check_ended(weir__checker *checker, uint32_t task);

// In place of all of these: of a timeline of several ranks. `stream` may be NULL.
bool weir__check_ranks(weir__checker *checker, const weir__stream *stream);

// Of pipelines, which need nothing of the above.
bool weir__check_lines(weir__checker *checker);       // lines, tokens and stages keep their rules?
bool weir__check_lines_apart(weir__checker *checker); // does each line keep to buffers of its own?

#endif // WEIR_CHECK_CHECKER_H
