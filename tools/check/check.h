// SPDX-License-Identifier: Apache-2.0
//
// The independent checker: proves from a recorded stream and a timeline of its replay that every hazard was honoured.
// It shares no code with what schedules (window, memory, issue) nor with what writes timelines (trace).
// docs/guide/checker.md says how to use it, docs/inside/checker.md what it proves and how.
#ifndef WEIR_CHECK_CHECK_H
#define WEIR_CHECK_CHECK_H

#include "check/timeline.h"
#include "stream/stream.h"

typedef enum weir__check_storage {
  WEIR__CHECK_STORAGE_DERIVE = 0, // kept if no buffer but a parameter changes its number from pass to pass
  WEIR__CHECK_STORAGE_FRESH = 1,  // replay --storage fresh: only parameters live on from pass to pass
  WEIR__CHECK_STORAGE_KEPT = 2,   // replay --storage kept: every buffer does
} weir__check_storage;

// Zero in a field means its default.
typedef struct weir__check_options {
  weir__check_storage storage;
  uint32_t passes;        // how often the stream was submitted; default: as often as the timeline shows
  bool ignore_host_waits; // the replay submitted everything at once (graphs)
  bool lines_apart;       // tasks on different lines of a pipeline must not share bytes that any of them writes
  bool pipeline;          // passes were jobs of a pipeline: a host wait holds up its own pass only
} weir__check_options;

typedef enum weir__check_result {
  WEIR__CHECK_PROVED = 0,
  WEIR__CHECK_BROKEN = 1,    // the timeline breaks a rule, or does not show all that a proof needs
  WEIR__CHECK_BAD_INPUT = 2, // the timeline or stream cannot be read
} weir__check_result;        // also the exit codes of weir-check

typedef struct weir__check_report {
  weir__check_result result;
  uint64_t tasks, accesses;
  uint64_t hazards;                  // pairs of accesses, or of tasks, whose order was checked
  uint64_t pipelines, tokens, spans; // of lines of pipelines
  uint64_t ranks, messages;
  uint64_t broken; // findings
  char text[8192]; // one finding a line (the first 16), or what is wrong with the input
} weir__check_report;

// Checks the timeline in a file against a stream in a file, or one that is read already; also one that was joined from
// those of several ranks. `options` may be NULL.
// Returns out_report->result.
weir__check_result weir__check_files(const char *timeline_path, const char *stream_path,
                                     const weir__check_options *options, weir__check_report *out_report);
weir__check_result weir__check_file(const char *timeline_path, const weir__stream *stream,
                                    const weir__check_options *options, weir__check_report *out_report);

// The same for a timeline in memory.
weir__check_result weir__check_timeline(const weir__timeline *timeline, const weir__stream *stream,
                                        const weir__check_options *options, weir__check_report *out_report);

// What can be proved of the pipelines of a timeline without a stream: of a file, or in memory. report->tasks are those that stages
// submitted. A timeline without pipelines is BAD_INPUT.
weir__check_result weir__check_pipelines_file(const char *timeline_path, const weir__check_options *options,
                                              weir__check_report *out_report);
weir__check_result weir__check_pipelines(const weir__timeline *timeline, const weir__check_options *options,
                                         weir__check_report *out_report);

// Of a timeline that was joined from those of several ranks, or that of one process, in a file; without a stream, what can be
// proved of any. That of one of several ranks is BAD_INPUT.
weir__check_result weir__check_ranks_file(const char *timeline_path, const weir__check_options *options,
                                          weir__check_report *out_report);
weir__check_result weir__check_ranks_alone(const weir__timeline *timeline, const weir__check_options *options,
                                           weir__check_report *out_report);

// The program: weir-check [options] TIMELINE.json [STREAM]. Returns its exit code. Called as `check` (argv[0])
// it speaks of itself as `weir check`.
int weir__check_main(int argc, char **argv);

#endif // WEIR_CHECK_CHECK_H
